package account_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg/pgtest"
)

// heard does something and returns what it announced of tokens, in order.
func heard(t *testing.T, do func()) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing was left open on it
	if _, err := conn.Exec(ctx, `LISTEN `+account.TokenChannel); err != nil {
		t.Fatal(err)
	}
	do()
	const end = "that was all"
	if _, err := pgtest.DB(t).Exec(ctx, `SELECT pg_notify($1, $2)`, account.TokenChannel, end+t.Name()); err != nil {
		t.Fatal(err)
	}
	var sums []string
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n.Payload == end+t.Name() {
			slices.Sort(sums)
			return sums
		}
		if !strings.HasPrefix(n.Payload, end) {
			sums = append(sums, n.Payload)
		}
	}
}

// Another role, and a user's end, are announced for each of their tokens: other processes forget what they remember. What
// changes nothing for a token is not announced.
func TestUserChangesAreAnnounced(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	u := user(t, store, v, account.Viewer)
	var mine []string
	for range 3 {
		_, secret := issue(t, store, v, account.NewToken{UserID: &u.ID})
		sum := sha256.Sum256([]byte(secret))
		mine = append(mine, hex.EncodeToString(sum[:]))
	}
	issue(t, store, v, account.NewToken{})
	slices.Sort(mine)
	// Other tests announce tokens of theirs at the same time.
	ofMine := func(sums []string) []string {
		return slices.DeleteFunc(sums, func(sum string) bool { return !slices.Contains(mine, sum) })
	}
	change := func(c account.User) func() {
		return func() {
			if _, err := store.ChangeUser(t.Context(), v, u.ID, c, &fault.Form{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if sums := ofMine(heard(t, change(account.User{Name: "Other", Role: account.Viewer}))); len(sums) != 0 {
		t.Errorf("another name was announced: %v", sums)
	}
	if diff := cmp.Diff(mine, ofMine(heard(t, change(account.User{Role: account.Editor})))); diff != "" {
		t.Errorf("another role (-want +got):\n%s", diff)
	}
	deletion := heard(t, func() {
		if err := store.DeleteUser(t.Context(), v, u.ID); err != nil {
			t.Fatal(err)
		}
	})
	if diff := cmp.Diff(mine, ofMine(deletion)); diff != "" {
		t.Errorf("the end (-want +got):\n%s", diff)
	}
}

// Of those who come at the same time with the same name or address one succeeds, and the others are told which field it was.
func TestSameNameFromManyAtOnce(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	for field, create := range map[string]func(*fault.Form) error{
		"name": func(form *fault.Form) error {
			_, err := store.CreateTeam(t.Context(), v, "North", form)
			return err
		},
		"email": func(form *fault.Form) error {
			_, err := store.CreateUser(t.Context(), v, account.User{Email: "ada@example.com", Name: "Ada", Role: account.Viewer}, form)
			return err
		},
	} {
		var (
			wg    sync.WaitGroup
			errs  [8]error
			start = make(chan struct{})
		)
		for i := range errs {
			wg.Go(func() {
				<-start
				errs[i] = create(&fault.Form{})
			})
		}
		close(start)
		wg.Wait()
		good := 0
		for _, err := range errs {
			if err == nil {
				good++
				continue
			}
			wantFields(t, err, field)
		}
		if good != 1 {
			t.Errorf("%s: %d succeeded", field, good)
		}
	}
}

// A user who is being deleted gets no token, and a team that is being deleted no user: whoever comes second is told, and
// nothing is left without its other half.
func TestDeletionAgainstArrival(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	for range 10 {
		u, err := store.CreateUser(t.Context(), v, account.User{Email: "ada@example.com", Name: "Ada", Role: account.Viewer}, &fault.Form{})
		if err != nil {
			t.Fatal(err)
		}
		team, err := store.CreateTeam(t.Context(), v, "North", &fault.Form{})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var deleted, issued, dropped, joined error
		wg.Go(func() { deleted = store.DeleteUser(t.Context(), v, u.ID) })
		wg.Go(func() { _, _, issued = store.IssueToken(t.Context(), v, account.NewToken{UserID: &u.ID}) })
		wg.Go(func() { dropped = store.DeleteTeam(t.Context(), v, team.ID) })
		wg.Go(func() {
			_, joined = store.CreateUser(t.Context(), v, account.User{Email: "bob@example.com", Name: "Bob", Role: account.Viewer, TeamID: team.ID}, &fault.Form{})
		})
		wg.Wait()
		if deleted != nil {
			t.Errorf("the user: %v", deleted)
		}
		if issued != nil {
			wantFields(t, issued, "user_id")
		}
		if (dropped == nil) == (joined == nil) {
			t.Errorf("the team: %v, its new user: %v", dropped, joined)
		}
		if joined != nil {
			wantFields(t, joined, "team_id")
			continue
		}
		wantFault(t, dropped, fault.ValidationFailed)
		bob, err := store.UserByEmail(t.Context(), v, "bob@example.com")
		if err != nil {
			t.Fatal(err)
		}
		if err := store.DeleteUser(t.Context(), v, bob.ID); err != nil {
			t.Fatal(err)
		}
		if err := store.DeleteTeam(t.Context(), v, team.ID); err != nil {
			t.Fatal(err)
		}
	}
	tokens, err := store.Tokens(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		if token.RevokedAt == nil {
			t.Errorf("a token outlived its user: %+v", token)
		}
	}
}
