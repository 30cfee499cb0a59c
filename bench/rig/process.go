package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// Program is earshot as it is released, and those of its processes that we started.
type Program struct {
	dir, binary string
	processes   []*Process
}

// Compile builds it.
func Compile(ctx context.Context) (*Program, error) {
	dir, err := os.MkdirTemp("", "earshot-bench")
	if err != nil {
		return nil, err
	}
	p := &Program{dir: dir, binary: filepath.Join(dir, "earshot")}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", p.binary, "./cmd/earshot")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("go build: %w\n%s", err, out), p.Remove())
	}
	return p, nil
}

// Remove ends every process that an interrupted run has left, and removes the program.
func (p *Program) Remove() error {
	for _, running := range p.processes {
		_ = running.cmd.Process.Kill() // most have ended
	}
	return os.RemoveAll(p.dir)
}

// Run runs a command on a database and returns what it printed.
func (p *Program) Run(ctx context.Context, database string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.binary, args...)
	cmd.Env = append(os.Environ(), "EARSHOT_DATABASE_URL="+database)
	out, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("earshot %s: %w\n%s", args[0], err, e.Stderr)
	}
	return out, err
}

// Organization is what init prints, as far as we need it.
type Organization struct {
	ID        int64            `json:"organization_id"`
	CarrierID int64            `json:"carrier_id"`
	Questions map[string]int64 `json:"questions"`
	Token     string           `json:"token"`
}

// Organization makes one.
func (p *Program) Organization(ctx context.Context, database, name string) (o Organization, err error) {
	out, err := p.Run(ctx, database, "init", "--name", name, "--json")
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(out, &o)
}

// Opinion is what a customer says where it does not matter.
const Opinion = "Friendly staff, slow delivery, and the box was open when it arrived."

// Body is that of a request that creates a feedback with a text.
func (o Organization) Body(text string) string {
	return fmt.Sprintf(
		`{"carrier_id": %d, "source": "survey", "attributes": [{"name": "plan", "value": "plus"}, {"name": "city", "value": "Lyon"}], `+
			`"items": [{"question_id": %d, "value": 9}, {"question_id": %d, "value": 4}, {"question_id": %d, "value": %q}]}`,
		o.CarrierID, o.Questions["nps"], o.Questions["rating"], o.Questions["text"], text)
}

// Create is that request.
func (o Organization) Create(text string) []byte {
	return Request("POST", "/v4/feedback", o.Token, o.Body(text))
}

// Process is one earshot serve.
type Process struct {
	Address string
	cmd     *exec.Cmd
	ended   chan error
}

// Serve starts a process at an address, or at a free one, and returns when it is ready. Its log goes to a file, where it costs what it costs in earnest.
func (p *Program) Serve(ctx context.Context, database, address string, flags ...string) (*Process, error) {
	if address == "" {
		var err error
		if address, err = FreeAddress(ctx); err != nil {
			return nil, err
		}
	}
	log, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()                                                                          //nolint:errcheck // the process has it
	cmd := exec.Command(p.binary, append([]string{"serve", "--listen", address}, flags...)...) //nolint:noctx // it is ended by a signal
	cmd.Env = append(os.Environ(), "EARSHOT_DATABASE_URL="+database)
	cmd.Stderr = log
	s, err := start(cmd, address)
	if err != nil {
		return nil, err
	}
	p.processes = append(p.processes, s)
	return s, s.untilReady(ctx)
}

// start runs a command in a group of its own: an interrupt of ours must not end it before we have stopped asking.
func start(cmd *exec.Cmd, address string) (*Process, error) {
	s := &Process{Address: address, cmd: cmd, ended: make(chan error, 1)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.ended <- cmd.Wait() }()
	return s, nil
}

// FreeAddress is one that nobody listens at.
func FreeAddress(ctx context.Context) (string, error) {
	free, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return free.Addr().String(), free.Close()
}

func (s *Process) untilReady(ctx context.Context) error {
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+"/readyz", nil)
		if err != nil {
			return err
		}
		r.Close = true
		if response, err := http.DefaultClient.Do(r); err == nil {
			_ = response.Body.Close() // nothing in it
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-s.ended:
			return fmt.Errorf("earshot serve ended: %w", err)
		default:
		}
	}
	return errors.New("earshot serve does not become ready")
}

// Stop asks the process to end and returns how it did, and after how long.
func (s *Process) Stop() (took time.Duration, err error) {
	asked := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	select {
	case err = <-s.ended:
		s.ended <- err
	case <-time.After(Patience):
		err = errors.Join(errors.New("it does not end"), s.cmd.Process.Kill())
	}
	return time.Since(asked), err
}

// Kill ends the process as a power cut would.
func (s *Process) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	s.ended <- <-s.ended
	return nil
}

var residentMemory = regexp.MustCompile(`VmRSS:\s+([0-9]+) kB`)

// Memory is what the process has in memory now, in bytes.
func (s *Process) Memory() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	found := residentMemory.FindSubmatch(text)
	if found == nil {
		return 0, errors.New("the kernel does not say how much memory a process has")
	}
	kb, err := strconv.ParseInt(string(found[1]), 10, 64)
	return kb << 10, err
}
