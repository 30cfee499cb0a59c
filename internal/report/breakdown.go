package report

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"earshot/internal/carrier"
	"earshot/internal/feedback"
	"earshot/internal/fql"
)

// group is one group of a breakdown.
type group struct {
	key, label string
	value      fql.Value
	sums       feedback.Sums
}

// shares are the parts of a whole: the groups to show in their order, those that are left, and what is in none.
type shares struct {
	field  fql.Condition // which field is broken down, for conditions on it
	groups []group
	rest   feedback.Sums // of the other groups together
	parts  int64         // how many those are
	none   feedback.Sums
	// several says that a record may be in more than one group: the rest cannot be told from sums and has to be counted.
	several bool
	always  bool // every record is in a group
}

// breakdown shows the largest groups, the others together, and what is in none.
func (l *look) breakdown(ctx context.Context, p Part, q fql.Query, total feedback.Sums) (Part, error) {
	s, err := l.shares(ctx, p, q, total)
	if err != nil {
		return p, err
	}
	return l.show(ctx, p, q, s)
}

// fields are those of which a record has one value at most.
var fields = map[string]fql.Field{"source": fql.Source, "carrier": fql.Carrier, "status": fql.Status, "nps": fql.NPS}

// shares finds the groups. They have their own order where there is one, and else the largest first.
func (l *look) shares(ctx context.Context, p Part, q fql.Query, total feedback.Sums) (shares, error) {
	name, isAttribute := strings.CutPrefix(p.Options.By, "attribute:")
	question := l.questions[questionOf(p.Options.By)]
	switch {
	case isAttribute:
		return l.values(ctx, p, q, total, feedback.Set{Field: fql.Attribute, Name: name}, fql.Condition{Field: fql.Attribute, Name: name})
	case p.Options.By == "topic":
		return l.values(ctx, p, q, total, feedback.Set{Field: fql.Topic}, fql.Condition{Field: fql.Topic})
	case questionOf(p.Options.By) != 0:
		return l.values(ctx, p, q, total, feedback.Set{Field: fql.Question, Question: question},
			fql.Condition{Field: fql.Question, Question: questionOf(p.Options.By)})
	}
	field := fields[p.Options.By]
	found, err := l.apart(ctx, q, feedback.Dimension{Field: field})
	if err != nil {
		return shares{}, err
	}
	found = slices.Clone(found)
	s := shares{field: fql.Condition{Field: field}, always: field != fql.NPS}
	found = slices.DeleteFunc(found, func(g feedback.Group) bool {
		if field == fql.NPS && g.Key == 0 {
			s.none = g.Sums
			return true
		}
		return false
	})
	if field == fql.NPS { // the best first
		slices.Reverse(found)
	}
	if field == fql.Source || field == fql.Carrier || len(found) > p.Options.Limit {
		slices.SortStableFunc(found, func(a, b feedback.Group) int { return cmp.Compare(b.N, a.N) })
	}
	shown := found[:min(len(found), p.Options.Limit)]
	for _, g := range found[len(shown):] {
		s.rest, s.parts = s.rest.Plus(g.Sums), s.parts+1
	}
	labels, err := l.at.Labels(ctx, field, keys(shown))
	if err != nil {
		return shares{}, err
	}
	for _, g := range shown {
		s.groups = append(s.groups, named(field, g, labels))
	}
	return s, nil
}

// values are the groups of a field that may have several values.
func (l *look) values(ctx context.Context, p Part, q fql.Query, total feedback.Sums, of feedback.Set, field fql.Condition) (shares, error) {
	found, err := l.at.Values(ctx, q, of, p.Options.Limit, p.Metric.measures())
	if err != nil {
		return shares{}, err
	}
	s := shares{field: field, parts: found.Others}
	present := found.Present
	if of.Field == fql.Topic {
		exists := field
		exists.Op = fql.Exists
		if present, err = l.counted(ctx, q, p.Metric, exists); err != nil {
			return shares{}, err
		}
	}
	s.none = total.Minus(present)
	// A record with two values is in the sum of all values twice: none has two where that is the number of records.
	s.several = found.All.N != present.N
	s.rest = present
	for _, g := range found.Top {
		s.rest = s.rest.Minus(g.Sums)
	}
	labels, err := l.at.Labels(ctx, of.Field, keys(found.Top))
	if err != nil {
		return shares{}, err
	}
	for _, o := range of.Question.Options {
		labels[o.ID] = o.Name
	}
	for _, g := range found.Top {
		s.groups = append(s.groups, named(of.Field, g, labels))
	}
	return s, nil
}

// counted is what is known of what meets conditions on top of a query.
func (l *look) counted(ctx context.Context, q fql.Query, m Metric, conditions ...fql.Condition) (feedback.Sums, error) {
	within, err := fql.And(q, fql.All(conditions...))
	if err != nil {
		// The conditions are ours: what is too long to be said can still be counted.
		within = q
		within.Groups = slices.Clone(q.Groups)
		for i := range within.Groups {
			within.Groups[i] = slices.Concat(within.Groups[i], conditions)
		}
	}
	return l.at.Total(ctx, within, m.measures())
}

func keys(groups []feedback.Group) []int64 {
	ids := make([]int64, len(groups))
	for i, g := range groups {
		ids[i] = g.Key
	}
	return ids
}

var (
	statusLabels  = map[string]string{"todo": "To do", "progress": "In progress", "contacted": "Contacted", "resolved": "Resolved", "abandoned": "Abandoned"}
	profileNames  = map[carrier.Profile]string{carrier.Positive: "positive", carrier.Neutral: "neutral", carrier.Negative: "negative"}
	profileLabels = map[carrier.Profile]string{carrier.Positive: "Positive", carrier.Neutral: "Neutral", carrier.Negative: "Negative"}
)

// named is a group with its names, and the value that filters know it by.
func named(field fql.Field, g feedback.Group, labels map[int64]string) group {
	out := group{sums: g.Sums}
	switch field {
	case fql.Source:
		s := feedback.Source(g.Key)
		out.key, out.label = s.String(), s.Label()
	case fql.Status:
		out.key = feedback.Status(g.Key).String()
		out.label = statusLabels[out.key]
	case fql.NPS:
		out.key, out.label = profileNames[carrier.Profile(g.Key)], profileLabels[carrier.Profile(g.Key)]
	case fql.Carrier:
		out.key, out.label, out.value = strconv.FormatInt(g.Key, 10), labels[g.Key], fql.NumberValue(g.Key)
		return out
	default:
		out.key, out.label = labels[g.Key], labels[g.Key]
	}
	out.value = fql.TextValue(out.key)
	return out
}

// show makes figures of the groups. Under a minimum group size, those that must not be told apart join the others.
func (l *look) show(ctx context.Context, p Part, q fql.Query, s shares) (Part, error) {
	sizes := make([]size, 0, len(s.groups)+2)
	for _, g := range s.groups {
		sizes = append(sizes, size{n: g.sums.N, parts: 1})
	}
	if s.several && s.parts > 0 || s.rest.N > 0 {
		// What is left of groups that overlap is at least nothing; how much, only counting tells.
		sizes = append(sizes, size{n: max(s.rest.N, s.parts), parts: s.parts, rest: true})
	} else {
		sizes = append(sizes, size{})
	}
	sizes = append(sizes, size{n: s.none.N, parts: 1})
	hidden := make([]bool, len(sizes))
	hidden[len(s.groups)] = s.parts > 0
	if l.least > 0 {
		var whole bool
		if hidden, whole = hide(sizes, l.least); whole {
			l.conceal(&p)
			return p, nil
		}
	}
	in := s.field
	in.Op = fql.In
	out := in
	out.Negative = true
	other := s.rest
	for i, g := range s.groups {
		if hidden[i] {
			other = other.Plus(g.sums)
			continue
		}
		c := in
		c.Values = []fql.Value{g.value}
		out.Values = append(out.Values, g.value)
		f := figure(q, g.sums, p.Metric, c)
		f.About, f.Key, f.Label = OfGroup, g.key, g.label
		p.Figures = append(p.Figures, f)
	}
	noneHidden := hidden[len(hidden)-1]
	if noneHidden {
		other = other.Plus(s.none)
	}
	if slices.Contains(hidden, true) {
		if err := l.other(ctx, &p, q, s, other, out, noneHidden); err != nil {
			return p, err
		}
	}
	if s.none.N > 0 && !noneHidden {
		none := s.field
		none.Op, none.Negative = fql.Exists, true
		f := figure(q, s.none, p.Metric, none)
		f.About, f.Key, f.Label = OfNone, "", "(none)"
		p.Figures = append(p.Figures, f)
	}
	if l.least > 0 && !s.tellable(p.Metric, hidden, l.least) {
		l.countOnly(&p)
	}
	return p, nil
}

// other shows the groups that are not shown by themselves. Where groups overlap, their sums say nothing and they are counted.
func (l *look) other(ctx context.Context, p *Part, q fql.Query, s shares, sums feedback.Sums, out fql.Condition, withNone bool) error {
	var conditions []fql.Condition
	if len(out.Values) > 0 {
		conditions = append(conditions, out)
	}
	if !withNone && !s.always {
		exists := s.field
		exists.Op = fql.Exists
		conditions = append(conditions, exists)
	}
	if s.several {
		var err error
		if sums, err = l.counted(ctx, q, p.Metric, conditions...); err != nil {
			return err
		}
	}
	// What overlaps with groups that are shown may leave less than may be shown; that it is left out tells nothing.
	if sums.N == 0 || sums.N < l.least {
		return nil
	}
	f := figure(q, sums, p.Metric, conditions...)
	f.About, f.Label = OfOther, "Other"
	p.Figures = append(p.Figures, f)
	return nil
}

// tellable reports whether averages may stand beside the groups: none of them is hidden, and each is made of groups large enough.
func (s shares) tellable(m Metric, hidden []bool, least int64) bool {
	ok := tellable(s.none, m, least) && tellable(s.rest, m, least) && (!s.several || s.parts == 0) && !hidden[len(hidden)-1]
	for i, g := range s.groups {
		ok = ok && !hidden[i] && tellable(g.sums, m, least)
	}
	return ok
}
