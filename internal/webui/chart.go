package webui

import (
	"math"
	"strconv"
	"strings"
	"time"

	"earshot/internal/report"
)

// Charts are drawn in percent of their box, so they fit a phone and a wall while their letters keep their size.

// mark is a line of an axis with its label.
type mark struct {
	At    string
	Label string
	Zero  bool
	Spare bool // left out where there is little room
}

// line is the chart of a trend.
type line struct {
	Y, X   []mark
	Filled bool
	Dense  bool   // with a thinner line
	Area   string // paths in a box of 1,000 by 1,000
	Line   string
	Open   string // to the last step, which is not over
	Spots  []spot
	Rows   []row
	Text   string // what there is to see, for those who do not
	Gaps   bool
	Value  string // heading of the values
}

// spot is one step.
type spot struct {
	From, Width string // of the part of the chart that belongs to it
	X, Y        string
	Text        string
	Drawn       bool // has a value
	Alone       bool // no line leads there
}

// row is a line of a table.
type row struct{ Label, Value, N string }

// ticks are round numbers that go from at most low to at least high, about as many as wanted.
func ticks(low, high float64, wanted int, whole bool) []float64 {
	if !(high > low) {
		high = low + 1
	}
	rough := (high - low) / float64(wanted)
	size := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * size
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*size >= rough && (!whole || m*size == math.Trunc(m*size)) {
			step = m * size
			break
		}
	}
	if whole {
		step = math.Max(1, step)
	}
	var out []float64
	for i := math.Floor(low/step + 1e-9); ; i++ {
		out = append(out, i*step)
		if i*step >= high-1e-9 {
			return out
		}
	}
}

// bounds are what a metric can be, and the least that its axis spans: a flat line shall look flat.
func bounds(m report.Metric) (low, high, span float64) {
	switch m {
	case report.NPS:
		return -100, 100, 20
	case report.Satisfaction, report.Completion, report.Sentiment:
		return 0, 100, 20
	default:
		return 0, math.Inf(1), 4
	}
}

// axis are the marks of the values of some figures.
func axis(m report.Metric, figures []report.Figure) []float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, f := range figures {
		if f.Value != nil && !f.Hidden {
			least, most = math.Min(least, *f.Value), math.Max(most, *f.Value)
		}
	}
	if math.IsInf(least, 1) {
		least, most = 0, 0
	}
	low, high, span := bounds(m)
	if m == report.Count {
		least = 0
	}
	if missing := span - (most - least); missing > 0 {
		least, most = least-missing/2, most+missing/2
		if least < low {
			least, most = low, most+low-least
		}
		if most > high {
			least, most = least+high-most, high
		}
	}
	return ticks(math.Max(low, least), math.Min(high, most), 4, m == report.Count)
}

// decimal writes a coordinate.
func decimal(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

func share(v float64) string { return decimal(v) + "%" }

// drawLine draws a trend as seen at a moment.
func drawLine(t *tongue, p report.Part, now time.Time) *line {
	marks := axis(p.Metric, p.Figures)
	low, high := marks[0], marks[len(marks)-1]
	height := func(v float64) float64 { return 100 * (high - v) / (high - low) }
	l := &line{Filled: p.Metric == report.Count, Dense: len(p.Figures) > 120, Value: t.Say(metricName(p.Metric))}
	digits := 0
	for _, v := range marks {
		if v != math.Trunc(v) {
			digits = 1
		}
	}
	for _, v := range marks {
		l.Y = append(l.Y, mark{At: share(height(v)), Label: t.value(p.Metric, v, digits), Zero: v == 0})
	}
	last := len(p.Figures) - 1
	across := func(i int) float64 {
		if last == 0 {
			return 50
		}
		return 100 * float64(i) / float64(last)
	}
	every := max(1, int(math.Ceil(float64(last+1)/6)))
	for i, f := range p.Figures {
		if (last-i)%every == 0 {
			m := mark{At: share(across(i)), Label: t.step(p.Interval, f.From, f.To, true), Spare: (last-i)/every%2 == 1}
			l.X = append(l.X, m)
		}
	}
	today := date(now)
	l.trace(p.Figures, across, height, last >= 0 && !p.Figures[last].To.Before(today))
	half := 50 / math.Max(1, float64(last))
	for i, f := range p.Figures {
		s := spot{
			From: share(math.Max(0, across(i)-half)), Width: share(math.Min(100, across(i)+half) - math.Max(0, across(i)-half)),
			X: share(across(i)), Y: "100%",
		}
		r := row{Label: t.step(p.Interval, f.From, f.To, false), Value: "–", N: t.count(f.N)}
		switch {
		case f.Hidden:
			r.Value, r.N = t.Say("too few to be shown"), "–"
			l.Gaps = true
		case f.Value != nil:
			r.Value = t.value(p.Metric, *f.Value, 1)
			s.Y, s.Drawn = share(height(*f.Value)), true
			s.Alone = (i == 0 || !drawn(p.Figures[i-1])) && (i == last || !drawn(p.Figures[i+1]))
		}
		s.Text = r.Label + ": " + r.Value
		if p.Metric != report.Count && !f.Hidden {
			s.Text += ", " + responses(t, f.N)
		}
		l.Spots, l.Rows = append(l.Spots, s), append(l.Rows, r)
	}
	l.Text = describe(t, p)
	return l
}

func date(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func drawn(f report.Figure) bool { return !f.Hidden && f.Value != nil }

// trace leads lines from step to step; where one is missing they end. open says that the last step is not over.
func (l *line) trace(figures []report.Figure, across func(int) float64, height func(float64) float64, open bool) {
	var stroke, area, rest strings.Builder
	begun := -1
	end := func(i int) {
		if begun >= 0 && i-begun > 1 {
			area.WriteString("L" + decimal(10*across(i-1)) + " 1000L" + decimal(10*across(begun)) + " 1000Z")
		}
		begun = -1
	}
	var from string
	for i, f := range figures {
		if !drawn(f) {
			end(i)
			continue
		}
		at := decimal(10*across(i)) + " " + decimal(10*height(*f.Value))
		switch {
		case begun < 0:
			begun = i
			stroke.WriteString("M" + at)
			area.WriteString("M" + at)
		case open && i == len(figures)-1:
			rest.WriteString("M" + from + "L" + at)
			area.WriteString("L" + at)
		default:
			stroke.WriteString("L" + at)
			area.WriteString("L" + at)
		}
		from = at
	}
	end(len(figures))
	l.Line, l.Area, l.Open = stroke.String(), area.String(), rest.String()
}

// describe says in a sentence what a trend shows.
func describe(t *tongue, p report.Part) string {
	var most, least, latest *report.Figure
	for i := range p.Figures {
		f := &p.Figures[i]
		if !drawn(*f) {
			continue
		}
		if most == nil || *f.Value > *most.Value {
			most = f
		}
		if least == nil || *f.Value < *least.Value {
			least = f
		}
		latest = f
	}
	if most == nil {
		return t.Say("No feedback matches yet.")
	}
	value := func(f *report.Figure) string { return t.value(p.Metric, *f.Value, 1) }
	step := func(f *report.Figure) string { return t.step(p.Interval, f.From, f.To, false) }
	return t.Say("Highest: %s (%s). Lowest: %s (%s). Latest: %s (%s).",
		value(most), step(most), value(least), step(least), value(latest), step(latest))
}

// columns is the chart of a distribution.
type columns struct {
	Bars  []column
	Rows  []row
	Text  string
	Total string
}

// column is one answer.
type column struct {
	X, Width, Middle string
	Y, Height        string
	Label, Share     string
	Text             string
}

func drawColumns(t *tongue, p report.Part) *columns {
	c := &columns{}
	var most, sum int64
	var top report.Figure
	for _, f := range p.Figures {
		if sum += f.Count; f.Count > most {
			most, top = f.Count, f
		}
	}
	if most == 0 {
		return nil
	}
	slot := 100 / float64(len(p.Figures))
	const gap = 0.22
	for i, f := range p.Figures {
		h := 100 * float64(f.Count) / float64(most)
		bar := column{
			X: share((float64(i) + gap/2) * slot), Width: share((1 - gap) * slot), Middle: share((float64(i) + 0.5) * slot),
			Y: share(100 - h), Height: share(h), Label: t.Say(f.Label),
			Share: t.percentage(100*float64(f.Count)/float64(sum), 0),
		}
		bar.Text = bar.Label + ": " + t.count(f.Count) + " (" + t.share(f.Count, sum) + ")"
		c.Bars = append(c.Bars, bar)
		c.Rows = append(c.Rows, row{Label: bar.Label, Value: t.count(f.Count), N: t.share(f.Count, sum)})
	}
	if p.Total != nil {
		c.Total = t.Say("%s answers", t.count(p.Total.Count))
		if p.Total.Value != nil {
			c.Total = t.Say("Average %s", t.number(*p.Total.Value, 2)) + " · " + c.Total
		}
	}
	c.Text = t.Say("Most frequent: %s (%s).", t.Say(top.Label), t.share(top.Count, sum))
	return c
}

// bars is a table whose rows have a bar each.
type bars struct {
	Rows     []bar
	First    string // headings
	Value, N string
	Moods    bool // bars are coloured by what was measured
	Sides    bool // bars begin in the middle
}

// bar is one row. One that is measured on both sides of zero begins in the middle.
type bar struct {
	Label, Value, N string
	X, Width        string
	Mood            string
	Quiet           bool // what is in no group, or left
	Bare            bool // without a bar
}

func drawBars(t *tongue, p report.Part) *bars {
	b := &bars{First: t.Say("Group"), Value: t.Say("Feedback"), N: t.Say("Share")}
	byCount := p.Metric == report.Count || p.Type == report.Topics
	if p.Type == report.Topics {
		b.First = t.Say("Topic")
	}
	if p.Metric != report.Count {
		b.Moods = p.Type == report.Topics
		b.Value, b.N = t.Say(metricName(p.Metric)), t.Say("Responses")
	}
	if len(p.Figures) == 0 {
		return nil
	}
	b.Sides = !byCount && p.Metric == report.NPS
	// Values, options and carriers have names that somebody gave them, even where ours is the same.
	given := p.Options.By == "carrier" || strings.ContainsRune(p.Options.By, ':')
	var most int64
	far := 0.0
	for _, f := range p.Figures {
		if f.About != report.OfNone { // which often is most of it, and would leave nothing to see of the others
			most = max(most, f.Count)
		}
		if f.Value != nil {
			far = math.Max(far, math.Abs(*f.Value))
		}
	}
	far = math.Max(20, math.Min(100, 20*math.Ceil(far/20)))
	for _, f := range p.Figures {
		r := bar{Label: f.Label, X: "0", Quiet: f.About != report.OfGroup}
		if r.Quiet || !given {
			r.Label = t.Say(f.Label)
		}
		switch {
		case p.Metric == report.Count:
			r.Value = t.count(f.Count)
			if p.Total != nil {
				r.N = t.share(f.Count, p.Total.Count)
			}
		case f.Value == nil:
			r.Value, r.N = "–", t.count(f.Count)
		default:
			r.Value, r.N = t.value(p.Metric, *f.Value, 1), t.count(f.Count)
		}
		switch {
		case f.About == report.OfNone, f.Value == nil && !byCount:
			r.Bare = true
		case byCount:
			r.Width = share(math.Max(0.5, 100*float64(f.Count)/float64(max(1, most))))
		case b.Sides:
			r.X, r.Width = share(50+50*math.Min(0, *f.Value)/far), share(50*math.Abs(*f.Value)/far)
		default:
			r.Width = share(*f.Value)
		}
		if b.Moods {
			r.Mood = mood(p.Metric, f.Value)
		}
		b.Rows = append(b.Rows, r)
	}
	return b
}

// mood is the third of its scale that a value is in: good, fair or poor.
func mood(m report.Metric, v *float64) string {
	if v == nil {
		return "unknown"
	}
	at := *v
	if m == report.NPS {
		at = (at + 100) / 2
	}
	switch {
	case at < 100.0/3:
		return "poor"
	case at > 200.0/3:
		return "good"
	}
	return "fair"
}
