package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"earshot/bench/rig"
)

// done is one request that was answered.
type done struct {
	at   time.Time
	took time.Duration
}

// sample is what was found while so many clients asked for a while.
type sample struct {
	rate     float64 // a second
	p50, p99 time.Duration
	// What one request cost in processor time; server is 0 where there is none.
	server, postgres, client time.Duration
	allocations, bytes       float64 // of one request, where the server tells
	wal                      float64 // bytes that one request has PostgreSQL write
}

// way is one of those that are compared.
type way struct {
	name string
	// ask has so many clients ask for the length, or until stop is closed if it can be stopped, and returns what was answered and what processor
	// time that took of the clients.
	ask func(ctx context.Context, clients int, length time.Duration, stop <-chan struct{}) ([]done, time.Duration, error)
	// processor and metrics are the server's; nil where there is none, or none that tells.
	processor func() (time.Duration, error)
	metrics   func(context.Context) (allocations, bytes float64, err error)
}

// counters are read before and after.
type counters struct {
	at                 time.Time
	server, postgres   time.Duration
	allocations, bytes float64
	wal                float64
}

// errNothing is what a machine finds that is too busy, or a request too long, for the time it was given.
var errNothing = errors.New("nothing was answered")

// measure has clients ask for a while, and for longer while nothing is answered.
func (b *bench) measure(ctx context.Context, w way, clients int, warm, length time.Duration) (s sample, err error) {
	for range 3 {
		if s, err = b.measureOnce(ctx, w, clients, warm, length); !errors.Is(err, errNothing) {
			break
		}
		warm, length = 4*warm, 4*length
	}
	return s, err
}

// measureOnce has clients ask, lets them warm up, and counts what happens for a while then.
func (b *bench) measureOnce(ctx context.Context, w way, clients int, warm, length time.Duration) (s sample, err error) {
	type asked struct {
		all  []done
		used time.Duration
		err  error
	}
	finished, stop := make(chan asked, 1), make(chan struct{})
	go func() {
		all, used, err := w.ask(ctx, clients, warm+length, stop)
		finished <- asked{all, used, err}
	}()
	// waited waits unless the clients end before, as they do when one fails, or when pgbench was quicker than we.
	var a *asked
	waited := func(d time.Duration) {
		select {
		case early := <-finished:
			a = &early
		case <-time.After(d):
		}
	}
	var from, to counters
	if waited(warm); a == nil {
		err = b.read(ctx, w, &from, true)
	}
	if err == nil && a == nil {
		waited(length - margin)
		err = b.read(ctx, w, &to, false)
	}
	close(stop)
	if a == nil {
		ended := <-finished
		a = &ended
	}
	if err := errors.Join(err, a.err); err != nil {
		return s, fmt.Errorf("%s: %w", w.name, err)
	}
	var took rig.Times
	for _, d := range a.all {
		if d.at.After(from.at) && !d.at.After(to.at) {
			took = append(took, d.took)
		}
	}
	if len(took) == 0 {
		return s, fmt.Errorf("%s: %w within %s", w.name, errNothing, length)
	}
	n := time.Duration(len(took))
	return sample{
		rate: float64(n) / to.at.Sub(from.at).Seconds(), p50: took.At(0.5), p99: took.At(0.99),
		server: (to.server - from.server) / n, postgres: (to.postgres - from.postgres) / n, client: a.used / time.Duration(len(a.all)),
		allocations: (to.allocations - from.allocations) / float64(n), bytes: (to.bytes - from.bytes) / float64(n), wal: (to.wal - from.wal) / float64(n),
	}, nil
}

// margin is how long before its end a measurement is over, so that nobody has stopped yet.
const margin = 100 * time.Millisecond

// read takes the counters. Reading metrics is work, too: it is done outside of what is measured.
func (b *bench) read(ctx context.Context, w way, c *counters, first bool) (err error) {
	metrics := func() {
		if w.metrics != nil && err == nil {
			c.allocations, c.bytes, err = w.metrics(ctx)
		}
	}
	if first {
		metrics()
	}
	if w.processor != nil && err == nil {
		c.server, err = w.processor()
	}
	if err == nil {
		c.postgres, err = b.postgres.Processor()
	}
	if err == nil {
		c.wal, err = b.position(ctx)
	}
	c.at = time.Now()
	if !first {
		metrics()
	}
	return err
}

// overHTTP asks a server one of the requests after the other on every connection.
func overHTTP(address string, requests [][]byte, status int, check func([]byte) error) func(context.Context, int, time.Duration, <-chan struct{}) ([]done, time.Duration, error) {
	return func(ctx context.Context, clients int, _ time.Duration, stop <-chan struct{}) (all []done, used time.Duration, err error) {
		var (
			busy sync.WaitGroup
			mu   sync.Mutex
		)
		before := ownProcessor()
		for range clients {
			busy.Go(func() {
				mine, failed := converse(ctx, address, requests, status, check, stop)
				mu.Lock()
				defer mu.Unlock()
				all, err = append(all, mine...), errors.Join(err, failed)
			})
		}
		busy.Wait()
		return all, ownProcessor() - before, err
	}
}

// converse is one client. An answer with another status is an error, and so is one that does not pass the check, if there is one.
func converse(ctx context.Context, address string, requests [][]byte, status int, check func([]byte) error, stop <-chan struct{}) (all []done, err error) {
	c, err := rig.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // all of it was read
	n := rand.IntN(len(requests))
	for began := time.Now(); ctx.Err() == nil; {
		select {
		case <-stop:
			return all, nil
		default:
		}
		a, err := c.Do(requests[n])
		if err := a.Want(status, err); err != nil {
			return all, err
		}
		at := time.Now()
		if check != nil {
			if err := check(a.Body); err != nil {
				return all, err
			}
		}
		all = append(all, done{at, at.Sub(began)})
		began = at
		n = (n + 1) % len(requests)
	}
	return all, ctx.Err()
}

// ownProcessor is the processor time of this process.
func ownProcessor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// median of the samples, each figure by itself.
func median(all []sample) sample {
	return sample{
		rate: middle(all, func(s sample) float64 { return s.rate }),
		p50:  middle(all, func(s sample) time.Duration { return s.p50 }), p99: middle(all, func(s sample) time.Duration { return s.p99 }),
		server:      middle(all, func(s sample) time.Duration { return s.server }),
		postgres:    middle(all, func(s sample) time.Duration { return s.postgres }),
		client:      middle(all, func(s sample) time.Duration { return s.client }),
		allocations: middle(all, func(s sample) float64 { return s.allocations }),
		bytes:       middle(all, func(s sample) float64 { return s.bytes }),
		wal:         middle(all, func(s sample) float64 { return s.wal }),
	}
}

func middle[T time.Duration | float64](all []sample, of func(sample) T) T {
	values := make([]T, len(all))
	for i, s := range all {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
