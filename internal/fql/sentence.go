package fql

import (
	"strconv"
	"strings"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Sentence is the query in English, for people who check a filter before they trust it.
func (q Query) Sentence() string {
	if q.Everything() {
		return "All feedback."
	}
	groups := make([]string, len(q.Groups))
	for i, group := range q.Groups {
		parts := make([]string, len(group))
		for j, c := range group {
			parts[j] = c.phrase()
		}
		// The comma keeps "a or b, and c" from being read as "a, or b and c".
		groups[i] = enumerate(parts, ", and")
	}
	if len(groups) == 1 {
		return "Feedback where " + groups[0] + "."
	}
	return "Feedback where either " + strings.Join(groups, "; or ") + "."
}

// phrase is one condition with its subject: the status is todo or progress.
func (c Condition) phrase() string {
	if c.Op == Exists {
		return c.existence()
	}
	switch c.Field {
	case CreatedAt:
		return c.timePhrase("it was created", "it was not created")
	case CompletedAt:
		return c.timePhrase("it was completed", "it was not completed")
	case TopicID:
		if len(c.Values) == 0 {
			return "the id of a topic " + c.predicate()
		}
		return c.several("a topic has the id", "no topic has the id")
	case Topic:
		return c.several("a topic", "no topic")
	case Text:
		return c.several("a text answer", "no text answer")
	case Owner:
		return c.several("an owner", "no owner")
	default:
		return c.noun("the ") + " " + c.predicate()
	}
}

// several speaks of fields with many values: "no topic is x" says what "a topic is not x" does not, that none of them is.
func (c Condition) several(some, none string) string {
	subject := some
	if c.Negative && len(c.Values) > 0 {
		subject, c.Negative = none, false
	}
	if c.Field == TopicID { // "has the id 7", not "has the id is 7"
		return subject + " " + strings.TrimPrefix(c.predicate(), "is ")
	}
	return subject + " " + c.predicate()
}

// noun is what a condition speaks of, behind an article.
func (c Condition) noun(article string) string {
	switch c.Field {
	case ID:
		return article + "id"
	case Carrier:
		return article + "carrier"
	case Source:
		return article + "source"
	case Status:
		return article + "status"
	case NPS:
		return article + "NPS profile"
	case Satisfaction:
		return article + "satisfaction"
	case Attribute:
		return article + "attribute " + strconv.Quote(c.Name)
	case Topic, TopicID:
		return article + "topic"
	case Sentiment:
		return article + "sentiment"
	case Question:
		return article + "answer to question " + itoa(c.Question)
	case Text:
		return article + "text answer"
	case Owner:
		return article + "owner"
	case Fingerprint:
		return article + "fingerprint"
	case Team:
		return article + "team"
	default:
		return "it"
	}
}

func (c Condition) existence() string {
	is, was := "there is ", " was "
	if c.Negative {
		is, was = "there is no ", " was not "
	}
	switch c.Field {
	case CreatedAt:
		return "it" + was + "created"
	case CompletedAt:
		return "it" + was + "completed"
	case Satisfaction, Sentiment:
		return c.noun("the ") + was + "measured"
	case ID, Attribute, Question, Owner, NPS:
		if !c.Negative {
			return is + c.noun("an ")
		}
	default:
		if !c.Negative {
			return is + c.noun("a ")
		}
	}
	return is + c.noun("")
}

func (c Condition) predicate() string {
	values := make([]string, len(c.Values))
	for i, v := range c.Values {
		values[i] = v.spoken(c.Field)
	}
	switch {
	case len(values) == 0:
		return c.nothing("is", "values")
	case c.Op == Above:
		return "is above " + values[0]
	case c.Op == AtLeast:
		return "is at least " + values[0]
	case c.Op == Below:
		return "is below " + values[0]
	case c.Op == AtMost:
		return "is at most " + values[0]
	case c.Op == Between:
		return "is between " + values[0] + " and " + values[1]
	case c.Op == Like && c.Negative:
		return "does not contain " + enumerate(values, " or")
	case c.Op == Like:
		return "contains " + enumerate(values, " or")
	case c.Negative && len(values) == 1:
		return "is not " + values[0]
	case c.Negative:
		return "is neither " + enumerate(values, " nor")
	default:
		return "is " + enumerate(values, " or")
	}
}

// nothing speaks of an empty list, and says what comes of it: that is rarely what was meant.
func (c Condition) nothing(verb, what string) string {
	if c.Op == Like {
		verb, what = "contains", "texts"
	}
	switch {
	case !c.Negative:
		return verb + " one of no " + what + " (never true)"
	case c.Field == Satisfaction || c.Field == Sentiment:
		return verb + " none of no " + what + " (true where it was measured)"
	default:
		return verb + " none of no " + what + " (always true)"
	}
}

// timePhrase speaks of days, instants and periods: it was created on 2026-01-31, before it, in the last 30 days.
func (c Condition) timePhrase(subject, negative string) string {
	if len(c.Values) == 0 {
		return subject + " " + c.nothing("at", "times")
	}
	if c.Negative {
		subject = negative
	}
	first := c.Values[0]
	on := "on"
	if first.kind == instantValue {
		on = "at"
	}
	switch c.Op {
	case Above:
		return subject + " after " + first.Text
	case AtLeast:
		return subject + " " + on + " or after " + first.Text
	case Below:
		return subject + " before " + first.Text
	case AtMost:
		return subject + " " + on + " or before " + first.Text
	case Between:
		return subject + " between " + first.Text + " and " + c.Values[1].Text
	default:
		values := make([]string, len(c.Values))
		for i, v := range c.Values {
			values[i] = v.when()
		}
		return subject + " " + enumerate(values, " or")
	}
}

// when is a time with its preposition.
func (v Value) when() string {
	switch v.kind {
	case dateValue:
		return "on " + v.Text
	case instantValue:
		return "at " + v.Text
	default:
	}
	switch v.Text {
	case "date_today":
		return "today"
	case "date_last_day":
		return "yesterday"
	case "date_all":
		return "at any time"
	}
	words := strings.ReplaceAll(strings.TrimPrefix(v.Text, "date_"), "_", " ")
	switch words {
	case "last week", "last month", "last quarter", "last year":
		return "in the " + strings.TrimPrefix(words, "last ") + " before this one"
	}
	return "in the " + words
}

// spoken is a value in a sentence: texts in quotes, names and numbers as they are.
func (v Value) spoken(f Field) string {
	switch f {
	case Source, Status, NPS, Sentiment:
		return v.Text
	case Satisfaction:
		return v.Text + "%"
	default:
	}
	if v.kind == numberValue {
		return v.Text
	}
	return strconv.Quote(v.Text)
}

// enumerate joins parts: a, b or c.
func enumerate(parts []string, last string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return strings.Join(parts[:len(parts)-1], ", ") + last + " " + parts[len(parts)-1]
}
