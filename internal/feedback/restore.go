package feedback

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
)

// Restored says what became of an undoing.
type Restored struct {
	Changed int64   // records that are as they were before the operation
	Skipped []int64 // records of which something was changed again since; that stays as it is
}

// Restore takes back what an operation changed of the records with these ids: each status, and each attribute, unless it was changed again
// since. A record of which nothing else was changed is then exactly as it was, down to the order of its attributes. It locks as Apply does.
func (s *Store) Restore(ctx context.Context, tx pgx.Tx, v account.View, by By, operation int64, ids []int64) (Restored, error) {
	if err := whole(v); err != nil {
		return Restored{}, err
	}
	var done Restored
	b := &pgx.Batch{}
	b.Queue(lockSQL, v.Org(), ids)
	for _, sql := range []string{restoreStatusSQL, restoreAttributesSQL} {
		b.Queue(sql, v.Org(), ids, optional(by.TokenID), optional(by.UserID), optional(by.OperationID), operation).
			QueryRow(func(row pgx.Row) error {
				var changed int64
				var skipped []int64
				err := row.Scan(&changed, &skipped)
				done.Changed += changed
				done.Skipped = append(done.Skipped, skipped...)
				return err
			})
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return Restored{}, fmt.Errorf("restore feedback: %w", err)
	}
	return done, nil
}

// savedSQL is what the operation $6 changed of the records f, and whether it was changed again since. Where it is not aggregated, OFFSET 0 keeps
// it a subquery: right after an operation the statistics do not know its history, and a join would read all of that for every few records.
const savedSQL = `
        SELECT h.attribute_id, h.before, h.after, h.places, EXISTS (
                   SELECT FROM feedback_history n
                   WHERE n.organization_id = $1 AND n.feedback_id = h.feedback_id AND n.id > h.id AND n.field = h.field
                     AND n.attribute_id IS NOT DISTINCT FROM h.attribute_id) AS again
        FROM feedback_history h
        WHERE h.organization_id = $1 AND h.feedback_id = f.id AND h.operation_id = $6 AND h.field = `

const restoreStatusSQL = `
WITH saved AS MATERIALIZED (
    SELECT f.id, f.carrier_id, f.day, f.source, f.status, coalesce(f.nps_profile, 0) AS nps, f.satisfaction, f.completed_at, f.sentiment,
           s.before[1]::smallint AS new_status, s.again
    FROM feedback f
    CROSS JOIN LATERAL (` + savedSQL + `1 OFFSET 0) AS s
    WHERE f.organization_id = $1 AND f.id = ANY($2)
), old AS (
    SELECT * FROM saved WHERE NOT again
)` + movedSQL + `
SELECT (SELECT count(*) FROM changed), ARRAY(SELECT id FROM saved WHERE again ORDER BY id)`

// What is put back takes the places it had; what is there besides fills the others in its order.
const restoreAttributesSQL = `
WITH saved AS MATERIALIZED (
    SELECT f.id, f.day, coalesce(f.nps_profile, 0)::smallint AS nps, f.satisfaction, f.attribute_value_ids AS ids, s.gone, s.again
    FROM feedback f
    CROSS JOIN LATERAL (
        SELECT coalesce(bool_or(s.again), false) AS again, ARRAY(
                   SELECT unnest(s.attribute_id || s.after) FROM (` + savedSQL + `3) AS s WHERE NOT s.again) AS gone
        FROM (` + savedSQL + `3) AS s
    ) AS s
    WHERE f.organization_id = $1 AND f.id = ANY($2)
), merged AS MATERIALIZED (
    SELECT o.id, o.day, o.nps, o.satisfaction, o.ids, ` + tagsSQL + ` AS tags, ARRAY(
               SELECT id
               FROM (
                   SELECT unnest(back.ids) AS id, unnest(back.places) AS place
                   UNION ALL
                   SELECT k.id, free.place
                   FROM (
                       SELECT u.id, row_number() OVER (ORDER BY u.place) AS n
                       FROM unnest(o.ids) WITH ORDINALITY AS u (id, place)
                       WHERE u.id <> ALL (o.gone)
                   ) AS k
                   JOIN (
                       SELECT g AS place, row_number() OVER (ORDER BY g) AS n
                       FROM generate_series(1, cardinality(o.ids) + cardinality(back.ids)) AS g
                       WHERE g <> ALL (back.places)
                   ) AS free USING (n)
               ) AS merged
               ORDER BY place
           ) AS new_ids
    FROM saved o
    CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(u.id), '{}') AS ids, coalesce(array_agg(u.place), '{}') AS places
        FROM (SELECT o.id) AS f, LATERAL (` + savedSQL + `3) AS s
        CROSS JOIN LATERAL unnest(s.attribute_id || s.before, s.places) AS u (id, place)
        WHERE NOT s.again AND u.place IS NOT NULL
    ) AS back
    WHERE o.gone <> '{}'
), edited AS MATERIALIZED (
    SELECT m.*, ARRAY(SELECT unnest(m.new_ids) EXCEPT SELECT unnest(m.ids) ORDER BY 1) AS added,
           ARRAY(SELECT unnest(m.ids) EXCEPT SELECT unnest(m.new_ids) ORDER BY 1) AS gone
    FROM merged m
), part AS MATERIALIZED (
    SELECT e.id AS feedback_id, t.id AS attribute_id, had.ids AS before, had.places, t.after
    FROM edited e
    CROSS JOIN LATERAL (
        SELECT s.attribute_id AS id, s.before AS after
        FROM (SELECT e.id) AS f, LATERAL (` + savedSQL + `3) AS s
        WHERE NOT s.again
        OFFSET 0
    ) AS t
    CROSS JOIN LATERAL (` + hadSQL + `) AS had
    WHERE e.new_ids <> e.ids
)` + changedSQL + `
SELECT (SELECT count(*) FROM changed), ARRAY(SELECT id FROM saved WHERE again ORDER BY id)`
