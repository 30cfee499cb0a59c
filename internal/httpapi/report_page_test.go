package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"earshot/internal/account"
)

func escape(text string) string { return url.QueryEscape(text) }

// reports adds n reports named 1 to n, in one statement.
func (c *client) reports(n int) {
	c.t.Helper()
	_, err := c.server.db.Exec(c.t.Context(), `
		INSERT INTO report (organization_id, team_id, name, type, fql, created_at)
		SELECT t.organization_id, t.id, n, 'public', '[]', timestamptz '2026-01-01 00:00Z' + n * interval '1 second'
		FROM team t, generate_series(1, $2) AS n
		WHERE t.organization_id = $1 AND t.main`, c.view.Org(), n)
	if err != nil {
		c.t.Fatal(err)
	}
}

// laravel is the envelope of a page as clients know it: first, last, prev, next, and the labels in order with the page each leads to
// (0 for none); the current one is marked.
type laravel struct {
	query                   string
	results                 int
	current, from, to, last int
	perPage                 int
	prev, next              int
	labels                  string // such as "Previous:0 1:1* 2:2 ...:0 Next:2"
	firstName, lastName     string
}

// The envelope is the one that clients of this interface know, for lists of any length and pages anywhere in them.
func TestReportPages(t *testing.T) {
	t.Parallel()
	for n, pages := range map[int][]laravel{
		0: {
			{query: "", current: 1, last: 1, perPage: 10, labels: "Previous:0 1:1* Next:0"},
			{query: "page=3", current: 3, last: 1, perPage: 10, prev: 2, labels: "Previous:2 1:1 Next:0"},
		},
		1: {{query: "", results: 1, current: 1, from: 1, to: 1, last: 1, perPage: 10, labels: "Previous:0 1:1* Next:0", firstName: "1", lastName: "1"}},
		9: {{query: "", results: 9, current: 1, from: 1, to: 9, last: 1, perPage: 10, labels: "Previous:0 1:1* Next:0", firstName: "9", lastName: "1"}},
		10: {
			{query: "", results: 10, current: 1, from: 1, to: 10, last: 1, perPage: 10, labels: "Previous:0 1:1* Next:0", firstName: "10", lastName: "1"},
			{query: "page=2", current: 2, last: 1, perPage: 10, prev: 1, labels: "Previous:1 1:1 Next:0"},
		},
		11: {
			{query: "", results: 10, current: 1, from: 1, to: 10, last: 2, perPage: 10, next: 2, labels: "Previous:0 1:1* 2:2 Next:2", firstName: "11", lastName: "2"},
			{query: "page=2", results: 1, current: 2, from: 11, to: 11, last: 2, perPage: 10, prev: 1, labels: "Previous:1 1:1 2:2* Next:0", firstName: "1", lastName: "1"},
			{query: "page=3", current: 3, last: 2, perPage: 10, prev: 2, labels: "Previous:2 1:1 2:2 Next:0"},
		},
		95: {
			{
				query: "page=1", results: 10, current: 1, from: 1, to: 10, last: 10, perPage: 10, next: 2, firstName: "95", lastName: "86",
				labels: "Previous:0 1:1* 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9 10:10 Next:2",
			},
			{
				query: "page=5", results: 10, current: 5, from: 41, to: 50, last: 10, perPage: 10, prev: 4, next: 6, firstName: "55", lastName: "46",
				labels: "Previous:4 1:1 2:2 3:3 4:4 5:5* 6:6 7:7 8:8 9:9 10:10 Next:6",
			},
			{
				query: "page=10", results: 5, current: 10, from: 91, to: 95, last: 10, perPage: 10, prev: 9, firstName: "5", lastName: "1",
				labels: "Previous:9 1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9 10:10* Next:0",
			},
			{
				query: "page=11", current: 11, last: 10, perPage: 10, prev: 10,
				labels: "Previous:10 1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9 10:10 Next:0",
			},
			{query: "limit=100", results: 95, current: 1, from: 1, to: 95, last: 1, perPage: 100, labels: "Previous:0 1:1* Next:0", firstName: "95", lastName: "1"},
		},
		1000: {
			{
				query: "page=1", results: 10, current: 1, from: 1, to: 10, last: 100, perPage: 10, next: 2, firstName: "1000", lastName: "991",
				labels: "Previous:0 1:1* 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9 10:10 ...:0 99:99 100:100 Next:2",
			},
			{
				query: "page=50", results: 10, current: 50, from: 491, to: 500, last: 100, perPage: 10, prev: 49, next: 51, firstName: "510", lastName: "501",
				labels: "Previous:49 1:1 2:2 ...:0 47:47 48:48 49:49 50:50* 51:51 52:52 53:53 ...:0 99:99 100:100 Next:51",
			},
			{
				query: "page=100", results: 10, current: 100, from: 991, to: 1000, last: 100, perPage: 10, prev: 99, firstName: "10", lastName: "1",
				labels: "Previous:99 1:1 2:2 ...:0 91:91 92:92 93:93 94:94 95:95 96:96 97:97 98:98 99:99 100:100* Next:0",
			},
			{
				query: "page=101", current: 101, last: 100, perPage: 10, prev: 100,
				labels: "Previous:100 1:1 2:2 ...:0 91:91 92:92 93:93 94:94 95:95 96:96 97:97 98:98 99:99 100:100 Next:0",
			},
			{
				query: "page=4&per_page=250&sort=created_at", results: 100, current: 4, from: 301, to: 400, last: 10, perPage: 100, prev: 3, next: 5,
				labels: "Previous:3 1:1 2:2 3:3 4:4* 5:5 6:6 7:7 8:8 9:9 10:10 Next:5", firstName: "301", lastName: "400",
			},
		},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			c.reports(n)
			for _, page := range pages {
				page.check(c.with("Host", "evil.example").get(reportsPath+"?"+page.query), n)
			}
		})
	}
}

func (p laravel) check(a answer, total int) {
	a.t.Helper()
	var kept []string
	for pair := range strings.SplitSeq(p.query, "&") {
		if pair != "" && !strings.HasPrefix(pair, "page=") {
			kept = append(kept, pair+"&")
		}
	}
	address := func(page int) string {
		if page == 0 {
			return "null"
		}
		return fmt.Sprintf(`"%s/v3/reports?%spage=%d"`, baseURL, strings.Join(kept, ""), page)
	}
	var links []string
	for label := range strings.SplitSeq(p.labels, " ") {
		label, active := strings.CutSuffix(label, "*")
		text, to, _ := strings.Cut(label, ":")
		var page int
		_, _ = fmt.Sscan(to, &page)
		text = map[string]string{"Previous": "&laquo; Previous", "Next": "Next &raquo;"}[text] + strings.TrimPrefix(strings.TrimPrefix(text, "Previous"), "Next")
		links = append(links, fmt.Sprintf(`{"url":%s,"label":%q,"active":%v}`, address(page), text, active))
	}
	a.want(http.StatusOK).is("links", fmt.Sprintf(`{"first":%s,"last":%s,"prev":%s,"next":%s}`, address(1), address(p.last), address(p.prev), address(p.next)))
	a.is("meta", fmt.Sprintf(`{"current_page":%d,"from":%d,"last_page":%d,"links":[%s],"path":"%s/v3/reports","per_page":%d,"to":%d,"total":%d}`,
		p.current, p.from, p.last, strings.Join(links, ","), baseURL, p.perPage, p.to, total))
	got := names(a)
	if len(got) != p.results || p.results > 0 && (got[0] != p.firstName || got[len(got)-1] != p.lastName) {
		a.t.Errorf("%s: %d results: %v", p.query, len(got), got)
	}
}

// A page counts only what its reader may see.
func TestReportPagesCountWhatIsSeen(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.reports(12)
	ada, adas := c.user("ada@example.com", account.RestrictedViewer)
	_, bob := c.user("bob@example.com", account.Viewer)
	c.report(fmt.Sprintf(`{"type":"private","user_id":%d}`, ada.ID))
	c.get(reportsPath).is("meta.total", "13")
	c.as(bob).get(reportsPath).is("meta.total", "12")
	c.as(adas).get(reportsPath).is("meta.total", "1").is("meta.last_page", "1")
}
