package fql_test

import (
	"strings"
	"testing"
	"time"

	"earshot/internal/fql"
)

// The limits are where they are said to be: what is at them is accepted, what is past them refused in words.
func TestLimits(t *testing.T) {
	t.Parallel()
	conditions := func(n int) string {
		return `[` + strings.TrimSuffix(strings.Repeat(`{"Id":{"$gt":1}},`, n), ",") + `]`
	}
	length := func(n int) string {
		const head, tail = `[{"Text":{"$like":"`, `"}}]`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	for name, c := range map[string]struct{ query, want string }{
		"length":                   {length(fql.MaxLength), ""},
		"too long":                 {length(fql.MaxLength + 1), "The filter is longer than 65536 bytes"},
		"blanks count":             {strings.Repeat(" ", fql.MaxLength-2) + "[]", ""},
		"too many blanks":          {strings.Repeat(" ", fql.MaxLength-1) + "[]", "The filter is longer than 65536 bytes"},
		"conditions":               {conditions(fql.MaxConditions), ""},
		"too many conditions":      {conditions(fql.MaxConditions + 1), "The filter has 201 conditions; at most 200 are accepted"},
		"many operators":           {`[` + strings.Repeat(`{"Id":{"$gt":1,"$lt":9}},`, 100) + `{"Id":{"$gt":1}}]`, "The filter has 201 conditions; at most 200 are accepted"},
		"many values are one":      {`[{"Id":{"$in":[` + strings.Repeat("1,", 20_000) + `1]}}]`, ""},
		"brackets":                 {strings.Repeat("[", 10_000), "The filter is nested too deeply; a filter is an array of clauses and of groups of clauses, and goes no deeper"},
		"braces":                   {`[` + strings.Repeat(`{"Id":`, 5_000), "The filter is nested too deeply; a filter is an array of clauses and of groups of clauses, and goes no deeper"},
		"bytes that are no text":   {"[{\"Text\":{\"$eq\":\"\xff\"}}]", "The filter is not valid UTF-8"},
		"a NUL":                    {"[{\"Text\":{\"$eq\":\"\x00\"}}]", `The filter is not valid JSON: it breaks off or goes wrong after byte 16; a filter is an array of clauses such as [{"Status": {"$eq": "todo"}}]`},
		"a surrogate alone":        {`[{"Text":{"$eq":"\ud800"}}]`, ""},
		"a digit too many":         {`[{"Id":{"$eq":` + strings.Repeat("9", 61) + `}}]`, "In clause 1 (Id) of the filter, $eq takes whole numbers, not one with decimals, an exponent or more than 60 digits"},
		"digits":                   {`[{"Id":{"$eq":` + strings.Repeat("9", 60) + `}}]`, ""},
		"a number of 1,000":        {`[{"Attribute":{"name":"a","$gt":0.` + strings.Repeat("9", 998) + `}}]`, ""},
		"a number of 1,001":        {`[{"Attribute":{"name":"a","$gt":0.` + strings.Repeat("9", 999) + `}}]`, "In clause 1 (Attribute) of the filter, $gt takes numbers here, not one beyond the range of a 64-bit float or of more than 1,000 characters"},
		"a zero of many decimals":  {`[{"Attribute":{"name":"a","$gt":0e-20000}}]`, "In clause 1 (Attribute) of the filter, $gt takes numbers here, not one beyond the range of a 64-bit float or of more than 1,000 characters"},
		"a name is repeated short": {`[{"` + strings.Repeat("\U0001F600", 5_000) + `":{}}]`, `In clause 1 of the filter, "` + strings.Repeat("\U0001F600", 40) + `…" is no selector; the selectors are Id, TimePeriod, CompletedAt, Form, Source, Status, Nps, Satisfaction, Attribute, Topic, Sentiment, Question, Text, Owner, Fingerprint, Team`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			q, err := language.Parse(c.query)
			_ = q.Sentence()
			if took := time.Since(start); took > time.Second {
				t.Errorf("it took %v", took)
			}
			switch {
			case err != nil && err.Error() != c.want, err == nil && c.want != "":
				t.Errorf("got %v, want %q", err, c.want)
			case err == nil:
				readsBack(t, name, q)
			}
		})
	}
}

// The ends of the calendar are ends: before the first day there is nothing, and no operator takes it for an open end.
func TestRangesAtTheEndsOfTheCalendar(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 9, 15, 0, 0, time.UTC)
	stored := []time.Time{time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), now, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	for _, zone := range []string{"UTC", "America/Santiago", "Asia/Kolkata", "Pacific/Kiritimati"} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for operators, want := range map[string]bool{
			`"$eq":"0001-01-01"`: false, `"$lt":"0001-01-01"`: false, `"$lte":"0001-01-01"`: false, `"$gt":"0001-01-01"`: true, `"$gte":"0001-01-01"`: true,
			`"$btw":["0001-01-01","0001-01-01"]`: false, `"$btw":["0001-01-01","9999-12-31"]`: true, `"$btw":["9999-12-31","0001-01-01"]`: false,
			`"$lt":"0001-01-01T00:00:00Z"`: false, `"$lte":"0001-01-01T00:00:00Z"`: false, `"$eq":"0001-01-01T00:00:00Z"`: false, `"$gt":"0001-01-01T00:00:00Z"`: true,
			`"$in":["0001-01-01","0001-01-02","0001-12-31"]`: false, `"$lt":"0001-06-01"`: false, `"$lte":"9999-12-31"`: true, `"$eq":"all"`: true,
		} {
			q, err := language.Parse(`[{"TimePeriod":{` + operators + `}}]`)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range stored {
				got := false
				for _, r := range q.Conditions()[0].Ranges(now, location) {
					got = got || !at.Before(r.From) && (r.To.IsZero() || at.Before(r.To))
				}
				if got != want {
					t.Errorf("%s in %s: %v of %v, want %v", operators, zone, got, at, want)
				}
			}
		}
	}
}
