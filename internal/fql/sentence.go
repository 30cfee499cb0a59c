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
		groups[i] = enumerate(parts, "and")
	}
	if len(groups) == 1 {
		return "Feedback where " + groups[0] + "."
	}
	return "Feedback where either " + strings.Join(groups, "; or ") + "."
}

// phrase is one condition with its subject: the status is todo or progress.
func (c Condition) phrase() string {
	subject := map[Field]string{
		ID: "the id", CreatedAt: "it was created", CompletedAt: "it was completed", Carrier: "the carrier", Source: "the source",
		Status: "the status", NPS: "the NPS profile", Satisfaction: "the satisfaction", Attribute: "the attribute " + strconv.Quote(c.Name),
		Topic: "a topic", TopicID: "the id of a topic", Sentiment: "the sentiment", Question: "the answer to question " + itoa(c.Question),
		Text: "a text answer", Owner: "an owner", Fingerprint: "the fingerprint", Team: "the team",
	}[c.Field]
	if c.Op == Exists {
		return c.existence(subject)
	}
	if c.Field == CreatedAt || c.Field == CompletedAt {
		return c.timePhrase(subject)
	}
	// "No topic is x" says what "a topic is not x" does not: that none of them is.
	if c.Negative {
		switch c.Field {
		case Topic, TopicID, Text, Owner:
			subject = map[Field]string{Topic: "no topic", TopicID: "the id of no topic", Text: "no text answer", Owner: "no owner"}[c.Field]
			c.Negative = false
		default:
		}
	}
	return subject + " " + c.predicate()
}

func (c Condition) existence(subject string) string {
	if c.Field == CreatedAt || c.Field == CompletedAt {
		if c.Negative {
			return strings.Replace(subject, "was", "was not", 1)
		}
		return subject
	}
	noun := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(subject, "the "), "a "), "an ")
	article := "a "
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		article = "an "
	}
	if c.Negative {
		return "there is no " + noun
	}
	return "there is " + article + noun
}

func (c Condition) predicate() string {
	values := make([]string, len(c.Values))
	for i, v := range c.Values {
		values[i] = v.spoken(c.Field)
	}
	not := ""
	if c.Negative {
		not = " not"
	}
	switch c.Op {
	case In:
		if len(values) == 0 {
			return "is" + not + " one of no values"
		}
		return "is" + not + " " + enumerate(values, "or")
	case Like:
		verb := "contains "
		if c.Negative {
			verb = "does not contain "
		}
		if len(values) == 0 {
			return verb + "one of no texts"
		}
		return verb + enumerate(values, "or")
	case Above:
		return "is above " + values[0]
	case AtLeast:
		return "is at least " + values[0]
	case Below:
		return "is below " + values[0]
	case AtMost:
		return "is at most " + values[0]
	default:
		return "is between " + values[0] + " and " + values[1]
	}
}

// timePhrase speaks of days, instants and periods: it was created on 2026-01-31, before it, in the last 30 days.
func (c Condition) timePhrase(subject string) string {
	if c.Negative {
		subject = strings.Replace(subject, "was", "was not", 1)
	}
	values := make([]string, len(c.Values))
	for i, v := range c.Values {
		values[i] = v.Text
		if c.Op == In {
			values[i] = v.when()
		}
	}
	switch c.Op {
	case In:
		if len(values) == 0 {
			return subject + " at one of no times"
		}
		return subject + " " + enumerate(values, "or")
	case Above:
		return subject + " after " + values[0]
	case AtLeast:
		return subject + " on or after " + values[0]
	case Below:
		return subject + " before " + values[0]
	case AtMost:
		return subject + " on or before " + values[0]
	default:
		return subject + " between " + values[0] + " and " + values[1]
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
		return v.Text + " %"
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
	return strings.Join(parts[:len(parts)-1], ", ") + " " + last + " " + parts[len(parts)-1]
}
