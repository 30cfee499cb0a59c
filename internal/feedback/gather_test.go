package feedback_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// throng is creates of one organization that are under way.
type throng struct {
	t     *testing.T
	db    *pgxpool.Pool
	store *feedback.Store
	view  account.View
	all   sync.WaitGroup

	mu     sync.Mutex
	writes []int // rows of each statement
}

func newThrong(t *testing.T) *throng {
	t.Helper()
	db := open(t, pg.Settings{URL: pgtest.URL(t), MaxConns: 12})
	c := &throng{t: t, db: db, store: feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db)), view: organization(t, db)}
	c.store.WatchCreates(func(rows int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.writes = append(c.writes, rows)
	})
	if _, err := carrier.NewStore(db).Create(t.Context(), c.view, carrier.New{ID: 1, Name: "Survey"}); err != nil {
		t.Fatal(err)
	}
	return c
}

// hold keeps a fingerprint in a transaction: whoever wants to use it waits until release.
func (c *throng) hold(fingerprint string) (pid uint32, release func()) {
	c.t.Helper()
	tx, err := c.db.Begin(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	release = func() {
		if err := tx.Rollback(context.WithoutCancel(c.t.Context())); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			c.t.Error(err)
		}
	}
	c.t.Cleanup(release)
	sum := sha256.Sum256([]byte(fingerprint))
	_, err = tx.Exec(c.t.Context(), `
		INSERT INTO fingerprint (organization_id, carrier_id, fingerprint_sha256, feedback_id) VALUES ($1, 1, $2, 0)`, c.view.Org(), sum[:])
	if err != nil {
		c.t.Fatal(err)
	}
	return tx.Conn().PgConn().PID(), release
}

// attempt is one create and what became of it.
type attempt struct {
	record feedback.Record
	err    error
	done   chan struct{}
}

func (c *throng) create(ctx context.Context, n feedback.New) *attempt {
	n.CarrierID, n.Source = 1, 4
	a := &attempt{done: make(chan struct{})}
	c.all.Go(func() {
		defer close(a.done)
		a.record, a.err = c.store.Create(ctx, c.view, n, &fault.Form{})
	})
	return a
}

// until waits for something to become true.
func (c *throng) until(what string, is func() bool) {
	c.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !is(); <-tick.C {
		if time.Now().After(deadline) {
			c.t.Fatalf("never %s", what)
		}
	}
}

// occupy has as many creates hang as may be written at a time; what comes after them gathers until release.
func (c *throng) occupy() (release func(), hanging []*attempt) {
	c.t.Helper()
	_, release = c.hold("busy")
	for range feedback.MaxWrites {
		hanging = append(hanging, c.create(c.t.Context(), feedback.New{Fingerprint: "busy"}))
	}
	c.until("busy", func() bool { return c.store.Writing(c.view) == feedback.MaxWrites })
	return release, hanging
}

func (c *throng) waiting() int {
	n, _ := c.store.Gathered(c.view)
	return n
}

// gather sends creates that have to wait, one after the other.
func (c *throng) gather(ctx context.Context, all ...feedback.New) (attempts []*attempt) {
	c.t.Helper()
	waiting := c.waiting()
	for i, n := range all {
		attempts = append(attempts, c.create(ctx, n))
		c.until("gathered", func() bool { return c.waiting() == waiting+i+1 })
	}
	return attempts
}

// stored is how many feedback there are, counted by the tallies, which must be right.
func (c *throng) stored() int64 {
	c.t.Helper()
	exact(c.t, c.db, c.view)
	_, total, err := c.store.List(c.t.Context(), c.view, query(c.t, `[]`), feedback.Page{Size: 1})
	if err != nil {
		c.t.Fatal(err)
	}
	return total
}

func several(n int, name string) (all []feedback.New) {
	for i := range n {
		all = append(all, feedback.New{
			Fingerprint: fmt.Sprint(name, i),
			Attributes:  []feedback.Attribute{attribute("shop", fmt.Sprint(name, i%7)), attribute("order", fmt.Sprint(i))},
		})
	}
	return all
}

// Creates that come while others are written are written together, in the order they came, as many as one statement may have; each
// gets its own record.
func TestCreatesThatWaitAreWrittenTogether(t *testing.T) {
	t.Parallel()
	c := newThrong(t)
	release, hanging := c.occupy()
	const extra = 5
	all := several(feedback.MaxGathered+extra, "a")
	attempts := c.gather(t.Context(), all...)
	release()
	c.all.Wait()
	slices.Sort(c.writes)
	want := append(slices.Repeat([]int{1}, feedback.MaxWrites), extra, feedback.MaxGathered)
	if !slices.Equal(c.writes, want) {
		t.Errorf("statements wrote %v, want %v", c.writes, want)
	}
	var last int64
	for i, a := range attempts {
		if a.err != nil || a.record.Fingerprint != all[i].Fingerprint || len(a.record.Attributes) != 2 || a.record.Attributes[1].Values[0].Text != fmt.Sprint(i) {
			t.Fatalf("%d: %+v, %v", i, a.record, a.err)
		}
		if i != feedback.MaxGathered && a.record.ID <= last { // the two gatherings may change places
			t.Errorf("%d has the id %d after %d", i, a.record.ID, last)
		}
		last = a.record.ID
	}
	acknowledged := 0
	for _, a := range hanging {
		if a.err == nil {
			acknowledged++
		}
	}
	if n := c.stored(); acknowledged != 1 || n != int64(len(all)+1) {
		t.Errorf("%d are stored, %d of those with one fingerprint acknowledged", n, acknowledged)
	}
	if c.store.Writing(c.view) != 0 {
		t.Error("something is still under way")
	}
}

// A fingerprint that is taken, before or by a neighbour, is refused to that caller alone, with the feedback that has it.
func TestDuplicatesAmongGatheredCreates(t *testing.T) {
	t.Parallel()
	c := newThrong(t)
	before := c.create(t.Context(), feedback.New{Fingerprint: "before"})
	<-before.done
	release, _ := c.occupy()
	attempts := c.gather(t.Context(), append(several(3, "a"), feedback.New{Fingerprint: "before"}, feedback.New{Fingerprint: "a1"}, feedback.New{Fingerprint: "b"})...)
	release()
	c.all.Wait()
	for i, a := range attempts {
		refusal, refused := errors.AsType[*fault.Fault](a.err)
		switch i {
		case 3, 4:
			standing := before.record.ID
			if i == 4 {
				standing = attempts[1].record.ID
			}
			if !refused || refusal.Code != fault.FingerprintTaken || refusal.FeedbackID != standing {
				t.Errorf("%d: %+v, %v, want that %d stands in the way", i, a.record, a.err, standing)
			}
		default:
			if a.err != nil {
				t.Errorf("%d: %v", i, a.err)
			}
		}
	}
	if n := c.stored(); n != 6 {
		t.Errorf("%d are stored", n)
	}
}

// When the database refuses the statement for all, each is written by itself and fails alone.
func TestBadRowAmongGatheredCreates(t *testing.T) {
	t.Parallel()
	c := newThrong(t)
	release, _ := c.occupy()
	all := several(6, "a")
	all[2].Owners = []account.UserID{1 << 40} // nobody's
	all[5].Fingerprint = "a0"
	attempts := c.gather(t.Context(), all...)
	release()
	c.all.Wait()
	for i, a := range attempts {
		switch i {
		case 2:
			if _, ok := errors.AsType[*pgconn.PgError](a.err); !ok {
				t.Errorf("the bad row: %v", a.err)
			}
		case 5:
			if !fault.Is(a.err, fault.FingerprintTaken) {
				t.Errorf("the duplicate: %v", a.err)
			}
		default:
			if a.err != nil || a.record.ID == 0 {
				t.Errorf("%d: %v", i, a.err)
			}
		}
	}
	if n := c.stored(); n != 5 {
		t.Errorf("%d are stored", n)
	}
}

// A caller who leaves while it waits is not written, and those who wait with it are; when all have left nothing is, and the next
// create is written at once.
func TestLeavingBeforeAGatheringIsWritten(t *testing.T) {
	t.Parallel()
	c := newThrong(t)
	release, _ := c.occupy()
	ctx, leave := context.WithCancel(t.Context())
	gone := c.gather(ctx, several(3, "gone")...)
	stay := c.gather(t.Context(), several(2, "stay")...)
	leave()
	for _, a := range gone {
		<-a.done
		if !errors.Is(a.err, context.Canceled) {
			t.Errorf("who left got %v", a.err)
		}
	}
	release()
	c.all.Wait()
	for _, a := range stay {
		if a.err != nil {
			t.Errorf("who stayed got %v", a.err)
		}
	}
	if n := c.stored(); n != 3 {
		t.Errorf("%d are stored", n)
	}

	_, release = c.hold("again")
	for range feedback.MaxWrites {
		c.create(t.Context(), feedback.New{Fingerprint: "again"})
	}
	c.until("busy", func() bool { return c.store.Writing(c.view) == feedback.MaxWrites })
	ctx, leave = context.WithCancel(t.Context())
	c.gather(ctx, several(4, "all")...)
	leave()
	c.until("left", func() bool {
		_, left := c.store.Gathered(c.view)
		return left == 4
	})
	release()
	c.all.Wait()
	if n := c.stored(); n != 4 || c.store.Writing(c.view) != 0 {
		t.Errorf("%d are stored", n)
	}
	next := c.create(t.Context(), feedback.New{})
	if <-next.done; next.err != nil {
		t.Error(next.err)
	}
}

// A caller who leaves while its gathering is being written gets away at once, be it the first of them; the others get their records.
func TestLeavingWhileAGatheringIsWritten(t *testing.T) {
	t.Parallel()
	c := newThrong(t)
	release, _ := c.occupy()
	_, releaseGathered := c.hold("a2")
	ctx, leave := context.WithCancel(t.Context())
	all := several(4, "a")
	gone := c.gather(ctx, all[0])[0]
	stay := c.gather(t.Context(), all[1:]...)
	release()
	c.until("being written", func() bool { return c.waiting() == 0 && c.store.Writing(c.view) == 1 })
	leave()
	<-gone.done
	if !errors.Is(gone.err, context.Canceled) {
		t.Errorf("who left got %v", gone.err)
	}
	releaseGathered()
	c.all.Wait()
	for i, a := range stay {
		if a.err != nil {
			t.Errorf("%d: %v", i, a.err)
		}
	}
	if n := c.stored(); n != 5 {
		t.Errorf("%d are stored", n)
	}
}

// A connection that breaks under a gathering fails all of it, as it fails a create alone: nobody can know what became of them, and written
// again they would be told that their own fingerprint is taken.
func TestGatheringOnABrokenConnection(t *testing.T) {
	t.Parallel()
	c := newThrong(t)
	release, _ := c.occupy()
	holder, _ := c.hold("a1")
	attempts := c.gather(t.Context(), several(3, "a")...)
	release()
	if _, err := c.db.Exec(t.Context(), `SELECT pg_terminate_backend($1)`, waiter(t, c.db, holder)); err != nil {
		t.Fatal(err)
	}
	c.all.Wait()
	for i, a := range attempts {
		if !pg.Away(a.err) {
			t.Errorf("%d: %v", i, a.err)
		}
	}
	if n := c.stored(); n != 1 {
		t.Errorf("%d are stored", n)
	}
}

// One organization's creates are never written with another's, nor do they wait for them.
func TestOrganizationsGatherApart(t *testing.T) {
	t.Parallel()
	c := newThrong(t)
	release, _ := c.occupy()
	c.gather(t.Context(), several(2, "a")...)
	other := organization(t, c.db)
	rec, err := c.store.Create(t.Context(), other, feedback.New{CarrierID: 1, Source: 4, Fingerprint: "busy"}, &fault.Form{})
	if err != nil {
		t.Fatal(err)
	}
	release()
	c.all.Wait()
	if _, err := c.store.ByID(t.Context(), c.view, rec.ID, feedback.Parts{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("another organization's feedback: %v", err)
	}
	if n := c.stored(); n != 3 {
		t.Errorf("%d are stored", n)
	}
}
