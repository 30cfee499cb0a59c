package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"earshot/bench/rig"
)

// patience is how long something that must happen may take.
const patience = 5 * time.Minute

// compile makes the program that is measured, as it is released.
func compile(ctx context.Context, dir string) (binary string, err error) {
	binary = filepath.Join(dir, "earshot")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "./cmd/earshot")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

// command runs an earshot command on the work database and returns what it printed.
func (b *bench) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, b.binary, args...)
	cmd.Env = append(os.Environ(), "EARSHOT_DATABASE_URL="+b.server.URL(work))
	out, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("earshot %s: %w\n%s%s", args[0], err, out, e.Stderr)
	}
	return string(out), err
}

// process is one earshot serve.
type process struct {
	cmd   *exec.Cmd
	url   string
	ended chan struct{}
}

// serve starts a process in a role and returns when it does its work. Its log goes to a file, where it costs what it costs in earnest.
func (b *bench) serve(ctx context.Context, role string) (*process, error) {
	address, err := rig.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(b.dir, role+" "+address))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the process has it
	p := &process{url: "http://" + address, ended: make(chan struct{})}
	// Changes of attributes are answered when they are done, if that takes no longer than --bulk-wait: here the call is what counts.
	p.cmd = exec.Command(b.binary, "serve", "--role", role, "--listen", address, "--bulk-wait", "1ms") //nolint:noctx // it is ended by a signal
	p.cmd.Env = append(os.Environ(), "EARSHOT_DATABASE_URL="+b.server.URL(work))
	p.cmd.Stderr = log
	// A group of its own: an interrupt of ours must not end it before we have stopped asking.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.ended)
	}()
	sign := map[string]string{"api": `"listening"`, "worker": `"working"`}[role]
	for {
		said, err := os.ReadFile(log.Name())
		if err != nil || strings.Contains(string(said), sign) {
			return p, err
		}
		select {
		case <-p.ended:
			return nil, fmt.Errorf("the %s ended at once:\n%s", role, said)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), p.stop())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stop ends a process as an operator does.
func (p *process) stop() error { return p.end(syscall.SIGTERM) }

// kill ends it as a power cut would.
func (p *process) kill() error { return p.end(syscall.SIGKILL) }

func (p *process) end(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		return errors.Join(errors.New("a process did not end"), p.cmd.Process.Kill())
	}
}

// service is what a run has: one process that answers, one that works, and a token.
type service struct {
	b           *bench
	api, worker *process
	token       string
}

// open starts a service on a fresh copy of the data.
func (b *bench) open(ctx context.Context) (*service, error) {
	if err := b.fresh(ctx); err != nil {
		return nil, err
	}
	out, err := b.command(ctx, "token", "create", "--org", name, "--json")
	if err != nil {
		return nil, err
	}
	var token struct{ Token string }
	if err := json.Unmarshal([]byte(out), &token); err != nil {
		return nil, err
	}
	s := &service{b: b, token: token.Token}
	if s.api, err = b.serve(ctx, "api"); err != nil {
		return nil, err
	}
	if s.worker, err = b.serve(ctx, "worker"); err != nil {
		return nil, errors.Join(err, s.api.stop())
	}
	return s, nil
}

func (s *service) close() error { return errors.Join(s.api.stop(), s.worker.stop()) }

// call sends a request and reads the answer. It fails unless the status is among those wanted.
func (s *service) call(ctx context.Context, method, path, body string, into any, wanted ...int) error {
	r, err := http.NewRequestWithContext(ctx, method, s.api.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	for _, status := range wanted {
		if response.StatusCode == status {
			return json.Unmarshal(text, into)
		}
	}
	return fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, text)
}

// operation is one as the interface tells of it.
type operation struct {
	ID         int64
	State      string
	Error      string
	Total      int64
	Done       int64
	Changed    int64
	Skipped    int64
	FinishedAt *time.Time `json:"finished_at"`
	SkippedIDs []int64    `json:"skipped_ids"`
}

// started is a bulk call that was answered.
type started struct {
	id       int64
	answered time.Time
	took     time.Duration
}

// start makes a bulk call and expects it to select as many as it should, for workers to change.
func (s *service) start(ctx context.Context, method, path, change string) (started, error) {
	var answer struct {
		FeedbackCount int64 `json:"feedback_count"`
		Async         bool
		OperationID   int64 `json:"operation_id"`
	}
	began := time.Now()
	err := s.call(ctx, method, path, `{"fql": `+chosen+`, `+change+`}`, &answer, http.StatusAccepted)
	st := started{id: answer.OperationID, answered: time.Now(), took: time.Since(began)}
	if err == nil && (answer.FeedbackCount != int64(s.b.size) || !answer.Async) {
		err = fmt.Errorf("%s %s selected %d of %d", method, path, answer.FeedbackCount, s.b.size)
	}
	return st, err
}

func (s *service) look(ctx context.Context, id int64) (o operation, err error) {
	err = s.call(ctx, http.MethodGet, fmt.Sprintf("/v4/operations/%d", id), "", &o, http.StatusOK)
	return o, err
}

// until polls an operation until it is as far as it should be, for as long as it moves.
func (s *service) until(ctx context.Context, id int64, far func(operation) bool) (operation, error) {
	moved, done := time.Now(), int64(0)
	for {
		o, err := s.look(ctx, id)
		if o.Done > done {
			moved, done = time.Now(), o.Done
		}
		switch {
		case err != nil || far(o):
			return o, err
		case o.State != "running":
			return o, fmt.Errorf("operation %d ended as %s with %d of %d: %s", id, o.State, o.Done, o.Total, o.Error)
		case time.Since(moved) > patience:
			return o, fmt.Errorf("operation %d does not move: %d of %d, %s", id, o.Done, o.Total, o.Error)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return o, ctx.Err()
		}
	}
}

func ended(o operation) bool { return o.State == "done" }
