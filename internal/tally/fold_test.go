package tally_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
	"earshot/internal/tally"
)

// sliceSizes notes how many deltas each transaction of a fold deletes.
type sliceSizes struct {
	mu      sync.Mutex
	deleted []int64
}

type sqlKey struct{}

func (s *sliceSizes) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, sqlKey{}, d.SQL)
}

func (s *sliceSizes) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	if sql, _ := ctx.Value(sqlKey{}).(string); strings.Contains(sql, "DELETE FROM feedback_delta") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.deleted = append(s.deleted, d.CommandTag.RowsAffected())
	}
}

// A backlog is folded in slices. A slice ends with a transaction: the bound cannot lie within one.
func TestFoldInSlices(t *testing.T) {
	t.Parallel()
	var trace sliceSizes
	w := newWorld(t, open(t, pg.Settings{URL: pgtest.New(t), Tracer: &trace}))
	w.store.SetSlice(10)
	for _, n := range []int{4, 4, 4, 25, 1, 9, 3, 10, 2} {
		w.fill(t, n)
	}
	// The one deltas of which come last may not be settled yet on a busy server; all others are, once it is.
	eventually(t, "every transaction settled", func() bool {
		return read[bool](t, w.db, `SELECT max(xid) < pg_snapshot_xmin(pg_current_snapshot()) FROM feedback_delta`)
	})
	folded, err := w.store.Fold(t.Context())
	if err != nil || folded != 62 {
		t.Errorf("folded %d, %v", folded, err)
	}
	if diff := cmp.Diff([]int64{12, 25, 10, 13, 2}, trace.deleted); diff != "" {
		t.Errorf("deltas folded at a time (-want +got):\n%s", diff)
	}
	w.drifted(t)
}

// What comes to nothing leaves no row behind.
func TestFoldDropsWhatCameToNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shared(t))
	w.fill(t, 20)
	w.foldAll(t)
	for w.records(t) > 0 {
		exec(t, w.db, changes[removal], w.view.Org(), 1)
	}
	w.foldAll(t)
	if n := read[int64](t, w.db, `
		SELECT (SELECT count(*) FROM feedback_rollup WHERE organization_id = $1)
		     + (SELECT count(*) FROM facet_rollup WHERE organization_id = $1)`, w.view.Org()); n != 0 {
		t.Errorf("%d rows are left of nothing", n)
	}
}

// An organization that somebody else is working on is left alone, and does not hold the others up.
func TestFoldPassesByWhatIsLocked(t *testing.T) {
	t.Parallel()
	db := own(t)
	locked, free := newWorld(t, db), newWorld(t, db)
	for _, w := range []*world{locked, free} {
		w.fill(t, 3)
		w.foldAll(t)
	}
	locked.fill(t, 3)
	free.fill(t, 4)
	err := pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
		exec(t, tx, `SELECT FROM tally_fold WHERE organization_id = $1 FOR UPDATE`, locked.view.Org())
		eventually(t, "the other organization folded", func() bool {
			if _, err := free.store.Fold(t.Context()); err != nil {
				t.Fatal(err)
			}
			return free.unfolded(t) == 0
		})
		if n := locked.unfolded(t); n != 3 {
			t.Errorf("%d deltas of the locked organization are left of 3", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	locked.foldAll(t)
	locked.drifted(t)
}

// An attribute with more than 10,000 values is no longer counted value by value; the fold that sees the one too many drops what it
// had. Other attributes stay.
func TestFoldGivesUpCrowdedAttributes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shared(t))
	crowded, full := w.attribute(t, true, 9_999), w.attribute(t, true, 10_000)
	w.values = append(w.values, crowded[:2], full[:2])
	rolledUp := func(attribute []int64) bool {
		return read[bool](t, w.db, `SELECT rolled_up FROM attribute WHERE organization_id = $1 AND id = $2`, w.view.Org(), attribute[0])
	}
	facets := func(attribute []int64) int64 {
		return read[int64](t, w.db, `SELECT count(*) FROM facet_rollup WHERE organization_id = $1 AND value_id = ANY($2)`,
			w.view.Org(), attribute)
	}
	use := func(values ...int64) {
		exec(t, w.db, createSQL, w.view.Org(), w.carriers, values, w.answers[:2], 2)
		w.foldAll(t)
		w.drifted(t)
	}
	use(crowded[0], crowded[1], crowded[2], full[0], full[1])
	crowded = append(crowded, w.addValues(t, crowded[0], 1)...)
	use(crowded[0], crowded[10_000])
	if !rolledUp(crowded) || !rolledUp(full) || facets(crowded) == 0 {
		t.Fatal("10,000 values were too many")
	}
	crowded = append(crowded, w.addValues(t, crowded[0], 1)...)
	use(crowded[0], crowded[1]) // the new value is in no record yet
	if !rolledUp(crowded) {
		t.Error("an attribute was given up without a value that was new to the fold")
	}
	use(crowded[0], crowded[10_001], full[0], full[2])
	if rolledUp(crowded) || facets(crowded) != 0 {
		t.Errorf("10,001 values are still rolled up, in %d rows", facets(crowded))
	}
	if !rolledUp(full) || facets(full) == 0 {
		t.Error("the neighbour was given up too")
	}
	use(crowded[0], crowded[3])
	if facets(crowded) != 0 {
		t.Error("an attribute that was given up is counted again")
	}
}

// A database from another cluster has that one's transaction ids. Nothing written before or after is hidden, and all of it is folded.
func TestRefold(t *testing.T) {
	t.Parallel()
	db := own(t)
	for name, plant := range map[string]string{
		"bound ahead":  `UPDATE tally_fold SET bound = '900000000000'`,
		"deltas ahead": `UPDATE feedback_delta SET xid = (800000000000 + n)::text::xid8`,
		"both ahead": `WITH f AS (UPDATE tally_fold SET bound = '800000000000')
			UPDATE feedback_delta SET xid = '800000000001'`,
		"never folded": `WITH f AS (DELETE FROM tally_fold), g AS (DELETE FROM feedback), r AS (DELETE FROM feedback_rollup),
			p AS (DELETE FROM facet_rollup)
			UPDATE feedback_delta SET xid = '18446744073709551615', n = 0, sat_n = 0, sat_sum = 0,
			completed_n = 0, sentiment_n = 0, sentiment_sum = 0, value_n = 0, value_sat_n = 0, value_sat_sum = 0`,
	} {
		w := newWorld(t, db)
		w.fill(t, 10)
		w.foldAll(t)
		w.fill(t, 10)
		exec(t, db, plant)
		if err := w.store.Refold(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.drifted(t)
		w.fill(t, 10)
		w.drifted(t)
		w.foldAll(t)
		w.drifted(t)
		if n := read[int64](t, db, `SELECT count(*) FROM feedback_delta`); n != 0 {
			t.Errorf("%d deltas are never folded", n)
		}
		if t.Failed() {
			t.Fatalf("with %s", name)
		}
	}

	// Where nothing lies ahead nothing is written: it runs whenever a process starts.
	newWorld(t, db).fill(t, 10)
	const state = `SELECT (SELECT string_agg(format('%s %s', xmin, f), ' ') FROM tally_fold f)
		|| (SELECT string_agg(format('%s %s', xmin, xid), ' ') FROM feedback_delta)`
	before := read[string](t, db, state)
	if err := tally.NewStore(db).Refold(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read[string](t, db, state)); diff != "" {
		t.Errorf("rows (-before +after):\n%s", diff)
	}
}

// Organizations keep apart: what one writes is in no other's tallies.
func TestFoldKeepsOrganizationsApart(t *testing.T) {
	t.Parallel()
	one, other := newWorld(t, shared(t)), newWorld(t, shared(t))
	one.fill(t, 7)
	other.fill(t, 5)
	one.foldAll(t)
	other.foldAll(t)
	one.drifted(t)
	other.drifted(t)
	var stranger account.View
	if drifts, err := tally.NewStore(one.db).Verify(t.Context(), stranger); err != nil || len(drifts) != 0 {
		t.Errorf("nobody's tallies: %v, %v", drifts, err)
	}
}
