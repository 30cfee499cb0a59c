package httpapi

import (
	"net/http"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
)

type wireOrganization struct {
	ID             account.OrgID `json:"id"`
	Name           string        `json:"name"`
	TimeZone       string        `json:"time_zone"`
	StrictCarriers bool          `json:"strict_carriers"`
	MainTeamID     int64         `json:"main_team_id"`
	CreatedAt      stamp         `json:"created_at"`
	OperationID    int64         `json:"operation_id,omitempty"` // what the change set going
}

func wireOrganizationOf(o account.Organization) wireOrganization {
	return wireOrganization{
		ID: o.ID, Name: o.Name, TimeZone: o.TimeZone, StrictCarriers: o.StrictCarriers, MainTeamID: o.MainTeamID, CreatedAt: stamp(o.CreatedAt),
	}
}

func (s *Server) retrieveOrganization(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	org, err := s.Accounts.Organization(r.Context(), p.View())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireOrganizationOf(org))
}

func (s *Server) updateOrganization(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	org, operation, err := s.Operations.ChangeOrganization(r.Context(), p.View(), feedback.Caller(p), account.OrganizationChange{
		Name: in.text("name", maxName), TimeZone: in.text("time_zone", maxName), StrictCarriers: in.boolean("strict_carriers"),
	}, &form)
	if err != nil {
		return err
	}
	out := wireOrganizationOf(org)
	out.OperationID = operation
	return writeJSON(w, http.StatusOK, out)
}

type wireTeam struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	Main      bool   `json:"main"`
	CreatedAt stamp  `json:"created_at"`
}

func wireTeamOf(t account.Team) wireTeam {
	return wireTeam{ID: t.ID, Name: t.Name, Main: t.Main, CreatedAt: stamp(t.CreatedAt)}
}

func (s *Server) listTeams(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	query, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	at := readPage(query)
	if err := form.Err(); err != nil {
		return err
	}
	teams, total, err := s.Accounts.Teams(r.Context(), p.View(), at.offset(), at.perPage)
	if err != nil {
		return err
	}
	return writePage(s, w, r, at, teams, total, wireTeamOf)
}

func (s *Server) createTeam(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	team, err := s.Accounts.CreateTeam(r.Context(), p.View(), in.text("name", maxName), &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, wireTeamOf(team))
}

func (s *Server) retrieveTeam(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "team")
	if err != nil {
		return err
	}
	team, err := s.Accounts.Team(r.Context(), p.View(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireTeamOf(team))
}

func (s *Server) updateTeam(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "team")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	team, err := s.Accounts.RenameTeam(r.Context(), p.View(), id, in.text("name", maxName), &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireTeamOf(team))
}

func (s *Server) deleteTeam(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "team")
	if err != nil {
		return err
	}
	if err := s.Accounts.DeleteTeam(r.Context(), p.View(), id); err != nil {
		return err
	}
	return done(w, "The team was deleted.")
}
