package tally_test

import (
	"testing"

	"earshot/internal/tally"
)

// BenchmarkFold folds 50,000 deltas at a time, as creates write them: five attributes with their values and three answered questions
// each, over a month of twenty carriers. The metric is how many it folds in a second.
func BenchmarkFold(b *testing.B) {
	w := newWorld(b, own(b))
	const n, writers = 50_000, 50
	var attributes []int64
	for range 5 {
		attributes = append(attributes, w.attribute(b, true, 100)...)
	}
	var folded int64
	for b.Loop() {
		b.StopTimer()
		for range writers {
			exec(b, w.db, `
				INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
				                            sentiment_n, sentiment_sum, value_ids, value_n, value_sat_n, value_sat_sum)
				SELECT $1, i % 20, date '2026-01-01' + i % 30, 1 + i % 5, 1, i % 4, 1, 1, i % 10000, 1, 0, 0,
				       ARRAY(SELECT v FROM generate_series(0, 4) AS a,
				             LATERAL (VALUES (($2::bigint[])[a * 101 + 1]), (($2::bigint[])[a * 101 + 2 + (i * (a + 7)) % 100])) AS u (v))
				       || ARRAY[1, 1000 + i % 11, 2, 2000 + i % 5, 3, 3000 + i % 7], 1, 1, i % 10000
				FROM generate_series(1, $3::int) AS i`, w.view.Org(), attributes, n/writers)
		}
		for !settled(b, w) {
		}
		b.StartTimer()
		f, err := w.store.Fold(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		folded += f
	}
	b.ReportMetric(float64(folded)/b.Elapsed().Seconds(), "deltas/s")
}

// BenchmarkFoldNothing is what a second costs in which nobody wrote, with a thousand organizations.
func BenchmarkFoldNothing(b *testing.B) {
	db := own(b)
	exec(b, db, `INSERT INTO organization (name) SELECT 'organization ' || n FROM generate_series(1, 1000) AS n`)
	exec(b, db, `INSERT INTO tally_fold (organization_id, bound, folded_at) SELECT id, '3', now() FROM organization`)
	store := tally.NewStore(db)
	for b.Loop() {
		if _, err := store.Fold(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// settled says that no transaction runs any more that was there when the last delta was written.
func settled(t testing.TB, w *world) bool {
	t.Helper()
	return read[bool](t, w.db, `
		SELECT coalesce(max(xid) < pg_snapshot_xmin(pg_current_snapshot()), true) FROM feedback_delta WHERE organization_id = $1`,
		w.view.Org())
}
