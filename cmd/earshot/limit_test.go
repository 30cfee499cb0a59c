package main_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/pg/pgtest"
)

// places is how many requests of the classes read and write a server with the tests' four connections takes on at once from one
// organization: three quarters of all. Of creates it takes six times as many.
const (
	places       = 6
	createPlaces = 6 * places
)

// A server whose writes hang takes on as many as it has places for and refuses the others at once, instead of making them
// wait; it lives, and when the hindrance is gone it works as if nothing had been.
func TestOverloadIsTurnedAwayAtOnce(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database, append(watched, "--statement-timeout", "2m", "--request-timeout", "2m")...)
	s.client.Timeout = 2 * patience
	create := func() answer { return s.post(org.Token, org.feedback()) }
	if a := create(); a.status != http.StatusCreated {
		t.Fatalf("before: %d %s", a.status, a.body)
	}
	release := hold(t, database, `LOCK TABLE fingerprint IN ACCESS EXCLUSIVE MODE`)
	hanging := s.hang(createPlaces, org)
	s.until("stuck in the database", func() bool { return waiting(t, database) == 2 })
	// The figures of the backlog have a connection of their own, or they would be missing when they are needed most.
	s.shows("full", map[string]func(float64) bool{
		`earshot_http_in_flight{class="create"}`: exactly(createPlaces), `earshot_database_connections_busy{pool="writes"}`: exactly(2),
		"earshot_backlog_up": exactly(1),
	})

	refused := 0
	var p99 time.Duration
	// A busy machine may stop any process for a moment, but not three times.
	for round := 0; round < 3 && (round == 0 || p99 >= 50*time.Millisecond); round++ {
		var took []time.Duration
		for range 200 {
			sent := time.Now()
			a := create()
			took = append(took, time.Since(sent))
			wantUnavailable(t, "a create too many", a)
			if a.header.Get("Retry-After") == "" {
				t.Fatalf("no Retry-After in %v", a.header)
			}
			refused++
		}
		slices.Sort(took)
		p99 = took[197]
		t.Logf("%d creates too many: p50 %v, p99 %v, longest %v", len(took), took[100], p99, took[199])
	}
	if p99 >= 50*time.Millisecond {
		t.Errorf("the refusals took %v at the 99th percentile, want less than 50ms", p99)
	}
	if a := s.get("/healthz", ""); a.status != http.StatusOK {
		t.Errorf("/healthz: %d %s", a.status, a.body)
	}

	release()
	for _, a := range hanging() {
		if a.status != http.StatusCreated {
			t.Errorf("a create that waited: %d %s, want 201", a.status, a.body)
		}
	}
	if a := create(); a.status != http.StatusCreated {
		t.Errorf("after: %d %s, want 201", a.status, a.body)
	}
	s.shows("at rest, with its memories", map[string]func(float64) bool{
		`earshot_http_shed_total{class="create"}`: exactly(float64(refused)), `earshot_http_shed_total{class="read"}`: exactly(0),
		`earshot_http_requests_total{route="POST /v4/feedback",status="503"}`: exactly(float64(refused)),
		`earshot_http_in_flight{class="create"}`:                              exactly(0),
		`earshot_database_connections_busy{pool="writes"}`:                    below(2),
		`earshot_database_connections_open{pool="writes"}`:                    atLeast(1),
		`earshot_database_connections_limit{pool="writes"}`:                   exactly(2),
		`earshot_database_acquires_total{pool="writes"}`:                      atLeast(5),
		// One before, one after, two that hung, and those that waited, together.
		"earshot_create_rows_count": exactly(5), "earshot_create_rows_sum": exactly(createPlaces + 2),
	})
	s.shows("readable", map[string]func(float64) bool{"earshot_backlog_up": exactly(1)})
}

// hang sends creates that will not be answered soon; what it returns waits for their answers.
func (s *server) hang(n int, org start) func() []answer {
	answers := make([]answer, n)
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() {
			a, err := s.send(http.MethodPost, "/v4/feedback", org.Token, org.feedback(), nil)
			if err != nil {
				s.t.Errorf("a create that waits: %v", err)
			}
			answers[i] = a
		})
	}
	return func() []answer {
		clients.Wait()
		return answers
	}
}

// A client that leaves while it waits, for a connection or to be written with others, is counted as one that left, and not as a
// failure of ours.
func TestLeavingClientIsCounted(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database, watched...)
	var made struct{ ID int64 }
	decode(t, s.post(org.Token, org.feedback()).body, &made)
	release := hold(t, database, `LOCK TABLE fingerprint IN ACCESS EXCLUSIVE MODE`)
	hanging := s.hang(2, org) // both connections
	s.until("stuck in the database", func() bool { return waiting(t, database) == 2 })
	s.leave(http.MethodPost, "/v4/feedback", org.Token, org.feedback())
	s.leave(http.MethodPut, fmt.Sprintf("/v4/feedback/%d", made.ID), org.Token, `{"status":"resolved"}`)
	s.until("aware that the clients left", func() bool {
		gone := 0
		for _, r := range s.requests() {
			if r.Status == 499 {
				gone++
			}
		}
		return gone == 2
	})
	release()
	hanging()
	s.shows("counting", map[string]func(float64) bool{
		`earshot_http_requests_total{route="POST /v4/feedback",status="499"}`: exactly(1), `earshot_http_in_flight{class="create"}`: exactly(0),
		`earshot_http_requests_total{route="PUT /v4/feedback/{id}",status="499"}`: exactly(1), `earshot_http_in_flight{class="write"}`: exactly(0),
		"earshot_create_rows_sum":                               exactly(3), // and not the one that left
		`earshot_database_abandoned_waits_total{pool="writes"}`: atLeast(1),
	})
}

// leave sends a request and gives up.
func (s *server) leave(method, path, token, body string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 300*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := s.client.Do(r)
	if !errors.Is(err, context.DeadlineExceeded) {
		s.t.Errorf("a request that hangs got %v, %v", response, err)
	}
	if err == nil {
		_ = response.Body.Close() // it failed already
	}
}

// waiting counts the sessions of a database that wait for a lock on a table.
func waiting(t *testing.T, database string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // nothing was left open on it
	err = conn.QueryRow(t.Context(), `
		SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'relation'`).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// One sort of work cannot keep another waiting: while every write hangs, lists are answered, also to those whose token is
// not in the cache any more, and the server stays ready, or its proxy would take it away from the readers.
func TestReadsGoOnWhileWritesHang(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	_, other := issue(t, database)
	s := serve(t, database, "--statement-timeout", "2m", "--request-timeout", "2m")
	release := hold(t, database, `LOCK TABLE fingerprint IN ACCESS EXCLUSIVE MODE`)
	hanging := s.hang(places, org)
	s.until("stuck in the database", func() bool { return waiting(t, database) == 2 })
	s.client.Timeout = 5 * time.Second
	for path, token := range map[string]string{"/v4/feedback": other, "/v4/feedback?order=asc": other, "/readyz": ""} {
		if a, err := s.send(http.MethodGet, path, token, "", nil); err != nil || a.status != http.StatusOK {
			t.Errorf("GET %s while writes hang: %d %s, %v, want 200", path, a.status, a.body, err)
		}
	}
	release()
	hanging()
}

// A token that asks too often is told so and when to come again; another has an allowance of its own.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	_, other := issue(t, database)
	const rate, burst = 5, 10
	s := serve(t, database, "--rate-limit", strconv.Itoa(rate), "--rate-burst", strconv.Itoa(burst))
	fields := func(a answer) [3]string {
		return [3]string{a.header.Get("RateLimit-Limit"), a.header.Get("RateLimit-Remaining"), a.header.Get("RateLimit-Reset")}
	}
	begin := time.Now()
	first := s.get("/v4/carriers", org.Token)
	if want := [3]string{"10", "9", "1"}; first.status != http.StatusOK || fields(first) != want {
		t.Errorf("the first answer is %d with %v, want 200 with %v", first.status, fields(first), want)
	}
	allowed, a := 1, first
	for a.status == http.StatusOK && allowed < 1000 {
		if a = s.get("/v4/carriers", org.Token); a.status == http.StatusOK {
			allowed++
		}
	}
	if most := burst + int(rate*time.Since(begin).Seconds()) + 1; allowed < burst || allowed > most {
		t.Errorf("%d requests were allowed, want from %d to %d", allowed, burst, most)
	}
	var refusal map[string]any
	decode(t, a.body, &refusal)
	if a.status != http.StatusTooManyRequests || refusal["type"] != "error" || refusal["code"] != "rate_limited" || a.header.Get("Retry-After") != "1" {
		t.Errorf("a request too many got %d %s with %v", a.status, a.body, a.header)
	}
	if want := [3]string{"10", "0", "2"}; fields(a) != want {
		t.Errorf("a request too many has %v, want %v", fields(a), want)
	}
	if a := s.get("/v4/carriers", other); a.status != http.StatusOK || a.header.Get("RateLimit-Remaining") != "9" {
		t.Errorf("another token got %d with %v", a.status, fields(a))
	}
	if a := s.get("/healthz", ""); a.status != http.StatusOK || a.header.Get("RateLimit-Limit") != "" {
		t.Errorf("/healthz is limited: %d with %v", a.status, fields(a))
	}
	s.until("open again", func() bool { return s.get("/v4/carriers", org.Token).status == http.StatusOK })
}

// What only an operator may see is on the admin address and nowhere else, and nothing else is there.
func TestAdminAddressIsApart(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database, watched...)
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=1", "/debug/pprof/symbol"} {
		if status, text := s.admin(path); status != http.StatusOK {
			t.Errorf("%s on the admin address: %d %s", path, status, text)
		}
		for _, token := range []string{"", org.Token} {
			if a := s.get(path, token); a.status != http.StatusNotFound {
				t.Errorf("%s on the public address: %d, want 404", path, a.status)
			}
		}
	}
	for _, path := range []string{"/", "/healthz", "/v4/feedback"} {
		if status, _ := s.admin(path); status != http.StatusNotFound {
			t.Errorf("%s on the admin address: %d, want 404", path, status)
		}
	}
}

// dial opens a connection that takes in little, and sends what is given.
func (s *server) dial(text string) net.Conn {
	s.t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}}
	conn, err := dialer.DialContext(s.t.Context(), "tcp", s.host())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() }) // the server may have done so
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// drip sends a letter every tenth of a second, until the connection is closed, and returns what came back and after how long.
func drip(t *testing.T, conn net.Conn) (got string, after time.Duration) {
	t.Helper()
	begin, cut := time.Now(), make(chan struct{})
	defer close(cut)
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-cut:
				return
			case <-tick.C:
				_, _ = io.WriteString(conn, "x") // the reader below notices the end
			}
		}
	}()
	if err := conn.SetReadDeadline(begin.Add(patience)); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		t.Fatalf("not cut after %v", time.Since(begin))
	}
	return string(text), time.Since(begin)
}

// A client that sends its head or its body drop by drop is cut: ten seconds for the head, the request's timeout for the whole.
func TestSlowClientsAreCut(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database, "--request-timeout", "2s")
	slow := map[string]struct {
		text   string
		limit  time.Duration
		answer string
	}{
		"head": {"GET /healthz HTTP/1.1\r\nHost: test\r\nX-Slow: ", 10 * time.Second, ""},
		"body": {fmt.Sprintf("POST /v4/feedback HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n", org.Token), 2 * time.Second, "HTTP/1.1 400 "},
	}
	var clients sync.WaitGroup
	for name, c := range slow {
		conn := s.dial(c.text)
		clients.Go(func() {
			got, after := drip(t, conn)
			if after < c.limit-time.Second || after > c.limit+5*time.Second {
				t.Errorf("%s: cut after %v, want about %v", name, after, c.limit)
			}
			if !strings.HasPrefix(got, c.answer) {
				t.Errorf("%s: got %q, want %q", name, got, c.answer)
			}
		})
	}
	clients.Wait()
}

// Clients who are slow to send or slow to read, as many as there are places, do not keep the others waiting.
func TestSlowClientsBlockNobody(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	_, other := issue(t, database)
	s := serve(t, database, watched...)
	long := fmt.Sprintf(`{"carrier_id": %d, "source": "email", "items": [{"question_id": %d, "value": %q}]}`,
		org.CarrierID, org.Questions["text"], strings.Repeat("slow ", 13_000))
	for range 100 {
		if a := s.post(org.Token, long); a.status != http.StatusCreated {
			t.Fatalf("create: %d %s", a.status, a.body)
		}
	}
	var slow []net.Conn
	for range places {
		slow = append(slow, s.dial(fmt.Sprintf("POST /v4/feedback HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n{", org.Token)))
		reader := s.dial(fmt.Sprintf("GET /v4/feedback?per_page=100&include=items HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\n\r\n", org.Token))
		if line, err := bufio.NewReaderSize(reader, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200 OK") {
			t.Fatalf("a slow reader got %q, %v", line, err)
		}
		slow = append(slow, reader)
	}
	if a := s.get("/v4/feedback", other); a.status != http.StatusOK {
		t.Errorf("a list beside slow readers: %d %s", a.status, a.body)
	}
	if a := s.post(other, org.feedback()); a.status != http.StatusCreated {
		t.Errorf("a create beside slow senders: %d %s", a.status, a.body)
	}
	for _, conn := range slow {
		_ = conn.Close() // in the middle of an answer, or of a request
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(s.log(1000), `"msg":"unavailable"`) {
		t.Error("a client that leaves is logged as if the database were away")
	}
}
