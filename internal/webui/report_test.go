package webui_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"earshot/internal/carrier"
	"earshot/internal/feedback"
	"earshot/internal/report"
	"earshot/internal/webui"
)

var seen = time.Date(2026, 11, 14, 22, 30, 0, 0, time.UTC)

// part is a component and its figures.
func part(kind report.Kind, title string, m report.Metric, figures ...report.Figure) report.Part {
	p := report.Part{
		Component: report.Component{Type: kind, Title: title, Options: report.Options{Metric: m}},
		Metric:    m, Sentence: "All feedback.", Figures: figures,
		Total: &report.Figure{About: report.OfAll, Count: 12_345, Value: new(61.25), N: 12_000},
	}
	if m == report.Count {
		p.Total.Value = new(12_345.0)
	}
	return p
}

func group(label string, count int64, value float64) report.Figure {
	return report.Figure{About: report.OfGroup, Key: label, Label: label, Count: count, N: count, Value: &value}
}

// months are steps with these values; those that are nil have none.
func months(values ...*float64) []report.Figure {
	out := make([]report.Figure, len(values))
	for i, v := range values {
		from := time.Date(2026, time.Month(12-len(values)+i), 1, 0, 0, 0, 0, time.UTC)
		out[i] = report.Figure{About: report.OfStep, From: from, To: from.AddDate(0, 1, -1), Count: 10, N: 10, Value: v}
	}
	return out
}

func trend(m report.Metric, values ...*float64) report.Part {
	p := part(report.Trend, "Over time", m, months(values...)...)
	p.Interval, p.Options.Interval = "month", "month"
	return p
}

func verbatim(text string, profile carrier.Profile) report.Verbatim {
	return report.Verbatim{
		Verbatim: feedback.Verbatim{CreatedAt: time.Date(2026, 3, 5, 23, 30, 0, 0, time.UTC), Source: 16, Profile: profile, Text: text}, Question: "Why?",
	}
}

// everything has a part of each kind.
func everything() report.Figures {
	texts := part(report.Verbatims, "Latest comments", "")
	texts.Total, texts.Verbatims = nil, []report.Verbatim{verbatim("Good & <cheap>\nand fast", carrier.Positive), verbatim("Bad", carrier.Negative), verbatim("Hm", 0)}
	return report.Figures{At: seen, Zone: time.UTC, Sentence: "All feedback.", Parts: []report.Part{
		part(report.KPI, "Feedback", report.Count), part(report.KPI, "NPS", report.NPS), part(report.KPI, "Sentiment", report.Sentiment),
		trend(report.NPS, new(-20.0), new(10.5), nil, new(30.0)),
		trend(report.Count, new(1500.0), new(0.0), new(2500.0)),
		part(report.Breakdown, "Feedback by source", report.Count, group("E-mail", 10_000, 10_000), report.Figure{About: report.OfOther, Label: "Other", Count: 45, N: 45}),
		part(report.Breakdown, "NPS by country", report.NPS, group("France", 100, -12.5), group("Italy", 50, 25)),
		part(report.Distribution, "How was it?", report.Count, group("1", 10, 10), group("2", 30, 30)),
		part(report.Topics, "Topics", report.Sentiment, group("delivery", 80, 20), group("price", 60, 50), group("staff", 40, 80)),
		texts,
	}}
}

// reader is the request of somebody who has a link and reads some languages.
func reader(accept string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/report/7/shareable?token=abc-_def", nil)
	r.Header.Set("Accept-Language", accept)
	return r
}

func reportPage(t *testing.T, accept string, r report.Report, f report.Figures) string {
	t.Helper()
	pages := webui.NewPages("https://feedback.example.com", "")
	w := httptest.NewRecorder()
	if err := pages.Report(w, reader(accept), "Acme & <Sons>", r, f); err != nil {
		t.Fatal(err)
	}
	return w.Body.String()
}

func has(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// The page has the name, the period, the moment and every part, complete without script; what people named or wrote is text.
func TestReportPage(t *testing.T) {
	t.Parallel()
	pages := webui.NewPages("https://feedback.example.com", "")
	r := report.Report{Name: "Spring & <Summer>", Color: new("teal")}
	page := shown(t, func(w http.ResponseWriter) error {
		return pages.Report(w, reader(""), "Acme & <Sons>", r, everything())
	}).Body.String()
	has(t, page,
		"Acme &amp; &lt;Sons&gt;", "<h1>Spring &amp; &lt;Summer&gt;</h1>", "palette-teal", "All feedback</span>", "As of 14 November 2026, 22:30 UTC",
		`<p class="figure">12,345</p>`, `<p class="figure">&#43;61.3</p>`, `61.3% <span class="word">Mixed</span>`, "based on 12,000 responses",
		"Highest: &#43;30.0 (November 2026). Lowest: −20.0 (August 2026). Latest: &#43;30.0 (November 2026).",
		`<path class="stroke" d="M0 1000L333.33 491.67M1000 166.67" fill="none"`, // ends where nothing was measured
		"The last period is not over yet.",
		`title="E-mail"`, `<td class="number">10,000</td><td class="number quiet">81.0%</td>`,
		`<rect class="fill" x="34.38%" width="15.63%"`, // below zero, of a scale to 40
		"Most frequent: 2 (75.0%).", `class="fill poor"`, `class="fill fair"`, `class="fill good"`, `aria-label="Colours"`,
		"Good &amp; &lt;cheap&gt;\nand fast", `<span class="chip good">Positive</span><span class="source">Survey</span><time datetime="2026-03-05">5 March 2026</time>`,
	)
	if strings.Contains(page, "Nothing here yet") || strings.Count(page, "<details>") != 3 || strings.Count(page, `role="img"`) != 3 {
		t.Errorf("tables and pictures:\n%s", page)
	}
}

// A screen reader finds its way: one heading of the first order and one for each part, pictures with a title and a text, tables with
// headings, and no id twice.
func TestReportPageStructure(t *testing.T) {
	t.Parallel()
	page := reportPage(t, "", report.Report{Name: "R"}, everything())
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("the id %s is there twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`aria-labelledby="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		for id := range strings.FieldsSeq(m[1]) {
			if !ids[id] {
				t.Errorf("nothing has the id %s", id)
			}
		}
	}
	if got := strings.Count(page, "<h2"); got != 10 {
		t.Errorf("%d headings for 10 parts", got)
	}
	if strings.Contains(page, "<h3") || strings.Count(page, "<th") != strings.Count(page, "<th scope=")+strings.Count(page, "<thead") {
		t.Error("headings out of order, or cells of a heading without a scope")
	}
	for _, svg := range regexp.MustCompile(`<svg [^>]*>`).FindAllString(page, -1) {
		if !strings.Contains(svg, `role="img"`) && !strings.Contains(svg, `aria-hidden="true"`) && !strings.Contains(svg, "viewBox") {
			t.Errorf("a picture that is neither hidden nor named: %s", svg)
		}
	}
}

// Numbers, dates and the page's words are those of the reader's language; what people named stays as it is.
func TestReportPageLanguages(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string][]string{
		"en-GB": {`lang="en"`, "12,345", "61.3%", "14 November 2026", "Aug 2026"},
		"fr":    {`lang="fr"`, "12\u202f345", "61,3\u202f%", "14 novembre 2026", "août 2026", "Derniers commentaires", "sur 12\u202f000 réponses", "France"},
		"de-AT": {`lang="de"`, "12.345", "61,3\u00a0%", "14. November 2026", "Stand:", "Themen"},
		"es":    {`lang="es"`, "12.345", "1500", "61,3\u00a0%", "14 de noviembre de 2026", "Temas"},
		"it":    {`lang="it"`, "12.345", "1.500", "61,3%", "14 novembre 2026", "Temi"},
	} {
		t.Run(accept, func(t *testing.T) {
			t.Parallel()
			has(t, reportPage(t, accept, report.Report{Name: "R"}, everything()), append(want, "How was it?", "delivery")...)
		})
	}
	for accept, want := range map[string]string{
		"": "en", "*": "en", "ja": "en", "fr;q=0.4, de;q=0.9": "de", "ja, es;q=0.1": "es", "FR-ca": "fr", "fr;q=0": "en", "de;q=x, it;q=0.2": "it",
		"de;q=7, fr": "fr", "en, fr": "en", strings.Repeat("xx,", 1000) + "fr": "en", ";;,,;q=": "en", "de;q=NaN": "en",
	} {
		if got := webui.Language(accept); got != want {
			t.Errorf("%.40q: %s, want %s", accept, got, want)
		}
	}
	filtered := everything()
	filtered.Sentence = "Feedback where the status is todo."
	has(t, reportPage(t, "de", report.Report{Name: "R"}, filtered), `<span lang="en">Feedback where the status is todo</span>`)
}

// Whatever a page says is there in every language.
func TestReportPagePhrases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("assets/re*.html")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, file := range append(files, "report.go", "chart.go", "tongue.go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`Say[( ]"([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			said[m[1]] = !strings.HasSuffix(m[1], " by ")
		}
	}
	for _, c := range report.Standard() {
		said[c.Title] = true
	}
	for _, name := range feedback.SourceNames() {
		s, _ := feedback.ParseSource(name)
		said[s.Label()] = !slices.Contains(brands, s.Label())
	}
	if len(said) < 40 {
		t.Fatalf("%d phrases were found", len(said))
	}
	var first map[string]string
	for tag, phrases := range webui.Phrases() {
		if first == nil {
			first = phrases
		}
		for phrase := range first {
			if phrases[phrase] == "" {
				t.Errorf("%s lacks %q", tag, phrase)
			}
		}
		for phrase, must := range said {
			own := phrases[phrase]
			if must && own == "" {
				t.Errorf("%s lacks %q", tag, phrase)
			}
			if strings.Count(own, "%s") != strings.Count(phrase, "%s") && must {
				t.Errorf("%s: %q has other blanks than %q", tag, own, phrase)
			}
		}
		if len(phrases) != len(first) {
			t.Errorf("%s has %d phrases, another %d", tag, len(phrases), len(first))
		}
	}
}

// The names of these sources are the same everywhere.
var brands = []string{
	"Trustpilot", "Easiware", "BigQuery", "CSV", "Facebook", "LinkedIn", "Glassdoor", "HomeViews", "SMS", "WhatsApp", "Instagram", "HubSpot",
}

// A text stands with where and when it was written and how it sounds, in the reader's words: as its sentiment says, or else as the scores
// beside it. What is not known, or not to be told, leaves nothing behind.
func TestReportPageQuotes(t *testing.T) {
	t.Parallel()
	quoted := func(accept string, change func(*report.Verbatim)) string {
		p := part(report.Verbatims, "Latest comments", "")
		p.Total, p.Verbatims = nil, []report.Verbatim{verbatim("Hm", carrier.Positive)}
		change(&p.Verbatims[0])
		page := reportPage(t, accept, report.Report{Name: "R"}, report.Figures{At: seen, Zone: time.UTC, Parts: []report.Part{p}})
		return regexp.MustCompile(`(?s)<figcaption>(.*)</figcaption>`).FindStringSubmatch(page)[1]
	}
	sentiment := func(n int16) func(*report.Verbatim) { return func(v *report.Verbatim) { v.Sentiment = &n } }
	const rest = `<time datetime="2026-03-05">5 March 2026</time><span class="question">Why?</span>`
	const french = `<span class="chip poor">Négatif</span><span class="source">Enquête</span><time datetime="2026-03-05">5 mars 2026</time>` +
		`<span class="question">Why?</span>`
	for _, tc := range []struct{ want, got string }{
		{`<span class="chip poor">Negative</span><span class="source">Survey</span>` + rest, quoted("", sentiment(4000))},
		{`<span class="chip fair">Neutral</span><span class="source">Survey</span>` + rest, quoted("", sentiment(6000))},
		{`<span class="chip good">Positive</span><span class="source">Survey</span>` + rest, quoted("", sentiment(6001))},
		{`<span class="chip good">Positive</span>` + rest, quoted("", func(v *report.Verbatim) { v.Source = 0 })},
		{`<span class="source">Survey</span>` + rest, quoted("", func(v *report.Verbatim) { v.Profile = 0 })},
		{french, quoted("fr", sentiment(0))},
	} {
		if tc.got != tc.want {
			t.Errorf("got  %s\nwant %s", tc.got, tc.want)
		}
	}
}

// Groups with names that somebody gave keep them in every language, even one that the page has a word for.
func TestReportPageKeepsGivenNames(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]string{"attribute:kind": "Letter", "question:7": "Letter", "carrier": "Letter", "source": "Brief"} {
		p := part(report.Breakdown, "By kind", report.Count, group("Letter", 10, 10))
		p.Options.By = by
		page := reportPage(t, "de", report.Report{Name: "R"}, report.Figures{At: seen, Zone: time.UTC, Parts: []report.Part{p}})
		has(t, page, `<span class="label">`+want+`</span>`)
	}
}

// What a link keeps back is said, and a step that must not be shown is a gap without a number.
func TestReportPageWithholds(t *testing.T) {
	t.Parallel()
	over := trend(report.Count, new(50.0), new(60.0), nil, new(70.0), new(80.0))
	over.Figures[2] = report.Figure{About: report.OfStep, From: over.Figures[2].From, To: over.Figures[2].To, Hidden: true}
	over.Options.Interval = "week"
	texts := report.Part{Component: report.Component{Type: report.Verbatims, Title: "Comments"}, Withheld: true}
	kpi := report.Part{Component: report.Component{Type: report.KPI, Title: "NPS"}, Metric: report.NPS, Withheld: true}
	page := reportPage(t, "", report.Report{Name: "R"}, report.Figures{At: seen, Zone: time.UTC, Sentence: "All feedback.", Parts: []report.Part{kpi, over, texts}})
	has(t, page, "Comments are not shown with this link.", "this link keeps small groups private", "Gaps are periods with too few responses",
		"September 2026: too few to be shown", `d="M0 375L250 250M750 125"`, `d="M750 125L1000 0"`, "Shown by month.")
}

// A report without anything on it, and parts without feedback, say so kindly.
func TestReportPageEmpty(t *testing.T) {
	t.Parallel()
	bare := report.Figures{At: seen, Zone: time.UTC, Sentence: "All feedback."}
	has(t, reportPage(t, "", report.Report{Name: "R"}, bare), "Nothing here yet", "palette-own")
	none := everything()
	for i := range none.Parts {
		p := &none.Parts[i]
		p.Figures, p.Verbatims = nil, nil
		if p.Total != nil {
			p.Total = &report.Figure{About: report.OfAll}
		}
	}
	page := reportPage(t, "", report.Report{Name: "R"}, none)
	has(t, page, "Nothing to measure yet", "No comments yet.")
	if got := strings.Count(page, "No feedback matches yet."); got != 6 || strings.Contains(page, `role="img"`) {
		t.Errorf("%d parts say that nothing matches:\n%s", got, page)
	}
}

// No number ends up as something that is none.
func TestReportPageStrangeFigures(t *testing.T) {
	t.Parallel()
	f := everything()
	f.Parts = append(f.Parts,
		trend(report.Count, new(3.0)), trend(report.NPS, new(100.0), new(100.0)), trend(report.NPS, new(-100.0)), trend(report.Satisfaction, new(0.0), new(0.0)),
		trend(report.Satisfaction, nil, nil), trend(report.Count, new(9e15), new(1.0)),
		part(report.Breakdown, "B", report.NPS, group("zero", 5, 0)), part(report.Breakdown, "B", report.Count, group("empty", 0, 0)),
		part(report.Topics, "T", report.NPS, report.Figure{About: report.OfGroup, Label: strings.Repeat("long ", 60), Count: 3}),
		part(report.Distribution, "D", report.Count, group("1", 0, 0)),
	)
	page := reportPage(t, "", report.Report{Name: "R"}, f)
	for _, never := range []string{"NaN", "Inf", "e+", "%!", "ZgotmplZ", `"-0`, ">-0", ">−0<"} {
		if at := strings.Index(page, never); at >= 0 {
			t.Errorf("the page has %s: %s", never, page[max(0, at-100):at+20])
		}
	}
}

// The marks of an axis are round, rise and enclose what is drawn.
func TestTicks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		low, high float64
		whole     bool
		want      string
	}{
		{0, 3, true, "[0 1 2 3]"},
		{0, 4, true, "[0 1 2 3 4]"},
		{0, 2431, true, "[0 1000 2000 3000]"},
		{-31.4, 33, false, "[-40 -20 0 20 40]"},
		{68.7, 88.7, false, "[65 70 75 80 85 90]"},
		{0, 0, true, "[0 1]"},
	} {
		if got := fmt.Sprint(webui.Ticks(tc.low, tc.high, 4, tc.whole)); got != tc.want {
			t.Errorf("from %v to %v: %s, want %s", tc.low, tc.high, got, tc.want)
		}
	}
}

// Every palette is there for light and dark, and its colour can be told from the paper; the letters of chips can be read.
func TestPalettes(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("assets/report.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, _ := strings.Cut(string(css), "prefers-color-scheme: dark")
	for scheme, sheet := range map[string]struct{ css, paper string }{"light": {light, "#ffffff"}, "dark": {dark, "#1a212a"}} {
		for _, name := range append(report.Colors(), "") {
			selector := `\.palette-` + name + ` \{`
			if name == "" {
				selector = `\.report \{`
			}
			m := regexp.MustCompile(selector + `\s*--series: (#[0-9a-f]{6});`).FindStringSubmatch(sheet.css)
			if m == nil {
				t.Errorf("no %s palette %q", scheme, name)
				continue
			}
			if c := contrast(m[1], sheet.paper); c < 3 {
				t.Errorf("%s %s: %.2f", scheme, name, c)
			}
		}
		for _, mood := range []string{"good", "fair", "poor"} {
			colour := func(name string) string {
				m := regexp.MustCompile(`--` + name + `: (#[0-9a-f]{6});`).FindStringSubmatch(sheet.css)
				if m == nil {
					t.Fatalf("%s has no --%s", scheme, name)
				}
				return m[1]
			}
			if c := contrast(colour(mood+"-ink"), colour(mood+"-ground")); c < 4.5 {
				t.Errorf("%s chip %s: %.2f", scheme, mood, c)
			}
			if c := contrast(colour(mood), sheet.paper); c < 3 {
				t.Errorf("%s bar %s: %.2f", scheme, mood, c)
			}
		}
	}
}

// contrast is that of two colours, as WCAG reckons it.
func contrast(a, b string) float64 {
	luminance := func(colour string) float64 {
		n, _ := strconv.ParseUint(colour[1:], 16, 32)
		channel := func(shift int) float64 {
			v := float64(n>>shift&255) / 255
			if v <= 0.04045 {
				return v / 12.92
			}
			return math.Pow((v+0.055)/1.055, 2.4)
		}
		return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
	}
	x, y := luminance(a), luminance(b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// A prefilled report over three years.
func BenchmarkReportPage(b *testing.B) {
	pages := webui.NewPages("https://feedback.example.com", "")
	f := everything()
	for range 2 {
		values := make([]*float64, 36)
		for i := range values {
			values[i] = new(float64(i % 7))
		}
		f.Parts = append(f.Parts, trend(report.NPS, values...))
	}
	for b.Loop() {
		if err := pages.Report(httptest.NewRecorder(), reader("de"), "Acme", report.Report{Name: "R"}, f); err != nil {
			b.Fatal(err)
		}
	}
}
