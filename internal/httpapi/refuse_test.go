package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"earshot/internal/account"
	"earshot/internal/pg/pgtest"
)

// Unknown paths and methods get the one error body, nothing redirects, and a trailing slash means the same path.
func TestRoutingRefusals(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.create(`{"carrier_id":1,"source":"email"}`).id()
	c.get("/v4/feedback/" + id + "/").want(http.StatusOK)
	c.send(http.MethodPost, "/v4/feedback/", "application/json", `{"carrier_id":1,"source":"email"}`).want(http.StatusCreated)
	for _, path := range []string{
		"/", "/v4", "/v5/feedback", "/v4//feedback", "//v4/feedback", "/v4/feedback//", "/v4/feedback//attributes/attach",
		"/v4/./feedback", "/v4/x/../feedback", "/v4/feedback/" + id + "/nothing", "/report", "/healthz/x", "/V4/feedback",
		"/v4/feedback/%2e%2e/carriers",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			a := c.send(method, path, "", "").refused(404, "not_found")
			if a.header.Get("Location") != "" {
				t.Errorf("%s redirects", path)
			}
		}
	}
	for _, tc := range [][3]string{
		{http.MethodPatch, "/v4/feedback/" + id, "GET, HEAD, PUT"},
		{http.MethodDelete, "/v4/carriers", "GET, HEAD"},
		{http.MethodOptions, "/v4/feedback/", "DELETE, GET, HEAD, POST"},
		{http.MethodPost, "/healthz", "GET, HEAD"},
		{"BREW", "/v4/feedback", "DELETE, GET, HEAD, POST"},
	} {
		if a := c.send(tc[0], tc[1], "", "").refused(405, "method_not_allowed"); a.header.Get("Allow") != tc[2] {
			t.Errorf("%s %s: Allow is %q, want %q", tc[0], tc[1], a.header.Get("Allow"), tc[2])
		}
	}
	c.send(http.MethodHead, "/v4/feedback/"+id, "", "").want(http.StatusOK)
}

// The scheme's case does not matter; anything that is not a bearer token is no token.
func TestBearer(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	bare := c.as("")
	for _, ok := range []string{"Bearer " + c.token, "bearer " + c.token, "BEARER  " + c.token} {
		bare.with("Authorization", ok).get("/v4/carriers").want(http.StatusOK)
	}
	for _, bad := range []string{"", "Bearer", "Bearer ", "Basic " + c.token, c.token, "Bearer " + strings.ToUpper(c.token), "Bearer " + c.token + "x"} {
		bare.with("Authorization", bad).get("/v4/carriers").refused(401, "unauthenticated")
	}
	expired := c.issue(account.NewToken{ExpiresAt: new(time.Now().Add(30 * time.Millisecond))})
	for deadline := time.Now().Add(5 * time.Second); c.as(expired).get("/v4/carriers").status != 401; {
		if time.Now().After(deadline) {
			t.Fatal("an expired token still works")
		}
	}
}

// A request id of a proxy is kept when it can be nothing but an id.
func TestRequestID(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	kept := "0f8fad5b-d9cb-469f-a165-70867728950e"
	if got := c.with("X-Request-Id", kept).get("/nowhere").header.Get("X-Request-Id"); got != kept {
		t.Errorf("%q was not kept: %q", kept, got)
	}
	for _, other := range []string{"", "short", "someone@example.com", "es_live_abcdef", strings.Repeat("a", 65), "deadbeef\tx"} {
		if got := c.with("X-Request-Id", other).get("/nowhere").header.Get("X-Request-Id"); got == other || len(got) != 32 {
			t.Errorf("%q became %q", other, got)
		}
	}
}

// A panic, a request that takes too long and a database that is away are answered with the one error body; details stay in the log.
func TestFailuresOfOurs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ready  func(context.Context) error
		status int
		code   string
	}{
		"panic":    {func(context.Context) error { panic("secret-canary") }, 500, "internal"},
		"runtime":  {func(ctx context.Context) error { return ctx.Value(t).(error) }, 500, "internal"},
		"error":    {func(context.Context) error { return errors.New("something of ours") }, 500, "internal"},
		"deadline": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 503, "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(pgtest.DB(t))
			s.Timeout = 50 * time.Millisecond
			s.Ready = tc.ready
			c := &client{t: t, server: s}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
			a := answer{t: t, status: w.Code, header: w.Header(), body: w.Body.String()}
			a.refused(tc.status, tc.code)
			checkError(t, a)
			if strings.Contains(a.body, "ours") || strings.Contains(s.log.String(), "canary") {
				t.Errorf("details were shown: %s %s", a.body, s.log)
			}
			if tc.status == 503 && a.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			c.get("/healthz").want(http.StatusOK)
		})
	}
}

// Nothing is said to a client who has gone.
func TestGoneClientIsNotAnswered(t *testing.T) {
	t.Parallel()
	s := newServer(pgtest.DB(t))
	ctx, cancel := context.WithCancel(t.Context())
	s.Ready = func(context.Context) error {
		cancel()
		return ctx.Err()
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil))
	if w.Body.Len() != 0 || !strings.Contains(s.log.String(), `"status":499`) {
		t.Errorf("answered %s, logged %s", w.Body, s.log)
	}
}
