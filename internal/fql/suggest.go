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

// example is the body of a good clause, for a sentence.
func example(s selector) string {
	switch s.sort {
	case whole:
		return `{"$eq": 453}`
	case moment:
		return `{"$eq": "date_last_30_days"}`
	case name:
		return `{"$in": ["…"]}`
	case percent, mood:
		return `{"$gte": 50}`
	case free:
		if s.field == Question {
			return `{"id": 12, "$eq": "…"}`
		}
		return `{"name": "city", "$eq": "…"}`
	default:
		return `{"$like": "…"}`
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

// didYouMean suggests the nearest of the known names, or nothing when none is near.
func didYouMean(name string, known []string) string {
	best, least := "", 3 // more than two slips are another word
	for _, k := range known {
		if len(name) > 2*len(k)+2 {
			continue
		}
		if d := distance(normal(name), normal(k)); d < least && d < len(normal(k)) {
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
