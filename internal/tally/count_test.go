package tally_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// drifted fails the test when what is kept is not what is counted.
func (w *world) drifted(t *testing.T) {
	t.Helper()
	diff, err := w.difference(t.Context(), w.db)
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Errorf("tallies (-counted +kept):\n%s", diff)
	}
}

// difference compares in one snapshot.
func (w *world) difference(ctx context.Context, db *pgxpool.Pool) (diff string, err error) {
	err = pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		diff, err = w.differenceIn(ctx, tx)
		return err
	})
	return diff, err
}

// differenceIn compares in a snapshot that is open: a plain count in Go, against the rollups and the deltas from the bound on.
func (w *world) differenceIn(ctx context.Context, tx pgx.Tx) (string, error) {
	counted, err := w.count(ctx, tx, `
		SELECT carrier_id, day, source, status, coalesce(nps_profile, 0), 1, (satisfaction IS NOT NULL)::int,
		       coalesce(satisfaction, 0), (completed_at IS NOT NULL)::int, (sentiment IS NOT NULL)::int, coalesce(sentiment, 0),
		       attribute_value_ids || topic_ids || answer_ids, 1, (satisfaction IS NOT NULL)::int, coalesce(satisfaction, 0)
		FROM feedback
		WHERE organization_id = $1`)
	if err != nil {
		return "", err
	}
	kept, err := w.count(ctx, tx, `
		SELECT carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum,
		       value_ids, coalesce(value_n, 0), coalesce(value_sat_n, 0), coalesce(value_sat_sum, 0)
		FROM feedback_delta
		WHERE organization_id = $1 AND xid >= coalesce((SELECT bound FROM tally_fold WHERE organization_id = $1), '0')`)
	if err != nil {
		return "", err
	}
	rows, err := tx.Query(ctx, `
		SELECT format('%s %s %s %s %s %s', grain, bucket, carrier_id, source, status, nps),
		       ARRAY[n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum]
		FROM feedback_rollup
		WHERE organization_id = $1
		UNION ALL
		SELECT format('value %s %s %s', value_id, month, nps), ARRAY[n, sat_n, sat_sum]
		FROM facet_rollup
		WHERE organization_id = $1`, w.view.Org())
	if err != nil {
		return "", err
	}
	type rollup struct {
		Key  string
		Sums []int64
	}
	rollups, err := pgx.CollectRows(rows, pgx.RowToStructByPos[rollup])
	for _, r := range rollups {
		kept.add(r.Key, r.Sums...)
	}
	return cmp.Diff(counted.clean(), kept.clean()), err
}

// counts are sums by key.
type counts map[string][6]int64

func (c counts) add(key string, sums ...int64) {
	all := c[key]
	for i, n := range sums {
		all[i] += n
	}
	c[key] = all
}

// clean drops what came to nothing.
func (c counts) clean() counts {
	maps.DeleteFunc(c, func(_ string, sums [6]int64) bool { return sums == [6]int64{} })
	return c
}

// count sums rows that look like deltas by every key they belong to.
func (w *world) count(ctx context.Context, tx pgx.Tx, sql string) (counts, error) {
	var plain []int64 // attributes and values that are not rolled up
	err := tx.QueryRow(ctx, `
		SELECT coalesce(array_agg(id), '{}')
		FROM (
			SELECT id FROM attribute WHERE organization_id = $1 AND NOT rolled_up
			UNION ALL
			SELECT v.id FROM attribute a JOIN attribute_value v ON v.organization_id = $1 AND v.attribute_id = a.id
			WHERE a.organization_id = $1 AND NOT a.rolled_up) AS plain`, w.view.Org()).Scan(&plain)
	if err != nil {
		return nil, err
	}
	skipped := map[int64]bool{}
	for _, id := range plain {
		skipped[id] = true
	}
	rows, err := tx.Query(ctx, sql, w.view.Org())
	if err != nil {
		return nil, err
	}
	type delta struct {
		Carrier                        int64
		Day                            time.Time
		Source, Status, NPS            int64
		N, SatN, SatSum, CompletedN    int64
		SentimentN, SentimentSum       int64
		ValueIDs                       []int64
		ValueN, ValueSatN, ValueSatSum int64
	}
	deltas, err := pgx.CollectRows(rows, pgx.RowToStructByPos[delta])
	c := counts{}
	for _, d := range deltas {
		sums := []int64{d.N, d.SatN, d.SatSum, d.CompletedN, d.SentimentN, d.SentimentSum}
		day, month := d.Day.Format(time.DateOnly), d.Day.Format("2006-01")+"-01"
		c.add(fmt.Sprint("1 -infinity 0 0 ", d.Status, " ", d.NPS), sums...)
		c.add(fmt.Sprint("2 -infinity ", d.Carrier, " ", d.Source, " ", d.Status, " ", d.NPS), sums...)
		c.add(fmt.Sprint("3 ", day, " ", d.Carrier, " 0 ", d.Status, " ", d.NPS), sums...)
		c.add(fmt.Sprint("4 ", month, " ", d.Carrier, " ", d.Source, " ", d.Status, " ", d.NPS), sums...)
		c.add(fmt.Sprint("5 ", day, " 0 0 ", d.Status, " ", d.NPS), sums...)
		for _, id := range d.ValueIDs {
			if !skipped[id] {
				c.add(fmt.Sprint("value ", id, " ", month, " ", d.NPS), d.ValueN, d.ValueSatN, d.ValueSatSum)
			}
		}
	}
	return c, err
}
