package tally_test

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/tally"
)

func verify(t *testing.T, w *world) []tally.Drift {
	t.Helper()
	drifts, err := w.store.Verify(t.Context(), w.view)
	if err != nil {
		t.Fatal(err)
	}
	return drifts
}

// kinds are what drifted, each once, in order.
func kinds(drifts []tally.Drift) []string {
	found := map[string]bool{}
	for _, d := range drifts {
		found[d.What] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// Verify finds what is wrong in any grain or facet, whichever way it went wrong, and Rebuild mends it.
func TestVerifyFindsAndRebuildMends(t *testing.T) {
	t.Parallel()
	db := own(t) // nobody folds the deltas that are planted
	const someRow = ` WHERE ctid = (SELECT min(ctid) FROM feedback_rollup WHERE organization_id = $1 AND grain = `
	all := []string{"all time", "date", "day", "facet", "month", "status"}
	grains := []string{"all time", "date", "day", "month", "status"}
	for name, c := range map[string]struct {
		plant string
		want  []string
	}{
		"nothing":           {`SELECT $1::bigint`, nil},
		"status":            {`UPDATE feedback_rollup SET n = n + 1` + someRow + `1)`, []string{"status"}},
		"all time":          {`UPDATE feedback_rollup SET sat_n = sat_n - 1` + someRow + `2)`, []string{"all time"}},
		"day":               {`UPDATE feedback_rollup SET sat_sum = sat_sum + 1` + someRow + `3)`, []string{"day"}},
		"month":             {`UPDATE feedback_rollup SET completed_n = 100` + someRow + `4)`, []string{"month"}},
		"date":              {`UPDATE feedback_rollup SET n = n - 1` + someRow + `5)`, []string{"date"}},
		"sentiment":         {`UPDATE feedback_rollup SET sentiment_sum = sentiment_sum + 1` + someRow + `4)`, []string{"month"}},
		"sentiment count":   {`UPDATE feedback_rollup SET sentiment_n = -1` + someRow + `1)`, []string{"status"}},
		"missing row":       {`DELETE FROM feedback_rollup` + someRow + `3)`, []string{"day"}},
		"row too many":      {`INSERT INTO feedback_rollup VALUES ($1, 2, '-infinity', 999, 1, 1, 1, 1, 0, 0, 0, 0, 0)`, []string{"all time"}},
		"facet":             {`UPDATE facet_rollup SET n = n + 1 WHERE organization_id = $1`, []string{"facet"}},
		"facet missing":     {`DELETE FROM facet_rollup WHERE organization_id = $1`, []string{"facet"}},
		"facet too many":    {`INSERT INTO facet_rollup SELECT $1, id, '2026-01-01', 0, 1, 0, 0 FROM attribute WHERE organization_id = $1 AND NOT rolled_up`, []string{"facet"}},
		"satisfaction":      {`UPDATE facet_rollup SET sat_sum = sat_sum + 1 WHERE organization_id = $1`, []string{"facet"}},
		"lost delta":        {`DELETE FROM feedback_delta WHERE organization_id = $1`, all},
		"hidden delta":      {`UPDATE feedback_delta SET xid = '1' WHERE organization_id = $1`, all},
		"delta twice":       {`INSERT INTO feedback_delta SELECT * FROM feedback_delta WHERE organization_id = $1`, all},
		"record changed":    {`UPDATE feedback SET status = 9 WHERE organization_id = $1 AND id = (SELECT max(id) FROM feedback WHERE organization_id = $1)`, grains},
		"no row that is 0":  {`INSERT INTO feedback_rollup VALUES ($1, 1, '-infinity', 0, 0, 99, 0, 0, 0, 0, 0, 0, 0)`, nil},
		"everything is off": {`WITH f AS (UPDATE facet_rollup SET n = 7 + n WHERE organization_id = $1) UPDATE feedback_rollup SET n = 7 + n WHERE organization_id = $1`, all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, db)
			w.fill(t, 60)
			if err := w.store.Rebuild(t.Context(), w.view); err != nil {
				t.Fatal(err)
			}
			w.fill(t, 5)
			exec(t, w.db, c.plant, w.view.Org())
			if diff := cmp.Diff(c.want, kinds(verify(t, w))); diff != "" {
				t.Errorf("drifted (-want +got):\n%s", diff)
			}
			if err := w.store.Rebuild(t.Context(), w.view); err != nil {
				t.Fatal(err)
			}
			if drifts := verify(t, w); len(drifts) != 0 {
				t.Errorf("after the rebuild: %v", drifts)
			}
			w.drifted(t)
			if n := w.unfolded(t); n != 0 {
				t.Errorf("%d deltas are left", n)
			}
		})
	}
}

// A drift names the key and both sums.
func TestVerifySaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shared(t))
	value := w.values[0][1]
	exec(t, w.db, `
		INSERT INTO feedback (organization_id, id, created_at, completed_at, carrier_id, day, source, status, nps_profile,
		                      satisfaction, sentiment, attribute_value_ids, answer_ids)
		VALUES ($1, nextval('feedback_id'), now(), now(), 7, '2026-02-28', 3, 2, 1, 5000, 2500, ARRAY[$2::bigint], '{}')`, w.view.Org(), value)
	sums := tally.Sums{N: 1, SatN: 1, SatSum: 5000, CompletedN: 1, SentimentN: 1, SentimentSum: 2500}
	got := verify(t, w)
	want := []tally.Drift{
		{What: "status", Key: "status 2, nps 1", Want: sums},
		{What: "all time", Key: "carrier 7, source 3, status 2, nps 1", Want: sums},
		{What: "day", Key: "2026-02-28, carrier 7, status 2, nps 1", Want: sums},
		{What: "month", Key: "2026-02-01, carrier 7, source 3, status 2, nps 1", Want: sums},
		{What: "date", Key: "2026-02-28, status 2, nps 1", Want: sums},
		{What: "facet", Want: tally.Sums{N: 1, SatN: 1, SatSum: 5000}},
	}
	want[5].Key = read[string](t, w.db, `SELECT format('value %s, 2026-02-01, nps 1', $1::bigint)`, value)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("drifts (-want +got):\n%s", diff)
	}
}

// At most a hundred of each kind are returned: who sees that many rebuilds anyway.
func TestVerifyReturnsAHundredOfEachKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shared(t))
	for n := range 40 {
		w.fill(t, 20+n%3)
	}
	w.foldAll(t)
	exec(t, w.db, `UPDATE feedback_rollup SET n = n + 1 WHERE organization_id = $1`, w.view.Org())
	exec(t, w.db, `
		INSERT INTO facet_rollup SELECT $1, v, date '2001-01-01', 1, 1, 1, 1 FROM generate_series(1, 150) AS v`, w.view.Org())
	found := map[string]int{}
	for _, d := range verify(t, w) {
		found[d.What]++
	}
	if found["day"] != 100 || found["facet"] != 100 || found["status"] == 0 || found["status"] > 12 {
		t.Errorf("found %v", found)
	}
}

// Rebuild is exact while others create, change, remove and fold.
func TestRebuildWhileOthersWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, own(t))
	w.store.SetSlice(20)
	w.fill(t, 30)
	w.foldAll(t)
	exec(t, w.db, `UPDATE feedback_rollup SET n = n + 3 WHERE organization_id = $1`, w.view.Org())
	exec(t, w.db, `UPDATE facet_rollup SET n = n - 3 WHERE organization_id = $1`, w.view.Org())
	var compared, folded, rebuilt atomic.Int64
	compare := reader(t, w, &compared)
	enough := func() bool { return compared.Load() >= 5 && folded.Load() >= 50 && rebuilt.Load() >= 5 }
	storm(t, w, enough, folder(t, w.store, &folded),
		func(ctx context.Context) {
			if rebuilt.Load() > 0 {
				compare(ctx)
			}
		},
		func(ctx context.Context) {
			if err := w.store.Rebuild(ctx, w.view); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			rebuilt.Add(1)
		})
	w.drifted(t)
	w.foldAll(t)
	w.drifted(t)
}

// Rebuild gives up an attribute with too many values, as a fold does.
func TestRebuildGivesUpCrowdedAttributes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shared(t))
	crowded := w.attribute(t, true, 10_001)
	exec(t, w.db, createSQL, w.view.Org(), w.carriers, crowded[:3], w.answers, 2)
	if err := w.store.Rebuild(t.Context(), w.view); err != nil {
		t.Fatal(err)
	}
	if read[bool](t, w.db, `SELECT rolled_up FROM attribute WHERE organization_id = $1 AND id = $2`, w.view.Org(), crowded[0]) {
		t.Error("10,001 values are still rolled up")
	}
	w.drifted(t)
}

// Tallies are the organization's: whoever sees only what they own is refused, and nobody's organization has none.
func TestTalliesOfANarrowedView(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shared(t))
	accounts := account.NewStore(w.db)
	user, err := accounts.OpenUser(t.Context(), w.view, account.User{Email: "ann@example.com", Name: "Ann", Role: account.RestrictedViewer})
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := accounts.IssueToken(t.Context(), w.view, account.NewToken{UserID: &user.ID})
	if err != nil {
		t.Fatal(err)
	}
	p, err := accounts.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Verify(t.Context(), p.View()); !fault.Is(err, fault.Forbidden) {
		t.Errorf("verify: %v", err)
	}
	if err := w.store.Rebuild(t.Context(), p.View()); !fault.Is(err, fault.Forbidden) {
		t.Errorf("rebuild: %v", err)
	}
	if err := w.store.Rebuild(t.Context(), account.View{}); err != nil {
		t.Errorf("rebuild of nobody's: %v", err)
	}
	if n := read[int64](t, w.db, `SELECT count(*) FROM tally_fold WHERE organization_id = 0`); n != 0 {
		t.Error("nobody got a row")
	}
}
