package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql"
	"earshot/internal/operation"
)

// samples is how many ids a dry run shows.
const samples = 10

// selection is what every call that changes all matches takes: which, and how to be careful.
type selection struct {
	query    fql.Query
	dryRun   bool
	expected *int64
}

// readSelection reads fql, dry_run and expected_count. The filter must be given and say something: an empty one would change everything.
func readSelection(in input) (selection, error) {
	var s selection
	if dry := in.boolean("dry_run"); dry != nil {
		s.dryRun = *dry
	}
	s.expected = in.cursor("expected_count")
	in.require("fql")
	var err error
	if s.query, err = readFilter(in); err == nil && s.query.Everything() {
		in.wrong("fql", "must not be empty: it would match everything")
		err = in.form.Err()
	}
	return s, err
}

// wireBulk is the answer to a bulk call. What does not apply to it is left out.
type wireBulk struct {
	Type          string  `json:"type,omitempty"`
	Message       string  `json:"message,omitempty"`
	FeedbackCount int64   `json:"feedback_count"`
	Async         bool    `json:"async,omitempty"`
	DryRun        bool    `json:"dry_run,omitempty"`
	SampleIDs     []int64 `json:"sample_ids,omitempty"`
	OperationID   int64   `json:"operation_id,omitempty"`
}

func (s *Server) bulkUpdateFeedback(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	in.require("status")
	status, _ := readStatus(in)
	chosen, err := readSelection(in)
	if err != nil {
		return err
	}
	if chosen.dryRun {
		return s.dryRun(w, r, p, chosen)
	}
	o, err := s.Operations.Start(r.Context(), p, feedback.Change{Verb: feedback.Move, Status: status}, chosen.query, chosen.expected)
	if err != nil {
		return err
	}
	out := wireBulk{FeedbackCount: o.Total, OperationID: o.ID}
	if o.State == operation.Running {
		out.Async = true
		return writeJSON(w, http.StatusAccepted, out)
	}
	out.Type, out.Message = "success", fmt.Sprintf("The status of %d feedback was set.", o.Total)
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) bulkAttachAttributes(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	return s.bulkAttributes(w, r, p, feedback.Attach)
}

func (s *Server) bulkSyncAttributes(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	return s.bulkAttributes(w, r, p, feedback.Sync)
}

func (s *Server) bulkDetachAttributes(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	return s.bulkAttributes(w, r, p, feedback.Detach)
}

// bulkAttributes answers when the change is done, as long as that takes no longer than a client can be expected to wait. It waits without its
// place: there are few for bulk calls, and waiting is no work.
func (s *Server) bulkAttributes(w http.ResponseWriter, r *http.Request, p account.Principal, verb feedback.Verb) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	change := readChange(in, verb)
	chosen, err := readSelection(in)
	if err != nil {
		return err
	}
	if chosen.dryRun {
		return s.dryRun(w, r, p, chosen)
	}
	o, err := s.Operations.Start(r.Context(), p, change, chosen.query, chosen.expected)
	if err != nil {
		return err
	}
	if o.State == operation.Running {
		w.(*exchange).leave()
		wait := s.BulkWait
		if deadline, ok := r.Context().Deadline(); ok {
			wait = min(wait, time.Until(deadline)-time.Second)
		}
		if o, err = s.Operations.Wait(r.Context(), p.View(), o.ID, wait); err != nil {
			return err
		}
	}
	out := wireBulk{FeedbackCount: o.Total, OperationID: o.ID}
	if o.State == operation.Running {
		out.Async = true
		return writeJSON(w, http.StatusAccepted, out)
	}
	return writeJSON(w, http.StatusOK, out)
}

// dryRun says what a bulk call would change.
func (s *Server) dryRun(w http.ResponseWriter, r *http.Request, p account.Principal, chosen selection) error {
	n, ids, err := s.preview(r, p, chosen)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireBulk{FeedbackCount: n, DryRun: true, SampleIDs: ids})
}

// preview counts what a call selects and samples it: the oldest, which deleting would begin with. An expectation is held to as in the real call.
func (s *Server) preview(r *http.Request, p account.Principal, chosen selection) (n int64, ids []int64, err error) {
	records, n, err := s.Feedback.List(r.Context(), p.View(), chosen.query, feedback.Page{Ascending: true, Size: samples})
	if err != nil {
		return 0, nil, err
	}
	if chosen.expected != nil && *chosen.expected != n {
		return 0, nil, feedback.SelectionChanged(*chosen.expected, n)
	}
	ids = make([]int64, len(records))
	for i, rec := range records {
		ids[i] = rec.ID
	}
	return n, ids, nil
}
