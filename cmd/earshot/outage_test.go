package main_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"earshot/internal/pg/pgtest"
)

// While the database is gone the server lives and says so, in the shape of every refusal; when it is back the server
// serves again by itself.
func TestServerOutlivesItsDatabase(t *testing.T) {
	t.Parallel()
	proxy, database := throughProxy(t, pgtest.New(t))
	org := initialize(t, database)
	s := serve(t, database)
	create := func() answer { return s.post(org.Token, org.feedback()) }
	for round := range 2 {
		if a := create(); a.status != http.StatusCreated {
			t.Fatalf("round %d, before: %d %s", round, a.status, a.body)
		}
		proxy.cut()
		for range 5 {
			wantUnavailable(t, "GET /readyz", s.get("/readyz", ""))
			a := create()
			wantUnavailable(t, "POST /v4/feedback", a)
			if a.header.Get("Retry-After") == "" {
				t.Errorf("POST /v4/feedback: no Retry-After in %v", a.header)
			}
			if a := s.get("/healthz", ""); a.status != http.StatusOK {
				t.Errorf("GET /healthz: %d %s, want 200", a.status, a.body)
			}
		}
		proxy.restore()
		s.until("ready again", func() bool { return s.get("/readyz", "").status == http.StatusOK })
		s.until("taking feedback again", func() bool { return create().status == http.StatusCreated })
	}
}

// Requests that find their connection cut are told to come again, not that something is broken: the pool hands out
// connections used less than a second ago without trying them.
func TestCutConnectionsAreUnavailable(t *testing.T) {
	t.Parallel()
	proxy, database := throughProxy(t, pgtest.New(t))
	org := initialize(t, database)
	s := serve(t, database)
	var clients sync.WaitGroup
	for range places { // so that every connection is used
		clients.Go(func() {
			if a, err := s.send(http.MethodPost, "/v4/feedback", org.Token, org.feedback(), nil); err != nil || a.status != http.StatusCreated {
				t.Errorf("before: %d %s, %v", a.status, a.body, err)
			}
		})
	}
	clients.Wait()
	proxy.cut()
	for range 8 {
		wantUnavailable(t, "POST /v4/feedback", s.post(org.Token, org.feedback()))
	}
}

// A database that says nothing any more costs a request its timeout and no more.
func TestSilentDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	proxy, database := throughProxy(t, pgtest.New(t))
	org := initialize(t, database)
	s := serve(t, database, "--request-timeout", "1s")
	proxy.stall()
	// The timeout, the time an answer may take beyond it, and room for a busy machine.
	s.client.Timeout = 8 * time.Second
	a, err := s.send(http.MethodPost, "/v4/feedback", org.Token, org.feedback(), nil)
	if err != nil {
		t.Errorf("POST /v4/feedback: %v", err)
	} else {
		wantUnavailable(t, "POST /v4/feedback", a)
	}
	a, err = s.send(http.MethodGet, "/readyz", "", "", nil)
	if err != nil {
		t.Errorf("GET /readyz: %v", err)
	} else {
		wantUnavailable(t, "GET /readyz", a)
	}
	proxy.cut() // or the server could not say goodbye to its connections
}

func wantUnavailable(t *testing.T, what string, a answer) {
	t.Helper()
	if a.status != http.StatusServiceUnavailable {
		t.Errorf("%s: %d %s, want 503", what, a.status, a.body)
		return
	}
	var refusal map[string]any
	decode(t, a.body, &refusal)
	if refusal["type"] != "error" || refusal["code"] != "unavailable" || refusal["message"] == "" || refusal["request_id"] != a.header.Get("X-Request-Id") {
		t.Errorf("%s: %s is not a refusal with the code unavailable", what, a.body)
	}
}

// proxy stands between a server and its database and can come between them.
type proxy struct {
	target string

	mu      sync.Mutex
	gone    bool
	conns   map[net.Conn]bool
	flowing chan struct{} // closed while bytes flow
}

// throughProxy returns a proxy and the address of the database behind it.
func throughProxy(t *testing.T, database string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: u.Host, conns: map[net.Conn]bool{}, flowing: make(chan struct{})}
	close(p.flowing)
	ctx := context.WithoutCancel(t.Context())
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepting.Go(func() { p.carry(ctx, conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close() // nobody is left to connect
		p.cut()
		accepting.Wait()
	})
	u.Host = listener.Addr().String()
	return p, u.String()
}

// cut closes every connection, and new ones as soon as they are made.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	for conn := range p.conns {
		_ = conn.Close() // the other end may have done so
	}
	p.flow()
}

// restore lets connections through again.
func (p *proxy) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = false
}

// stall keeps every connection and carries nothing over it.
func (p *proxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flowing = make(chan struct{})
}

func (p *proxy) flow() {
	select {
	case <-p.flowing:
	default:
		close(p.flowing)
	}
}

// keep notes a connection, so that it can be cut; it refuses while the database is gone.
func (p *proxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		p.conns[conn] = true
	}
	return !p.gone
}

func (p *proxy) carry(ctx context.Context, client net.Conn) {
	defer p.drop(client)
	var dialer net.Dialer
	if !p.keep(client) {
		return
	}
	database, err := dialer.DialContext(ctx, "tcp", p.target)
	if err != nil {
		return
	}
	defer p.drop(database)
	if !p.keep(database) {
		return
	}
	var answers sync.WaitGroup
	answers.Go(func() { p.copy(client, database) })
	p.copy(database, client)
	answers.Wait()
}

// copy carries bytes one way until either end closes, and then closes both.
func (p *proxy) copy(to, from net.Conn) {
	defer p.drop(to)
	defer p.drop(from)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		flowing := p.flowing
		p.mu.Unlock()
		<-flowing
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

func (p *proxy) drop(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
	_ = conn.Close() // twice does no harm
}
