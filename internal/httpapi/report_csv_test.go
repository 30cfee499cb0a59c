package httpapi_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// table reads the CSV of a report's only component.
func (c *client) table(report answer, component, query string) [][]string {
	c.t.Helper()
	list := c.components(report, "["+component+"]").want(http.StatusOK)
	a := c.get(fmt.Sprintf("%s/components/%v/data.csv%s", report.path(), list.at("data.0.id"), query)).want(http.StatusOK)
	if got := a.header.Get("Content-Type"); got != "text/csv; charset=utf-8; header=present" {
		c.t.Errorf("content type %q", got)
	}
	if got, want := a.header.Get("Content-Disposition"), fmt.Sprintf(`attachment; filename="report-%s-component-%v.csv"`, report.id(), list.at("data.0.id")); got != want {
		c.t.Errorf("disposition %q, want %q", got, want)
	}
	if strings.Count(a.body, "\n") != strings.Count(a.body, "\r\n") {
		c.t.Errorf("lines do not end as RFC 4180 says: %q", a.body)
	}
	rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
	if err != nil {
		c.t.Fatal(err)
	}
	return rows
}

// A component is a table with names on top: figures with their filters and the total at the end, or texts. What a spreadsheet would run as a
// formula is marked as text; numbers below zero stay numbers.
func TestReportCSV(t *testing.T) {
	t.Parallel()
	c, _, choice, text := surveyed(t)
	report := c.report(`{"fql":[{"TimePeriod":{"$btw":["2026-01-01","2026-03-31"]}}]}`)
	const year = `{"TimePeriod":{"$btw":["2026-01-01","2026-03-31"],"$type":"and"}}`
	names := []string{"about", "key", "label", "from", "to", "count", "metric", "value", "n", "fql", "n_fql"}
	answered := func(fql string) string { return "[" + year + fql + `,{"Nps":{"$exists":true,"$type":"and"}}]` }
	group := func(op, value string) string {
		return fmt.Sprintf(`,{"Question":{"id":%d,%q:%s,"$type":"and"}}`, choice, op, value)
	}
	got := c.table(report, fmt.Sprintf(`{"type":"breakdown","options":{"by":"question:%d","metric":"nps"}}`, choice), "?fql="+escape(`[]`))
	price, quality, none := group("$eq", `"Price"`), group("$eq", `"=Quality"`), group("$exists", "false")
	if diff := cmp.Diff([][]string{
		names,
		{"group", "Price", "Price", "", "", "3", "nps", "33.3", "3", "[" + year + price + "]", answered(price)},
		{"group", "'=Quality", "'=Quality", "", "", "1", "nps", "0", "1", "[" + year + quality + "]", answered(quality)},
		{"none", "", "(none)", "", "", "3", "nps", "0", "2", "[" + year + none + "]", answered(none)},
		{"total", "", "Total", "", "", "7", "nps", "16.7", "6", "[" + year + "]", answered("")},
	}, got); diff != "" {
		t.Errorf("breakdown (-want +got)\n%s", diff)
	}
	steps := c.table(report, `{"type":"trend","options":{"metric":"nps"}}`, "")
	if len(steps) != 5 || steps[1][3] != "2026-01-01" || steps[1][4] != "2026-01-31" || steps[2][7] != "" || steps[3][7] != "-33.3" {
		t.Errorf("trend %q", steps)
	}
	cities := c.table(report, `{"type":"breakdown","options":{"by":"attribute:city"}}`, "")
	if cities[3][2] != "'-7" || !strings.Contains(cities[3][9], `"-7"`) {
		t.Errorf("cities %q", cities)
	}
	texts := c.table(report, `{"type":"verbatims"}`, "?fql="+escape(`[{"Nps":{"$eq":"negative"}}]`))
	if diff := cmp.Diff([][]string{
		{"feedback_id", "created_at", "nps_profile", "satisfaction_ratio", "question_id", "question", "text"},
		{texts[1][0], "2026-03-31T12:00:00.000000Z", "negative", "25", fmt.Sprint(text), "Question 2", "Last\nline"},
		{texts[2][0], "2026-03-01T12:00:00.000000Z", "negative", "55", fmt.Sprint(text), "Question 2", "'=SUM(A1)"},
	}, texts); diff != "" {
		t.Errorf("texts (-want +got)\n%s", diff)
	}
}

// Formulas are marked however they begin.
func TestReportCSVMarksFormulas(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	cases := map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "'\tx", "\rx": "'x", "\nx": "'\nx", "＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠1": "'＠1",
		"a=1": "a=1", "'=1": "'=1", "": "", `say "hi", twice`: `say "hi", twice`, "été": "été",
	}
	for value := range cases {
		c.json(http.MethodPost, "/v4/feedback", map[string]any{"carrier_id": 1, "source": "email", "attributes": []any{map[string]any{"name": "note", "value": value}}}).want(http.StatusCreated)
	}
	rows := c.table(c.report(`{}`), `{"type":"breakdown","options":{"by":"attribute:note","limit":50}}`, "")
	if len(rows) != len(cases)+2 {
		t.Fatalf("%d rows", len(rows))
	}
	seen := map[string]bool{}
	for _, row := range rows[1 : len(rows)-1] {
		seen[row[2]] = true
	}
	for value, want := range cases {
		if !seen[want] {
			t.Errorf("%q is not written as %q: %v", value, want, seen)
		}
	}
}

// Only a component of this report has a table.
func TestReportCSVOfNothing(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	mine, second, theirs := c.report(`{}`), c.report(`{}`), other.report(`{}`)
	id := func(c *client, a answer) string {
		return fmt.Sprint(c.components(a, `[{"type":"trend"}]`).want(http.StatusOK).at("data.0.id"))
	}
	first, elsewhere, foreign := id(c, mine), id(c, second), id(other, theirs)
	path := func(a answer, component string) string { return a.path() + "/components/" + component + "/data.csv" }
	c.get(path(mine, first)).want(http.StatusOK)
	for _, p := range []string{path(mine, elsewhere), path(mine, foreign), path(mine, "0"), path(mine, "x"), path(theirs, foreign), path(second, first)} {
		c.get(p).refused(404, "not_found")
	}
	c.get(path(mine, first)+"?fql=x").refused(422, "invalid_fql", "fql")
}
