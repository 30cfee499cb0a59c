package fql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func wrong(at, format string, args ...any) error {
	return &Error{Clause: at, Problem: fmt.Sprintf(format, args...)}
}

// normal is a selector's name without what does not count: case and underscores.
func normal(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

func findSelector(name string) (selector, bool) {
	key := normal(name)
	i := slices.IndexFunc(selectors, func(s selector) bool { return normal(s.name) == key || slices.Contains(s.alias, key) })
	if i < 0 {
		return selector{}, false
	}
	return selectors[i], true
}

func canonicalNames() []string {
	names := make([]string, len(selectors))
	for i, s := range selectors {
		names[i] = s.name
	}
	return names
}

// selectorNames are all names one may have meant, in the spelling to suggest.
func selectorNames() []string {
	return append(canonicalNames(), "created_at", "completed_at", "carrier_id", "nps_profile", "satisfaction_ratio", "topics", "attribute_values", "Carrier")
}

// spoken is what a selector is called in a sentence.
func (s selector) spoken() string {
	if s.field == TopicID {
		return "Topic with an id"
	}
	return s.name
}

// example is the body of a good clause, for a sentence.
func (l Language) example(s selector) string {
	first := func(names []string) string {
		if len(names) == 0 {
			return `{"$exists": true}`
		}
		return fmt.Sprintf(`{"$eq": %q}`, names[0])
	}
	switch s.sort {
	case whole:
		return `{"$eq": 453}`
	case moment:
		return `{"$eq": "date_last_30_days"}`
	case name:
		switch s.field {
		case Source:
			return first(l.Sources)
		case Status:
			return first(l.Statuses)
		default:
			return first(moods)
		}
	case percent, mood:
		return `{"$gte": 50}`
	case free:
		if s.field == Question {
			return `{"id": 12, "$gte": 9}`
		}
		return `{"name": "city", "$eq": "Lyon"}`
	default:
		return `{"$like": "refund"}`
	}
}

// quote repeats a name from a query, shortened: it is what the sentence is about.
func quote(name string) string {
	const longest = 40
	if runes := []rune(name); len(runes) > longest {
		name = string(runes[:longest]) + "…"
	}
	return strconv.Quote(name)
}

// elsewhere is what other languages call our operators.
var elsewhere = map[string]string{
	"=": "$eq", "==": "$eq", "$is": "$eq", "$equals": "$eq", "!=": "$ne", "<>": "$ne", "$neq": "$ne", "$not": "$ne", "$isnot": "$ne",
	">": "$gt", ">=": "$gte", "$ge": "$gte", "$min": "$gte", "<": "$lt", "<=": "$lte", "$le": "$lte", "$max": "$lte",
	"$notin": "$nin", "$notlike": "$nlike", "$contains": "$like", "$ilike": "$like", "$regex": "$like", "$search": "$like",
	"$between": "$btw", "$range": "$btw", "$null": "$exists", "$isnull": "$exists", "$empty": "$exists",
}

// keyword is a key of the language in quotes. Of any other is only said that it is one: it may stand within a value.
func keyword(name string) string {
	_, isSelector := findSelector(name)
	if isSelector || slices.Contains(slices.Concat(equality, comparison, likeness, presence, []string{"$type", "name", "id", "attribute", "value"}), name) {
		return quote(name)
	}
	return "a key"
}

// didYouMean suggests the nearest of the known names, or nothing when none is near. Two slips in a word, one in a short one: with
// more it is another word.
func didYouMean(name string, known []string) string {
	key := normal(name)
	best, least := "", 3
	for _, k := range known {
		if elsewhere[key] == k {
			best = k
			break
		}
		if d := distance(key, normal(k)); d < least && d <= max(1, len(normal(k))/3) {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}

// distance counts the letters to change, add, drop or swap with their neighbour to get from a to b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 {
		return 64
	}
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(x)][len(y)]
}
