package report_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg/pgtest"
	"earshot/internal/report"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// world is an organization of the test's own and the stores that work on it.
type world struct {
	*report.Store
	t        *testing.T
	accounts *account.Store
	carriers *carrier.Store
	records  *feedback.Store
	operator account.Principal
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db := pgtest.DB(t)
	carriers := carrier.NewStore(db)
	records := feedback.NewStore(db, db, carriers, analysis.NewStore(db))
	w := &world{
		Store: report.NewStore(db, carriers, records), t: t, accounts: account.NewStore(db), carriers: carriers, records: records,
	}
	org, err := w.accounts.OpenOrganization(t.Context(), fmt.Sprintf("%s %d", t.Name(), time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	w.operator = account.Operator(org.ID)
	return w
}

func (w *world) view() account.View { return w.operator.View() }

func (w *world) create(n report.New) report.Report {
	w.t.Helper()
	r, err := w.Create(w.t.Context(), w.operator, n, &fault.Form{})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) share(id int64, n report.NewLink) (report.Link, string) {
	w.t.Helper()
	if n.Lifetime == "" {
		n.Lifetime = report.DefaultLifetime
	}
	link, token, err := w.Share(w.t.Context(), w.operator, id, n)
	if err != nil {
		w.t.Fatal(err)
	}
	return link, token
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := pgtest.DB(w.t).Exec(w.t.Context(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

// Only the very token of a valid link leads to its report, with the view of its organization; one that was valid once is gone, and
// every other is unknown.
func TestByToken(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	r, second, foreign := w.create(report.New{Name: "Mine"}), w.create(report.New{}), other.create(report.New{})
	link, token := w.share(r.ID, report.NewLink{HideVerbatims: true, MinimumGroupSize: 7})
	expired, late := w.share(r.ID, report.NewLink{})
	w.exec(`UPDATE report_share SET expires_at = now() WHERE organization_id = $1 AND id = $2`, w.view().Org(), expired.ID)
	withdrawn, back := w.share(r.ID, report.NewLink{})
	if err := w.Revoke(t.Context(), w.operator, r.ID, withdrawn.ID); err != nil {
		t.Fatal(err)
	}
	_, theirs := other.share(foreign.ID, report.NewLink{})
	_, seconds := w.share(second.ID, report.NewLink{})
	doomed := w.create(report.New{})
	_, orphan := w.share(doomed.ID, report.NewLink{})
	if err := w.Delete(t.Context(), w.operator, doomed.ID); err != nil {
		t.Fatal(err)
	}
	// The last character holds two bits that decoders drop: another spelling of the same bytes is another token.
	last := strings.IndexByte(alphabet, token[42])
	respelled := token[:42] + string(alphabet[last^1])
	for name, tc := range map[string]struct {
		id    int64
		token string
		want  report.Outcome
	}{
		"right":                    {r.ID, token, report.Found},
		"expired":                  {r.ID, late, report.Gone},
		"revoked":                  {r.ID, back, report.Gone},
		"of another report":        {r.ID, seconds, report.Unknown},
		"on another report":        {second.ID, token, report.Unknown},
		"of another organization":  {r.ID, theirs, report.Unknown},
		"on another organization":  {foreign.ID, token, report.Unknown},
		"of a deleted report":      {doomed.ID, orphan, report.Unknown},
		"expired on another":       {second.ID, late, report.Unknown},
		"on no report":             {0, token, report.Unknown},
		"on a negative report":     {-r.ID, token, report.Unknown},
		"empty":                    {r.ID, "", report.Unknown},
		"truncated":                {r.ID, token[:42], report.Unknown},
		"extended":                 {r.ID, token + "A", report.Unknown},
		"in capitals":              {r.ID, strings.ToUpper(token), report.Unknown},
		"in small letters":         {r.ID, strings.ToLower(token), report.Unknown},
		"respelled":                {r.ID, respelled, report.Unknown},
		"padded":                   {r.ID, token[:42] + "=", report.Unknown},
		"with a space":             {r.ID, " " + token[:42], report.Unknown},
		"not text":                 {r.ID, strings.Repeat("\xff", 43), report.Unknown},
		"NUL":                      {r.ID, strings.Repeat("\x00", 43), report.Unknown},
		"a wildcard":               {r.ID, strings.Repeat("%", 43), report.Unknown},
		"the hash instead of text": {r.ID, fmt.Sprintf("%043d", 0), report.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, outcome, err := w.ByToken(t.Context(), tc.id, tc.token)
			if err != nil || outcome != tc.want {
				t.Fatalf("outcome %d, want %d: %v", outcome, tc.want, err)
			}
			switch {
			case outcome != report.Found:
				if got != (report.Shared{}) {
					t.Errorf("something was shown: %v", got)
				}
			case got.View != w.view() || got.Report.ID != r.ID || got.Report.Name != "Mine" ||
				got.Link.ID != link.ID || !got.Link.HideVerbatims || got.Link.MinimumGroupSize != 7:
				t.Errorf("got %v", got)
			}
		})
	}
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Each view of a valid link is counted, however many come at once, and shows as the last one; a view changes nothing else. What is
// refused is not counted.
func TestByTokenCountsViews(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.create(report.New{})
	link, token := w.share(r.ID, report.NewLink{})
	gone, late := w.share(r.ID, report.NewLink{})
	w.exec(`UPDATE report_share SET expires_at = now() WHERE organization_id = $1 AND id = $2`, w.view().Org(), gone.ID)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if _, outcome, err := w.ByToken(t.Context(), r.ID, token); err != nil || outcome != report.Found {
					t.Errorf("outcome %d: %v", outcome, err)
				}
				if _, outcome, err := w.ByToken(t.Context(), r.ID, late); err != nil || outcome != report.Gone {
					t.Errorf("outcome %d: %v", outcome, err)
				}
			}
		})
	}
	wg.Wait()
	links, total, err := w.Links(t.Context(), w.operator, r.ID, 0, 10)
	if err != nil || total != 2 {
		t.Fatal(links, total, err)
	}
	if links[0].Views != 0 || links[0].ViewedAt != nil {
		t.Errorf("refused and counted: %+v", links[0])
	}
	seen := links[1]
	if seen.Views != 40 || seen.ViewedAt == nil || time.Since(*seen.ViewedAt) > time.Minute || !seen.UpdatedAt.Equal(link.UpdatedAt) {
		t.Errorf("got %+v", seen)
	}
}

// Only the hash of a token is kept.
func TestTokensAreNotStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.create(report.New{})
	_, token := w.share(r.ID, report.NewLink{})
	var rows string
	err := pgtest.DB(t).QueryRow(t.Context(), `
		SELECT string_agg(s::text, '') FROM report_share s WHERE s.organization_id = $1`, w.view().Org()).Scan(&rows)
	if err != nil || rows == "" || strings.Contains(rows, token) {
		t.Errorf("%s %v", rows, err)
	}
}

// Lifetimes are days of 24 hours and calendar months, in UTC, wherever the server is; a month too short ends it on its last day.
func TestLifetimes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ lifetime, from, want string }{
		"days over a change of clocks": {"seven_days", "2026-03-25 12:00:00+00", "2026-04-01 12:00:00+00"},
		"thirty":                       {"thirty_days", "2026-01-31 23:59:59.999999+00", "2026-03-02 23:59:59.999999+00"},
		"ninety":                       {"ninety_days", "2026-01-01 00:00:00+00", "2026-04-01 00:00:00+00"},
		"months":                       {"four_months", "2026-01-31 09:15:00+00", "2026-05-31 09:15:00+00"},
		"a short month":                {"four_months", "2026-10-31 20:00:00+00", "2027-02-28 20:00:00+00"},
		"a leap year":                  {"four_months", "2027-10-31 20:00:00+00", "2028-02-29 20:00:00+00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var right bool
			err := pgtest.DB(t).QueryRow(t.Context(), `SELECT `+report.ExpirySQL("$1::text::timestamptz", "$2")+` = $3::text::timestamptz`,
				tc.from, report.Interval(tc.lifetime), tc.want).Scan(&right)
			if err != nil || !right {
				t.Errorf("%v %v", right, err)
			}
		})
	}
}

// However the end of a user or of a team meets a report that is given to them, neither waits for the other for ever, and no report is left with
// somebody who is gone.
func TestReportsAgainstDeletions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 20 {
		u, err := w.accounts.OpenUser(t.Context(), w.view(), account.User{Email: fmt.Sprintf("u%d@example.com", i), Name: "U", Role: account.Editor})
		if err != nil {
			t.Fatal(err)
		}
		team, err := w.accounts.CreateTeam(t.Context(), w.view(), fmt.Sprint("Team ", i), &fault.Form{})
		if err != nil {
			t.Fatal(err)
		}
		r := w.create(report.New{UserID: u.ID})
		var wg sync.WaitGroup
		attempt := func(do func() error) {
			wg.Go(func() {
				if err := do(); err != nil && !fault.Is(err, fault.ValidationFailed) {
					t.Error(err)
				}
			})
		}
		attempt(func() error { return w.accounts.DeleteUser(t.Context(), w.view(), u.ID) })
		attempt(func() error { return w.accounts.DeleteTeam(t.Context(), w.view(), team.ID) })
		attempt(func() error {
			_, err := w.Change(t.Context(), w.operator, r.ID, report.Change{UserID: u.ID, TeamID: team.ID, Name: "Given"}, &fault.Form{})
			return err
		})
		attempt(func() error {
			_, err := w.Create(t.Context(), w.operator, report.New{UserID: u.ID, TeamID: team.ID}, &fault.Form{})
			return err
		})
		wg.Wait()
		reports, _, err := w.List(t.Context(), w.operator, report.Filter{UserIDs: []int64{int64(u.ID)}}, nil, 0, 10)
		if err != nil || len(reports) != 0 {
			t.Errorf("%d reports of a deleted user: %v", len(reports), err)
		}
	}
}
