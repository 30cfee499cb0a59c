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
		var ids []int64
		b := &pgx.Batch{}
		b.Queue(`SET LOCAL plan_cache_mode = force_custom_plan`)
		b.Queue(total.sql, total.args...).QueryRow(func(row pgx.Row) error { return row.Scan(&d.Matching) })
		// Rows are locked by id, as everywhere; what changed meanwhile is looked at again before it is picked.
		b.Queue(`
			SELECT f.id FROM feedback f
			WHERE `+where+`
			ORDER BY f.id
			LIMIT `+args.Bind(limit)+`
			FOR UPDATE OF f`, args...).Query(func(rows pgx.Rows) (err error) {
			ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
			return err
		})
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		if expected != nil && *expected != d.Matching {
			return SelectionChanged(*expected, d.Matching)
		}
		return remove(ctx, tx, v, ids, &d.Deleted)
	})
	if err != nil {
		return Deletion{}, tooBroad(err, "delete feedback")
	}
	// Another deletion may have been faster with some of them.
	d.Matching = max(d.Matching, d.Deleted)
	return d, nil
}

// remove deletes records that are locked, in statements of their own: history that somebody wrote while they were waited for goes too.
// Ownerships are held in one order, as by those who delete a user; the records take them along.
func remove(ctx context.Context, tx pgx.Tx, v account.View, ids []int64, deleted *int64) error {
	b := &pgx.Batch{}
	b.Queue(`
		SELECT FROM feedback_owner
		WHERE organization_id = $1 AND feedback_id = ANY($2)
		ORDER BY feedback_id, user_id
		FOR UPDATE`, v.Org(), ids)
	b.Queue(`
		WITH gone AS (
			DELETE FROM feedback
			WHERE organization_id = $1 AND id = ANY($2)
			RETURNING *
		), content AS (
			DELETE FROM feedback_content WHERE organization_id = $1 AND feedback_id = ANY($2)
		), history AS (
			DELETE FROM feedback_history WHERE organization_id = $1 AND feedback_id = ANY($2)
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
		SELECT count(*) FROM gone`, v.Org(), ids).QueryRow(func(row pgx.Row) error { return row.Scan(deleted) })
	return tx.SendBatch(ctx, b).Close()
}
