package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"earshot/internal/account"
	"earshot/internal/pg"
)

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Issue a token. Its secret is shown once."`
	List   tokenListCmd   `cmd:"" help:"List an organization's tokens, without their secrets."`
	Revoke tokenRevokeCmd `cmd:"" help:"Make a token useless, within a second everywhere."`
}

// organization is how a command names the organization it works in.
type organization struct {
	database
	Org string `required:"" help:"Name of the organization."`
}

// with opens the accounts of the organization named and hands them to do.
func (o organization) with(ctx context.Context, do func(*account.Store, account.View) error) error {
	db, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := pg.Check(ctx, db); err != nil {
		return err
	}
	accounts := account.NewStore(db)
	org, err := accounts.OrganizationByName(ctx, o.Org)
	if err != nil {
		return err
	}
	return do(accounts, account.Whole(org.ID))
}

type tokenCreateCmd struct {
	organization
	Name    string          `default:"Command line" help:"What the token is for (default ${default})."`
	Scope   []account.Scope `placeholder:"SCOPE" help:"What it may do: feedback:read, feedback:write, reports:read, reports:write, push:read, push:write, admin. Repeatable; all of them when left out."`
	User    *string         `placeholder:"EMAIL" help:"User it belongs to, whose role narrows it."`
	Expires *time.Duration  `placeholder:"DURATION" help:"How long it is valid, such as 720h; for ever when left out."`
	JSON    bool            `name:"json" help:"Print one JSON object."`
}

// Run issues the token.
func (c *tokenCreateCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(accounts *account.Store, v account.View) error {
		// A flag that is given and empty, from a variable nobody set, must not make a token that may do everything.
		if c.Scope != nil && len(c.Scope) == 0 {
			return errors.New("--scope is given and names no scope")
		}
		n := account.NewToken{Name: c.Name, Scopes: c.Scope}
		if c.Expires != nil {
			n.ExpiresAt = new(time.Now().Add(*c.Expires))
		}
		if c.User != nil {
			user, err := accounts.UserByEmail(ctx, v, *c.User)
			if err != nil {
				return err
			}
			n.UserID = &user.ID
		}
		token, secret, err := accounts.IssueToken(ctx, v, n)
		if err != nil {
			return err
		}
		if c.JSON {
			shown := printedToken(token)
			shown.Token = secret
			return json.NewEncoder(std.out).Encode(shown)
		}
		_, err = fmt.Fprintf(std.out, "%s\n", secret)
		return err
	})
}

type tokenListCmd struct {
	organization
	JSON bool `name:"json" help:"Print a JSON array."`
}

// Run lists the tokens.
func (c *tokenListCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(accounts *account.Store, v account.View) error {
		tokens, err := accounts.Tokens(ctx, v)
		if err != nil {
			return err
		}
		printed := make([]tokenJSON, len(tokens))
		for i, t := range tokens {
			printed[i] = printedToken(t)
		}
		if c.JSON {
			return json.NewEncoder(std.out).Encode(printed)
		}
		return printTokens(std.out, printed)
	})
}

type tokenRevokeCmd struct {
	organization
	ID int64 `arg:"" help:"Id of the token, as listed."`
}

// Run revokes the token.
func (c *tokenRevokeCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(accounts *account.Store, v account.View) error {
		if err := accounts.RevokeToken(ctx, v, c.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.out, "revoked token %d\n", c.ID)
		return err
	})
}

// tokenJSON is a token as scripts read it.
type tokenJSON struct {
	ID        int64           `json:"id"`
	Name      string          `json:"name"`
	Scopes    []account.Scope `json:"scopes"`
	UserID    *account.UserID `json:"user_id"`
	State     string          `json:"state"`
	CreatedAt time.Time       `json:"created_at"`
	ExpiresAt *time.Time      `json:"expires_at"`
	RevokedAt *time.Time      `json:"revoked_at"`
	Token     string          `json:"token,omitempty"`
}

func printedToken(t account.Token) tokenJSON {
	out := tokenJSON{
		ID: t.ID, Name: t.Name, Scopes: t.Scopes, UserID: t.UserID, State: "active",
		CreatedAt: t.CreatedAt.UTC(), ExpiresAt: inUTC(t.ExpiresAt), RevokedAt: inUTC(t.RevokedAt),
	}
	switch {
	case t.RevokedAt != nil:
		out.State = "revoked"
	case t.ExpiresAt != nil && !time.Now().Before(*t.ExpiresAt):
		out.State = "expired"
	}
	return out
}

func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

func printTokens(out io.Writer, tokens []tokenJSON) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATE\tNAME\tCREATED\tEXPIRES\tSCOPES")
	for _, t := range tokens {
		expires := "never"
		if t.ExpiresAt != nil {
			expires = t.ExpiresAt.UTC().Format(time.DateOnly)
		}
		scopes := make([]string, len(t.Scopes))
		for i, s := range t.Scopes {
			scopes[i] = string(s)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.State, t.Name, t.CreatedAt.Format(time.DateOnly), expires, strings.Join(scopes, " "))
	}
	return w.Flush()
}
