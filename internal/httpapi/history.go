package httpapi

import (
	"net/http"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
)

// wireEvent is one change of a feedback. Before and after are a status, the values of an attribute as it shows them or null for none, or owners.
type wireEvent struct {
	ID          int64      `json:"id"`
	CreatedAt   stamp      `json:"created_at"`
	Field       string     `json:"field"`
	Name        string     `json:"name,omitempty"` // of the attribute
	Before      any        `json:"before"`
	After       any        `json:"after"`
	TokenID     *int64     `json:"token_id"`
	User        *wireOwner `json:"user"`
	OperationID *int64     `json:"operation_id"`
}

func (s *Server) listHistory(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "feedback")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	size, after := min(in.count("per_page", defaultPerPage), maxPerPage), in.cursor("search_after")
	if err := s.mistakes(r, p, id, &form); err != nil {
		return err
	}
	events, total, err := s.Feedback.History(r.Context(), p.View(), id, after, size)
	if err != nil {
		return err
	}
	out := cursorEnvelope[wireEvent]{Data: make([]wireEvent, len(events)), Meta: cursorMeta{Total: total}}
	for i, e := range events {
		out.Data[i] = wireEventOf(e)
		out.Meta.NextSearchAfter = &e.ID
	}
	return writeJSON(w, http.StatusOK, out)
}

func wireEventOf(e feedback.Event) wireEvent {
	out := wireEvent{ID: e.ID, CreatedAt: stamp(e.At), TokenID: orNull(e.By.TokenID), OperationID: orNull(e.By.OperationID)}
	if e.User != nil {
		out.User = &wireOwners([]feedback.Owner{*e.User})[0]
	}
	switch {
	case e.Status != nil:
		out.Field, out.Before, out.After = "status", e.Status.Before.String(), e.Status.After.String()
	case e.Owners != nil:
		out.Field, out.Before, out.After = "owners", wireOwners(e.Owners.Before), wireOwners(e.Owners.After)
	case e.Attribute != nil:
		out.Field, out.Name = "attribute", e.Attribute.Name
		out.Before, out.After = valuesOrNull(e.Attribute.Before), valuesOrNull(e.Attribute.After)
	}
	return out
}

func valuesOrNull(values []feedback.Value) any {
	if len(values) == 0 {
		return nil
	}
	return wireValues(values)
}

// orNull is null for 0, which is the id of nothing.
func orNull(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}
