package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg"
)

const internalMessage = "Something went wrong on our side. The request id helps us find out what."

// statuses gives every code its HTTP status.
var statuses = map[fault.Code]int{
	fault.BadRequest:       http.StatusBadRequest,
	fault.Unauthenticated:  http.StatusUnauthorized,
	fault.Forbidden:        http.StatusForbidden,
	fault.NotFound:         http.StatusNotFound,
	fault.MethodNotAllowed: http.StatusMethodNotAllowed,
	fault.Gone:             http.StatusGone,
	fault.FingerprintTaken: http.StatusConflict,
	fault.PayloadTooLarge:  http.StatusRequestEntityTooLarge,
	fault.UnsupportedMedia: http.StatusUnsupportedMediaType,
	fault.ValidationFailed: http.StatusUnprocessableEntity,
	fault.InvalidFQL:       http.StatusUnprocessableEntity,
	fault.QueryTooBroad:    http.StatusUnprocessableEntity,
	fault.SelectionChanged: http.StatusConflict,
	fault.NotUndoable:      http.StatusConflict,
	fault.NotCancellable:   http.StatusConflict,
	fault.RateLimited:      http.StatusTooManyRequests,
	fault.Unavailable:      http.StatusServiceUnavailable,
	fault.Internal:         http.StatusInternalServerError,
}

// wireFault is the one body of every refusal.
type wireFault struct {
	Type       string              `json:"type"`
	Code       fault.Code          `json:"code"`
	Message    string              `json:"message"`
	Errors     map[string][]string `json:"errors,omitempty"`
	FeedbackID int64               `json:"feedback_id,omitempty"`
	RequestID  string              `json:"request_id"`
}

func forbidden(scope account.Scope) error {
	return fault.New(fault.Forbidden, "This token may not do that: it needs the scope %s and a role that allows it.", scope)
}

// refuse is the only place where an error becomes an answer. What is the caller's business is said; what is ours is
// logged, once, without anything that came from a request. A caller who has gone is told nothing.
func (s *Server) refuse(x *exchange, r *http.Request, err error) {
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		s.write(x, f)
		return
	}
	if errors.Is(err, context.Canceled) {
		x.status = 499 // for the log; the connection is gone
		return
	}
	if pg.Away(err) || errors.Is(err, context.DeadlineExceeded) {
		s.Log.WarnContext(r.Context(), "unavailable", "request_id", x.id, "route", x.route, "error", pg.Describe(err))
		s.write(x, fault.New(fault.Unavailable, "The service cannot do this right now. Try again in a moment."))
		return
	}
	s.Log.ErrorContext(r.Context(), "failed", "request_id", x.id, "route", x.route, "error", pg.Describe(err))
	s.write(x, fault.New(fault.Internal, internalMessage))
}

func (s *Server) write(x *exchange, f *fault.Fault) {
	if x.status != 0 {
		return // part of an answer is on its way already
	}
	switch f.Code {
	case fault.Unauthenticated:
		x.Header().Set("WWW-Authenticate", "Bearer")
	case fault.Unavailable:
		x.Header().Set("Retry-After", "1")
	case fault.RateLimited:
		if x.Header().Get("Retry-After") == "" { // of a batch that waited in vain
			x.Header().Set("Retry-After", strconv.Itoa(int(s.Timeout.Seconds())+1))
		}
	default:
	}
	status, ok := statuses[f.Code]
	if !ok {
		panic("no status for " + f.Code)
	}
	if x.page {
		if err := s.ShowRefusal(x, x.accept, status); err != nil {
			s.Log.Debug("write page", "request_id", x.id, "error", err)
		}
		return
	}
	err := writeJSON(x, status, wireFault{
		Type: "error", Code: f.Code, Message: f.Message, Errors: f.Fields, FeedbackID: f.FeedbackID, RequestID: x.id,
	})
	if err != nil {
		s.Log.Debug("write answer", "request_id", x.id, "error", err)
	}
}

// writeJSON sends a whole answer: it is encoded before its first byte leaves.
func writeJSON(w http.ResponseWriter, status int, body any) error {
	b, err := encode(body)
	if err != nil {
		return err
	}
	return writeBytes(w, status, b)
}

func writeBytes(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}

// encode leaves <, > and & as they are: nobody puts these answers into a page unescaped.
func encode(body any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(body)
	return b.Bytes(), err
}
