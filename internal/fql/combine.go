package fql

import (
	"slices"
	"strconv"
	"time"
)

// And is the query for what all of the queries match. One that says "or" is a list of groups of which one suffices: joined with another,
// each of its groups is joined with each of the other's, so that both keep their own "or". More than MaxConditions are an *Error.
func And(queries ...Query) (Query, error) {
	var all Query
	for _, q := range queries {
		switch {
		case q.Everything():
			continue
		case all.Everything():
			all = q
			continue
		}
		// Counted before it is built: two long lists of groups make a very long one.
		if n := len(all.Conditions())*len(q.Groups) + len(q.Conditions())*len(all.Groups); n > MaxConditions {
			return Query{}, refuse("comes to %d conditions when it is joined; at most %d are accepted", n, MaxConditions)
		}
		var groups [][]Condition
		for _, a := range all.Groups {
			for _, b := range q.Groups {
				groups = append(groups, slices.Concat(a, b))
			}
		}
		all = Query{Any: len(groups) > 1, Groups: groups}
	}
	return all, nil
}

// All is the query of conditions that must all hold.
func All(conditions ...Condition) Query { return Query{Groups: [][]Condition{conditions}} }

// TextValue is a text or a name to compare with.
func TextValue(text string) Value { return Value{Text: text} }

// NumberValue is a whole number to compare with.
func NumberValue(n int64) Value { return Value{Text: strconv.FormatInt(n, 10), kind: numberValue} }

// DayValue is the day of a time to compare with.
func DayValue(t time.Time) Value { return Value{Text: t.Format(time.DateOnly), kind: dateValue} }
