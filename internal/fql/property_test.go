package fql_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"earshot/internal/fql"
	"earshot/internal/fql/fqltest"
)

var tree = cmp.AllowUnexported(fql.Value{})

// world is what random queries speak of.
func world() fqltest.World {
	now := time.Date(2026, 1, 31, 9, 15, 0, 0, time.UTC)
	return fqltest.World{
		IDs: []int64{90125, 90126}, Carriers: []int64{453}, Teams: []int64{3}, Times: []time.Time{now, now.AddDate(-1, 0, 0)},
		Sources: language.Sources, Statuses: language.Statuses, Satisfactions: []int{6667, 10000}, Sentiments: []int{4000},
		Attributes: []fqltest.Attribute{{Name: "city", Values: []string{"Lyon", "São Paulo", "7", "1e2", ""}}, {Name: " 日本 \"", Values: []string{"x"}}},
		Topics:     []fqltest.Topic{{ID: 7, Name: "Delivery"}},
		Questions:  []fqltest.Question{{ID: 12, Type: "nps", Values: []string{"9"}}, {ID: 13, Type: "textarea", Values: []string{"Too late"}}},
		Owners:     []string{"jane@example.com"}, Fingerprints: []string{"order-2026-000181"}, Words: []string{"refund", "100%", "ÉTÉ"},
		Now: now, Zone: time.UTC,
	}
}

// readsBack expects what a query is printed as to be the same query.
func readsBack(t interface {
	Helper()
	Errorf(format string, args ...any)
}, text string, q fql.Query,
) {
	t.Helper()
	if len(q.String()) > fql.MaxLength {
		return // $type is written out
	}
	again, err := language.Parse(q.String())
	if err != nil {
		t.Errorf("%s is printed as %s, which is refused: %v", text, q, err)
		return
	}
	if !reflect.DeepEqual(q, again) {
		t.Errorf("%s is printed as %s, which is another query (-first +second)\n%s", text, q, cmp.Diff(q, again, tree))
	}
	if again.String() != q.String() {
		t.Errorf("%s is printed as %s, then as %s", text, q, again)
	}
}

// Every query that can be meant is accepted, and its canonical form is the same query again.
func TestRandomQueriesReadBack(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	w := world()
	for range 5_000 {
		text := fqltest.Random(r, w)
		q, err := language.Parse(text)
		if err != nil {
			t.Fatalf("seed %d: %s is refused: %v", seed, text, err)
		}
		readsBack(t, text, q)
		if s := q.Sentence(); !utf8.ValidString(s) || !strings.HasSuffix(s, ".") || strings.Contains(s, "  ") && !strings.Contains(text, "  ") {
			t.Errorf("seed %d: %s reads %q", seed, text, s)
		}
	}
}

// Whatever texts and numbers a query holds, in names and in values, its canonical form is the same query again.
func TestAnyTextReadsBack(t *testing.T) {
	t.Parallel()
	texts := rapid.OneOf(rapid.String(), rapid.StringN(0, 3, 6), rapid.SampledFrom([]string{`"`, `\`, "\n", "\u2028", "<&>", " x ", "\ufffd", "%_", "é", "7", "1e5"}))
	numbers := rapid.Map(rapid.Float64(), func(f float64) any { return f })
	value := rapid.OneOf(rapid.Map(texts, func(s string) any { return s }), numbers, rapid.Map(rapid.Int64(), func(n int64) any { return n }))
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom([]string{"$eq", "$ne", "$in", "$nin", "$like", "$nlike", "$gt", "$lte"}).Draw(t, "operator")
		given := value.Draw(t, "value")
		if op != "$gt" && op != "$lte" && rapid.Bool().Draw(t, "a list") {
			given = rapid.SliceOfN(value, 0, 4).Draw(t, "values")
		}
		selector := rapid.SampledFrom([]string{"Attribute", "attribute_values", "Question", "Text", "Owner", "Topic", "Fingerprint", "Id", "Satisfaction"}).Draw(t, "selector")
		clause := map[string]any{op: given}
		switch selector {
		case "Attribute":
			clause["name"] = texts.Draw(t, "name")
		case "attribute_values":
			clause = map[string]any{"attribute": map[string]any{"name": map[string]any{"$eq": texts.Draw(t, "name")}}, "value": clause}
		case "Question":
			clause["id"] = rapid.Int64Range(1, 1<<62).Draw(t, "question")
		}
		b, err := json.Marshal([]any{map[string]any{selector: clause}})
		if err != nil {
			t.Skip("no JSON")
		}
		q, err := language.Parse(string(b))
		if err == nil {
			readsBack(t, string(b), q)
			_ = q.Sentence()
			return
		}
		checkMessage(t, string(b), err)
	})
}

// checkMessage expects a message one can show to people: short, of one line, and about the filter.
func checkMessage(t interface {
	Helper()
	Errorf(format string, args ...any)
}, text string, err error,
) {
	t.Helper()
	message := err.Error()
	if !utf8.ValidString(message) || len(message) >= 2<<10 || strings.ContainsAny(message, "\n\x00") || strings.HasSuffix(message, ".") {
		t.Errorf("%s: %q", text, message)
	}
	if wrong, ok := errors.AsType[*fql.Error](err); !ok || wrong.Problem == "" || !strings.HasPrefix(message, "The filter ") && !strings.Contains(message, wrong.Clause+" of the filter, ") {
		t.Errorf("%s: %q does not say where", text, message)
	}
}

// A message never repeats a value: it may be personal, and messages are logged and shown. Wherever a selector or an operator is known,
// what stands in the place of its value is kept out, whatever sort of thing it is.
func TestMessagesKeepValuesPrivate(t *testing.T) {
	t.Parallel()
	const secret, number = "zqvxsecret", "98765432101234.75"
	bodies := []string{
		`"` + secret + `"`, number, `"` + number + `"`, `["` + secret + `"]`, `["todo","` + secret + `"]`, `[` + number + `,` + number + `]`, `["` + secret + `","` + secret + `"]`,
		`[["` + secret + `"]]`, `"` + secret + `\u0000"`, `"date_` + secret + `"`, `"2026-02-3` + secret + `"`, `true`, `null`,
	}
	// Their keys are part of a value only where a value stands; elsewhere they are the names of selectors and operators.
	objects := []string{`{"` + secret + `":"` + secret + `"}`, `{"` + secret + `":1,"` + secret + `":2}`, `[{"` + secret + `":1}]`, `[1,{"` + secret + `":1}]`}
	selectors := []string{
		"Id", "TimePeriod", "CompletedAt", "Form", "Source", "Status", "Nps", "Satisfaction", "Attribute", "Topic", "Sentiment", "Question", "Text",
		"Owner", "Fingerprint", "Team",
	}
	operators := []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$like", "$nlike", "$btw", "$exists", "$type", "name", "id"}
	refused := 0
	check := func(query string) {
		_, err := language.Parse(query)
		if err == nil {
			return
		}
		refused++
		checkMessage(t, query, err)
		if m := err.Error(); strings.Contains(m, "zqvx") || strings.Contains(m, "987654321") {
			t.Errorf("%s: %s", query, m)
		}
	}
	for _, selector := range selectors {
		for _, operator := range operators[:13] {
			for _, body := range objects {
				check(fmt.Sprintf(`[{%q:{"name":"city","id":12,%q:%s}}]`, selector, operator, body))
				check(fmt.Sprintf(`[{%q:{%q:%s}}]`, selector, operator, body))
			}
		}
		for _, body := range bodies {
			for _, operator := range operators {
				check(fmt.Sprintf(`[{%q:{"name":"city","id":12,%q:%s}}]`, selector, operator, body))
				check(fmt.Sprintf(`[{%q:{%q:%s}}]`, selector, operator, body))
				check(fmt.Sprintf(`[{"Topic":{"id":{%q:%s}},%q:{"$exists":true}}]`, operator, body, selector))
				check(fmt.Sprintf(`[{"attribute_values":{"attribute":{"name":%s},"value":{%q:%s}}}]`, body, operator, body))
			}
			check(fmt.Sprintf(`[{%q:%s}]`, selector, body))
			check(fmt.Sprintf(`[{%q:{"$exists":true},"name":%s}]`, selector, body))
			check(fmt.Sprintf(`[{%q:{"$exists":true}},%s]`, selector, body))
			check(fmt.Sprintf(`[{%q:{"$eq":%s`, selector, body))
		}
	}
	for _, body := range bodies {
		check(body)
		check(`[` + body + `]`)
		check(`[[` + body + `]]`)
		check(`[] ` + body)
	}
	if refused < 5_000 {
		t.Errorf("only %d queries were refused", refused)
	}
}
