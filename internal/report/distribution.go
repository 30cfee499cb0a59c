package report

import (
	"context"
	"slices"
	"strconv"

	"earshot/internal/carrier"
	"earshot/internal/feedback"
	"earshot/internal/fql"
)

// distribution shows how often each answer was given on a question's scale, and their mean. Answers that nobody gave show as zero.
func (l *look) distribution(ctx context.Context, p Part, q fql.Query, total feedback.Sums) (Part, error) {
	question := l.questions[p.Options.QuestionID]
	field := fql.Condition{Field: fql.Question, Question: p.Options.QuestionID}
	points, present, err := l.points(ctx, q, question, field)
	if err != nil {
		return p, err
	}
	answered := field
	answered.Op = fql.Exists
	p.Total = new(figure(q, present, Count, answered))
	p.Total.About, p.Total.Label, p.Total.Value = OfAll, "Answers", nil
	if question.Type != carrier.RatingsTable {
		p.Total.Value = mean(points)
	}
	sizes := make([]size, len(points))
	for i, point := range points {
		sizes[i] = size{n: point.sums.N, parts: 1}
	}
	hidden := make([]bool, len(points))
	if l.least > 0 {
		var whole bool
		hidden, whole = hide(sizes, l.least)
		some := slices.Contains(hidden, true)
		// Answers and their mean make equations: two answers that are hidden can be told from it, and from any other average or NPS of them.
		if whole || !enough(present.N, l.least) || !enough(total.N-present.N, l.least) || some && (l.averages() || question.Type == carrier.RatingsTable) {
			l.conceal(&p)
			return p, nil
		}
		if some {
			p.Total.Value = nil
		}
	}
	l.drawPoints(&p, q, field, points, hidden)
	return p, nil
}

// averages reports whether the page has any.
func (l *look) averages() bool {
	return slices.ContainsFunc(l.components, func(c Component) bool {
		return c.Options.Metric != "" && c.Options.Metric != Count || c.Options.By == "nps"
	})
}

// point is one answer of a scale.
type point struct {
	score int64
	sums  feedback.Sums
}

// points are the answers of a question's scale in order, and what is known of the records that have any.
func (l *look) points(ctx context.Context, q fql.Query, question carrier.Question, field fql.Condition) ([]point, feedback.Sums, error) {
	scores := map[int64]int64{} // by dictionary id
	question.Scores(func(score int16) bool {
		for _, id := range question.Scores(func(s int16) bool { return s == score }) {
			scores[id] = int64(score)
		}
		return false
	})
	var points []point
	for _, score := range scores {
		if !slices.ContainsFunc(points, func(o point) bool { return o.score == score }) {
			points = append(points, point{score: score})
		}
	}
	slices.SortFunc(points, func(a, b point) int { return int(a.score - b.score) })
	found, err := l.at.Values(ctx, q, feedback.Set{Field: fql.Question, Question: question}, len(scores), feedback.Measures{})
	if err != nil {
		return nil, feedback.Sums{}, err
	}
	for i := range points {
		for _, g := range found.Top {
			if scores[g.Key] == points[i].score {
				points[i].sums = points[i].sums.Plus(g.Sums)
			}
		}
		// A table has a score for each row, and a record may give the same one in several.
		if question.Type == carrier.RatingsTable && points[i].sums.N > 0 {
			given := field
			given.Op, given.Values = fql.In, []fql.Value{fql.NumberValue(points[i].score)}
			if points[i].sums, err = l.counted(ctx, q, Count, given); err != nil {
				return nil, feedback.Sums{}, err
			}
		}
	}
	return points, found.Present, nil
}

func mean(points []point) *float64 {
	var sum, n int64
	for _, p := range points {
		sum, n = sum+p.score*p.sums.N, n+p.sums.N
	}
	return rounded(sum, n, 2)
}

func (l *look) drawPoints(p *Part, q fql.Query, field fql.Condition, points []point, hidden []bool) {
	in, out := field, field
	in.Op, out.Op = fql.In, fql.In
	var other feedback.Sums
	for i, point := range points {
		value := fql.NumberValue(point.score)
		if hidden[i] {
			other, out.Values = other.Plus(point.sums), append(out.Values, value)
			continue
		}
		in.Values = []fql.Value{value}
		f := figure(q, point.sums, Count, in)
		f.About, f.Key, f.Label = OfGroup, strconv.FormatInt(point.score, 10), strconv.FormatInt(point.score, 10)
		p.Figures = append(p.Figures, f)
	}
	if len(out.Values) > 0 {
		f := figure(q, other, Count, out)
		f.About, f.Label = OfOther, "Other"
		p.Figures = append(p.Figures, f)
	}
}

// topics shows what texts speak of most. A text may speak of several topics, so they add up to nothing.
func (l *look) topics(ctx context.Context, p Part, q fql.Query) (Part, error) {
	found, err := l.at.Values(ctx, q, feedback.Set{Field: fql.Topic}, p.Options.Limit, p.Metric.measures())
	if err != nil {
		return p, err
	}
	labels, err := l.at.Labels(ctx, fql.Topic, keys(found.Top))
	if err != nil {
		return p, err
	}
	averages := true
	for _, g := range found.Top {
		if l.least > 0 && g.N < l.least {
			continue
		}
		averages = averages && (l.least == 0 || tellable(g.Sums, p.Metric, l.least))
		topic := named(fql.Topic, g, labels)
		f := figure(q, g.Sums, p.Metric, fql.Condition{Field: fql.Topic, Op: fql.In, Values: []fql.Value{topic.value}})
		f.About, f.Key, f.Label = OfGroup, topic.key, topic.label
		p.Figures = append(p.Figures, f)
	}
	if !averages {
		l.countOnly(&p)
	}
	return p, nil
}
