package feedback_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// Everything at once on a few records: single and bulk changes with values that are new to everybody, undoing, owners, deletions, creates with the
// same values, users that come and go. Nobody is refused, nobody waits in a circle, and in the end records, history and tallies agree.
func TestChangesUnderConcurrency(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.URL(t), MaxConns: 24})
	w := &crowd{
		db: db, store: feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db)), accounts: account.NewStore(db), view: organization(t, db),
		seed: uint64(time.Now().UnixNano()),
	}
	t.Logf("seed %d", w.seed)
	for range 20 {
		if err := w.create(t.Context(), rand.New(rand.NewPCG(w.seed, 0))); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	var wg sync.WaitGroup
	var steps atomic.Int64
	for i := range 16 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(w.seed, uint64(i+1)))
			for ctx.Err() == nil {
				steps.Add(1)
				// Not ctx: what is cut off may still be done, after the end.
				if err := w.step(context.WithoutCancel(ctx), r); err != nil && !fault.Is(err, fault.NotFound) {
					t.Errorf("seed %d: %v", w.seed, err)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d steps, %d records", steps.Load(), len(w.ids))
	for _, id := range w.ids {
		_, err := w.store.ByID(t.Context(), w.view, id, feedback.Parts{})
		if err == nil {
			unbroken(t, w.store, w.view, id)
		}
	}
	for what, sql := range map[string]string{
		"events without a record": `
			SELECT count(*) FROM feedback_history h
			WHERE organization_id = $1 AND NOT EXISTS (SELECT FROM feedback f WHERE f.organization_id = $1 AND f.id = h.feedback_id)`,
		"ids twice in a record": `
			SELECT count(*) FROM feedback f
			WHERE organization_id = $1 AND cardinality(attribute_value_ids) <> (SELECT count(DISTINCT u) FROM unnest(attribute_value_ids) AS u)`,
		"values without their attribute, or attributes without a value": `
			SELECT count(*) FROM feedback f
			WHERE organization_id = $1
			  AND ARRAY(SELECT u FROM unnest(attribute_value_ids) AS u JOIN attribute a ON a.organization_id = $1 AND a.id = u ORDER BY 1)
			   <> ARRAY(SELECT DISTINCT v.attribute_id FROM unnest(attribute_value_ids) AS u
			            JOIN attribute_value v ON v.organization_id = $1 AND v.id = u ORDER BY 1)`,
	} {
		var n int
		if err := db.QueryRow(t.Context(), sql, w.view.Org()).Scan(&n); err != nil || n != 0 {
			t.Errorf("seed %d: %d %s, %v", w.seed, n, what, err)
		}
	}
	exact(t, db, w.view)
}

// crowd is what many do to the records of one organization.
type crowd struct {
	db       *pgxpool.Pool
	store    *feedback.Store
	accounts *account.Store
	view     account.View
	seed     uint64
	counter  atomic.Int64

	mu  sync.Mutex
	ids []int64
}

func (w *crowd) create(ctx context.Context, r *rand.Rand) error {
	rec, err := w.store.Create(ctx, w.view, feedback.New{CarrierID: 1, Source: 1, Attributes: w.attributes(r)}, &fault.Form{})
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ids = append(w.ids, rec.ID)
	}
	return err
}

// attributes are a few, with values of which some are new, to several at once.
func (w *crowd) attributes(r *rand.Rand) []feedback.Attribute {
	var all []feedback.Attribute
	for _, n := range r.Perm(4)[:1+r.IntN(3)] {
		a := feedback.Attribute{Name: fmt.Sprintf("name %d", n)}
		for _, value := range r.Perm(6)[:1+r.IntN(3)] {
			v := feedback.Value{Text: fmt.Sprintf("value %d", int64(value)+w.counter.Add(1)/20)}
			if !slices.Contains(a.Values, v) {
				a.Values = append(a.Values, v)
			}
		}
		all = append(all, a)
	}
	return all
}

// pick is some of the last records, in any order.
func (w *crowd) pick(r *rand.Rand, n int) []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.ids[max(0, len(w.ids)-20):]
	picked := make([]int64, 0, n)
	for _, i := range r.Perm(len(last))[:min(n, len(last))] {
		picked = append(picked, last[i])
	}
	return picked
}

func (w *crowd) user(ctx context.Context, r *rand.Rand) (account.UserID, error) {
	u, err := w.accounts.OpenUser(ctx, w.view, account.User{Email: fmt.Sprintf("%d@example.com", r.IntN(4)), Name: "Ada", Role: account.Editor})
	return u.ID, err
}

func (w *crowd) step(ctx context.Context, r *rand.Rand) error {
	one := w.pick(r, 1)[0]
	change := feedback.Change{Verb: []feedback.Verb{feedback.Attach, feedback.Sync, feedback.Detach}[r.IntN(3)], Attributes: w.attributes(r)}
	switch n := r.IntN(20); {
	case n < 2:
		return w.create(ctx, r)
	case n < 8:
		return w.store.Change(ctx, w.view, feedback.By{}, change, one)
	case n < 10:
		_, err := w.store.SetStatus(ctx, w.view, feedback.By{}, one, feedback.Status(1+r.IntN(5)))
		return err
	case n < 15:
		return w.operate(ctx, r, change)
	case n < 18:
		user, err := w.user(ctx, r)
		if err != nil {
			return err
		}
		if r.IntN(2) == 0 {
			return w.store.Disown(ctx, w.view, feedback.By{}, one, user)
		}
		err = w.store.Own(ctx, w.view, feedback.By{}, one, []account.UserID{user})
		if errors.Is(err, feedback.ErrUserGone) {
			return nil
		}
		return err
	case n < 19:
		user, err := w.user(ctx, r)
		if err != nil {
			return err
		}
		return w.accounts.DeleteUser(ctx, w.view, user)
	default:
		q, err := feedback.Filters.Parse(fmt.Sprintf(`[{"Id":{"$in":[%d,%d]}}]`, one, w.pick(r, 1)[0]))
		if err == nil {
			_, err = w.store.Delete(ctx, w.view, q, 2, nil)
		}
		return err
	}
}

// operate changes several records as an operation does, and sometimes undoes it.
func (w *crowd) operate(ctx context.Context, r *rand.Rand, c feedback.Change) error {
	if r.IntN(4) == 0 {
		c = feedback.Change{Verb: feedback.Move, Status: feedback.Status(1 + r.IntN(5))}
	}
	ids := w.pick(r, 12)
	by := feedback.By{OperationID: w.counter.Add(1)}
	err := pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
		_, err := w.store.Apply(ctx, tx, w.view, by, c, ids)
		return err
	})
	if err != nil || r.IntN(2) == 0 {
		return err
	}
	return pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
		_, err := w.store.Restore(ctx, tx, w.view, feedback.By{OperationID: w.counter.Add(1)}, by.OperationID, ids)
		return err
	})
}
