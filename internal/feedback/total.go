package feedback

import (
	"time"

	"earshot/internal/fql"
	"earshot/internal/pg"
	"earshot/internal/tally"
)

// total is how the number of matches is obtained: a statement, and the name of the way for those who ask.
type total struct {
	sql  string
	args pg.Args
	way  string
}

// The ways to a total, from the cheapest to the dearest.
const (
	fromTallies = "tallies"           // sums kept for every combination of the dimensions asked about
	fromEdges   = "tallies_and_edges" // the same for the whole days of a period, its ragged ends counted
	fromFacet   = "value_count"       // the count kept for one attribute value, topic or answer
	counted     = "count"             // counted through an index
)

// total chooses the cheapest exact way. A restricted viewer's records are counted: no sum is kept of those.
func (f *filter) total() (total, error) {
	if _, narrowed := f.view.Owner(); !narrowed {
		if t, ok, err := f.tallied(); ok || err != nil {
			return t, err
		}
		if t, ok, err := f.edged(); ok || err != nil {
			return t, err
		}
		if t, ok, err := f.faceted(); ok || err != nil {
			return t, err
		}
	}
	return f.count()
}

func (f *filter) count() (total, error) {
	t := total{way: counted}
	where, err := f.matching(&t.args)
	t.sql = `SELECT count(*) FROM feedback f WHERE ` + where
	return t, err
}

// tallied sums a rollup when every condition is on dimensions of one of its grains.
func (f *filter) tallied() (total, bool, error) {
	grain, ok := f.grain()
	if !ok {
		return total{}, false, nil
	}
	t := total{way: fromTallies}
	var err error
	t.sql, err = tally.TotalSQL(grain, t.args.Bind(f.view.Org()), func(alias string) (string, error) {
		return f.dimensions(tally.Columns(alias), &t.args)
	})
	return t, true, err
}

// grain finds the smallest rollup that knows every dimension of the query.
func (f *filter) grain() (tally.Grain, bool) {
	var sourced, carried, timed bool
	months := true
	for _, c := range f.query.Conditions() {
		switch c.Field {
		case fql.Status, fql.NPS:
		case fql.Carrier, fql.Team:
			carried = true
		case fql.Source:
			sourced = true
		case fql.CreatedAt:
			timed = true
			for _, r := range c.Ranges(f.now, f.zone) {
				if !wholeDays(r, f.zone) {
					return 0, false
				}
				months = months && wholeMonths(r, f.zone)
			}
		default:
			return 0, false
		}
	}
	switch {
	case timed && f.rezoning: // some days are those of another zone
		return 0, false
	case timed && !sourced:
		return tally.ByDay, true
	case timed && months:
		return tally.ByMonth, true
	case timed:
		return 0, false
	case carried || sourced:
		return tally.AllTime, true
	default:
		return tally.ByStatus, true
	}
}

// dimensions renders the query over rows that have columns for dimensions instead of records.
func (f *filter) dimensions(column tally.ColumnNames, args *pg.Args) (string, error) {
	n := -1
	return f.query.SQL(func(c fql.Condition) (string, error) {
		n++
		switch c.Field {
		case fql.Status:
			return namesSQL(column.Status, c, args.Bind), nil
		case fql.NPS:
			return namesSQL("nullif("+column.NPS+", 0)", c, args.Bind), nil
		case fql.Source:
			return namesSQL(column.Source, c, args.Bind), nil
		case fql.Carrier:
			return wholeSQL(column.Carrier, c, args.Bind)
		case fql.Team:
			return column.Carrier + " = ANY(" + args.Bind(f.sets[n]) + "::bigint[])", nil
		default:
			return daysSQL(column.Day, c.Ranges(f.now, f.zone), f.zone, args.Bind), nil
		}
	})
}

// daysSQL finds days within stretches that begin and end with days.
func daysSQL(column string, ranges []fql.Range, zone *time.Location, bind func(any) string) string {
	text := "FALSE"
	for _, r := range ranges {
		text += " OR " + column + " >= " + bind(day(r.From, zone, "-infinity")) + "::text::date AND " + column + " < " + bind(day(r.To, zone, "infinity")) + "::text::date"
	}
	return "(" + text + ")"
}

func day(t time.Time, zone *time.Location, open string) string {
	if t.IsZero() {
		return open
	}
	return t.In(zone).Format(time.DateOnly)
}

func wholeDays(r fql.Range, zone *time.Location) bool {
	return fql.Midnight(r.From, zone) && fql.Midnight(r.To, zone)
}

func wholeMonths(r fql.Range, zone *time.Location) bool {
	first := func(t time.Time) bool { return t.IsZero() || t.In(zone).Day() == 1 }
	return wholeDays(r, zone) && first(r.From) && first(r.To)
}

// edged splits a period with ragged ends into the whole days between, which are summed, and the ends, which are counted. The
// query must be one period and conditions on other dimensions, all of which hold.
func (f *filter) edged() (total, bool, error) {
	if f.query.Any || f.rezoning {
		return total{}, false, nil
	}
	var rest []fql.Condition
	var sets [][]int64
	var period *fql.Range
	for i, c := range f.query.Conditions() {
		if c.Field != fql.CreatedAt {
			rest, sets = append(rest, c), append(sets, f.sets[i])
			continue
		}
		ranges := c.Ranges(f.now, f.zone)
		if c.Negative || c.Op == fql.Exists || len(ranges) != 1 {
			return total{}, false, nil
		}
		if period == nil {
			period = &fql.Range{}
		}
		period.From, period.To = later(period.From, ranges[0].From), earlier(period.To, ranges[0].To)
	}
	if period == nil {
		return total{}, false, nil
	}
	inner, edges := f.split(*period)
	if !inner.From.IsZero() && !inner.To.IsZero() && !inner.From.Before(inner.To) {
		return total{}, false, nil // within a day: counting is as good
	}
	days := *f
	days.query, days.sets = fql.Query{}, sets
	if len(rest) > 0 {
		days.query.Groups = [][]fql.Condition{rest}
	}
	grain, ok := days.grain()
	if !ok || grain == tally.AllTime && days.sourced() {
		return total{}, false, nil
	}
	return f.edgedTotal(&days, inner, edges)
}

func (f *filter) sourced() bool {
	for _, c := range f.query.Conditions() {
		if c.Field == fql.Source {
			return true
		}
	}
	return false
}

// edge is a part of a day at the end of a period: to be counted and added, or, where the whole day was summed, taken away.
type edge struct {
	fql.Range
	sign string
}

// split cuts a period into whole days and what is left of a day at its ends. Of a ragged day the shorter part is counted: what the period
// has of it is added, or what it lacks is taken away. What lies in the future is hardly ever anything, so a period up to now takes all of today.
func (f *filter) split(period fql.Range) (inner fql.Range, edges []edge) {
	inner = period
	if from := period.From; !fql.Midnight(from, f.zone) {
		begin, end := fql.LastMidnight(from, f.zone), fql.NextMidnight(from, f.zone)
		if from.Sub(begin) < end.Sub(from) {
			inner.From, edges = begin, append(edges, edge{fql.Range{From: begin, To: from}, " - "})
		} else {
			inner.From, edges = end, append(edges, edge{fql.Range{From: from, To: end}, " + "})
		}
	}
	if to := period.To; !fql.Midnight(to, f.zone) {
		begin, end := fql.LastMidnight(to, f.zone), fql.NextMidnight(to, f.zone)
		if !to.Before(f.now) || end.Sub(to) < to.Sub(begin) {
			inner.To, edges = end, append(edges, edge{fql.Range{From: to, To: end}, " - "})
		} else {
			inner.To, edges = begin, append(edges, edge{fql.Range{From: begin, To: to}, " + "})
		}
	}
	return inner, edges
}

// edgedTotal sums the whole days of a period and counts its edges. rest is the filter without the period.
func (f *filter) edgedTotal(rest *filter, inner fql.Range, edges []edge) (total, bool, error) {
	t := total{way: fromEdges}
	sum, err := tally.TotalSQL(tally.ByDay, t.args.Bind(f.view.Org()), func(alias string) (string, error) {
		column := tally.Columns(alias)
		match, err := rest.dimensions(column, &t.args)
		return "(" + match + ") AND " + daysSQL(column.Day, []fql.Range{inner}, f.zone, t.args.Bind), err
	})
	if err != nil {
		return t, false, err
	}
	t.sql = "SELECT (" + sum + ")"
	for _, e := range edges {
		where, err := rest.matching(&t.args)
		if err != nil {
			return t, false, err
		}
		t.sql += e.sign + "(SELECT count(*) FROM feedback f WHERE " + where +
			" AND f.created_at >= " + t.args.Bind(e.From) + " AND f.created_at < " + t.args.Bind(e.To) + ")"
	}
	return t, true, nil
}

func later(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// faceted reads the count kept for a single dictionary id. Whether one is kept for an attribute is asked in the same
// statement: it may have just ended.
func (f *filter) faceted() (total, bool, error) {
	conditions := f.query.Conditions()
	if len(conditions) != 1 || conditions[0].Negative || conditions[0].Field != fql.Attribute || len(f.sets[0]) != 1 {
		return total{}, false, nil
	}
	count, err := f.count()
	if err != nil {
		return total{}, false, err
	}
	t := total{way: fromFacet, args: count.args}
	t.sql = tally.FacetSQL(t.args.Bind(f.view.Org()), t.args.Bind(f.sets[0][0])+"::bigint", t.args.Bind(conditions[0].Name), count.sql)
	return t, true, nil
}
