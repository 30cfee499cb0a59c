package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
	"earshot/internal/report"
	"earshot/internal/tally"
)

// crowded is an organization with 20,000 feedback over two years, all of them in the tallies, in a database of its own.
func crowded(t *testing.T) (db *pgxpool.Pool, address string, v account.View) {
	t.Helper()
	address = pgtest.New(t)
	db = open(t, pg.Settings{URL: address, MaxConns: 4})
	org, err := account.NewStore(db).OpenOrganization(t.Context(), "Crowded")
	if err != nil {
		t.Fatal(err)
	}
	v = account.Whole(org.ID)
	if _, err := carrier.NewStore(db).Create(t.Context(), v, carrier.New{ID: 1, Name: "Survey"}); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		// Its reading would be counted as ours.
		`ALTER TABLE feedback SET (autovacuum_enabled = false)`, `ALTER TABLE feedback_content SET (autovacuum_enabled = false)`,
		`INSERT INTO topic (organization_id, name) SELECT ` + fmt.Sprint(v.Org()) + `, 'Topic ' || n FROM generate_series(1, 20) AS n`,
		`INSERT INTO feedback (organization_id, id, created_at, completed_at, carrier_id, day, source, status, nps_profile, satisfaction, sentiment,
		                       attribute_value_ids, topic_ids, answer_ids)
			SELECT ` + fmt.Sprint(v.Org()) + `, n, at, at, 1, (at AT TIME ZONE 'UTC')::date, 1 + n % 7, 1 + n % 5, 1 + n % 3, n % 10001, n % 9999,
			       '{}', ARRAY(SELECT id FROM topic ORDER BY id OFFSET n % 20 LIMIT 2), '{}'
			FROM generate_series(1, 20000) AS n
			CROSS JOIN LATERAL (SELECT now() - n * interval '50 minutes' AS at) AS x`,
		`INSERT INTO feedback_content
			SELECT organization_id, id, 100 * id, id::text, '[{"q": 1, "v": "Good", "t": true}]', 'good' FROM feedback`,
	} {
		exec(t, db, sql)
	}
	if err := tally.NewStore(db).Rebuild(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{`VACUUM (ANALYZE) feedback`, `VACUUM (ANALYZE) feedback_content`, `ANALYZE`} {
		exec(t, db, sql)
	}
	// What these connections looked at must be on record before anybody counts.
	for _, conn := range db.AcquireAllIdle(t.Context()) {
		if _, err := conn.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`); err != nil {
			t.Fatal(err)
		}
		conn.Release()
	}
	return db, address, v
}

func open(t *testing.T, s pg.Settings) *pgxpool.Pool {
	t.Helper()
	s.StatementTimeout = time.Minute
	db, err := pg.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func exec(t *testing.T, db *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(sql, err)
	}
}

// touched counts the pages of feedback, and of its indexes and contents, that the one connection of a pool looks at while work is done.
func touched(t *testing.T, pool *pgxpool.Pool, work func()) int64 {
	t.Helper()
	read := func() (n int64) {
		// The statistics of a backend are its own until it reports them.
		exec(t, pool, `SELECT pg_stat_force_next_flush()`)
		exec(t, pool, `SELECT pg_stat_clear_snapshot()`)
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

// What has to be counted and takes too long is refused with advice, and not taken for a failure.
func TestFiguresThatTakeTooLong(t *testing.T) {
	t.Parallel()
	db, address, v := crowded(t)
	reads, err := pg.Open(t.Context(), pg.Settings{URL: address, MaxConns: 1, CustomPlans: true, StatementTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reads.Close)
	carriers := carrier.NewStore(db)
	store := report.NewStore(db, carriers, feedback.NewStore(db, reads, carriers, analysis.NewStore(db)))
	operator := account.Operator(v.Org())
	r, err := store.Create(t.Context(), operator, report.New{FQL: `[{"Text":{"$like":"o"}}]`, Prefilled: true}, &fault.Form{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Figures(t.Context(), operator, r.ID, report.Reading{}); !fault.Is(err, fault.QueryTooBroad) {
		t.Errorf("got %v", err)
	}
}

// A prefilled report never looks at the records, however many there are, but for the latest texts, which it finds by the primary key; with a
// period it looks at no more than its ends. One connection suffices.
func TestStandardReportReadsTallies(t *testing.T) {
	t.Parallel()
	db, address, v := crowded(t)
	reads := open(t, pg.Settings{URL: address, MaxConns: 1, CustomPlans: true})
	carriers := carrier.NewStore(db)
	store := report.NewStore(db, carriers, feedback.NewStore(db, reads, carriers, analysis.NewStore(db)))
	operator := account.Operator(v.Org())
	all := touched(t, reads, func() { exec(t, reads, `SELECT count(satisfaction), count(topic_ids) FROM feedback`) })
	first := time.Now().UTC().AddDate(0, 0, 1-time.Now().UTC().Day())
	month := func(back int) string { return first.AddDate(0, -back, 0).Format(time.DateOnly) }
	for name, tc := range map[string]struct {
		fql     string
		figures bool // without the texts
		most    int64
	}{
		"figures":               {`[]`, true, 0},
		"figures and texts":     {`[]`, false, 60},
		"whole months":          {`[{"TimePeriod":{"$gte":"` + month(14) + `","$lt":"` + month(2) + `"}},{"Nps":{"$exists":true}}]`, true, 0},
		"of sources":            {`[{"Source":{"$in":["trustpilot","email"]}},{"Status":{"$ne":"todo"}}]`, true, 0},
		"up to now":             {`[{"TimePeriod":{"$eq":"date_last_12_months"}}]`, true, all / 5},
		"up to now, of sources": {`[{"TimePeriod":{"$eq":"date_last_12_months"}},{"Source":{"$eq":"email"}}]`, true, all / 2},
	} {
		r, err := store.Create(t.Context(), operator, report.New{Name: name, FQL: tc.fql, Prefilled: true}, &fault.Form{})
		if err != nil {
			t.Fatal(err)
		}
		var count int64
		look := func() {
			_, f, err := store.Figures(t.Context(), operator, r.ID, report.Reading{})
			if err != nil {
				t.Fatal(err)
			}
			count = f.Parts[0].Total.Count
		}
		if tc.figures { // topics are kept by the month, and for no status or source
			exec(t, db, `DELETE FROM report_component WHERE report_id = $1 AND (type = 'verbatims' OR type = 'topics' AND $2)`, r.ID, tc.fql != "[]" && name != "whole months")
		}
		n := touched(t, reads, look)
		t.Logf("%s: %d pages of %d, %d feedback", name, n, all, count)
		if n > tc.most {
			t.Errorf("%s: %d pages are read, at most %d should be; all are %d", name, n, tc.most, all)
		}
		if count == 0 {
			t.Errorf("%s: there is nothing to count", name)
		}
	}
}
