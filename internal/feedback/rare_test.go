package feedback_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
	"earshot/internal/tally"
)

// A page of a value that one record of many has is found through the index, whatever the planner's statistics think of the value: PostgreSQL
// takes every value it has not seen for one that is nearly as common as the rarest it has, and one that it has seen for as common as it was.
func TestRareValuesAreFoundThroughTheIndex(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	db := open(t, pg.Settings{URL: address})
	carriers := carrier.NewStore(db)
	store := feedback.NewStore(db, db, carriers, analysis.NewStore(db))
	v := organization(t, db)
	oldest := alike(t, db, store, v, 30_000)
	// Now the statistics are out of date: one value is new, the other was detached from all but one.
	attach := feedback.Change{Verb: feedback.Attach, Attributes: []feedback.Attribute{
		{Name: "order", Values: []feedback.Value{{Text: "ord-1"}}}, {Name: "ticket", Values: []feedback.Value{{Text: "tic-1"}}},
	}}
	if err := store.Change(t.Context(), v, feedback.By{}, attach, oldest); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`UPDATE attribute SET rolled_up = false WHERE name = 'ticket'`, // as if it had too many values to count them
		`UPDATE feedback SET attribute_value_ids = attribute_value_ids[1:2]
			WHERE id <> (SELECT min(id) FROM feedback) AND attribute_value_ids[3] = (SELECT id FROM attribute WHERE name = 'fading')`,
		`VACUUM feedback`, // what was detached leaves the index; the statistics stay
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	tallies := tally.NewStore(db)
	if err := tallies.Rebuild(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if err := tallies.CleanPending(t.Context()); err != nil {
		t.Fatal(err)
	}
	reads := open(t, pg.Settings{URL: address, CustomPlans: true, MaxConns: 1})
	store = feedback.NewStore(db, reads, carriers, analysis.NewStore(db))
	for name, filter := range map[string]string{
		"new and counted":                   `[{"Attribute":{"name":"order","$eq":"ord-1"}}]`,
		"new, of more values than counted":  `[{"Attribute":{"name":"ticket","$eq":"tic-1"}}]`,
		"common when last looked at":        `[{"Attribute":{"name":"fading","$eq":"yes"}}]`,
		"with a condition that many meet":   `[{"Attribute":{"name":"order","$eq":"ord-1"}},{"Status":{"$ne":"resolved"}}]`,
		"one of two, the other just as few": `[{"Attribute":{"name":"order","$eq":"ord-1","$type":"or"}},{"Attribute":{"name":"ticket","$eq":"tic-1"}}]`,
		"a value that nobody has":           `[{"Attribute":{"name":"order","$eq":"ord-2"}}]`,
	} {
		q := query(t, filter)
		if got := buffers(t, reads, func() { list(t, store, v, q) }); got > 200 {
			t.Errorf("%s: a page of one reads %d buffers", name, got)
		}
	}
	if got := buffers(t, reads, func() { list(t, store, v, query(t, `[{"Attribute":{"name":"size","$eq":"common"}}]`)) }); got > 200 {
		t.Errorf("a common value: a page of ten reads %d buffers", got)
	}
}

// alike fills an organization with n records that all have one value and, every other one, a second, as PostgreSQL's statistics know. It
// returns the id of the oldest, which has both.
func alike(t *testing.T, db *pgxpool.Pool, store *feedback.Store, v account.View, n int) int64 {
	t.Helper()
	attributes := []feedback.Attribute{
		{Name: "size", Values: []feedback.Value{{Text: "common"}}}, {Name: "fading", Values: []feedback.Value{{Text: "yes"}}},
	}
	oldest, err := store.Create(t.Context(), v, feedback.New{CarrierID: 1, Source: 4, Attributes: attributes}, &fault.Form{})
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		// Its reading would be counted as ours.
		`ALTER TABLE feedback SET (autovacuum_enabled = false)`, `ALTER TABLE feedback_content SET (autovacuum_enabled = false)`,
		fmt.Sprintf(`INSERT INTO feedback (organization_id, id, created_at, carrier_id, day, source, status, attribute_value_ids, answer_ids)
			SELECT f.organization_id, 1000 + n, f.created_at, f.carrier_id, f.day, f.source, f.status, f.attribute_value_ids[1:2 + n %% 2 * 2], f.answer_ids
			FROM generate_series(1, %d) AS n, feedback f`, n),
		`INSERT INTO feedback_content SELECT organization_id, id, 1, id::text, '[]', NULL FROM feedback WHERE id > 1000`,
		`VACUUM (ANALYZE) feedback`, `VACUUM (ANALYZE) feedback_content`, `ANALYZE`,
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return oldest.ID
}
