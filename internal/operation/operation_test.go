package operation_test

import (
	"fmt"
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
	"earshot/internal/fql"
	"earshot/internal/operation"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
	"earshot/internal/tally"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// office is an organization with a caller in it, and the stores that serve them.
type office struct {
	t          *testing.T
	db         *pgxpool.Pool
	caller     account.Principal
	carriers   *carrier.Store
	records    *feedback.Store
	operations *operation.Store
}

// newOffice opens one whose calls change up to inRequest records themselves.
func newOffice(t *testing.T, inRequest int64) office {
	t.Helper()
	db := pgtest.DB(t)
	reads, err := pg.Open(t.Context(), pg.Settings{URL: pgtest.URL(t), MaxConns: 2, CustomPlans: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reads.Close)
	accounts := account.NewStore(db)
	org, err := accounts.OpenOrganization(t.Context(), fmt.Sprintf("%s %d", t.Name(), time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := accounts.IssueToken(t.Context(), account.Whole(org.ID), account.NewToken{Name: "test", Scopes: account.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	caller, err := accounts.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	o := office{t: t, db: db, caller: caller, carriers: carrier.NewStore(db)}
	texts := analysis.NewStore(db)
	o.records = feedback.NewStore(db, reads, o.carriers, texts)
	o.operations, err = operation.NewStore(db, accounts, o.carriers, texts, o.records, operation.Settings{InRequest: inRequest, UndoFor: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// fill writes n records without content, as many as a test of large selections needs.
func (o office) fill(n int) {
	o.t.Helper()
	_, err := o.db.Exec(o.t.Context(), `
		WITH written AS (
			INSERT INTO feedback (organization_id, id, created_at, carrier_id, day, source, status, attribute_value_ids, answer_ids)
			SELECT $1, nextval('feedback_id'), now(), 1, (now() AT TIME ZONE 'UTC')::date, 1, 1, '{}', '{}' FROM generate_series(1, $2)
			RETURNING id, day
		), content AS (
			INSERT INTO feedback_content (organization_id, feedback_id, first_item_id, fingerprint, items)
			SELECT $1, id, 1, id, '[]' FROM written
		)
		INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum)
		SELECT $1, 1, day, 1, 1, 0, count(*), 0, 0, 0, 0, 0 FROM written GROUP BY day`, o.caller.View().Org(), n)
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o office) start(c feedback.Change, filter string) operation.Operation {
	o.t.Helper()
	q, err := feedback.Filters.Parse(filter)
	if err != nil {
		o.t.Fatal(err)
	}
	started, err := o.operations.Start(o.t.Context(), o.caller, c, q, nil)
	if err != nil {
		o.t.Fatal(err)
	}
	return started
}

// finish works on an operation until it has ended.
func (o office) finish(id int64) operation.Operation {
	o.t.Helper()
	for more := true; more; {
		var err error
		if more, err = o.operations.Work(o.t.Context(), o.caller.View(), id); err != nil {
			o.t.Fatal(err)
		}
	}
	ended, err := o.operations.ByID(o.t.Context(), o.caller.View(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	return ended
}

// rows is all there is of the organization's records.
func (o office) rows() []string {
	o.t.Helper()
	rows, err := o.db.Query(o.t.Context(), `
		SELECT format('%s %s %s', id, status, attribute_value_ids) FROM feedback WHERE organization_id = $1 ORDER BY id`, o.caller.View().Org())
	if err != nil {
		o.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		o.t.Fatal(err)
	}
	return all
}

// sound fails the test when the tallies differ from a count.
func (o office) sound() {
	o.t.Helper()
	drifts, err := tally.NewStore(o.db).Verify(o.t.Context(), o.caller.View())
	if err != nil || len(drifts) > 0 {
		o.t.Errorf("%v, drifts %+v", err, drifts)
	}
}

var (
	resolve = feedback.Change{Verb: feedback.Move, Status: feedback.Resolved}
	tag     = feedback.Change{Verb: feedback.Attach, Attributes: []feedback.Attribute{{Name: "campaign", Values: []feedback.Value{{Text: "spring"}, {Text: "7", IsNumber: true}}}}}
)

const everything = `[{"Id":{"$gt":0}}]`

func TestSmallSelectionsAreChangedInTheCall(t *testing.T) {
	t.Parallel()
	o := newOffice(t, 100)
	o.fill(100)
	done := o.start(resolve, everything)
	if done.State != operation.Done || done.Total != 100 || done.Done != 100 || done.Changed != 100 || done.UndoUntil == nil {
		t.Errorf("%+v", done)
	}
	again := o.start(resolve, everything)
	if again.State != operation.Done || again.Total != 100 || again.Changed != 0 {
		t.Errorf("again: %+v", again)
	}
	o.sound()
}

func TestLargeSelectionsAreLeftToWorkers(t *testing.T) {
	t.Parallel()
	o := newOffice(t, 100)
	o.fill(3_500)
	started := o.start(tag, everything)
	if started.State != operation.Running || started.Total != 3_500 || started.Done != 0 {
		t.Fatalf("%+v", started)
	}
	o.fill(10) // these came later
	ended := o.finish(started.ID)
	if ended.State != operation.Done || ended.Done != 3_500 || ended.Changed != 3_500 || ended.Rate() <= 0 || ended.ETA() != nil {
		t.Errorf("%+v", ended)
	}
	var tagged int
	err := o.db.QueryRow(t.Context(), `SELECT count(*) FROM feedback WHERE organization_id = $1 AND attribute_value_ids <> '{}'`, o.caller.View().Org()).Scan(&tagged)
	if err != nil || tagged != 3_500 {
		t.Errorf("%d tagged, %v", tagged, err)
	}
	o.sound()
}

func TestUndoRestoresEveryRow(t *testing.T) {
	t.Parallel()
	for _, c := range []feedback.Change{resolve, tag} {
		for _, size := range []int{50, 2_500} {
			o := newOffice(t, 100)
			o.fill(size)
			before := o.rows()
			first := o.finish(o.start(c, everything).ID)
			undo, err := o.operations.Undo(t.Context(), o.caller, first.ID)
			if err != nil {
				t.Fatal(err)
			}
			undone := o.finish(undo.ID)
			if undone.State != operation.Done || undone.Changed != int64(size) || undone.Skipped != 0 || undone.Undoes != first.ID {
				t.Errorf("%+v", undone)
			}
			if d := cmp.Diff(before, o.rows()); d != "" {
				t.Errorf("%s of %d: %s", c.Verb, size, d)
			}
			if _, err := o.operations.Undo(t.Context(), o.caller, first.ID); !fault.Is(err, fault.NotUndoable) {
				t.Errorf("undone twice: %v", err)
			}
			o.sound()
		}
	}
}

func TestUndoLeavesAloneWhatWasChangedAgain(t *testing.T) {
	t.Parallel()
	o := newOffice(t, 100)
	o.fill(2_500)
	first := o.finish(o.start(resolve, everything).ID)
	var edited []int64
	err := o.db.QueryRow(t.Context(), `
		SELECT array_agg(id) FROM (SELECT id FROM feedback WHERE organization_id = $1 ORDER BY id OFFSET 990 LIMIT 20) AS f`, o.caller.View().Org()).Scan(&edited)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range edited {
		for _, status := range []feedback.Status{feedback.Progress, feedback.Resolved} {
			if _, err := o.records.SetStatus(t.Context(), o.caller.View(), feedback.Caller(o.caller), id, status); err != nil {
				t.Fatal(err)
			}
		}
	}
	undo, err := o.operations.Undo(t.Context(), o.caller, first.ID)
	if err != nil {
		t.Fatal(err)
	}
	undone := o.finish(undo.ID)
	if undone.Changed != 2_480 || undone.Skipped != 20 {
		t.Errorf("%+v", undone)
	}
	skipped, err := o.operations.SkippedIDs(t.Context(), o.caller.View(), undo.ID, 100)
	if err != nil || !cmp.Equal(skipped, edited) {
		t.Errorf("skipped %v, edited %v, %v", skipped, edited, err)
	}
	o.sound()
}

func TestCancelledOperationStopsAndCanBeUndone(t *testing.T) {
	t.Parallel()
	o := newOffice(t, 100)
	o.fill(3_000)
	before := o.rows()
	started := o.start(resolve, everything)
	if _, err := operation.Step(o.operations, t.Context(), o.caller.View(), started.ID, 1); err != nil {
		t.Fatal(err)
	}
	cancelled, err := o.operations.Cancel(t.Context(), o.caller.View(), started.ID)
	if err != nil || cancelled.State != operation.Cancelled || cancelled.Done != 1_000 {
		t.Fatalf("%+v, %v", cancelled, err)
	}
	if ended := o.finish(started.ID); ended.Done != 1_000 || ended.State != operation.Cancelled {
		t.Errorf("%+v", ended)
	}
	undo, err := o.operations.Undo(t.Context(), o.caller, started.ID)
	if err != nil || undo.Total != 1_000 {
		t.Fatalf("%+v, %v", undo, err)
	}
	o.finish(undo.ID)
	if d := cmp.Diff(before, o.rows()); d != "" {
		t.Error(d)
	}
	if _, err := o.operations.Cancel(t.Context(), o.caller.View(), undo.ID); !fault.Is(err, fault.NotCancellable) {
		t.Errorf("a finished operation was cancelled: %v", err)
	}
	o.sound()
}

func TestAnUnexpectedSelectionChangesNothing(t *testing.T) {
	t.Parallel()
	o := newOffice(t, 100)
	o.fill(10)
	before := o.rows()
	q, err := feedback.Filters.Parse(everything)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.operations.Start(t.Context(), o.caller, resolve, q, new(int64(9))); !fault.Is(err, fault.SelectionChanged) {
		t.Errorf("%v", err)
	}
	if _, err := o.operations.Start(t.Context(), o.caller, resolve, fql.Query{}, nil); !fault.Is(err, fault.ValidationFailed) {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff(before, o.rows()); d != "" {
		t.Error(d)
	}
	list, total, err := o.operations.List(t.Context(), o.caller.View(), operation.Filter{}, 10)
	if err != nil || len(list) != 0 || total != 0 {
		t.Errorf("%+v %d %v", list, total, err)
	}
}

func TestSweepSendsForAWorkerWhenALeaseHasRunOut(t *testing.T) {
	t.Parallel()
	o := newOffice(t, 100)
	o.fill(2_000)
	started := o.start(resolve, everything)
	jobs := func() (n int) {
		t.Helper()
		err := o.db.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE args->>'operation_id' = $1::text`, fmt.Sprint(started.ID)).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if err := o.operations.Sweep(t.Context()); err != nil || jobs() != 1 {
		t.Fatalf("%d jobs before the lease ran out, %v", jobs(), err)
	}
	if _, err := o.db.Exec(t.Context(), `UPDATE operation SET lease_until = now() - interval '1 second' WHERE organization_id = $1`, o.caller.View().Org()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := o.operations.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if jobs() != 2 {
		t.Errorf("%d jobs", jobs())
	}
}

// What can no longer be undone needs no selection.
func TestSelectionsAreForgottenWhenTheyCannotBeUndone(t *testing.T) {
	t.Parallel()
	o := newOffice(t, 100)
	o.fill(10)
	done := o.start(resolve, everything)
	if _, err := o.db.Exec(t.Context(), `UPDATE operation SET finished_at = now() - interval '61 minutes' WHERE organization_id = $1`, o.caller.View().Org()); err != nil {
		t.Fatal(err)
	}
	if err := o.operations.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	var chunks int
	err := o.db.QueryRow(t.Context(), `SELECT count(*) FROM operation_chunk WHERE organization_id = $1`, o.caller.View().Org()).Scan(&chunks)
	if err != nil || chunks != 0 {
		t.Errorf("%d chunks, %v", chunks, err)
	}
	if _, err := o.operations.Undo(t.Context(), o.caller, done.ID); !fault.Is(err, fault.NotUndoable) {
		t.Errorf("%v", err)
	}
}
