package tally

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
)

// Sums are what is kept for one key. Facets have the first three only.
type Sums struct{ N, SatN, SatSum, CompletedN, SentimentN, SentimentSum int64 }

// Drift is one key whose tally is not what a count of the records gives.
type Drift struct {
	What string // status, all time, day, month, date: the grains; or facet
	Key  string
	Want Sums // counted
	Got  Sums // kept: rollup and unfolded deltas
}

// Verify counts the organization's records and compares with its rollups and unfolded deltas, in one snapshot. It returns
// every difference, at most 100 for each grain and 100 facets; none while all is well, also while others write and fold.
func (s *Store) Verify(ctx context.Context, v account.View) ([]Drift, error) {
	if err := whole(v); err != nil {
		return nil, err
	}
	var drifts []Drift
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.db, options, func(tx pgx.Tx) error {
		collect := func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, scanDrift)
			drifts = append(drifts, found...)
			return err
		}
		b := &pgx.Batch{}
		b.Queue(`SELECT set_config('statement_timeout', '0', true), set_config('work_mem', '64MB', true)`)
		b.Queue(verifyGrainsSQL, v.Org()).Query(collect)
		b.Queue(verifyFacetsSQL, v.Org()).Query(collect)
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return nil, fmt.Errorf("verify tallies: %w", err)
	}
	return drifts, nil
}

func scanDrift(row pgx.CollectableRow) (Drift, error) {
	var d Drift
	w, g := &d.Want, &d.Got
	err := row.Scan(&d.What, &d.Key,
		&w.N, &w.SatN, &w.SatSum, &w.CompletedN, &w.SentimentN, &w.SentimentSum,
		&g.N, &g.SatN, &g.SatSum, &g.CompletedN, &g.SentimentN, &g.SentimentSum)
	return d, err
}

var (
	verifyGrainsSQL = `
WITH want AS (` + grains(records) + `
), got AS (
    SELECT grain, bucket, carrier_id, source, status, nps, sum(n)::bigint AS n, sum(sat_n)::bigint AS sat_n,
           sum(sat_sum)::bigint AS sat_sum, sum(completed_n)::bigint AS completed_n,
           sum(sentiment_n)::bigint AS sentiment_n, sum(sentiment_sum)::bigint AS sentiment_sum
    FROM (
        SELECT grain, bucket, carrier_id, source, status, nps, n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum
        FROM feedback_rollup
        WHERE organization_id = $1
        UNION ALL (` + grains(unfolded) + `)
    ) AS kept
    GROUP BY grain, bucket, carrier_id, source, status, nps
), compared AS (
    SELECT grain, bucket, carrier_id, source, status, nps,
           coalesce(w.n, 0) AS w_n, coalesce(w.sat_n, 0) AS w_sat_n, coalesce(w.sat_sum, 0) AS w_sat_sum,
           coalesce(w.completed_n, 0) AS w_completed_n,
           coalesce(w.sentiment_n, 0) AS w_sentiment_n, coalesce(w.sentiment_sum, 0) AS w_sentiment_sum,
           coalesce(g.n, 0) AS g_n, coalesce(g.sat_n, 0) AS g_sat_n, coalesce(g.sat_sum, 0) AS g_sat_sum,
           coalesce(g.completed_n, 0) AS g_completed_n,
           coalesce(g.sentiment_n, 0) AS g_sentiment_n, coalesce(g.sentiment_sum, 0) AS g_sentiment_sum
    FROM want w
    FULL JOIN got g USING (grain, bucket, carrier_id, source, status, nps)
), drift AS (
    SELECT *, row_number() OVER (PARTITION BY grain ORDER BY bucket, carrier_id, source, status, nps) AS nth
    FROM compared
    WHERE (w_n, w_sat_n, w_sat_sum, w_completed_n, w_sentiment_n, w_sentiment_sum)
       <> (g_n, g_sat_n, g_sat_sum, g_completed_n, g_sentiment_n, g_sentiment_sum)
)
SELECT (ARRAY['status', 'all time', 'day', 'month', 'date'])[grain],
       concat_ws(', ', CASE WHEN grain IN (3, 4, 5) THEN to_char(bucket, 'YYYY-MM-DD') END,
                 CASE WHEN grain IN (2, 3, 4) THEN 'carrier ' || carrier_id END,
                 CASE WHEN grain IN (2, 4) THEN 'source ' || source END,
                 'status ' || status, 'nps ' || nps),
       w_n, w_sat_n, w_sat_sum, w_completed_n, w_sentiment_n, w_sentiment_sum,
       g_n, g_sat_n, g_sat_sum, g_completed_n, g_sentiment_n, g_sentiment_sum
FROM drift
WHERE nth <= 100
ORDER BY grain, nth`

	verifyFacetsSQL = `
WITH want AS (` + facets(records) + `
), got AS (
    SELECT value_id, month, nps, sum(n)::bigint AS n, sum(sat_n)::bigint AS sat_n, sum(sat_sum)::bigint AS sat_sum
    FROM (
        SELECT value_id, month, nps, n, sat_n, sat_sum
        FROM facet_rollup
        WHERE organization_id = $1
        UNION ALL
        SELECT value_id, month, nps, n, sat_n, sat_sum FROM (` + facets(unfolded) + `) AS c
    ) AS kept
    GROUP BY value_id, month, nps
), compared AS (
    SELECT value_id, month, nps,
           coalesce(w.n, 0) AS w_n, coalesce(w.sat_n, 0) AS w_sat_n, coalesce(w.sat_sum, 0) AS w_sat_sum,
           coalesce(g.n, 0) AS g_n, coalesce(g.sat_n, 0) AS g_sat_n, coalesce(g.sat_sum, 0) AS g_sat_sum
    FROM want w
    FULL JOIN got g USING (value_id, month, nps)
)
SELECT 'facet', concat_ws(', ', 'value ' || value_id, to_char(month, 'YYYY-MM-DD'), 'nps ' || nps),
       w_n, w_sat_n, w_sat_sum, 0, 0, 0,
       g_n, g_sat_n, g_sat_sum, 0, 0, 0
FROM compared
WHERE (w_n, w_sat_n, w_sat_sum) <> (g_n, g_sat_n, g_sat_sum)
ORDER BY value_id, month, nps
LIMIT 100`
)
