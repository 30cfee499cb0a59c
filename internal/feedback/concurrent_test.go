package feedback_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
	"earshot/internal/tally"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// open returns a pool of a test's own on a database.
func open(t testing.TB, s pg.Settings) *pgxpool.Pool {
	t.Helper()
	db, err := pg.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func organization(t testing.TB, db *pgxpool.Pool) account.View {
	t.Helper()
	org, err := account.NewStore(db).OpenOrganization(t.Context(), fmt.Sprintf("%s %d", t.Name(), time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	return account.Whole(org.ID)
}

func query(t testing.TB, text string) fql.Query {
	t.Helper()
	q, err := feedback.Filters.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// Totals are exact at every moment: sixteen writers create, change status and delete, folds run all the while and a long snapshot is
// open for part of it, and no reader ever finds a total that differs from a count in the same snapshot.
func TestTotalsUnderConcurrency(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	db := open(t, pg.Settings{URL: address, MaxConns: 24})
	reads := open(t, pg.Settings{URL: address, MaxConns: 8, CustomPlans: true})
	store := feedback.NewStore(db, reads, carrier.NewStore(db), analysis.NewStore(db))
	v := organization(t, db)
	ctx, stop := context.WithTimeout(t.Context(), 6*time.Second)
	defer stop()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	var wg sync.WaitGroup
	wg.Go(func() {
		tallies := tally.NewStore(db)
		for ctx.Err() == nil { // far more often than in service
			if _, err := tallies.Fold(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("fold: %v", err)
			}
		}
	})
	wg.Go(func() { tally.NewStore(db).Run(ctx, log) })
	wg.Go(func() { holdSnapshot(ctx, t, db) })
	var made, changed, gone, compared atomic.Int64
	for i := range 16 {
		wg.Go(func() { write(ctx, t, store, v, rand.New(rand.NewPCG(uint64(i), 1)), &made, &changed, &gone) })
	}
	queries := []string{
		`[]`, `[{"Status":{"$in":["todo","resolved"]}}]`, `[{"Nps":{"$ne":"positive"}}]`, `[{"Source":{"$eq":"email"}},{"Form":{"$in":[1,2]}}]`,
		`[{"TimePeriod":{"$eq":"last_30_days"}}]`, `[{"TimePeriod":{"$btw":["2026-01-10","2026-02-20"]}},{"Status":{"$eq":"todo"}}]`,
		`[{"TimePeriod":{"$gte":"2026-01-01T12:34:56Z","$lt":"2026-03-01T01:02:03Z"}},{"Form":{"$eq":1}}]`,
		`[{"TimePeriod":{"$btw":["2026-01-01","2026-02-28"]}},{"Source":{"$eq":"sms"}}]`, `[{"Attribute":{"name":"n","$eq":3}}]`, `[{"Attribute":{"name":"n","$exists":true}}]`,
		`[{"Status":{"$eq":"todo","$type":"or"}},{"Form":{"$eq":2}}]`,
	}
	ways := sync.Map{}
	for i := range 4 {
		wg.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				text := queries[n%len(queries)]
				got, want, way, err := store.TotalAndCount(ctx, v, query(t, text))
				if ctx.Err() != nil {
					return
				}
				if err != nil || got != want {
					t.Errorf("%s: total %d by %s, counted %d, %v", text, got, way, want, err)
				}
				ways.Store(way, true)
				compared.Add(1)
			}
		})
	}
	wg.Wait()
	t.Logf("%d created, %d changed, %d deleted, %d totals compared", made.Load(), changed.Load(), gone.Load(), compared.Load())
	for _, way := range []string{"tallies", "tallies_and_edges", "value_count"} {
		if _, ok := ways.Load(way); !ok {
			t.Errorf("no total came by %s", way)
		}
	}
	drift, err := tally.NewStore(db).Verify(t.Context(), v)
	if err != nil || len(drift) > 0 {
		t.Errorf("in the end: %v, %v", drift, err)
	}
}

// write changes feedback at random until its time is up.
func write(ctx context.Context, t *testing.T, store *feedback.Store, v account.View, r *rand.Rand, made, changed, gone *atomic.Int64) {
	var mine []int64
	for ctx.Err() == nil {
		var err error
		switch n := r.IntN(10); {
		case n < 6 || len(mine) == 0:
			at := time.Date(2026, time.Month(1+r.IntN(11)), 1+r.IntN(28), r.IntN(24), 0, 0, 0, time.UTC)
			var rec feedback.Record
			rec, err = store.Create(ctx, v, feedback.New{
				CarrierID: int64(1 + r.IntN(3)), Source: feedback.Source(4 + 13*r.IntN(2)), CreatedAt: &at,
				Attributes: []feedback.Attribute{{Name: "n", Values: []feedback.Value{{Text: fmt.Sprint(r.IntN(5)), IsNumber: true}}}},
			}, &fault.Form{})
			mine = append(mine, rec.ID)
			made.Add(1)
		case n < 9:
			_, err = store.SetStatus(ctx, v, feedback.By{}, mine[r.IntN(len(mine))], feedback.Status(1+r.IntN(5)))
			changed.Add(1)
		default:
			var d feedback.Deletion
			d, err = store.Delete(ctx, v, query(t, fmt.Sprintf(`[{"Id":{"$in":[%d,%d]}}]`, mine[0], mine[r.IntN(len(mine))])), 10, nil)
			gone.Add(d.Deleted)
		}
		if err != nil && ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
			t.Errorf("write: %v", err)
			return
		}
	}
}

// holdSnapshot keeps an old snapshot open, as a dump does: what is folded stays on the page as dead rows meanwhile.
func holdSnapshot(ctx context.Context, t *testing.T, db *pgxpool.Pool) {
	conn, err := db.Acquire(ctx)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Release()
	for _, sql := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM feedback", "SELECT pg_sleep(4)", "COMMIT"} {
		if _, err := conn.Exec(ctx, sql); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", sql, err)
			return
		}
	}
}

// A client that walks upwards while others write misses nothing and sees nothing twice.
func TestWalkingUpwardsMissesNothing(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.URL(t), MaxConns: 24})
	store := feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db))
	v := organization(t, db)
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			for ctx.Err() == nil {
				// Not ctx: a create that is cut off may still be committed, after the walk has ended.
				_, err := store.Create(context.WithoutCancel(ctx), v, feedback.New{CarrierID: 1, Source: 4}, &fault.Form{})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	seen := map[int64]bool{}
	var after int64
	step := func(ctx context.Context) int {
		page, _, err := store.List(ctx, v, fql.Query{}, feedback.Page{Ascending: true, After: &after, Size: 50})
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		for _, rec := range page {
			if seen[rec.ID] {
				t.Errorf("%d was seen twice", rec.ID)
			}
			seen[rec.ID], after = true, rec.ID
		}
		return len(page)
	}
	for ctx.Err() == nil {
		step(ctx)
	}
	wg.Wait()
	for step(t.Context()) > 0 {
	}
	var stored int
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM feedback WHERE organization_id = $1`, v.Org()).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d records walked", len(seen))
	if len(seen) != stored {
		t.Errorf("%d of %d records were seen", len(seen), stored)
	}
}
