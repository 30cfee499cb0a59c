package feedback_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/feedback"
	"earshot/internal/fql"
	"earshot/internal/fql/fqltest"
)

var shapeNow = time.Date(2026, 1, 31, 9, 15, 0, 0, time.UTC)

// spoken is what random queries speak of where no database is asked.
func spoken() fqltest.World {
	w := fqltest.World{
		IDs: []int64{90125}, Carriers: []int64{453}, Teams: []int64{3}, Times: []time.Time{shapeNow, shapeNow.AddDate(-1, 2, 3).Truncate(24 * time.Hour)},
		Sources: feedback.SourceNames(), Statuses: feedback.StatusNames(), Satisfactions: []int{6667}, Sentiments: []int{4000},
		Attributes: []fqltest.Attribute{{Name: "city", Values: []string{"Lyon", "7"}}}, Topics: []fqltest.Topic{{ID: 7, Name: "Delivery"}},
		Owners: []string{"jane@example.com"}, Fingerprints: []string{"order-1"}, Words: []string{"refund"}, Now: shapeNow, Zone: time.UTC,
	}
	for i, kind := range []carrier.Type{carrier.NPS, carrier.Choice, carrier.MultipleChoice, carrier.Textarea, carrier.Text, carrier.Date, carrier.Number, carrier.RatingsTable} {
		w.Questions = append(w.Questions, fqltest.Question{ID: int64(11 + i), Type: string(kind), Values: []string{"9", "Price", "Too late"}})
	}
	return w
}

// A statement's text depends on the shape of a query, never on a value: with every value replaced by another of its sort, and the
// same number of ids behind each name, all texts are the same. How a total is obtained may depend on where days and months begin, so
// there times move by 400 years, after which the calendar repeats.
func TestTextDependsOnShapeOnly(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	w := spoken()
	ways := map[string]int{}
	for range 4_000 {
		first := query(t, fqltest.Random(r, w))
		sizes := make([]int, len(first.Conditions()))
		for i := range sizes {
			sizes[i] = []int{0, 1, 2, 100, 101, 500}[r.IntN(6)]
		}
		page := feedback.Page{Size: 10}
		if r.IntN(2) == 0 {
			page.After = new(r.Int64())
		}
		want, way := statements(t, first, resolved(r, w, sizes, shapeNow), page)
		ways[way]++
		for _, moved := range []bool{true, false} {
			replacer := replacer{r, moved}
			second := query(t, replacer.query(first.String()))
			now := shapeNow
			if moved {
				now = now.AddDate(400, 0, 0)
			}
			got, otherWay := statements(t, second, resolved(r, w, sizes, now), page)
			if !moved { // the total may go another way
				got, want = got[:len(got)-1], want[:len(want)-1]
			} else if way != otherWay {
				t.Errorf("seed %d: the total of %s is from %s, that of %s from %s", seed, first, way, second, otherWay)
			}
			if !slices.Equal(want, got) {
				t.Fatalf("seed %d: %s and %s differ in more than values:\n%s", seed, first, second, cmp.Diff(want, got))
			}
			for _, text := range got {
				if strings.Contains(text, secret) {
					t.Fatalf("seed %d: a value of %s is in the text: %s", seed, second, text)
				}
			}
		}
	}
	for _, way := range []string{"tallies", "tallies_and_edges", "value_count", "count"} {
		if ways[way] == 0 {
			t.Errorf("no total is from %s", way)
		}
	}
}

func statements(t *testing.T, q fql.Query, r feedback.Meaning, p feedback.Page) ([]string, string) {
	t.Helper()
	texts, way, err := feedback.Statements(account.Whole(1), q, r, p)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return texts, way
}

// resolved makes up the ids of as many things as each condition is to mean.
func resolved(r *rand.Rand, w fqltest.World, sizes []int, now time.Time) feedback.Meaning {
	out := feedback.Meaning{Now: now, Zone: time.UTC, Questions: map[int64]carrier.Question{}}
	for _, size := range sizes {
		set := make([]int64, size)
		for i := range set {
			set[i] = r.Int64()
		}
		out.Sets = append(out.Sets, set)
	}
	for _, q := range w.Questions {
		out.Questions[q.ID] = carrier.Question{ID: q.ID, PresenceID: r.Int64(), Type: carrier.Type(q.Type), Options: []carrier.Option{{ID: r.Int64(), Name: "Price"}}}
	}
	return out
}

// secret is in every text that a replacer makes up.
const secret = "zqvx"

// replacer gives a query other values.
type replacer struct {
	*rand.Rand
	moved bool // times move together
}

// query reads a canonical query, in which a clause has one selector and one operator.
func (r replacer) query(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var members []any
	if err := d.Decode(&members); err != nil {
		panic(err)
	}
	for _, m := range members {
		group, ok := m.([]any)
		if !ok {
			group = []any{m}
		}
		for _, clause := range group {
			for selector, body := range clause.(map[string]any) {
				r.operators(selector, body.(map[string]any))
			}
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(members); err != nil {
		panic(err)
	}
	return b.String()
}

func (r replacer) operators(selector string, body map[string]any) {
	for key, given := range body {
		switch v := given.(type) {
		case map[string]any: // of a topic's id
			r.operators("Id", v)
		case []any:
			for i := range v {
				v[i] = r.value(selector, v[i])
			}
		default:
			if strings.HasPrefix(key, "$") && key != "$type" && key != "$exists" {
				body[key] = r.value(selector, given)
			}
		}
	}
}

// value is another value of the same sort.
func (r replacer) value(selector string, given any) any {
	_, number := given.(json.Number)
	switch selector {
	case "Id", "Form", "Team":
		return r.Int64() - r.Int64()
	case "TimePeriod", "CompletedAt":
		return r.time(given.(string))
	case "Source":
		return feedback.SourceNames()[r.IntN(len(feedback.SourceNames()))]
	case "Status":
		return feedback.StatusNames()[r.IntN(len(feedback.StatusNames()))]
	case "Nps":
		return []string{"positive", "neutral", "negative"}[r.IntN(3)]
	case "Satisfaction":
		return float64(r.IntN(100_000)) / 1000
	case "Sentiment":
		if !number {
			return []string{"positive", "neutral", "negative"}[r.IntN(3)]
		}
		return float64(r.IntN(100_000)) / 1000
	}
	if number {
		return json.Number(fmt.Sprintf("%d.%de%d", r.IntN(1000)-500, r.IntN(1000), r.IntN(20)-10))
	}
	odd := []string{"'", `"`, "$1", "%", "_", `\`, ";--", "é", "\n", "", "1"}
	return secret + odd[r.IntN(len(odd))] + fmt.Sprint(r.IntN(1000))
}

func (r replacer) time(given string) string {
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano} {
		if t, err := time.Parse(layout, given); err == nil {
			if r.moved {
				return t.AddDate(400, 0, 0).Format(layout)
			}
			return t.AddDate(0, 0, r.IntN(4000)-2000).Add(time.Duration(r.IntN(1_000_000)) * time.Microsecond).Format(layout)
		}
	}
	if r.moved {
		return given
	}
	periods := []string{"date_today", "date_last_week", "date_current_quarter", "date_last_7_days", "date_last_12_months", "date_all"}
	return periods[r.IntN(len(periods))]
}

// A replacer does what the test above relies on: it changes values and nothing else.
func TestReplacer(t *testing.T) {
	t.Parallel()
	first := query(t, `[{"Id":{"$in":[1,2]}},[{"Text":{"$like":"x","$type":"or"}},{"Topic":{"id":{"$eq":7}}}],{"Attribute":{"name":"city","$btw":[1,2]}},{"Owner":{"$exists":false}}]`)
	second := query(t, replacer{rand.New(rand.NewPCG(1, 1)), false}.query(first.String()))
	shape := func(q fql.Query) fql.Query {
		q.Groups = slices.Clone(q.Groups)
		for i, group := range q.Groups {
			q.Groups[i] = slices.Clone(group)
			for j := range group {
				q.Groups[i][j].Values = make([]fql.Value, len(group[j].Values))
			}
		}
		return q
	}
	if diff := cmp.Diff(shape(first), shape(second), cmp.AllowUnexported(fql.Value{})); diff != "" {
		t.Error(diff)
	}
	for i, c := range first.Conditions() {
		if len(c.Values) > 0 && c.Values[0] == second.Conditions()[i].Values[0] {
			t.Errorf("%v kept its value", c)
		}
	}
}
