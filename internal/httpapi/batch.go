package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg"
)

// unreadResults is how many chunks of results wait for a client that reads only after it has sent: it may send some ten thousand lines.
const unreadResults = 8

// wireResult is what became of one line of a batch, or why there are no more.
type wireResult struct {
	Line      int                 `json:"line"`
	Status    string              `json:"status"`
	ID        int64               `json:"id,omitempty"`
	Code      fault.Code          `json:"code,omitempty"`
	Message   string              `json:"message,omitempty"`
	Errors    map[string][]string `json:"errors,omitempty"`
	RequestID string              `json:"request_id,omitempty"`
}

// createBatch creates a feedback for each line of the body while it comes in, and answers with a line for each. What is read, written and
// answered goes on side by side, a chunk of lines at a time, so that memory does not grow with the body. What goes wrong before the first
// result is refused as everywhere; what goes wrong after it is the last line.
func (s *Server) createBatch(w http.ResponseWriter, r *http.Request, _ account.Principal) error {
	x, rc := w.(*exchange), http.NewResponseController(w)
	_ = rc.EnableFullDuplex()                 // HTTP/2 has it anyway
	ctx := context.WithoutCancel(r.Context()) // it may take any time; what has to be quick is each step
	in, err := s.readBatch(r, func() { _ = rc.SetReadDeadline(time.Now().Add(s.Timeout)) })
	if err != nil {
		return err
	}
	out := newResults(x, func() { _ = rc.SetWriteDeadline(time.Now().Add(s.Timeout)) })
	line := 1
	for {
		var c *chunk
		if c, err = in.take(ctx, s.Ready); c == nil {
			break
		}
		var lines []byte
		if lines, err = s.createChunk(ctx, x, r, c); err != nil || !out.send(lines) {
			break
		}
		line = c.next
	}
	in.stop(func() { _ = rc.SetReadDeadline(time.Now()) })
	if err == nil {
		err = in.err
	}
	if err != nil && out.begun {
		f := s.batchFault(x, r, err)
		last, _ := encode(wireResult{Line: line, Status: "failed", Code: f.Code, Message: f.Message, RequestID: x.id})
		out.send(last)
		err = nil
	}
	if err == nil && !out.begun {
		out.send(nil) // a batch of nothing
	}
	out.close()
	return err
}

// createChunk writes the lines of a chunk and returns their results. It holds a place only while it writes. A stream can take hours: every
// chunk asks anew whether the token is good and the service is there, waits for its share of the rate, and for a place.
func (s *Server) createChunk(ctx context.Context, x *exchange, r *http.Request, c *chunk) (results []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	// A panic would end the request while others still read and send for it.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while writing: %T", p)
		}
	}()
	p, err := s.Accounts.Authenticate(ctx, bearer(r))
	if err != nil {
		return nil, err
	}
	if !p.May(account.FeedbackWrite) {
		return nil, forbidden(account.FeedbackWrite)
	}
	if err := s.Ready(ctx); err != nil {
		return nil, err
	}
	if err := s.rates.wait(ctx, p.TokenID, len(c.lines)); err != nil {
		return nil, err
	}
	leave, err := s.gates.wait(ctx, x.class, x.org)
	if err != nil {
		return nil, err
	}
	defer leave()
	all, forms := make([]feedback.New, 0, len(c.lines)), make([]*fault.Form, 0, len(c.lines))
	for _, l := range c.lines {
		if l.refusal == nil {
			all, forms = append(all, l.feedback), append(forms, l.form)
		}
	}
	outcomes, err := s.Feedback.CreateMany(ctx, p.View(), all, forms)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, l := range c.lines {
		o := feedback.Outcome{Refusal: l.refusal}
		if l.refusal == nil {
			o, outcomes = outcomes[0], outcomes[1:]
		}
		if err := e.Encode(resultOf(l.number, o)); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func resultOf(line int, o feedback.Outcome) wireResult {
	switch f := o.Refusal; {
	case f == nil:
		return wireResult{Line: line, Status: "created", ID: o.Record.ID}
	case f.Code == fault.FingerprintTaken:
		return wireResult{Line: line, Status: "duplicate", ID: f.FeedbackID}
	default:
		return wireResult{Line: line, Status: "rejected", Code: f.Code, Message: f.Message, Errors: f.Fields}
	}
}

// batchFault is what refuse makes of an error, for a last line: the status is sent already.
func (s *Server) batchFault(x *exchange, r *http.Request, err error) *fault.Fault {
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		return f
	}
	if pg.Away(err) || errors.Is(err, context.DeadlineExceeded) {
		s.Log.WarnContext(r.Context(), "unavailable", "request_id", x.id, "route", x.route, "error", pg.Describe(err))
		return fault.New(fault.Unavailable, "The service cannot do this right now. Send this line and those after it again in a moment.")
	}
	s.Log.ErrorContext(r.Context(), "failed", "request_id", x.id, "route", x.route, "error", pg.Describe(err))
	return fault.New(fault.Internal, internalMessage)
}

// results sends what there is to answer while the next lines are written.
type results struct {
	begun  bool
	chunks chan []byte
	gone   chan struct{} // closed when the client takes no more
	sender sync.WaitGroup
}

func newResults(x *exchange, extend func()) *results {
	o := &results{chunks: make(chan []byte, unreadResults), gone: make(chan struct{})}
	o.sender.Go(func() {
		rc := http.NewResponseController(x)
		for lines := range o.chunks {
			extend()
			if _, err := x.Write(lines); err != nil || rc.Flush() != nil {
				close(o.gone)
				return
			}
		}
	})
	x.Header().Set("Content-Type", ndjson)
	return o
}

// send hands on some lines, and says whether there is still somebody to read them.
func (o *results) send(lines []byte) bool {
	o.begun = true
	select {
	case o.chunks <- lines:
		return true
	case <-o.gone:
		return false
	}
}

// close returns when everything is sent, or nobody takes it.
func (o *results) close() {
	close(o.chunks)
	o.sender.Wait()
}

// wait takes a place as enter does, but waits for one: a stream that is slowed down loses nothing.
func (g *gates) wait(ctx context.Context, c Class, org account.OrgID) (leave func(), err error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if leave, err = g.enter(c, org); err == nil {
			return leave, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// wait spends n requests of a caller, when it may have them.
func (r *rates[K]) wait(ctx context.Context, caller K, n int) error {
	if r == nil {
		return nil
	}
	for b := r.bucket(caller, time.Now()); n > 0; n -= r.burst {
		if err := b.WaitN(ctx, min(n, r.burst)); err != nil {
			return fault.New(fault.RateLimited, "%s", r.refusal)
		}
	}
	return nil
}
