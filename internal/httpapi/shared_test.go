package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"earshot/internal/report"
)

// The page itself belongs to another room; this shows what it is told.
func showReport(w http.ResponseWriter, r *http.Request, organization string, shared report.Report, f report.Figures) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return drawReport(w, "page", r, organization, shared, f)
}

func printReport(w http.ResponseWriter, r *http.Request, organization string, shared report.Report, f report.Figures) error {
	w.Header().Set("Content-Type", "application/pdf")
	return drawReport(w, "file", r, organization, shared, f)
}

func drawReport(w http.ResponseWriter, what string, r *http.Request, organization string, shared report.Report, f report.Figures) error {
	kinds := make([]string, len(f.Parts))
	for i, p := range f.Parts {
		kinds[i] = string(p.Type)
		if p.Withheld {
			kinds[i] += " withheld"
		}
	}
	_, err := fmt.Fprintf(w, "%s: %s of %s in %q, %s", what, shared.Name, strings.Fields(organization)[0], r.Header.Get("Accept-Language"), strings.Join(kinds, ", "))
	return err
}

// shared is the path of a new link to a new report made from this body.
func (c *client) shared(body string) string {
	c.t.Helper()
	return c.linkTo(c.json(http.MethodPost, "/v3/reports", body).want(http.StatusCreated).id(), `{}`)
}

// linkTo is the path of a new link to a report.
func (c *client) linkTo(id, body string) string {
	c.t.Helper()
	a := c.json(http.MethodPost, "/v3/reports/"+id+"/share", body).want(http.StatusCreated)
	return strings.TrimPrefix(a.at("public_link").(string), baseURL)
}

// Whoever has a link sees the report and what it shows, whoever they are, and each opening counts. A link can hide what people wrote.
func TestSharedReport(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.json(http.MethodPost, "/v4/feedback", `{"carrier_id":1,"source":"email"}`).want(http.StatusCreated)
	id := c.json(http.MethodPost, "/v3/reports", `{"name":"Spring","type":"private"}`).want(http.StatusCreated).id()
	c.json(http.MethodPut, "/v3/reports/"+id+"/components",
		`{"components":[{"type":"kpi","options":{"metric":"count"}},{"type":"verbatims"}]}`).want(http.StatusOK)
	path := c.linkTo(id, `{}`)
	c.as("").get(path).shows(http.StatusOK, `page: Spring of TestSharedReport in "", kpi, verbatims`)
	c.as("es_live_wrong").with("Accept-Language", "fr").get(path).shows(http.StatusOK, `page: Spring of TestSharedReport in "fr", kpi, verbatims`)
	a := c.as("").get(path + "&utm_source=mail").want(http.StatusOK)
	if got := a.header.Get("Vary"); got != "Accept-Language" {
		t.Errorf("Vary is %q", got)
	}
	c.get("/v3/reports/"+id+"/shares").is("data.0.views", "3")
	c.as("").get(c.linkTo(id, `{"hide_verbatims":true}`)).shows(http.StatusOK, `page: Spring of TestSharedReport in "", kpi, verbatims withheld`)
	c.as("").get(c.linkTo(id, `{"minimum_group_size":5}`)).shows(http.StatusOK, `page: Spring of TestSharedReport in "", kpi withheld, verbatims withheld`)
}

// filed is the address of the file that a link leads to.
func filed(path string) string { return strings.Replace(path, "/shareable", "/shareable.pdf", 1) }

// The file of a report is the same as its page: it hides the same, counts as a view, is limited together with it, and refused like it.
func TestSharedReportAsFile(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.json(http.MethodPost, "/v3/reports", `{"name":"Spring","format":"prefilled"}`).want(http.StatusCreated).id()
	c.json(http.MethodPut, "/v3/reports/"+id+"/components",
		`{"components":[{"type":"kpi","options":{"metric":"count"}},{"type":"verbatims"}]}`).want(http.StatusOK)
	path := c.linkTo(id, `{"hide_verbatims":true}`)
	a := c.as("").with("Accept-Language", "fr").get(filed(path)).want(http.StatusOK)
	if a.body != `file: Spring of TestSharedReportAsFile in "fr", kpi, verbatims withheld` || a.header.Get("Vary") != "Accept-Language" {
		t.Errorf("%s %s", a.header, a.body)
	}
	c.get("/v3/reports/"+id+"/shares").is("data.0.views", "1")
	left := c.as("").get(path).want(http.StatusOK).header.Get("RateLimit-Remaining")
	if left != "98" {
		t.Errorf("%s openings are left", left)
	}
	other := c.shared(`{}`)
	c.send(http.MethodDelete, "/v3/reports/"+id+"/shares/"+c.get("/v3/reports/"+id+"/shares").number("data.0.id"), "", "").want(http.StatusOK)
	c.as("").get(filed(path)).shows(http.StatusGone, "page: refused 410")
	for _, wrong := range []string{filed(path) + "x", "/report/" + id + "/shareable.pdf", "/report/" + id + "/shareable.pdf" + other[strings.Index(other, "?"):]} {
		c.as("").get(wrong).shows(http.StatusNotFound, "page: refused 404")
	}
}

// Only the whole address of a link that is valid now leads to its report. Whatever else is tried is the same page, and says nothing of the
// report or its organization; nor does the log say anything of the token.
func TestSharedReportBadLinks(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	made := c.json(http.MethodPost, "/v3/reports", `{"name":"Spring"}`).want(http.StatusCreated).id()
	good := c.linkTo(made, `{}`)
	u, err := url.Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	token := u.Query().Get("token")
	at := func(id, token string) string { return "/report/" + id + "/shareable?token=" + url.QueryEscape(token) }
	tokenOf := func(path string) string { return path[strings.Index(path, "=")+1:] }
	second := c.shared(`{"name":"Summer"}`)
	theirs := other.shared(`{"name":"Theirs"}`)
	deleted := c.json(http.MethodPost, "/v3/reports", `{}`).want(http.StatusCreated).id()
	orphan := c.linkTo(deleted, `{}`)
	c.send(http.MethodDelete, "/v3/reports/"+deleted, "", "").want(http.StatusOK)
	aged := func(set string) string {
		path := c.linkTo(made, `{}`)
		_, err := c.server.db.Exec(t.Context(), `UPDATE report_share SET `+set+` WHERE organization_id = $1 AND id =
			(SELECT max(id) FROM report_share WHERE organization_id = $1)`, c.view.Org())
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	expired := aged("created_at = now() - interval '9 days', expires_at = now() - interval '1 second'")
	revoked := c.linkTo(made, `{}`)
	share := c.get("/v3/reports/" + made + "/shares").number("data.0.id")
	c.send(http.MethodDelete, "/v3/reports/"+made+"/shares/"+share, "", "").want(http.StatusOK)
	swapped := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, token)
	for name, tc := range map[string]struct {
		path   string
		status int
	}{
		"expired":                        {expired, 410},
		"revoked":                        {revoked, 410},
		"expired, of another report":     {at(strings.Split(second, "/")[2], tokenOf(expired)), 404},
		"another report's token":         {at(made, tokenOf(second)), 404},
		"another organization's token":   {at(made, tokenOf(theirs)), 404},
		"another organization's report":  {at(strings.Split(theirs, "/")[2], token), 404},
		"a report that was deleted":      {orphan, 404},
		"a report that never was":        {at("9007199254740991", token), 404},
		"no report":                      {at("0", token), 404},
		"a negative report":              {at("-1", token), 404},
		"not a number":                   {at("one", token), 404},
		"without a token":                {"/report/" + made + "/shareable", 404},
		"an empty token":                 {at(made, ""), 404},
		"one letter less":                {at(made, token[:42]), 404},
		"one letter more":                {at(made, token+"A"), 404},
		"half":                           {at(made, token[:20]), 404},
		"upper case":                     {at(made, strings.ToUpper(token)), 404},
		"lower case":                     {at(made, strings.ToLower(token)), 404},
		"swapped case":                   {at(made, swapped), 404},
		"padding":                        {at(made, token+"="), 404},
		"a space behind":                 {at(made, token+" "), 404},
		"a null byte":                    {at(made, token[:42]+"\x00"), 404},
		"a percent sign":                 {at(made, "%' OR 1=1 --"), 404},
		"twice, the wrong one first":     {"/report/" + made + "/shareable?token=x&token=" + token, 404},
		"another name":                   {"/report/" + made + "/shareable?Token=" + token, 404},
		"as an array":                    {"/report/" + made + "/shareable?token[]=" + token, 404},
		"in the path":                    {"/report/" + made + "/shareable/" + token, 404},
		"in the path, instead of the id": {"/report/" + token + "/shareable", 404},
		"behind a semicolon":             {"/report/" + made + "/shareable;token=" + token, 404},
		"other letters in the path":      {"/report/" + made + "/Shareable?token=" + token, 404},
		"a token of the interface":       {at(made, c.token), 404},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := c.as("").get(tc.path).shows(tc.status, fmt.Sprintf("page: refused %d", tc.status))
			for _, h := range a.header {
				if strings.Contains(strings.Join(h, " "), token) {
					t.Errorf("a header shows the token: %v", h)
				}
			}
		})
	}
	t.Cleanup(func() {
		for _, secret := range []string{token, tokenOf(expired), tokenOf(revoked), tokenOf(theirs)} {
			if strings.Contains(c.server.log.String(), secret) || strings.Contains(other.server.log.String(), secret) {
				t.Error("the log shows a token")
			}
		}
		if !strings.Contains(c.server.log.String(), `"route":"GET /report/{id}/shareable"`) {
			t.Error("the log does not name the route")
		}
	})
	c.as("").send(http.MethodPost, good, formType, "token="+token).want(http.StatusMethodNotAllowed)
	c.as("").get(good).want(http.StatusOK)
}

// A link cannot be opened without end, and nobody can try tokens without end; other links are not touched by either.
func TestSharedReportLimits(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	busy, quiet := c.shared(`{}`), c.shared(`{}`)
	follow := func(path, from string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		c.server.handler.ServeHTTP(w, r)
		if w.Code == http.StatusTooManyRequests && (w.Body.String() != "page: refused 429" || w.Header().Get("Retry-After") == "") {
			t.Errorf("too many are answered %q, Retry-After %q", w.Body, w.Header().Get("Retry-After"))
		}
		return w.Code
	}
	many := func(n int, call func(i int) int) map[int]int {
		var mu sync.Mutex
		var all sync.WaitGroup
		seen := map[int]int{}
		for i := range n {
			all.Go(func() {
				code := call(i)
				mu.Lock()
				defer mu.Unlock()
				seen[code]++
			})
		}
		all.Wait()
		return seen
	}
	if seen := many(300, func(i int) int { return follow(busy, fmt.Sprintf("192.0.2.%d:1", i%200)) }); seen[200] < 100 || seen[429] == 0 || len(seen) != 2 {
		t.Errorf("300 openings of a link: %v", seen)
	}
	guess := func(i int) int { return follow(fmt.Sprintf("/report/1/shareable?token=%043d", i), "198.51.100.7:1") }
	if seen := many(100, guess); seen[404] < 30 || seen[429] == 0 || len(seen) != 2 {
		t.Errorf("100 guesses: %v", seen)
	}
	if code := follow(quiet, "198.51.100.7:1"); code != http.StatusOK {
		t.Errorf("a link that is there, from where others were guessed: %d", code)
	}
}
