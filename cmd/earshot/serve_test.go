package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// A token revoked by another process is refused within a second, however warm it is.
func TestRevokedTokenIsRefusedWithinASecond(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	initialize(t, database)
	id, token := issue(t, database)
	s := serve(t, database)
	accepted := func() bool { return s.get("/v4/carriers", token).status == http.StatusOK }
	for range 3 {
		if !accepted() {
			t.Fatal("the token does not work to begin with")
		}
	}

	// Requests go on all the while, so that the token is as warm as can be when it is revoked.
	stop, busy := make(chan struct{}), sync.WaitGroup{}
	busy.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := s.send(http.MethodGet, "/v4/carriers", token, "", nil); err != nil {
					t.Errorf("while revoking: %v", err)
					return
				}
			}
		}
	})
	command(t, database, "token", "revoke", "--org", "Acme", id)
	revoked := time.Now()
	close(stop)
	busy.Wait()
	if err := within(revoked, func() bool { return !accepted() }); err != nil {
		t.Error(err)
	}
	if a := s.get("/v4/carriers", token); a.status != http.StatusUnauthorized {
		t.Errorf("a revoked token is answered %d %s, want 401", a.status, a.body)
	}
}

// Servers on one database know the same tokens, and an edit of a carrier is felt by all of them within a second.
func TestTwoServersShareTokensAndEdits(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	servers := []*server{serve(t, database), serve(t, database)}
	_, token := issue(t, database)
	completed := func(s *server) bool {
		a := s.post(token, org.feedback())
		if a.status != http.StatusCreated {
			t.Fatalf("create: %d %s", a.status, a.body)
		}
		var rec map[string]any
		decode(t, a.body, &rec)
		at, ok := rec["completed_at"]
		if !ok {
			t.Fatalf("no completed_at in %s", a.body)
		}
		return at != nil
	}
	for _, s := range servers {
		if !completed(s) {
			t.Fatal("feedback is incomplete although no question is required")
		}
	}

	db, err := pg.Open(t.Context(), pg.Settings{URL: database, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	view := account.Whole(org.OrganizationID)
	if err := carrier.NewStore(db).Require(t.Context(), view, org.Questions["text"], true); err != nil {
		t.Fatal(err)
	}
	edited := time.Now()
	var felt sync.WaitGroup
	for i, s := range servers {
		felt.Go(func() {
			// Fatal must not be called here, so a failure to create counts as not felt.
			late := func() bool {
				a, err := s.send(http.MethodPost, "/v4/feedback", token, org.feedback(), nil)
				return err == nil && a.status == http.StatusCreated && strings.Contains(a.body, `"completed_at":null`)
			}
			if err := within(edited, late); err != nil {
				t.Errorf("server %d: %v", i, err)
			}
		})
	}
	felt.Wait()
}

// A server told to stop finishes every request it took: whoever is in its log got a whole answer, and nobody a 5xx.
func TestStoppingFinishesWhatWasAccepted(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database, "--database-conns", "16") // a place for each of the clients
	var (
		clients  sync.WaitGroup
		answered sync.Map // the status of every whole answer, by request id
		count    atomic.Int64
	)
	for c := range 20 {
		clients.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%08x-%08x", c, n)
				a, err := s.send(http.MethodPost, "/v4/feedback", org.Token, org.feedback(), http.Header{"X-Request-Id": {id}})
				if err != nil {
					return // refused or cut before it was taken; the log decides
				}
				answered.Store(id, a.status)
				count.Add(1)
			}
		})
	}
	s.until("busy", func() bool { return count.Load() > 100 })
	s.terminate()
	clients.Wait()
	if err := s.stop(); err != nil {
		t.Errorf("it ended with %v, want exit code 0", err)
	}
	taken := 0
	for _, line := range s.requests() {
		if line.Route != "POST /v4/feedback" {
			continue
		}
		taken++
		if status, ok := answered.Load(line.RequestID); !ok {
			t.Errorf("request %s was taken (status %d) and its client got no whole answer", line.RequestID, line.Status)
		} else if status != http.StatusCreated {
			t.Errorf("request %s was answered %v, want 201", line.RequestID, status)
		}
	}
	if int64(taken) != count.Load() {
		t.Errorf("the log knows %d requests, clients got %d answers", taken, count.Load())
	}
	if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.host()); err == nil {
		t.Errorf("the port is still open: %v", conn.Close())
	}
}

// A request whose body is still on its way when the server is told to stop is waited for, while new ones find the port closed.
func TestStoppingWaitsForARequestInFlight(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database)
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", s.host())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // it was read to its end
	body := org.feedback()
	// The server asks for the body when its handler reads it: from then on the request is in flight.
	fmt.Fprintf(conn, "POST /v4/feedback HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", org.Token, len(body))
	reader := bufio.NewReader(conn)
	if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("got %q, %v, want 100 Continue", line, err)
	}
	if _, err := reader.ReadString('\n'); err != nil { // the empty line behind it
		t.Fatal(err)
	}
	s.terminate()
	s.until("closed or not ready", func() bool {
		a, err := s.send(http.MethodGet, "/readyz", "", "", nil)
		return err != nil || a.status == http.StatusServiceUnavailable
	})
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatalf("the request in flight got no answer: %v", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusCreated || !json.Valid(text) {
		t.Errorf("the request in flight got %d %s, %v", response.StatusCode, text, err)
	}
	if err := s.stop(); err != nil {
		t.Errorf("it ended with %v, want exit code 0", err)
	}
}

// The log is JSON with one line for each request, and holds nothing that a request brought: no token, no path, no query.
func TestLogHoldsNothingOfARequest(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database, "--log-level", "debug")
	const person, canary = "jane.doe@example.com", "CANARY"
	forged := "es_live_" + strings.Repeat(canary, 6)
	requests := []struct {
		method, path, token, body string
		status                    int
	}{
		{"GET", "/v4/carriers?limit=5&note=" + canary + "&access_token=" + org.Token, org.Token, "", 200},
		{"GET", "/v4/carriers?limit=" + canary, org.Token, "", 422},
		{"GET", "/v4/carriers?a=" + canary + ";b=%zz", org.Token, "", 400},
		{"GET", "/v4/feedback/" + person + "?q=" + canary, org.Token, "", 404},
		{"GET", "/" + person + "//" + canary, org.Token, "", 404},
		{"PATCH", "/v4/feedback/" + person, org.Token, "", 405},
		{"GET", "/v4/carriers", forged, "", 401},
		{"POST", "/v4/feedback", org.Token, `{"carrier_id": "` + person + `", "source": "` + canary + `"}`, 422},
		{"POST", "/v4/feedback", org.Token, `{"` + canary, 400},
	}
	for _, r := range requests {
		a, err := s.send(r.method, r.path, r.token, r.body, http.Header{"X-Request-Id": {person}, "User-Agent": {canary}, "Referer": {canary}})
		if err != nil {
			t.Fatal(err)
		}
		if a.status != r.status {
			t.Errorf("%s %s: %d %s, want %d", r.method, r.path, a.status, a.body, r.status)
		}
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	var statuses, want []int
	for _, line := range s.requests() {
		if line.Route != "GET /readyz" {
			statuses = append(statuses, line.Status)
		}
	}
	for _, r := range requests {
		want = append(want, r.status)
	}
	slices.Sort(statuses)
	slices.Sort(want)
	if !slices.Equal(statuses, want) {
		t.Errorf("the log has requests with the statuses %v, want %v", statuses, want)
	}
	log := strings.Join(s.lines, "\n")
	for _, secret := range []string{org.Token, "es_live_", person, "jane.doe", canary, "access_token"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}
