package feedback_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/feedback"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// Undoing a stretch of records reads their history and nobody else's, also right after a large operation, when the statistics do not know
// yet how much history there is.
func TestUndoReadsTheHistoryOfItsRecordsOnly(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.New(t)})
	store := feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db))
	v := organization(t, db)
	const all, some = 20_000, 100
	for _, sql := range []string{`ALTER TABLE feedback SET (autovacuum_enabled = off)`, `ALTER TABLE feedback_history SET (autovacuum_enabled = off)`} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	var ids []int64
	err := db.QueryRow(t.Context(), `
		WITH written AS (
			INSERT INTO feedback (organization_id, id, created_at, carrier_id, day, source, status, attribute_value_ids, answer_ids)
			SELECT $1, nextval('feedback_id'), now(), 1, current_date, 1, 1, '{}', '{}' FROM generate_series(1, $2)
			RETURNING id
		)
		SELECT array_agg(id ORDER BY id) FROM written`, v.Org(), all).Scan(&ids)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []feedback.Change{
		{Verb: feedback.Move, Status: feedback.Resolved},
		{Verb: feedback.Attach, Attributes: []feedback.Attribute{{Name: "city", Values: []feedback.Value{{Text: "Lyon"}}}}},
	} {
		operation := int64(i + 1)
		change(t, store, db, v, feedback.By{OperationID: operation}, c, ids)
		var read int64
		err := pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			done, err := store.Restore(t.Context(), tx, v, feedback.By{}, operation, ids[:some])
			if err != nil {
				return err
			}
			if done.Changed != some {
				t.Errorf("%s: %d undone", c.Verb, done.Changed)
			}
			return tx.QueryRow(context.WithoutCancel(t.Context()), `
				SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'feedback_history'`).Scan(&read)
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d rows of history were read for %d records", c.Verb, read, some)
		if read > 20*some {
			t.Errorf("%s: undoing %d records read %d rows of history", c.Verb, some, read)
		}
	}
}
