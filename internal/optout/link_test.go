package optout_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"sync"
	"testing"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/optout"
	"earshot/internal/pg/pgtest"
)

func token(t *testing.T, s *optout.Store, v account.View, target string) string {
	t.Helper()
	var form fault.Form
	token, err := s.Token(t.Context(), v, target, &form)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// The first links of an organization, asked for at the same moment, are signed with one secret.
func TestTokensTogether(t *testing.T) {
	t.Parallel()
	s, v := store(t), organization(t)
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		found = map[string]bool{}
	)
	for range 16 {
		all.Go(func() {
			var form fault.Form
			token, err := s.Token(t.Context(), v, "ada@example.org", &form)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			found[token] = true
			mu.Unlock()
		})
	}
	all.Wait()
	if len(found) != 1 {
		t.Errorf("%d tokens: %v", len(found), found)
	}
}

// A new version of the secret signs what is signed from then on; links of the old one work until it is taken away.
func TestSecretsHaveVersions(t *testing.T) {
	t.Parallel()
	s, v := store(t), organization(t)
	first := token(t, s, v, "ada@example.org")
	db := pgtest.DB(t)
	_, err := db.Exec(t.Context(), `INSERT INTO unsubscribe_secret (organization_id, version, secret) VALUES ($1, 2, $2)`,
		v.Org(), bytes.Repeat([]byte{7}, 64))
	if err != nil {
		t.Fatal(err)
	}
	second := token(t, s, v, "ada@example.org")
	if first == second {
		t.Fatal("both versions sign alike")
	}
	for _, link := range []string{first, second} {
		if l, err := s.Follow(t.Context(), link); err != nil || l.Target != "ada@example.org" {
			t.Errorf("%+v %v", l, err)
		}
	}
	if _, err := db.Exec(t.Context(), `DELETE FROM unsubscribe_secret WHERE organization_id = $1 AND version = 1`, v.Org()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Unsubscribe(t.Context(), first); !fault.Is(err, fault.NotFound) {
		t.Errorf("a link of a secret that is gone: %v", err)
	}
	if _, err := s.Unsubscribe(t.Context(), second); err != nil {
		t.Error(err)
	}
}

// What a link shows to whoever reads it is not the target, in no form, and the name of its organization goes with it.
func TestTokensHideTheTarget(t *testing.T) {
	t.Parallel()
	s, v := store(t), organization(t)
	const target = "ada.lovelace@example.org"
	link := token(t, s, v, strings.ToUpper(target))
	raw, err := base64.RawURLEncoding.DecodeString(link)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"ada", "lovelace", "example", "@"} {
		if strings.Contains(link, part) || bytes.Contains(raw, []byte(part)) && part != "@" {
			t.Errorf("%s is in the link", part)
		}
	}
	l, err := s.Follow(t.Context(), link)
	if err != nil || l.Target != target || l.Unsubscribed || !strings.HasPrefix(l.Organization, t.Name()) {
		t.Errorf("%+v %v", l, err)
	}
	var other fault.Form
	if twice, err := s.Tokens(t.Context(), v, []string{target, "b" + target}, &other); err != nil || twice[0] != link || twice[1] == link {
		t.Errorf("%v %v", twice, err)
	}
}

// No text but the token itself is taken for one, and none makes the reader fall over. A token of up to 320 characters comes back whole.
func FuzzToken(f *testing.F) {
	secret := make([]byte, 64)
	for i := range secret {
		secret[i] = byte(i)
	}
	f.Add("ada@example.org", "")
	f.Add(strings.Repeat("𝒳", optout.MaxTarget), "AQAAAAc")
	f.Add("x", optout.Sign(7, 1, secret, "x")+"\n")
	f.Fuzz(func(t *testing.T, target, other string) {
		if target != "" && len(target) <= 4*optout.MaxTarget {
			link := optout.Sign(7, 1, secret, target)
			if org, got, ok := optout.Open(1, secret, link); !ok || org != 7 || got != target {
				t.Errorf("%q comes back as %d %q %v", target, org, got, ok)
			}
			if _, _, ok := optout.Open(1, secret, link+other); ok != (other == "") {
				t.Errorf("%q behind it: %v", other, ok)
			}
		}
		if org, got, ok := optout.Open(1, secret, other); ok && optout.Sign(org, 1, secret, got) != other {
			t.Errorf("%q is taken for the link of %q", other, got)
		}
	})
}
