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

// IsNumber reports whether a text spells a decimal number within the range of a 64-bit float, as JSON spells them, in at most 1,000
// characters and with an exponent of at most 999: PostgreSQL reads no zero with a larger one, and not all the decimals of a longer one.
func IsNumber(text string) bool {
	if text == "" || len(text) > 1000 || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !json.Valid([]byte(text)) {
		return false
	}
	f, err := strconv.ParseFloat(text, 64)
	mantissa, exponent, raised := strings.Cut(strings.ToLower(text), "e")
	if e, wrong := strconv.Atoi(exponent); raised && (wrong != nil || e < -999 || e > 999) {
		return false
	}
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
			return Value{}, "takes whole numbers, not " + n.unlike("one with decimals, an exponent or more than 60 digits")
		}
		return Value{Text: canonicalWhole(text), kind: numberValue}, ""
	case moment:
		return readMoment(text, spelled)
	case name:
		return l.readName(sel, text, ok, n)
	case percent:
		return readPercent(text, ok, "numbers from 0 to 100", n)
	case mood:
		if op != In {
			return readPercent(text, ok, "numbers from 0 to 100", n)
		}
		if label := strings.ToLower(text); slices.Contains(moods, label) {
			return Value{Text: label}, ""
		}
		v, problem := readPercent(text, ok, "positive, neutral, negative and numbers from 0 to 100", n)
		if problem != "" && ok {
			problem += didYouMean(text, moods)
		}
		return v, problem
	case free:
		if op != In {
			if !ok || !IsNumber(text) {
				return Value{}, "takes numbers here, not " + n.unlike("one beyond the range of a 64-bit float or of more than 1,000 characters")
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

func (l Language) readName(sel selector, text string, ok bool, n node) (Value, string) {
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
	takes := "takes one of " + strings.Join(known, ", ")
	if !ok {
		return Value{}, takes + ", not " + n.is()
	}
	return Value{}, takes + didYouMean(text, known)
}

func readPercent(text string, ok bool, accepted string, n node) (Value, string) {
	text = strings.TrimSpace(text)
	f, err := strconv.ParseFloat(text, 64)
	if !ok || !IsNumber(text) || err != nil || f < 0 || f > 100 {
		return Value{}, "takes " + accepted + ", not " + n.unlike("one below or above")
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
func readMoment(text, spelled string) (Value, string) {
	const takes = "takes dates such as 2026-01-31 and times with a zone such as 2026-01-31T09:15:00Z"
	text = strings.TrimSpace(text)
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
		return Value{}, takes + ", not periods; only $eq and $in take those"
	case dateShape.MatchString(text):
		return Value{}, takes + "; this date is in no calendar"
	case spelled != "$eq" && spelled != "$in":
		return Value{}, takes
	}
	return Value{}, takes + ", and the periods " + strings.Join(periodNames, ", ") + didYouMean(period, periodNames)
}

// dateShape is what was meant as a date, also where there is no such day.
var dateShape = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// checkYear keeps to what PostgreSQL and JSON readers both know.
func checkYear(t time.Time) string {
	if t.Year() < 1 || t.Year() > 9999 {
		return "takes times from the year 1 to 9999"
	}
	return ""
}
