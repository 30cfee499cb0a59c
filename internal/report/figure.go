package report

import (
	"time"

	"earshot/internal/feedback"
	"earshot/internal/fql"
)

// Figures are all figures of a report, seen at one moment.
type Figures struct {
	At       time.Time
	Zone     *time.Location // whose days are meant
	FQL      string         // of the whole, in canonical form
	Sentence string         // the same in English
	Parts    []Part
}

// Part is what one component shows.
type Part struct {
	Component
	Metric   Metric // what is shown: where averages must not be, the count
	Interval string // of a trend, as drawn: coarser than asked for where there would be too many steps
	Query    *string
	Sentence string // what the part is about, in English
	// Total is the figure of everything the part is about; of a distribution, of the feedback that answered, and their mean. Verbatims have none.
	Total     *Figure
	Figures   []Figure
	Verbatims []Verbatim
	// Withheld says that what the part would show must not be: the link hides it.
	Withheld bool
}

// Verbatim is a text with the name of the question it answers.
type Verbatim struct {
	feedback.Verbatim
	Question string
}

// Figure is one number, and how to list what is behind it.
type Figure struct {
	About Subject
	Key   string // of a group in the interface: a source, a status, an id, a score, the text of an attribute value
	Label string // for people
	// From and To are the first and the last day of a step of a trend.
	From, To time.Time
	Count    int64
	FQL      *string // lists Count feedback; nil where the language cannot say it
	// Value is the metric, of N feedback; nil where there is nothing to measure.
	Value *float64
	N     int64
	NFQL  *string // lists N feedback
	// Hidden says that the step of a trend must not be shown; its numbers are zero then.
	Hidden bool
}

// Subject is what a figure is about.
type Subject string

// The subjects.
const (
	OfAll   Subject = "total"
	OfGroup Subject = "group"
	OfOther Subject = "other" // the groups that are not shown by themselves, together
	OfNone  Subject = "none"  // what is in no group
	OfStep  Subject = "step"  // of a trend
)

// measures are the sums that a metric needs.
func (m Metric) measures() feedback.Measures {
	return feedback.Measures{NPS: m == NPS, Satisfaction: m == Satisfaction, Completion: m == Completion, Sentiment: m == Sentiment}
}

// of is the metric of some feedback, and of how many of them; nil when that is none.
func (m Metric) of(s feedback.Sums) (value *float64, n int64) {
	switch m {
	case NPS:
		n = s.Positive + s.Neutral + s.Negative
		return rounded(100*(s.Positive-s.Negative), n, 1), n
	case Satisfaction:
		return rounded(s.SatisfactionSum, 100*s.SatisfactionN, 2), s.SatisfactionN
	case Completion:
		return rounded(100*s.CompletedN, s.N, 1), s.N
	case Sentiment:
		return rounded(s.SentimentSum, 100*s.SentimentN, 2), s.SentimentN
	default:
		return new(float64(s.N)), s.N
	}
}

// rounded is a fraction with some decimals, halves away from zero; nil where there is nothing to divide by.
func rounded(numerator, denominator int64, decimals int) *float64 {
	if denominator == 0 {
		return nil
	}
	scale := int64(1)
	for range decimals {
		scale *= 10
	}
	half := denominator
	if numerator < 0 {
		half = -denominator
	}
	return new(float64((2*numerator*scale+half)/(2*denominator)) / float64(scale))
}

// measured is the condition of what a metric is taken from; false when that is everything.
func (m Metric) measured() (fql.Condition, bool) {
	switch m {
	case NPS:
		return fql.Condition{Field: fql.NPS, Op: fql.Exists}, true
	case Satisfaction:
		return fql.Condition{Field: fql.Satisfaction, Op: fql.Exists}, true
	case Sentiment:
		return fql.Condition{Field: fql.Sentiment, Op: fql.Exists}, true
	default:
		return fql.Condition{}, false
	}
}

// figure puts together what is known of some feedback: those within a query that meet all conditions.
func figure(within fql.Query, s feedback.Sums, m Metric, conditions ...fql.Condition) Figure {
	f := Figure{Count: s.N, FQL: filterText(within, conditions)}
	f.Value, f.N = m.of(s)
	f.NFQL = f.FQL
	if c, some := m.measured(); some {
		f.NFQL = filterText(within, append(conditions[:len(conditions):len(conditions)], c))
	}
	return f
}

// filterText is the query with further conditions in canonical form; nil where it is longer than the language takes.
func filterText(within fql.Query, conditions []fql.Condition) *string {
	q := within
	if len(conditions) > 0 {
		var err error
		if q, err = fql.And(within, fql.All(conditions...)); err != nil {
			return nil
		}
	}
	text := q.String()
	if _, err := feedback.Filters.Parse(text); err != nil {
		return nil
	}
	return &text
}
