package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"time"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/optout"
)

const (
	maxTargetFilter = 1_000   // a target and as many wildcards as anybody needs
	targetsBody     = 4 << 20 // 10,000 targets of 320 letters
)

type wireOptOut struct {
	Target    string `json:"target"`
	CreatedAt stamp  `json:"created_at"`
}

func wireOptOutOf(o optout.OptOut) wireOptOut {
	return wireOptOut{Target: o.Target, CreatedAt: stamp(o.CreatedAt)}
}

func (s *Server) listOptOuts(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	query, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	at := readPage(query)
	q := optout.Query{Target: query.filter("target").text("target", maxTargetFilter), Offset: at.offset(), Limit: at.perPage}
	switch query.text("sort", maxName) {
	case "", "-created_at":
	case "created_at":
		q.OldestFirst = true
	default:
		query.wrong("sort", "must be created_at or -created_at")
	}
	if err := form.Err(); err != nil {
		return err
	}
	found, total, err := s.OptOuts.List(r.Context(), p.View(), q)
	if err != nil {
		return err
	}
	return writePage(s, w, r, at, found, total, wireOptOutOf)
}

func (s *Server) addOptOut(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	added, isNew, err := s.OptOuts.Add(r.Context(), p.View(), in.target(), &form)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if isNew {
		status = http.StatusCreated
	}
	return writeJSON(w, status, wireOptOutOf(added))
}

func (s *Server) removeOptOut(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	if err := s.OptOuts.Remove(r.Context(), p.View(), in.target(), &form); err != nil {
		return err
	}
	return done(w, "The target was taken off the list.")
}

type wireStanding struct {
	Target       string `json:"target"`
	Unsubscribed bool   `json:"unsubscribed"`
	CreatedAt    *stamp `json:"created_at"`
}

type wireCheck struct {
	Data []wireStanding `json:"data"`
	Meta struct {
		Checked      int `json:"checked"`
		Unsubscribed int `json:"unsubscribed"`
	} `json:"meta"`
}

func (s *Server) checkOptOuts(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	targets := in.texts("targets")
	since, err := s.OptOuts.Check(r.Context(), p.View(), targets, &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireCheckOf(targets, since))
}

func wireCheckOf(targets []string, since []*time.Time) wireCheck {
	out := wireCheck{Data: make([]wireStanding, len(targets))}
	out.Meta.Checked = len(targets)
	for i, target := range targets {
		out.Data[i] = wireStanding{Target: target, Unsubscribed: since[i] != nil, CreatedAt: optionalStamp(since[i])}
		if since[i] != nil {
			out.Meta.Unsubscribed++
		}
	}
	return out
}

type wireAddition struct {
	Added   int `json:"added"`
	Already int `json:"already"`
}

func (s *Server) addOptOuts(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	added, already, err := s.OptOuts.AddAll(r.Context(), p.View(), in.texts("targets"), &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireAddition{Added: added, Already: already})
}

// wireUnsubscribeLink is a link and the header fields of a mail that has a button for it (RFC 8058).
type wireUnsubscribeLink struct {
	Target  string            `json:"target"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

type wireLinks struct {
	Data []wireUnsubscribeLink `json:"data"`
}

func (s *Server) linkOptOuts(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	if _, several := in.given("targets"); !several {
		target := in.target()
		token, err := s.OptOuts.Token(r.Context(), p.View(), target, &form)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, s.wireLinkOf(target, token))
	}
	if _, both := in.given("target"); both {
		in.wrong("target", "cannot be given together with targets")
	}
	targets := in.texts("targets")
	tokens, err := s.OptOuts.Tokens(r.Context(), p.View(), targets, &form)
	if err != nil {
		return err
	}
	out := wireLinks{Data: make([]wireUnsubscribeLink, len(targets))}
	for i, target := range targets {
		out.Data[i] = s.wireLinkOf(target, tokens[i])
	}
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) wireLinkOf(target, token string) wireUnsubscribeLink {
	address := s.BaseURL + unsubscribePath + token
	return wireUnsubscribeLink{Target: target, URL: address, Headers: map[string]string{
		"List-Unsubscribe": "<" + address + ">", "List-Unsubscribe-Post": unsubscribeField + "=" + oneClick,
	}}
}

// target reads the target of a request. How long it may be is said by the list, which takes the spaces around it away first.
func (in input) target() string { return in.text("target", math.MaxInt) }

// texts reads a list of texts as they are; one text is a list of one.
func (in input) texts(name string) []string {
	v, ok := in.given(name)
	if !ok {
		return nil
	}
	members, isList := v.([]any)
	if !isList {
		members = []any{v}
	}
	texts := make([]string, len(members))
	for i, member := range members {
		if texts[i], ok = scalar(member); !ok && member != nil {
			in.wrong(fmt.Sprintf("%s.%d", name, i), "must be a text")
		}
	}
	return texts
}
