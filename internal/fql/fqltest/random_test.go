package fqltest_test

import (
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"earshot/internal/fql/fqltest"
)

var world = fqltest.World{
	IDs: []int64{100, 101}, Carriers: []int64{453, 454}, Teams: []int64{7, 8},
	Times:   []time.Time{full.CreatedAt, bare.CreatedAt},
	Sources: []string{"email", "widget", "link"}, Statuses: []string{"todo", "progress", "resolved"},
	Satisfactions: []int{6667}, Sentiments: []int{4000},
	Attributes: full.Attributes, Topics: full.Topics, Questions: questions(),
	Owners: full.Owners, Fingerprints: []string{full.Fingerprint, bare.Fingerprint}, Words: []string{"Great", "50%", "ÉTÉ"},
	Now: now, Zone: berlin,
}

// All selectors with all their operators are spoken of, in all their forms, and every query is valid.
func TestRandomReachesEverything(t *testing.T) {
	t.Parallel()
	reached := map[string]bool{}
	forms := map[string]*regexp.Regexp{
		"everything":        regexp.MustCompile(`^\[\]$`),
		"bare and grouped":  regexp.MustCompile(`^\[\{.*\}\s*,\s*\[`),
		"or":                regexp.MustCompile(`"\$type":"or"`),
		"and":               regexp.MustCompile(`"\$type":"and"`),
		"empty list":        regexp.MustCompile(`"\$in":\[\]`),
		"list for $eq":      regexp.MustCompile(`"\$eq":\[[^\]]`),
		"scalar for $nin":   regexp.MustCompile(`"\$nin":[^\[]`),
		"numeric string":    regexp.MustCompile(`"Id":\{"\$gt":"\d`),
		"name beside":       regexp.MustCompile(`[\[ ,]\{"name":`),
		"name inside":       regexp.MustCompile(`"Attribute":\{[^{}]*"name":`),
		"id beside":         regexp.MustCompile(`[\[ ,]\{"id":"?\d`),
		"id inside":         regexp.MustCompile(`"Question":\{[^{}]*"id":`),
		"topics by id":      regexp.MustCompile(`"topics":\{"id":\{`),
		"attribute_values":  regexp.MustCompile(`"attribute_values":\{`),
		"date":              regexp.MustCompile(`"\d{4}-\d\d-\d\d"`),
		"instant":           regexp.MustCompile(`T\d\d:\d\d:\d\d(\.\d+)?\+05:30"`),
		"period":            regexp.MustCompile(`"date_last_12_months"`),
		"period, no prefix": regexp.MustCompile(`"CURRENT_QUARTER"`),
		"label":             regexp.MustCompile(`"Sentiment":\{"\$ne":"neutral"`),
		"wildcard":          regexp.MustCompile(`"\$like":"[^"]*%`),
		"pattern":           regexp.MustCompile(`"\$like":"[^"]*\.\*`),
		"other letters":     regexp.MustCompile(`"\$like":"[^"]*[^\x00-\x7f]`),
		"empty text":        regexp.MustCompile(`"\$eq":""`),
		"number as text":    regexp.MustCompile(`"\$eq":1\.50`),
		"spelling":          regexp.MustCompile(`"time_Period"|"TIMEPERIOD"|"createdat"`),
	}
	r := rand.New(rand.NewPCG(1, 2))
	none, all := 0, 0
	const queries = 20_000
	for range queries {
		query := fqltest.Random(r, world)
		one, other := match(t, query, full), match(t, query, bare)
		if one && other {
			all++
		} else if !one && !other {
			none++
		}
		for _, pair := range fqltest.Coverage(query) {
			reached[pair] = true
		}
		for name, form := range forms {
			if form.MatchString(query) {
				delete(forms, name)
			}
		}
	}
	for selector, operators := range fqltest.Selectors() {
		for _, op := range operators {
			if !reached[selector+" "+op] {
				t.Errorf("%s %s was never used", selector, op)
			}
			delete(reached, selector+" "+op)
		}
	}
	for pair := range reached {
		t.Errorf("%s is not among the selectors", pair)
	}
	for name := range forms {
		t.Errorf("no query with: %s", name)
	}
	if none > queries*3/4 || all > queries/4 {
		t.Errorf("%d queries find nothing and %d everything", none, all)
	}
}

func TestRandomIsRepeatable(t *testing.T) {
	t.Parallel()
	a, b := rand.New(rand.NewPCG(7, 7)), rand.New(rand.NewPCG(7, 7))
	other := rand.New(rand.NewPCG(8, 7))
	differs := false
	for range 200 {
		query := fqltest.Random(a, world)
		if again := fqltest.Random(b, world); again != query {
			t.Fatalf("%s, then %s", query, again)
		}
		differs = differs || fqltest.Random(other, world) != query
	}
	if !differs {
		t.Error("another seed gives the same queries")
	}
}

// A world with nothing in it can still be asked about.
func TestRandomInAnEmptyWorld(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		match(t, fqltest.Random(r, fqltest.World{Now: now, Zone: berlin}), bare)
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	got := fqltest.Coverage(`[{"created_at":{"$lt":"2026-01-31","$eq":"today"}},[{"topics":{"id":{"$in":[]}},"TOPIC_":{"$like":"x"}},{"time_period":{"$lt":"2026-01-31"}}]]`)
	want := []string{"TimePeriod $eq", "TimePeriod $lt", "Topic $like", "Topic id $in"}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q", got)
		}
	}
}

func questions() []fqltest.Question {
	var qs []fqltest.Question
	for _, a := range full.Answers {
		qs = append(qs, fqltest.Question{ID: a.Question, Type: a.Type, Values: []string{a.Value}})
	}
	return qs
}
