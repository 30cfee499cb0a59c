package httpapi

import (
	"fmt"
	"net/http"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
)

type managedQuestion struct {
	ID          int64           `json:"id"`
	CarrierID   int64           `json:"carrier_id"`
	Name        string          `json:"name"`
	Order       int             `json:"order"`
	Type        carrier.Type    `json:"type"`
	Required    int             `json:"required"`
	Max         *int16          `json:"max"`
	ArchivedAt  *stamp          `json:"archived_at"`
	Options     []managedOption `json:"options"`
	OperationID int64           `json:"operation_id,omitempty"` // what the change set going
}

type managedOption struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	ArchivedAt *stamp `json:"archived_at"`
}

func managedQuestionOf(q carrier.Question) managedQuestion {
	out := managedQuestion{
		ID: q.ID, CarrierID: q.CarrierID, Name: q.Name, Order: q.Position, Type: q.Type, Required: zeroOrOne(q.Required), Max: q.Max,
		ArchivedAt: optionalStamp(q.ArchivedAt), Options: make([]managedOption, len(q.Options)),
	}
	for i, o := range q.Options {
		out.Options[i] = managedOption{ID: o.ID, Name: o.Name, ArchivedAt: optionalStamp(o.ArchivedAt)}
	}
	return out
}

func (s *Server) listQuestions(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "carrier")
	if err != nil {
		return err
	}
	var form fault.Form
	query, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	at := readPage(query)
	if err := form.Err(); err != nil {
		return err
	}
	c, err := s.Carriers.ByID(r.Context(), p.View(), id)
	if err != nil {
		return err
	}
	// They are few, and read together with their carrier.
	total := len(c.Questions)
	page := c.Questions[min(at.offset(), total):min(at.offset()+at.perPage, total)]
	return writePage(s, w, r, at, page, total, managedQuestionOf)
}

func (s *Server) createQuestion(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "carrier")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	q, err := s.Carriers.AddQuestion(r.Context(), p.View(), id, newQuestion(in), &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, managedQuestionOf(q))
}

func (s *Server) retrieveQuestion(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "question")
	if err != nil {
		return err
	}
	q, err := s.Carriers.Question(r.Context(), p.View(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, managedQuestionOf(q))
}

func (s *Server) updateQuestion(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "question")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	q, operation, err := s.Operations.EditQuestion(r.Context(), p.View(), feedback.Caller(p), id, carrier.QuestionChange{
		Name: in.text("name", maxQuestionName), Type: carrier.Type(in.text("type", maxName)),
		Required: in.boolean("required"), Archived: in.boolean("archived"),
		Max: readMax(in), Order: in.count("order", 0), Options: in.options("options"),
	}, &form)
	if err != nil {
		return err
	}
	out := managedQuestionOf(q)
	out.OperationID = operation
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) deleteQuestion(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "question")
	if err != nil {
		return err
	}
	if err := s.Carriers.DeleteQuestion(r.Context(), p.View(), id); err != nil {
		return err
	}
	return done(w, "The question was deleted.")
}

func newQuestion(in input) carrier.NewQuestion {
	n := carrier.NewQuestion{
		ID: in.id("id"), Name: in.text("name", maxQuestionName), Type: carrier.Type(in.text("type", maxName)),
		Max: readMax(in), Order: in.count("order", 0),
	}
	if required := in.boolean("required"); required != nil {
		n.Required = *required
	}
	for i, o := range in.options("options") {
		if o.ID != 0 {
			in.wrong(fmt.Sprintf("options.%d.id", i), "is for options that exist already")
		}
		n.Options = append(n.Options, o.Name)
	}
	return n
}

// readMax reads the top of a scale. One beyond any is as good as the largest that is refused.
func readMax(in input) int16 {
	return int16(min(in.count("max", 0), 1_000))
}
