package account_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg/pgtest"
)

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// checked is the random part of a secret followed by its checksum.
func checked(random string) string {
	sum := crc32.ChecksumIEEE([]byte(random))
	text := ""
	for range 6 {
		text = string(digits[sum%62]) + text
		sum /= 62
	}
	return random + text
}

// A secret is es_live_, thirty letters of chance and their checksum, so that scanners recognise a leaked one.
func TestSecretHasItsShape(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	shape := regexp.MustCompile(`^es_live_[0-9A-Za-z]{30}[0-9A-Za-z]{6}$`)
	seen := map[string]bool{}
	for range 50 {
		_, secret := issue(t, store, v, account.NewToken{})
		if !shape.MatchString(secret) {
			t.Fatalf("the secret has another shape: %d characters", len(secret))
		}
		random, sum := secret[8:38], uint64(0)
		for _, c := range secret[38:] {
			sum = sum*62 + uint64(strings.IndexRune(digits, c))
		}
		if sum != uint64(crc32.ChecksumIEEE([]byte(random))) {
			t.Error("the last six characters are not the checksum of the thirty before them")
		}
		if seen[random] {
			t.Error("a secret came twice")
		}
		seen[random] = true
	}
}

// Whoever reads the database, or a copy of it, cannot act as a token.
func TestOnlyTheHashOfASecretIsStored(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	_, secret := issue(t, store, v, account.NewToken{Name: "Import"})
	var row string
	err := pgtest.DB(t).QueryRow(t.Context(), `SELECT t::text FROM token t WHERE organization_id = $1`, v.Org()).Scan(&row)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(secret))
	if !strings.Contains(row, hex.EncodeToString(sum[:])) {
		t.Errorf("the row lacks the SHA-256 of the secret: %s", row)
	}
	for _, part := range []string{secret, secret[8:38], secret[8:16], hex.EncodeToString([]byte(secret[8:38]))} {
		if strings.Contains(row, part) {
			t.Error("the row holds the secret or a part of it")
		}
	}
}

// A token is what was asked for; without a name or scopes it gets a name and all of them.
func TestIssueTokenFillsIn(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	expiry := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	u := user(t, store, v, account.Editor)
	plain, _ := issue(t, store, v, account.NewToken{Name: "  "})
	full, _ := issue(t, store, v, account.NewToken{
		Name: " Import ", Scopes: []account.Scope{account.PushRead}, UserID: &u.ID, ExpiresAt: &expiry,
	})
	got, err := store.Tokens(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	want := []account.Token{
		{ID: full.ID, Name: "Import", Scopes: []account.Scope{account.PushRead}, UserID: &u.ID, CreatedAt: full.CreatedAt, ExpiresAt: &expiry},
		{ID: plain.ID, Name: "Unnamed token", Scopes: account.Scopes(), CreatedAt: plain.CreatedAt},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tokens, the newest first (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, []account.Token{full, plain}); diff != "" {
		t.Errorf("what was returned (-listed +returned):\n%s", diff)
	}
	if others, err := store.Tokens(t.Context(), organization(t, store)); err != nil || len(others) != 0 {
		t.Errorf("another organization sees %v (%v)", others, err)
	}
}

// Mistakes in a token are named by field; nothing is issued.
func TestIssueTokenNamesMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token  account.NewToken
		fields []string
	}{
		"expired":       {account.NewToken{ExpiresAt: new(time.Now().Add(-time.Second))}, []string{"expires_at"}},
		"expires now":   {account.NewToken{ExpiresAt: new(time.Now())}, []string{"expires_at"}},
		"unknown scope": {account.NewToken{Scopes: []account.Scope{account.PushRead, "push:delete"}}, []string{"scopes.1"}},
		"empty scope":   {account.NewToken{Scopes: []account.Scope{""}}, []string{"scopes.0"}},
		"unknown user":  {account.NewToken{UserID: new(account.UserID(1 << 40))}, []string{"user_id"}},
		"several": {
			account.NewToken{Scopes: []account.Scope{"a", account.PushRead, "b"}, ExpiresAt: new(time.Unix(0, 0))},
			[]string{"expires_at", "scopes.0", "scopes.2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, v := setUp(t)
			_, secret, err := store.IssueToken(t.Context(), v, c.token)
			wantFields(t, err, c.fields...)
			if tokens, err := store.Tokens(t.Context(), v); secret != "" || len(tokens) != 0 || err != nil {
				t.Errorf("issued %v (%v)", tokens, err)
			}
		})
	}
}

// Another organization's user is no user of this one.
func TestIssueTokenRefusesAForeignUser(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	foreign := user(t, store, organization(t, store), account.Admin)
	_, _, err := store.IssueToken(t.Context(), v, account.NewToken{UserID: &foreign.ID})
	wantFields(t, err, "user_id")
}

// Whatever is wrong with a secret, the answer is the same to the letter: it tells nobody which tokens exist.
func TestAuthenticateRefusesInOneWay(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	_, good := issue(t, store, v, account.NewToken{})
	wrongSum := good[:43] + string(digits[(strings.IndexByte(digits, good[43])+1)%62])

	revoked, revokedSecret := issue(t, store, v, account.NewToken{})
	if err := store.RevokeToken(t.Context(), v, revoked.ID); err != nil {
		t.Fatal(err)
	}
	expired, expiredSecret := issue(t, store, v, account.NewToken{ExpiresAt: new(time.Now().Add(time.Hour))})
	_, err := pgtest.DB(t).Exec(t.Context(), `
		UPDATE token SET expires_at = now() - interval '1 millisecond' WHERE organization_id = $1 AND id = $2`, v.Org(), expired.ID)
	if err != nil {
		t.Fatal(err)
	}

	want := fault.New(fault.Unauthenticated, "The access token is missing, unknown, expired or revoked.")
	for name, secret := range map[string]string{
		"empty":          "",
		"prefix":         "es_live_",
		"garbage":        "'; DROP TABLE token; --",
		"not UTF-8":      "es_live_\xff\x00" + good[10:],
		"no prefix":      good[8:],
		"other prefix":   "es_test_" + good[8:],
		"too short":      good[:43],
		"too long":       good + "0",
		"space behind":   good + " ",
		"other case":     strings.ToUpper(good),
		"wrong checksum": wrongSum,
		"unknown":        "es_live_" + checked((rand.Text() + rand.Text())[:30]),
		"expired":        expiredSecret,
		"revoked":        revokedSecret,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // the second time from what is remembered
				p, err := store.Authenticate(t.Context(), secret)
				got, ok := errors.AsType[*fault.Fault](err)
				if !ok {
					t.Fatalf("got %v", err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("fault (-want +got):\n%s", diff)
				}
				if p.TokenID != 0 || p.View() != (account.View{}) || p.May(account.FeedbackRead) {
					t.Errorf("a refusal came with %+v", p)
				}
			}
		})
	}
	if _, err := store.Authenticate(t.Context(), good); err != nil {
		t.Errorf("a good token was refused: %v", err)
	}
}

// Expiry is looked at on every use, also of a token that was used a moment before.
func TestAuthenticateEndsAtExpiry(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	expiry := time.Now().Add(600 * time.Millisecond)
	_, secret := issue(t, store, v, account.NewToken{ExpiresAt: &expiry})
	for tick := time.Tick(5 * time.Millisecond); ; <-tick {
		before := time.Now()
		_, err := store.Authenticate(t.Context(), secret)
		after := time.Now()
		if err != nil {
			wantFault(t, err, fault.Unauthenticated)
			if after.Before(expiry.Truncate(time.Microsecond)) {
				t.Errorf("refused %v before its end", expiry.Sub(after))
			}
			return
		}
		if before.After(expiry) {
			t.Fatalf("accepted %v after its end", before.Sub(expiry))
		}
	}
}
