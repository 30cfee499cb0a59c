package httpapi

import (
	"net/http"

	"earshot/internal/account"
	"earshot/internal/fault"
)

// Route is one row of the route table, for the test that walks it.
type Route struct {
	Pattern string
	Scope   account.Scope
	Public  bool
}

// Routes returns the route table.
func Routes() []Route {
	out := make([]Route, len(routes))
	for i, rt := range routes {
		out[i] = Route{Pattern: rt.pattern, Scope: rt.scope, Public: rt.public != nil}
	}
	return out
}

// LimitBatch sets how much of a batch is read.
func (s *Server) LimitBatch(lines int, bytes int64) { s.batches = batchLimits{lines, bytes} }

// Window is the list of page numbers around a page.
var Window = window

// ReadBody reads a request as a handler does, with the mistakes it notes.
func ReadBody(s *Server, w http.ResponseWriter, r *http.Request) (map[string]any, error) {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err == nil {
		err = form.Err()
	}
	return in.values, err
}
