package report

import (
	"context"
	"fmt"
	"slices"
	"time"

	"earshot/internal/feedback"
	"earshot/internal/fql"
)

// maxSteps is how many steps a trend has at most. Where there would be more, they get longer.
const maxSteps = 400

// step is how long the steps of a trend are: days, or months.
type step struct {
	name         string
	days, months int
}

// steps from the shortest to the longest. The last ones are for the record that somebody dated 1900 or 9999.
var steps = []step{
	{"day", 1, 0},
	{"week", 7, 0},
	{"month", 0, 1},
	{"quarter", 0, 3},
	{"year", 0, 12},
	{"decade", 0, 120},
	{"century", 0, 1200},
}

// begin is the first day of the step that a day is in. Weeks begin on Monday.
func (s step) begin(day time.Time) time.Time {
	switch {
	case s.days == 1:
		return day
	case s.days > 0:
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	}
	month := day.Year()*12 + int(day.Month()) - 1
	month -= month % s.months
	return time.Date(month/12, time.Month(month%12+1), 1, 0, 0, 0, 0, time.UTC)
}

// next is the first day of the step behind one.
func (s step) next(begin time.Time) time.Time { return begin.AddDate(0, s.months, s.days) }

func (s step) label(begin time.Time) string {
	switch s.name {
	case "day", "week":
		return begin.Format(time.DateOnly)
	case "month":
		return begin.Format("2006-01")
	case "quarter":
		return fmt.Sprintf("%d-Q%d", begin.Year(), (int(begin.Month())+2)/3)
	case "year":
		return begin.Format("2006")
	}
	return begin.Format("2006") + "s"
}

// count is how many steps lead from one day to another, counted no further than needed.
func (s step) count(first, last time.Time) int {
	n := 0
	for at := s.begin(first); !at.After(last) && n <= maxSteps; at = s.next(at) {
		n++
	}
	return n
}

// trend shows a figure for each step of time, those with nothing in them included.
func (l *look) trend(ctx context.Context, p Part, q fql.Query) (Part, error) {
	asked := l.interval(p.Options.Interval)
	found, err := l.apart(ctx, q, feedback.Dimension{Field: fql.CreatedAt, Interval: asked})
	if err != nil {
		return p, err
	}
	p.Interval = asked
	first, last, some := l.extent(q, found)
	if !some {
		return p, nil
	}
	at := slices.IndexFunc(steps, func(s step) bool { return s.name == asked })
	if len(found) > 0 && steps[at].count(first, last) > maxSteps { // rather no empty steps in front than longer ones
		first = day(found[0].Key)
	}
	for at < len(steps)-1 && steps[at].count(first, last) > maxSteps {
		at++
	}
	if steps[at].months > 0 && asked == "week" { // weeks do not add up to months
		months := feedback.Dimension{Field: fql.CreatedAt, Interval: "month"}
		groups, err := l.at.Groups(ctx, q, p.Metric.measures(), months)
		if err != nil {
			return p, err
		}
		found = groups[months]
	}
	p.Interval = steps[at].name
	return l.draw(p, q, steps[at], found, first, last), nil
}

// interval is how a trend is drawn. Under a minimum group size all trends have the longest steps that any of them has: weeks less
// the days in them, or months less the weeks in them, would leave single days.
func (l *look) interval(asked string) string {
	if l.least == 0 {
		return asked
	}
	longest := asked
	for _, c := range l.components {
		if c.Type == Trend && slices.Index(Intervals(), c.Options.Interval) > slices.Index(Intervals(), longest) {
			longest = c.Options.Interval
		}
	}
	return longest
}

// draw fills in the steps.
func (l *look) draw(p Part, q fql.Query, s step, found []feedback.Group, first, last time.Time) Part {
	sums := map[time.Time]feedback.Sums{}
	for _, g := range found {
		at := s.begin(day(g.Key))
		sums[at] = sums[at].Plus(g.Sums)
	}
	var sizes []size
	safe := true
	for at := s.begin(first); !at.After(last); at = s.next(at) {
		to := s.next(at).AddDate(0, 0, -1)
		f := figure(q, sums[at], p.Metric, fql.Condition{Field: fql.CreatedAt, Op: fql.Between, Values: []fql.Value{fql.DayValue(at), fql.DayValue(to)}})
		f.About, f.Label, f.Key, f.From, f.To = OfStep, s.label(at), s.label(at), at, to
		p.Figures = append(p.Figures, f)
		sizes = append(sizes, size{n: sums[at].N, parts: 1})
		safe = safe && tellable(sums[at], p.Metric, l.least)
	}
	if l.least == 0 {
		return p
	}
	hidden, whole := hide(sizes, l.least)
	// An average is shown at every step or at none: what is left of the whole would be the average of the steps left out.
	if whole || p.Metric != Count && (!safe || slices.Contains(hidden, true)) {
		l.conceal(&p)
		return p
	}
	for i, f := range p.Figures {
		if hidden[i] {
			p.Figures[i] = Figure{About: OfStep, Key: f.Key, Label: f.Label, From: f.From, To: f.To, Hidden: true}
		}
	}
	return p
}

// day is a day by its number since 1970.
func day(number int64) time.Time { return time.Unix(number*86_400, 0).UTC() }

// extent is the first and the last day that a trend is about: those of the period asked about, those that there is feedback of, and today, unless
// the period ended before.
func (l *look) extent(q fql.Query, found []feedback.Group) (first, last time.Time, some bool) {
	include := func(d time.Time) {
		if !some || d.Before(first) {
			first = d
		}
		if !some || d.After(last) {
			last = d
		}
		some = true
	}
	if len(found) > 0 {
		include(day(found[0].Key))
		include(day(found[len(found)-1].Key))
	}
	from, to := period(q, l.at.Now, l.at.Zone)
	end := date(l.at.Now, l.at.Zone)
	if !to.IsZero() {
		end = earliest(end, date(to.Add(-1), l.at.Zone))
	}
	if begin := date(from, l.at.Zone); !from.IsZero() && !begin.After(end) {
		include(begin)
	}
	if some && end.After(first) {
		include(end)
	}
	return first, last, some
}

func earliest(days ...time.Time) time.Time {
	return slices.MinFunc(days, func(a, b time.Time) int { return a.Compare(b) })
}

// date is the day of a time in a zone, as a day without one.
func date(t time.Time, zone *time.Location) time.Time {
	y, m, d := t.In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// period is the stretch of time that a query is about, where all of it is: an end that it leaves open is zero.
func period(q fql.Query, now time.Time, zone *time.Location) (from, to time.Time) {
	if q.Any {
		return from, to
	}
	for _, c := range q.Conditions() {
		if c.Field != fql.CreatedAt || c.Negative {
			continue
		}
		ranges := c.Ranges(now, zone)
		if len(ranges) != 1 {
			continue
		}
		if r := ranges[0]; r.From.After(from) {
			from = r.From
		}
		if r := ranges[0]; !r.To.IsZero() && (to.IsZero() || r.To.Before(to)) {
			to = r.To
		}
	}
	return from, to
}
