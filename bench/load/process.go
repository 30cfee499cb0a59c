package main

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

// build makes the program that is put under load, as it is released.
func build(ctx context.Context, dir string) (binary string, err error) {
	binary = filepath.Join(dir, "earshot")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "./cmd/earshot")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

// organization is what init prints, as far as we need it.
type organization struct {
	ID        int64            `json:"organization_id"`
	CarrierID int64            `json:"carrier_id"`
	Questions map[string]int64 `json:"questions"`
	Token     string           `json:"token"`
}

// create is a request that creates a feedback of an organization with a text.
func (o organization) create(text string) []byte {
	return request("POST", "/v4/feedback", o.Token, fmt.Sprintf(
		`{"carrier_id": %d, "source": "survey", "attributes": [{"name": "plan", "value": "plus"}, {"name": "city", "value": "Lyon"}], `+
			`"items": [{"question_id": %d, "value": 9}, {"question_id": %d, "value": 4}, {"question_id": %d, "value": %q}]}`,
		o.CarrierID, o.Questions["nps"], o.Questions["rating"], o.Questions["text"], text))
}

// opinion is what a customer says where it does not matter.
const opinion = "Friendly staff, slow delivery, and the box was open when it arrived."

// command runs an earshot command on a database and returns what it printed.
func (b *bench) command(ctx context.Context, database string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, b.binary, args...)
	cmd.Env = append(os.Environ(), "EARSHOT_DATABASE_URL="+database)
	out, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("earshot %s: %w\n%s", args[0], err, e.Stderr)
	}
	return out, err
}

// organization makes one.
func (b *bench) organization(ctx context.Context, database, name string) (o organization, err error) {
	out, err := b.command(ctx, database, "init", "--name", name, "--json")
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(out, &o)
}

// process is one earshot serve.
type process struct {
	cmd     *exec.Cmd
	address string
	ended   chan error
}

// serve starts a process at an address, or at a free one, and returns when it is ready. Its log goes to a file, where it costs what it costs in earnest.
func (b *bench) serve(ctx context.Context, database, address string, flags ...string) (*process, error) {
	if address == "" {
		free, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		address = free.Addr().String()
		if err := free.Close(); err != nil {
			return nil, err
		}
	}
	log, err := os.OpenFile(filepath.Join(b.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the process has it
	p := &process{address: address, ended: make(chan error, 1)}
	p.cmd = exec.Command(b.binary, append([]string{"serve", "--listen", address}, flags...)...) //nolint:noctx // it is ended by a signal
	p.cmd.Env = append(os.Environ(), "EARSHOT_DATABASE_URL="+database)
	p.cmd.Stderr = log
	// A group of its own: an interrupt of ours must not end it before we have stopped asking.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	b.processes = append(b.processes, p)
	go func() { p.ended <- p.cmd.Wait() }()
	return p, p.untilReady(ctx)
}

// kill ends every process that an interrupted run has left.
func (b *bench) kill() {
	for _, p := range b.processes {
		_ = p.cmd.Process.Kill() // most have ended
	}
}

func (p *process) untilReady(ctx context.Context) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/readyz", nil)
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
		case err := <-p.ended:
			return fmt.Errorf("earshot serve ended: %w", err)
		default:
		}
	}
	return errors.New("earshot serve does not become ready")
}

// stop asks the process to end and returns how it did, and after how long.
func (p *process) stop() (took time.Duration, err error) {
	asked := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	select {
	case err = <-p.ended:
		p.ended <- err
	case <-time.After(patience):
		err = errors.Join(errors.New("it does not end"), p.cmd.Process.Kill())
	}
	return time.Since(asked), err
}

var residentMemory = regexp.MustCompile(`VmRSS:\s+([0-9]+) kB`)

// memory is what the process has in memory now, in bytes.
func (p *process) memory() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
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
