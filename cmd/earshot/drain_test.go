package main_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"earshot/internal/pg/pgtest"
)

// keep opens a connection and uses it once, so that it is kept alive; what it returns asks for the carriers on it again, and
// says whether the answer ended it.
func (s *server) keep(token string) (again func() (status int, over bool, err error)) {
	s.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", s.host())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() }) // the server may have done so
	reader := bufio.NewReader(conn)
	again = func() (int, bool, error) {
		fmt.Fprintf(conn, "GET /v4/carriers HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\n\r\n", token)
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return 0, false, err
		}
		defer response.Body.Close() //nolint:errcheck // it is read to its end
		_, err = io.Copy(io.Discard, response.Body)
		return response.StatusCode, response.Close, err
	}
	if status, over, err := again(); err != nil || status != http.StatusOK || over {
		s.t.Fatalf("a connection to keep: %d, ended %v, %v", status, over, err)
	}
	return again
}

// A server told to stop goes on answering for a while whoever could not know of it, on connections kept alive and on new ones; each
// answer says that its connection is over. It is not ready all that time. Then it closes, also to those who said nothing.
func TestStoppingServerAnswersForAWhile(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database, "--shutdown-delay", "5s")
	first, second := s.keep(org.Token), s.keep(org.Token)
	quiet := s.dial("") // it has not even begun
	s.terminate()
	told := time.Now()
	s.until("not ready", func() bool { return s.get("/readyz", "").status == http.StatusServiceUnavailable })
	for i, ask := range []func() (int, bool, error){first, second} {
		if status, over, err := ask(); err != nil || status != http.StatusOK || !over {
			t.Errorf("connection %d: %d, ended %v, %v, want 200 and its end", i+1, status, over, err)
		}
	}
	if a, err := s.send(http.MethodPost, "/v4/feedback", org.Token, org.feedback(), nil); err != nil || a.status != http.StatusCreated {
		t.Errorf("a new connection: %d %s, %v", a.status, a.body, err)
	}
	if err := s.stop(); err != nil {
		t.Errorf("it ended with %v, want exit code 0", err)
	}
	if took := time.Since(told); took < 5*time.Second || took > 25*time.Second {
		t.Errorf("it ended after %v, want soon after 5s", took)
	}
	if text, err := io.ReadAll(quiet); err != nil || len(text) > 0 {
		t.Errorf("who said nothing got %q, %v", text, err)
	}
}

// Whoever has come in gets an answer, also those who were waiting to be accepted when the server was told to stop.
func TestClosingPortResetsNobody(t *testing.T) {
	t.Parallel()
	// Asked for what needs no place and no connection to the database: of those there are too few for all of them at once.
	s := serve(t, pgtest.New(t))
	if a := s.get("/healthz", ""); a.status != http.StatusOK {
		t.Fatalf("before: %d %s", a.status, a.body)
	}
	s.signal(syscall.SIGSTOP)
	var waiting []net.Conn
	for range 150 {
		waiting = append(waiting, s.dial("GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"))
	}
	s.terminate()
	s.signal(syscall.SIGCONT)
	for i, conn := range waiting {
		text, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 200 ") {
			t.Errorf("number %d of those who waited got %.100q, %v", i+1, text, err)
		}
	}
	if err := s.stop(); err != nil {
		t.Errorf("it ended with %v, want exit code 0", err)
	}
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}
