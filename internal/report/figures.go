package report

import (
	"context"
	"fmt"
	"slices"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql"
)

// Reading is how the figures of a report are looked at. The zero Reading shows all of them.
type Reading struct {
	Within           fql.Query // narrows the whole report down
	Component        int64     // the only one to look at, unless it is 0
	HideVerbatims    bool
	MinimumGroupSize int
}

// Reading is how a link shows its report.
func (l Link) Reading() Reading {
	return Reading{HideVerbatims: l.HideVerbatims, MinimumGroupSize: l.MinimumGroupSize}
}

// Figures returns the figures of a report that the caller may see; others are fault.NotFound, and so is an unknown component. A narrowed view
// sees figures of its own feedback. Whatever takes too long is fault.QueryTooBroad; a filter too long together with the report's is refused.
func (s *Store) Figures(ctx context.Context, p account.Principal, id int64, how Reading) (Report, Figures, error) {
	r, err := s.ByID(ctx, p, id)
	if err != nil {
		return Report{}, Figures{}, err
	}
	f, err := s.FiguresOf(ctx, p.View(), r, how)
	return r, f, err
}

// FiguresOf returns the figures of a report that was found before, as ByToken does.
func (s *Store) FiguresOf(ctx context.Context, v account.View, r Report, how Reading) (Figures, error) {
	components, err := readComponents(ctx, s.db, v, r.ID)
	if err != nil {
		return Figures{}, err
	}
	if how.Component != 0 {
		components = slices.DeleteFunc(components, func(c Component) bool { return c.ID != how.Component })
		if len(components) == 0 {
			return Figures{}, fault.Missing("component")
		}
	}
	questions, err := s.carriers.Questions(ctx, v, questionIDs(components))
	if err != nil {
		return Figures{}, err
	}
	whole, queries, err := joined(r, components, how.Within)
	if err != nil {
		return Figures{}, err
	}
	var f Figures
	err = s.records.Snapshot(ctx, v, func(ctx context.Context, snapshot *feedback.Snapshot) error {
		l := &look{
			at: snapshot, questions: questions, how: how, least: leastOf(how.MinimumGroupSize),
			components: components, queries: queries, groups: map[string]map[feedback.Dimension][]feedback.Group{},
		}
		f = Figures{At: snapshot.Now, Zone: snapshot.Zone, FQL: whole.String(), Sentence: whole.Sentence(), Parts: make([]Part, len(components))}
		for i, c := range components {
			var err error
			if f.Parts[i], err = l.part(ctx, c, queries[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Figures{}, err
	}
	return f, s.nameQuestions(ctx, v, f.Parts)
}

// nameQuestions says which questions texts answer.
func (s *Store) nameQuestions(ctx context.Context, v account.View, parts []Part) error {
	var ids []int64
	for _, p := range parts {
		for _, text := range p.Verbatims {
			ids = append(ids, text.QuestionID)
		}
	}
	questions, err := s.carriers.Questions(ctx, v, ids)
	if err != nil {
		return err
	}
	for _, p := range parts {
		for i := range p.Verbatims {
			p.Verbatims[i].Question = questions[p.Verbatims[i].QuestionID].Name
		}
	}
	return nil
}

// joined is the filter of the whole report, and of each component within it.
func joined(r Report, components []Component, within fql.Query) (whole fql.Query, queries []fql.Query, err error) {
	own, err := feedback.Filters.Parse(r.FQL)
	if err != nil {
		return fql.Query{}, nil, fmt.Errorf("filter of the report: %w", err)
	}
	if whole, err = fql.And(own, within); err == nil {
		queries = make([]fql.Query, len(components))
		for i, c := range components {
			if queries[i], err = c.query(whole); err != nil {
				break
			}
		}
	}
	if err != nil { // each was short enough when it was written, so it is what was asked for now
		var form fault.Form
		form.Add("fql", "is too long together with the filters of the report: %s", err)
		return fql.Query{}, nil, form.Err()
	}
	return whole, queries, nil
}

// look is one reading of a report under way.
type look struct {
	at         *feedback.Snapshot
	questions  map[int64]carrier.Question
	how        Reading
	least      int64 // the smallest group to be shown; 0 shows all
	components []Component
	queries    []fql.Query                                        // of the components
	groups     map[string]map[feedback.Dimension][]feedback.Group // by query
}

// part is what a component shows of the feedback that its query matches.
func (l *look) part(ctx context.Context, c Component, q fql.Query) (Part, error) {
	p := Part{Component: c, Metric: c.Options.Metric, Query: filterText(q, nil), Sentence: q.Sentence()}
	if p.Metric == "" {
		p.Metric = Count
	}
	if c.Type == Verbatims {
		return l.verbatims(ctx, p, q)
	}
	total, err := l.total(ctx, q)
	if err != nil {
		return p, err
	}
	p.Total = new(figure(q, total, p.Metric))
	p.Total.About, p.Total.Label = OfAll, "Total"
	if withheld, err := l.withhold(&p, total); withheld || err != nil {
		return p, err
	}
	switch c.Type {
	case Trend:
		return l.trend(ctx, p, q)
	case Breakdown:
		return l.breakdown(ctx, p, q, total)
	case Distribution:
		return l.distribution(ctx, p, q, total)
	case Topics:
		return l.topics(ctx, p, q)
	default:
		return p, nil
	}
}

// withhold keeps back what must not be shown at all. A filter of its own could be told apart from the report's: what is within the report
// and not within the component might be one. And an average that may not be shown leaves nothing of a figure.
func (l *look) withhold(p *Part, total feedback.Sums) (bool, error) {
	if l.least == 0 {
		return false, nil
	}
	own, err := feedback.Filters.Parse(p.FQL)
	if err != nil {
		return false, err
	}
	if !own.Everything() || total.N < l.least {
		l.conceal(p)
		return true, nil
	}
	if tellable(total, p.Metric, l.least) {
		return false, nil
	}
	if p.Type == KPI || p.Type == Trend {
		l.conceal(p)
		return true, nil
	}
	l.countOnly(p)
	return false, nil
}

// conceal leaves nothing of a part but its name.
func (l *look) conceal(p *Part) {
	p.Total, p.Figures, p.Verbatims, p.Withheld = nil, nil, nil, true
}

// countOnly drops the averages of a part.
func (l *look) countOnly(p *Part) {
	drop := func(f *Figure) { f.Value, f.N, f.NFQL = new(float64(f.Count)), f.Count, f.FQL }
	p.Metric = Count
	drop(p.Total)
	for i := range p.Figures {
		drop(&p.Figures[i])
	}
}

// total is what is known of everything a query matches.
func (l *look) total(ctx context.Context, q fql.Query) (feedback.Sums, error) {
	groups, err := l.apart(ctx, q, feedback.Dimension{})
	if err != nil || len(groups) == 0 {
		return feedback.Sums{}, err
	}
	return groups[0].Sums, nil
}

// apart tells what a query matches apart. Whatever any component wants to know of the same is asked at once: where it has to be counted,
// the records are looked at once.
func (l *look) apart(ctx context.Context, q fql.Query, by feedback.Dimension) ([]feedback.Group, error) {
	key := q.String()
	if known, ok := l.groups[key]; ok {
		return known[by], nil
	}
	ways := []feedback.Dimension{{}}
	var want feedback.Measures
	for i, c := range l.components {
		if l.queries[i].String() != key {
			continue
		}
		m := c.Options.Metric.measures()
		want = feedback.Measures{
			NPS: want.NPS || m.NPS, Satisfaction: want.Satisfaction || m.Satisfaction,
			Completion: want.Completion || m.Completion, Sentiment: want.Sentiment || m.Sentiment,
		}
		if way := l.dimension(c); !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	found, err := l.at.Groups(ctx, q, want, ways...)
	if err != nil {
		return nil, err
	}
	l.groups[key] = found
	return found[by], nil
}

// dimension is what a component tells apart; none where that is values, of which a record may have several.
func (l *look) dimension(c Component) feedback.Dimension {
	if c.Type == Trend {
		return feedback.Dimension{Field: fql.CreatedAt, Interval: l.interval(c.Options.Interval)}
	}
	if field, ok := fields[c.Options.By]; ok && c.Type == Breakdown {
		return feedback.Dimension{Field: field}
	}
	return feedback.Dimension{}
}

// verbatims are the latest texts.
func (l *look) verbatims(ctx context.Context, p Part, q fql.Query) (Part, error) {
	written := fql.Condition{Field: fql.Text, Op: fql.Exists}
	if p.Options.QuestionID != 0 {
		written = fql.Condition{Field: fql.Question, Question: p.Options.QuestionID, Op: fql.Exists}
	}
	if l.how.HideVerbatims {
		l.conceal(&p)
		return p, nil
	}
	if l.least > 0 {
		total, err := l.total(ctx, q)
		if err != nil {
			return p, err
		}
		if withheld, err := l.withhold(&p, total); withheld || err != nil {
			return p, err
		}
	}
	p.Query = filterText(q, []fql.Condition{written})
	within := q
	if p.Options.QuestionID != 0 { // the index over answers knows who answered; who wrote anything only the texts
		var err error
		if within, err = fql.And(q, fql.All(written)); err != nil {
			within = q
		}
	}
	texts, err := l.at.Texts(ctx, within, p.Options.QuestionID, p.Options.Limit)
	for _, text := range texts {
		if l.least > 0 { // a source that only one text has is a group of one
			text.Source = 0
		}
		p.Verbatims = append(p.Verbatims, Verbatim{Verbatim: text})
	}
	return p, err
}
