package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"earshot/bench/rig"
)

// soaked is what was found while a load was kept up.
type soaked struct {
	length            time.Duration
	most, rate        float64 // creates a second: that can be done, that were asked for
	took              rig.Times
	operations        int
	changed           int64
	start, high, last int64 // memory of the server, after a tenth of the time, at most, and at the end
	verified          bool
}

// channels is how many connections the creates come on, so that they come when they are due and not when others were answered.
const channels = 64

// measureSoak creates at half of what can be done, while operations change everything that was there before, one after the other.
func (b *bench) measureSoak(ctx context.Context) (err error) {
	w, err := b.openWriting(ctx)
	if err != nil {
		return err
	}
	s, err := b.open(ctx, w.urls, w.rows, writeConns)
	if err != nil {
		return err
	}
	defer func() {
		if s != nil {
			err = errors.Join(err, s.close())
		}
	}()
	found := &soaked{length: b.soak}
	if found.most, err = b.saturation(ctx, s); err != nil {
		return err
	}
	found.rate = found.most / 2
	last, err := createOne(ctx, s.earshot.Address, w.org)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var busy sync.WaitGroup
	var failed, changing error
	busy.Go(func() { failed = found.watch(ctx, s.earshot) })
	busy.Go(func() { changing = found.change(ctx, s.earshot.Address, w.org, last) })
	err = found.create(ctx, s.earshot.Address, w.org)
	stop()
	busy.Wait()
	if err := errors.Join(err, failed, changing); err != nil {
		return err
	}
	err = s.close()
	if s = nil; err != nil {
		return err
	}
	_, err = b.program.Run(context.WithoutCancel(ctx), w.urls[byEarshot], "verify")
	found.verified = err == nil
	b.report.Soaked = found
	return err
}

// create sends creates at the rate, each when it is due, and notes how long after that it was answered.
func (f *soaked) create(ctx context.Context, address string, org rig.Organization) (err error) {
	var (
		busy sync.WaitGroup
		mu   sync.Mutex
		next atomic.Int64
	)
	text := org.Create(rig.Opinion)
	began := time.Now()
	for range channels {
		busy.Go(func() {
			var took rig.Times
			c, failed := rig.Dial(ctx, address)
			for failed == nil && ctx.Err() == nil {
				due := time.Duration(float64(next.Add(1)) / f.rate * float64(time.Second))
				if due > f.length {
					break
				}
				time.Sleep(due - time.Since(began))
				var a rig.Answer
				a, failed = c.Do(text)
				failed = a.Want(201, failed)
				took = append(took, time.Since(began)-due)
			}
			if c != nil {
				_ = c.Close() // all of it was read
			}
			mu.Lock()
			defer mu.Unlock()
			f.took, err = append(f.took, took...), errors.Join(err, failed)
		})
	}
	busy.Wait()
	return err
}

// change moves everything up to an id to one status, then to another, and so on: an operation is under way all the time.
func (f *soaked) change(ctx context.Context, address string, org rig.Organization, last int64) error {
	c, err := rig.Dial(context.WithoutCancel(ctx), address)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // all of it was read
	var o struct {
		ID      int64
		State   string
		Changed int64
	}
	for n := 0; ctx.Err() == nil; n++ {
		status := []string{"progress", "resolved"}[n%2]
		a, err := c.Do(rig.Request("POST", "/v4/feedback/bulk-update", org.Token, fmt.Sprintf(`{"fql": [{"Id":{"$lte":%d}}], "status": %q}`, last, status)))
		if err != nil || a.Status != 202 && a.Status != 200 {
			return a.Want(202, err)
		}
		var started struct {
			ID int64 `json:"operation_id"`
		}
		if err := json.Unmarshal(a.Body, &started); err != nil {
			return err
		}
		look := rig.Request("GET", fmt.Sprintf("/v4/operations/%d", started.ID), org.Token, "")
		for o.State = "running"; o.State == "running"; time.Sleep(100 * time.Millisecond) {
			a, err := c.Do(look)
			if err := a.Want(200, err); err != nil {
				return err
			}
			if err := json.Unmarshal(a.Body, &o); err != nil {
				return err
			}
			if ctx.Err() != nil {
				break // the load is over
			}
		}
		if o.State == "failed" {
			return fmt.Errorf("operation %d failed", o.ID)
		}
		f.operations, f.changed = f.operations+1, f.changed+o.Changed
	}
	return nil
}

// watch notes the memory of the server.
func (f *soaked) watch(ctx context.Context, p *rig.Process) (err error) {
	began := time.Now()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if f.last, err = p.Memory(); err != nil {
			return err
		}
		f.high = max(f.high, f.last)
		if f.start == 0 && time.Since(began) >= f.length/10 {
			f.start = f.last
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}
