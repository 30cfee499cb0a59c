package httpapi

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"

	"earshot/internal/account"
)

// class is the sort of work a route is.
func (rt route) class() Class {
	switch {
	case rt.bulk:
		return Bulk
	case rt.pattern == "POST /v4/feedback":
		return Create
	case strings.HasPrefix(rt.pattern, http.MethodGet+" "), strings.HasSuffix(string(rt.scope), ":read"):
		return Read
	default:
		return Write
	}
}

// endpoint runs a route and says what went wrong.
func (s *Server) endpoint(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		x.class, x.limit = rt.class(), max(s.BodyLimit, rt.body)
		var err error
		if rt.public != nil {
			err = rt.public(s, x, r)
		} else {
			err = s.private(rt, x, r)
		}
		if err != nil {
			s.refuse(x, r, err)
		}
	}
}

// private runs a route that is not for everybody: who is calling, may they, and how often; then the work itself. A place is held for
// either.
func (s *Server) private(rt route, x *exchange, r *http.Request) error {
	x.Header().Set("Cache-Control", "no-store")
	p, err := s.admit(rt, x, r)
	if err != nil {
		return err
	}
	if rt.stream {
		return rt.call(s, x, r, p)
	}
	return s.work(x, r, func() error { return rt.call(s, x, r, p) })
}

// work runs a call in a place of its class, but holds none while a client takes its time to send a body or to read an answer: as many slow
// clients as there are places would otherwise keep everybody out.
func (s *Server) work(x *exchange, r *http.Request, call func() error) error {
	if err := s.fetchBody(x, r); err != nil {
		return err
	}
	leave, err := s.place(x)
	if err != nil {
		return err
	}
	x.held = &bytes.Buffer{}
	x.leave = sync.OnceFunc(leave)
	err = call()
	x.leave()
	if err != nil {
		x.held = nil
		x.status = 0
		return err
	}
	x.release()
	return nil
}

// admit finds out who is calling and whether they may.
func (s *Server) admit(rt route, x *exchange, r *http.Request) (account.Principal, error) {
	leave, err := s.place(x)
	if err != nil {
		return account.Principal{}, err
	}
	defer leave()
	p, err := s.Accounts.Authenticate(r.Context(), bearer(r))
	if err != nil {
		return account.Principal{}, err
	}
	x.org, x.token = p.View().Org(), p.TokenID
	if !p.May(rt.scope) {
		return account.Principal{}, forbidden(rt.scope)
	}
	return p, s.rates.take(x.Header(), p.TokenID, time.Now())
}

// place takes a place among the requests of a class, or notes that there was none.
func (s *Server) place(x *exchange) (leave func(), err error) {
	leave, err = s.gates.enter(x.class, x.org)
	x.shed = err != nil
	return leave, err
}

// bearer is the token of a request, or nothing.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
