package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql"
)

const (
	defaultDeletion = 1_000
	maxDeletion     = 10_000
)

// cursorEnvelope is a list that continues past the id of its last record.
type cursorEnvelope[T any] struct {
	Data []T        `json:"data"`
	Meta cursorMeta `json:"meta"`
}

type cursorMeta struct {
	Total           int64  `json:"total"`
	NextSearchAfter *int64 `json:"next_search_after"` // null on an empty page: a number would make a walker go round in circles
}

func (s *Server) listFeedback(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	page := feedback.Page{Size: min(in.count("per_page", defaultPerPage), maxPerPage)}
	switch order := strings.ToLower(in.text("order", maxName)); order {
	case "", "desc":
	case "asc":
		page.Ascending = true
	default:
		in.wrong("order", "must be desc or asc")
	}
	page.After = in.cursor("search_after")
	inc := readInclude(in)
	page.Parts = inc.parts()
	q, err := readFilter(in)
	if err != nil {
		return err
	}
	records, total, err := s.Feedback.List(r.Context(), p.View(), q, page)
	if err != nil {
		return err
	}
	out := cursorEnvelope[feedbackSummary]{Data: make([]feedbackSummary, len(records)), Meta: cursorMeta{Total: total}}
	for i, rec := range records {
		out.Data[i] = wireSummary(rec, inc)
		out.Meta.NextSearchAfter = &rec.ID
	}
	return writeJSON(w, http.StatusOK, out)
}

type wireDeletion struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Meta    struct {
		TotalMatching int64 `json:"total_matching"`
		Deleted       int64 `json:"deleted"`
		Remaining     int64 `json:"remaining"`
	} `json:"meta"`
}

func (s *Server) deleteFeedback(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	limit := min(in.count("limit", defaultDeletion), maxDeletion)
	q, err := readSelection(in)
	if err != nil {
		return err
	}
	d, err := s.Feedback.Delete(r.Context(), p.View(), q, limit)
	if err != nil {
		return err
	}
	out := wireDeletion{Type: "success", Message: "The oldest matching feedback was deleted; meta says how much."}
	out.Meta.TotalMatching, out.Meta.Deleted, out.Meta.Remaining = d.Matching, d.Deleted, d.Matching-d.Deleted
	return writeJSON(w, http.StatusOK, out)
}

type wireExplanation struct {
	FQL           string  `json:"fql"`
	Sentence      string  `json:"sentence"`
	Count         int64   `json:"count"`
	TotalFrom     string  `json:"total_from"`
	EstimatedCost float64 `json:"estimated_cost"`
	EstimatedRows float64 `json:"estimated_rows"`
}

func (s *Server) explainFQL(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	q, err := readFilter(in)
	if err != nil {
		return err
	}
	e, err := s.Feedback.Explain(r.Context(), p.View(), q)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireExplanation{
		FQL: q.String(), Sentence: q.Sentence(), Count: e.Count, TotalFrom: e.TotalFrom,
		EstimatedCost: e.EstimatedCost, EstimatedRows: e.EstimatedRows,
	})
}

// readFilter reads fql, a text or in JSON the array itself, and asks for the mistakes of the whole request: a wrong filter alone has a code
// of its own, among other mistakes it is one of them.
func readFilter(in input) (fql.Query, error) {
	q, wrong := parseFilter(in)
	if wrong != nil {
		if in.form.Err() == nil {
			f := fault.New(fault.InvalidFQL, "%s.", wrong)
			f.Fields = map[string][]string{"fql": {wrong.Error()}}
			return q, f
		}
		in.wrong("fql", "%s", wrong)
	}
	return q, in.form.Err()
}

// readSelection reads the fql of a call that changes every match: it must be given and say something.
func readSelection(in input) (fql.Query, error) {
	in.require("fql")
	q, err := readFilter(in)
	if err == nil && q.Everything() {
		in.wrong("fql", "must not be empty: it would match everything")
		err = in.form.Err()
	}
	return q, err
}

func parseFilter(in input) (fql.Query, error) {
	v, given := in.given("fql")
	if !given {
		return fql.Query{}, nil
	}
	text, isText := v.(string)
	if !isText {
		b, err := encode(v) // as it was written: escapes would count against its length
		if err != nil {
			return fql.Query{}, errors.New("the filter cannot be read")
		}
		text = string(b)
	}
	return feedback.Filters.Parse(text)
}
