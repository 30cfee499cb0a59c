package httpapi

import (
	"net/http"
	"time"

	"earshot/internal/account"
	"earshot/internal/fault"
)

type wireToken struct {
	ID        int64           `json:"id"`
	Name      string          `json:"name"`
	Scopes    []account.Scope `json:"scopes"`
	UserID    *account.UserID `json:"user_id"`
	State     string          `json:"state"`
	CreatedAt stamp           `json:"created_at"`
	ExpiresAt *stamp          `json:"expires_at"`
	RevokedAt *stamp          `json:"revoked_at"`
}

// issuedToken is a token in the one answer that shows its secret.
type issuedToken struct {
	wireToken
	Token string `json:"token"`
}

func wireTokenOf(t account.Token) wireToken {
	return wireToken{
		ID: t.ID, Name: t.Name, Scopes: t.Scopes, UserID: t.UserID, State: t.State(time.Now()),
		CreatedAt: stamp(t.CreatedAt), ExpiresAt: optionalStamp(t.ExpiresAt), RevokedAt: optionalStamp(t.RevokedAt),
	}
}

func (s *Server) listTokens(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	query, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	at := readPage(query)
	if err := form.Err(); err != nil {
		return err
	}
	tokens, total, err := s.Accounts.TokenPage(r.Context(), p.View(), at.offset(), at.perPage)
	if err != nil {
		return err
	}
	return writePage(s, w, r, at, tokens, total, wireTokenOf)
}

func (s *Server) createToken(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	token, secret, err := s.Accounts.IssueTokenFor(r.Context(), p, newToken(in), &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, issuedToken{wireToken: wireTokenOf(token), Token: secret})
}

func (s *Server) retrieveToken(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "token")
	if err != nil {
		return err
	}
	token, err := s.Accounts.Token(r.Context(), p.View(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireTokenOf(token))
}

func (s *Server) revokeToken(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "token")
	if err != nil {
		return err
	}
	if err := s.Accounts.RevokeToken(r.Context(), p.View(), id); err != nil {
		return err
	}
	return done(w, "The token is revoked.")
}

func newToken(in input) account.NewToken {
	n := account.NewToken{Name: in.text("name", maxName), ExpiresAt: readTime(in, "expires_at")}
	for _, scope := range in.list("scopes") {
		n.Scopes = append(n.Scopes, account.Scope(scope))
	}
	// An empty list, from a variable nobody set, must not make a token that may do everything.
	if _, given := in.given("scopes"); given && len(n.Scopes) == 0 {
		in.wrong("scopes", "must name at least one scope")
	}
	if id := in.id("user_id"); id != 0 {
		n.UserID = new(account.UserID(id))
	}
	return n
}
