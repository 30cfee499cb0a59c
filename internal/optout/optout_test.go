package optout_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/optout"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// organization makes an organization for the test.
func organization(t *testing.T) account.View {
	t.Helper()
	org, err := account.NewStore(pgtest.DB(t)).OpenOrganization(t.Context(), fmt.Sprintf("%s %d", t.Name(), time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	return account.Whole(org.ID)
}

func store(t *testing.T) *optout.Store {
	t.Helper()
	return optout.NewStore(pgtest.DB(t), pgtest.DB(t))
}

func list(t *testing.T, s *optout.Store, v account.View) []string {
	t.Helper()
	found, total, err := s.List(t.Context(), v, optout.Query{OldestFirst: true, Limit: 100_000})
	if err != nil || total != len(found) {
		t.Fatal(total, len(found), err)
	}
	targets := make([]string, len(found))
	for i, o := range found {
		targets[i] = o.Target
	}
	return targets
}

// Many requests for one target at the same moment make one record, which all of them return; exactly one of them made it.
func TestAddTogether(t *testing.T) {
	t.Parallel()
	s, v := store(t), organization(t)
	for round := range 20 {
		target := fmt.Sprintf("Target %d", round)
		var (
			all   sync.WaitGroup
			mu    sync.Mutex
			made  int
			found = map[optout.OptOut]int{}
		)
		for i := range 8 {
			all.Go(func() {
				spelled := target
				if i%2 == 0 {
					spelled = strings.ToUpper(target)
				}
				var form fault.Form
				o, isNew, err := s.Add(t.Context(), v, spelled, &form)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if isNew {
					made++
				}
				found[o]++
			})
		}
		all.Wait()
		if made != 1 || len(found) != 1 {
			t.Errorf("made %d times, found %v", made, found)
		}
	}
}

// Adding and removing one target at the same time always gets an answer that was true at some moment.
func TestAddAgainstRemove(t *testing.T) {
	t.Parallel()
	s, v := store(t), organization(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				var form fault.Form
				if _, _, err := s.Add(t.Context(), v, "ada@example.org", &form); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for range 50 {
				var form fault.Form
				if err := s.Remove(t.Context(), v, "ada@example.org", &form); err != nil && !fault.Is(err, fault.NotFound) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// Two statements with the same new targets in opposite orders, from connections of their own, take their locks in one order and
// never wait for each other in a circle. All of them are there afterwards, each counted as added once.
func TestAddAllTakesItsLocksInOneOrder(t *testing.T) {
	t.Parallel()
	v := organization(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const size, rounds = 400, 30
	var stores [2]*optout.Store
	for i := range stores {
		db := connection(t)
		stores[i] = optout.NewStore(db, db)
	}
	for round := range rounds {
		forward := make([]string, size)
		for i := range forward {
			forward[i] = fmt.Sprintf("%d round %d", random.Uint64(), round)
		}
		backward := slices.Clone(forward)
		slices.Reverse(backward)
		var (
			all   sync.WaitGroup
			added [2]int
		)
		for i, targets := range [][]string{forward, backward} {
			all.Go(func() {
				var form fault.Form
				n, already, err := stores[i].AddAll(t.Context(), v, targets, &form)
				if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "40P01" {
					t.Error("deadlock")
				} else if err != nil {
					t.Error(err)
				}
				if n+already != size {
					t.Errorf("%d added and %d already", n, already)
				}
				added[i] = n
			})
		}
		all.Wait()
		if t.Failed() || added[0]+added[1] != size {
			t.Fatalf("round %d: added %v", round, added)
		}
	}
	if got := len(list(t, stores[0], v)); got != size*rounds {
		t.Errorf("%d are listed", got)
	}
}

// connection is a pool of one connection.
func connection(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db, err := pg.Open(t.Context(), pg.Settings{URL: pgtest.URL(t), MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// A filter means what it says: it is held against a match by hand, over targets and filters made of awkward characters.
func TestListMatchesWholeTargets(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s, v := store(t), organization(t)
	word := func(letters []string, most int) string {
		var b strings.Builder
		for range 1 + random.IntN(most) {
			b.WriteString(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	letters := []string{"a", "B", "%", "_", `\`, "É", "@", "."}
	var targets []string
	for range 300 {
		targets = append(targets, word(letters, 5))
	}
	var form fault.Form
	if _, _, err := s.AddAll(t.Context(), v, targets, &form); err != nil {
		t.Fatal(err)
	}
	all := list(t, s, v)
	for range 300 {
		filter := word(append(letters, "*", "*", "É", "b"), 6)
		found, total, err := s.List(t.Context(), v, optout.Query{Target: filter, OldestFirst: true, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, target := range all {
			if matches(strings.ToLower(filter), strings.ToLower(target)) {
				want = append(want, target)
			}
		}
		for _, o := range found {
			got = append(got, o.Target)
		}
		if total != len(want) || !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", filter, got, want)
		}
	}
}

// matches is the rule itself: * is anything, everything else itself.
func matches(filter, text string) bool {
	if filter == "" {
		return text == ""
	}
	if filter[0] == '*' {
		return matches(filter[1:], text) || text != "" && matches(filter, text[1:])
	}
	return text != "" && filter[0] == text[0] && matches(filter[1:], text[1:])
}

// The beginning of a target, and a whole one, are found through the index and not by reading the list.
func TestFiltersUseTheIndex(t *testing.T) {
	t.Parallel()
	s, v := store(t), organization(t)
	targets := make([]string, optout.MaxTargets)
	for i := range targets {
		targets[i] = fmt.Sprintf("person%05d@example.org", i)
	}
	var form fault.Form
	if _, _, err := s.AddAll(t.Context(), v, targets, &form); err != nil {
		t.Fatal(err)
	}
	db := connection(t)
	if _, err := db.Exec(t.Context(), `ANALYZE push_unsubscribe`); err != nil {
		t.Fatal(err)
	}
	for _, condition := range []string{`folded = 'person00007@example.org'`, `folded LIKE '` + optout.Pattern("person0000*") + `'`} {
		plan := explain(t, db, fmt.Sprintf(`SELECT count(*) FROM push_unsubscribe WHERE organization_id = %d AND `, v.Org())+condition)
		if !strings.Contains(plan, "push_unsubscribe_target") || !strings.Contains(plan, "folded >=") && !strings.Contains(plan, "folded =") {
			t.Errorf("%s:\n%s", condition, plan)
		}
	}
	page := explain(t, db, fmt.Sprintf(`SELECT target FROM push_unsubscribe WHERE organization_id = %d ORDER BY created_at DESC, id DESC LIMIT 10`, v.Org()))
	if !strings.Contains(page, "push_unsubscribe_created") || strings.Contains(page, "Sort") {
		t.Errorf("a page:\n%s", page)
	}
}

func explain(t *testing.T, db *pgxpool.Pool, sql string) string {
	t.Helper()
	rows, err := db.Query(t.Context(), `EXPLAIN `+sql)
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

// A filter that runs out of time is the caller's to narrow down.
func TestListOutOfTime(t *testing.T) {
	t.Parallel()
	slow, err := pg.Open(t.Context(), pg.Settings{URL: pgtest.URL(t), MaxConns: 1, StatementTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(slow.Close)
	v := organization(t)
	targets := make([]string, optout.MaxTargets)
	for i := range targets {
		targets[i] = fmt.Sprintf("%s%d", strings.Repeat("a", 300), i)
	}
	var form fault.Form
	if _, _, err := store(t).AddAll(t.Context(), v, targets, &form); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, _, err = optout.NewStore(slow, slow).List(ctx, v, optout.Query{Target: strings.Repeat("*a", 100) + "*b", Limit: 10})
	if !fault.Is(err, fault.QueryTooBroad) {
		t.Errorf("got %v", err)
	}
}
