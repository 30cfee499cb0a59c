// Package tally keeps exact counts. Whoever changes feedback appends, in the same transaction, delta rows that say what it adds
// and takes away; the fold sums them into rollups and deletes them. For every snapshot, rollups plus the deltas in it are the count.
// Verify says whether that holds, Rebuild makes it hold again.
package tally

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg"
)

// Store folds deltas and checks what was folded.
type Store struct {
	db    *pgxpool.Pool
	slice int // deltas folded in one transaction, give or take the last writer's
}

// NewStore returns a store on the database.
func NewStore(db *pgxpool.Pool) *Store { return &Store{db: db, slice: 50_000} }

// session is where the fold works: the pool, or the connection that holds a loop's lock.
type session interface {
	pg.Querier
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// afresh lets each statement of a transaction see what was committed before it began, whatever the server's default: what is read
// under a lock must not be older than the lock.
var afresh = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}

// whole refuses a view narrowed to one owner: tallies know no owners.
func whole(v account.View) error {
	if _, narrowed := v.Owner(); narrowed {
		return fault.New(fault.Forbidden, "Tallies are kept for the whole organization.")
	}
	return nil
}

// What is counted, in the form of deltas: the records of the organization $1 as they stand, and a stretch of its deltas.
const (
	records = `
		SELECT f.carrier_id, f.day, f.source, f.status, coalesce(f.nps_profile, 0)::smallint AS nps, 1 AS n,
		       (f.satisfaction IS NOT NULL)::int AS sat_n, coalesce(f.satisfaction, 0)::int AS sat_sum,
		       (f.completed_at IS NOT NULL)::int AS completed_n,
		       (f.sentiment IS NOT NULL)::int AS sentiment_n, coalesce(f.sentiment, 0)::int AS sentiment_sum,
		       ARRAY(SELECT DISTINCT unnest(f.attribute_value_ids || f.topic_ids || f.answer_ids)) AS value_ids, 1 AS value_n,
		       (f.satisfaction IS NOT NULL)::int AS value_sat_n, coalesce(f.satisfaction, 0)::int AS value_sat_sum
		FROM feedback f
		WHERE f.organization_id = $1`

	deltas = `
		SELECT *
		FROM feedback_delta
		WHERE organization_id = $1 AND xid >= $2 AND xid < $3`
)

// unfolded is what readers add to the rollups.
var unfolded = `
		SELECT *
		FROM feedback_delta
		WHERE organization_id = $1 AND xid >= ` + boundSQL("$1")

// grains sums what is counted by the keys of feedback_rollup.
func grains(counted string) string {
	return `
	SELECT CASE grouping(day, month, carrier_id, source) WHEN 15 THEN 1 WHEN 12 THEN 2 WHEN 5 THEN 3 WHEN 7 THEN 5 ELSE 4 END::smallint AS grain,
	       coalesce(day, month, '-infinity') AS bucket, coalesce(carrier_id, 0) AS carrier_id, coalesce(source, 0::smallint) AS source,
	       status, nps, sum(n)::bigint AS n, sum(sat_n)::bigint AS sat_n, sum(sat_sum)::bigint AS sat_sum,
	       sum(completed_n)::bigint AS completed_n, sum(sentiment_n)::bigint AS sentiment_n, sum(sentiment_sum)::bigint AS sentiment_sum
	FROM (
		SELECT *, date_trunc('month', day::timestamp)::date AS month
		FROM (` + counted + `) AS d
	) AS d
	GROUP BY GROUPING SETS ((status, nps), (carrier_id, source, status, nps), (day, carrier_id, status, nps),
	                        (month, carrier_id, source, status, nps), (day, status, nps))
	HAVING sum(n) <> 0 OR sum(sat_n) <> 0 OR sum(sat_sum) <> 0 OR sum(completed_n) <> 0 OR sum(sentiment_n) <> 0 OR sum(sentiment_sum) <> 0`
}

// facets sums what is counted by the keys of facet_rollup. An id that is neither an attribute nor a value of one is always kept.
// The dictionary is looked up id by id, never joined: it may hold millions of values of attributes that are not rolled up.
func facets(counted string) string {
	return `
	WITH cell AS (
		SELECT u.value_id, d.month, d.nps, coalesce(sum(d.value_n), 0)::bigint AS n,
		       coalesce(sum(d.value_sat_n), 0)::bigint AS sat_n, coalesce(sum(d.value_sat_sum), 0)::bigint AS sat_sum
		FROM (
			SELECT date_trunc('month', c.day::timestamp)::date AS month, nps, value_ids, value_n, value_sat_n, value_sat_sum
			FROM (` + counted + `) AS c
			WHERE value_ids IS NOT NULL
			OFFSET 0 -- or the month would be computed for each value again
		) AS d
		CROSS JOIN LATERAL unnest(d.value_ids) AS u (value_id)
		GROUP BY u.value_id, d.month, d.nps
		HAVING sum(d.value_n) <> 0 OR sum(d.value_sat_n) <> 0 OR sum(d.value_sat_sum) <> 0
	), known AS MATERIALIZED (
		SELECT c.*, (SELECT v.attribute_id FROM attribute_value v WHERE v.organization_id = $1 AND v.id = c.value_id) AS attribute_id
		FROM cell c
	)
	SELECT *
	FROM known k
	WHERE coalesce((SELECT a.rolled_up FROM attribute a
	                WHERE a.organization_id = $1 AND a.id = coalesce(k.attribute_id, k.value_id)), true)`
}
