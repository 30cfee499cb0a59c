package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql"
)

// Limits of a report.
const (
	MaxComponents = 50
	MaxLimit      = 100 // groups or texts that one component shows
	defaultLimit  = 10
	maxTitle      = 255
	maxName       = 255 // of an attribute
)

// Kind is what sort of thing a component shows.
type Kind string

// The kinds of components.
const (
	KPI          Kind = "kpi"          // one figure
	Trend        Kind = "trend"        // a figure over time
	Breakdown    Kind = "breakdown"    // a figure for each of the largest groups, the others together, and those in none
	Distribution Kind = "distribution" // how often each answer was given on the scale of a question
	Topics       Kind = "topics"       // what texts speak of most
	Verbatims    Kind = "verbatims"    // the latest texts
)

// Kinds lists every kind.
func Kinds() []string {
	return []string{string(KPI), string(Trend), string(Breakdown), string(Distribution), string(Topics), string(Verbatims)}
}

// Metric is what is measured of feedback.
type Metric string

// The metrics.
const (
	Count        Metric = "count"
	NPS          Metric = "nps"          // promoters less detractors, in percent of those who answered
	Satisfaction Metric = "satisfaction" // mean of what could be measured
	Completion   Metric = "completion"   // percent that are complete
	Sentiment    Metric = "sentiment"    // mean of what could be measured
)

// Metrics lists every metric.
func Metrics() []string {
	return []string{string(Count), string(NPS), string(Satisfaction), string(Completion), string(Sentiment)}
}

// Intervals lists the steps of a trend.
func Intervals() []string { return []string{"day", "week", "month"} }

// Component is one part of a report.
type Component struct {
	ID      int64 // 0 for one that is not written yet
	Type    Kind
	Title   string
	FQL     string // its own filter as it was sent, on top of the report's; "" is none
	Options Options
}

// Options are what a component needs to know; which of them it takes depends on its kind, and the others are empty.
type Options struct {
	Metric     Metric
	Interval   string // of a trend
	By         string // what a breakdown tells apart: one of the names in by, attribute:NAME or question:ID
	QuestionID int64  // of a distribution; of verbatims, where they are to be answers to one question
	Limit      int    // groups or texts to show
}

// by are the fields that feedback can be broken down by.
var by = []string{"source", "carrier", "status", "nps", "topic"}

// Standard are the components of a prefilled report.
func Standard() []Component {
	components := []Component{
		{Type: KPI, Options: Options{Metric: Count}},
		{Type: KPI, Options: Options{Metric: NPS}},
		{Type: KPI, Options: Options{Metric: Satisfaction}},
		{Type: KPI, Options: Options{Metric: Completion}},
		{Type: KPI, Options: Options{Metric: Sentiment}},
		{Type: Trend, Options: Options{Metric: Count, Interval: "month"}},
		{Type: Trend, Options: Options{Metric: NPS, Interval: "month"}},
		{Type: Breakdown, Options: Options{By: "source"}},
		{Type: Breakdown, Options: Options{By: "status"}},
		{Type: Breakdown, Options: Options{By: "nps"}},
		{Type: Topics, Options: Options{Metric: Satisfaction}}, // kept with every topic; sentiment would have to be counted
		{Type: Verbatims},
	}
	for i := range components {
		components[i].check("", &fault.Form{}, nil)
	}
	return components
}

// check notes what is wrong with a component, at paths that begin with path, fills in what is not given and drops what its kind does not take.
// questions are those that components ask about, as far as they exist.
func (c *Component) check(path string, form *fault.Form, questions map[int64]carrier.Question) {
	if c.Title = strings.TrimSpace(c.Title); len([]rune(c.Title)) > maxTitle {
		form.Add(path+"title", "must not be longer than %d characters", maxTitle)
	}
	if _, err := feedback.Filters.Parse(c.FQL); err != nil {
		form.Add(path+"fql", "%s", err)
	}
	given := c.Options
	c.Options = Options{}
	o := optionCheck{path: path + "options.", form: form, questions: questions}
	switch c.Type {
	case KPI:
		c.Options.Metric = o.metric(given.Metric, "")
	case Trend:
		c.Options.Metric, c.Options.Interval = o.metric(given.Metric, Count), o.interval(given.Interval)
	case Breakdown:
		c.Options.By, c.Options.Metric, c.Options.Limit = o.by(given.By), o.metric(given.Metric, Count), o.limit(given.Limit)
	case Distribution:
		if c.Options.QuestionID = given.QuestionID; given.QuestionID == 0 && !form.Wrong(o.path+"question_id") {
			form.Add(o.path+"question_id", "is required")
		}
		o.question("question_id", given.QuestionID, "on a scale",
			carrier.NPS, carrier.Smiley, carrier.Rating, carrier.Slider, carrier.CES, carrier.RatingsTable)
	case Topics:
		c.Options.Metric, c.Options.Limit = o.metric(given.Metric, Sentiment), o.limit(given.Limit)
	case Verbatims:
		c.Options.QuestionID, c.Options.Limit = given.QuestionID, o.limit(given.Limit)
		o.question("question_id", given.QuestionID, "answered with a text", carrier.Text, carrier.Textarea)
	default:
		if !form.Wrong(path + "type") {
			form.Add(path+"type", "must be one of %s", strings.Join(Kinds(), ", "))
		}
	}
	if c.Title == "" {
		c.Title = c.title(questions)
	}
}

// optionCheck notes what is wrong with options.
type optionCheck struct {
	path      string
	form      *fault.Form
	questions map[int64]carrier.Question
}

func (o optionCheck) metric(given, otherwise Metric) Metric {
	switch {
	case given == "" && otherwise != "":
		return otherwise
	case !slices.Contains(Metrics(), string(given)) && !o.form.Wrong(o.path+"metric"):
		o.form.Add(o.path+"metric", "must be one of %s", strings.Join(Metrics(), ", "))
	}
	return given
}

func (o optionCheck) interval(given string) string {
	switch {
	case given == "":
		return "month"
	case !slices.Contains(Intervals(), given) && !o.form.Wrong(o.path+"interval"):
		o.form.Add(o.path+"interval", "must be one of %s", strings.Join(Intervals(), ", "))
	}
	return given
}

func (o optionCheck) limit(given int) int {
	if given == 0 {
		return defaultLimit
	}
	if given < 1 || given > MaxLimit {
		o.form.Add(o.path+"limit", "must be a whole number from 1 to %d", MaxLimit)
	}
	return given
}

func (o optionCheck) by(given string) string {
	if o.form.Wrong(o.path + "by") {
		return given
	}
	name, isAttribute := strings.CutPrefix(given, "attribute:")
	id := questionOf(given)
	switch {
	case isAttribute && strings.TrimSpace(name) != "" && len([]rune(name)) <= maxName:
		return "attribute:" + strings.TrimSpace(name)
	case id > 0:
		o.question("by", id, "with options to choose from", carrier.Choice, carrier.MultipleChoice)
	case !slices.Contains(by, given):
		o.form.Add(o.path+"by", "must be one of %s, attribute:NAME, question:ID", strings.Join(by, ", "))
	}
	return given
}

// question notes one that does not exist or is of another type than those that make sense.
func (o optionCheck) question(field string, id int64, sort string, types ...carrier.Type) {
	if id == 0 || o.form.Wrong(o.path+field) {
		return
	}
	if q, known := o.questions[id]; !known || !slices.Contains(types, q.Type) {
		o.form.Add(o.path+field, "must be a question of this organization %s", sort)
	}
}

// questionOf is the id in question:ID, or 0.
func questionOf(by string) int64 {
	text, ok := strings.CutPrefix(by, "question:")
	id, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil || id < 1 || strconv.FormatInt(id, 10) != text {
		return 0
	}
	return id
}

// questionIDs are the questions that components ask about.
func questionIDs(components []Component) []int64 {
	var ids []int64
	for _, c := range components {
		for _, id := range []int64{c.Options.QuestionID, questionOf(c.Options.By)} {
			if id > 0 {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// title is what a component is called when nobody gave it a name.
func (c Component) title(questions map[int64]carrier.Question) string {
	metric := map[Metric]string{
		Count: "Feedback", NPS: "NPS", Satisfaction: "Satisfaction", Completion: "Completion", Sentiment: "Sentiment",
	}[c.Options.Metric]
	switch c.Type {
	case KPI:
		return metric
	case Trend:
		return metric + " by " + c.Options.Interval
	case Breakdown:
		if q, ok := questions[questionOf(c.Options.By)]; ok {
			return q.Name
		}
		what := strings.TrimPrefix(c.Options.By, "attribute:")
		if what == "nps" {
			what = "NPS profile"
		}
		return metric + " by " + what
	case Distribution:
		if q, ok := questions[c.Options.QuestionID]; ok {
			return q.Name
		}
		return fmt.Sprint("Question ", c.Options.QuestionID)
	case Topics:
		return "Topics"
	default:
		return "Latest comments"
	}
}

// query is the filter of a component, which was read when it was written.
func (c Component) query(within ...fql.Query) (fql.Query, error) {
	own, err := feedback.Filters.Parse(c.FQL)
	if err != nil {
		return fql.Query{}, err
	}
	return fql.And(append(within, own)...)
}
