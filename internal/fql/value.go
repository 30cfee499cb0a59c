package fql

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// IsNumber reports whether a text spells a decimal number within the range of a 64-bit float, as JSON spells them.
func IsNumber(text string) bool {
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !json.Valid([]byte(text)) {
		return false
	}
	f, err := strconv.ParseFloat(text, 64)
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	return err == nil && (f != 0 || strings.Trim(mantissa, "-0.") == "")
}

// Fold is the case folding of texts and of what they are searched for. It is ours because PostgreSQL's differs by locale.
func Fold(text string) string { return strings.ToLower(text) }

var profiles = map[string]string{
	"positive": "positive", "neutral": "neutral", "negative": "negative",
	"promoter": "positive", "passive": "neutral", "detractor": "negative",
}

var moods = []string{"positive", "neutral", "negative"}

// readValue reads one value for an operator, or says what is wrong with it.
func (l Language) readValue(sel selector, op Op, spelled string, n node) (Value, string) {
	text, ok := n.text()
	if strings.ContainsRune(text, 0) {
		return Value{}, "does not take a text with a NUL character"
	}
	if op == Like {
		if !ok || text == "" {
			return Value{}, "takes a text of at least one character, or a list of them"
		}
		return Value{Text: text}, ""
	}
	switch sel.sort {
	case whole:
		if !ok || !wholeSpelling.MatchString(text) {
			return Value{}, "takes whole numbers, not " + what(n, ok)
		}
		return Value{Text: canonicalWhole(text), kind: numberValue}, ""
	case moment:
		return readMoment(text, ok, op, spelled)
	case name:
		return l.readName(sel, text, ok)
	case percent:
		return readPercent(text, ok, n)
	case mood:
		if op == In && ok && slices.Contains(moods, strings.ToLower(text)) {
			return Value{Text: strings.ToLower(text)}, ""
		}
		v, problem := readPercent(text, ok, n)
		if problem != "" && op == In {
			problem += ", or positive, neutral, negative"
		}
		return v, problem
	case free:
		if op != In {
			if !ok || !IsNumber(text) {
				return Value{}, "compares numbers and takes one, not " + what(n, ok)
			}
			return Value{Text: text, kind: numberValue}, ""
		}
		if !ok {
			return Value{}, "takes texts and numbers, not " + n.is()
		}
		if _, isText := n.scalar.(string); !isText {
			return Value{Text: text, kind: numberValue}, ""
		}
	case words:
	}
	if !ok {
		return Value{}, "takes texts, not " + n.is()
	}
	return Value{Text: text}, ""
}

// what names the sort of a value that is refused, without repeating it.
func what(n node, scalar bool) string {
	if scalar && n.is() == "a text" {
		return "a text that is none"
	}
	return n.is()
}

func (l Language) readName(sel selector, text string, ok bool) (Value, string) {
	known := l.Statuses
	switch sel.field {
	case Source:
		known = l.Sources
	case NPS:
		if p, found := profiles[strings.ToLower(text)]; found {
			return Value{Text: p}, ""
		}
		known = append(slices.Clone(moods), "promoter", "passive", "detractor")
	default:
	}
	if lower := strings.ToLower(text); ok && slices.Contains(known, lower) {
		return Value{Text: lower}, ""
	}
	return Value{}, "takes " + strings.Join(known, ", ") + didYouMean(text, known)
}

func readPercent(text string, ok bool, n node) (Value, string) {
	text = strings.TrimSpace(text)
	f, err := strconv.ParseFloat(text, 64)
	if !ok || !IsNumber(text) || err != nil || f < 0 || f > 100 {
		return Value{}, "takes numbers from 0 to 100, not " + what(n, ok)
	}
	return Value{Text: text, kind: numberValue}, ""
}

var wholeSpelling = regexp.MustCompile(`^\s*-?[0-9]{1,60}(\.0{1,20})?\s*$`)

// canonicalWhole is a whole number without zeros in front or behind a point.
func canonicalWhole(text string) string {
	digits, _, _ := strings.Cut(strings.TrimSpace(text), ".")
	digits, negative := strings.CutPrefix(digits, "-")
	digits = strings.TrimLeft(digits, "0")
	switch {
	case digits == "":
		return "0"
	case negative:
		return "-" + digits
	}
	return digits
}

func readWhole(text string) (int64, bool) {
	if !wholeSpelling.MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(canonicalWhole(text), 10, 64)
	return n, err == nil
}

// Int is a whole number; one beyond 64 bits is the nearest there is, and exact is false.
func (v Value) Int() (n int64, exact bool) {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if err == nil {
		return n, true
	}
	if strings.HasPrefix(v.Text, "-") {
		return math.MinInt64, false
	}
	return math.MaxInt64, false
}

// readMoment reads a day, an instant or, for $eq and $in, a period.
func readMoment(text string, ok bool, op Op, spelled string) (Value, string) {
	text = strings.TrimSpace(text)
	if !ok {
		return Value{}, "takes dates such as 2026-01-31, times such as 2026-01-31T09:15:00Z, and with $eq and $in periods such as date_last_30_days"
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return Value{Text: t.Format(time.DateOnly), kind: dateValue}, checkYear(t)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return Value{Text: t.UTC().Format(instantLayout), kind: instantValue}, checkYear(t.UTC())
		}
	}
	period := "date_" + strings.TrimPrefix(strings.ToLower(text), "date_")
	switch {
	case slices.Contains(periodNames, period) && (spelled == "$eq" || spelled == "$in"):
		return Value{Text: period, kind: periodValue}, ""
	case slices.Contains(periodNames, period):
		return Value{}, "does not take a period; only $eq and $in do"
	}
	return Value{}, "takes dates such as 2026-01-31, times with a zone such as 2026-01-31T09:15:00Z, and with $eq and $in the periods " +
		strings.Join(periodNames, ", ") + didYouMean(period, periodNames)
}

// checkYear keeps to what PostgreSQL and JSON readers both know.
func checkYear(t time.Time) string {
	if t.Year() < 1 || t.Year() > 9999 {
		return "takes times from the year 1 to 9999"
	}
	return ""
}
