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
	var s scoring
	s.Completed = len(items) > 0
	for n, item := range items {
		q := r.question(item.QuestionID)
		c := checker{q: q, options: q.offered(), path: fmt.Sprintf("items.%d.", n), form: form}
		if q.ArchivedAt != nil {
			form.Add(c.path+"question_id", "is archived and takes no new answers")
		}
		answer, score := c.check(item)
		s.Answers = append(s.Answers, answer)
		if s.again(q, answer) {
			form.Add(c.path+"question_id", "is answered twice")
		}
		if answer.Value == "" {
			s.Completed = false
			continue
		}
		s.add(q, answer, score)
	}
	for _, id := range r.required {
		s.Completed = s.Completed && s.answered[id]
	}
	return s.result()
}

// Reread reads answers that were accepted once against the rules as they are now. One that no longer fits its question is kept and worth
// nothing. Completed says nothing: whether a feedback was complete was decided when it came.
func (r *Rules) Reread(answers []Answer) Result {
	var s scoring
	for _, stored := range answers {
		q := r.question(stored.QuestionID)
		item := Item{QuestionID: stored.QuestionID, Value: stored.Value}
		if slices.ContainsFunc(q.Options, func(o Option) bool { return o.ID == stored.OptionID }) {
			item.OptionID = stored.OptionID
			if q.Type != RatingsTable {
				item.Value = "" // the option may have another name by now
			}
		}
		var form fault.Form
		answer, score := checker{q: q, options: q.Options, form: &form}.check(item)
		switch {
		case stored.Value == "":
			s.Answers = append(s.Answers, stored)
		case form.Err() != nil || s.again(q, answer):
			s.Answers = append(s.Answers, stored)
			s.present(q)
		default:
			answer.Value = stored.Value
			s.Answers = append(s.Answers, answer)
			s.add(q, answer, score)
		}
	}
	return s.result()
}

func (r *Rules) question(id int64) Question {
	if q, ok := r.questions[id]; ok {
		return q
	}
	return Question{ID: id, Type: Text}
}

// scoring adds up what answers are worth.
type scoring struct {
	Result
	sum      big.Rat
	scales   int64
	seen     map[[2]int64]bool
	answered map[int64]bool
}

// again reports whether the question, or this option of one that is answered option by option, was answered before.
func (s *scoring) again(q Question, a Answer) bool {
	once := [2]int64{q.ID, a.OptionID}
	if !q.Type.repeats() {
		once[1] = 0
	}
	if s.seen == nil {
		s.seen = map[[2]int64]bool{}
	}
	seen := s.seen[once]
	s.seen[once] = a.OptionID != 0 || !q.Type.repeats() // an option that was not found is no second one
	return seen
}

// present notes that a question was answered at all.
func (s *scoring) present(q Question) {
	if s.answered == nil {
		s.answered = map[int64]bool{}
	}
	if !s.answered[q.ID] {
		s.answered[q.ID] = true
		s.AnswerIDs = append(s.AnswerIDs, q.PresenceID)
	}
}

// add counts an answer that fits.
func (s *scoring) add(q Question, a Answer, score int16) {
	s.present(q)
	switch q.Type {
	case Choice, MultipleChoice:
		s.AnswerIDs = append(s.AnswerIDs, a.OptionID)
	case Text, Textarea:
		s.Texts = append(s.Texts, a)
	case NPS, Smiley, Rating, Slider, CES, RatingsTable:
		if id, ok := q.scores[scoreKey{a.OptionID, score}]; ok {
			s.AnswerIDs = append(s.AnswerIDs, id)
		}
		if q.Type == NPS && s.Profile == 0 {
			s.Profile = profile(score)
		}
		if q.Type != CES { // effort is no satisfaction
			_, top := q.scale()
			s.sum.Add(&s.sum, big.NewRat(int64(score)*100, int64(top)))
			s.scales++
		}
	case Date, Number:
	}
}

func (s *scoring) result() Result {
	if s.scales > 0 {
		s.Scale = s.sum.Quo(&s.sum, big.NewRat(s.scales, 1))
	}
	return s.Result
}

// checker reads one item.
type checker struct {
	q       Question
	options []Option // those that count
	path    string
	form    *fault.Form
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
	for _, o := range c.options {
		if (item.OptionID == 0 || item.OptionID == o.ID) && (item.Option == "" || item.Option == o.Name) {
			return o
		}
	}
	c.form.Add(c.path+field, "must be one of the question's options: %s", optionNames(c.options))
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
