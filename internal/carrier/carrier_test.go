package carrier_test

import (
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// patience is how long a test waits for what must happen: far longer than it takes, even on a busy machine.
const patience = 30 * time.Second

func TestMain(m *testing.M) { pgtest.Main(m) }

// setUp returns a store and the view of an organization of the test's own.
func setUp(t *testing.T) (*carrier.Store, account.View) {
	t.Helper()
	return carrier.NewStore(pgtest.DB(t)), organization(t)
}

func organization(t *testing.T) account.View {
	t.Helper()
	return organizationIn(t, pgtest.DB(t))
}

func organizationIn(t *testing.T, db *pgxpool.Pool) account.View {
	t.Helper()
	org, err := account.NewStore(db).OpenOrganization(t.Context(), t.Name()+" "+rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	return account.Whole(org.ID)
}

// open returns a pool of the test's own.
func open(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	db, err := pg.Open(t.Context(), pg.Settings{URL: url, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func beStrict(t *testing.T, v account.View, strict bool) {
	t.Helper()
	if err := account.NewStore(pgtest.DB(t)).SetStrict(t.Context(), v, strict); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, store *carrier.Store, v account.View, n carrier.New) carrier.Carrier {
	t.Helper()
	c, err := store.Create(t.Context(), v, n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rules reads the rules for these items, and fails the test when they refuse them.
func rules(t *testing.T, store *carrier.Store, v account.View, id int64, items ...carrier.Item) *carrier.Rules {
	t.Helper()
	var form fault.Form
	r, err := store.Rules(t.Context(), v, id, items, &form)
	if err = errors.Join(err, form.Err()); err != nil {
		t.Fatal(err)
	}
	return r
}

// register puts a carrier and questions on record as a client's feedback does.
func register(t *testing.T, store *carrier.Store, v account.View, id int64, questions ...int64) *carrier.Rules {
	t.Helper()
	items := texts(questions...)
	r, err := store.Register(t.Context(), v, rules(t, store, v, id, items...), items)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// texts are items that answer each question with a text.
func texts(questions ...int64) []carrier.Item {
	var items []carrier.Item
	for _, id := range questions {
		items = append(items, carrier.Item{QuestionID: id, Value: "fine"})
	}
	return items
}

// list returns all carriers of an organization.
func list(t *testing.T, store *carrier.Store, v account.View) []carrier.Carrier {
	t.Helper()
	all, total, err := store.List(t.Context(), v, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if total != len(all) {
		t.Errorf("%d carriers on one page of %d", len(all), total)
	}
	return all
}

// blamed are the fields a form or a refusal blames, in order.
func blamed(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok || f.Code != fault.ValidationFailed {
		t.Fatalf("got %v, want %s", err, fault.ValidationFailed)
	}
	return slices.Sorted(maps.Keys(f.Fields))
}

func wantFields(t *testing.T, err error, fields ...string) {
	t.Helper()
	if diff := cmp.Diff(fields, blamed(t, err)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func wantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("got %v, want %s", err, code)
	}
}

// survey is a carrier with one question of each type.
type survey struct {
	*carrier.Rules
	of     map[carrier.Type]carrier.Question
	scores map[[3]int64]int64 // dictionary ids of closed answers by question, option (or 0) and score
}

func newSurvey(t *testing.T) survey {
	t.Helper()
	store, v := setUp(t)
	c := create(t, store, v, carrier.New{Name: "Survey", Questions: []carrier.NewQuestion{
		{Name: "NPS", Type: carrier.NPS},
		{Name: "Smiley", Type: carrier.Smiley},
		{Name: "Rating", Type: carrier.Rating},
		{Name: "Slider", Type: carrier.Slider, Max: 10},
		{Name: "Effort", Type: carrier.CES},
		{Name: "Table", Type: carrier.RatingsTable, Options: []string{"Food", "Staff"}},
		{Name: "Choice", Type: carrier.Choice, Options: []string{"Yes", "No"}},
		{Name: "Colours", Type: carrier.MultipleChoice, Options: []string{"Red", "Green", "Blue"}},
		{Name: "Story", Type: carrier.Textarea},
		{Name: "Text", Type: carrier.Text},
		{Name: "Date", Type: carrier.Date},
		{Name: "Number", Type: carrier.Number},
	}})
	s := survey{Rules: rules(t, store, v, c.ID), of: map[carrier.Type]carrier.Question{}, scores: map[[3]int64]int64{}}
	for _, q := range c.Questions {
		s.of[q.Type] = q
	}
	rows, err := pgtest.DB(t).Query(t.Context(), `
		SELECT id, question_id, coalesce(option_id, 0), score::bigint FROM question_score WHERE organization_id = $1`, v.Org())
	if err != nil {
		t.Fatal(err)
	}
	type score struct{ ID, Question, Option, Score int64 }
	scores, err := pgx.CollectRows(rows, pgx.RowToStructByPos[score])
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range scores {
		s.scores[[3]int64{one.Question, one.Option, one.Score}] = one.ID
	}
	return s
}

// item answers the question of a type.
func (s survey) item(of carrier.Type, value string) carrier.Item {
	return carrier.Item{QuestionID: s.of[of].ID, Value: value}
}

// row answers a row of the ratings table.
func (s survey) row(name, value string) carrier.Item {
	item := s.item(carrier.RatingsTable, value)
	item.Option = name
	return item
}

// option is the id of an option by its name.
func (s survey) option(of carrier.Type, name string) int64 {
	for _, o := range s.of[of].Options {
		if o.Name == name {
			return o.ID
		}
	}
	return -1
}

// check reads items against the rules and returns the result with the fields it blames.
func (s survey) check(t *testing.T, items ...carrier.Item) (carrier.Result, []string) {
	t.Helper()
	var form fault.Form
	res := s.Check(items, &form)
	return res, blamed(t, form.Err())
}

// good checks items that must pass.
func (s survey) good(t *testing.T, items ...carrier.Item) carrier.Result {
	t.Helper()
	res, fields := s.check(t, items...)
	if len(fields) != 0 {
		t.Fatalf("%+v: refused at %v", items, fields)
	}
	return res
}
