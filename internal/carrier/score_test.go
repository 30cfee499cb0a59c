package carrier_test

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/pg/pgtest"
)

// An NPS answer up to 6 is negative, 7 and 8 are neutral, 9 and 10 positive.
func TestProfileBoundaries(t *testing.T) {
	t.Parallel()
	s := newSurvey(t)
	for value, want := range map[string]carrier.Profile{
		"0": carrier.Negative, "6": carrier.Negative, "7": carrier.Neutral, "8": carrier.Neutral, "9": carrier.Positive, "10": carrier.Positive,
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			if got := s.good(t, s.item(carrier.Text, "a"), s.item(carrier.NPS, value)).Profile; got != want {
				t.Errorf("profile %d, want %d", got, want)
			}
		})
	}
}

// Without an NPS answer there is no profile, whatever else was scored.
func TestProfileNeedsAnNPSAnswer(t *testing.T) {
	t.Parallel()
	s := newSurvey(t)
	for name, items := range map[string][]carrier.Item{
		"no items":  nil,
		"empty NPS": {s.item(carrier.NPS, "")},
		"others":    {s.item(carrier.Slider, "9"), s.item(carrier.CES, "7"), s.item(carrier.Number, "9"), s.row("Food", "5")},
	} {
		if got := s.good(t, items...).Profile; got != 0 {
			t.Errorf("%s: profile %d, want none", name, got)
		}
	}
}

// The scale is the mean of value/max over the answers that say how satisfied someone is: effort, numbers and
// empty answers say nothing.
func TestScaleIsTheMeanOfTheScales(t *testing.T) {
	t.Parallel()
	s := newSurvey(t)
	example := []carrier.Item{s.item(carrier.Slider, "7"), s.item(carrier.NPS, "6"), s.row("Food", "4")}
	for name, c := range map[string]struct {
		items []carrier.Item
		want  *big.Rat
	}{
		"no items":        {nil, nil},
		"nothing scored":  {[]carrier.Item{s.item(carrier.Text, "5"), s.item(carrier.Number, "5"), s.item(carrier.Choice, "No")}, nil},
		"effort alone":    {[]carrier.Item{s.item(carrier.CES, "7")}, nil},
		"empty":           {[]carrier.Item{s.item(carrier.NPS, ""), s.row("Food", "")}, nil},
		"worked example":  {example, big.NewRat(70, 1)},
		"effort beside":   {append(example, s.item(carrier.CES, "1"), s.item(carrier.Smiley, "")), big.NewRat(70, 1)},
		"lowest NPS":      {[]carrier.Item{s.item(carrier.NPS, "0")}, new(big.Rat)},
		"lowest smiley":   {[]carrier.Item{s.item(carrier.Smiley, "1")}, big.NewRat(20, 1)},
		"highest":         {[]carrier.Item{s.item(carrier.Rating, "5"), s.item(carrier.Slider, "10")}, big.NewRat(100, 1)},
		"each row counts": {[]carrier.Item{s.row("Food", "5"), s.row("Staff", "1"), s.item(carrier.NPS, "3")}, big.NewRat(50, 1)},
		"thirds": {
			[]carrier.Item{s.item(carrier.NPS, "10"), s.item(carrier.Slider, "10"), s.item(carrier.Smiley, "1")},
			big.NewRat(220, 3),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.good(t, c.items...).Scale
			if (got == nil) != (c.want == nil) || got != nil && got.Cmp(c.want) != 0 {
				t.Errorf("scale %v, want %v", got, c.want)
			}
		})
	}
}

// Whatever is answered, in whatever order, the scale is the plain mean.
func TestScaleOfAnyAnswers(t *testing.T) {
	t.Parallel()
	s := newSurvey(t)
	tops := map[carrier.Type]int{carrier.NPS: 10, carrier.Smiley: 5, carrier.Rating: 5, carrier.Slider: 10, carrier.RatingsTable: 5, carrier.CES: 7}
	scored := []carrier.Type{carrier.NPS, carrier.Smiley, carrier.Rating, carrier.Slider, carrier.RatingsTable, carrier.CES}
	rapid.Check(t, func(t *rapid.T) {
		var items []carrier.Item
		percents := new(big.Rat)
		n := int64(0)
		for _, of := range rapid.Permutation(scored).Draw(t, "order")[:rapid.IntRange(0, len(scored)).Draw(t, "answers")] {
			low := 1
			if of == carrier.NPS {
				low = 0
			}
			value := rapid.IntRange(low, tops[of]).Draw(t, string(of))
			item := s.item(of, fmt.Sprint(value))
			if of == carrier.RatingsTable {
				item.Option = rapid.SampledFrom([]string{"Food", "Staff"}).Draw(t, "row")
			}
			items = append(items, item)
			if of != carrier.CES {
				percents.Add(percents, big.NewRat(int64(100*value), int64(tops[of])))
				n++
			}
		}
		var form fault.Form
		got := s.Check(items, &form).Scale
		if err := form.Err(); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if got != nil {
				t.Fatalf("scale %v, want none", got)
			}
			return
		}
		if want := percents.Mul(percents, big.NewRat(1, n)); got == nil || got.Cmp(want) != 0 {
			t.Fatalf("scale %v, want %v", got, want)
		}
	})
}

// Satisfaction is the mean of scales and texts, or the one there is, in hundredths of a percent, half up.
func TestSatisfactionRoundsHalfUp(t *testing.T) {
	t.Parallel()
	rat := func(a, b int64) *big.Rat { return big.NewRat(a, b) }
	for name, c := range map[string]struct {
		scale, text *big.Rat
		want        int16
	}{
		"worked example":       {rat(70, 1), rat(70, 1), 7000},
		"scales alone":         {rat(70, 1), nil, 7000},
		"texts alone":          {nil, rat(90, 1), 9000},
		"both":                 {rat(100, 1), rat(0, 1), 5000},
		"nothing is something": {rat(0, 1), nil, 0},
		"everything":           {rat(100, 1), rat(100, 1), 10000},
		"two thirds":           {rat(200, 3), nil, 6667},
		"one third":            {rat(100, 3), nil, 3333},
		"half goes up":         {rat(66665, 1000), nil, 6667},
		"half of both":         {rat(6667, 100), rat(6666, 100), 6667},
		"just below half":      {rat(66664999, 1000000), nil, 6666},
		"one in eight":         {rat(100, 8), rat(1249, 100), 1250},
		"rounded once":         {rat(100, 3), rat(100, 6), 2500},
		"tiny":                 {rat(5, 1000), nil, 1},
		"tinier":               {rat(4, 1000), nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := fmt.Sprint(c.scale, c.text)
			got := carrier.Satisfaction(c.scale, c.text)
			if got == nil || *got != c.want {
				t.Errorf("got %v, want %d", got, c.want)
			}
			if after := fmt.Sprint(c.scale, c.text); after != before {
				t.Errorf("the arguments became %s from %s", after, before)
			}
		})
	}
}

// Where nothing could be measured there is no satisfaction, which is not zero.
func TestSatisfactionOfNothingIsNone(t *testing.T) {
	t.Parallel()
	if got := carrier.Satisfaction(nil, nil); got != nil {
		t.Errorf("got %d", *got)
	}
}

// Any mean comes out as long division rounds it.
func TestSatisfactionOfAnyAnswers(t *testing.T) {
	t.Parallel()
	mean := func(t *rapid.T, label string, tops []int64) *big.Rat {
		n := rapid.IntRange(0, 12).Draw(t, label)
		if n == 0 {
			return nil
		}
		sum := new(big.Rat)
		for range n {
			top := rapid.SampledFrom(tops).Draw(t, "top")
			sum.Add(sum, big.NewRat(100*rapid.Int64Range(0, top).Draw(t, "value"), top))
		}
		return sum.Quo(sum, big.NewRat(int64(n), 1))
	}
	rapid.Check(t, func(t *rapid.T) {
		scale := mean(t, "scales", []int64{2, 3, 5, 7, 10, 97, 100})
		text := mean(t, "texts", []int64{100})
		got := carrier.Satisfaction(scale, text)
		exact, n := new(big.Rat), int64(0)
		for _, r := range []*big.Rat{scale, text} {
			if r != nil {
				exact.Add(exact, r)
				n++
			}
		}
		if n == 0 {
			if got != nil {
				t.Fatalf("got %d, want none", *got)
			}
			return
		}
		exact.Mul(exact, big.NewRat(1, n))
		// FloatString rounds half away from zero: for what is not negative, up.
		want, err := strconv.Atoi(strings.Replace(exact.FloatString(2), ".", "", 1))
		if err != nil {
			t.Fatal(err)
		}
		if got == nil || int(*got) != want {
			t.Fatalf("got %v, want %d for %s", got, want, exact.FloatString(6))
		}
	})
}

// Feedback is complete when it has items, none is empty, and every required question of its carrier is answered.
func TestCompletion(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	c := create(t, store, v, carrier.New{Name: "Survey", Questions: []carrier.NewQuestion{
		{Name: "Must", Type: carrier.NPS, Required: true},
		{Name: "Must too", Type: carrier.MultipleChoice, Required: true, Options: []string{"Red", "Blue"}},
		{Name: "May", Type: carrier.Text},
		{Name: "Past", Type: carrier.Text, Required: true},
	}})
	must, colours, may, past := c.Questions[0].ID, c.Questions[1].ID, c.Questions[2].ID, c.Questions[3].ID
	// Nobody is asked it any more.
	_, err := pgtest.DB(t).Exec(t.Context(), `UPDATE question SET archived_at = now() WHERE organization_id = $1 AND id = $2`, v.Org(), past)
	if err != nil {
		t.Fatal(err)
	}
	r := rules(t, store, v, c.ID)
	item := func(id int64, value string) carrier.Item { return carrier.Item{QuestionID: id, Value: value} }
	for name, c := range map[string]struct {
		items []carrier.Item
		want  bool
	}{
		"no items":               {nil, false},
		"all that is required":   {[]carrier.Item{item(must, "0"), item(colours, "Red")}, true},
		"everything":             {[]carrier.Item{item(may, "a"), item(must, "9"), item(colours, "Red"), item(colours, "Blue")}, true},
		"one required missing":   {[]carrier.Item{item(must, "9"), item(may, "a")}, false},
		"only what is optional":  {[]carrier.Item{item(may, "a")}, false},
		"required is empty":      {[]carrier.Item{item(must, ""), item(colours, "Red")}, false},
		"optional is empty":      {[]carrier.Item{item(must, "9"), item(colours, "Red"), item(may, "")}, false},
		"one of several empty":   {[]carrier.Item{item(must, "9"), item(colours, "Red"), item(colours, "")}, false},
		"something unregistered": {[]carrier.Item{item(must, "9"), item(colours, "Red"), item(77, "new")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var form fault.Form
			got := r.Check(c.items, &form).Completed
			if err := form.Err(); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("completed is %v", got)
			}
		})
	}
}
