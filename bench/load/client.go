package main

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

// patience is how long an answer may take before it counts as none.
const patience = 60 * time.Second

// answer is what a client needs of one.
type answer struct {
	status int
	closes bool // the server will not take another request on this connection
	retry  bool // it says when to come again
	body   []byte
}

// want is an error unless there is an answer with this status.
func (a answer) want(status int, err error) error {
	if err == nil && a.status != status {
		err = fmt.Errorf("got %d %s, want %d", a.status, a.body, status)
	}
	return err
}

// conn is a connection kept alive. It sends bytes made beforehand and reads as little of an answer as it can: the machine's
// processors are for the server.
type conn struct {
	net.Conn
	r    *bufio.Reader
	body []byte // of the last answer
}

func dial(ctx context.Context, address string) (*conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, r: bufio.NewReaderSize(c, 16<<10)}, nil
}

// request is the bytes of one.
func request(method, path, token, body string) []byte {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer %s\r\n", method, path, token)
	if body != "" {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return []byte(head + "\r\n" + body)
}

// do sends a request and reads the whole answer. An error means that there was none. The body is good until the next call.
func (c *conn) do(request []byte) (answer, error) {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return answer{}, err
	}
	if _, err := c.Write(request); err != nil {
		return answer{}, err
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return answer{}, err
	}
	if len(line) < 12 {
		return answer{}, fmt.Errorf("the answer begins with %q", line)
	}
	var a answer
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return answer{}, err
	}
	length, err := c.head(&a)
	if err != nil {
		return answer{}, err
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	a.body = c.body[:length]
	_, err = io.ReadFull(c.r, a.body)
	return a, err
}

// head reads the header of an answer and returns the length of its body; every answer of ours has one.
func (c *conn) head(a *answer) (length int, err error) {
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
			a.closes = string(value) == "close"
		case "Retry-After":
			a.retry = len(value) > 0
		}
	}
}

// over says whether the server has closed an idle connection. Clients look before they send; what is closed after they looked they cannot know.
func (c *conn) over() bool {
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

// refused says whether nobody listened, so that nothing can have been taken.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
