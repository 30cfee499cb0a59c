package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// parting has every answer of a server that stops close its connection. HTTP has no other way to tell a client not to use it again:
// a connection that is closed while it is idle may meet the client's next request half way.
func parting(next http.Handler, draining *atomic.Bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// drain stops a server, until ctx ends. For the delay it answers as before, to whoever does not know yet. Then the port closes, what is
// under way is waited for, and the connections that nobody used all that time are closed.
func drain(ctx context.Context, server *http.Server, d *door, served <-chan error, delay time.Duration) error {
	select {
	case <-time.After(delay):
	case <-ctx.Done():
	}
	d.close()
	<-served // the server has seen everyone who came in
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	// Not by Shutdown: from then on the server reads requests and drops them.
	for d.busy() && ctx.Err() == nil {
		<-tick.C
	}
	return server.Shutdown(ctx)
}

// door is a listener that can close without turning away anyone who has come: those who wait to be accepted may have sent a
// request, and would be reset.
type door struct {
	*net.TCPListener

	mu      sync.Mutex
	waiting []net.Conn
	inside  map[net.Conn]time.Time // those that a server is busy with, or since when it has waited for the first request
}

func newDoor(l net.Listener) *door {
	return &door{TCPListener: l.(*net.TCPListener), inside: map[net.Conn]time.Time{}}
}

// Accept returns the next who comes and, once the door is closed, those who were waiting.
func (d *door) Accept() (net.Conn, error) {
	c, err := d.TCPListener.Accept()
	if err == nil {
		return c, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 {
		return nil, err
	}
	c, d.waiting = d.waiting[0], d.waiting[1:]
	return c, nil
}

// close lets in who waits and, with next to nothing in between, nobody else.
func (d *door) close() {
	if raw, err := d.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			d.letIn(int(fd))
			_ = syscall.Shutdown(int(fd), syscall.SHUT_RD) // Close comes a moment later, when Accept has noticed
		})
	}
	_ = d.Close() // the server, which finds nobody to accept any more, may have been first
}

// letIn takes everyone out of the queue of a socket.
func (d *door) letIn(fd int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		n, _, err := syscall.Accept(fd)
		if errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.ECONNABORTED) {
			continue
		}
		if err != nil {
			return // nobody is left
		}
		file := os.NewFile(uintptr(n), "connection")
		if c, err := net.FileConn(file); err == nil {
			d.waiting = append(d.waiting, c)
		}
		_ = file.Close() // the connection has a copy
	}
}

// note is told by the server what a connection does.
func (d *door) note(c net.Conn, state http.ConnState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch state {
	case http.StateNew:
		d.inside[c] = time.Now()
	case http.StateActive:
		d.inside[c] = time.Time{}
	default:
		delete(d.inside, c)
	}
}

// busy says whether requests are under way, or may be: who has come and said nothing for a second is not waited for.
func (d *door) busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, since := range d.inside {
		if since.IsZero() || time.Since(since) < time.Second {
			return true
		}
	}
	return false
}
