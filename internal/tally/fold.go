package tally

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/pg"
)

// crowd is how many values an attribute may have before its values are no longer counted one by one.
const crowd = 10_000

// Fold sums the deltas of every organization into its rollups and returns how many it took. Each organization is folded up to
// the oldest transaction that still runs anywhere on the server, in transactions of a bounded size. One that somebody else is
// folding or rebuilding is left to them. An organization that fails does not keep the others from being folded.
func (s *Store) Fold(ctx context.Context) (int64, error) { return s.foldOn(ctx, s.db) }

func (s *Store) foldOn(ctx context.Context, db session) (folded int64, err error) {
	for more := true; more && err == nil; {
		var n int64
		n, more, err = s.round(ctx, db)
		folded += n
	}
	return folded, err
}

// backlog is an organization with deltas that are not folded. XID is that of the oldest.
type backlog struct {
	OrganizationID account.OrgID
	XID            uint64 `db:"xid"`
	Settled        bool   // every transaction up to it has ended
}

// backlogSQL looks once into the index for each organization, from its bound on: deltas that are folded but kept alive by
// somebody's old snapshot are never touched, however many they are. It is about all organizations: folding is nobody's request.
const backlogSQL = `
SELECT o.id AS organization_id, d.xid, d.xid < pg_snapshot_xmin(pg_current_snapshot()) AS settled
FROM organization o
LEFT JOIN tally_fold f ON f.organization_id = o.id
CROSS JOIN LATERAL (
    SELECT d.xid
    FROM feedback_delta d
    WHERE d.organization_id = o.id AND d.xid >= coalesce(f.bound, '0')
    ORDER BY d.xid
    LIMIT 1
) AS d`

// round folds one slice of each organization, so that a large backlog does not keep the others waiting.
// more says that something was left which could be folded now.
func (s *Store) round(ctx context.Context, db session) (folded int64, more bool, err error) {
	// Planned anew each time: a plan from when the table was empty would read all of it.
	rows, err := db.Query(ctx, backlogSQL, pgx.QueryExecModeExec)
	if err != nil {
		return 0, false, fmt.Errorf("look for deltas: %w", err)
	}
	backlogs, err := pgx.CollectRows(rows, pgx.RowToStructByName[backlog])
	if err != nil {
		return 0, false, fmt.Errorf("look for deltas: %w", err)
	}
	if len(backlogs) == 0 {
		return 0, false, beat(ctx, db)
	}
	var failed []error
	for _, b := range backlogs {
		if !b.Settled {
			continue
		}
		n, left, err := s.foldSlice(ctx, db, b.OrganizationID)
		if ctx.Err() != nil {
			return folded, false, ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("fold organization %d: %w", b.OrganizationID, err))
			if pg.Away(err) && !pg.TimedOut(err) {
				break
			}
			continue
		}
		folded += n
		more = more || left
	}
	return folded, more, errors.Join(failed...)
}

// beat notes, now and then, that nothing was left to fold: after a quiet night the first delta must not look as old as the night.
func beat(ctx context.Context, db session) error {
	_, err := db.Exec(ctx, `
		UPDATE tally_fold SET folded_at = now()
		WHERE organization_id = (SELECT organization_id FROM tally_fold ORDER BY folded_at DESC NULLS LAST LIMIT 1)
		  AND folded_at < now() - interval '30 seconds'
		  AND NOT EXISTS (`+backlogSQL+`)`, pgx.QueryExecModeExec)
	if err != nil {
		return fmt.Errorf("note that all is folded: %w", err)
	}
	return nil
}

// slice is a stretch of deltas, by transaction: from is in it, to is not.
type slice struct {
	from, to uint64
	last     bool // nothing behind it can be folded yet
}

// foldSlice folds the next slice of an organization. Three statements read the deltas of the slice, each with a snapshot of its
// own, and all see the same: every transaction below its end had ended before the first began, and nobody else deletes deltas without
// the lock. A reader sees all of it or nothing: rollups, deltas and bound change in one commit.
func (s *Store) foldSlice(ctx context.Context, db session, org account.OrgID) (folded int64, more bool, err error) {
	err = pgx.BeginTxFunc(ctx, db, afresh, func(tx pgx.Tx) error {
		next, err := s.next(ctx, tx, org)
		if err != nil || next.from >= next.to {
			return err
		}
		var emptied string
		var empty, grown []int64
		b := &pgx.Batch{}
		b.Queue(foldGrainsSQL, org, next.from, next.to).
			QueryRow(func(row pgx.Row) error { return row.Scan(&emptied) })
		b.Queue(foldFacetsSQL, org, next.from, next.to).
			QueryRow(func(row pgx.Row) error { return row.Scan(&empty, &grown) })
		b.Queue(`
			UPDATE tally_fold SET bound = $2, folded_at = CASE WHEN $3 THEN now() ELSE folded_at END
			WHERE organization_id = $1`, org, next.to, next.last)
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			DELETE FROM feedback_delta
			WHERE organization_id = $1 AND xid >= $2 AND xid < $3`, org, next.from, next.to)
		if err != nil {
			return err
		}
		folded, more = tag.RowsAffected(), !next.last
		if err := prune(ctx, tx, org, emptied, empty); err != nil {
			return err
		}
		return unroll(ctx, tx, org, grown)
	})
	return folded, more, err
}

// next locks the organization's fold and returns what to fold: at most a slice of deltas, and the rest of the last transaction in it,
// because a bound cannot lie within a transaction. When somebody else has the lock it is empty.
func (s *Store) next(ctx context.Context, tx pgx.Tx, org account.OrgID) (slice, error) {
	var locked bool
	var found slice
	b := &pgx.Batch{}
	// A fold touches few rows of tables that may be large, and the statistics of one that is always emptied say nothing:
	// everything goes by index, and in its order, so that the end of a slice is found without reading what is behind it.
	b.Queue(`
		SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
		       set_config('work_mem', '64MB', true), set_config('statement_timeout', '60s', true)`)
	b.Queue(`
		INSERT INTO tally_fold (organization_id, bound) VALUES ($1, '0')
		ON CONFLICT (organization_id) DO NOTHING`, org)
	b.Queue(`SELECT true FROM tally_fold WHERE organization_id = $1 FOR UPDATE SKIP LOCKED`, org).
		Query(func(rows pgx.Rows) error {
			locked = rows.Next()
			rows.Close()
			return rows.Err()
		})
	b.Queue(`
		SELECT f.bound, coalesce(behind.xid, h.xmin), behind.xid IS NULL
		FROM tally_fold f
		CROSS JOIN (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS xmin) AS h
		LEFT JOIN LATERAL (
			SELECT d.xid
			FROM feedback_delta d
			WHERE d.organization_id = $1 AND d.xid < h.xmin AND d.xid > (
				SELECT l.xid
				FROM feedback_delta l
				WHERE l.organization_id = $1 AND l.xid >= f.bound AND l.xid < h.xmin
				ORDER BY l.xid
				OFFSET $2::bigint - 1
				LIMIT 1)
			ORDER BY d.xid
			LIMIT 1
		) AS behind ON true
		WHERE f.organization_id = $1`, org, s.slice).
		QueryRow(func(row pgx.Row) error { return row.Scan(&found.from, &found.to, &found.last) })
	if err := tx.SendBatch(ctx, b).Close(); err != nil || !locked {
		return slice{}, err
	}
	return found, nil
}

// Both return which of the rows they touched came to nothing. The second returns the attributes that got values never counted before as
// well: a statement does not see what it inserts itself.
var (
	foldGrainsSQL = `
WITH cell AS (` + grains(deltas) + `
), added AS (
    INSERT INTO feedback_rollup AS r (organization_id, grain, bucket, carrier_id, source, status, nps,
                                      n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum)
    SELECT $1, grain, bucket, carrier_id, source, status, nps, n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum
    FROM cell
    ORDER BY grain, bucket, carrier_id, source, status, nps
    ON CONFLICT (organization_id, grain, bucket, carrier_id, source, status, nps) DO UPDATE
    SET n = r.n + excluded.n, sat_n = r.sat_n + excluded.sat_n, sat_sum = r.sat_sum + excluded.sat_sum,
        completed_n = r.completed_n + excluded.completed_n,
        sentiment_n = r.sentiment_n + excluded.sentiment_n, sentiment_sum = r.sentiment_sum + excluded.sentiment_sum
    RETURNING r.*
)
SELECT coalesce(jsonb_agg(a), '[]')
FROM added a
WHERE (n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum) = (0, 0, 0, 0, 0, 0)`

	foldFacetsSQL = `
WITH cell AS MATERIALIZED (` + facets(deltas) + `
), added AS (
    INSERT INTO facet_rollup AS r (organization_id, value_id, month, nps, n, sat_n, sat_sum)
    SELECT $1, value_id, month, nps, n, sat_n, sat_sum
    FROM cell
    ORDER BY value_id, month, nps
    ON CONFLICT (organization_id, value_id, month, nps) DO UPDATE
    SET n = r.n + excluded.n, sat_n = r.sat_n + excluded.sat_n, sat_sum = r.sat_sum + excluded.sat_sum
    RETURNING r.value_id, r.n, r.sat_n, r.sat_sum
)
SELECT ARRAY(SELECT value_id FROM added WHERE (n, sat_n, sat_sum) = (0, 0, 0)),
       ARRAY(SELECT DISTINCT c.attribute_id
             FROM cell c
             WHERE c.attribute_id IS NOT NULL
               AND (SELECT r.value_id FROM facet_rollup r WHERE r.organization_id = $1 AND r.value_id = c.value_id LIMIT 1) IS NULL)`
)

// prune deletes the rows that came to nothing, or the rollups would keep every combination there ever was.
func prune(ctx context.Context, tx pgx.Tx, org account.OrgID, emptied string, empty []int64) error {
	if emptied != "[]" {
		_, err := tx.Exec(ctx, `
			DELETE FROM feedback_rollup r
			USING jsonb_to_recordset($2::jsonb) AS e (grain smallint, bucket date, carrier_id bigint, source smallint,
			                                          status smallint, nps smallint)
			WHERE r.organization_id = $1 AND (r.grain, r.bucket, r.carrier_id, r.source, r.status, r.nps) =
			      (e.grain, e.bucket, e.carrier_id, e.source, e.status, e.nps)`, org, emptied)
		if err != nil {
			return err
		}
	}
	if len(empty) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		DELETE FROM facet_rollup
		WHERE organization_id = $1 AND value_id = ANY($2) AND (n, sat_n, sat_sum) = (0, 0, 0)`, org, empty)
	return err
}

// unroll stops counting the values of those of the attributes that have too many, and forgets what was counted.
// Readers look at rolled_up in the snapshot in which they read the counts, so both change in one commit.
func unroll(ctx context.Context, tx pgx.Tx, org account.OrgID, attributes []int64) error {
	if len(attributes) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, `
		UPDATE attribute a SET rolled_up = false
		WHERE a.organization_id = $1 AND a.id = ANY($2) AND a.rolled_up AND $3::bigint < (
			SELECT count(*)
			FROM (SELECT FROM attribute_value v WHERE v.organization_id = $1 AND v.attribute_id = a.id LIMIT $3 + 1) AS seen)
		RETURNING a.id`, org, attributes, crowd)
	if err != nil {
		return err
	}
	crowded, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(crowded) == 0 {
		return err
	}
	_, err = tx.Exec(ctx, `
		DELETE FROM facet_rollup
		WHERE organization_id = $1 AND value_id IN (
			SELECT id FROM attribute_value WHERE organization_id = $1 AND attribute_id = ANY($2)
			UNION ALL
			SELECT unnest($2::bigint[]))`, org, crowded)
	return err
}
