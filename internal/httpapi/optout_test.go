package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"earshot/internal/account"
	"earshot/internal/optout"
)

const (
	optOuts  = "/v3/push-unsubscribes"
	formType = "application/x-www-form-urlencoded"
)

// optOut puts targets on the list, each at a time of its own.
func (c *client) optOut(targets ...string) {
	c.t.Helper()
	for _, target := range targets {
		c.json(http.MethodPost, optOuts, map[string]string{"target": target}).want(http.StatusCreated)
	}
}

// targets are those of a page, in its order.
func (a answer) targets() []string {
	a.t.Helper()
	rows, _ := a.want(http.StatusOK).at("data").([]any)
	list := make([]string, len(rows))
	for i, row := range rows {
		list[i] = row.(map[string]any)["target"].(string)
	}
	return list
}

func (a answer) lists(want ...string) answer {
	a.t.Helper()
	if got := a.targets(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		a.t.Errorf("listed %q, want %q", got, want)
	}
	return a
}

// A target is opted out once: 201 with the record, then 200 with the first record, in whatever case or body it comes again.
func TestOptOutIsCreatedOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	first := c.json(http.MethodPost, optOuts, `{"target":"  Ada@Example.org\t"}`).want(http.StatusCreated).is("target", `"Ada@Example.org"`)
	if _, err := time.Parse("2006-01-02T15:04:05.000000Z", fmt.Sprint(first.at("created_at"))); err != nil {
		t.Error(err)
	}
	if members := first.value().(map[string]any); len(members) != 2 {
		t.Errorf("the record is %s", first.body)
	}
	for name, again := range map[string]answer{
		"json":      c.json(http.MethodPost, optOuts, `{"target":"ada@example.org"}`),
		"form":      c.form(http.MethodPost, optOuts, "target=ADA@EXAMPLE.ORG"),
		"untyped":   c.send(http.MethodPost, optOuts, "", "target= Ada%40example.org "),
		"multipart": c.send(http.MethodPost, optOuts, "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nada@EXAMPLE.org\r\n--x--\r\n"),
		"slash":     c.json(http.MethodPost, optOuts+"/", `{"target":"ada@example.org","unknown":1}`),
	} {
		if again.want(http.StatusOK).body != first.body {
			t.Errorf("%s: answered %s, first %s", name, again.body, first.body)
		}
	}
	c.get(optOuts).lists("Ada@Example.org")
}

// Any text is a target, up to 320 characters without the spaces around it; nothing about it must look like an address.
func TestOptOutTargets(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	long := strings.Repeat("é", optout.MaxTarget)
	for _, target := range []string{"+33 6 12 34 56 78", "device:7f", "100%", `a\b`, "*", "a,b", "Ünïcödé@Exämple.org", "日本", "'; DROP TABLE token", long} {
		spelled, _ := json.Marshal(target)
		c.json(http.MethodPost, optOuts, `{"target":`+string(spelled)+`}`).want(http.StatusCreated).is("target", string(spelled))
		c.form(http.MethodPost, optOuts, "target="+target).want(http.StatusOK)
	}
	c.json(http.MethodPost, optOuts, `{"target":12345}`).want(http.StatusCreated).is("target", `"12345"`)
	c.json(http.MethodPost, optOuts, `{"target":"  `+long+`  "}`).want(http.StatusOK)
	c.json(http.MethodPost, optOuts, `{"target":"ÜNÏCÖDÉ@EXÄMPLE.ORG"}`).want(http.StatusOK)

	for name, body := range map[string]string{
		"missing": `{}`, "empty": `{"target":""}`, "null": `{"target":null}`, "blank": `{"target":" \t "}`, "too long": `{"target":"` + long + `x"}`,
		"list": `{"target":["a@example.org"]}`, "object": `{"target":{"a":1}}`, "boolean": `{"target":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.json(http.MethodPost, optOuts, body).refused(http.StatusUnprocessableEntity, "validation_failed", "target")
		})
	}
	c.form(http.MethodPost, optOuts, "target=").refused(422, "validation_failed", "target")
	c.form(http.MethodPost, optOuts).refused(422, "validation_failed", "target")
	c.json(http.MethodPost, optOuts, `{"target":"a\u0000b"}`).refused(400, "bad_request")
	c.send(http.MethodPost, optOuts, formType, "target=%ff").refused(400, "bad_request")
	c.json(http.MethodPost, optOuts, `{"target":`).refused(400, "bad_request")
	c.json(http.MethodPost, optOuts, `["a@example.org"]`).refused(400, "bad_request")
	c.send(http.MethodPost, optOuts, "text/plain", "target=a").refused(415, "unsupported_media_type")
	c.json(http.MethodPost, optOuts, `{"target":"`+strings.Repeat("x", 1<<20)+`"}`).refused(413, "payload_too_large")
}

// A target comes off the list by query or body, in any case; without one 422, with two different ones 422, absent 404.
func TestOptOutIsRemoved(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	query := func(target string) string { return optOuts + "?target=" + url.QueryEscape(target) }
	for name, remove := range map[string]func() answer{
		"query": func() answer { return c.send(http.MethodDelete, query(" ada@EXAMPLE.org "), "", "") },
		"json":  func() answer { return c.json(http.MethodDelete, optOuts, `{"target":"ADA@example.org"}`) },
		"form":  func() answer { return c.form(http.MethodDelete, optOuts, "target=ada@example.org") },
		"both": func() answer {
			return c.json(http.MethodDelete, query("Ada@example.org"), `{"target":"Ada@example.org"}`)
		},
		"null in body": func() answer { return c.json(http.MethodDelete, query("Ada@example.org"), `{"target":null}`) },
		"empty query":  func() answer { return c.json(http.MethodDelete, query(""), `{"target":"ada@example.org"}`) },
	} {
		c.optOut("Ada@example.org")
		a := remove()
		if a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", name, a.status, a.body)
		}
		a.is("type", `"success"`)
		if text, _ := a.at("message").(string); text == "" {
			t.Errorf("%s: no message: %s", name, a.body)
		}
		c.get(optOuts).lists()
	}

	other.optOut("ada@example.org", "both@example.org")
	missing := c.send(http.MethodDelete, query("ada@example.org"), "", "").refused(http.StatusNotFound, "not_found")
	never := c.send(http.MethodDelete, query("never@example.org"), "", "").refused(http.StatusNotFound, "not_found")
	if missing.at("message") != never.at("message") {
		t.Errorf("another organization's target can be told from an unknown one: %s %s", missing.body, never.body)
	}
	other.get(optOuts).lists("both@example.org", "ada@example.org")

	c.send(http.MethodDelete, optOuts, "", "").refused(422, "validation_failed", "target")
	c.send(http.MethodDelete, query(""), "", "").refused(422, "validation_failed", "target")
	c.send(http.MethodDelete, query("  "), "", "").refused(422, "validation_failed", "target")
	c.json(http.MethodDelete, optOuts, `{"target":null}`).refused(422, "validation_failed", "target")
	c.json(http.MethodDelete, query("a@example.org"), `{"target":"b@example.org"}`).refused(422, "validation_failed", "target")
	c.send(http.MethodDelete, optOuts+"?target[]=a", "", "").refused(422, "validation_failed", "target")
	// A wildcard is one in the filter only.
	c.optOut("x1", "x2")
	c.send(http.MethodDelete, query("x*"), "", "").refused(http.StatusNotFound, "not_found")
	c.get(optOuts).lists("x2", "x1")
}

// A target that was removed and comes again is a new record.
func TestOptOutComesAgain(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.optOut("Ada@example.org", "bob@example.org")
	c.send(http.MethodDelete, optOuts+"?target=ada@example.org", "", "").want(http.StatusOK)
	c.json(http.MethodPost, optOuts, `{"target":"ADA@example.org"}`).want(http.StatusCreated).is("target", `"ADA@example.org"`)
	c.get(optOuts).lists("ADA@example.org", "bob@example.org")
}

// filter[target] is the whole target in any case; * stands for anything, everything else for itself.
func TestOptOutFilter(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	other.optOut("ada@example.org")
	c.optOut("Ada@example.org", "ada@example.org.uk", "xada@example.org", "ad_@example.org", "adb@example.org", "100%", "100x", `a\b`, `a\\b`,
		"star*", "starfish", "Ünï@example.org", "a,b")
	for filter, want := range map[string][]string{
		"ADA@EXAMPLE.ORG":   {"Ada@example.org"},
		" ada@example.org ": {"Ada@example.org"},
		"ada":               {},
		"ada*":              {"ada@example.org.uk", "Ada@example.org"},
		"*ada*":             {"xada@example.org", "ada@example.org.uk", "Ada@example.org"},
		"*@example.org":     {"Ünï@example.org", "adb@example.org", "ad_@example.org", "xada@example.org", "Ada@example.org"},
		"ad_@example.org":   {"ad_@example.org"},
		"ad_@*":             {"ad_@example.org"},
		"100%":              {"100%"},
		"100%*":             {"100%"},
		"%":                 {},
		"100_":              {},
		`a\b`:               {`a\b`},
		`a\*`:               {`a\\b`, `a\b`},
		`a\\b`:              {`a\\b`},
		"star*":             {"starfish", "star*"},
		"ÜNÏ@*":             {"Ünï@example.org"},
		"a,b":               {"a,b"},
		"a?b":               {},
		"a**b":              {"a,b", `a\\b`, `a\b`},
		"   ":               {},
		"nobody":            {},
	} {
		c.get(optOuts + "?limit=100&filter[target]=" + url.QueryEscape(filter)).lists(want...)
	}
	all := c.get(optOuts + "?limit=100").targets()
	c.get(optOuts + "?limit=100&filter[target]=*").lists(all...)
	c.get(optOuts + "?limit=100&filter[target]=").lists(all...)
	c.get(optOuts + "?limit=100&filter=").lists(all...)
	if len(all) != 13 {
		t.Errorf("%d are listed", len(all))
	}
	c.get(optOuts+"?filter=ada").refused(422, "validation_failed", "filter")
	c.get(optOuts+"?filter[]=ada").refused(422, "validation_failed", "filter")
	c.get(optOuts+"?filter[email]=ada").refused(422, "validation_failed", "filter")
	c.get(optOuts+"?filter[target][]=ada").refused(422, "validation_failed", "filter.target")
	c.get(optOuts+"?filter[target]="+strings.Repeat("x", 1001)).refused(422, "validation_failed", "filter.target")
	c.get(optOuts+"?filter[target]=%00").refused(400, "bad_request")
}

// The newest come first unless asked otherwise; those of one time keep the order of their arrival, or its reverse.
func TestOptOutOrder(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.optOut("first", "second")
	c.json(http.MethodPost, optOuts+"/bulk", `{"targets":["b","a","c"]}`).want(http.StatusOK)
	c.optOut("last")
	c.get(optOuts).lists("last", "c", "b", "a", "second", "first")
	c.get(optOuts+"?sort=-created_at").lists("last", "c", "b", "a", "second", "first")
	c.get(optOuts+"?sort=").lists("last", "c", "b", "a", "second", "first")
	c.get(optOuts+"?sort=created_at").lists("first", "second", "a", "b", "c", "last")
	c.get(optOuts+"?sort=created_at&limit=2&page=2").lists("a", "b")
	c.get(optOuts+"?limit=2&page=2").lists("b", "a")
	for _, sort := range []string{"target", "-target", "created_at,target", "+created_at", "CREATED_AT", "--created_at", "id"} {
		c.get(optOuts+"?sort="+url.QueryEscape(sort)).refused(422, "validation_failed", "sort")
	}
	c.get(optOuts+"?sort[]=created_at").refused(422, "validation_failed", "sort")
	c.get(optOuts+"?sort=x&filter=y&page=0&limit=z").refused(422, "validation_failed", "sort", "filter", "page", "limit")
}

// page, limit and per_page: limit beats its synonym, more than 100 is 100, less than 1 and no number are refused.
func TestOptOutPages(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.grow(0, 101)
	for query, size := range map[string]int{
		"": 10, "limit=3": 3, "per_page=3": 3, "limit=3&per_page=7": 3, "limit=100": 100, "limit=101": 100, "limit=99999999999": 100,
		"limit=&per_page=": 10, "limit=&per_page=7": 7, "page=": 10,
	} {
		a := c.get(optOuts + "?" + query)
		if got := a.targets(); len(got) != size {
			t.Errorf("%q: %d targets", query, len(got))
		}
		a.is("meta.per_page", fmt.Sprint(size))
	}
	for _, wrong := range []string{"0", "-1", "x", "1.5", "1e3"} {
		c.get(optOuts+"?limit="+wrong).refused(422, "validation_failed", "limit")
		c.get(optOuts+"?per_page="+wrong).refused(422, "validation_failed", "per_page")
		c.get(optOuts+"?page="+wrong).refused(422, "validation_failed", "page")
	}
}

// grow adds targets to an empty list until it has as many.
func (c *client) grow(from, to int) {
	c.t.Helper()
	var targets []string
	for i := from; i < to; i++ {
		targets = append(targets, fmt.Sprintf("person %04d", i))
	}
	c.json(http.MethodPost, optOuts+"/bulk", map[string]any{"targets": targets}).want(http.StatusOK).is("added", fmt.Sprint(to-from))
}

// The envelope is that of Laravel, to the letter of links and labels, and keeps the other parameters of the query.
func TestOptOutPagesAreLaravels(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	likeLaravel(t, c, optOuts, "filter%5Btarget%5D=person%20%2A&sort=created_at", c.grow)
	u := baseURL + optOuts + "?limit=500&sort=created_at&page="
	c.get(optOuts+"?limit=500&page=2&sort=created_at").is("links", `{"first":"`+u+`1","last":"`+u+`10","prev":"`+u+`1","next":"`+u+`3"}`).
		is("data.0.target", `"person 0100"`)
}

// One organization's list is another's business neither to read nor to change.
func TestOptOutsBelongToOneOrganization(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	c.optOut("ada@example.org")
	other.get(optOuts).lists()
	other.json(http.MethodPost, optOuts+"/check", `{"targets":["ada@example.org"]}`).is("meta.unsubscribed", "0")
	other.json(http.MethodPost, optOuts, `{"target":"ADA@example.org"}`).want(http.StatusCreated)
	other.send(http.MethodDelete, optOuts+"?target=ada@example.org", "", "").want(http.StatusOK)
	c.get(optOuts).lists("ada@example.org")
}

// Readers read and check, a restricted viewer too: the list is not about feedback. Only writers write.
func TestOptOutRoles(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.optOut("ada@example.org")
	for _, role := range []account.Role{account.Viewer, account.RestrictedViewer} {
		_, token := c.user(string(role)+"@example.com", role)
		reader := c.as(token)
		reader.get(optOuts).lists("ada@example.org")
		reader.json(http.MethodPost, optOuts+"/check", `{"targets":["ada@example.org"]}`).want(http.StatusOK).is("meta.unsubscribed", "1")
		reader.json(http.MethodPost, optOuts, `{"target":"x"}`).refused(403, "forbidden")
		reader.json(http.MethodPost, optOuts+"/bulk", `{"targets":["x"]}`).refused(403, "forbidden")
		reader.json(http.MethodPost, optOuts+"/links", `{"target":"x"}`).refused(403, "forbidden")
		reader.send(http.MethodDelete, optOuts+"?target=ada@example.org", "", "").refused(403, "forbidden")
	}
	_, editor := c.user("editor@example.com", account.Editor)
	c.as(editor).json(http.MethodPost, optOuts, `{"target":"x"}`).want(http.StatusCreated)
}
