package httpapi_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"earshot/internal/account"
	"earshot/internal/httpapi"
)

// stream is a batch over a real connection that goes on.
type stream struct {
	c       *client
	send    *io.PipeWriter
	answer  chan *http.Response
	results *bufio.Reader
	address string
}

// listen serves the client's server on a real port.
func (c *client) listen() string {
	c.t.Helper()
	c.server.handler = c.server.Handler()
	real := httptest.NewServer(c.server.handler)
	c.t.Cleanup(real.Close)
	return real.URL
}

func (c *client) stream() *stream {
	c.t.Helper()
	s := &stream{c: c, answer: make(chan *http.Response, 1), address: c.listen()}
	body, send := io.Pipe()
	s.send = send
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.t.Context()))
	c.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address+"/v4/feedback/batch", body)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", ndjsonType)
	go func() {
		response, err := http.DefaultClient.Do(r) //nolint:bodyclose // read does
		if err != nil && ctx.Err() == nil {
			c.t.Errorf("the stream: %v", err)
		}
		s.answer <- response
	}()
	return s
}

func (s *stream) write(line string) {
	s.c.t.Helper()
	if _, err := io.WriteString(s.send, line+"\n"); err != nil {
		s.c.t.Fatal(err)
	}
}

// read returns the next result.
func (s *stream) read() (r result) {
	s.c.t.Helper()
	if s.results == nil {
		response := <-s.answer
		if response == nil {
			s.c.t.Fatal("no answer")
		}
		s.c.t.Cleanup(func() { _ = response.Body.Close() })
		if response.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(response.Body)
			s.c.t.Fatalf("%d %s", response.StatusCode, text)
		}
		s.results = bufio.NewReader(response.Body)
	}
	line, err := s.results.ReadString('\n')
	if err != nil {
		s.c.t.Fatalf("no result: %v", err)
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		s.c.t.Fatal(err)
	}
	return r
}

// end expects nothing more.
func (s *stream) end() {
	s.c.t.Helper()
	if rest, err := io.ReadAll(s.results); err != nil || len(rest) > 0 {
		s.c.t.Errorf("after the end: %q, %v", rest, err)
	}
}

func oneLine(fingerprint string) string {
	return fmt.Sprintf(`{"carrier_id":1,"source":"email","fingerprint":%q}`, fingerprint)
}

// A client may wait for the result of a line before it sends the next one.
func TestBatchAnswersWhileItReads(t *testing.T) {
	t.Parallel()
	s := newClient(t).stream()
	for i := range 5 {
		s.write(oneLine(fmt.Sprint(i)))
		if r := s.read(); r.Status != "created" || r.Line != i+1 {
			t.Fatalf("line %d: %+v", i+1, r)
		}
	}
	_ = s.send.Close() // which is the end of the body
	s.end()
}

// A token that is revoked creates nothing more, in the middle of a stream as anywhere.
func TestBatchEndsWithItsToken(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	token, secret, err := c.server.Accounts.IssueToken(t.Context(), c.view, account.NewToken{})
	if err != nil {
		t.Fatal(err)
	}
	s := c.as(secret).stream()
	s.write(oneLine("before"))
	if r := s.read(); r.Status != "created" {
		t.Fatalf("%+v", r)
	}
	if err := c.server.Accounts.RevokeToken(t.Context(), c.view, token.ID); err != nil {
		t.Fatal(err)
	}
	s.write(oneLine("after"))
	if r := s.read(); r.Status != "failed" || r.Code != "unauthenticated" || r.Line != 2 {
		t.Errorf("%+v", r)
	}
	s.end()
	if n := c.total(); n != "1" {
		t.Errorf("%s are stored", n)
	}
}

// What goes wrong with the database ends the stream with a line that says from where on to send again; sent again, nothing is there twice.
func TestBatchEndsWhenTheDatabaseDoes(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.server.Timeout = 3 * time.Second
	release := c.holdFingerprint("2")
	s := c.stream()
	s.write(oneLine("1"))
	if r := s.read(); r.Status != "created" {
		t.Fatalf("%+v", r)
	}
	s.write(oneLine("2")) // which waits for longer than a request may take
	if r := s.read(); r.Status != "failed" || r.Code != "unavailable" || r.Line != 2 || r.RequestID == "" {
		t.Errorf("%+v", r)
	}
	s.end()
	release()
	c.server.Timeout = 30 * time.Second
	wantSaid(t, c.batch(ndjsonType, oneLine("1")+"\n"+oneLine("2")), "1 duplicate", "2 created")
	if n := c.total(); n != "2" {
		t.Errorf("%s are stored", n)
	}
}

// holdFingerprint keeps a fingerprint of carrier 1 in a transaction: who wants it waits until release.
func (c *client) holdFingerprint(fingerprint string) (release func()) {
	c.t.Helper()
	tx, err := c.server.db.Begin(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	release = func() { _ = tx.Rollback(context.WithoutCancel(c.t.Context())) }
	c.t.Cleanup(release)
	sum := sha256.Sum256([]byte(fingerprint))
	_, err = tx.Exec(c.t.Context(), `
		INSERT INTO fingerprint (organization_id, carrier_id, fingerprint_sha256, feedback_id) VALUES ($1, 1, $2, 0)`, c.view.Org(), sum[:])
	if err != nil {
		c.t.Fatal(err)
	}
	return release
}

// A service that is not ready any more, as when it stops, ends a stream on which nothing is said.
func TestBatchEndsWhenTheServiceStops(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	stop := make(chan struct{})
	ready := c.server.Ready
	c.server.Ready = func(ctx context.Context) error {
		select {
		case <-stop:
			return errors.New("stopping")
		default:
			return ready(ctx)
		}
	}
	s := c.stream()
	s.write(oneLine("1"))
	if r := s.read(); r.Status != "created" {
		t.Fatalf("%+v", r)
	}
	close(stop)
	if r := s.read(); r.Status != "failed" || r.Line != 2 {
		t.Errorf("%+v", r)
	}
	s.end()
}

// raw opens a connection, says that a body of NDJSON follows, and sends text as its beginning, without reading anything.
func (c *client) raw(address string, length int, text string) *net.TCPConn {
	c.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(c.t.Context(), "tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	tcp := conn.(*net.TCPConn)
	_ = tcp.SetReadBuffer(4096)
	_, err = fmt.Fprintf(conn, "POST /v4/feedback/batch HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		c.token, ndjsonType, length, text)
	if err != nil {
		c.t.Fatalf("send: %v", err)
	}
	return tcp
}

// A client that reads only when it has sent everything gets its results, of as many lines as the interface says.
func TestBatchOfAClientThatReadsLater(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	const lines = 5000
	text := strings.Repeat(`{"carrier_id":1,"source":"email","x":"`+strings.Repeat("x", 200)+`"}`+"\n", lines)
	conn := c.raw(c.listen(), len(text), text)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if got := results(t, string(body)); err != nil || len(got) != lines || got[lines-1].Status != "created" || got[lines-1].Line != lines {
		t.Errorf("%d results, %v", len(got), err)
	}
	// The connection is good for more.
	if _, err := fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	next, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || next.StatusCode != http.StatusOK {
		t.Fatalf("the next request: %v, %v", next, err)
	}
	_ = next.Body.Close()
}

// A client that never reads is let go when its time is up, and holds nobody up.
func TestBatchOfAClientThatNeverReads(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.server.Timeout = 5 * time.Second
	c.server.Limits = httpapi.Limits{InFlight: map[httpapi.Class]int{httpapi.Bulk: 1}}
	address := c.listen()
	conn := c.raw(address, 1<<40, "{}\n")
	block := []byte(strings.Repeat("{}\n", 10_000))
	sent := make(chan error, 1)
	go func() {
		for {
			if _, err := conn.Write(block); err != nil {
				sent <- err
				return
			}
		}
	}()
	// It has the only place while its lines are written, and must give it back when its results wait.
	for end := time.Now().Add(c.server.Timeout / 2); ; time.Sleep(20 * time.Millisecond) {
		other := c.raw(address, 3, "{}\n")
		response, err := http.ReadResponse(bufio.NewReader(other), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("another batch: %d", response.StatusCode)
		}
	}
	select {
	case <-sent: // the server has closed the connection
	case <-time.After(60 * time.Second):
		t.Error("it is still served")
	}
}

// Of a connection that breaks, the lines that came are created, and not the half one.
func TestBatchOnABrokenConnection(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	conn := c.raw(c.listen(), 1000, oneLine("1")+"\n"+oneLine("2")+"\n"+`{"carrier_id":1,"source":"email"}`)
	_ = conn.CloseWrite()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	wantSaid(t, results(t, string(body)), "1 created", "2 created", "3 failed bad_request")
	if n := c.total(); n != "2" {
		t.Errorf("%s are stored", n)
	}
}

// Each line counts as a request: a batch waits for its share of the rate, and ends when that takes longer than a request may.
func TestBatchKeepsToTheRate(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.server.Limits = httpapi.Limits{Rate: 20, Burst: 10}
	c.server.handler = c.server.Handler()
	start := time.Now()
	lines := strings.Repeat(`{"carrier_id":1,"source":"email"}`+"\n", 21)
	got := c.batch(ndjsonType, lines)
	// Twenty-two requests, of which ten were there and twenty come in a second.
	if took := time.Since(start); len(got) != 21 || got[20].Status != "created" || took < 500*time.Millisecond {
		t.Errorf("%q after %v", said(got), took)
	}
	c.server.Limits = httpapi.Limits{Rate: 0.01, Burst: 2}
	c.server.Timeout = time.Second
	c.server.handler = c.server.Handler()
	if a := c.send(http.MethodPost, "/v4/feedback/batch", ndjsonType, lines); a.status == http.StatusOK {
		got := results(t, a.body)
		if last := got[len(got)-1]; last.Status != "failed" || last.Code != "rate_limited" {
			t.Errorf("%q", said(got))
		}
	} else {
		a.refused(http.StatusTooManyRequests, "rate_limited")
	}
}

// A stream that finds no place for a line waits for one.
func TestBatchWaitsForAPlace(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.server.Limits = httpapi.Limits{InFlight: map[httpapi.Class]int{httpapi.Bulk: 2}}
	s := c.stream()
	s.write(oneLine("first"))
	if r := s.read(); r.Status != "created" {
		t.Fatalf("%+v", r)
	}
	release := c.holdFingerprint("held")
	done := make(chan []result, 2)
	for i := range 2 {
		go func() { done <- c.batch(ndjsonType, oneLine("held")) }()
		c.until("writing", func() bool { return c.server.InFlight(httpapi.Bulk) == i+1 })
	}
	c.send(http.MethodPost, "/v4/feedback/batch", ndjsonType, oneLine("more")).refused(http.StatusServiceUnavailable, "unavailable")
	s.write(oneLine("second"))
	release()
	if r := s.read(); r.Status != "created" || r.Line != 2 {
		t.Errorf("%+v", r)
	}
	for range 2 {
		if got := <-done; len(got) != 1 || got[0].Status == "failed" {
			t.Errorf("%q", said(got))
		}
	}
	c.until("over", func() bool { return c.server.InFlight(httpapi.Bulk) == 0 })
}

// A stream may take longer than a request, as long as its lines come.
func TestBatchOutlivesTheRequestTimeout(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.server.Timeout = 2 * time.Second
	s := c.stream()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	line := 0
	for start := time.Now(); time.Since(start) < 5*time.Second/2; <-tick.C {
		line++
		s.write(oneLine(fmt.Sprint(line)))
		if r := s.read(); r.Status != "created" {
			t.Fatalf("%+v", r)
		}
	}
	// And then they do not.
	if r := s.read(); r.Status != "failed" || r.Code != "bad_request" || r.Line != line+1 {
		t.Errorf("%+v", r)
	}
}

func (c *client) until(what string, is func() bool) {
	c.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !is(); <-tick.C {
		if time.Now().After(deadline) {
			c.t.Fatalf("never %s", what)
		}
	}
}
