package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql/fqltest"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
	"earshot/internal/tally"
)

// reportData is the answer of /data as a client reads it.
type reportData struct {
	FQL        string
	Sentence   string
	Components []dataPart
}

type dataPart struct {
	Type, Title, Metric, Interval, Sentence string
	FQL                                     *string
	Total                                   *dataFigure
	Figures                                 []dataFigure
	Verbatims                               []struct {
		FeedbackID int64  `json:"feedback_id"`
		QuestionID int64  `json:"question_id"`
		Text       string `json:"text"`
		Question   string `json:"question"`
	}
}

type dataFigure struct {
	About, Key, Label, From, To string
	Count, N                    int64
	FQL                         *string
	NFQL                        *string `json:"n_fql"`
	Value                       *float64
}

func (c *client) data(path, query string) reportData {
	c.t.Helper()
	a := c.get(path + "/data" + query).want(http.StatusOK)
	var d reportData
	if err := json.Unmarshal([]byte(a.body), &d); err != nil {
		c.t.Fatal(err)
	}
	return d
}

// someParts are components of every sort.
func (w *world) someParts() []string {
	parts := []string{
		`{"type":"topics","options":{"metric":"sentiment","limit":3}}`, `{"type":"topics","options":{"metric":"satisfaction"}}`, `{"type":"topics","options":{"metric":"nps","limit":1}}`,
		`{"type":"breakdown","options":{"by":"topic","limit":2}}`, `{"type":"breakdown","options":{"by":"topic","metric":"sentiment"}}`,
		`{"type":"breakdown","options":{"by":"attribute:unique","limit":3}}`, `{"type":"breakdown","options":{"by":"attribute:absent"}}`,
		`{"type":"breakdown","options":{"by":"attribute:city","limit":3,"metric":"nps"}}`, `{"type":"breakdown","options":{"by":"attribute:city","limit":100,"metric":"completion"}}`,
		`{"type":"breakdown","options":{"by":"attribute:city","limit":5,"metric":"satisfaction"}}`,
		`{"type":"verbatims","options":{"limit":3}}`,
	}
	for _, metric := range []string{"count", "nps", "satisfaction", "completion", "sentiment"} {
		parts = append(parts, fmt.Sprintf(`{"type":"kpi","options":{"metric":%q}}`, metric))
		for _, interval := range []string{"day", "week", "month"} {
			parts = append(parts, fmt.Sprintf(`{"type":"trend","options":{"metric":%q,"interval":%q}}`, metric, interval))
		}
		for _, by := range []string{"source", "carrier", "status", "nps"} {
			parts = append(parts, fmt.Sprintf(`{"type":"breakdown","options":{"metric":%q,"by":%q,"limit":%d}}`, metric, by, 1+len(parts)%6))
		}
	}
	for _, q := range w.speaks.Questions {
		switch q.Type {
		case "choice", "multiple_choice":
			parts = append(parts, fmt.Sprintf(`{"type":"breakdown","options":{"by":"question:%d","limit":2}}`, q.ID),
				fmt.Sprintf(`{"type":"breakdown","options":{"by":"question:%d","metric":"satisfaction"}}`, q.ID))
		case "text", "textarea":
			parts = append(parts, fmt.Sprintf(`{"type":"verbatims","options":{"question_id":%d}}`, q.ID))
		case "date", "number":
		default:
			parts = append(parts, fmt.Sprintf(`{"type":"distribution","options":{"question_id":%d}}`, q.ID))
		}
	}
	return parts
}

// someFilters lead the total to every place that it can come from.
func (w *world) someFilters(r *rand.Rand) []string {
	first := w.speaks.Now.In(w.speaks.Zone).AddDate(0, 0, 1-w.speaks.Now.In(w.speaks.Zone).Day())
	month := func(back int) string { return first.AddDate(0, -back, 0).Format(time.DateOnly) }
	filters := []string{
		`[]`,
		`[{"Status":{"$in":["todo","resolved"]}}]`,
		`[{"Nps":{"$exists":true}}]`,
		`[{"Source":{"$in":["trustpilot","email"]}}]`,
		`[{"TimePeriod":{"$eq":"date_last_30_days"}}]`,
		`[{"TimePeriod":{"$eq":"date_last_12_months"}},{"Source":{"$ne":"email"}}]`,
		`[{"TimePeriod":{"$gte":"` + month(5) + `","$lt":"` + month(2) + `"}}]`,
		`[{"TimePeriod":{"$gte":"` + month(4) + `","$lt":"` + month(1) + `"}},{"Nps":{"$ne":"neutral"}}]`,
		`[{"TimePeriod":{"$btw":["` + first.AddDate(0, -3, 11).Format(time.DateOnly) + `","` + first.AddDate(0, 0, -9).Format(time.DateOnly) + `"]}}]`,
		`[{"TimePeriod":{"$gte":"` + w.speaks.Now.AddDate(0, -2, -3).UTC().Format(time.RFC3339) + `"}},{"Carrier":{"$in":[11,13]}}]`,
		`[{"Attribute":{"name":"city","$in":["Lyon","7"]}}]`,
		`[{"Text":{"$like":"refund"}}]`,
		`[{"Status":{"$eq":"todo","$type":"or"}},[{"Nps":{"$eq":"negative"}},{"Source":{"$ne":"email"}}]]`,
		`[{"Id":{"$in":[]}}]`,
		`[{"TimePeriod":{"$btw":["2020-01-01","2020-03-01"]}}]`,
	}
	for range 4 {
		filters = append(filters, fqltest.Random(r, w.speaks))
	}
	return filters
}

// Every figure, on random reports over random feedback, is what the list counts for the filter it names, and what the oracle counts and
// measures; groups that do not overlap add up to the whole, and so do the steps of a trend. It holds for those who see everything and for
// restricted viewers, with tallies folded and not. EARSHOT_SEED repeats a run, EARSHOT_ORACLE makes it longer.
func TestReportFiguresAreWhatTheyName(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("EARSHOT_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("seed %d (EARSHOT_SEED)", seed)
	reports, size := 5, 12
	if os.Getenv("EARSHOT_ORACLE") != "" {
		reports, size = 100, 25
	}
	r := rand.New(rand.NewPCG(seed, 2))
	db, err := pg.Open(t.Context(), pg.Settings{URL: pgtest.URL(t), MaxConns: 4, StatementTimeout: time.Minute, CustomPlans: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s := newServer(db)
	figures := 0
	for _, zone := range []string{"UTC", "America/Santiago", "Asia/Kolkata"} {
		w := newWorld(t, s, r, zone, 60)
		if zone != "UTC" { // as if the attribute had too many values to keep counts of them
			if _, err := db.Exec(t.Context(), `UPDATE attribute SET rolled_up = false WHERE organization_id = $1 AND name = 'city'`, w.view.Org()); err != nil {
				t.Fatal(err)
			}
		}
		if err := tally.NewStore(db).Rebuild(t.Context(), w.view); err != nil { // topics and sentiments were written past them
			t.Fatal(err)
		}
		for i := range 15 { // not folded
			w.plain(r, 1000+i)
		}
		user, token := w.user("Owner1@Example.com", account.RestrictedViewer)
		if _, err := s.Accounts.ChangeUser(t.Context(), w.view, user.ID, account.User{Role: account.RestrictedViewer}, &fault.Form{}); err != nil {
			t.Fatal(err)
		}
		parts := w.someParts()
		for _, filter := range pick(r, w.someFilters(r), reports) {
			r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			report := w.report(fmt.Sprintf(`{"fql":%q,"user_id":%d}`, filter, user.ID))
			w.components(report, "["+strings.Join(parts[:size], ",")+"]").want(http.StatusOK)
			figures += w.checkFigures(w.client, filter, w.data(report.path(), ""), func(fqltest.Record) bool { return true })
			mine := w.as(token)
			owned := func(rec fqltest.Record) bool { return slices.Contains(rec.Owners, "Owner1@Example.com") }
			figures += w.checkFigures(mine, filter, mine.data(report.path(), ""), owned)
			if t.Failed() {
				t.Fatalf("seed %d, %s: %s", seed, zone, filter)
			}
		}
	}
	t.Logf("%d figures", figures)
}

// plain adds a record that writes all of its tallies itself.
func (w *world) plain(r *rand.Rand, i int) {
	w.t.Helper()
	at := w.moment(r)
	n := feedback.New{CarrierID: 13, Source: feedback.Source(1 + r.IntN(6)), CreatedAt: &at, Fingerprint: fmt.Sprint("plain ", i)}
	rec := fqltest.Record{CreatedAt: at, Carrier: 13, Team: w.speaks.Teams[0], Source: n.Source.String(), Status: "todo", Fingerprint: n.Fingerprint}
	values := pick(r, someCities, 1+r.IntN(2))
	n.Attributes = []feedback.Attribute{attribute("city", values)}
	rec.Attributes = []fqltest.Attribute{{Name: "city", Values: values}}
	nps := w.speaks.Questions[0]
	answer := nps.Values[r.IntN(len(nps.Values))]
	n.Items = append(n.Items, carrier.Item{QuestionID: nps.ID, Value: answer})
	rec.Answers = append(rec.Answers, fqltest.Answer{Question: nps.ID, Type: nps.Type, Value: answer})
	made, err := w.server.Feedback.Create(w.t.Context(), w.view, n, &fault.Form{})
	if err != nil {
		w.t.Fatal(err)
	}
	if r.IntN(2) == 0 {
		rec.Status = "resolved"
		if _, err := w.server.Feedback.SetStatus(w.t.Context(), w.view, feedback.By{}, made.ID, feedback.Resolved); err != nil {
			w.t.Fatal(err)
		}
	}
	rec.ID, rec.CompletedAt, rec.Satisfaction = made.ID, made.CompletedAt, new(int(*made.Satisfaction))
	rec.Nps = map[carrier.Profile]string{carrier.Negative: "negative", carrier.Neutral: "neutral", carrier.Positive: "positive"}[made.Profile]
	w.records = append(w.records, rec)
}

// checkFigures holds the figures of a report against the list and the oracle, and returns how many there were.
func (w *world) checkFigures(c *client, filter string, d reportData, sees func(fqltest.Record) bool) (figures int) {
	w.t.Helper()
	for i, p := range d.Components {
		all := p.Figures
		if p.Total != nil {
			all = append([]dataFigure{*p.Total}, all...)
		}
		for j, f := range all {
			if f.About == "step" && j%13 != i%13 { // a trend has many; all of them are added up
				continue
			}
			where := fmt.Sprintf("component %d (%s %s), figure %d (%s %s)", i, p.Type, p.Title, j, f.About, f.Label)
			if f.FQL == nil || f.NFQL == nil {
				w.t.Errorf("%s has no filter", where)
				continue
			}
			matched := w.matching(*f.FQL, sees)
			if int64(len(matched)) != f.Count {
				w.t.Errorf("%s is %d; the oracle finds %d for %s", where, f.Count, len(matched), *f.FQL)
			}
			measured := w.matching(*f.NFQL, sees)
			if int64(len(measured)) != f.N {
				w.t.Errorf("%s has n %d; the oracle finds %d for %s", where, f.N, len(measured), *f.NFQL)
			}
			if p.Type != "distribution" {
				checkMetric(w.t, where, p.Metric, f, matched)
			}
			if figures++; figures%7 == 0 { // the oracle agrees with the list; a sample shows that the filter is taken
				c.list(*f.FQL, "").want(http.StatusOK).is("meta.total", strconv.FormatInt(f.Count, 10))
				c.list(*f.NFQL, "").want(http.StatusOK).is("meta.total", strconv.FormatInt(f.N, 10))
			}
		}
		w.checkSums(fmt.Sprintf("component %d (%s %s)", i, p.Type, p.Title), p)
	}
	want := w.matching(filter, sees)
	if got := w.matching(d.FQL, sees); len(got) != len(want) {
		w.t.Errorf("the report is about %s, which is another filter than %s", d.FQL, filter)
	}
	return figures
}

// matching are the records that the oracle finds.
func (w *world) matching(filter string, sees func(fqltest.Record) bool) []fqltest.Record {
	w.t.Helper()
	var found []fqltest.Record
	for _, rec := range w.records {
		ok, err := fqltest.Match(filter, rec, w.speaks.Now, w.speaks.Zone)
		if err != nil {
			w.t.Fatalf("the oracle refuses %s: %v", filter, err)
		}
		if ok && sees(rec) {
			found = append(found, rec)
		}
	}
	return found
}

// checkMetric measures the records again.
func checkMetric(t testing.TB, where, metric string, f dataFigure, records []fqltest.Record) {
	t.Helper()
	var sum, n float64
	decimals := 10.0
	for _, rec := range records {
		switch metric {
		case "count":
			sum, n, decimals = float64(len(records)), 1, 1
		case "nps":
			sum += map[string]float64{"positive": 100, "negative": -100}[rec.Nps]
			if rec.Nps != "" {
				n++
			}
		case "completion":
			n++
			if rec.CompletedAt != nil {
				sum += 100
			}
		case "satisfaction", "sentiment":
			measured := map[string]*int{"satisfaction": rec.Satisfaction, "sentiment": rec.Sentiment}[metric]
			decimals = 100
			if measured != nil {
				n, sum = n+1, sum+float64(*measured)/100
			}
		}
	}
	if metric == "count" && len(records) == 0 {
		n = 1
	}
	switch {
	case n == 0:
		if f.Value != nil {
			t.Errorf("%s: %s of nothing is %v", where, metric, *f.Value)
		}
	case f.Value == nil:
		t.Errorf("%s: %s is missing", where, metric)
	case math.Abs(*f.Value-sum/n) > 0.5/decimals+1e-9 || math.Abs(*f.Value*decimals-math.Round(*f.Value*decimals)) > 1e-6:
		t.Errorf("%s: %s is %v, want %v", where, metric, *f.Value, sum/n)
	}
}

// checkSums adds up what does not overlap.
func (w *world) checkSums(where string, p dataPart) {
	w.t.Helper()
	var sum int64
	for i, f := range p.Figures {
		sum += f.Count
		if p.Type == "trend" && i > 0 {
			last, _ := time.Parse(time.DateOnly, p.Figures[i-1].To)
			if last.AddDate(0, 0, 1).Format(time.DateOnly) != f.From || f.To < f.From {
				w.t.Errorf("%s: %s to %s follows %s", where, f.From, f.To, p.Figures[i-1].To)
			}
		}
	}
	overlaps := strings.Contains(where, "city") || strings.Contains(where, "topic") || strings.Contains(where, "Topics") ||
		strings.Contains(where, "Question 2") || strings.Contains(where, "Question 4") // a table, and several choices
	if p.Total != nil && p.Type != "kpi" && !overlaps && sum != p.Total.Count {
		w.t.Errorf("%s: the figures add up to %d, all are %d", where, sum, p.Total.Count)
	}
	if p.Type == "trend" && len(p.Figures) > 400 {
		w.t.Errorf("%s has %d steps", where, len(p.Figures))
	}
}
