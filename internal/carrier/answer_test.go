package carrier_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/carrier"
)

// Every type of question takes its own sort of value, and blames the value for anything else.
func TestCheckTakesTheValuesOfEachType(t *testing.T) {
	t.Parallel()
	s := newSurvey(t)
	noNumber := []string{"seven", "7,0", "7.5", "+7", "0x5", "NaN", "--1", ".", "70000", "99999999999999999999", "٧", "7 8"}
	long := strings.Repeat("ž", 65_535)
	for of, c := range map[carrier.Type]struct{ good, bad []string }{
		carrier.NPS:      {[]string{"0", "6", "10", "10.0", "0.000"}, append([]string{"-1", "11", "10.1"}, noNumber...)},
		carrier.Smiley:   {[]string{"1", "5", "5.0"}, append([]string{"0", "6", "-1"}, noNumber...)},
		carrier.Rating:   {[]string{"1", "5", "1.0"}, append([]string{"0", "6", "-1"}, noNumber...)},
		carrier.Slider:   {[]string{"1", "7", "10"}, append([]string{"0", "11", "-1"}, noNumber...)},
		carrier.CES:      {[]string{"1", "7"}, append([]string{"0", "8", "-1"}, noNumber...)},
		carrier.Choice:   {[]string{"Yes", "No"}, []string{"yes", " Yes", "Maybe", "1"}},
		carrier.Textarea: {[]string{"x", "0", " ", "two\nlines", "😀", long}, nil},
		carrier.Text:     {[]string{"x", "0", " ", "two\nlines", "😀", long}, nil},
		carrier.Date: {
			[]string{
				"2026-01-31", "2024-02-29", "2026-01-31T09:15:00Z", "2026-01-31T09:15:00.123456+02:00", "2026-01-31 09:15:00",
				"01/31/2026", "01/31/2026 09:15:00",
			},
			[]string{"2026-02-29", "31/01/2026", "2026-1-31", "tomorrow", "2026-01-31T25:00:00Z", "0", "2026", " 2026-01-31"},
		},
		carrier.Number: {
			[]string{"0", "-0", "7", "1.50", "1e5", "-12345678901234567890.5"},
			[]string{"seven", "+1", "01", "1,5", "0x10", "NaN", "Inf", "1e400", "1e-400", " 1", "1_000", "true", "null", "[]"},
		},
	} {
		for _, value := range c.good {
			t.Run(fmt.Sprintf("%s takes %.20q", of, value), func(t *testing.T) {
				t.Parallel()
				res := s.good(t, s.item(of, value))
				if got := res.Answers[0]; got.Value != value || got.QuestionID != s.of[of].ID {
					t.Errorf("the answer is %+v", got)
				}
			})
		}
		for _, value := range c.bad {
			t.Run(fmt.Sprintf("%s refuses %.20q", of, value), func(t *testing.T) {
				t.Parallel()
				_, fields := s.check(t, s.item(carrier.Text, "before"), s.item(of, value))
				if diff := cmp.Diff([]string{"items.1.value"}, fields); diff != "" {
					t.Errorf("fields (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// An item that is empty is kept as it is: it is no mistake, no score and no answer.
func TestCheckKeepsEmptyValues(t *testing.T) {
	t.Parallel()
	s := newSurvey(t)
	for of, q := range s.of {
		t.Run(string(of), func(t *testing.T) {
			t.Parallel()
			item := s.item(of, "")
			want := carrier.Answer{QuestionID: q.ID}
			if of == carrier.RatingsTable {
				item.Option, want.OptionID = "Food", s.option(of, "Food")
			}
			res := s.good(t, item)
			if diff := cmp.Diff(carrier.Result{Answers: []carrier.Answer{want}}, res); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// A chosen option is named by the value, by question_option_id, by option, or several of them that agree.
func TestCheckFindsTheOption(t *testing.T) {
	t.Parallel()
	s := newSurvey(t)
	for _, of := range []carrier.Type{carrier.Choice, carrier.MultipleChoice, carrier.RatingsTable} {
		q := s.of[of]
		first, second := q.Options[0], q.Options[1]
		foreign := s.option(carrier.Choice, "No")
		if of == carrier.Choice {
			foreign = s.option(carrier.RatingsTable, "Food")
		}
		for name, c := range map[string]struct {
			value  string // of a choice; a row's value is its score
			id     int64
			option string
			fields []string
		}{
			"by id":                {id: first.ID},
			"by name":              {option: first.Name},
			"by both":              {id: first.ID, option: first.Name},
			"by value":             {value: first.Name},
			"by id and value":      {value: first.Name, id: first.ID},
			"by name and value":    {value: first.Name, option: first.Name},
			"id against name":      {id: first.ID, option: second.Name, fields: []string{"items.0.question_option_id"}},
			"unknown id":           {id: 1 << 50, fields: []string{"items.0.question_option_id"}},
			"negative id":          {id: -1, fields: []string{"items.0.question_option_id"}},
			"another question's":   {id: foreign, fields: []string{"items.0.question_option_id"}},
			"unknown name":         {option: "Nowhere", fields: []string{"items.0.option"}},
			"name in another case": {option: strings.ToUpper(first.Name), fields: []string{"items.0.option"}},
			"id against value":     {value: second.Name, id: first.ID, fields: []string{"items.0.value"}},
			"name against value":   {value: second.Name, option: first.Name, fields: []string{"items.0.value"}},
			"unknown value":        {value: "Nowhere", fields: []string{"items.0.value"}},
			"id, unknown value":    {value: "Nowhere", id: first.ID, fields: []string{"items.0.value"}},
		} {
			if of == carrier.RatingsTable && c.value != "" {
				continue
			}
			t.Run(string(of)+" "+name, func(t *testing.T) {
				t.Parallel()
				item := carrier.Item{QuestionID: q.ID, Value: c.value, OptionID: c.id, Option: c.option}
				want := carrier.Answer{QuestionID: q.ID, OptionID: first.ID, Value: first.Name}
				if of == carrier.RatingsTable {
					item.Value, want.Value = "4", "4"
				}
				res, fields := s.check(t, item)
				if diff := cmp.Diff(c.fields, fields); diff != "" {
					t.Errorf("fields (-want +got):\n%s", diff)
				}
				if len(c.fields) == 0 && res.Answers[0] != want {
					t.Errorf("the answer is %+v, want %+v", res.Answers[0], want)
				}
			})
		}
	}
}

// A row of a ratings table is one item with a score from 1 to 5; without its row it means nothing.
func TestCheckRatingsTable(t *testing.T) {
	t.Parallel()
	s := newSurvey(t)
	for name, c := range map[string]struct {
		items  []carrier.Item
		fields []string
	}{
		"every row":       {[]carrier.Item{s.row("Staff", "1"), s.row("Food", "5")}, nil},
		"no row":          {[]carrier.Item{s.row("", "4")}, []string{"items.0.option"}},
		"no row, empty":   {[]carrier.Item{s.row("", "")}, []string{"items.0.option"}},
		"row as value":    {[]carrier.Item{s.row("", "Food")}, []string{"items.0.option", "items.0.value"}},
		"too low":         {[]carrier.Item{s.row("Food", "0")}, []string{"items.0.value"}},
		"too high":        {[]carrier.Item{s.row("Food", "6")}, []string{"items.0.value"}},
		"no number":       {[]carrier.Item{s.row("Food", "good")}, []string{"items.0.value"}},
		"row twice":       {[]carrier.Item{s.row("Food", "4"), s.row("Food", "4")}, []string{"items.1.question_id"}},
		"one empty":       {[]carrier.Item{s.row("Food", "4"), s.row("Staff", "")}, nil},
		"all of it wrong": {[]carrier.Item{s.row("Cellar", "9")}, []string{"items.0.option", "items.0.value"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, fields := s.check(t, c.items...)
			if diff := cmp.Diff(c.fields, fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

// A multiple choice takes one item per option; any other question is answered once, empty answers included.
func TestCheckRefusesAnsweringTwice(t *testing.T) {
	t.Parallel()
	s := newSurvey(t)
	red := s.item(carrier.MultipleChoice, "Red")
	redByID := carrier.Item{QuestionID: red.QuestionID, OptionID: s.option(carrier.MultipleChoice, "Red")}
	good := map[carrier.Type]string{
		carrier.Choice: "Yes", carrier.Text: "a", carrier.Textarea: "a", carrier.Date: "2026-01-31",
		carrier.NPS: "1", carrier.Smiley: "1", carrier.Rating: "1", carrier.Slider: "1", carrier.CES: "1", carrier.Number: "1",
	}
	cases := map[string]struct {
		items  []carrier.Item
		fields []string
	}{
		"colours":         {[]carrier.Item{s.item(carrier.MultipleChoice, "Blue"), red, s.item(carrier.MultipleChoice, "Green")}, nil},
		"a colour twice":  {[]carrier.Item{red, red}, []string{"items.1.question_id"}},
		"a colour by id":  {[]carrier.Item{red, redByID}, []string{"items.1.question_id"}},
		"a colour thrice": {[]carrier.Item{red, red, red}, []string{"items.1.question_id", "items.2.question_id"}},
		"unregistered":    {texts(77, 78, 77), []string{"items.2.question_id"}},
		"two options of a choice": {
			[]carrier.Item{s.item(carrier.Choice, "Yes"), s.item(carrier.Choice, "No")}, []string{"items.1.question_id"},
		},
	}
	for of, value := range good {
		a, empty := s.item(of, value), s.item(of, "")
		between := s.item(carrier.MultipleChoice, "Red")
		cases[string(of)] = struct {
			items  []carrier.Item
			fields []string
		}{[]carrier.Item{a, between, a}, []string{"items.2.question_id"}}
		cases[string(of)+", once empty"] = struct {
			items  []carrier.Item
			fields []string
		}{[]carrier.Item{empty, a}, []string{"items.1.question_id"}}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, fields := s.check(t, c.items...)
			if diff := cmp.Diff(c.fields, fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

// Feedback is found by what was answered: the presence of each question once, and each closed answer.
func TestCheckCollectsAnswerIDs(t *testing.T) {
	t.Parallel()
	s := newSurvey(t)
	presence := func(of carrier.Type) int64 { return s.of[of].PresenceID }
	score := func(of carrier.Type, option, n int64) int64 { return s.scores[[3]int64{s.of[of].ID, option, n}] }
	food, staff := s.option(carrier.RatingsTable, "Food"), s.option(carrier.RatingsTable, "Staff")
	for name, c := range map[string]struct {
		items []carrier.Item
		want  []int64
	}{
		"nothing": {nil, nil},
		"empty":   {[]carrier.Item{s.item(carrier.NPS, ""), s.item(carrier.Text, ""), s.item(carrier.Choice, ""), s.row("Food", "")}, nil},
		"nps":     {[]carrier.Item{s.item(carrier.NPS, "0")}, []int64{presence(carrier.NPS), score(carrier.NPS, 0, 0)}},
		"nps 7.0": {[]carrier.Item{s.item(carrier.NPS, "7.0")}, []int64{presence(carrier.NPS), score(carrier.NPS, 0, 7)}},
		"smiley":  {[]carrier.Item{s.item(carrier.Smiley, "5")}, []int64{presence(carrier.Smiley), score(carrier.Smiley, 0, 5)}},
		"rating":  {[]carrier.Item{s.item(carrier.Rating, "2")}, []int64{presence(carrier.Rating), score(carrier.Rating, 0, 2)}},
		"slider":  {[]carrier.Item{s.item(carrier.Slider, "10")}, []int64{presence(carrier.Slider), score(carrier.Slider, 0, 10)}},
		"effort":  {[]carrier.Item{s.item(carrier.CES, "7")}, []int64{presence(carrier.CES), score(carrier.CES, 0, 7)}},
		"choice": {
			[]carrier.Item{s.item(carrier.Choice, "No")},
			[]int64{presence(carrier.Choice), s.option(carrier.Choice, "No")},
		},
		"colours": {
			[]carrier.Item{s.item(carrier.MultipleChoice, "Red"), s.item(carrier.MultipleChoice, ""), s.item(carrier.MultipleChoice, "Blue")},
			[]int64{presence(carrier.MultipleChoice), s.option(carrier.MultipleChoice, "Red"), s.option(carrier.MultipleChoice, "Blue")},
		},
		"table": {
			[]carrier.Item{s.row("Food", "4"), s.row("Staff", "4")},
			[]int64{presence(carrier.RatingsTable), score(carrier.RatingsTable, food, 4), score(carrier.RatingsTable, staff, 4)},
		},
		"open": {
			[]carrier.Item{
				s.item(carrier.Text, "a"), s.item(carrier.Textarea, "b"), s.item(carrier.Date, "2026-01-31"), s.item(carrier.Number, "1"),
			},
			[]int64{presence(carrier.Text), presence(carrier.Textarea), presence(carrier.Date), presence(carrier.Number)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.good(t, c.items...).AnswerIDs
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("answer ids (-want +got):\n%s", diff)
			}
			if slices.Contains(got, 0) {
				t.Error("an answer has no id")
			}
		})
	}
}

// Texts are the answers in free words, in the order sent; nothing else is read for sentiment.
func TestCheckCollectsTexts(t *testing.T) {
	t.Parallel()
	s := newSurvey(t)
	res := s.good(
		t, s.item(carrier.Textarea, "second\nline"), s.item(carrier.Choice, "Yes"), s.item(carrier.Number, "1"),
		s.item(carrier.Date, "2026-01-31"), s.item(carrier.NPS, "1"), s.item(carrier.Text, " first "), carrier.Item{QuestionID: 77, Value: "new"},
	)
	var texts []string
	for _, answer := range res.Texts {
		texts = append(texts, answer.Value)
	}
	if diff := cmp.Diff([]string{"second\nline", " first ", "new"}, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}
