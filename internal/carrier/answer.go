package carrier

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"earshot/internal/fault"
	"earshot/internal/fql"
)

// Item is one answer as it was sent.
type Item struct {
	QuestionID int64
	Value      string
	OptionID   int64  // the option by id; 0 when not named
	Option     string // the option by name; "" when not named
}

// Answer is an item that passed the rules; OptionID is 0 unless it names an option.
type Answer struct {
	QuestionID int64
	OptionID   int64
	Value      string
}

// Profile is what an NPS answer makes of its author.
type Profile int16

// The profiles; 0 is none.
const (
	Negative Profile = iota + 1
	Neutral
	Positive
)

// Result is what the items of one feedback say and are worth.
type Result struct {
	Answers   []Answer
	AnswerIDs []int64  // dictionary ids: the presence of each answered question and its closed answers
	Texts     []Answer // the free texts, in order
	Profile   Profile
	Scale     *big.Rat // mean of the scales in percent; nil without one
	Completed bool
}

// Check reads items against the rules and notes in the form what they break, at items.N.field. Archived questions and
// options take no new answers. A question the rules do not cover is read as the text question it will be registered as.
func (r *Rules) Check(items []Item, form *fault.Form) Result {
	res := Result{Completed: len(items) > 0}
	sum, scales := new(big.Rat), int64(0)
	seen := map[[2]int64]bool{}
	answered := map[int64]bool{}
	for n, item := range items {
		q, ok := r.questions[item.QuestionID]
		if !ok {
			q = Question{ID: item.QuestionID, Type: Text}
		}
		c := checker{q: q, path: fmt.Sprintf("items.%d.", n), form: form}
		if q.ArchivedAt != nil {
			form.Add(c.path+"question_id", "is archived and takes no new answers")
		}
		answer, score := c.check(item)
		res.Answers = append(res.Answers, answer)
		once := [2]int64{q.ID, answer.OptionID}
		if !q.Type.repeats() {
			once[1] = 0
		}
		if seen[once] {
			form.Add(c.path+"question_id", "is answered twice")
		}
		seen[once] = answer.OptionID != 0 || !q.Type.repeats() // an option that was not found is no second one
		if answer.Value == "" {
			res.Completed = false
			continue
		}
		if !answered[q.ID] {
			answered[q.ID] = true
			res.AnswerIDs = append(res.AnswerIDs, q.PresenceID)
		}
		switch q.Type {
		case Choice, MultipleChoice:
			res.AnswerIDs = append(res.AnswerIDs, answer.OptionID)
		case Text, Textarea:
			res.Texts = append(res.Texts, answer)
		case NPS, Smiley, Rating, Slider, CES, RatingsTable:
			if id, ok := q.scores[scoreKey{answer.OptionID, score}]; ok {
				res.AnswerIDs = append(res.AnswerIDs, id)
			}
			if q.Type == NPS && res.Profile == 0 {
				res.Profile = profile(score)
			}
			if q.Type != CES { // effort is no satisfaction
				_, top := q.scale()
				sum.Add(sum, big.NewRat(int64(score)*100, int64(top)))
				scales++
			}
		case Date, Number:
		}
	}
	for _, id := range r.required {
		res.Completed = res.Completed && answered[id]
	}
	if scales > 0 {
		res.Scale = sum.Quo(sum, big.NewRat(scales, 1))
	}
	return res
}

// checker reads one item.
type checker struct {
	q    Question
	path string
	form *fault.Form
}

// check returns the answer and, for a scale, its score. An empty value is kept as it is and worth nothing.
func (c checker) check(item Item) (Answer, int16) {
	a := Answer{QuestionID: c.q.ID, Value: item.Value}
	switch c.q.Type {
	case Choice, MultipleChoice:
		return c.choice(item), 0
	case RatingsTable:
		a.OptionID = c.option(item, "").ID
		return a, c.score(a.Value)
	case NPS, Smiley, Rating, Slider, CES:
		return a, c.score(a.Value)
	case Date:
		if a.Value != "" && !isDate(a.Value) {
			c.form.Add(c.path+"value", "must be a date such as 2026-01-31")
		}
	case Number:
		if a.Value != "" && !fql.IsNumber(a.Value) {
			c.form.Add(c.path+"value", "must be a number")
		}
	case Text, Textarea:
	}
	return a, 0
}

// choice finds the chosen option by id, by name or by the value itself; an answer that names it two ways must mean one.
func (c checker) choice(item Item) Answer {
	field := "value"
	switch {
	case item.OptionID != 0 || item.Option != "":
		field = ""
	case item.Value == "":
		return Answer{QuestionID: c.q.ID}
	default:
		item.Option = item.Value
	}
	o := c.option(item, field)
	if o.ID != 0 && item.Value != "" && item.Value != o.Name {
		c.form.Add(c.path+"value", "names another option than the one given")
	}
	return Answer{QuestionID: c.q.ID, OptionID: o.ID, Value: o.Name}
}

// option finds the option an item names by id, by name, or by both; when there is none it blames the field.
func (c checker) option(item Item, field string) Option {
	if field == "" {
		field = "option"
		if item.OptionID != 0 {
			field = "question_option_id"
		}
	}
	if item.OptionID == 0 && item.Option == "" {
		c.form.Add(c.path+field, "is required: the row of the table, by name, or its question_option_id")
		return Option{}
	}
	offered := c.q.offered()
	for _, o := range offered {
		if (item.OptionID == 0 || item.OptionID == o.ID) && (item.Option == "" || item.Option == o.Name) {
			return o
		}
	}
	c.form.Add(c.path+field, "must be one of the question's options: %s", optionNames(offered))
	return Option{}
}

func (c checker) score(value string) int16 {
	if value == "" {
		return 0
	}
	low, high := c.q.scale()
	n, ok := whole(value)
	if !ok || n < low || n > high {
		c.form.Add(c.path+"value", "must be a whole number from %d to %d", low, high)
		return low
	}
	return n
}

// scale is the range of a question's scores.
func (q Question) scale() (low, high int16) {
	switch q.Type {
	case NPS:
		return 0, 10
	case CES:
		return 1, 7
	case Rating, Slider:
		return 1, *q.Max
	default:
		return 1, 5
	}
}

// offered are the options that take new answers. Archived ones stand last.
func (q Question) offered() []Option {
	end := slices.IndexFunc(q.Options, func(o Option) bool { return o.ArchivedAt != nil })
	if end < 0 {
		return q.Options
	}
	return q.Options[:end]
}

// repeats reports whether a question may be answered once for each of its options.
func (t Type) repeats() bool { return t == MultipleChoice || t == RatingsTable }

func profile(score int16) Profile {
	switch {
	case score <= 6:
		return Negative
	case score <= 8:
		return Neutral
	default:
		return Positive
	}
}

// Satisfaction is the mean of the scales' and the texts' percentages, or the one that exists, in hundredths of a
// percent rounded half up. Without either it is nil: not measurable.
func Satisfaction(scale, text *big.Rat) *int16 {
	ratio := scale
	switch {
	case scale == nil && text == nil:
		return nil
	case scale == nil:
		ratio = text
	case text != nil:
		ratio = new(big.Rat).Add(scale, text)
		ratio.Quo(ratio, big.NewRat(2, 1))
	}
	// floor(ratio × 100 + 1/2), in whole numbers
	num := new(big.Int).Mul(ratio.Num(), big.NewInt(200))
	num.Add(num, ratio.Denom())
	hundredths := int16(num.Quo(num, new(big.Int).Mul(ratio.Denom(), big.NewInt(2))).Int64())
	return &hundredths
}

// whole reads a whole number that may be spelled with zeros behind the point, as JSON writers do.
func whole(text string) (int16, bool) {
	digits, zeros, _ := strings.Cut(strings.TrimSpace(text), ".")
	if strings.Trim(zeros, "0") != "" || strings.HasPrefix(digits, "+") {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 16)
	return int16(n), err == nil
}

func isDate(text string) bool {
	for _, layout := range []string{time.DateOnly, time.RFC3339, time.DateTime, "01/02/2006", "01/02/2006 15:04:05"} {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

func optionNames(options []Option) string {
	if len(options) == 0 {
		return "it has none"
	}
	const most = 10
	var names []string
	for _, o := range options[:min(len(options), most)] {
		names = append(names, strconv.Quote(o.Name))
	}
	if len(options) > most {
		names = append(names, fmt.Sprintf("and %d more", len(options)-most))
	}
	return strings.Join(names, ", ")
}
