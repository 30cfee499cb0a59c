package webui

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"earshot/internal/carrier"
	"earshot/internal/report"
)

// reportPage is a shared report, ready to be written: every number is a text already.
type reportPage struct {
	T            *tongue
	Title        string
	Organization string
	Palette      string
	About        string // which feedback it is about
	AboutEnglish bool   // and the reader has another language
	At, Moment   string
	PDF          string       // where the reader can download it, if anywhere
	Style        template.CSS // on paper, where nothing is fetched
	Blocks       []block
}

// block is a row of tiles or one card.
type block struct {
	Tiles []tile
	Card  *card
}

// tile is one figure.
type tile struct {
	Title, Value, Note string
	Word               string // what the value means
	Gauge, Sides       bool   // it lies on a scale, which has two sides
	X, Width           string // of the gauge's bar
	About              string
	Withheld           bool
}

// card is any other part of a report. At most one of its contents is there; none, where there is nothing to show.
type card struct {
	ID      string
	Title   string
	Wide    bool
	About   string // what it is about, where that is less than the report
	Say     string // why there is nothing to see
	Note    string
	Line    *line
	Columns *columns
	Bars    *bars
	Quotes  []quote
}

// quote is what somebody wrote.
type quote struct {
	Text, Source, Question, Date, Day string
	Mood, Word                        string
}

// Report is the page of a shared report in the language that the reader likes best.
func (p *Pages) Report(w http.ResponseWriter, r *http.Request, organization string, shared report.Report, f report.Figures) error {
	page := newReportPage(tongueFor(r.Header.Get("Accept-Language")), organization, shared, f)
	if p.browser != nil {
		page.PDF = fmt.Sprintf("/report/%d/shareable.pdf?%s", shared.ID, url.Values{"token": {r.URL.Query().Get("token")}}.Encode())
	}
	return show(w, http.StatusOK, p.report, page)
}

func newReportPage(t *tongue, organization string, r report.Report, f report.Figures) reportPage {
	page := reportPage{
		T: t, Title: t.Say(r.Name), Organization: organization, Palette: "own",
		At: t.moment(f.At, f.Zone), Moment: f.At.UTC().Format(time.RFC3339),
	}
	if r.Color != nil {
		page.Palette = *r.Color
	}
	page.About, page.AboutEnglish = about(t, f.Sentence)
	now := f.At.In(f.Zone)
	for i, p := range f.Parts {
		narrower := ""
		if p.Sentence != f.Sentence {
			narrower, _ = about(t, p.Sentence)
		}
		if p.Type == report.KPI {
			if i == 0 || f.Parts[i-1].Type != report.KPI {
				page.Blocks = append(page.Blocks, block{})
			}
			last := &page.Blocks[len(page.Blocks)-1]
			last.Tiles = append(last.Tiles, newTile(t, p, narrower))
			continue
		}
		c := newCard(t, p, now)
		c.ID, c.About = fmt.Sprint("part-", i+1), narrower
		page.Blocks = append(page.Blocks, block{Card: c})
	}
	page.fit()
	return page
}

// fit makes the rows of cards even: of a run of cards that stand two by two, the first has a row to itself where their number is odd.
func (p *reportPage) fit() {
	begin := -1
	end := func(i int) {
		if begin >= 0 && (i-begin)%2 == 1 {
			p.Blocks[begin].Card.Wide = true
		}
		begin = -1
	}
	for i, b := range p.Blocks {
		if b.Card == nil || b.Card.Wide {
			end(i)
		} else if begin < 0 {
			begin = i
		}
	}
	end(len(p.Blocks))
}

// about is the sentence of a filter without its full stop. Filters are put into English words only.
func about(t *tongue, sentence string) (text string, english bool) {
	text = strings.TrimSuffix(sentence, ".")
	said := t.Say(text)
	return said, said == text && t.Tag != "en"
}

func metricName(m report.Metric) string {
	switch m {
	case report.NPS:
		return "NPS"
	case report.Satisfaction:
		return "Satisfaction"
	case report.Completion:
		return "Completion"
	case report.Sentiment:
		return "Sentiment"
	default:
		return "Feedback"
	}
}

func responses(t *tongue, n int64) string {
	if n == 1 {
		return t.Say("based on 1 response")
	}
	return t.Say("based on %s responses", t.count(n))
}

// word is a mood for people.
func word(t *tongue, mood string) string {
	switch mood {
	case "good":
		return t.Say("Positive")
	case "fair":
		return t.Say("Mixed")
	case "poor":
		return t.Say("Negative")
	default:
		return ""
	}
}

func newTile(t *tongue, p report.Part, narrower string) tile {
	k := tile{Title: t.Say(p.Title), About: narrower}
	switch {
	case p.Withheld:
		k.Value, k.Withheld, k.Note = "–", true, withheld(t, p)
	case p.Total == nil || p.Total.Value == nil:
		k.Value, k.Note = "–", t.Say("Nothing to measure yet")
	default:
		v := *p.Total.Value
		k.Value = t.value(p.Metric, v, 1)
		if p.Metric == report.Count {
			return k
		}
		k.Note, k.Gauge, k.X = responses(t, p.Total.N), true, "0"
		if k.Width = share(v); p.Metric == report.NPS {
			k.Sides, k.X, k.Width = true, share(50+math.Min(0, v)/2), share(math.Abs(v)/2)
		}
		if p.Metric == report.Sentiment {
			k.Word = word(t, mood(p.Metric, &v))
		}
	}
	return k
}

// withheld says why a part is not shown.
func withheld(t *tongue, p report.Part) string {
	if p.Type == report.Verbatims {
		return t.Say("Comments are not shown with this link.")
	}
	return t.Say("Not shown: this link keeps small groups private, and they could be worked out here.")
}

func newCard(t *tongue, p report.Part, now time.Time) *card {
	c := &card{Title: t.Say(p.Title), Wide: p.Type == report.Verbatims}
	if p.Withheld {
		c.Say = withheld(t, p)
		return c
	}
	switch p.Type {
	case report.Trend:
		c.trend(t, p, now)
	case report.Distribution:
		if c.Columns = drawColumns(t, p); c.Columns != nil {
			c.Note = c.Columns.Total
		}
	case report.Breakdown, report.Topics:
		c.Bars = drawBars(t, p)
	default:
		c.Quotes = newQuotes(t, p.Verbatims, now.Location())
		if len(c.Quotes) == 0 {
			c.Say = t.Say("No comments yet.")
		}
		return c
	}
	if c.Line == nil && c.Columns == nil && c.Bars == nil {
		c.Say = t.Say("No feedback matches yet.")
	}
	return c
}

func (c *card) trend(t *tongue, p report.Part, now time.Time) {
	some := false
	for _, f := range p.Figures {
		some = some || f.Count > 0 || f.Hidden
	}
	if !some {
		return
	}
	c.Line = drawLine(t, p, now)
	var notes []string
	if p.Interval != p.Options.Interval {
		notes = append(notes, t.Say("Shown by "+p.Interval+"."))
	}
	if c.Line.Gaps {
		notes = append(notes, t.Say("Gaps are periods with too few responses to be shown."))
	}
	if c.Line.Open != "" {
		notes = append(notes, t.Say("The last period is not over yet."))
	}
	c.Note = strings.Join(notes, " ")
}

func newQuotes(t *tongue, texts []report.Verbatim, zone *time.Location) []quote {
	var quotes []quote
	for _, v := range texts {
		at := v.CreatedAt.In(zone)
		q := quote{Text: v.Text, Question: v.Question, Date: t.date(at), Day: at.Format(time.DateOnly)}
		if v.Source != 0 {
			q.Source = t.Say(v.Source.Label())
		}
		// What was written says more of a text than the scores that came with it.
		switch cmp.Or(v.Feeling(), v.Profile) {
		case carrier.Positive:
			q.Mood, q.Word = "good", t.Say("Positive")
		case carrier.Neutral:
			q.Mood, q.Word = "fair", t.Say("Neutral")
		case carrier.Negative:
			q.Mood, q.Word = "poor", t.Say("Negative")
		default:
			if v.Satisfaction == nil {
				break
			}
			percent := float64(*v.Satisfaction) / 100
			q.Mood = mood(report.Satisfaction, &percent)
			q.Word = word(t, q.Mood)
		}
		quotes = append(quotes, q)
	}
	return quotes
}
