package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"earshot/bench/rig"
)

// The places that a server has by default for the creates of one organization, and the connections of the flood. They are more than the
// server takes on, so that requests come when they are due and not when others were answered.
const (
	writePlaces = 24
	channels    = 256
)

// surplus is how many times as many requests as can be done are sent.
const surplus = 3

// flood is what became of creates that were sent at a rate.
type flood struct {
	mu       sync.Mutex
	accepted rig.Times
	refused  rig.Times
	late     rig.Times // how long after they were due they were sent: what the clients themselves could not keep up with
	silent   int       // refusals that did not say when to come again
	others   int
	failed   error
}

// saturate creates on as many connections as there are places, one after the other on each, and returns how many a second were done.
func saturate(ctx context.Context, address string, org rig.Organization, length time.Duration) (rate float64, err error) {
	var (
		clients sync.WaitGroup
		done    atomic.Int64
		mu      sync.Mutex
	)
	text := org.Create(rig.Opinion)
	end := time.Now().Add(length)
	for range writePlaces {
		clients.Go(func() {
			c, failed := rig.Dial(ctx, address)
			for failed == nil && time.Now().Before(end) {
				var a rig.Answer
				if a, failed = c.Do(text); failed == nil && a.Status == 201 {
					done.Add(1)
				}
			}
			if c != nil {
				_ = c.Close() // all of it was read
			}
			mu.Lock()
			err = errors.Join(err, failed)
			mu.Unlock()
		})
	}
	clients.Wait()
	return float64(done.Load()) / length.Seconds(), err
}

// pour sends creates at a rate, each when it is due.
func pour(ctx context.Context, address string, org rig.Organization, rate float64, length time.Duration) (*flood, error) {
	f := &flood{}
	var clients sync.WaitGroup
	var next atomic.Int64
	text := org.Create(rig.Opinion)
	began := time.Now()
	for range channels {
		clients.Go(func() {
			c, err := rig.Dial(ctx, address)
			for err == nil {
				due := time.Duration(float64(next.Add(1)) / rate * float64(time.Second))
				if due > length {
					break
				}
				time.Sleep(due - time.Since(began))
				var a rig.Answer
				sent := time.Now()
				if a, err = c.Do(text); err == nil {
					f.note(a, time.Since(sent), sent.Sub(began)-due)
				}
			}
			if c != nil {
				_ = c.Close() // all of it was read
			}
			f.mu.Lock()
			f.failed = errors.Join(f.failed, err)
			f.mu.Unlock()
		})
	}
	clients.Wait()
	return f, f.failed
}

func (f *flood) note(a rig.Answer, took, late time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = append(f.late, late)
	switch a.Status {
	case 201:
		f.accepted = append(f.accepted, took)
	case 503:
		f.refused = append(f.refused, took)
		if !a.Retry {
			f.silent++
		}
	default:
		f.others++
	}
}

// watch reads the memory of a process until stop is called, which returns the most it had.
func watch(p *rig.Process) (stop func() int64) {
	done, most := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		var high int64
		for {
			if n, err := p.Memory(); err == nil {
				high = max(high, n)
			}
			select {
			case <-tick.C:
			case <-done:
				most <- high
				return
			}
		}
	}()
	return func() int64 {
		close(done)
		return <-most
	}
}

// recovered creates one after the other until one takes no longer than is normal, and returns after how long that was.
func recovered(ctx context.Context, address string, org rig.Organization, normal time.Duration) (time.Duration, error) {
	c, err := rig.Dial(ctx, address)
	if err != nil {
		return 0, err
	}
	defer c.Close() //nolint:errcheck // all of it was read
	began := time.Now()
	for {
		sent := time.Now()
		a, err := c.Do(org.Create(rig.Opinion))
		if err != nil || a.Status == 201 && time.Since(sent) <= normal || time.Since(began) > rig.Patience {
			return time.Since(began), err
		}
	}
}

// overload finds out how many creates a second can be done and then sends three times as many.
func (b *bench) overload(ctx context.Context) (outcome, error) {
	length, measuring := 30*time.Second, 10*time.Second
	if b.short {
		length, measuring = 5*time.Second, 2*time.Second
	}
	database, drop, err := b.fresh(ctx, "overload")
	if err != nil {
		return outcome{}, err
	}
	defer drop()
	org, err := b.program.Organization(ctx, database, "Acme")
	if err != nil {
		return outcome{}, err
	}
	p, err := b.program.Serve(ctx, database, "")
	if err != nil {
		return outcome{}, err
	}
	defer p.Stop() //nolint:errcheck // it is not what is looked at
	calm, err := trickle(ctx, p.Address, org, measuring/2)
	if err != nil {
		return outcome{}, err
	}
	capacity, err := saturate(ctx, p.Address, org, measuring)
	if err != nil {
		return outcome{}, err
	}
	before, err := p.Memory()
	if err != nil {
		return outcome{}, err
	}
	stop := watch(p)
	f, err := pour(ctx, p.Address, org, surplus*capacity, length)
	if err != nil {
		return outcome{}, err
	}
	normal := max(2*calm.At(0.99), 20*time.Millisecond)
	back, err := recovered(ctx, p.Address, org, normal)
	if err != nil {
		return outcome{}, err
	}
	most := stop()
	after, err := p.Memory()
	if err != nil {
		return outcome{}, err
	}
	sent := len(f.accepted) + len(f.refused) + f.others
	tables := []rig.Table{
		{Title: "Three times as many creates as can be done", Rows: [][]string{
			{"done a second by " + fmt.Sprint(writePlaces) + " clients", "wanted a second", "sent a second", "sent after they were due, p99", "seconds"},
			{fmt.Sprintf("%.0f", capacity), fmt.Sprintf("%.0f", surplus*capacity), fmt.Sprintf("%.0f", float64(sent)/length.Seconds()), rig.Span(f.late.At(0.99)), fmt.Sprintf("%.0f", length.Seconds())},
		}},
		{Title: "What became of them", Rows: [][]string{
			{"", "answers", "a second", "p50", "p99", "longest"},
			lengths("before, one every 10 ms: 201", calm, measuring/2),
			lengths("accepted: 201", f.accepted, length),
			lengths("refused: 503", f.refused, length),
		}},
		{Title: "The server's memory, and its recovery", Rows: [][]string{
			{"before", "at most", "after", "from the end of the flood to a create of normal length", "which is"},
			{mebibytes(before), mebibytes(most), mebibytes(after), rig.Span(back), rig.Span(normal)},
		}},
	}
	return outcome{
		tables: tables,
		rules: []rig.Bar{
			some("overload: creates accepted", len(f.accepted)), some("overload: creates refused", len(f.refused)),
			none("overload: answers neither 201 nor 503", f.others), none("overload: refusals without Retry-After", f.silent),
			{What: "overload: the server's memory", Limit: mebibytes(memoryLimit), Found: mebibytes(most), Passed: most <= memoryLimit},
		},
		bars: []rig.Bar{
			within("overload: p99 of accepted creates", f.accepted.At(0.99), 500*time.Millisecond),
			within("overload: p99 of refusals", f.refused.At(0.99), 50*time.Millisecond),
			within("overload: recovery", back, time.Second),
		},
	}, nil
}

// memoryLimit is far above what a server should need for what it takes on at once, and far below what a queue of refused requests would.
const memoryLimit = 256 << 20

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// lengths is a line of a table on how long things took.
func lengths(name string, took rig.Times, length time.Duration) []string {
	return []string{
		name, rig.Thousands(int64(len(took))), fmt.Sprintf("%.0f", float64(len(took))/length.Seconds()),
		rig.Span(took.At(0.5)), rig.Span(took.At(0.99)), rig.Span(took.At(1)),
	}
}
