package httpapi

import (
	"net/http"
	"strings"
	"time"
)

// class is the sort of work a route is.
func (rt route) class() Class {
	switch {
	case rt.bulk:
		return Bulk
	case strings.HasPrefix(rt.pattern, http.MethodGet+" "):
		return Read
	default:
		return Write
	}
}

// endpoint runs a route and says what went wrong.
func (s *Server) endpoint(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		x.class = rt.class()
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

// private runs a route that is not for everybody: is there a place, who is calling, may they, and how often. The place comes first:
// when there is too much to do, even asking who calls is too much.
func (s *Server) private(rt route, x *exchange, r *http.Request) error {
	x.Header().Set("Cache-Control", "no-store")
	leave, err := s.gates.enter(x.class)
	if err != nil {
		x.shed = true
		return err
	}
	defer leave()
	p, err := s.Accounts.Authenticate(r.Context(), bearer(r))
	if err != nil {
		return err
	}
	x.org, x.token = p.View().Org(), p.TokenID
	if !p.May(rt.scope) {
		return forbidden(rt.scope)
	}
	if err := s.rates.take(x.Header(), p.TokenID, time.Now()); err != nil {
		return err
	}
	return rt.call(s, x, r, p)
}

// bearer is the token of a request, or nothing.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
