package main_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen but has no deadline of its own. It is long: a fold waits for every writer on the
// server, and tests of other packages write there too.
const patience = 90 * time.Second

// server is a running earshot serve.
type server struct {
	t      *testing.T
	url    string
	cmd    *exec.Cmd
	client *http.Client
	read   chan struct{} // closed when stderr is read to its end

	mu    sync.Mutex
	lines []string // of stderr

	asked, once sync.Once
	err         error // how the process ended
}

// serve starts a server on a free port and returns when it is ready. It is stopped at the end of the test.
func serve(t *testing.T, database string, flags ...string) *server {
	t.Helper()
	return launch(t, serving(t, database, flags...))
}

// serving is the program of a server.
func serving(t *testing.T, database string, flags ...string) *exec.Cmd {
	t.Helper()
	return program(t, database, append([]string{"serve", "--listen", "127.0.0.1:0", "--database-conns", "4"}, flags...)...)
}

// launch is serve with a program made ready before.
func launch(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{
		t: t, cmd: cmd, read: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}, Timeout: patience},
	}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("earshot serve ended with %v", err)
		}
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", s.url, s.log(30))
		}
	})
	address := make(chan string, 1)
	go s.follow(stderr, address)
	select {
	case a := <-address:
		s.url = "http://" + a
	case <-s.read:
		t.Fatalf("earshot serve ended before it listened:\n%s", s.log(30))
	case <-time.After(patience):
		t.Fatalf("earshot serve does not listen:\n%s", s.log(30))
	}
	s.until("ready", func() bool { return s.get("/readyz", "").status == http.StatusOK })
	return s
}

// follow keeps the lines of the log and sends the address of the one that says it.
func (s *server) follow(stderr io.Reader, address chan<- string) {
	defer close(s.read)
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		s.mu.Lock()
		s.lines = append(s.lines, lines.Text())
		s.mu.Unlock()
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			address <- line.Address
		}
	}
}

// log returns the last lines of stderr.
func (s *server) log(most int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines[max(0, len(s.lines)-most):], "\n")
}

// terminate asks the server to stop, once: a second SIGTERM would end it in the middle of its work.
func (s *server) terminate() {
	s.asked.Do(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	})
}

// stop ends the server, if nobody did, and returns how it ended: nil for exit code 0. The log is complete then.
func (s *server) stop() error {
	s.once.Do(func() {
		s.terminate()
		s.err = s.ended()
	})
	return s.err
}

func (s *server) ended() error {
	select {
	case <-s.read:
		return s.cmd.Wait()
	case <-time.After(patience):
		return errors.Join(errors.New("not in time"), s.cmd.Process.Kill(), s.cmd.Wait())
	}
}

// until polls every 20 ms for what must come true in the end.
func (s *server) until(what string, done func() bool) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !done(); <-tick.C {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s is not %s:\n%s", s.url, what, s.log(30))
		}
	}
}

// within polls every 20 ms and allows a second: a request sent later than that after the edit must show it.
func within(edited time.Time, shows func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		sent := time.Now()
		if shows() {
			return nil
		}
		if late := sent.Sub(edited); late > time.Second {
			return fmt.Errorf("a request sent %v after the edit does not show it", late)
		}
		<-tick.C
	}
}

// logged is one line of the access log.
type logged struct {
	Msg       string `json:"msg"`
	Route     string `json:"route"`
	Status    int    `json:"status"`
	RequestID string `json:"request_id"`
	TraceID   string `json:"trace_id"`
}

// requests returns the access log. Every line of stderr must be a JSON object, of whatever sort.
func (s *server) requests() []logged {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []logged
	for _, text := range s.lines {
		var line logged
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			s.t.Errorf("a line of the log is no JSON object: %s", text)
		}
		if line.Msg == "request" {
			all = append(all, line)
		}
	}
	return all
}

// host is the address the server listens at.
func (s *server) host() string { return strings.TrimPrefix(s.url, "http://") }

// answer is a whole answer: its body was read to the end.
type answer struct {
	status int
	header http.Header
	body   string
}

func (s *server) get(path, token string) answer {
	s.t.Helper()
	return s.must(http.MethodGet, path, token, "")
}

// post sends a feedback.
func (s *server) post(token, body string) answer {
	s.t.Helper()
	return s.must(http.MethodPost, "/v4/feedback", token, body)
}

func (s *server) must(method, path, token, body string) answer {
	s.t.Helper()
	a, err := s.send(method, path, token, body, nil)
	if err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
	return a
}

func (s *server) send(method, path, token, body string, header http.Header) (answer, error) {
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if header != nil {
		r.Header = header.Clone()
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := s.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text)}, err
}

// feedback is the body of a feedback that answers the first question only.
func (s start) feedback() string {
	return fmt.Sprintf(`{"carrier_id": %d, "source": "email", "items": [{"question_id": %d, "value": 9}]}`, s.CarrierID, s.Questions["nps"])
}
