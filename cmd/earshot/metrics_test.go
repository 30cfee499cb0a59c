package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"earshot/internal/pg/pgtest"
)

// watched are the flags of a server whose metrics are read.
var watched = []string{"--admin-listen", "127.0.0.1:0"}

// figures are one scrape, by name and labels as printed: earshot_http_shed_total{class="read"}.
type figures map[string]float64

// figures scrapes the server.
func (s *server) figures() figures {
	s.t.Helper()
	status, text := s.admin("/metrics")
	if status != http.StatusOK {
		s.t.Fatalf("GET /metrics: %d %s", status, text)
	}
	f := figures{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if ok {
			name += "}"
		} else if name, value, ok = strings.Cut(strings.TrimSpace(line), " "); !ok || name == "#" {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue // a comment
		}
		f[name] = number
	}
	return f
}

// admin asks the admin address, which the log tells.
func (s *server) admin(path string) (status int, body string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.adminAddress()+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := s.client.Do(r)
	if err != nil {
		s.t.Fatalf("the admin address: %v", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func (s *server) adminAddress() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.lines {
		var line struct{ Msg, Address string }
		if json.Unmarshal([]byte(text), &line) == nil && line.Msg == "admin address" {
			return line.Address
		}
	}
	return ""
}

// shows polls the metrics until they are as they should be, and says which are not when they never are.
func (s *server) shows(what string, want map[string]func(float64) bool) {
	s.t.Helper()
	var f figures
	s.t.Cleanup(func() {
		for name, right := range want {
			if s.t.Failed() && !right(f[name]) {
				s.t.Logf("%s: %s is %v", what, name, f[name])
			}
		}
	})
	s.until(what, func() bool {
		f = s.figures()
		for name, right := range want {
			if n, ok := f[name]; !ok || !right(n) {
				return false
			}
		}
		return true
	})
}

func exactly(want float64) func(float64) bool { return func(n float64) bool { return n == want } }
func atLeast(low float64) func(float64) bool  { return func(n float64) bool { return n >= low } }
func below(high float64) func(float64) bool {
	return func(n float64) bool { return n >= 0 && n < high }
}

// hold runs a statement in a transaction that stays open until release is called, or the test ends.
func hold(t *testing.T, database, statement string, args ...any) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	held := true
	release = func() {
		if !held {
			return
		}
		held = false
		if err := conn.Close(context.WithoutCancel(t.Context())); err != nil { // which rolls back
			t.Error(err)
		}
	}
	t.Cleanup(release)
	if _, err := conn.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
	return release
}

// Every answer is counted under its route and status, whatever was asked for, and timed under its route.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database, watched...)
	none := url.QueryEscape(`[{"Id":{"$eq":1000000}}]`)
	want := map[string]func(float64) bool{}
	counts := map[string]int{}
	for _, r := range []struct {
		method, path, token, body, route string
		status                           int
	}{
		{"POST", "/v4/feedback", org.Token, org.feedback(), "POST /v4/feedback", 201},
		{"POST", "/v4/feedback", org.Token, org.feedback(), "POST /v4/feedback", 201},
		{"POST", "/v4/feedback", org.Token, `{}`, "POST /v4/feedback", 422},
		{"POST", "/v4/feedback", "", org.feedback(), "POST /v4/feedback", 401},
		{"GET", "/v4/feedback", org.Token, "", "GET /v4/feedback", 200},
		{"GET", "/v4/feedback/1000000", org.Token, "", "GET /v4/feedback/{id}", 404},
		{"PUT", "/v4/feedback/1000000", org.Token, `{"status":"resolved"}`, "PUT /v4/feedback/{id}", 404},
		{"DELETE", "/v4/feedback?fql=" + none, org.Token, "", "DELETE /v4/feedback", 200},
		{"GET", "/v4/carriers", org.Token, "", "GET /v4/carriers", 200},
		{"GET", "/docs", "", "", "GET /docs", 200},
		{"PATCH", "/v4/feedback", org.Token, "", "unknown", 405},
		{"GET", "/v4/jane.doe@example.com", org.Token, "", "unknown", 404},
	} {
		if a := s.must(r.method, r.path, r.token, r.body); a.status != r.status {
			t.Fatalf("%s %s: %d %s, want %d", r.method, r.path, a.status, a.body, r.status)
		}
		requests := fmt.Sprintf(`earshot_http_requests_total{route=%q,status="%d"}`, r.route, r.status)
		took := fmt.Sprintf(`earshot_http_request_duration_seconds_count{route=%q}`, r.route)
		all := fmt.Sprintf(`earshot_http_request_duration_seconds_bucket{route=%q,le="+Inf"}`, r.route)
		for _, name := range []string{requests, took, all} {
			counts[name]++
			want[name] = exactly(float64(counts[name]))
		}
		want[fmt.Sprintf(`earshot_http_request_duration_seconds_sum{route=%q}`, r.route)] = atLeast(0.000001)
	}
	s.shows("counting its requests", want)
	if _, text := s.admin("/metrics"); strings.Contains(text, "jane.doe") {
		t.Error("a path came into the metrics")
	}
}

// A create that hangs shows everywhere it does harm: ascending lists stop before it, deltas stay, rows cannot be vacuumed.
// When it ends, all of that is over.
func TestHangingCreateShows(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database, watched...)
	create := func() {
		if a := s.post(org.Token, org.feedback()); a.status != http.StatusCreated {
			t.Fatalf("create: %d %s", a.status, a.body)
		}
	}
	create()
	folded := map[string]func(float64) bool{
		"earshot_backlog_up": exactly(1), "earshot_fold_lag_rows": exactly(0), "earshot_fold_lag_seconds": exactly(0),
		"earshot_horizon_lag_ids": exactly(0), "earshot_oldest_snapshot_seconds": below(1),
	}
	s.shows("folded", folded)

	release := hold(t, database, `SELECT feedback_take_ids($1, 1), pg_current_xact_id()`, org.OrganizationID)
	for range 5 {
		create()
	}
	s.shows("held up", map[string]func(float64) bool{
		"earshot_fold_lag_rows": exactly(5), "earshot_fold_lag_seconds": atLeast(1.5),
		"earshot_horizon_lag_ids": exactly(6), "earshot_oldest_snapshot_seconds": atLeast(1.5),
	})
	release()
	s.shows("folded again", folded)
}

// A bulk change that no worker takes up shows as a job that waits, and as a lease that has run out.
func TestOperationLeftAloneShows(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database, append(watched, "--role", "api", "--bulk-in-request", "0")...)
	const available, lease = `earshot_jobs{kind="operation",state="available"}`, "earshot_operation_lease_seconds"
	s.shows("without operations", map[string]func(float64) bool{available: exactly(0), lease: exactly(0)})
	s.post(org.Token, org.feedback())
	a := s.must(http.MethodPost, "/v4/feedback/bulk-update", org.Token, `{"fql":[{"Id":{"$gt":0}}],"status":"resolved"}`)
	if a.status != http.StatusAccepted {
		t.Fatalf("bulk update: %d %s", a.status, a.body)
	}
	s.shows("with one", map[string]func(float64) bool{available: exactly(1), lease: exactly(0)})
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // nothing was left open on it
	if _, err := conn.Exec(t.Context(), `UPDATE operation SET lease_until = now() - interval '5 minutes'`); err != nil {
		t.Fatal(err)
	}
	s.shows("left alone", map[string]func(float64) bool{lease: atLeast(300)})
}

// The keys of the advisory locks that internal/tally takes for its loops.
const (
	foldKey  = 0x65617273686f01
	cleanKey = 0x65617273686f02
)

// While nobody folds, the deltas are counted; their age is -1 as long as no fold has ever told when it began.
func TestUnfoldedDeltasAreCounted(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	release := hold(t, database, `SELECT pg_advisory_lock($1)`, int64(foldKey))
	s := serve(t, database, watched...)
	for range 3 {
		s.post(org.Token, org.feedback())
	}
	s.shows("behind", map[string]func(float64) bool{"earshot_fold_lag_rows": exactly(3), "earshot_fold_lag_seconds": exactly(-1)})
	release()
	s.shows("folded", map[string]func(float64) bool{"earshot_fold_lag_rows": exactly(0), "earshot_fold_lag_seconds": exactly(0)})
}

// The pending lists are -1 without pageinspect; with it they are seen to grow while nobody cleans them, and to vanish.
func TestPendingPagesAreCounted(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	release := hold(t, database, `SELECT pg_advisory_lock($1)`, int64(cleanKey))
	s := serve(t, database, watched...)
	pages := func(right func(float64) bool) map[string]func(float64) bool {
		return map[string]func(float64) bool{
			`earshot_gin_pending_pages{index="feedback_dictionary"}`:     right,
			`earshot_gin_pending_pages{index="feedback_content_search"}`: right,
		}
	}
	s.shows("without pageinspect", pages(exactly(-1)))
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // nothing was left open on it
	if _, err := conn.Exec(t.Context(), `CREATE EXTENSION pageinspect`); err != nil {
		t.Skipf("pageinspect cannot be installed: %v", err)
	}
	s.post(org.Token, fmt.Sprintf(`{"carrier_id": %d, "source": "email", "attributes": [{"name": "shop", "value": "Lyon"}],
		"items": [{"question_id": %d, "value": "Friendly staff, slow delivery."}]}`, org.CarrierID, org.Questions["text"]))
	s.shows("with pending pages", pages(atLeast(1)))
	release()
	s.shows("clean", pages(exactly(0)))
}

// Without its database the server still tells what it knows, and says that the rest could not be read.
func TestMetricsOutliveTheDatabase(t *testing.T) {
	t.Parallel()
	proxy, database := throughProxy(t, pgtest.New(t))
	initialize(t, database)
	s := serve(t, database, watched...)
	s.shows("readable", map[string]func(float64) bool{"earshot_backlog_up": exactly(1)})
	proxy.cut()
	f := s.figures()
	if up, ok := f["earshot_backlog_up"]; !ok || up != 0 {
		t.Errorf("earshot_backlog_up is %v, %v without a database, want 0", up, ok)
	}
	if _, ok := f["earshot_fold_lag_rows"]; ok {
		t.Error("there is a fold lag that nobody could read")
	}
	if _, ok := f[`earshot_database_connections_limit{pool="writes"}`]; !ok {
		t.Error("the pool has no figures")
	}
	proxy.restore()
	s.shows("readable again", map[string]func(float64) bool{"earshot_backlog_up": exactly(1), "earshot_fold_lag_rows": exactly(0)})
}

// Every process keeps the tallies folded, whatever its role: whoever forgets to run a worker still has fast totals. One that only works
// answers nobody.
func TestEveryRoleFolds(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	folded := map[string]func(float64) bool{"earshot_fold_lag_rows": exactly(0), "earshot_fold_lag_seconds": exactly(0)}
	s := serve(t, database, append(watched, "--role", "api")...)
	s.post(org.Token, org.feedback())
	s.shows("folding", folded)

	worker := work(t, database)
	worker.shows("folding", folded)
	if strings.Contains(worker.log(100), `"listening"`) {
		t.Error("a worker listens")
	}
}

// work starts a server with the role worker, which has only an admin address.
func work(t *testing.T, database string) *server {
	t.Helper()
	args := append([]string{"serve", "--role", "worker", "--listen", "127.0.0.1:0", "--database-conns", "4"}, watched...)
	s := &server{t: t, url: "the worker", cmd: program(t, database, args...), read: make(chan struct{}), client: &http.Client{Timeout: patience}}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	})
	go s.follow(stderr, make(chan string, 1))
	s.until("up", func() bool { return s.adminAddress() != "" })
	return s
}

// The queue and the leases are seen to move: while nobody works jobs wait and leases run out, a worker takes a job up, and one that fails is
// discarded.
func TestJobsAndLeasesAreCounted(t *testing.T) {
	t.Parallel()
	s := openShop(t, 5_000, append(watched, "--role", "api")...)
	jobs := func(state string) string { return fmt.Sprintf(`earshot_jobs{kind="operation",state=%q}`, state) }
	const lease = "earshot_operation_lease_seconds"
	s.api.shows("idle", map[string]func(float64) bool{
		jobs("available"): exactly(0), jobs("running"): exactly(0), jobs("discarded"): exactly(0), lease: exactly(0),
	})

	release := s.lock(4_000)
	id := s.api.bulk(s.org, http.MethodPost, bulkUpdate, 1, 5_000, resolved)
	broken := s.api.bulk(s.org, http.MethodPost, bulkUpdate, 1, 5_000, resolved)
	s.exec(`UPDATE operation SET kind = 'sing' WHERE id = $1`, broken)
	s.api.shows("waiting for a worker", map[string]func(float64) bool{jobs("available"): exactly(2), jobs("running"): exactly(0), lease: exactly(0)})
	s.exec(`UPDATE operation SET lease_until = now() - interval '3 minutes' WHERE id = $1`, id)
	s.api.shows("left alone", map[string]func(float64) bool{jobs("available"): exactly(2), lease: atLeast(180)})

	work(t, s.database)
	s.waiting(1)
	s.api.shows("at work", map[string]func(float64) bool{
		jobs("available"): exactly(0), jobs("running"): atLeast(1), jobs("discarded"): atLeast(1), lease: exactly(0),
	})
	release()
	s.api.shows("done", map[string]func(float64) bool{jobs("available"): exactly(0), jobs("running"): exactly(0), lease: exactly(0)})
	if o := s.api.done(s.org, id); o.Changed != 5_000 {
		t.Errorf("%+v", o)
	}
}
