package feedback_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg/pgtest"
	"earshot/internal/tally"
)

// rival makes a change in a transaction that stays open.
func rival(t *testing.T, store *feedback.Store, db *pgxpool.Pool, v account.View, c feedback.Change, ids ...int64) pgx.Tx {
	t.Helper()
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	if _, err := store.Apply(t.Context(), tx, v, feedback.By{}, c, ids); err != nil {
		t.Fatal(err)
	}
	return tx
}

// waiter is the backend that waits for what another one holds, once there is one.
func waiter(t *testing.T, db *pgxpool.Pool, holder uint32) uint32 {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); ; <-tick.C {
		var pid uint32
		err := db.QueryRow(t.Context(), `SELECT pid FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))`, holder).Scan(&pid)
		if err == nil {
			return pid
		}
		if !errors.Is(err, pgx.ErrNoRows) || time.Now().After(deadline) {
			t.Fatalf("nobody waits: %v", err)
		}
	}
}

// behind starts something that has to wait for a transaction, commits that transaction once it does, and returns what came of it.
func behind(t *testing.T, db *pgxpool.Pool, tx pgx.Tx, start func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- start() }()
	waiter(t, db, tx.Conn().PgConn().PID())
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return <-done
}

func texts(values []feedback.Value) []string {
	all := []string{}
	for _, v := range values {
		all = append(all, v.Text)
	}
	return all
}

func attribute(name string, values ...string) feedback.Attribute {
	a := feedback.Attribute{Name: name}
	for _, v := range values {
		a.Values = append(a.Values, feedback.Value{Text: v})
	}
	return a
}

// held is the attributes of a record, as name and values in the order they are shown.
func held(t *testing.T, store *feedback.Store, v account.View, id int64) [][]string {
	t.Helper()
	rec, err := store.ByID(t.Context(), v, id, feedback.Parts{Attributes: true})
	if err != nil {
		t.Fatal(err)
	}
	all := [][]string{}
	for _, a := range rec.Attributes {
		all = append(all, append([]string{a.Name}, texts(a.Values)...))
	}
	return all
}

// unbroken checks that each event of a record's history begins where the one before it about the same thing ended, in order of time, and that
// the last one ends with what the record holds.
func unbroken(t *testing.T, store *feedback.Store, v account.View, id int64) {
	t.Helper()
	events, total, err := store.History(t.Context(), v, id, nil, 10_000)
	if err != nil || int64(len(events)) != total {
		t.Fatalf("%d of %d events, %v", len(events), total, err)
	}
	rec, err := store.ByID(t.Context(), v, id, feedback.Parts{Attributes: true, Owners: true})
	if err != nil {
		t.Fatal(err)
	}
	status := rec.Status
	owners := rec.Owners
	attributes := map[string][]string{}
	for _, a := range rec.Attributes {
		attributes[a.Name] = texts(a.Values)
	}
	at := time.Now().Add(time.Hour)
	for _, e := range events { // from the newest back
		if e.At.After(at) {
			t.Errorf("event %d of feedback %d was later than the one behind it", e.ID, id)
		}
		at = e.At
		switch {
		case e.Status != nil:
			if e.Status.After != status {
				t.Errorf("event %d of feedback %d ends with %v, the next begins with %v", e.ID, id, e.Status.After, status)
			}
			status = e.Status.Before
		case e.Owners != nil:
			if d := cmp.Diff(owners, e.Owners.After); d != "" {
				t.Errorf("event %d of feedback %d: owners (-next +after)\n%s", e.ID, id, d)
			}
			owners = e.Owners.Before
		case e.Attribute != nil:
			if got, next := texts(e.Attribute.After), attributes[e.Attribute.Name]; !slices.Equal(got, next) {
				t.Errorf("event %d of feedback %d ends with %v, the next begins with %v", e.ID, id, got, next)
			}
			attributes[e.Attribute.Name] = texts(e.Attribute.Before)
		}
	}
}

func exact(t *testing.T, db *pgxpool.Pool, v account.View) {
	t.Helper()
	drifts, err := tally.NewStore(db).Verify(t.Context(), v)
	if err != nil || len(drifts) != 0 {
		t.Errorf("%v, drifts %+v", err, drifts)
	}
}

// A change that waited for another one starts from what that one left, values new to the dictionary included: the end is as if they had come
// one after the other.
func TestChangeStartsFromWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	store := feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db))
	for name, c := range map[string]struct {
		first, second feedback.Change
		want          [][]string
	}{
		"sync behind sync": {
			feedback.Change{Verb: feedback.Sync, Attributes: []feedback.Attribute{attribute("city", "Nice")}},
			feedback.Change{Verb: feedback.Sync, Attributes: []feedback.Attribute{attribute("city", "Lyon")}},
			[][]string{{"city", "Lyon"}, {"shop", "north"}},
		},
		"sync to nothing behind attach": {
			feedback.Change{Verb: feedback.Attach, Attributes: []feedback.Attribute{attribute("city", "Nice", "Metz")}},
			feedback.Change{Verb: feedback.Sync, Attributes: []feedback.Attribute{attribute("city")}},
			[][]string{{"shop", "north"}},
		},
		"detach behind attach": {
			feedback.Change{Verb: feedback.Attach, Attributes: []feedback.Attribute{attribute("city", "Nice"), attribute("shop", "south")}},
			feedback.Change{Verb: feedback.Detach, Attributes: []feedback.Attribute{attribute("city"), attribute("shop", "north")}},
			[][]string{{"shop", "south"}},
		},
		"attach behind sync": {
			feedback.Change{Verb: feedback.Sync, Attributes: []feedback.Attribute{attribute("city", "Nice")}},
			feedback.Change{Verb: feedback.Attach, Attributes: []feedback.Attribute{attribute("city", "Lyon")}},
			[][]string{{"city", "Nice", "Lyon"}, {"shop", "north"}},
		},
		"attach of the same new value": {
			feedback.Change{Verb: feedback.Attach, Attributes: []feedback.Attribute{attribute("size", "XL")}},
			feedback.Change{Verb: feedback.Attach, Attributes: []feedback.Attribute{attribute("size", "XL")}},
			[][]string{{"city", "Lyon"}, {"shop", "north"}, {"size", "XL"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := organization(t, db)
			rec, err := store.Create(t.Context(), v, feedback.New{
				CarrierID: 1, Source: 1, Attributes: []feedback.Attribute{attribute("city", "Lyon"), attribute("shop", "north")},
			}, &fault.Form{})
			if err != nil {
				t.Fatal(err)
			}
			tx := rival(t, store, db, v, c.first, rec.ID)
			if err := behind(t, db, tx, func() error { return store.Change(t.Context(), v, feedback.By{}, c.second, rec.ID) }); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, held(t, store, v, rec.ID)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			unbroken(t, store, v, rec.ID)
			exact(t, db, v)
		})
	}
}

// A record that is deleted while somebody changes it takes the history of that change along.
func TestDeleteTakesHistoryItWaitedFor(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	store := feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db))
	v := organization(t, db)
	rec, err := store.Create(t.Context(), v, feedback.New{CarrierID: 1, Source: 1}, &fault.Form{})
	if err != nil {
		t.Fatal(err)
	}
	tx := rival(t, store, db, v, feedback.Change{Verb: feedback.Move, Status: feedback.Resolved}, rec.ID)
	if err := behind(t, db, tx, func() error {
		d, err := store.Delete(t.Context(), v, query(t, `[{"Id":{"$gt":0}}]`), 10, nil)
		if d.Deleted != 1 {
			t.Errorf("%d deleted", d.Deleted)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM feedback_history WHERE organization_id = $1`, v.Org()).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d events are left, %v", left, err)
	}
	exact(t, db, v)
}

// A change that waited for a deletion finds no record, and leaves nothing behind: no tally, no history, no name in the dictionary.
func TestChangeOfARecordThatIsGone(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	store := feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db))
	for _, c := range []feedback.Change{
		{Verb: feedback.Move, Status: feedback.Resolved},
		{Verb: feedback.Attach, Attributes: []feedback.Attribute{attribute("city", "Lyon")}},
		{Verb: feedback.Sync, Attributes: []feedback.Attribute{attribute("city", "Lyon"), attribute("shop")}},
		{Verb: feedback.Detach, Attributes: []feedback.Attribute{attribute("city")}},
	} {
		t.Run(string(c.Verb), func(t *testing.T) {
			t.Parallel()
			v := organization(t, db)
			rec, err := store.Create(t.Context(), v, feedback.New{CarrierID: 1, Source: 1}, &fault.Form{})
			if err != nil {
				t.Fatal(err)
			}
			tx := rival(t, store, db, v, feedback.Change{Verb: feedback.Detach}, rec.ID) // changes nothing and holds the record
			deleted, changed := make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := store.Delete(t.Context(), v, query(t, `[{"Id":{"$gt":0}}]`), 10, nil)
				deleted <- err
			}()
			deleter := waiter(t, db, tx.Conn().PgConn().PID())
			go func() { changed <- store.Change(t.Context(), v, feedback.By{}, c, rec.ID) }()
			waiter(t, db, deleter)
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-deleted; err != nil {
				t.Error(err)
			}
			if err := <-changed; !fault.Is(err, fault.NotFound) {
				t.Errorf("got %v", err)
			}
			for _, table := range []string{"attribute", "attribute_value", "feedback_history"} {
				var left int
				if err := db.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` WHERE organization_id = $1`, v.Org()).Scan(&left); err != nil || left != 0 {
					t.Errorf("%d rows of %s are left, %v", left, table, err)
				}
			}
			exact(t, db, v)
		})
	}
}
