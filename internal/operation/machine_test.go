package operation_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql"
	"earshot/internal/operation"
	"earshot/internal/tally"
)

// The model is tried on small numbers: up to two records are changed in the call, more by workers, three at a time.
const (
	inCall   = 2
	cutSmall = 3
)

// Whatever is created, changed one by one or in bulk, worked on bit by bit, cancelled, undone and deleted, in whatever order: the records, their
// attributes and owners and the operations are what a plain model of them says, after every step; and in the end tallies and totals are what
// counting gives. EARSHOT_MODEL says how long to go on (make model).
func TestOperationsAgreeWithAModel(t *testing.T) {
	t.Parallel()
	long := 10 * time.Second
	if d, err := time.ParseDuration(os.Getenv("EARSHOT_MODEL")); err == nil {
		long = d
	}
	o := newOffice(t, inCall)
	o.operations.CutSmall(cutSmall)
	deadline, failed, worlds := time.Now().Add(long), false, 0
	rapid.Check(t, func(rt *rapid.T) {
		// One that failed is tried again and again, to make it shorter.
		if !failed && time.Now().After(deadline) {
			return
		}
		worlds++
		defer func() { failed = failed || rt.Failed() }()
		m := newMachine(rt, o)
		rt.Repeat(map[string]func(*rapid.T){
			"create": m.create, "create another": m.create, "change one": m.changeOne, "own": m.own, "bulk": m.bulk, "bulk again": m.bulk,
			"work": m.work, "work on": m.work, "delete": m.delete, "cancel": m.cancel, "undo": m.undo, "undo another": m.undo, "fold": m.fold,
			"": m.compare,
		})
		m.finish(rt)
	})
	t.Logf("%d worlds", worlds)
}

// machine does everything twice: to the stores and to the model.
type machine struct {
	world
	office office // the stores
	t      *testing.T
	db     *pgxpool.Pool
	caller account.Principal
	users  []account.UserID
}

// newMachine opens an organization of its own.
func newMachine(rt *rapid.T, o office) *machine {
	m := &machine{world: world{map[int64]*record{}, map[int64]*modelled{}}, office: o, t: o.t, db: o.db}
	accounts := account.NewStore(o.db)
	org, err := accounts.OpenOrganization(o.t.Context(), fmt.Sprintf("%s %d", o.t.Name(), time.Now().UnixNano()))
	m.must(rt, err)
	_, secret, err := accounts.IssueToken(o.t.Context(), account.Whole(org.ID), account.NewToken{Name: "test", Scopes: account.Scopes()})
	m.must(rt, err)
	m.caller, err = accounts.Authenticate(o.t.Context(), secret)
	m.must(rt, err)
	for i := range 2 {
		u, err := accounts.OpenUser(o.t.Context(), m.view(), account.User{Email: fmt.Sprintf("%d@example.com", i), Name: "Somebody", Role: account.Editor})
		m.must(rt, err)
		m.users = append(m.users, u.ID)
	}
	return m
}

func (m *machine) view() account.View { return m.caller.View() }
func (m *machine) by() feedback.By    { return feedback.Caller(m.caller) }

func query(rt *rapid.T, text string) fql.Query {
	q, err := feedback.Filters.Parse(text)
	if err != nil {
		rt.Fatal(err)
	}
	return q
}

func (m *machine) must(rt *rapid.T, err error) {
	if err != nil {
		rt.Fatal(err)
	}
}

// Few names and values, so that they meet.
var (
	names    = []string{"city", "size", "shop"}
	values   = []string{"a", "b", "c"}
	statuses = []feedback.Status{feedback.Todo, feedback.Progress, feedback.Resolved}
)

func drawAttributes(rt *rapid.T, least int) (all []feedback.Attribute) {
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 2, rapid.ID).Draw(rt, "names") {
		a := feedback.Attribute{Name: name}
		for _, v := range rapid.SliceOfNDistinct(rapid.SampledFrom(values), least, 2, rapid.ID).Draw(rt, "values") {
			a.Values = append(a.Values, feedback.Value{Text: v})
		}
		all = append(all, a)
	}
	return all
}

func drawChange(rt *rapid.T) feedback.Change {
	verb := rapid.SampledFrom([]feedback.Verb{feedback.Move, feedback.Attach, feedback.Sync, feedback.Detach}).Draw(rt, "verb")
	switch verb {
	case feedback.Move:
		return feedback.Change{Verb: verb, Status: rapid.SampledFrom(statuses).Draw(rt, "status")}
	case feedback.Attach:
		return feedback.Change{Verb: verb, Attributes: drawAttributes(rt, 1)}
	case feedback.Sync, feedback.Detach:
	}
	return feedback.Change{Verb: verb, Attributes: drawAttributes(rt, 0)}
}

func (m *machine) drawFilter(rt *rapid.T) filter {
	switch rapid.IntRange(0, 3).Draw(rt, "filter") {
	case 0:
		return byStatus(rapid.SampledFrom(statuses).Draw(rt, "status"))
	case 1:
		return byValue(rapid.SampledFrom(names).Draw(rt, "name"), rapid.SampledFrom(values).Draw(rt, "value"))
	case 2:
		return byName(rapid.SampledFrom(names).Draw(rt, "name"), rapid.Bool().Draw(rt, "exists"))
	default:
		return byID(0, rapid.SampledFrom(append([]int64{1 << 50}, m.ids()...)).Draw(rt, "to"))
	}
}

func (m *machine) ids() []int64 { return slices.Sorted(maps.Keys(m.records)) }

// any draws a record, or gives the step up when there is none.
func (m *machine) any(rt *rapid.T) int64 {
	if len(m.records) == 0 {
		rt.Skip("no records")
	}
	return rapid.SampledFrom(m.ids()).Draw(rt, "record")
}

func (m *machine) anyOperation(rt *rapid.T) int64 {
	if len(m.operations) == 0 {
		rt.Skip("no operations")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.operations))).Draw(rt, "operation")
}

func (m *machine) create(rt *rapid.T) {
	var given []feedback.Attribute
	if rapid.Bool().Draw(rt, "with attributes") {
		given = drawAttributes(rt, 1)
	}
	made, err := m.office.records.Create(m.t.Context(), m.view(), feedback.New{CarrierID: 1, Source: 1, Attributes: given}, &fault.Form{})
	m.must(rt, err)
	r := &record{status: feedback.Todo, owners: map[account.UserID]bool{}}
	r.apply(feedback.Change{Verb: feedback.Attach, Attributes: given}, 0)
	r.events = nil // creating is no change
	m.records[made.ID] = r
}

func (m *machine) changeOne(rt *rapid.T) {
	id, c := m.any(rt), drawChange(rt)
	m.must(rt, m.office.records.Change(m.t.Context(), m.view(), m.by(), c, id))
	m.records[id].apply(c, 0)
}

func (m *machine) own(rt *rapid.T) {
	id := m.any(rt)
	if rapid.Bool().Draw(rt, "more") {
		users := rapid.SliceOfNDistinct(rapid.SampledFrom(m.users), 1, 2, rapid.ID).Draw(rt, "users")
		m.must(rt, m.office.records.Own(m.t.Context(), m.view(), m.by(), id, users))
		for _, u := range users {
			m.records[id].owners[u] = true
		}
		return
	}
	user := rapid.SampledFrom(m.users).Draw(rt, "user")
	m.must(rt, m.office.records.Disown(m.t.Context(), m.view(), m.by(), id, user))
	delete(m.records[id].owners, user)
}

func (m *machine) bulk(rt *rapid.T) {
	c, f := drawChange(rt), m.drawFilter(rt)
	o, err := m.office.operations.Start(m.t.Context(), m.caller, c, query(rt, f.fql), nil)
	m.must(rt, err)
	m.begin(o.ID, &modelled{kind: operation.Kind(c.Verb), change: c, selected: m.matching(f)})
}

// begin notes an operation, and does it when it is small.
func (m *machine) begin(id int64, o *modelled) {
	o.state = operation.Running
	m.operations[id] = o
	if len(o.selected) <= inCall {
		m.advance(id, len(o.selected))
	}
}

// work takes an operation a little further.
func (m *machine) work(rt *rapid.T) {
	id := m.anyOperation(rt)
	if m.operations[id].state != operation.Running {
		rt.Skip("it has ended")
	}
	chunks := rapid.IntRange(1, 3).Draw(rt, "chunks")
	_, err := operation.Step(m.office.operations, m.t.Context(), m.view(), id, chunks)
	m.must(rt, err)
	m.advance(id, chunks*cutSmall)
}

func (m *machine) delete(rt *rapid.T) {
	f, limit := m.drawFilter(rt), rapid.IntRange(1, 3).Draw(rt, "limit")
	found := m.matching(f)
	d, err := m.office.records.Delete(m.t.Context(), m.view(), query(rt, f.fql), limit, nil)
	m.must(rt, err)
	gone := found[:min(limit, len(found))]
	if d.Matching != int64(len(found)) || d.Deleted != int64(len(gone)) {
		rt.Fatalf("%+v of %d", d, len(found))
	}
	for _, id := range gone {
		delete(m.records, id)
	}
}

func (m *machine) cancel(rt *rapid.T) {
	id := m.anyOperation(rt)
	o := m.operations[id]
	_, err := m.office.operations.Cancel(m.t.Context(), m.view(), id)
	if o.state == operation.Done {
		if !fault.Is(err, fault.NotCancellable) {
			rt.Fatalf("cancelling what is done: %v", err)
		}
		return
	}
	m.must(rt, err)
	o.state = operation.Cancelled
}

func (m *machine) undo(rt *rapid.T) {
	id := m.anyOperation(rt)
	undone := m.operations[id]
	o, err := m.office.operations.Undo(m.t.Context(), m.caller, id)
	if undone.state == operation.Running || undone.undoneBy != 0 {
		if !fault.Is(err, fault.NotUndoable) {
			rt.Fatalf("undoing what is %s and undone by %d: %v", undone.state, undone.undoneBy, err)
		}
		return
	}
	m.must(rt, err)
	undone.undoneBy = o.ID
	m.begin(o.ID, &modelled{kind: operation.Undo, selected: undone.selected[:undone.done], undoes: id})
}

func (m *machine) fold(rt *rapid.T) {
	_, err := tally.NewStore(m.db).Fold(m.t.Context())
	m.must(rt, err)
}

// compare reads everything and holds it against the model.
func (m *machine) compare(rt *rapid.T) {
	if d := cmp.Diff(m.expected(), m.stored(rt)); d != "" {
		rt.Fatalf("(-model +stored)\n%s", d)
	}
}

// expected is the model in lines.
func (m *machine) expected() []string {
	lines := []string{}
	for _, id := range m.ids() {
		r := m.records[id]
		var entries []string
		for _, e := range r.entries {
			entries = append(entries, strings.TrimSuffix(e.name+"="+e.value, "="))
		}
		lines = append(lines, fmt.Sprintf("record %d %d [%s] owners %v events %d", id, r.status, strings.Join(entries, " "),
			slices.Sorted(maps.Keys(r.owners)), len(r.events)))
	}
	for _, id := range slices.Sorted(maps.Keys(m.operations)) {
		o := m.operations[id]
		lines = append(lines, fmt.Sprintf("operation %d %s %s: %d of %d, %d changed, skipped %v, undoes %d, undone by %d",
			id, o.kind, o.state, o.done, len(o.selected), o.changed, o.skipped, o.undoes, o.undoneBy))
	}
	return lines
}

// stored is the same from the database: attributes as they stand there, whatever reading makes of them.
func (m *machine) stored(rt *rapid.T) (lines []string) {
	rows, err := m.db.Query(m.t.Context(), `
		SELECT format('record %s %s [%s] owners [%s] events %s', f.id, f.status, array_to_string(ARRAY(
		           SELECT concat_ws('=', a.name, v.text)
		           FROM unnest(f.attribute_value_ids) WITH ORDINALITY AS u (id, place)
		           LEFT JOIN attribute_value v ON v.organization_id = $1 AND v.id = u.id
		           JOIN attribute a ON a.organization_id = $1 AND a.id = coalesce(v.attribute_id, u.id)
		           ORDER BY u.place), ' '),
		       (SELECT string_agg(user_id::text, ' ' ORDER BY user_id) FROM feedback_owner o WHERE o.organization_id = $1 AND o.feedback_id = f.id),
		       (SELECT count(*) FROM feedback_history h WHERE h.organization_id = $1 AND h.feedback_id = f.id AND h.field <> 2))
		FROM feedback f
		WHERE f.organization_id = $1
		ORDER BY f.id`, m.view().Org())
	if err != nil {
		rt.Fatal(err)
	}
	lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
	m.must(rt, err)
	list, total, err := m.office.operations.List(m.t.Context(), m.view(), operation.Filter{}, 1_000)
	m.must(rt, err)
	if total != int64(len(list)) {
		rt.Fatalf("%d of %d operations are listed", len(list), total)
	}
	slices.Reverse(list)
	for _, o := range list {
		skipped, err := m.office.operations.SkippedIDs(m.t.Context(), m.view(), o.ID, 1_000)
		m.must(rt, err)
		lines = append(lines, fmt.Sprintf("operation %d %s %s: %d of %d, %d changed, skipped %v, undoes %d, undone by %d",
			o.ID, o.Kind, o.State, o.Done, o.Total, o.Changed, skipped, o.Undoes, o.UndoneBy))
		if o.Skipped != int64(len(skipped)) {
			rt.Fatalf("operation %d skipped %d, named are %v", o.ID, o.Skipped, skipped)
		}
	}
	return lines
}

// finish verifies the tallies and asks for totals.
func (m *machine) finish(rt *rapid.T) {
	drifts, err := tally.NewStore(m.db).Verify(m.t.Context(), m.view())
	if err != nil || len(drifts) > 0 {
		rt.Fatalf("%v, drifts %+v", err, drifts)
	}
	filters := []filter{}
	for _, s := range statuses {
		filters = append(filters, byStatus(s))
	}
	for _, name := range names {
		filters = append(filters, byName(name, true))
		for _, v := range values {
			filters = append(filters, byValue(name, v))
		}
	}
	for _, f := range filters {
		_, total, err := m.office.records.List(m.t.Context(), m.view(), query(rt, f.fql), feedback.Page{Size: 1})
		if want := len(m.matching(f)); err != nil || total != int64(want) {
			rt.Fatalf("%s: %d, want %d, %v", f.fql, total, want, err)
		}
	}
}
