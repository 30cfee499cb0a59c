package carrier_test

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/pg/pgtest"
)

// asked is what a test compares of a question.
type asked struct {
	ID       int64
	Name     string
	Type     carrier.Type
	Position int
	Required bool
}

func askedOf(c carrier.Carrier) []asked {
	var all []asked
	for _, q := range c.Questions {
		all = append(all, asked{q.ID, q.Name, q.Type, q.Position, q.Required})
	}
	return all
}

// What nobody registered is registered on first sight, under the client's own numbers.
func TestRegisterOnFirstSight(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	items := texts(12, 13, 12)
	r := rules(t, store, v, 453, items...)
	if r.Cover(items) || len(list(t, store, v)) != 0 {
		t.Fatal("asking for the rules registered something")
	}
	r, err := store.Register(t.Context(), v, r, items)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Cover(items) {
		t.Error("the rules do not cover what was registered")
	}
	register(t, store, v, 453, 12, 7, 1<<53-1)

	all := list(t, store, v)
	if len(all) != 1 || all[0].ID != 453 || all[0].Name != "Carrier 453" || all[0].ArchivedAt != nil {
		t.Fatalf("carriers %+v", all)
	}
	want := []asked{
		{12, "Question 12", carrier.Text, 1, false},
		{13, "Question 13", carrier.Text, 2, false},
		{7, "Question 7", carrier.Text, 3, false},
		{1<<53 - 1, "Question 9007199254740991", carrier.Text, 4, false},
	}
	if diff := cmp.Diff(want, askedOf(all[0])); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	var team int64
	err = pgtest.DB(t).QueryRow(t.Context(), `SELECT id FROM team WHERE organization_id = $1 AND main`, v.Org()).Scan(&team)
	if err != nil || all[0].TeamID != team {
		t.Errorf("team %d, want the main one, %d (%v)", all[0].TeamID, team, err)
	}
}

// Feedback without items registers its carrier.
func TestRegisterCarrierAlone(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	if r := register(t, store, v, 5); !r.Cover(nil) {
		t.Error("the rules do not cover the carrier")
	}
	if all := list(t, store, v); len(all) != 1 || len(all[0].Questions) != 0 {
		t.Errorf("carriers %+v", all)
	}
}

// Each answered question's presence has an id of its own right after it was registered: the feedback is written with it.
func TestRegisterGivesPresences(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	var form fault.Form
	res := register(t, store, v, 1, 1, 2).Check(texts(1, 2), &form)
	if len(res.AnswerIDs) != 2 || res.AnswerIDs[0] == res.AnswerIDs[1] || slices.Contains(res.AnswerIDs, 0) {
		t.Errorf("answer ids %v", res.AnswerIDs)
	}
}

// The same numbers in two organizations are two carriers and two questions.
func TestRegisterKeepsOrganizationsApart(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	other := organization(t)
	c := create(t, store, v, carrier.New{Name: "Survey", Questions: []carrier.NewQuestion{{Name: "NPS", Type: carrier.NPS, Required: true}}})
	id := c.Questions[0].ID
	items := []carrier.Item{{QuestionID: id, Value: "not a score"}}
	r := rules(t, store, other, c.ID, items...)
	if r.Cover(items) {
		t.Error("the other organization knows the question")
	}
	if _, err := store.Register(t.Context(), other, r, items); err != nil {
		t.Fatal(err)
	}
	want := []asked{{id, "Question " + strconv.FormatInt(id, 10), carrier.Text, 1, false}}
	if diff := cmp.Diff(want, askedOf(list(t, store, other)[0])); diff != "" {
		t.Errorf("the other's question (-want +got):\n%s", diff)
	}
	if got := askedOf(list(t, store, v)[0])[0]; got.Type != carrier.NPS {
		t.Errorf("ours became %+v", got)
	}
}

// A strict organization refuses what nobody registered, at the field that names it, and registers nothing.
func TestStrictOrganizationRefusesWhatIsUnknown(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	c := create(t, store, v, carrier.New{Name: "Survey", Questions: []carrier.NewQuestion{{Name: "Text", Type: carrier.Text}}})
	known := c.Questions[0].ID
	beStrict(t, v, true)
	for name, tc := range map[string]struct {
		carrier   int64
		questions []int64
		fields    []string
	}{
		"known":             {c.ID, []int64{known}, nil},
		"no items":          {c.ID, nil, nil},
		"unknown carrier":   {453, []int64{known}, []string{"carrier_id"}},
		"nothing known":     {453, []int64{12}, []string{"carrier_id"}},
		"carrier, no items": {453, nil, []string{"carrier_id"}},
		"unknown question":  {c.ID, []int64{known, 12}, []string{"items.1.question_id"}},
		"unknown questions": {c.ID, []int64{12, known, 13}, []string{"items.0.question_id", "items.2.question_id"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var form fault.Form
			if _, err := store.Rules(t.Context(), v, tc.carrier, texts(tc.questions...), &form); err != nil {
				t.Fatal(err)
			}
			wantFields(t, form.Err(), tc.fields...)
			if all := list(t, store, v); len(all) != 1 || len(all[0].Questions) != 1 {
				t.Errorf("carriers %+v", all)
			}
		})
	}
}

// A question that another carrier asks keeps its meaning: a lenient organization takes the answer by that question's
// rules, a strict one refuses it.
func TestQuestionOfAnotherCarrier(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	first := create(t, store, v, carrier.New{Name: "First", Questions: []carrier.NewQuestion{{Name: "NPS", Type: carrier.NPS, Required: true}}})
	second := create(t, store, v, carrier.New{Name: "Second", Questions: []carrier.NewQuestion{{Name: "Text", Type: carrier.Text}}})
	stranger, own := first.Questions[0], second.Questions[0]
	items := []carrier.Item{{QuestionID: own.ID, Value: "fine"}, {QuestionID: stranger.ID, Value: "9"}}

	r := rules(t, store, v, second.ID, items...)
	if !r.Cover(items) {
		t.Error("it is to be registered again")
	}
	var form fault.Form
	res := r.Check(items, &form)
	if err := form.Err(); err != nil {
		t.Fatal(err)
	}
	if res.Profile != carrier.Positive || res.AnswerIDs[1] != stranger.PresenceID {
		t.Errorf("it was read by other rules: %+v", res)
	}
	r.Check([]carrier.Item{{QuestionID: stranger.ID, Value: "11"}}, &form)
	wantFields(t, form.Err(), "items.0.value")

	// It is required by its own carrier only, and nothing of it stays behind with the other.
	form = fault.Form{}
	if r := rules(t, store, v, second.ID, items[:1]...); r.Cover(items) || !r.Check(items[:1], &form).Completed {
		t.Error("the stranger stayed")
	}

	beStrict(t, v, true)
	form = fault.Form{}
	if _, err := store.Rules(t.Context(), v, second.ID, items, &form); err != nil {
		t.Fatal(err)
	}
	wantFields(t, form.Err(), "items.1.question_id")
}

// What a process remembers may be a second old: it asks the database before it refuses.
func TestStrictnessAsksBeforeItRefuses(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	other := carrier.NewStore(pgtest.DB(t))
	register(t, store, v, 453, 12)
	beStrict(t, v, true)
	// It remembers the one carrier without the question, and that there is no other.
	for id, field := range map[int64]string{453: "items.0.question_id", 454: "carrier_id"} {
		var form fault.Form
		if _, err := other.Rules(t.Context(), v, id, texts(id), &form); err != nil {
			t.Fatal(err)
		}
		wantFields(t, form.Err(), field)
	}
	beStrict(t, v, false)
	register(t, store, v, 453, 453)
	register(t, store, v, 454, 454)
	beStrict(t, v, true)
	rules(t, other, v, 453, texts(453)...)
	rules(t, other, v, 454, texts(454)...)
}

// Clients that bring the same news at the same time, through several processes, all succeed, and it is registered once.
func TestRegisterFromManyAtOnce(t *testing.T) {
	t.Parallel()
	v := organization(t)
	stores := []*carrier.Store{carrier.NewStore(pgtest.DB(t)), carrier.NewStore(pgtest.DB(t))}
	together(t, 20, func(i int) error {
		// In any order, and not all the same ones.
		items := texts(14, 12, 13, int64(20+i%3))
		if i%2 == 0 {
			slices.Reverse(items)
		}
		return meet(t, stores[i%len(stores)], v, 453, items)
	})
	all := list(t, stores[0], v)
	if len(all) != 1 {
		t.Fatalf("%d carriers, want 1", len(all))
	}
	var ids []int64
	for _, q := range all[0].Questions {
		ids = append(ids, q.ID)
	}
	slices.Sort(ids)
	if diff := cmp.Diff([]int64{12, 13, 14, 20, 21, 22}, ids); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
}

// A new question that comes with two new carriers at once belongs to one of them, and both take its answers.
func TestRegisterOneQuestionWithTwoCarriersAtOnce(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	together(t, 20, func(i int) error {
		items := texts(12, 13, 14)
		if i%2 == 0 {
			slices.Reverse(items)
		}
		return meet(t, store, v, int64(1+i%2), items)
	})
	n := 0
	for _, c := range list(t, store, v) {
		n += len(c.Questions)
	}
	if n != 3 {
		t.Errorf("%d questions, want 3", n)
	}
}

// meet does what a feedback does with its carrier and questions.
func meet(t *testing.T, store *carrier.Store, v account.View, id int64, items []carrier.Item) error {
	var form fault.Form
	r, err := store.Rules(t.Context(), v, id, items, &form)
	if err != nil {
		return err
	}
	if !r.Cover(items) {
		if r, err = store.Register(t.Context(), v, r, items); err != nil {
			return err
		}
	}
	if !r.Cover(items) {
		return errors.New("the rules do not cover the items")
	}
	r.Check(items, &form)
	return form.Err()
}

// together runs f n times at once.
func together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			if err := f(i); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
}
