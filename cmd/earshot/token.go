package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"earshot/internal/account"
)

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Issue a token. Its secret is shown once."`
	List   tokenListCmd   `cmd:"" help:"List an organization's tokens, without their secrets."`
	Revoke tokenRevokeCmd `cmd:"" help:"Make a token useless, within a second everywhere."`
}

type tokenCreateCmd struct {
	organization
	output
	Name    string          `default:"Command line" help:"What the token is for (default ${default})."`
	Scope   []account.Scope `placeholder:"SCOPE" help:"What it may do: feedback:read, feedback:write, reports:read, reports:write, push:read, push:write, admin. Repeatable; all of them when left out."`
	User    *string         `placeholder:"EMAIL" help:"User it belongs to, whose role narrows it."`
	Expires *time.Duration  `placeholder:"DURATION" help:"How long it is valid, such as 720h; for ever when left out."`
}

// Run issues the token.
func (c *tokenCreateCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		// A flag that is given and empty, from a variable nobody set, must not make a token that may do everything.
		if c.Scope != nil && len(c.Scope) == 0 {
			return errors.New("--scope is given and names no scope")
		}
		n := account.NewToken{Name: c.Name, Scopes: c.Scope}
		if c.Expires != nil {
			n.ExpiresAt = new(time.Now().Add(*c.Expires))
		}
		if c.User != nil {
			user, err := s.accounts.UserByEmail(ctx, v, *c.User)
			if err != nil {
				return err
			}
			n.UserID = &user.ID
		}
		token, secret, err := s.accounts.IssueToken(ctx, v, n)
		if err != nil {
			return err
		}
		if c.JSON {
			shown := tokenRowOf(token)
			shown.Token = secret
			return printJSON(std.out, shown)
		}
		_, err = fmt.Fprintf(std.out, "%s\n", secret)
		return err
	})
}

type tokenListCmd struct {
	organization
	output
}

// Run lists the tokens.
func (c *tokenListCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		tokens, err := s.accounts.Tokens(ctx, v)
		if err != nil {
			return err
		}
		return printAll(std.out, c.JSON, tokens, tokenRowOf)
	})
}

type tokenRevokeCmd struct {
	organization
	ID int64 `arg:"" help:"Id of the token, as listed."`
}

// Run revokes the token.
func (c *tokenRevokeCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		if err := s.accounts.RevokeToken(ctx, v, c.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.out, "revoked token %d\n", c.ID)
		return err
	})
}

type tokenRow struct {
	ID        int64           `json:"id"`
	Name      string          `json:"name"`
	Scopes    []account.Scope `json:"scopes"`
	UserID    *account.UserID `json:"user_id"`
	State     string          `json:"state"`
	CreatedAt stamp           `json:"created_at"`
	ExpiresAt *stamp          `json:"expires_at"`
	RevokedAt *stamp          `json:"revoked_at"`
	Token     string          `json:"token,omitempty"`
}

func tokenRowOf(t account.Token) tokenRow {
	return tokenRow{
		ID: t.ID, Name: t.Name, Scopes: t.Scopes, UserID: t.UserID, State: t.State(time.Now()),
		CreatedAt: stamp(t.CreatedAt), ExpiresAt: optionalStamp(t.ExpiresAt), RevokedAt: optionalStamp(t.RevokedAt),
	}
}

func (tokenRow) titles() []string {
	return []string{"ID", "STATE", "NAME", "CREATED", "EXPIRES", "SCOPES"}
}

func (r tokenRow) cells() []any {
	expires := "never"
	if r.ExpiresAt != nil {
		expires = r.ExpiresAt.String()
	}
	scopes := make([]string, len(r.Scopes))
	for i, s := range r.Scopes {
		scopes[i] = string(s)
	}
	return []any{r.ID, r.State, r.Name, r.CreatedAt, expires, strings.Join(scopes, " ")}
}
