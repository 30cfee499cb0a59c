package fql_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"earshot/internal/fql"
	"earshot/internal/fql/fqltest"
)

// randomRecord is a feedback that the queries of a world speak of.
func randomRecord(r *rand.Rand, w fqltest.World) fqltest.Record {
	pick := func(names []string) string { return names[r.IntN(len(names))] }
	rec := fqltest.Record{
		ID: w.IDs[r.IntN(len(w.IDs))], Carrier: 453, Team: 3, Source: pick(w.Sources), Status: pick(w.Statuses),
		CreatedAt: w.Times[r.IntN(len(w.Times))], Fingerprint: "order-2026-000181", Nps: pick([]string{"", "positive", "negative"}),
	}
	if r.IntN(2) == 0 {
		rec.Satisfaction = &w.Satisfactions[r.IntN(len(w.Satisfactions))]
	}
	if r.IntN(2) == 0 {
		a := w.Attributes[r.IntN(len(w.Attributes))]
		rec.Attributes = []fqltest.Attribute{{Name: a.Name, Values: []string{pick(a.Values)}}}
	}
	if r.IntN(2) == 0 {
		rec.Topics = w.Topics
	}
	return rec
}

// What two queries joined match is what both of them match, whichever of them says "or".
func TestAndMatchesWhatAllMatch(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	w := world()
	w.Attributes[1].Name = "日本" // names are kept without the spaces around them
	var matched, alternatives int
	for range 3_000 {
		texts := []string{fqltest.Random(r, w), fqltest.Random(r, w), fqltest.Random(r, w)}[:1+r.IntN(3)]
		queries := make([]fql.Query, len(texts))
		for i, text := range texts {
			var err error
			if queries[i], err = language.Parse(text); err != nil {
				t.Fatal(text, err)
			}
		}
		joined, err := fql.And(queries...)
		if err != nil {
			continue // too long
		}
		if joined.Any {
			alternatives++
		}
		readsBack(t, strings.Join(texts, " and "), joined)
		for range 5 {
			rec := randomRecord(r, w)
			want := true
			for _, text := range texts {
				one, err := fqltest.Match(text, rec, w.Now, w.Zone)
				if err != nil {
					t.Fatal(text, err)
				}
				want = want && one
			}
			got, err := fqltest.Match(joined.String(), rec, w.Now, w.Zone)
			if err != nil || got != want {
				t.Fatalf("%s joined is %s, which matches %v, want %v: %v", strings.Join(texts, " and "), joined, got, want, err)
			}
			if got {
				matched++
			}
		}
	}
	if matched < 100 || alternatives < 100 {
		t.Errorf("only %d records matched and %d queries had alternatives: the test proves little", matched, alternatives)
	}
}

// Joining is refused before it explodes; everything joined with everything is everything.
func TestAndIsBounded(t *testing.T) {
	t.Parallel()
	long := func(clauses int) fql.Query {
		parts := make([]string, clauses)
		for i := range parts {
			parts[i] = fmt.Sprintf(`{"Id":{"$eq":%d,"$type":"or"}}`, i)
		}
		q, err := language.Parse("[" + strings.Join(parts, ",") + "]")
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	if q, err := fql.And(long(10), long(10)); err != nil || len(q.Conditions()) != 200 || !q.Any {
		t.Errorf("%d conditions: %v", len(q.Conditions()), err)
	}
	for _, n := range []int{11, 100, 200} {
		_, err := fql.And(long(10), long(n))
		if _, ok := errors.AsType[*fql.Error](err); !ok {
			t.Errorf("10 and %d groups: %v", n, err)
		}
	}
	if q, err := fql.And(); err != nil || !q.Everything() {
		t.Error(q, err)
	}
	if q, err := fql.And(fql.Query{}, long(3), fql.Query{}); err != nil || q.String() != long(3).String() {
		t.Error(q, err)
	}
}

// Conditions put together by hand print as they would be read.
func TestValuesByHandReadBack(t *testing.T) {
	t.Parallel()
	q := fql.All(
		fql.Condition{Field: fql.Attribute, Name: "size", Op: fql.In, Negative: true, Values: []fql.Value{fql.TextValue("7"), fql.TextValue("")}},
		fql.Condition{Field: fql.Attribute, Name: "size", Op: fql.Exists},
		fql.Condition{Field: fql.Carrier, Op: fql.In, Values: []fql.Value{fql.NumberValue(453)}},
		fql.Condition{Field: fql.CreatedAt, Op: fql.Between, Values: []fql.Value{
			fql.DayValue(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), fql.DayValue(time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)),
		}},
		fql.Condition{Field: fql.Question, Question: 12, Op: fql.In, Values: []fql.Value{fql.NumberValue(9)}},
	)
	const want = `[{"Attribute":{"name":"size","$nin":["7",""],"$type":"and"}},{"Attribute":{"name":"size","$exists":true,"$type":"and"}},` +
		`{"Form":{"$eq":453,"$type":"and"}},{"TimePeriod":{"$btw":["2026-01-01","2026-01-31"],"$type":"and"}},{"Question":{"id":12,"$eq":9,"$type":"and"}}]`
	if q.String() != want {
		t.Errorf("got %s", q)
	}
	readsBack(t, "by hand", q)
}
