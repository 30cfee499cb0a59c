package httpapi

import (
	"net/http"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
)

// managedCarrier is a carrier for those who edit it: questions know their carrier, and archived options are shown.
type managedCarrier struct {
	ID         int64             `json:"id"`
	Name       string            `json:"name"`
	TeamID     int64             `json:"team_id"`
	ArchivedAt *stamp            `json:"archived_at"`
	CreatedAt  stamp             `json:"created_at"`
	Questions  []managedQuestion `json:"questions"`
}

func managedCarrierOf(c carrier.Carrier) managedCarrier {
	out := managedCarrier{
		ID: c.ID, Name: c.Name, TeamID: c.TeamID, CreatedAt: stamp(c.CreatedAt), ArchivedAt: optionalStamp(c.ArchivedAt),
		Questions: make([]managedQuestion, len(c.Questions)),
	}
	for i, q := range c.Questions {
		out.Questions[i] = managedQuestionOf(q)
	}
	return out
}

func (s *Server) listManagedCarriers(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	query, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	at := readPage(query)
	if err := form.Err(); err != nil {
		return err
	}
	carriers, total, err := s.Carriers.List(r.Context(), p.View(), at.offset(), at.perPage)
	if err != nil {
		return err
	}
	return writePage(s, w, r, at, carriers, total, managedCarrierOf)
}

func (s *Server) createCarrier(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	n := carrier.New{ID: in.id("id"), TeamID: in.id("team_id"), Name: in.text("name", maxName)}
	for _, question := range in.objects("questions", maxQuestions) {
		n.Questions = append(n.Questions, newQuestion(question))
	}
	made, err := s.Carriers.CreateWith(r.Context(), p.View(), n, &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, managedCarrierOf(made))
}

func (s *Server) retrieveCarrier(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "carrier")
	if err != nil {
		return err
	}
	c, err := s.Carriers.ByID(r.Context(), p.View(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, managedCarrierOf(c))
}

func (s *Server) updateCarrier(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "carrier")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	c, err := s.Carriers.Edit(r.Context(), p.View(), id, carrier.Change{
		Name: in.text("name", maxName), TeamID: in.id("team_id"), Archived: in.boolean("archived"),
	}, &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, managedCarrierOf(c))
}

func (s *Server) deleteCarrier(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "carrier")
	if err != nil {
		return err
	}
	if err := s.Carriers.Delete(r.Context(), p.View(), id); err != nil {
		return err
	}
	return done(w, "The carrier and its questions were deleted.")
}
