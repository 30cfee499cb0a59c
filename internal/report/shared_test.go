package report_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql"
	"earshot/internal/report"
)

// fill adds feedback of which most is alike and some is rare, and returns the questions.
func (w *world) fill(r *rand.Rand, n int) carrier.Carrier {
	w.t.Helper()
	made, err := w.carriers.Create(w.t.Context(), w.view(), carrier.New{Name: "Survey", Questions: []carrier.NewQuestion{
		{Name: "Recommend", Type: carrier.NPS},
		{Name: "Satisfied", Type: carrier.Smiley},
		{Name: "Matters", Type: carrier.Choice, Options: []string{"Price", "Quality", "Service"}},
		{Name: "Why", Type: carrier.Text},
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	rare := func(values ...string) string { return values[min(int(r.ExpFloat64()*1.2), len(values)-1)] }
	for range n {
		at := time.Now().Add(-time.Duration(r.ExpFloat64() * 400 * float64(time.Hour)))
		f := feedback.New{CarrierID: made.ID, Source: feedback.Source(1 + min(int(r.ExpFloat64()), 6)), CreatedAt: &at}
		if r.IntN(12) > 0 {
			f.Items = append(f.Items, carrier.Item{QuestionID: made.Questions[0].ID, Value: rare("10", "9", "8", "3", "7", "0")})
		}
		if r.IntN(3) > 0 {
			f.Items = append(f.Items, carrier.Item{QuestionID: made.Questions[1].ID, Value: rare("4", "5", "3", "1")})
		}
		if r.IntN(5) > 0 {
			f.Items = append(f.Items, carrier.Item{QuestionID: made.Questions[2].ID, Value: rare("Price", "Quality", "Service")},
				carrier.Item{QuestionID: made.Questions[3].ID, Value: "Because"})
		}
		if r.IntN(8) > 0 {
			f.Attributes = []feedback.Attribute{{Name: "store", Values: []feedback.Value{{Text: rare("A", "B", "C", "D", "E", "F", "G")}}}}
		}
		rec, err := w.records.Create(w.t.Context(), w.view(), f, &fault.Form{})
		if err != nil {
			w.t.Fatal(err)
		}
		if r.IntN(4) == 0 {
			status, _ := feedback.ParseStatus(rare("resolved", "progress", "contacted", "abandoned"))
			if _, err := w.records.SetStatus(w.t.Context(), w.view(), feedback.By{}, rec.ID, status); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return made
}

// count is how many feedback a filter lists, with further conditions.
func (w *world) count(text string, conditions ...fql.Condition) int64 {
	w.t.Helper()
	q, err := feedback.Filters.Parse(text)
	if err == nil && len(conditions) > 0 {
		q, err = fql.And(q, fql.All(conditions...))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	_, total, err := w.records.List(w.t.Context(), w.view(), q, feedback.Page{Size: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	return total
}

// possibleParts are components of every sort over the questions.
func possibleParts(made carrier.Carrier) []report.Component {
	parts := []report.Component{
		{Type: report.Breakdown, Options: report.Options{By: "attribute:store", Limit: 3}},
		{Type: report.Breakdown, Options: report.Options{By: "attribute:store", Limit: 50}},
		{Type: report.Breakdown, Options: report.Options{By: fmt.Sprint("question:", made.Questions[2].ID)}},
		{Type: report.Distribution, Options: report.Options{QuestionID: made.Questions[0].ID}},
		{Type: report.Distribution, Options: report.Options{QuestionID: made.Questions[1].ID}},
		{Type: report.Topics},
		{Type: report.Verbatims},
		{Type: report.KPI, Options: report.Options{Metric: report.Count}, FQL: `[{"Status":{"$ne":"todo"}}]`},
		{Type: report.Trend, Options: report.Options{Metric: report.Count, Interval: "day"}},
		{Type: report.Trend, Options: report.Options{Metric: report.Count, Interval: "week"}},
		{Type: report.Trend, Options: report.Options{Metric: report.NPS, Interval: "month"}},
		{Type: report.Trend, Options: report.Options{Metric: report.Completion, Interval: "week"}},
	}
	for _, m := range report.Metrics() {
		parts = append(parts, report.Component{Type: report.KPI, Options: report.Options{Metric: report.Metric(m)}})
		for _, by := range []string{"source", "status", "nps"} {
			parts = append(parts, report.Component{Type: report.Breakdown, Options: report.Options{Metric: report.Metric(m), By: by, Limit: 1 + len(parts)%7}})
		}
	}
	return parts
}

// What a link with a minimum group size shows of random reports over random feedback tells of no group below it: not by itself, not as what is
// left of a whole, of a total or of those who answered, and not through an average. What it does show is exactly what the report shows.
func TestSharedFiguresTellOfNoSmallGroup(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	shown, hidden := 0, 0
	for range 4 {
		w := newWorld(t)
		made := w.fill(r, 20+r.IntN(100))
		parts := possibleParts(made)
		for range 6 {
			rep := w.create(report.New{FQL: []string{`[]`, `[{"TimePeriod":{"$eq":"date_last_30_days"}}]`, `[{"Source":{"$in":["trustpilot","easiware"]}}]`}[r.IntN(3)]})
			r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			if _, err := w.SetComponents(t.Context(), w.operator, rep.ID, parts[:12], &fault.Form{}); err != nil {
				t.Fatal(err)
			}
			minimum := []int{0, 1, 2, 3, 5, 8, 20}[r.IntN(7)]
			_, whole, err := w.Figures(t.Context(), w.operator, rep.ID, report.Reading{})
			if err != nil {
				t.Fatal(err)
			}
			seen, err := w.FiguresOf(t.Context(), w.view(), rep, report.Link{MinimumGroupSize: minimum, HideVerbatims: minimum == 3}.Reading())
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range seen.Parts {
				check := partCheck{w: w, least: int64(minimum), page: seen.Parts}
				if minimum < 2 {
					check.least = 0
				}
				if check.part(p, whole.Parts[i]); p.Withheld {
					hidden++
				} else {
					shown++
				}
				if t.Failed() {
					t.Fatalf("seed %d, at least %d, component %d: %s %+v", seed, minimum, i, p.Title, p.Component)
				}
			}
		}
	}
	t.Logf("%d components shown, %d withheld", shown, hidden)
	if shown < 20 || hidden < 10 {
		t.Error("the test proves little")
	}
}

type partCheck struct {
	w     *world
	least int64
	page  []report.Part
}

// small reports whether a number is that of a group that must not be told.
func (c partCheck) small(n int64) bool { return n != 0 && n < c.least }

func (c partCheck) part(p, whole report.Part) {
	t := c.w.t
	t.Helper()
	switch {
	case p.Withheld:
		if p.Total != nil || p.Figures != nil || p.Verbatims != nil {
			t.Errorf("withheld, and shown: %+v", p)
		}
		if c.least == 0 && p.Type != report.Verbatims {
			t.Error("withheld without need")
		}
		return
	case c.least > 0 && p.FQL != "":
		t.Error("a component with a filter of its own is shown")
	case p.Type == report.Verbatims:
		return
	}
	c.figure(p, *p.Total)
	var sum, unseen int64
	for _, f := range p.Figures {
		if f.Hidden {
			unseen++
			continue
		}
		sum += f.Count
		c.figure(p, f)
		c.same(f, whole)
	}
	rest := p.Total.Count - sum
	switch p.Type {
	case report.Trend:
		if rest < 0 || (rest > 0) != (unseen > 0) || unseen == 1 || c.small(rest) {
			t.Errorf("%d steps are hidden, and %d is left for them", unseen, rest)
		}
		for _, other := range c.page {
			if c.least > 0 && other.Type == report.Trend && len(other.Figures) > 0 && len(p.Figures) > 0 && other.Interval != p.Interval {
				t.Errorf("trends by %s and by %s", p.Interval, other.Interval)
			}
		}
	case report.Breakdown, report.Distribution:
		if rest != 0 {
			t.Errorf("%d is left of %d", rest, p.Total.Count)
		}
		c.groups(p, whole)
	default:
	}
}

// figure checks one number, and what it is the rest of.
func (c partCheck) figure(p report.Part, f report.Figure) {
	t := c.w.t
	t.Helper()
	if c.small(f.Count) || c.small(f.N) || c.small(f.Count-f.N) {
		t.Errorf("%s: %d of %d", f.Label, f.N, f.Count)
	}
	conditions := map[report.Metric][]fql.Condition{
		report.NPS: {
			{Field: fql.NPS, Op: fql.In, Values: []fql.Value{fql.TextValue("positive")}},
			{Field: fql.NPS, Op: fql.In, Values: []fql.Value{fql.TextValue("neutral")}},
			{Field: fql.NPS, Op: fql.In, Values: []fql.Value{fql.TextValue("negative")}},
			{Field: fql.NPS, Op: fql.Exists, Negative: true},
		},
		report.Completion: {{Field: fql.CompletedAt, Op: fql.Exists}, {Field: fql.CompletedAt, Op: fql.Exists, Negative: true}},
	}[p.Metric]
	for _, condition := range conditions {
		if n := c.w.count(*f.FQL, condition); c.small(n) {
			t.Errorf("the %s of %s is made of a group of %d", p.Metric, f.Label, n)
		}
	}
}

// same expects a group that is shown to be what the report shows.
func (c partCheck) same(f report.Figure, whole report.Part) {
	t := c.w.t
	t.Helper()
	if f.About != report.OfGroup {
		return
	}
	at := slices.IndexFunc(whole.Figures, func(o report.Figure) bool { return o.About == f.About && o.Key == f.Key })
	if at < 0 || whole.Figures[at].Count != f.Count {
		t.Errorf("%s is %d, and is not so in the report: %+v", f.Label, f.Count, whole.Figures)
	}
}

// groups checks that what is shown together is several groups, and stands beside no average that would tell them apart.
func (c partCheck) groups(p, whole report.Part) {
	t := c.w.t
	t.Helper()
	at := slices.IndexFunc(p.Figures, func(f report.Figure) bool { return f.About == report.OfOther })
	visible := func(f report.Figure) bool {
		return slices.ContainsFunc(p.Figures, func(o report.Figure) bool { return o.About == f.About && o.Key == f.Key })
	}
	var missing []report.Figure
	for _, f := range whole.Figures {
		if f.Count > 0 && f.About != report.OfOther && !visible(f) {
			missing = append(missing, f)
		}
	}
	if len(missing) == 0 {
		return
	}
	tail := slices.ContainsFunc(whole.Figures, func(f report.Figure) bool { return f.About == report.OfOther })
	if at < 0 || len(missing) == 1 && !tail {
		t.Errorf("hidden are %+v, shown %+v", missing, p.Figures)
	}
	if p.Metric != report.Count {
		t.Errorf("averages stand beside hidden groups: %+v", p.Figures)
	}
	if p.Type != report.Distribution {
		return
	}
	if p.Total.Value != nil {
		t.Error("a mean tells hidden answers apart")
	}
	for _, other := range c.page {
		if o := other.Options; o.Metric != "" && o.Metric != report.Count || strings.HasPrefix(o.By, "nps") {
			t.Errorf("%s stands beside hidden answers", other.Title)
		}
	}
}

// Under a minimum group size a text does not say where it came from: a source that only one text has is a group of one.
func TestSharedVerbatimsKeepTheirSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(rand.New(rand.NewPCG(1, 2)), 20)
	rep := w.create(report.New{Prefilled: true})
	for minimum, told := range map[int]bool{0: true, 1: true, 2: false, 5: false} {
		f, err := w.FiguresOf(t.Context(), w.view(), rep, report.Link{MinimumGroupSize: minimum}.Reading())
		if err != nil {
			t.Fatal(err)
		}
		texts := f.Parts[len(f.Parts)-1].Verbatims
		if len(texts) == 0 {
			t.Errorf("a minimum of %d leaves no texts", minimum)
		}
		for _, v := range texts {
			if (v.Source != 0) != told {
				t.Errorf("a minimum of %d: the source is %d", minimum, v.Source)
			}
		}
	}
}

// A link hides texts when it says so, and else shows them.
func TestSharedVerbatims(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(rand.New(rand.NewPCG(1, 2)), 20)
	rep := w.create(report.New{Prefilled: true})
	for _, hide := range []bool{false, true} {
		_, token := w.share(rep.ID, report.NewLink{HideVerbatims: hide})
		shared, outcome, err := w.ByToken(t.Context(), rep.ID, token)
		if err != nil || outcome != report.Found {
			t.Fatal(outcome, err)
		}
		f, err := w.FiguresOf(t.Context(), shared.View, shared.Report, shared.Link.Reading())
		if err != nil {
			t.Fatal(err)
		}
		last := f.Parts[len(f.Parts)-1]
		if last.Type != report.Verbatims || last.Withheld != hide || (len(last.Verbatims) == 0) != hide {
			t.Errorf("hidden is %v: %+v", hide, last)
		}
		if f.Parts[0].Total.Count != 20 {
			t.Errorf("%d feedback", f.Parts[0].Total.Count)
		}
	}
}
