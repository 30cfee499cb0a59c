package account_test

import (
	"fmt"
	"testing"

	"earshot/internal/account"
	"earshot/internal/pg/pgtest"
)

// principal is who presents a new token of these scopes, of the user with this role unless it is empty.
func principal(t *testing.T, store *account.Store, v account.View, role account.Role, scopes ...account.Scope) account.Principal {
	t.Helper()
	n := account.NewToken{Scopes: scopes}
	if role != "" {
		n.UserID = new(user(t, store, v, role).ID)
	}
	_, secret := issue(t, store, v, n)
	p, err := store.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A role narrows what a token was issued for: admins may everything, editors everything but administration, the others read.
// A token of the organization may everything.
func TestRoleNarrowsScopes(t *testing.T) {
	t.Parallel()
	read := []account.Scope{account.FeedbackRead, account.ReportsRead, account.PushRead}
	write := []account.Scope{account.FeedbackWrite, account.ReportsWrite, account.PushWrite}
	for role, c := range map[account.Role]struct{ read, write, admin bool }{
		"":                       {true, true, true},
		account.Admin:            {true, true, true},
		account.Editor:           {true, true, false},
		account.Viewer:           {true, false, false},
		account.RestrictedViewer: {true, false, false},
	} {
		t.Run(fmt.Sprintf("role %q", role), func(t *testing.T) {
			t.Parallel()
			store, v := setUp(t)
			p := principal(t, store, v, role)
			if p.Role != role || (p.UserID == 0) != (role == "") || p.TokenID == 0 {
				t.Errorf("principal %+v", p)
			}
			check := func(want bool, scopes ...account.Scope) {
				t.Helper()
				for _, s := range scopes {
					if p.May(s) != want {
						t.Errorf("May(%s) = %v", s, !want)
					}
				}
			}
			check(c.read, read...)
			check(c.write, write...)
			check(c.admin, account.AdminScope)
			check(false, "", "feedback", "feedback:*", "FEEDBACK:READ")
		})
	}
	if n := len(read) + len(write) + 1; n != len(account.Scopes()) {
		t.Errorf("%d scopes are covered of %d", n, len(account.Scopes()))
	}
}

// A scope the token was not issued for stays closed, whatever the role: one scope implies no other.
func TestTokenMayOnlyWhatItWasIssuedFor(t *testing.T) {
	t.Parallel()
	for _, role := range []account.Role{"", account.Admin} {
		for _, only := range account.Scopes() {
			t.Run(fmt.Sprintf("%s of role %q", only, role), func(t *testing.T) {
				t.Parallel()
				store, v := setUp(t)
				p := principal(t, store, v, role, only)
				for _, s := range account.Scopes() {
					if p.May(s) != (s == only) {
						t.Errorf("May(%s) = %v", s, p.May(s))
					}
				}
			})
		}
	}
}

// Who is nobody may nothing.
func TestZeroPrincipalMayNothing(t *testing.T) {
	t.Parallel()
	for _, s := range account.Scopes() {
		if (account.Principal{}).May(s) {
			t.Errorf("May(%s)", s)
		}
	}
}

// A restricted viewer sees what they own; everybody else sees the organization, and nobody another one.
func TestViewOfARestrictedViewerIsTheirs(t *testing.T) {
	t.Parallel()
	for _, role := range append(account.Roles(), "") {
		t.Run(fmt.Sprintf("role %q", role), func(t *testing.T) {
			t.Parallel()
			store, v := setUp(t)
			p := principal(t, store, v, role)
			if p.View().Org() != v.Org() {
				t.Errorf("sees organization %d, want %d", p.View().Org(), v.Org())
			}
			owner, narrowed := p.View().Owner()
			if role == account.RestrictedViewer {
				if !narrowed || owner != p.UserID || owner == 0 {
					t.Errorf("owner %d, narrowed %v, want user %d", owner, narrowed, p.UserID)
				}
			} else if narrowed || p.View() != v {
				t.Errorf("narrowed to %d", owner)
			}
		})
	}
}

// The zero view belongs to no organization and finds nothing.
func TestZeroViewFindsNothing(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	issue(t, store, v, account.NewToken{})
	tokens, err := account.NewStore(pgtest.DB(t)).Tokens(t.Context(), account.View{})
	if err != nil || len(tokens) != 0 {
		t.Errorf("found %v, %v", tokens, err)
	}
}
