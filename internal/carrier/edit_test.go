package carrier_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/pg/pgtest"
)

// A carrier comes back with its questions and options in order, names trimmed and the scale filled in.
func TestCreateReturnsWhatItWrote(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	c := create(t, store, v, carrier.New{Name: " Survey ", Questions: []carrier.NewQuestion{
		{Name: " Stars ", Type: carrier.Rating, Required: true},
		{Name: "Slider", Type: carrier.Slider, Max: 100},
		{Name: "Colours", Type: carrier.MultipleChoice, Options: []string{" Red", "Green ", "red"}},
		{Name: "NPS", Type: carrier.NPS, Max: 3},
	}})
	if c.Name != "Survey" || c.ArchivedAt != nil || c.CreatedAt.IsZero() || c.TeamID == 0 {
		t.Errorf("carrier %+v", c)
	}
	var ids []int64
	for i, q := range c.Questions {
		if q.CarrierID != c.ID || q.Position != i+1 || q.PresenceID == 0 {
			t.Errorf("question %+v", q)
		}
		ids = append(ids, q.ID)
		for _, o := range q.Options {
			if o.QuestionID != q.ID || o.ID == 0 {
				t.Errorf("option %+v", o)
			}
		}
	}
	option := func(name string) carrier.Option { return carrier.Option{Name: name} }
	want := []carrier.Question{
		{Name: "Stars", Type: carrier.Rating, Required: true, Max: new(int16(5))},
		{Name: "Slider", Type: carrier.Slider, Max: new(int16(100))},
		{Name: "Colours", Type: carrier.MultipleChoice, Options: []carrier.Option{option("Red"), option("Green"), option("red")}},
		{Name: "NPS", Type: carrier.NPS},
	}
	given := []cmp.Option{
		cmpopts.IgnoreUnexported(carrier.Question{}),
		cmpopts.IgnoreFields(carrier.Question{}, "ID", "CarrierID", "PresenceID", "Position"),
		cmpopts.IgnoreFields(carrier.Option{}, "ID", "QuestionID"),
	}
	if diff := cmp.Diff(want, c.Questions, given...); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	found, err := store.Questions(t.Context(), v, append(ids, 1<<50))
	if err != nil || len(found) != len(ids) {
		t.Errorf("found %v, %v", found, err)
	}
	if found, err := store.Questions(t.Context(), organization(t), ids); err != nil || len(found) != 0 {
		t.Errorf("another organization found %v, %v", found, err)
	}
}

// A scale's closed answers are on record with its question: a create finds them there.
func TestCreateWritesClosedAnswers(t *testing.T) {
	t.Parallel()
	s := newSurvey(t)
	counts := map[carrier.Type]int{}
	seen := map[int64]bool{}
	for key, id := range s.scores {
		for of, q := range s.of {
			if q.ID == key[0] {
				counts[of]++
			}
		}
		if seen[id] {
			t.Errorf("dictionary id %d stands for two answers", id)
		}
		seen[id] = true
	}
	want := map[carrier.Type]int{
		carrier.NPS: 11, carrier.Smiley: 5, carrier.Rating: 5, carrier.Slider: 10, carrier.CES: 7, carrier.RatingsTable: 10,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("closed answers (-want +got):\n%s", diff)
	}
}

// Every mistake in a carrier is named by its field, all at once, and nothing is created.
func TestCreateNamesMistakes(t *testing.T) {
	t.Parallel()
	one := func(q carrier.NewQuestion) carrier.New {
		return carrier.New{Name: "Survey", Questions: []carrier.NewQuestion{{Name: "Good", Type: carrier.Text}, q}}
	}
	cases := map[string]struct {
		carrier carrier.New
		fields  []string
	}{
		"no name":          {carrier.New{Name: " "}, []string{"name"}},
		"nameless":         {one(carrier.NewQuestion{Name: "\t", Type: carrier.Text}), []string{"questions.1.name"}},
		"no type":          {one(carrier.NewQuestion{Name: "Q"}), []string{"questions.1.type"}},
		"unknown type":     {one(carrier.NewQuestion{Name: "Q", Type: "stars"}), []string{"questions.1.type"}},
		"scale of one":     {one(carrier.NewQuestion{Name: "Q", Type: carrier.Rating, Max: 1}), []string{"questions.1.max"}},
		"scale too long":   {one(carrier.NewQuestion{Name: "Q", Type: carrier.Slider, Max: 101}), []string{"questions.1.max"}},
		"negative scale":   {one(carrier.NewQuestion{Name: "Q", Type: carrier.Rating, Max: -5}), []string{"questions.1.max"}},
		"options for text": {one(carrier.NewQuestion{Name: "Q", Type: carrier.Text, Options: []string{"a"}}), []string{"questions.1.options"}},
		"everything": {
			carrier.New{Questions: []carrier.NewQuestion{
				{Type: "stars"}, {Name: "Q", Type: carrier.Choice}, {Name: "Q", Type: carrier.Rating, Max: 500},
			}},
			[]string{"name", "questions.0.name", "questions.0.type", "questions.1.options", "questions.2.max"},
		},
	}
	for _, of := range []carrier.Type{carrier.Choice, carrier.MultipleChoice, carrier.RatingsTable} {
		for name, c := range map[string]struct {
			options []string
			field   string
		}{
			"none":                {nil, "questions.1.options"},
			"nameless":            {[]string{"a", " "}, "questions.1.options.1"},
			"two of one name":     {[]string{"a", "b", "a"}, "questions.1.options.2"},
			"two that look alike": {[]string{"a", " a "}, "questions.1.options.1"},
		} {
			q := carrier.NewQuestion{Name: "Q", Type: of, Options: c.options}
			cases[fmt.Sprintf("options of %s: %s", of, name)] = struct {
				carrier carrier.New
				fields  []string
			}{one(q), []string{c.field}}
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, v := setUp(t)
			_, err := store.Create(t.Context(), v, c.carrier)
			wantFields(t, err, c.fields...)
			if all := list(t, store, v); len(all) != 0 {
				t.Errorf("it left %+v", all)
			}
		})
	}
}

// Numbers of ours skip those that clients used: nobody's feedback falls under rules made for something else.
func TestCreateSkipsNumbersInUse(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.New(t)) // the sequences are everybody's
	store, v := carrier.NewStore(db), organizationIn(t, db)
	var carriers, questions int64
	err := db.QueryRow(t.Context(), `SELECT nextval('carrier_id') + 1, nextval('question_id') + 1`).Scan(&carriers, &questions)
	if err != nil {
		t.Fatal(err)
	}
	register(t, store, v, carriers, questions, questions+1, questions+3)
	register(t, store, v, carriers+1)

	c := create(t, store, v, carrier.New{Name: "Ours", Questions: []carrier.NewQuestion{
		{Name: "A", Type: carrier.NPS}, {Name: "B", Type: carrier.NPS},
	}})
	if c.ID != carriers+2 {
		t.Errorf("carrier %d, want %d", c.ID, carriers+2)
	}
	if a, b := c.Questions[0].ID, c.Questions[1].ID; a != questions+2 || b != questions+4 {
		t.Errorf("questions %d and %d, want %d and %d", a, b, questions+2, questions+4)
	}
	if got := askedOf(list(t, store, v)[0]); len(got) != 3 || slices.ContainsFunc(got, func(q asked) bool { return q.Type != carrier.Text }) {
		t.Errorf("the client's questions became %+v", got)
	}
}

// Pages go by id and tell how many there are in all; another organization's carriers are on none of them.
func TestListPagesByID(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	other := organization(t)
	for _, id := range []int64{30, 10, 50, 20, 40} {
		register(t, store, v, id, id+1, id+2)
		register(t, store, other, id+5, id+6)
	}
	for name, c := range map[string]struct {
		offset, limit int
		want          []int64
	}{
		"first":    {0, 2, []int64{10, 20}},
		"second":   {2, 2, []int64{30, 40}},
		"last":     {4, 2, []int64{50}},
		"past it":  {6, 2, nil},
		"all":      {0, 100, []int64{10, 20, 30, 40, 50}},
		"none":     {0, 0, nil},
		"one more": {1, 1, []int64{20}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, total, err := store.List(t.Context(), v, c.offset, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			var ids []int64
			for _, one := range page {
				ids = append(ids, one.ID)
				want := []asked{
					{one.ID + 1, fmt.Sprintf("Question %d", one.ID+1), carrier.Text, 1, false},
					{one.ID + 2, fmt.Sprintf("Question %d", one.ID+2), carrier.Text, 2, false},
				}
				if diff := cmp.Diff(want, askedOf(one)); diff != "" {
					t.Errorf("questions of %d (-want +got):\n%s", one.ID, diff)
				}
			}
			if diff := cmp.Diff(c.want, ids); diff != "" || total != 5 {
				t.Errorf("%d in all; page (-want +got):\n%s", total, diff)
			}
		})
	}
	if none, total, err := store.List(t.Context(), organization(t), 0, 10); len(none) != 0 || total != 0 || err != nil {
		t.Errorf("a new organization has %v of %d, %v", none, total, err)
	}
}

// The oldest carrier of a name is the one; another organization's is none.
func TestByNameFindsTheOldest(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	_, err := store.ByName(t.Context(), v, "Survey")
	wantFault(t, err, fault.NotFound)
	create(t, store, organization(t), carrier.New{Name: "Survey"})
	_, err = store.ByName(t.Context(), v, "Survey")
	wantFault(t, err, fault.NotFound)
	first := create(t, store, v, carrier.New{Name: "Survey", Questions: []carrier.NewQuestion{{Name: "Q", Type: carrier.NPS}}})
	create(t, store, v, carrier.New{Name: "Survey"})
	got, err := store.ByName(t.Context(), v, "Survey")
	if err != nil || got.ID != first.ID || len(got.Questions) != 1 {
		t.Errorf("got %+v, %v, want %d", got, err, first.ID)
	}
}
