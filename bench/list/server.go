package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// settings are what the server runs with beyond PostgreSQL's defaults. Nothing is lost in a crash: fsync is on. With the minimal
// WAL level a table that is filled in the transaction that emptied it is written once and synced, instead of twice; reading
// does not notice. The planner's settings are those of a fresh installation.
var settings = [][2]string{
	{"shared_buffers", "4GB"},
	{"maintenance_work_mem", "1GB"},
	{"fsync", "on"},
	{"synchronous_commit", "on"},
	{"wal_level", "minimal"},
	{"max_wal_senders", "0"},
	{"max_wal_size", "8GB"},
	{"checkpoint_timeout", "15min"},
	{"checkpoint_completion_target", "0.9"},
}

// server is a PostgreSQL of our own, apart from the one that tests use.
type server struct {
	port int
	data string
	as   *syscall.Credential // whom its programs run as; nil: ourselves
	held *os.File
}

// newServer finds the place of the data: a cache directory, as with the throwaway servers of .ci/db.
func newServer(port int) (*server, error) {
	s := &server{port: port}
	if os.Geteuid() != 0 {
		cache, err := os.UserCacheDir()
		s.data = filepath.Join(cache, "earshot-bench", strconv.Itoa(port))
		return s, err
	}
	// PostgreSQL refuses to run as root, and its user cannot enter root's home.
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("as root the server runs as the user postgres: %w", err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	s.data = filepath.Join("/var/cache/earshot-bench", strconv.Itoa(port))
	return s, nil
}

// lock keeps a second run from stopping the server of this one. It ends with the process.
func (s *server) lock() error {
	if err := os.MkdirAll(filepath.Dir(s.data), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(s.data+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	s.held = f // or the file would be closed, and the lock gone, when nothing refers to it
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another run uses the server on port %d: %w", s.port, err)
	}
	return nil
}

func (s *server) url(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s", s.port, database)
}

// start brings the server up with our settings, creating its cluster when there is none.
func (s *server) start(ctx context.Context) error {
	if err := s.stop(ctx); err != nil {
		return err
	}
	if !s.exists() {
		if err := s.create(ctx); err != nil {
			return err
		}
	}
	address := fmt.Sprintf("127.0.0.1:%d", s.port)
	if c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address); err == nil {
		return errors.Join(fmt.Errorf("something else listens on %s; choose another -port", address), c.Close())
	}
	line := fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories=''", s.port)
	for _, set := range settings {
		line += " -c " + set[0] + "=" + set[1]
	}
	return s.run(ctx, "pg_ctl", "--pgdata="+s.data, "--log="+filepath.Join(s.data, "log"), "--wait", "--timeout=600", "--silent", "--options="+line, "start")
}

// stop ends our server if it runs, whoever left it running.
func (s *server) stop(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(s.data, "postmaster.pid")); err != nil {
		return nil
	}
	if err := s.run(ctx, "pg_ctl", "--pgdata="+s.data, "status"); err != nil {
		return nil // a file left by a crash
	}
	return s.run(ctx, "pg_ctl", "--pgdata="+s.data, "--mode=fast", "--wait", "--timeout=600", "--silent", "stop")
}

func (s *server) remove(ctx context.Context) error {
	if err := s.stop(ctx); err != nil {
		return err
	}
	return os.RemoveAll(s.data)
}

func (s *server) exists() bool {
	_, err := os.Stat(filepath.Join(s.data, "PG_VERSION"))
	return err == nil
}

func (s *server) create(ctx context.Context) error {
	if err := os.Mkdir(s.data, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	if s.as != nil {
		if err := os.Chown(s.data, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return err
		}
	}
	return s.run(ctx, "initdb", "--pgdata="+s.data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
}

// run executes one of PostgreSQL's programs. Its output goes to a file, not a pipe: the server inherits it and would keep a pipe open.
func (s *server) run(ctx context.Context, name string, args ...string) error {
	path, err := program(name)
	if err != nil {
		return err
	}
	output, err := os.CreateTemp("", "bench-list")
	if err != nil {
		return err
	}
	defer func() { _, _ = output.Close(), os.Remove(output.Name()) }()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", output, output
	// A group of its own, or the interrupt that ends us would end the server before it is stopped.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(output.Name())
		return fmt.Errorf("%s: %w\n%s", name, err, strings.TrimSpace(string(said)))
	}
	return nil
}

// program finds a program of the newest PostgreSQL installed; Debian keeps them off the PATH.
func program(name string) (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return exec.LookPath(name)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	return slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }), nil
}
