package feedback_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql"
	"earshot/internal/pg/pgtest"
)

// counts is a question that can only be answered by counting.
func counts(ctx context.Context, t *testing.T, p *feedback.Snapshot) (int64, error) {
	t.Helper()
	s, err := p.Total(ctx, query(t, `[{"Text":{"$exists":false}}]`), feedback.Measures{})
	return s.N, err
}

// Two readers of an organization count at a time. The third looks again from the start when it is its turn, and meanwhile what needs no
// counting, and other organizations, go on.
func TestSnapshotsTakeTurns(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	store := feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db))
	v, stranger := organization(t, db), organization(t, db)
	busy, free := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	for range feedback.MaxCounts {
		wg.Go(func() {
			err := store.Snapshot(t.Context(), v, func(ctx context.Context, p *feedback.Snapshot) error {
				_, err := counts(ctx, t, p)
				busy <- struct{}{}
				<-free
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range feedback.MaxCounts {
		<-busy
	}
	looks := 0
	tried := make(chan struct{}, 2)
	wg.Go(func() {
		err := store.Snapshot(t.Context(), v, func(ctx context.Context, p *feedback.Snapshot) error {
			looks++
			tried <- struct{}{}
			_, err := counts(ctx, t, p)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-tried
	for _, other := range []struct {
		view account.View
		look func(context.Context, *feedback.Snapshot) error
	}{
		{v, func(ctx context.Context, p *feedback.Snapshot) error {
			_, err := p.Total(ctx, fql.Query{}, feedback.Measures{NPS: true})
			return err
		}},
		{stranger, func(ctx context.Context, p *feedback.Snapshot) error {
			_, err := counts(ctx, t, p)
			return err
		}},
	} {
		if err := store.Snapshot(t.Context(), other.view, other.look); err != nil {
			t.Error(err)
		}
	}
	close(free)
	wg.Wait()
	if looks != 2 {
		t.Errorf("one more looked %d times", looks)
	}
	// Turns were given back.
	if err := store.Snapshot(t.Context(), v, func(ctx context.Context, p *feedback.Snapshot) error {
		_, err := counts(ctx, t, p)
		return err
	}); err != nil {
		t.Error(err)
	}
}

// Whatever is asked of a snapshot is seen at the moment it was taken: what comes meanwhile is in none of its answers.
func TestSnapshotSeesOneMoment(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	store := feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db))
	v := organization(t, db)
	add := func() {
		n := feedback.New{CarrierID: 1, Source: 4, Attributes: []feedback.Attribute{{Name: "city", Values: []feedback.Value{{Text: "Lyon"}}}}}
		if _, err := store.Create(t.Context(), v, n, &fault.Form{}); err != nil {
			t.Fatal(err)
		}
	}
	add()
	err := store.Snapshot(t.Context(), v, func(ctx context.Context, p *feedback.Snapshot) error {
		for range 3 {
			tallied, err := p.Total(ctx, fql.Query{}, feedback.Measures{})
			if err != nil {
				return err
			}
			values, err := p.Values(ctx, fql.Query{}, feedback.Set{Field: fql.Attribute, Name: "city"}, 10, feedback.Measures{})
			if err != nil {
				return err
			}
			n, err := counts(ctx, t, p)
			if err != nil {
				return err
			}
			if tallied.N != 1 || n != 1 || values.Present.N != 1 || values.All.N != 1 {
				t.Errorf("tallied %d, counted %d, values %+v", tallied.N, n, values)
			}
			add()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Who runs out of time before the request does is told that it is too much; who runs out of it together with the request is not.
func TestSnapshotRunsOutOfTime(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	store := feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db))
	v := organization(t, db)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	look := func(ctx context.Context, p *feedback.Snapshot) error {
		<-ctx.Done()
		_, err := p.Total(ctx, fql.Query{}, feedback.Measures{})
		return err
	}
	if err := store.Snapshot(ctx, v, look); !fault.Is(err, fault.QueryTooBroad) || ctx.Err() != nil {
		t.Errorf("got %v, and of the request %v", err, ctx.Err())
	}
	over, end := context.WithCancel(t.Context())
	end()
	if err := store.Snapshot(over, v, look); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
