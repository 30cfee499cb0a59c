package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/pg/pgtest"
)

// shop is an organization with many feedback, the process that answers for it, and a look behind the scenes.
type shop struct {
	t        *testing.T
	database string
	org      start
	db       *pgx.Conn
	api      *server
}

// openShop makes one with n feedback, numbered from 1, all of them todo and without attributes.
func openShop(t *testing.T, n int, flags ...string) *shop {
	t.Helper()
	s := &shop{t: t, database: pgtest.New(t)}
	s.org = initialize(t, s.database)
	var err error
	if s.db, err = pgx.Connect(t.Context(), s.database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close(t.Context()) }) // nothing is left open on it
	s.exec(`
		WITH written AS (
			INSERT INTO feedback (organization_id, id, created_at, carrier_id, day, source, status, attribute_value_ids, answer_ids)
			SELECT $1, nextval('feedback_id'), now(), $2, (now() AT TIME ZONE 'UTC')::date, 1, 1, '{}', '{}' FROM generate_series(1, $3)
			RETURNING id, day
		), content AS (
			INSERT INTO feedback_content (organization_id, feedback_id, first_item_id, fingerprint, items)
			SELECT $1, id, nextval('item_id'), id, '[]' FROM written
		)
		INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum)
		SELECT $1, $2, day, 1, 1, 0, count(*), 0, 0, 0, 0, 0 FROM written GROUP BY day`, s.org.OrganizationID, s.org.CarrierID, n)
	s.api = serve(t, s.database, append([]string{"--database-conns", "16"}, flags...)...)
	return s
}

func (s *shop) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.db.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatal(err)
	}
}

// read is the one value of a statement.
func read[T any](s *shop, sql string, args ...any) (value T) {
	s.t.Helper()
	if err := s.db.QueryRow(s.t.Context(), sql, args...).Scan(&value); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// op is an operation as the interface tells of it.
type op struct {
	ID                            int64
	State                         string
	Error                         *string
	Total, Done, Changed, Skipped int64
	SkippedIDs                    []int64 `json:"skipped_ids"`
}

// bulk makes a bulk call of the feedback with ids from low to high and returns the id of its operation.
func (s *server) bulk(org start, method, path string, low, high int, change string) int64 {
	s.t.Helper()
	body := fmt.Sprintf(`{"fql": [{"Id": {"$btw": [%d, %d]}}], %s}`, low, high, change)
	a := s.must(method, path, org.Token, body)
	var answer struct {
		OperationID int64 `json:"operation_id"`
	}
	decode(s.t, a.body, &answer)
	if a.status != http.StatusOK && a.status != http.StatusAccepted || answer.OperationID == 0 {
		s.t.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
	}
	return answer.OperationID
}

const (
	bulkUpdate = "/v4/feedback/bulk-update"
	resolved   = `"status": "resolved"`
)

// operation is how far one is.
func (s *server) operation(org start, id int64) (o op) {
	s.t.Helper()
	a := s.get(fmt.Sprintf("/v4/operations/%d", id), org.Token)
	if a.status != http.StatusOK {
		s.t.Fatalf("operation %d: %d %s", id, a.status, a.body)
	}
	decode(s.t, a.body, &o)
	return o
}

// done waits until an operation is.
func (s *server) done(org start, id int64) (o op) {
	s.t.Helper()
	s.until("done", func() bool {
		o = s.operation(org, id)
		if o.State != "running" && o.State != "done" {
			s.t.Fatalf("%+v", o)
		}
		return o.State == "done"
	})
	return o
}

// lock holds a feedback: who comes to it waits.
func (s *shop) lock(id int) (release func()) {
	s.t.Helper()
	return hold(s.t, s.database, `SELECT FROM feedback WHERE id = $1 FOR UPDATE`, id)
}

// waiting lets so many, at least, come to wait for a lock.
func (s *shop) waiting(n int) {
	s.t.Helper()
	s.api.until(fmt.Sprintf("%d wait", n), func() bool {
		return read[int](s, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) >= n
	})
}

// once checks that an operation has changed each of the feedback from 1 to n once, and no other.
func (s *shop) once(id int64, n int) {
	s.t.Helper()
	got := read[string](s, `
		SELECT format('%s feedback between %s and %s in %s events', count(DISTINCT feedback_id), min(feedback_id), max(feedback_id), count(*))
		FROM feedback_history WHERE operation_id = $1`, id)
	if want := fmt.Sprintf("%d feedback between 1 and %d in %d events", n, n, n); got != want {
		s.t.Errorf("the history of operation %d knows %s, want %s", id, got, want)
	}
}

// sound checks what must be true at any time: tallies are exact, each event of a feedback's history begins where the one before it about the same
// thing ended, the last ends with what the feedback holds, and there is no history of what is gone.
func (s *shop) sound() {
	s.t.Helper()
	if out := command(s.t, s.database, "verify"); !strings.Contains(out, "exact") || strings.Contains(out, "difference") {
		s.t.Errorf("verify: %s", out)
	}
	broken := read[*string](s, `
		WITH event AS (
			SELECT h.*, lag(after, 1, CASE WHEN field = 1 THEN '{1}'::bigint[] ELSE '{}' END) OVER w AS earlier, lead(id) OVER w IS NULL AS last
			FROM feedback_history h
			WINDOW w AS (PARTITION BY feedback_id, field, attribute_id ORDER BY id)
		)
		SELECT string_agg(format('event %s of feedback %s, field %s: %s to %s after %s, held now %s', e.id, e.feedback_id, e.field, e.before, e.after,
		                         e.earlier, held.now), E'\n')
		FROM event e
		LEFT JOIN feedback f ON f.id = e.feedback_id
		CROSS JOIN LATERAL (SELECT CASE WHEN e.field = 1 THEN ARRAY[f.status]::bigint[] ELSE ARRAY(
			SELECT v.id
			FROM unnest(f.attribute_value_ids) WITH ORDINALITY AS u (id, place)
			JOIN attribute_value v ON v.id = u.id AND v.attribute_id = e.attribute_id
			ORDER BY u.place) END AS now) AS held
		WHERE f.id IS NULL OR e.before <> e.earlier OR e.last AND e.after <> held.now`)
	if broken != nil {
		s.t.Errorf("%.2000s", *broken)
	}
	if n := read[int](s, `
		SELECT count(*) FROM feedback f
		WHERE (status <> 1 OR attribute_value_ids <> '{}') AND NOT EXISTS (SELECT FROM feedback_history h WHERE h.feedback_id = f.id)`); n > 0 {
		s.t.Errorf("%d feedback were changed without a trace", n)
	}
}

// A worker that is killed in the middle of a stretch of records loses that stretch and nothing else: when its lease has run out another one
// goes on, and in the end each feedback was changed once. Feedback that came after the call are left alone.
func TestKilledWorkersChangeEachFeedbackOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a lease is waited for")
	}
	const n = 20_000
	s := openShop(t, n, "--role", "api")
	worker := work(t, s.database)
	// Somebody holds a feedback, so that the worker is in the middle of its stretch when it is killed.
	stops := []int{4_500, 10_500, 16_500}
	release := s.lock(stops[0])
	id := s.api.bulk(s.org, http.MethodPost, bulkUpdate, 1, 1_000_000, resolved)
	for i := range stops {
		s.waiting(1)
		worker.kill()
		killed, left := time.Now(), s.api.operation(s.org, id)
		if left.State != "running" || left.Done == 0 || left.Done >= int64(stops[i]) {
			t.Fatalf("at kill %d: %+v", i+1, left)
		}
		if a := s.api.post(s.org.Token, s.org.feedback()); a.status != http.StatusCreated {
			t.Fatalf("create: %d %s", a.status, a.body)
		}
		next := func() {}
		if i+1 < len(stops) {
			next = s.lock(stops[i+1])
		}
		release()
		release = next
		// The first time the lease is waited for, as in earnest; then time is helped along.
		if i > 0 {
			s.exec(`UPDATE operation SET lease_until = now() WHERE id = $1`, id)
		}
		worker = work(t, s.database)
		s.api.until("working again", func() bool { return s.api.operation(s.org, id).Done > left.Done })
		t.Logf("killed at %d, going on after %s", left.Done, time.Since(killed).Round(time.Millisecond))
	}
	if o := s.api.done(s.org, id); o.Total != n || o.Done != n || o.Changed != n || o.Error != nil {
		t.Errorf("%+v", o)
	}
	s.once(id, n)
	s.sound()
}

// A worker told to stop finishes the stretch it has begun and hands the rest over at once: nobody waits for its lease.
func TestStoppedWorkerHandsItsOperationOver(t *testing.T) {
	t.Parallel()
	const n = 20_000
	s := openShop(t, n, "--role", "api")
	first := work(t, s.database)
	release := s.lock(4_500)
	id := s.api.bulk(s.org, http.MethodPost, bulkUpdate, 1, n, resolved)
	s.waiting(1)
	before := s.api.operation(s.org, id)
	second := work(t, s.database)
	next := s.lock(n) // or the second would be done before it is looked at
	first.terminate()
	select {
	case <-first.read:
		t.Fatal("it did not wait for the stretch it had begun")
	case <-time.After(500 * time.Millisecond): // by then the signal has come
	}
	release()
	if err := first.stop(); err != nil {
		t.Errorf("it ended with %v, want exit code 0", err)
	}
	stopped, left := time.Now(), s.api.operation(s.org, id)
	if left.Done < 4_500 || left.Done == before.Done {
		t.Errorf("the stretch it had begun was lost: %+v before, %+v after", before, left)
	}
	s.api.until("going on", func() bool { return s.api.operation(s.org, id).Done > left.Done })
	took := time.Since(stopped)
	t.Logf("handed over in %s", took.Round(time.Millisecond))
	if took > 10*time.Second { // a lease is 30 seconds
		t.Errorf("the other worker went on after %s", took)
	}
	next()
	if o := s.api.done(s.org, id); o.Done != n || o.Changed != n {
		t.Errorf("%+v", o)
	}
	if err := second.stop(); err != nil {
		t.Error(err)
	}
	s.once(id, n)
	s.sound()
}
