package account_test

import (
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg/pgtest"
)

// patience is how long a test waits for what must happen: far longer than it takes, even on a busy machine.
const patience = 30 * time.Second

func TestMain(m *testing.M) { pgtest.Main(m) }

// unique is a name that no other test, and no other run of this one, uses.
func unique(t *testing.T) string { return t.Name() + " " + rand.Text() }

// setUp returns a store and the view of an organization of the test's own.
func setUp(t *testing.T) (*account.Store, account.View) {
	t.Helper()
	store := account.NewStore(pgtest.DB(t))
	return store, organization(t, store)
}

func organization(t *testing.T, store *account.Store) account.View {
	t.Helper()
	org, err := store.OpenOrganization(t.Context(), unique(t))
	if err != nil {
		t.Fatal(err)
	}
	return account.Whole(org.ID)
}

func user(t *testing.T, store *account.Store, v account.View, role account.Role) account.User {
	t.Helper()
	u, err := store.OpenUser(t.Context(), v, account.User{Email: string(role) + "@example.com", Name: "Someone", Role: role})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func issue(t *testing.T, store *account.Store, v account.View, n account.NewToken) (account.Token, string) {
	t.Helper()
	token, secret, err := store.IssueToken(t.Context(), v, n)
	if err != nil {
		t.Fatal(err)
	}
	return token, secret
}

func wantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("got %v, want %s", err, code)
	}
}

// wantFields compares the fields that a refusal blames.
func wantFields(t *testing.T, err error, fields ...string) {
	t.Helper()
	wantFault(t, err, fault.ValidationFailed)
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok {
		return
	}
	if diff := cmp.Diff(fields, slices.Sorted(maps.Keys(f.Fields))); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// Opening an organization twice, spaces around its name or not, is the same organization.
func TestOpenOrganizationFindsWhatIsThere(t *testing.T) {
	t.Parallel()
	store := account.NewStore(pgtest.DB(t))
	name := unique(t)
	first, err := store.OpenOrganization(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	second, err := store.OpenOrganization(t.Context(), "  "+name+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second time (-first +second):\n%s", diff)
	}
	want := account.Organization{ID: first.ID, Name: name, TimeZone: "UTC", MainTeamID: first.MainTeamID, CreatedAt: first.CreatedAt}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("organization (-want +got):\n%s", diff)
	}
	wantOneMainTeam(t, first)
}

// Replicas and operators may open it at the same time.
func TestOpenOrganizationFromManyAtOnce(t *testing.T) {
	t.Parallel()
	store := account.NewStore(pgtest.DB(t))
	name := unique(t)
	var (
		wg    sync.WaitGroup
		orgs  [10]account.Organization
		errs  [10]error
		start = make(chan struct{})
	)
	for i := range orgs {
		wg.Go(func() {
			<-start
			orgs[i], errs[i] = store.OpenOrganization(t.Context(), name)
		})
	}
	close(start)
	wg.Wait()
	for i := range orgs {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if diff := cmp.Diff(orgs[0], orgs[i]); diff != "" {
			t.Errorf("two organizations (-first +other):\n%s", diff)
		}
	}
	wantOneMainTeam(t, orgs[0])
}

func wantOneMainTeam(t *testing.T, org account.Organization) {
	t.Helper()
	var teams, main int
	err := pgtest.DB(t).QueryRow(t.Context(), `
		SELECT count(*), count(*) FILTER (WHERE main AND id = $2) FROM team WHERE organization_id = $1`, org.ID, org.MainTeamID).
		Scan(&teams, &main)
	if err != nil {
		t.Fatal(err)
	}
	if teams != 1 || main != 1 {
		t.Errorf("%d teams, %d of them the main one, want 1 and 1", teams, main)
	}
}

// A nameless organization could not be found again.
func TestOpenOrganizationNeedsAName(t *testing.T) {
	t.Parallel()
	_, err := account.NewStore(pgtest.DB(t)).OpenOrganization(t.Context(), " \t")
	wantFields(t, err, "name")
}

// An unknown organization is a mistake of the operator's, not an empty one.
func TestOrganizationByNameRefusesAnUnknownName(t *testing.T) {
	t.Parallel()
	_, err := account.NewStore(pgtest.DB(t)).OrganizationByName(t.Context(), unique(t))
	wantFault(t, err, fault.NotFound)
}

// Strictness is set for one organization and read with it.
func TestSetStrictTouchesOneOrganization(t *testing.T) {
	t.Parallel()
	store := account.NewStore(pgtest.DB(t))
	strict, other := unique(t), unique(t)
	for _, name := range []string{strict, other} {
		if _, err := store.OpenOrganization(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	for _, on := range []bool{true, false} {
		org, err := store.OrganizationByName(t.Context(), strict)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.SetStrict(t.Context(), account.Whole(org.ID), on); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{strict: on, other: false} {
			got, err := store.OrganizationByName(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if got.StrictCarriers != want {
				t.Errorf("%s: strict is %v, want %v", name, got.StrictCarriers, want)
			}
		}
	}
}

// E-mail addresses compare without case: the second spelling is the first user, who keeps name, role and spelling.
func TestOpenUserIgnoresCase(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	first, err := store.OpenUser(t.Context(), v, account.User{Email: "Zoé.Ängström@Example.com", Name: "Zoé", Role: account.Editor})
	if err != nil {
		t.Fatal(err)
	}
	second, err := store.OpenUser(t.Context(), v, account.User{Email: "zoÉ.änGSTRÖM@EXAMPLE.COM", Name: "Other", Role: account.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second spelling (-first +second):\n%s", diff)
	}
	found, err := store.UserByEmail(t.Context(), v, "ZOÉ.ÄNGSTRÖM@example.com")
	if err != nil {
		t.Fatal(err)
	}
	want := account.User{ID: first.ID, TeamID: first.TeamID, Email: "Zoé.Ängström@Example.com", Name: "Zoé", Role: account.Editor, CreatedAt: first.CreatedAt}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("user (-want +got):\n%s", diff)
	}
}

// One address in two organizations is two people; each organization knows its own only.
func TestUsersBelongToTheirOrganization(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	other := organization(t, store)
	here := user(t, store, v, account.Viewer)
	_, err := store.UserByEmail(t.Context(), other, here.Email)
	wantFault(t, err, fault.NotFound)
	if there := user(t, store, other, account.Viewer); there.ID == here.ID || there.TeamID == here.TeamID {
		t.Errorf("%+v and %+v are the same", here, there)
	}
}

// Mistakes in a user are named by field, all at once.
func TestOpenUserNamesMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user   account.User
		fields []string
	}{
		"no address":   {account.User{Role: account.Admin}, []string{"email"}},
		"not one":      {account.User{Email: "jane", Role: account.Admin}, []string{"email"}},
		"no role":      {account.User{Email: "a@example.com"}, []string{"role"}},
		"unknown role": {account.User{Email: "a@example.com", Role: "owner"}, []string{"role"}},
		"both":         {account.User{Email: "jane", Role: "Admin"}, []string{"email", "role"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, v := setUp(t)
			_, err := store.OpenUser(t.Context(), v, c.user)
			wantFields(t, err, c.fields...)
		})
	}
}
