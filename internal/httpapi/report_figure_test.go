package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"earshot/internal/account"
	"earshot/internal/carrier"
)

// surveyed is an organization with seven feedback whose figures are known.
func surveyed(t *testing.T) (c *client, nps, choice, text int64) {
	t.Helper()
	c = newClient(t)
	car := c.carrier(carrier.NewQuestion{Type: carrier.NPS, Required: true}, carrier.NewQuestion{Type: carrier.Choice, Options: []string{"Price", "=Quality", "Never"}},
		carrier.NewQuestion{Type: carrier.Textarea})
	nps, choice, text = car.Questions[0].ID, car.Questions[1].ID, car.Questions[2].ID
	for _, f := range []struct{ day, source, score, choice, text, cities string }{
		{"01/05/2026", "email", "10", "Price", "First", `"Lyon"`},
		{"01/05/2026", "email", "9", "Price", "", `"Lyon","Paris"`},
		{"01/19/2026", "email", "7", "=Quality", "Second", `"Paris"`},
		{"03/01/2026", "sms", "6", "", "=SUM(A1)", `"-7"`},
		{"03/02/2026", "sms", "10", "", "", `"Nice"`},
		{"03/31/2026", "chat", "0", "Price", "Last\nline", ``},
		{"03/31/2026", "letter", "", "", "", ``},
	} {
		var items []string
		add := func(question int64, value string) {
			if value != "" {
				items = append(items, fmt.Sprintf(`{"question_id":%d,"value":%q}`, question, value))
			}
		}
		add(nps, f.score)
		add(choice, f.choice)
		add(text, f.text)
		attributes := ""
		if f.cities != "" {
			attributes = `{"name":"city","value":[` + f.cities + `]}`
		}
		c.create(fmt.Sprintf(`{"carrier_id":%d,"source":%q,"created_at":"%s 12:00:00","items":[%s],"attributes":[%s]}`,
			car.ID, f.source, f.day, strings.Join(items, ","), attributes)).want(http.StatusCreated)
	}
	return c, nps, choice, text
}

// figures are the figures of one component as "label count value/n" each.
func (c *client) figures(component string) []string {
	c.t.Helper()
	report := c.report(`{}`)
	c.components(report, "["+component+"]").want(http.StatusOK)
	p := c.data(report.path(), "").Components[0]
	var lines []string
	line := func(f dataFigure) {
		value := "-"
		if f.Value != nil {
			value = fmt.Sprint(*f.Value)
		}
		lines = append(lines, fmt.Sprintf("%s %s %d %s/%d", f.About, f.Label, f.Count, value, f.N))
	}
	for _, f := range p.Figures {
		line(f)
	}
	if p.Total != nil {
		line(*p.Total)
	}
	return lines
}

// Figures are right where they are known: rounded as promised, largest groups first, the others together, and those in none at the end.
func TestReportFiguresAreRight(t *testing.T) {
	t.Parallel()
	c, nps, choice, _ := surveyed(t)
	for component, want := range map[string][]string{
		`{"type":"kpi","options":{"metric":"count"}}`:        {"total Total 7 7/7"},
		`{"type":"kpi","options":{"metric":"nps"}}`:          {"total Total 7 16.7/6"}, // 3 promoters less 2 detractors of 6
		`{"type":"kpi","options":{"metric":"satisfaction"}}`: {"total Total 7 67.5/6"}, // 100, 90, 70, 60, 100, 0; half of it with the texts: 75, 90, 60, 55, 100, 25
		`{"type":"kpi","options":{"metric":"completion"}}`:   {"total Total 7 85.7/7"},
		`{"type":"kpi","options":{"metric":"sentiment"}}`:    {"total Total 7 50/4"}, // four texts that say nothing either way
		`{"type":"breakdown","options":{"by":"source"}}`: {
			"group E-mail 3 3/3", "group SMS 2 2/2", "group Chat 1 1/1", "group Letter 1 1/1", "total Total 7 7/7",
		},
		`{"type":"breakdown","options":{"by":"source","limit":2,"metric":"nps"}}`: {
			"group E-mail 3 66.7/3", "group SMS 2 0/2", "other Other 2 -100/1", "total Total 7 16.7/6",
		},
		`{"type":"breakdown","options":{"by":"nps"}}`: {
			"group Positive 3 3/3", "group Neutral 1 1/1", "group Negative 2 2/2", "none (none) 1 1/1", "total Total 7 7/7",
		},
		`{"type":"breakdown","options":{"by":"nps","limit":1}}`: {
			"group Positive 3 3/3", "other Other 3 3/3", "none (none) 1 1/1", "total Total 7 7/7",
		},
		`{"type":"breakdown","options":{"by":"status"}}`:  {"group To do 7 7/7", "total Total 7 7/7"},
		`{"type":"breakdown","options":{"by":"carrier"}}`: {"group Test 7 7/7", "total Total 7 7/7"},
		`{"type":"breakdown","options":{"by":"attribute:city","limit":1}}`: { // one with Lyon and Paris is not among the others
			"group Lyon 2 2/2", "other Other 3 3/3", "none (none) 2 2/2", "total Total 7 7/7",
		},
		`{"type":"breakdown","options":{"by":"attribute:city"}}`: {
			"group Lyon 2 2/2", "group Paris 2 2/2", "group -7 1 1/1", "group Nice 1 1/1", "none (none) 2 2/2", "total Total 7 7/7",
		},
		`{"type":"breakdown","options":{"by":"attribute:unknown"}}`: {"none (none) 7 7/7", "total Total 7 7/7"},
		`{"type":"breakdown","options":{"by":"topic"}}`:             {"none (none) 7 7/7", "total Total 7 7/7"},
		fmt.Sprintf(`{"type":"breakdown","options":{"by":"question:%d"}}`, choice): {
			"group Price 3 3/3", "group =Quality 1 1/1", "none (none) 3 3/3", "total Total 7 7/7",
		},
		fmt.Sprintf(`{"type":"distribution","options":{"question_id":%d}}`, nps): {
			"group 0 1 1/1", "group 1 0 0/0", "group 2 0 0/0", "group 3 0 0/0", "group 4 0 0/0", "group 5 0 0/0", "group 6 1 1/1", "group 7 1 1/1",
			"group 8 0 0/0", "group 9 1 1/1", "group 10 2 2/2", "total Answers 6 7/6",
		},
		`{"type":"topics"}`: {"total Total 7 50/4"},
		`{"type":"breakdown","fql":[{"Status":{"$eq":"resolved"}}],"options":{"by":"source","metric":"nps"}}`: {"total Total 0 -/0"},
	} {
		if got := c.figures(component); !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", component, got, want)
		}
	}
}

// A trend has a step for every day, week or month of its period, also for those with nothing in them; weeks begin on Monday.
func TestReportTrend(t *testing.T) {
	t.Parallel()
	c, _, _, _ := surveyed(t)
	trend := func(filter, options string) dataPart {
		t.Helper()
		report := c.report(fmt.Sprintf(`{"fql":%q}`, filter))
		c.components(report, `[{"type":"trend","options":`+options+`}]`).want(http.StatusOK)
		return c.data(report.path(), "").Components[0]
	}
	lines := func(p dataPart) (all []string) {
		for _, f := range p.Figures {
			all = append(all, fmt.Sprintf("%s %s..%s %d", f.Label, f.From, f.To, f.Count))
		}
		return all
	}
	winter := `[{"TimePeriod":{"$btw":["2026-01-01","2026-03-31"]}}]`
	if got, want := lines(trend(winter, `{"interval":"month"}`)), []string{
		"2026-01 2026-01-01..2026-01-31 3", "2026-02 2026-02-01..2026-02-28 0", "2026-03 2026-03-01..2026-03-31 4",
	}; !slices.Equal(got, want) {
		t.Errorf("months: %q", got)
	}
	if got, want := lines(trend(`[{"TimePeriod":{"$btw":["2026-01-04","2026-01-20"]}}]`, `{"interval":"week","metric":"nps"}`)), []string{
		"2025-12-29 2025-12-29..2026-01-04 0", "2026-01-05 2026-01-05..2026-01-11 2", "2026-01-12 2026-01-12..2026-01-18 0", "2026-01-19 2026-01-19..2026-01-25 1",
	}; !slices.Equal(got, want) {
		t.Errorf("weeks: %q", got)
	}
	days := trend(winter, `{"interval":"day","metric":"completion"}`)
	if len(days.Figures) != 90 || days.Interval != "day" || days.Figures[0].Value != nil || *days.Figures[4].Value != 100 || *days.Figures[89].Value != 50 {
		t.Errorf("days: %d %+v", len(days.Figures), days.Figures)
	}
	// Without a beginning it begins with the first feedback; without an end it ends today.
	open := trend(`[]`, `{"interval":"month"}`)
	if last := open.Figures[len(open.Figures)-1]; open.Figures[0].Label != "2026-01" || last.Label != time.Now().UTC().Format("2006-01") {
		t.Errorf("from %s to %s", open.Figures[0].Label, last.Label)
	}
	if none := trend(`[{"Id":{"$in":[]}}]`, `{"interval":"day"}`); len(none.Figures) != 0 {
		t.Errorf("of nothing: %+v", none.Figures)
	}
	if none := trend(`[{"TimePeriod":{"$btw":["2026-03-31","2026-01-01"]}}]`, `{"interval":"day"}`); len(none.Figures) != 0 {
		t.Errorf("the wrong way round: %+v", none.Figures)
	}
}

// A trend has no more than 400 steps: they get longer instead, and say so. One record with an absurd date spoils nothing.
func TestReportTrendGetsCoarser(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	add := func(day string) {
		c.create(`{"carrier_id":1,"source":"email","created_at":"` + day + ` 12:00:00"}`).want(http.StatusCreated)
	}
	report := c.report(`{}`)
	c.components(report, `[{"type":"trend","options":{"interval":"day"}},{"type":"trend","options":{"interval":"week"}},{"type":"trend","options":{"interval":"month"}}]`).want(http.StatusOK)
	for _, tc := range []struct {
		day  string
		want [3]string
	}{
		{time.Now().UTC().AddDate(0, 0, -399).Format("01/02/2006"), [3]string{"day", "week", "month"}},
		{time.Now().UTC().AddDate(0, 0, -400).Format("01/02/2006"), [3]string{"week", "week", "month"}},
		{time.Now().UTC().AddDate(-12, 0, 0).Format("01/02/2006"), [3]string{"month", "month", "month"}},
		{time.Now().UTC().AddDate(-50, 0, 0).Format("01/02/2006"), [3]string{"quarter", "quarter", "quarter"}},
		{"01/01/1900", [3]string{"year", "year", "year"}},
		{"12/31/2550", [3]string{"decade", "decade", "decade"}},
		{"12/31/9999", [3]string{"century", "century", "century"}},
	} {
		add(tc.day)
		d := c.data(report.path(), "")
		for i, p := range d.Components {
			var sum int64
			for _, f := range p.Figures {
				sum += f.Count
				c.list(*f.FQL, "").is("meta.total", fmt.Sprint(f.Count))
				if f.Count > 0 && p.Interval != "day" {
					break
				}
			}
			if p.Interval != tc.want[i] || len(p.Figures) > 400 || sum == 0 {
				t.Errorf("since %s: component %d has %d steps of a %s, want %s", tc.day, i, len(p.Figures), p.Interval, tc.want[i])
			}
		}
	}
}

// The latest texts come newest first, as many as asked for, with their questions; a filter narrows a report down further.
func TestReportVerbatims(t *testing.T) {
	t.Parallel()
	c, _, _, text := surveyed(t)
	report := c.report(`{}`)
	c.components(report, fmt.Sprintf(`[{"type":"verbatims","options":{"limit":3}},{"type":"verbatims","options":{"question_id":%d}}]`, text)).want(http.StatusOK)
	texts := func(p dataPart) (all []string) {
		for _, v := range p.Verbatims {
			if v.QuestionID != text || v.Question != "Question 2" {
				t.Errorf("question %d %q", v.QuestionID, v.Question)
			}
			all = append(all, v.Text)
		}
		return all
	}
	d := c.data(report.path(), "")
	if got := texts(d.Components[0]); !slices.Equal(got, []string{"Last\nline", "=SUM(A1)", "Second"}) {
		t.Errorf("%q", got)
	}
	if got := texts(d.Components[1]); len(got) != 4 || got[3] != "First" {
		t.Errorf("%q", got)
	}
	c.list(*d.Components[0].FQL, "").is("meta.total", "4")
	c.list(*d.Components[1].FQL, "").is("meta.total", "4")
	narrow := c.data(report.path(), "?fql="+escape(`[{"Source":{"$eq":"email"}}]`))
	if got := texts(narrow.Components[0]); !slices.Equal(got, []string{"Second", "First"}) {
		t.Errorf("%q", got)
	}
	if narrow.Sentence != "Feedback where the source is email." || narrow.FQL != `[{"Source":{"$eq":"email","$type":"and"}}]` {
		t.Errorf("%s %s", narrow.FQL, narrow.Sentence)
	}
}

// What is asked for has to be a filter, and short enough together with the report's.
func TestReportDataRefuses(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	groups := "[" + strings.TrimSuffix(strings.Repeat(`{"Id":{"$eq":1,"$type":"or"}},`, 11), ",") + "]"
	report := c.report(`{"format":"prefilled","fql":` + groups + `}`)
	c.get(report.path()+"/data").want(http.StatusOK).is("components.0.total.count", "0")
	c.get(report.path()+"/data?fql="+escape(groups)).refused(422, "validation_failed", "fql")
	c.get(report.path()+"/data?fql="+escape(`[{"Statuss":{"$eq":1}}]`)).refused(422, "invalid_fql", "fql")
	c.get(report.path()+"/data?fql=%zz").refused(400, "bad_request")
}

// Others see the figures of the reports they see, and of the feedback they see.
func TestReportDataVisibility(t *testing.T) {
	t.Parallel()
	c, _, _, _ := surveyed(t)
	ada, adas := c.user("ada@example.com", account.RestrictedViewer)
	_, bobs := c.user("bob@example.com", account.Viewer)
	report := c.report(fmt.Sprintf(`{"format":"prefilled","type":"private","user_id":%d}`, ada.ID))
	c.get(report.path()+"/data").is("components.0.total.count", "7")
	c.as(bobs).get(report.path()+"/data").refused(404, "not_found")
	c.as(adas).get(report.path()+"/data").want(http.StatusOK).is("components.0.total.count", "0").is("components.11.verbatims", "[]")
	first := c.list(`[{"Text":{"$eq":"First"}}]`, "").at("data.0.id")
	if _, err := c.server.db.Exec(t.Context(), `INSERT INTO feedback_owner (organization_id, feedback_id, user_id) VALUES ($1, $2::text::bigint, $3)`,
		c.view.Org(), fmt.Sprint(first), ada.ID); err != nil {
		t.Fatal(err)
	}
	c.as(adas).get(report.path()+"/data").is("components.0.total.count", "1").is("components.11.verbatims.0.text", `"First"`).is("components.11.verbatims.1", "null")
}
