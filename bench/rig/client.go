package rig

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"
)

// Patience is how long an answer may take before it counts as none.
const Patience = 60 * time.Second

// Answer is what a client needs of one.
type Answer struct {
	Status int
	Closes bool // the server will not take another request on this connection
	Retry  bool // it says when to come again
	Body   []byte
}

// Want is an error unless there is an answer with this status.
func (a Answer) Want(status int, err error) error {
	if err == nil && a.Status != status {
		err = fmt.Errorf("got %d %s, want %d", a.Status, a.Body, status)
	}
	return err
}

// Conn is a connection kept alive. It sends bytes made beforehand and reads as little of an answer as it can: the machine's
// processors are for the server.
type Conn struct {
	net.Conn
	r    *bufio.Reader
	body []byte // of the last answer
}

// Dial connects to a server.
func Dial(ctx context.Context, address string) (*Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c, r: bufio.NewReaderSize(c, 16<<10)}, nil
}

// Request is the bytes of one.
func Request(method, path, token, body string) []byte {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer %s\r\n", method, path, token)
	if body != "" {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return []byte(head + "\r\n" + body)
}

// Do sends a request and reads the whole answer. An error means that there was none. The body is good until the next call.
func (c *Conn) Do(request []byte) (Answer, error) {
	if err := c.SetDeadline(time.Now().Add(Patience)); err != nil {
		return Answer{}, err
	}
	if _, err := c.Write(request); err != nil {
		return Answer{}, err
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return Answer{}, err
	}
	if len(line) < 12 {
		return Answer{}, fmt.Errorf("the answer begins with %q", line)
	}
	var a Answer
	if a.Status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return Answer{}, err
	}
	length, err := c.head(&a)
	if err != nil {
		return Answer{}, err
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	a.Body = c.body[:length]
	_, err = io.ReadFull(c.r, a.Body)
	return a, err
}

// head reads the header of an answer and returns the length of its body; every answer of ours has one.
func (c *Conn) head(a *Answer) (length int, err error) {
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		name, value, ok := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(": "))
		if !ok {
			return length, nil
		}
		switch string(name) {
		case "Content-Length":
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		case "Connection":
			a.Closes = string(value) == "close"
		case "Retry-After":
			a.Retry = len(value) > 0
		}
	}
}

// Over says whether the server has closed an idle connection. Clients look before they send; what is closed after they looked they cannot know.
func (c *Conn) Over() bool {
	raw, err := c.Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	err = raw.Read(func(fd uintptr) bool {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		closed = err == nil && n == 0 || err != nil && !errors.Is(err, syscall.EAGAIN)
		return true
	})
	return closed || err != nil
}

// Refused says whether nobody listened, so that nothing can have been taken.
func Refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
