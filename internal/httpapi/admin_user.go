package httpapi

import (
	"net/http"
	"slices"

	"earshot/internal/account"
	"earshot/internal/fault"
)

type wireUser struct {
	ID        account.UserID `json:"id"`
	Email     string         `json:"email"`
	Name      string         `json:"name"`
	Role      account.Role   `json:"role"`
	TeamID    int64          `json:"team_id"`
	CreatedAt stamp          `json:"created_at"`
}

func wireUserOf(u account.User) wireUser {
	return wireUser{ID: u.ID, Email: u.Email, Name: u.Name, Role: u.Role, TeamID: u.TeamID, CreatedAt: stamp(u.CreatedAt)}
}

func (s *Server) listUsers(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	query, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	at := readPage(query)
	fields := query.filter("email", "role")
	filter := account.UserFilter{Email: fields.text("email", maxEmail), Role: account.Role(fields.text("role", maxName))}
	if filter.Role != "" && !slices.Contains(account.Roles(), filter.Role) {
		fields.wrong("role", "must be one of admin, editor, viewer, restricted_viewer")
	}
	if err := form.Err(); err != nil {
		return err
	}
	users, total, err := s.Accounts.Users(r.Context(), p.View(), filter, at.offset(), at.perPage)
	if err != nil {
		return err
	}
	return writePage(s, w, r, at, users, total, wireUserOf)
}

func (s *Server) createUser(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	user, err := s.Accounts.CreateUser(r.Context(), p.View(), readUser(in), &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, wireUserOf(user))
}

func (s *Server) retrieveUser(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "user")
	if err != nil {
		return err
	}
	user, err := s.Accounts.User(r.Context(), p.View(), account.UserID(id))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireUserOf(user))
}

func (s *Server) updateUser(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "user")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	user, err := s.Accounts.ChangeUser(r.Context(), p.View(), account.UserID(id), readUser(in), &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireUserOf(user))
}

func (s *Server) deleteUser(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "user")
	if err != nil {
		return err
	}
	if err := s.Accounts.DeleteUser(r.Context(), p.View(), account.UserID(id)); err != nil {
		return err
	}
	return done(w, "The user was deleted and their tokens revoked.")
}

func readUser(in input) account.User {
	return account.User{
		Email: in.text("email", maxEmail), Name: in.text("name", maxName), Role: account.Role(in.text("role", maxName)), TeamID: in.id("team_id"),
	}
}
