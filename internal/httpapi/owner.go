package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
)

const (
	maxOwners     = 100 // named in one request
	userIsUnknown = "is not the address of a user of this organization"
)

func (s *Server) attachOwners(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "feedback")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	emails := readEmails(in)
	for {
		known, err := s.Accounts.UsersByEmail(r.Context(), p.View(), emails)
		if err != nil {
			return err
		}
		var users []account.UserID
		for i, email := range emails {
			user, ok := known[email]
			if field := fmt.Sprintf("emails.%d", i); !ok && !form.Wrong(field) {
				form.Add(field, userIsUnknown)
			}
			users = append(users, user)
		}
		if err := s.mistakes(r, p, id, &form); err != nil {
			return err
		}
		err = s.Feedback.Own(r.Context(), p.View(), feedback.Caller(p), id, users)
		if errors.Is(err, feedback.ErrUserGone) {
			continue // who was deleted a moment ago is unknown by now
		}
		if err != nil {
			return err
		}
		return done(w, "The users are owners of the feedback.")
	}
}

func (s *Server) detachOwner(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "feedback")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	in.require("email")
	email := strings.TrimSpace(in.text("email", maxEmail))
	known, err := s.Accounts.UsersByEmail(r.Context(), p.View(), []string{email})
	if err != nil {
		return err
	}
	user, ok := known[email]
	if !ok && !form.Wrong("email") {
		form.Add("email", userIsUnknown)
	}
	if err := s.mistakes(r, p, id, &form); err != nil {
		return err
	}
	if err := s.Feedback.Disown(r.Context(), p.View(), feedback.Caller(p), id, user); err != nil {
		return err
	}
	return done(w, "The user is not an owner of the feedback.")
}

// readEmails reads a list of addresses, or one that stands for a list.
func readEmails(in input) []string {
	in.require("emails")
	v, ok := in.given("emails")
	if !ok {
		return nil
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	if len(list) == 0 || len(list) > maxOwners {
		in.wrong("emails", "must have 1 to %d elements", maxOwners)
		return nil
	}
	emails := make([]string, len(list))
	for i, member := range list {
		field := fmt.Sprintf("emails.%d", i)
		element := input{values: map[string]any{field: member}, form: in.form}
		element.require(field)
		emails[i] = strings.TrimSpace(element.text(field, maxEmail))
	}
	return emails
}
