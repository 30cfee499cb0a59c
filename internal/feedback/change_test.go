package feedback_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
	"earshot/internal/tally"
)

// change makes a change within a transaction of its own, as an operation does with each stretch of its records.
func change(t *testing.T, store *feedback.Store, db interface {
	Begin(context.Context) (pgx.Tx, error)
}, v account.View, by feedback.By, c feedback.Change, ids []int64,
) feedback.Applied {
	t.Helper()
	var done feedback.Applied
	err := pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) (err error) {
		done, err = store.Apply(t.Context(), tx, v, by, c, ids)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// modelled is what a record holds, in the plainest form.
type modelled struct {
	status feedback.Status
	names  []string    // in the order first attached, each for as long as it has a value
	flat   [][2]string // name and value in the order attached
}

// attributes is each name with its values.
func (m modelled) attributes() [][]string {
	out := [][]string{}
	for _, name := range m.names {
		a := []string{name}
		for _, e := range m.flat {
			if e[0] == name {
				a = append(a, e[1])
			}
		}
		out = append(out, a)
	}
	return out
}

func (m modelled) has(name, value string) bool {
	return slices.Contains(m.flat, [2]string{name, value})
}

func (m modelled) apply(c feedback.Change) modelled {
	out := modelled{status: m.status, names: slices.Clone(m.names), flat: slices.Clone(m.flat)}
	if c.Verb == feedback.Move {
		out.status = c.Status
	}
	for _, a := range c.Attributes {
		listed := func(e [2]string) bool {
			return slices.ContainsFunc(a.Values, func(v feedback.Value) bool { return v.Text == e[1] })
		}
		switch c.Verb {
		case feedback.Sync:
			out.flat = slices.DeleteFunc(out.flat, func(e [2]string) bool { return e[0] == a.Name && !listed(e) })
		case feedback.Detach:
			out.flat = slices.DeleteFunc(out.flat, func(e [2]string) bool { return e[0] == a.Name && (len(a.Values) == 0 || listed(e)) })
		case feedback.Attach, feedback.Move:
		}
		for _, v := range a.Values {
			if c.Verb != feedback.Detach && !out.has(a.Name, v.Text) {
				out.flat = append(out.flat, [2]string{a.Name, v.Text})
			}
		}
		has := slices.ContainsFunc(out.flat, func(e [2]string) bool { return e[0] == a.Name })
		switch at := slices.Index(out.names, a.Name); {
		case has && at < 0:
			out.names = append(out.names, a.Name)
		case !has && at >= 0:
			out.names = slices.Delete(out.names, at, at+1)
		}
	}
	return out
}

func randomChange(r *rand.Rand) feedback.Change {
	if r.IntN(4) == 0 {
		return feedback.Change{Verb: feedback.Move, Status: feedback.Status(1 + r.IntN(5))}
	}
	c := feedback.Change{Verb: []feedback.Verb{feedback.Attach, feedback.Sync, feedback.Detach}[r.IntN(3)]}
	for _, name := range r.Perm(4)[:1+r.IntN(3)] {
		a := feedback.Attribute{Name: fmt.Sprintf("name %d", name)}
		for _, value := range r.Perm(5)[:r.IntN(4)] {
			a.Values = append(a.Values, feedback.Value{Text: fmt.Sprintf("value %d", value)})
		}
		if c.Verb == feedback.Attach && len(a.Values) == 0 {
			a.Values = []feedback.Value{{Text: "value 0"}}
		}
		c.Attributes = append(c.Attributes, a)
	}
	return c
}

// Whatever is attached, synced, detached and moved, one record or many at a time, the records hold what a plain model of them holds; undoing
// the last change brings every record back as it was, and undoing that does the change again; tallies stay exact.
func TestChangesAgreeWithAModelAndUndoExactly(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	db := pgtest.DB(t)
	store := feedback.NewStore(db, open(t, pg.Settings{URL: pgtest.URL(t), CustomPlans: true}), carrier.NewStore(db), analysis.NewStore(db))
	v := organization(t, db)
	ids := make([]int64, 12)
	model := map[int64]modelled{}
	for i := range ids {
		var form fault.Form
		rec, err := store.Create(t.Context(), v, feedback.New{CarrierID: 1, Source: 1}, &form)
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = rec.ID
		model[rec.ID] = modelled{status: feedback.Todo}
	}
	compare := func(step int, what any) {
		t.Helper()
		for _, id := range ids {
			rec, err := store.ByID(t.Context(), v, id, feedback.Parts{Attributes: true})
			if err != nil {
				t.Fatal(err)
			}
			got := [][]string{}
			for _, a := range rec.Attributes {
				got = append(got, append([]string{a.Name}, texts(a.Values)...))
			}
			if d := cmp.Diff(model[id].attributes(), got); d != "" || rec.Status != model[id].status {
				t.Fatalf("seed %d, step %d, %+v on %d: status %v, want %v\n%s", seed, step, what, id, rec.Status, model[id].status, d)
			}
		}
	}
	rows := func() (all []string) {
		found, err := db.Query(t.Context(), `SELECT format('%s %s %s', id, status, attribute_value_ids) FROM feedback WHERE organization_id = $1 ORDER BY id`, v.Org())
		if err != nil {
			t.Fatal(err)
		}
		if all, err = pgx.CollectRows(found, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
		return all
	}
	restore := func(by, operation int64, chosen []int64) feedback.Restored {
		t.Helper()
		var done feedback.Restored
		err := pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) (err error) {
			done, err = store.Restore(t.Context(), tx, v, feedback.By{OperationID: by}, operation, chosen)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	for step := range 200 {
		c := randomChange(r)
		chosen := slices.Clone(ids)
		r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:1+r.IntN(len(chosen))]
		earlier, before := map[int64]modelled{}, rows()
		for _, id := range ids {
			earlier[id] = model[id]
		}
		for _, id := range chosen {
			model[id] = model[id].apply(c)
		}
		operation := int64(step*10 + 1)
		done := change(t, store, db, v, feedback.By{OperationID: operation}, c, chosen)
		if done.Found != int64(len(chosen)) {
			t.Fatalf("seed %d: %d of %d found", seed, done.Found, len(chosen))
		}
		compare(step, c)
		if r.IntN(3) > 0 {
			continue
		}
		after := rows()
		undone := restore(operation+1, operation, chosen)
		if undone.Changed != done.Changed || len(undone.Skipped) != 0 {
			t.Fatalf("seed %d, step %d: %+v undone of %+v", seed, step, undone, done)
		}
		if d := cmp.Diff(before, rows()); d != "" {
			t.Fatalf("seed %d, step %d: undoing %+v left\n%s", seed, step, c, d)
		}
		if r.IntN(2) == 0 {
			if again := restore(operation+2, operation+1, chosen); again.Changed != done.Changed {
				t.Fatalf("seed %d, step %d: %+v redone of %+v", seed, step, again, done)
			}
			if d := cmp.Diff(after, rows()); d != "" {
				t.Fatalf("seed %d, step %d: redoing %+v left\n%s", seed, step, c, d)
			}
			continue
		}
		model = earlier
	}
	drifts, err := tally.NewStore(db).Verify(t.Context(), v)
	if err != nil || len(drifts) != 0 {
		t.Errorf("seed %d: %v, drifts %+v", seed, err, drifts)
	}
}
