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

// needs are the dimensions beyond status and NPS that rows must have to answer a query.
type needs struct {
	sourced, carried, timed bool
	days                    bool // timed, and months are too coarse
}

// needs collects them; false says that no rollup answers the query.
func (f *filter) needs() (n needs, ok bool) {
	for _, c := range f.query.Conditions() {
		switch c.Field {
		case fql.Status, fql.NPS:
		case fql.Carrier, fql.Team:
			n.carried = true
		case fql.Source:
			n.sourced = true
		case fql.CreatedAt:
			n.timed = true
			for _, r := range c.Ranges(f.now, f.zone) {
				if !wholeDays(r, f.zone) {
					return n, false
				}
				n.days = n.days || !wholeMonths(r, f.zone)
			}
		default:
			return n, false
		}
	}
	return n, true
}

// daily is the smallest rollup by day that has the dimensions; none has the source.
func (n needs) daily() tally.Grain {
	if n.carried {
		return tally.ByDay
	}
	return tally.ByDate
}

// grain finds the smallest rollup that knows every dimension of the query.
func (f *filter) grain() (tally.Grain, bool) {
	n, ok := f.needs()
	switch {
	case !ok, n.timed && f.rezoning: // or some days are those of another zone
		return 0, false
	case n.timed && !n.sourced:
		return n.daily(), true
	case n.timed && !n.days:
		return tally.ByMonth, true
	case n.timed:
		return 0, false
	case n.carried || n.sourced:
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
	rest, period, ok := f.apart()
	if !ok || f.rezoning {
		return total{}, false, nil
	}
	inner, edges := f.split(period, wholeDay)
	if empty(inner) {
		return total{}, false, nil // within a day: counting is as good
	}
	n, ok := rest.needs()
	if !ok || n.sourced {
		return total{}, false, nil
	}
	return f.edgedTotal(rest, n.daily(), inner, edges)
}

// apart takes a query that is one period and conditions on other things, all of which hold, to pieces.
func (f *filter) apart() (rest *filter, period fql.Range, ok bool) {
	if f.query.Any {
		return nil, period, false
	}
	var conditions []fql.Condition
	others := *f
	others.query, others.sets = fql.Query{}, nil
	for i, c := range f.query.Conditions() {
		if c.Field != fql.CreatedAt {
			conditions, others.sets = append(conditions, c), append(others.sets, f.sets[i])
			continue
		}
		ranges := c.Ranges(f.now, f.zone)
		if c.Negative || c.Op == fql.Exists || len(ranges) != 1 {
			return nil, period, false
		}
		period.From, period.To, ok = later(period.From, ranges[0].From), earlier(period.To, ranges[0].To), true
	}
	if len(conditions) > 0 {
		others.query.Groups = [][]fql.Condition{conditions}
	}
	return &others, period, ok && !empty(period)
}

// empty reports whether nothing lies within a stretch.
func empty(r fql.Range) bool { return !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(r.To) }

// edge is a part of a day at the end of a period: to be counted and added, or, where the whole day was summed, taken away.
type edge struct {
	fql.Range
	sign string
}

// unit finds where the day or the month of a time begins, and where the next one does; the same where the time is such a place.
type unit func(t time.Time, zone *time.Location) (begin, end time.Time)

func wholeDay(t time.Time, zone *time.Location) (begin, end time.Time) {
	return fql.LastMidnight(t, zone), fql.NextMidnight(t, zone)
}

func wholeMonth(t time.Time, zone *time.Location) (begin, end time.Time) {
	y, m, _ := t.In(zone).Date()
	// Noon is there on every day.
	first := func(m time.Month) time.Time { return fql.LastMidnight(time.Date(y, m, 1, 12, 0, 0, 0, zone), zone) }
	if begin = first(m); begin.Equal(t) {
		return begin, begin
	}
	return begin, first(m + 1)
}

// split cuts a period into whole units and what is left of one at its ends. Of a ragged unit the shorter part is counted: what the period
// has of it is added, or what it lacks is taken away. What lies in the future is hardly ever anything, so a period up to now takes all of the
// unit it is in.
func (f *filter) split(period fql.Range, whole unit) (inner fql.Range, edges []edge) {
	inner = period
	if from := period.From; !from.IsZero() {
		begin, end := whole(from, f.zone)
		if begin.Equal(end) {
			inner.From = from
		} else if from.Sub(begin) < end.Sub(from) {
			inner.From, edges = begin, append(edges, edge{fql.Range{From: begin, To: from}, " - "})
		} else {
			inner.From, edges = end, append(edges, edge{fql.Range{From: from, To: end}, " + "})
		}
	}
	if to := period.To; !to.IsZero() {
		begin, end := whole(to, f.zone)
		if begin.Equal(end) {
			inner.To = to
		} else if !to.Before(f.now) || end.Sub(to) < to.Sub(begin) {
			inner.To, edges = end, append(edges, edge{fql.Range{From: to, To: end}, " - "})
		} else {
			inner.To, edges = begin, append(edges, edge{fql.Range{From: begin, To: to}, " + "})
		}
	}
	return inner, edges
}

// edgedTotal sums the whole days of a period and counts its edges. rest is the filter without the period.
func (f *filter) edgedTotal(rest *filter, grain tally.Grain, inner fql.Range, edges []edge) (total, bool, error) {
	t := total{way: fromEdges}
	sum, err := tally.TotalSQL(grain, t.args.Bind(f.view.Org()), func(alias string) (string, error) {
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
