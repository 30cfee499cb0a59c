package tally_test

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
	"earshot/internal/tally"
)

// storm writes from several connections at once, while the other functions run again and again. It goes on until it is
// enough: other tests on the server may hold the fold back for a while.
func storm(t *testing.T, w *world, enough func() bool, meanwhile ...func(ctx context.Context)) {
	t.Helper()
	seed := mathrand.Uint64()
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writers, others sync.WaitGroup
	for _, f := range meanwhile {
		others.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				f(ctx)
			}
		})
	}
	late := time.Now().Add(2 * patience)
	for n := range uint64(4) {
		writers.Go(func() {
			random := mathrand.New(mathrand.NewPCG(seed, n))
			for first := true; (first || !enough()) && !t.Failed() && time.Now().Before(late); first = false {
				if err := w.write(t.Context(), random, 20); err != nil {
					t.Errorf("writer %d: %v", n, err)
				}
			}
		})
	}
	writers.Wait()
	cancel()
	others.Wait()
	if !enough() && !t.Failed() {
		t.Errorf("what was waited for did not happen in %v", 2*patience)
	}
}

// reader compares what is kept with what is counted, and remembers how often.
func reader(t *testing.T, w *world, compared *atomic.Int64) func(context.Context) {
	return func(ctx context.Context) {
		diff, err := w.difference(ctx, w.db)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Error(err)
		}
		if diff != "" {
			t.Errorf("tallies (-counted +kept):\n%s", diff)
		}
		compared.Add(1)
	}
}

// folder folds, and remembers how much.
func folder(t *testing.T, store *tally.Store, folded *atomic.Int64) func(context.Context) {
	return func(ctx context.Context) {
		n, err := store.Fold(ctx)
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		folded.Add(n)
	}
}

// own returns a pool of a database in which nobody else folds.
func own(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return open(t, pg.Settings{URL: pgtest.New(t), MaxConns: 8})
}

// shared returns a pool of the package's database, where every test folds for all.
func shared(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return open(t, pg.Settings{URL: pgtest.URL(t), MaxConns: 8})
}

// Rollups and unfolded deltas are the count in every snapshot, while records are created, changed and removed and two folds run.
func TestFoldIsExactInEverySnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, own(t))
	w.store.SetSlice(5)
	var compared, folded atomic.Int64
	enough := func() bool { return compared.Load() >= 10 && folded.Load() >= 150 }
	storm(t, w, enough, reader(t, w, &compared), folder(t, w.store, &folded), folder(t, tally.NewStore(w.db), &folded))
	w.foldAll(t)
	w.drifted(t)
	empty := read[int64](t, w.db, `
		SELECT (SELECT count(*) FROM feedback_rollup
		        WHERE organization_id = $1 AND (n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum) = (0, 0, 0, 0, 0, 0))
		     + (SELECT count(*) FROM facet_rollup WHERE organization_id = $1 AND (n, sat_n, sat_sum) = (0, 0, 0))`, w.view.Org())
	if empty != 0 {
		t.Errorf("%d rows that count nothing were kept", empty)
	}
	if drifts, err := w.store.Verify(t.Context(), w.view); err != nil || len(drifts) != 0 {
		t.Errorf("verify: %v, %v", drifts, err)
	}
}

// Somebody who holds a snapshot for long does not hold the fold back, and goes on seeing exact tallies of his moment.
func TestFoldUnderALongSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, own(t))
	w.fill(t, 50)
	err := pgx.BeginTxFunc(t.Context(), w.db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(held pgx.Tx) error {
		before := read[int64](t, held, `SELECT count(*) FROM feedback_delta`)
		var compared, folded atomic.Int64
		enough := func() bool { return compared.Load() >= 5 && folded.Load() >= 80 }
		storm(t, w, enough, reader(t, w, &compared), folder(t, w.store, &folded))
		w.foldAll(t)
		w.drifted(t)
		diff, err := w.differenceIn(t.Context(), held)
		if diff != "" {
			t.Errorf("the held snapshot (-counted +kept):\n%s", diff)
		}
		if n := read[int64](t, held, `SELECT count(*) FROM feedback_delta`); n != before {
			t.Errorf("the held snapshot had %d deltas and has %d", before, n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A writer who takes his time holds the fold back to where he began, and nothing he or others wrote is lost or counted twice.
func TestFoldWaitsForASlowWriter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shared(t))
	w.fill(t, 5)
	slow, err := w.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Rollback(t.Context()) //nolint:errcheck // committed below
	if err := w.create(t.Context(), slow, mathrand.New(mathrand.NewPCG(1, 2)), 7); err != nil {
		t.Fatal(err)
	}
	w.fill(t, 11)
	eventually(t, "what was before the slow writer folded", func() bool {
		if _, err := w.store.Fold(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w.unfolded(t) == 11
	})
	w.drifted(t)
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.unfolded(t); n != 18 {
		t.Errorf("%d deltas are not folded, want those of the slow writer and what came after him", n)
	}
	w.drifted(t)
	w.foldAll(t)
	w.drifted(t)
}

// A fold whose connection is cut at any moment has folded all of a slice or nothing.
func TestFoldCutInTheMiddle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, own(t))
	config := w.db.Config()
	config.ConnConfig.RuntimeParams["application_name"] = "victim"
	config.MaxConns = 1
	db, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	victim := tally.NewStore(db)
	victim.SetSlice(7)
	var compared, cut, folded atomic.Int64
	storm(t, w, func() bool { return cut.Load() >= 10 && folded.Load() >= 50 && compared.Load() >= 5 }, reader(t, w, &compared),
		func(ctx context.Context) {
			n, err := victim.Fold(ctx)
			if err != nil {
				cut.Add(1)
			}
			folded.Add(n)
		},
		func(ctx context.Context) {
			_, err := w.db.Exec(ctx, `
				SELECT pg_terminate_backend(pid)
				FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'victim' AND backend_xid IS NOT NULL AND random() < 0.1`)
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	w.drifted(t)
	w.foldAll(t)
	w.drifted(t)
}
