package tally_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/tally"
)

func lag(t *testing.T, w *world) tally.Lag {
	t.Helper()
	l, err := w.store.Lag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Lag counts what is not folded and says since when.
func TestLagOfTheFold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, own(t))
	if l := lag(t, w); l.Rows != 0 || l.Age != 0 {
		t.Errorf("of nothing: %d rows, %v", l.Rows, l.Age)
	}
	w.fill(t, 3)
	if l := lag(t, w); l.Rows != 3 || l.Age >= 0 {
		t.Errorf("before the first fold: %d rows, %v, want 3 and unknown", l.Rows, l.Age)
	}
	w.foldAll(t)
	if l := lag(t, w); l.Rows != 0 || l.Age != 0 {
		t.Errorf("of nothing: %d rows, %v", l.Rows, l.Age)
	}
	w.fill(t, 4)
	exec(t, w.db, `UPDATE tally_fold SET folded_at = now() - interval '1 hour'`)
	if l := lag(t, w); l.Rows != 4 || l.Age < time.Hour || l.Age > time.Hour+patience {
		t.Errorf("an hour behind: %d rows, %v", l.Rows, l.Age)
	}
	w.foldAll(t)
	// Nothing happens for a day; the fold still says from time to time that it is there.
	exec(t, w.db, `UPDATE tally_fold SET folded_at = now() - interval '1 day'`)
	w.foldAll(t)
	w.fill(t, 1)
	if l := lag(t, w); l.Rows != 1 || l.Age < 0 || l.Age > patience {
		t.Errorf("after a quiet day: %d rows, %v", l.Rows, l.Age)
	}
}

// Pending pages are known where pageinspect is installed; cleaning leaves none.
func TestLagOfThePendingLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t, own(t))
	for index, n := range lag(t, w).PendingPages {
		if n != -1 {
			t.Errorf("%s: %d pending pages without pageinspect, want -1", index, n)
		}
	}
	if !read[bool](t, w.db, `SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pageinspect')`) {
		t.Skip("pageinspect is not available")
	}
	exec(t, w.db, `CREATE EXTENSION pageinspect`)
	w.fill(t, 100)
	exec(t, w.db, `
		INSERT INTO feedback_content (organization_id, feedback_id, first_item_id, fingerprint, items, search_text)
		SELECT $1, n, n, n, '[]', 'the weather was fine' || n FROM generate_series(1, 100) AS n`, w.view.Org())
	pages := lag(t, w).PendingPages
	if len(pages) != 2 || pages["feedback_dictionary"] < 1 || pages["feedback_content_search"] < 1 {
		t.Errorf("pending pages %v, want some of each", pages)
	}
	if err := w.store.CleanPending(t.Context()); err != nil {
		t.Fatal(err)
	}
	for index, n := range lag(t, w).PendingPages {
		if n != 0 {
			t.Errorf("%s: %d pending pages after cleaning", index, n)
		}
	}
}

// The age of the oldest snapshot tells who keeps dead deltas alive.
func TestLagOfTheOldestSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shared(t))
	err := pgx.BeginTxFunc(t.Context(), w.db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		began := read[time.Time](t, tx, `SELECT now()`)
		if l := lag(t, w); l.Snapshot <= 0 || l.Snapshot > time.Since(began)+patience {
			t.Errorf("%v, want the age of the snapshot", l.Snapshot)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
