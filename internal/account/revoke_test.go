package account_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// replica is a second process: a pool and a store of its own.
func replica(t *testing.T) (*pgxpool.Pool, *account.Store) {
	t.Helper()
	db, err := pg.Open(t.Context(), pg.Settings{URL: pgtest.URL(t), MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, account.NewStore(db)
}

// A revoked token is useless at once where it was revoked, although it was used a moment before.
func TestRevokeTokenWorksAtOnce(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	token, secret := issue(t, store, v, account.NewToken{})
	kept, keptSecret := issue(t, store, v, account.NewToken{})
	if _, err := store.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if err := store.RevokeToken(t.Context(), v, token.ID); err != nil {
		t.Fatal(err)
	}
	_, err := store.Authenticate(t.Context(), secret)
	wantFault(t, err, fault.Unauthenticated)
	if p, err := store.Authenticate(t.Context(), keptSecret); err != nil || p.TokenID != kept.ID {
		t.Errorf("the other token: %+v, %v", p, err)
	}
}

// Revoking again is fine and changes nothing: the first time is when it happened.
func TestRevokeTokenTwiceKeepsTheFirstTime(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	token, _ := issue(t, store, v, account.NewToken{})
	var times []*time.Time
	for range 2 {
		if err := store.RevokeToken(t.Context(), v, token.ID); err != nil {
			t.Fatal(err)
		}
		tokens, err := store.Tokens(t.Context(), v)
		if err != nil || len(tokens) != 1 || tokens[0].RevokedAt == nil {
			t.Fatalf("tokens %+v, %v", tokens, err)
		}
		times = append(times, tokens[0].RevokedAt)
	}
	if diff := cmp.Diff(times[0], times[1]); diff != "" {
		t.Errorf("revoked at (-first +second):\n%s", diff)
	}
}

// A token of another organization is revoked by nobody here, and answered exactly as one that never was.
func TestRevokeTokenOfAnotherOrganizationIsUnknown(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	foreign, secret := issue(t, store, organization(t, store), account.NewToken{})
	unknown := store.RevokeToken(t.Context(), v, 1<<40)
	wantFault(t, unknown, fault.NotFound)
	err := store.RevokeToken(t.Context(), v, foreign.ID)
	wantFault(t, err, fault.NotFound)
	if err.Error() != unknown.Error() {
		t.Errorf("%q and %q differ", err, unknown)
	}
	if _, err := store.Authenticate(t.Context(), secret); err != nil {
		t.Errorf("the foreign token was revoked: %v", err)
	}
}

// Another process that listens is told, and forgets what it remembers of the token.
func TestRevokeTokenIsHeardByAListeningProcess(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	token, secret := issue(t, store, v, account.NewToken{})
	db, other := replica(t)
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}, 10), make(chan struct{})
	ours := sha256.Sum256([]byte(secret))
	forgotten := make(chan struct{}, 10)
	go func() {
		defer close(done)
		lost := func() { ready <- struct{}{} }
		pg.Listen(ctx, db, slog.New(slog.DiscardHandler), lost, map[string]func(string){
			account.TokenChannel: func(sum string) {
				other.ForgetToken(sum)
				if sum == hex.EncodeToString(ours[:]) { // other tests revoke tokens as well
					forgotten <- struct{}{}
				}
			},
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	deadline := time.After(patience)
	select {
	case <-ready:
	case <-deadline:
		t.Fatal("the process does not listen")
	}
	if _, err := other.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if err := store.RevokeToken(t.Context(), v, token.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-forgotten:
	case <-deadline:
		t.Fatal("the process was not told")
	}
	_, err := other.Authenticate(t.Context(), secret)
	wantFault(t, err, fault.Unauthenticated)
}

// A process that hears nothing remembers a token for a second at most.
func TestRevokeTokenIsFeltWithinASecond(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	token, secret := issue(t, store, v, account.NewToken{})
	_, other := replica(t)
	if _, err := other.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if err := store.RevokeToken(t.Context(), v, token.ID); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	for tick := time.Tick(5 * time.Millisecond); ; <-tick {
		before := time.Now()
		if _, err := other.Authenticate(t.Context(), secret); err != nil {
			wantFault(t, err, fault.Unauthenticated)
			return
		}
		if late := before.Sub(revoked); late > time.Second {
			t.Fatalf("accepted %v after it was revoked", late)
		}
	}
}
