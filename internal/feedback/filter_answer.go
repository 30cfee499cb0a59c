package feedback

import (
	"slices"
	"strconv"
	"strings"

	"earshot/internal/carrier"
	"earshot/internal/fql"
)

// closedAnswers are the dictionary ids of the answers to a question that a condition means, if its type has such: presences, options, scores.
func closedAnswers(q carrier.Question, c fql.Condition) (ids []int64, ok bool) {
	if c.Op == fql.Exists {
		return []int64{q.PresenceID}, true
	}
	switch q.Type {
	case carrier.Choice, carrier.MultipleChoice:
		return optionSet(q, c), true
	case carrier.Text, carrier.Textarea, carrier.Date, carrier.Number:
		return nil, false
	default:
		if c.Op == fql.Like { // the digits as they were sent
			return nil, false
		}
		return q.Scores(func(score int16) bool { return holds(c, score) }), true
	}
}

// answerSQL compares the open answers to one question by looking into the items of those records that answered at all. A question nobody
// knows has no answers.
func (f *filter) answerSQL(c fql.Condition, bind func(any) string) string {
	q, known := f.questions[c.Question]
	if !known {
		return "FALSE"
	}
	switch q.Type {
	case carrier.Text, carrier.Textarea:
		return f.answered(q, openTextSQL(q, c, bind), bind)
	default:
		return f.answered(q, itemSQL(q, c, bind), bind)
	}
}

// optionSet are the options a condition means: by name, or by a part of it. Names have no order.
func optionSet(q carrier.Question, c fql.Condition) []int64 {
	var set []int64
	for _, o := range q.Options {
		if slices.ContainsFunc(c.Values, func(v fql.Value) bool {
			return c.Op == fql.In && v.Text == o.Name || c.Op == fql.Like && strings.Contains(fql.Fold(o.Name), fql.Fold(v.Text))
		}) {
			set = append(set, o.ID)
		}
	}
	return set
}

// holds compares a score with a condition's numbers.
func holds(c fql.Condition, score int16) bool {
	against := func(i int) (float64, bool) {
		n, err := strconv.ParseFloat(strings.TrimSpace(c.Values[i].Text), 64)
		return n, err == nil && fql.IsNumber(strings.TrimSpace(c.Values[i].Text))
	}
	s := float64(score)
	if c.Op == fql.In {
		for i := range c.Values {
			if n, ok := against(i); ok && n == s {
				return true
			}
		}
		return false
	}
	n, _ := against(0)
	switch c.Op {
	case fql.Above:
		return s > n
	case fql.AtLeast:
		return s >= n
	case fql.Below:
		return s < n
	case fql.AtMost:
		return s <= n
	default:
		upper, _ := against(1)
		return n <= s && s <= upper
	}
}

// answered narrows down to the records that answered the question before their content is looked at.
func (f *filter) answered(q carrier.Question, condition string, bind func(any) string) string {
	return "(" + f.setSQL("answer_ids", []int64{q.PresenceID}, bind) + " AND " + f.contentSQL(condition) + ")"
}

// openTextSQL looks into one question's text answer. The search column holds it behind the question's mark.
func openTextSQL(q carrier.Question, c fql.Condition, bind func(any) string) string {
	switch c.Op {
	case fql.In:
		return "c.items @> ANY(" + bind(itemsWith(c, storedItem{Question: q.ID})) + "::jsonb[])"
	case fql.Like:
		parts := patterns(c, searched)
		marked := make([]string, len(parts))
		for i, p := range parts {
			marked[i] = questionMark(q.ID) + textMark + p
		}
		return "c.search_text LIKE ANY(" + bind(parts) + `::text[])
			AND EXISTS (SELECT FROM unnest(string_to_array(c.search_text, ` + bind(answerMark) + `)) AS a (t) WHERE a.t LIKE ANY(` + bind(marked) + "::text[]))"
	default:
		return "FALSE" // texts have no order
	}
}

// itemSQL looks into one question's items as they were sent.
func itemSQL(q carrier.Question, c fql.Condition, bind func(any) string) string {
	item := func(condition string) string {
		return `EXISTS (SELECT FROM jsonb_array_elements(c.items) AS i (item) WHERE i.item ->> 'q' = ` + bind(strconv.FormatInt(q.ID, 10)) + ` AND ` + condition + ")"
	}
	switch {
	case c.Op == fql.In:
		return "c.items @> ANY(" + bind(itemsWith(c, storedItem{Question: q.ID})) + "::jsonb[])"
	case c.Op == fql.Like:
		return item("lower(i.item ->> 'v') LIKE ANY(" + bind(patterns(c, fql.Fold)) + "::text[])")
	case q.Type != carrier.Number:
		return "FALSE" // no order
	}
	// The cast is guarded: a question may have been of another type when the answer came.
	number := `CASE WHEN i.item ->> 'v' ~ '^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$' THEN (i.item ->> 'v')::numeric END`
	return item(numericSQL(number, c, bind))
}
