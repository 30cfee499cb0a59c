// Package httpapi is the HTTP interface: routes, bodies, the shapes on the wire, envelopes and refusals. A handler reads
// its input, calls one method of one room and writes the answer; everything a handler refuses it returns as an error.
package httpapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/operation"
	"earshot/internal/optout"
	"earshot/internal/report"
)

// Server answers requests. All fields are needed; Handler makes it ready.
type Server struct {
	Accounts   *account.Store
	Carriers   *carrier.Store
	Feedback   *feedback.Store
	Texts      *analysis.Store
	Operations *operation.Store
	OptOuts    *optout.Store
	Reports    *report.Store
	// Pages serves what people read in a browser, at the paths that the route table gives it.
	Pages http.Handler
	// ShowUnsubscribe writes the page of a link, ShowReport that of a shared report, ShowRefusal the one that a refusal is at the address of
	// a page. accept is the Accept-Language header of the request.
	ShowUnsubscribe func(http.ResponseWriter, optout.Link) error
	ShowReport      func(w http.ResponseWriter, accept, organization string, r report.Report, f report.Figures) error
	ShowRefusal     func(w http.ResponseWriter, accept string, status int) error
	Log             *slog.Logger
	// BaseURL begins every address in an answer, without a slash at its end. The Host header is never believed.
	BaseURL string
	// BodyLimit is the largest body read, in bytes.
	BodyLimit int64
	// BulkWait is how long a bulk change of attributes waits to be done.
	BulkWait time.Duration
	// Timeout is how long a request may take.
	Timeout time.Duration
	// Limits are how much is taken on at once.
	Limits Limits
	// Observe is told of every request when it is answered; nil tells nobody.
	Observe func(context.Context, Observation)
	// Ready says whether requests can be served now; it is asked by /readyz.
	Ready func(context.Context) error

	gates   *gates
	rates   *rates[int64]             // by token
	links   *rates[[sha256.Size]byte] // by link to unsubscribe
	opened  *rates[[sha256.Size]byte] // by link to a report
	guesses *rates[netip.Prefix]      // by client address
}

// Observation is what there is to know of an answered request, without anything that came from the client.
type Observation struct {
	Route  string // the pattern, or "unknown"
	Class  Class
	Status int
	Shed   bool // turned away because there was too much to do
	Took   time.Duration
}

// InFlight is how many requests of a class are under way, once Handler was called.
func (s *Server) InFlight(c Class) int { return len(s.gates.limits[c]) }

// Handler returns the whole interface as one handler.
func (s *Server) Handler() http.Handler {
	s.gates = newGates(s.Limits.InFlight)
	s.rates = newRates[int64](s.Limits.Rate, s.Limits.Burst, "This token makes more requests than it may. Try again in a moment.")
	s.links = newRates[[sha256.Size]byte](linkRate, linkBurst, "This link is followed too often. Try again in a moment.")
	s.opened = newRates[[sha256.Size]byte](sharedRate, sharedBurst, "This report is opened too often. Try again in a moment.")
	s.guesses = newRates[netip.Prefix](guessRate, guessBurst, "Too many links were tried. Try again in a moment.")
	mux := http.NewServeMux()
	for _, rt := range routes {
		mux.Handle(rt.pattern, s.endpoint(rt))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(mux, w, r) })
}

// exchange is one request under way: what is written, and what the access log says of it.
type exchange struct {
	http.ResponseWriter
	id     string
	route  string
	class  Class
	shed   bool
	page   bool   // at an address of people
	accept string // which languages they read
	limit  int64  // of the body
	org    account.OrgID
	token  int64
	status int
	sent   int
	// leave gives up the place that the request holds, at once instead of at its end.
	leave func()
	// held keeps an answer back until its place is given up; nil writes through.
	held *bytes.Buffer
}

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	if x.held == nil {
		x.ResponseWriter.WriteHeader(status)
	}
}

// release sends what was held. A client who has gone does not get it; there is nobody to tell.
func (x *exchange) release() {
	answer := x.held.Bytes()
	x.held = nil
	x.ResponseWriter.WriteHeader(x.status)
	_, _ = x.Write(answer)
}

func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if x.held != nil {
		return x.held.Write(b)
	}
	n, err := x.ResponseWriter.Write(b)
	x.sent += n
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (s *Server) serve(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	x := &exchange{ResponseWriter: w, id: requestID(r), route: "unknown", page: isPage(r.URL.Path), accept: r.Header.Get("Accept-Language")}
	x.Header().Set("X-Request-Id", x.id)
	x.Header().Set("X-Content-Type-Options", "nosniff")
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	r = r.WithContext(ctx)
	defer func() {
		// The path is left out: it may hold anything. The pattern says as much.
		s.Log.LogAttrs(ctx, slog.LevelInfo, "request",
			slog.String("method", knownMethod(r.Method)), slog.String("route", x.route), slog.Int("status", x.status),
			slog.Int("bytes", x.sent), slog.Float64("ms", float64(time.Since(start).Microseconds())/1000), slog.String("request_id", x.id),
			slog.Int64("organization_id", int64(x.org)), slog.Int64("token_id", x.token))
		if s.Observe != nil {
			s.Observe(ctx, Observation{Route: x.route, Class: x.class, Status: x.status, Shed: x.shed, Took: time.Since(start)})
		}
	}()
	defer s.recover(x, r)
	clean := withCleanPath(r)
	if clean == nil {
		s.refuse(x, r, fault.New(fault.NotFound, "There is nothing at this address."))
		return
	}
	handler, pattern := mux.Handler(clean)
	if pattern == "" {
		s.refuseRoute(x, clean, handler)
		return
	}
	x.route = pattern
	mux.ServeHTTP(x, clean)
}

// recover answers a panic like any other error of ours. A panic's value may quote a request, so only the runtime's own are logged.
func (s *Server) recover(x *exchange, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		panic(v)
	}
	text := fmt.Sprintf("%T", v)
	if err, ok := v.(runtime.Error); ok {
		text = err.Error()
	}
	s.Log.ErrorContext(r.Context(), "panic", "request_id", x.id, "route", x.route, "value", text, "stack", string(debug.Stack()))
	if x.held != nil { // nothing of it was sent
		x.held, x.status = nil, 0
	}
	if x.status == 0 {
		s.write(x, fault.New(fault.Internal, internalMessage))
	}
}

// withCleanPath takes one trailing slash away. It returns nil for a path that http.ServeMux would redirect: // must not lead
// from the attributes of one feedback to those of all.
func withCleanPath(r *http.Request) *http.Request {
	p := r.URL.Path
	if len(p) > 1 && strings.HasSuffix(p, "/") {
		u := *r.URL
		u.Path = strings.TrimSuffix(p, "/")
		u.RawPath = strings.TrimSuffix(u.RawPath, "/")
		clone := *r
		clone.URL = &u
		r, p = &clone, u.Path
	}
	if path.Clean(p) != p {
		return nil
	}
	return r
}

// refuseRoute answers what the mux would answer in plain text: no such path, or not with this method.
func (s *Server) refuseRoute(x *exchange, r *http.Request, mux http.Handler) {
	probe := &probe{header: http.Header{}}
	mux.ServeHTTP(probe, r)
	if probe.status == http.StatusMethodNotAllowed {
		x.Header().Set("Allow", probe.header.Get("Allow"))
		s.refuse(x, r, fault.New(fault.MethodNotAllowed, "This address does not take %s.", knownMethod(r.Method)))
		return
	}
	s.refuse(x, r, fault.New(fault.NotFound, "There is nothing at this address."))
}

// knownMethod keeps what a client invents out of answers and the log.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "this method"
}

// probe takes in what a handler answers without sending it.
type probe struct {
	header http.Header
	status int
}

func (p *probe) Header() http.Header         { return p.header }
func (p *probe) WriteHeader(status int)      { p.status = status }
func (p *probe) Write(b []byte) (int, error) { return len(b), nil }

var plainID = regexp.MustCompile(`^[0-9a-fA-F-]{8,64}$`)

// requestID keeps the id a proxy gave when it can hold nothing but an id.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); plainID.MatchString(id) {
		return id
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
