package feedback_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// Common and rare values asked for in turn on one connection read the buffers they read alone: no plan made for one is used for the other.
func TestPlansFitTheirValues(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	db := open(t, pg.Settings{URL: address})
	carriers := carrier.NewStore(db)
	v := organization(t, db)
	many(t, db, feedback.NewStore(db, db, carriers, analysis.NewStore(db)), v)
	// Two attributes, so that neither the page nor the total can be read off anything but the records.
	common := query(t, `[{"Attribute":{"name":"size","$eq":"common"}},{"Attribute":{"name":"colour","$eq":"red"}}]`)
	rare := query(t, `[{"Attribute":{"name":"size","$eq":"rare"}},{"Attribute":{"name":"colour","$eq":"red"}}]`)
	const times = 20
	measure := func(s pg.Settings, queries ...fql.Query) int64 {
		s.MaxConns = 1
		reads := open(t, s)
		store := feedback.NewStore(db, reads, carriers, analysis.NewStore(db))
		return buffers(t, reads, func() {
			for range times {
				for _, q := range queries {
					list(t, store, v, q)
				}
			}
		})
	}
	custom := pg.Settings{URL: address, CustomPlans: true}
	aloneCommon, aloneRare, inTurn := measure(custom, common), measure(custom, rare), measure(custom, common, rare)
	generic := measure(pg.Settings{URL: address + "?plan_cache_mode=force_generic_plan"}, common, rare)
	t.Logf("buffers of %d lists: common %d, rare %d, in turn %d; with one plan for all %d", times, aloneCommon, aloneRare, inTurn, generic)
	if limit := (aloneCommon + aloneRare) * 11 / 10; inTurn > limit {
		t.Errorf("in turn they read %d buffers, alone %d and %d", inTurn, aloneCommon, aloneRare)
	}
	if generic < inTurn*5/4 {
		t.Errorf("one plan for all reads %d buffers and plans of their own %d: this test could not tell them apart", generic, inTurn)
	}
}

func list(t *testing.T, store *feedback.Store, v account.View, q fql.Query) {
	t.Helper()
	if _, _, err := store.List(t.Context(), v, q, feedback.Page{Size: 10}); err != nil {
		t.Fatal(err)
	}
}

// many fills an organization with records of which nearly all have one value and a few another, spread evenly.
func many(t *testing.T, db *pgxpool.Pool, store *feedback.Store, v account.View) {
	t.Helper()
	for _, size := range []string{"common", "rare"} {
		_, err := store.Create(t.Context(), v, feedback.New{CarrierID: 1, Source: 4, Attributes: []feedback.Attribute{
			{Name: "size", Values: []feedback.Value{{Text: size}}}, {Name: "colour", Values: []feedback.Value{{Text: "red"}}},
		}}, &fault.Form{})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{
		// Its reading would be counted as ours.
		`ALTER TABLE feedback SET (autovacuum_enabled = false)`, `ALTER TABLE feedback_content SET (autovacuum_enabled = false)`,
		`INSERT INTO feedback (organization_id, id, created_at, carrier_id, day, source, status, attribute_value_ids, answer_ids)
			SELECT f.organization_id, 1000 + n, f.created_at, f.carrier_id, f.day, f.source, f.status, f.attribute_value_ids, f.answer_ids
			FROM generate_series(1, 30000) AS n
			JOIN LATERAL (SELECT * FROM feedback ORDER BY id OFFSET (n % 500 = 0)::int LIMIT 1) AS f ON true`,
		`INSERT INTO feedback_content SELECT organization_id, id, 1, id::text, '[]', NULL FROM feedback WHERE id > 1000`,
		`VACUUM (ANALYZE) feedback`, `VACUUM (ANALYZE) feedback_content`, `ANALYZE`,
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	// What it has read itself must not be reported while others are measured.
	for _, conn := range db.AcquireAllIdle(t.Context()) {
		if _, err := conn.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`); err != nil {
			t.Fatal(err)
		}
		conn.Release()
	}
}

// buffers counts the pages that the one connection of a pool touches while work is done.
func buffers(t *testing.T, pool *pgxpool.Pool, work func()) int64 {
	t.Helper()
	read := func() int64 {
		var n int64
		// The statistics of a backend are its own until it reports them.
		for _, sql := range []string{`SELECT pg_stat_force_next_flush()`, `SELECT pg_stat_clear_snapshot()`} {
			if _, err := pool.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		err := pool.QueryRow(t.Context(), `
			SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0))
			FROM pg_statio_user_tables WHERE relname IN ('feedback', 'feedback_content')`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := read()
	work()
	return read() - before
}

// The statement that creates is planned once for a connection: to plan it takes longer than to run it.
func TestCreatesAreNotPlannedEachTime(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.URL(t), MaxConns: 1, OnePlan: true})
	store, v := feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db)), organization(t, db)
	for range 10 {
		_, err := store.Create(t.Context(), v, feedback.New{CarrierID: 1, Source: 1, Items: []carrier.Item{{QuestionID: 1, Value: "Fine."}}}, &fault.Form{})
		if err != nil {
			t.Fatal(err)
		}
	}
	var once, each int
	err := db.QueryRow(t.Context(), `
		SELECT sum(generic_plans), sum(custom_plans) FROM pg_prepared_statements
		WHERE statement LIKE '%INSERT INTO feedback_content%' AND statement NOT LIKE '%pg_prepared%'`).Scan(&once, &each)
	if err != nil || once != 10 || each != 0 {
		t.Errorf("%d executions by the one plan, %d by a plan of their own, %v", once, each, err)
	}
}
