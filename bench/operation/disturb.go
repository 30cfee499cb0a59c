package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"earshot/bench/rig"
)

// bulk is a call that is measured.
type bulk struct{ name, method, path, change string }

var (
	moving    = bulk{"bulk-update", http.MethodPost, "/v4/feedback/bulk-update", `"status": "abandoned"`}
	attaching = bulk{"attributes/attach", http.MethodPost, "/v4/feedback/attributes/attach", `"attributes": [{"name": "campaign", "value": "spring"}]`}
)

// calls makes both calls, each on fresh data while others list and create, and leaves them alone until they are done.
func (b *bench) calls(ctx context.Context) error {
	for _, call := range []bulk{moving, attaching} {
		if err := b.disturbed(ctx, call, 0); err != nil {
			return err
		}
	}
	return nil
}

// killed makes the heavier call and kills the worker on the way.
func (b *bench) killed(ctx context.Context) error { return b.disturbed(ctx, attaching, b.kills) }

// disturbed makes a call while others list and create, and kills the worker so many times before it is done.
func (b *bench) disturbed(ctx context.Context, call bulk, kills int) (err error) {
	s, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	others := s.gather(ctx)
	defer others.stop()
	select {
	case <-time.After(calm):
	case <-ctx.Done():
		return ctx.Err()
	}
	st, err := s.start(ctx, call.method, call.path, call.change)
	if err != nil {
		return err
	}
	others.matching.Store(true)
	others.during.Store(true)
	rig.Progress("%s was answered in %s", call.name, st.took)
	for n := range kills {
		k, err := s.killAt(ctx, st.id, int64(b.size)*int64(n+1)/int64(kills+1))
		if err != nil {
			return err
		}
		b.report.Kills = append(b.report.Kills, k)
		rig.Progress("killed at %d, resumed after %s", k.done, k.rested)
	}
	o, err := s.until(ctx, st.id, ended)
	if err := errors.Join(err, others.disperse()); err != nil {
		return err
	}
	rig.Progress("done %s after the answer", o.FinishedAt.Sub(st.answered))
	what := call.name
	if kills > 0 {
		what = fmt.Sprintf("%s, worker killed %d times", call.name, kills)
	} else {
		b.report.Calls = append(b.report.Calls, measuredCall{call.name, o.Total, st.took, o.FinishedAt.Sub(st.answered), others})
	}
	e, err := b.exact(ctx, what, st.id, others.created)
	b.report.Exact = append(b.report.Exact, e)
	return err
}

// rest is what one kill cost.
type rest struct {
	done   int64 // records changed before
	rested time.Duration
}

// killAt waits until an operation is so far, kills the worker, starts another one at once, and measures until the operation moves on.
func (s *service) killAt(ctx context.Context, id, done int64) (rest, error) {
	if _, err := s.until(ctx, id, func(o operation) bool { return o.Done >= done }); err != nil {
		return rest{}, err
	}
	if err := s.worker.kill(); err != nil {
		return rest{}, err
	}
	began := time.Now()
	var err error
	if s.worker, err = s.b.serve(ctx, "worker"); err != nil {
		return rest{}, err
	}
	// What the dead one had sent may still be committed, a moment later.
	time.Sleep(max(0, time.Second-time.Since(began)))
	left, err := s.look(ctx, id)
	if err != nil {
		return rest{}, err
	}
	_, err = s.until(ctx, id, func(o operation) bool { return o.Done > left.Done })
	return rest{left.Done, time.Since(began)}, err
}
