package feedback

import (
	"context"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// Deletion says what a Delete found and did.
type Deletion struct {
	Matching int64 // before
	Deleted  int64
}

// Delete removes the oldest matches, up to limit, with everything that belongs to them; their fingerprints stay reserved. It refuses a
// query that filters nothing. With expected, another number of matches is fault.SelectionChanged and nothing is deleted.
func (s *Store) Delete(ctx context.Context, v account.View, q fql.Query, limit int, expected *int64) (Deletion, error) {
	if q.Everything() {
		return Deletion{}, fault.New(fault.ValidationFailed, "The filter matches everything; deleting needs one that says what to delete.")
	}
	f, err := s.resolve(ctx, v, q)
	if err != nil {
		return Deletion{}, err
	}
	total, err := f.total()
	if err != nil {
		return Deletion{}, err
	}
	done, err := s.counts.take(ctx, v, total.way)
	if err != nil {
		return Deletion{}, err
	}
	defer done()
	var args pg.Args
	where, err := f.matching(&args)
	if err != nil {
		return Deletion{}, err
	}
	var d Deletion
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		b.Queue(`SET LOCAL plan_cache_mode = force_custom_plan`)
		b.Queue(total.sql, total.args...).QueryRow(func(row pgx.Row) error { return row.Scan(&d.Matching) })
		// Rows are locked by id, as everywhere; what changed meanwhile is looked at again before it is deleted.
		b.Queue(`
			WITH picked AS MATERIALIZED (
				SELECT f.id FROM feedback f
				WHERE `+where+`
				ORDER BY f.id
				LIMIT `+args.Bind(limit)+`
				FOR UPDATE OF f
			), gone AS (
				DELETE FROM feedback f USING picked p
				WHERE f.organization_id = $1 AND f.id = p.id
				RETURNING f.*
			), content AS (
				DELETE FROM feedback_content c USING gone g
				WHERE c.organization_id = $1 AND c.feedback_id = g.id
			), history AS (
				DELETE FROM feedback_history h USING gone g
				WHERE h.organization_id = $1 AND h.feedback_id = g.id
			), delta AS (
				INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
				                            sentiment_n, sentiment_sum, value_ids, value_n, value_sat_n, value_sat_sum)
				SELECT $1, carrier_id, day, source, status, coalesce(nps_profile, 0), -1,
				       -(satisfaction IS NOT NULL)::int, -coalesce(satisfaction, 0), -(completed_at IS NOT NULL)::int,
				       -(sentiment IS NOT NULL)::int, -coalesce(sentiment, 0),
				       attribute_value_ids || topic_ids || answer_ids, -1,
				       -(satisfaction IS NOT NULL)::int, -coalesce(satisfaction, 0)
				FROM gone
			)
			SELECT count(*) FROM gone`, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&d.Deleted) })
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		if expected != nil && *expected != d.Matching {
			return SelectionChanged(*expected, d.Matching)
		}
		return nil
	})
	if err != nil {
		return Deletion{}, tooBroad(err, "delete feedback")
	}
	// Another deletion may have been faster with some of them.
	d.Matching = max(d.Matching, d.Deleted)
	return d, nil
}
