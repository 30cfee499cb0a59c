// Package rig is what benchmarks stand on: a PostgreSQL of their own, the released program, clients that cost little, what there is to say of
// the machine, and tables to print.
package rig

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

// Server is a PostgreSQL of our own, apart from the one that tests use.
type Server struct {
	port     int
	settings [][2]string
	data     string
	as       *syscall.Credential // whom its programs run as; nil: ourselves
	held     *os.File
}

// NewServer finds the place of the data: a cache directory, as with the throwaway servers of .ci/db. settings are what the server
// runs with beyond PostgreSQL's defaults.
func NewServer(port int, settings [][2]string) (*Server, error) {
	s := &Server{port: port, settings: settings}
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

// Lock keeps a second run from stopping the server of this one. It ends with the process.
func (s *Server) Lock() error {
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

// URL is the address of a database.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s", s.port, database)
}

// Start brings the server up with our settings, creating its cluster when there is none.
func (s *Server) Start(ctx context.Context) error {
	if err := s.Stop(ctx); err != nil {
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
	for _, set := range s.settings {
		line += " -c " + set[0] + "=" + set[1]
	}
	return s.run(ctx, "pg_ctl", "--pgdata="+s.data, "--log="+filepath.Join(s.data, "log"), "--wait", "--timeout=600", "--silent", "--options="+line, "start")
}

// Stop ends our server if it runs, whoever left it running.
func (s *Server) Stop(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(s.data, "postmaster.pid")); err != nil {
		return nil
	}
	if err := s.run(ctx, "pg_ctl", "--pgdata="+s.data, "status"); err != nil {
		return nil // a file left by a crash
	}
	return s.run(ctx, "pg_ctl", "--pgdata="+s.data, "--mode=fast", "--wait", "--timeout=600", "--silent", "stop")
}

// Remove stops the server and removes its data.
func (s *Server) Remove(ctx context.Context) error {
	if err := s.Stop(ctx); err != nil {
		return err
	}
	return os.RemoveAll(s.data)
}

func (s *Server) exists() bool {
	_, err := os.Stat(filepath.Join(s.data, "PG_VERSION"))
	return err == nil
}

func (s *Server) create(ctx context.Context) error {
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
func (s *Server) run(ctx context.Context, name string, args ...string) error {
	path, err := Tool(name)
	if err != nil {
		return err
	}
	output, err := os.CreateTemp("", "bench")
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

// Tool finds a program of the newest PostgreSQL installed; Debian keeps them off the PATH.
func Tool(name string) (string, error) {
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
