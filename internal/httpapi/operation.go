package httpapi

import (
	"math"
	"net/http"
	"strings"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/operation"
)

// maxSkipped is how many of the feedback that an undo left alone are listed.
const maxSkipped = 1_000

type wireOperation struct {
	ID            int64                  `json:"id"`
	Kind          operation.Kind         `json:"kind"`
	FQL           string                 `json:"fql"`
	Sentence      string                 `json:"sentence"`
	Status        *string                `json:"status,omitempty"`
	Attributes    []wireChangedAttribute `json:"attributes,omitempty"`
	State         operation.State        `json:"state"`
	Error         *string                `json:"error"`
	Total         int64                  `json:"total"`
	Done          int64                  `json:"done"`
	Changed       int64                  `json:"changed"`
	Skipped       int64                  `json:"skipped"`
	Rate          float64                `json:"rate"`
	ETA           *stamp                 `json:"eta"`
	TokenID       *int64                 `json:"token_id"`
	UserID        *account.UserID        `json:"user_id"`
	UserEmail     *string                `json:"user_email"`
	Undoes        *int64                 `json:"undoes"`
	UndoneBy      *int64                 `json:"undone_by"`
	UndoableUntil *stamp                 `json:"undoable_until"`
	CreatedAt     stamp                  `json:"created_at"`
	StartedAt     *stamp                 `json:"started_at"`
	FinishedAt    *stamp                 `json:"finished_at"`
	SkippedIDs    []int64                `json:"skipped_ids,omitempty"`
}

// wireChangedAttribute is an attribute as it was sent: without a label, and without a value where none was given.
type wireChangedAttribute struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

func newOperation(o operation.Operation) (wireOperation, error) {
	q, err := feedback.Filters.Parse(o.FQL)
	if err != nil {
		return wireOperation{}, err
	}
	out := wireOperation{
		ID: o.ID, Kind: o.Kind, FQL: o.FQL, Sentence: q.Sentence(), State: o.State,
		Total: o.Total, Done: o.Done, Changed: o.Changed, Skipped: o.Skipped,
		Rate: math.Round(o.Rate()*10) / 10, ETA: optionalStamp(o.ETA()),
		Error: optional(o.Error), TokenID: optional(o.By.TokenID), UserID: optional(o.By.UserID), UserEmail: optional(o.User),
		Undoes: optional(o.Undoes), UndoneBy: optional(o.UndoneBy), UndoableUntil: optionalStamp(o.UndoUntil),
		CreatedAt: stamp(o.CreatedAt), StartedAt: optionalStamp(o.StartedAt), FinishedAt: optionalStamp(o.FinishedAt),
	}
	switch o.Kind {
	case operation.Status:
		out.Status = optional(o.Change.Status.String())
	case operation.Attach, operation.Sync, operation.Detach:
		for _, a := range o.Change.Attributes {
			out.Attributes = append(out.Attributes, wireChangedAttribute{Name: a.Name, Value: wireValues(a.Values)})
		}
	case operation.Undo, operation.Rescore, operation.Rezone, operation.Reanalyse:
	}
	return out, nil
}

// optional is nil for what is not there.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func (s *Server) listOperations(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	size := min(in.count("per_page", defaultPerPage), maxPerPage)
	var f operation.Filter
	if after := in.cursor("search_after"); after != nil {
		f.After = max(*after, 1) // nothing is older than the first
	}
	f.State = operation.State(strings.ToLower(in.text("state", maxName)))
	if f.State != "" && !f.State.Known() {
		in.wrong("state", "must be running, done, cancelled or failed")
	}
	if err := form.Err(); err != nil {
		return err
	}
	page, total, err := s.Operations.List(r.Context(), p.View(), f, size)
	if err != nil {
		return err
	}
	out := cursorEnvelope[wireOperation]{Data: make([]wireOperation, len(page)), Meta: cursorMeta{Total: total}}
	for i, o := range page {
		if out.Data[i], err = newOperation(o); err != nil {
			return err
		}
		out.Meta.NextSearchAfter = &o.ID
	}
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) retrieveOperation(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "operation")
	if err != nil {
		return err
	}
	o, err := s.Operations.ByID(r.Context(), p.View(), id)
	if err != nil {
		return err
	}
	out, err := newOperation(o)
	if err != nil {
		return err
	}
	if o.Skipped > 0 {
		if out.SkippedIDs, err = s.Operations.SkippedIDs(r.Context(), p.View(), id, maxSkipped); err != nil {
			return err
		}
	}
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) cancelOperation(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "operation")
	if err != nil {
		return err
	}
	o, err := s.Operations.Cancel(r.Context(), p.View(), id)
	if err != nil {
		return err
	}
	out, err := newOperation(o)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, out)
}

// undoOperation answers with the operation that takes the other one back.
func (s *Server) undoOperation(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "operation")
	if err != nil {
		return err
	}
	o, err := s.Operations.Undo(r.Context(), p, id)
	if err != nil {
		return err
	}
	out, err := newOperation(o)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if o.State == operation.Running {
		status = http.StatusAccepted
	}
	return writeJSON(w, status, out)
}
