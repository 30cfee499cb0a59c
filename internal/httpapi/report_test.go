package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"earshot/internal/account"
)

const reportsPath = "/v3/reports"

// report creates a report as JSON.
func (c *client) report(body string) answer {
	c.t.Helper()
	return c.json(http.MethodPost, reportsPath, body).want(http.StatusCreated)
}

func (a answer) path() string { return reportsPath + "/" + a.id() }

// mainTeam is the id of the organization's main team.
func (c *client) mainTeam() string {
	c.t.Helper()
	return fmt.Sprint(c.get(organizationPath).want(http.StatusOK).at("main_team_id"))
}

// A report of which nothing was said has the defaults, whichever way nothing is said; of a user's token it is the user's.
func TestReportDefaults(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	team := c.mainTeam()
	check := func(a answer, user string) {
		t.Helper()
		id, created := a.id(), fmt.Sprint(a.at("created_at"))
		want := fmt.Sprintf(`{"id":%s,"user_id":%s,"team_id":%s,"segment_id":null,"name":"Unnamed report","type":"public","status":"published",
			"fql":"[]","color":null,"created_at":%q,"updated_at":%q}`, id, user, team, created, created)
		a.want(http.StatusCreated).matches(want)
		c.get(reportsPath + "/" + id).want(http.StatusOK).matches(want)
	}
	check(c.send(http.MethodPost, reportsPath, "", ""), "null")
	check(c.json(http.MethodPost, reportsPath, `{}`), "null")
	check(c.form(http.MethodPost, reportsPath, "name=", "fql=", "type=", "format=", "user_id=", "team_id=", "master_id=", "color="), "null")
	check(c.json(http.MethodPost, reportsPath,
		`{"name":null,"fql":null,"type":null,"format":null,"user_id":null,"team_id":null,"master_id":null,"color":null,"other":1}`), "null")
	ada, token := c.user("ada@example.com", account.Editor)
	check(c.as(token).json(http.MethodPost, reportsPath, `{}`), fmt.Sprint(ada.ID))
}

// Every field is taken from JSON and from forms alike, and changed the same way; what is not given stays.
func TestReportFields(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ada, _ := c.user("ada@example.com", account.Editor)
	bob, _ := c.user("bob@example.com", account.Viewer)
	north := c.json(http.MethodPost, teamsPath, `{"name":"North"}`).want(http.StatusCreated).id()
	const filter = `[ {"Status" : {"$eq":"todo"}} ]`
	for name, a := range map[string]answer{
		"json": c.json(http.MethodPost, reportsPath, map[string]any{
			"user_id": ada.ID, "team_id": north, "name": " North ", "type": "private", "fql": filter, "format": "blank", "color": "teal",
		}),
		"form": c.form(http.MethodPost, reportsPath, fmt.Sprint("user_id=", ada.ID), "team_id="+north, "name=North", "type=private",
			"fql="+filter, "format=blank", "color=teal"),
	} {
		a.want(http.StatusCreated).is("user_id", fmt.Sprint(ada.ID)).is("team_id", north).is("name", `"North"`).is("type", `"private"`).
			is("status", `"published"`).is("color", `"teal"`)
		if a.at("fql") != filter {
			t.Errorf("%s: the filter is %q", name, a.at("fql"))
		}
		path := a.path()
		was := c.json(http.MethodPut, path, `{"name":null,"fql":"","user_id":null}`).want(http.StatusOK)
		if was.body != a.body {
			t.Errorf("nothing was to change:\n%s\n%s", a.body, was.body)
		}
		b := c.form(http.MethodPut, path, fmt.Sprint("user_id=", bob.ID), "name=South", "type=master", "status=draft", "color=red", "fql=[]", "team_id="+c.mainTeam()).
			want(http.StatusOK).is("user_id", fmt.Sprint(bob.ID)).is("name", `"South"`).is("type", `"master"`).is("status", `"draft"`).
			is("color", `"red"`).is("fql", `"[]"`).is("team_id", c.mainTeam()).is("created_at", fmt.Sprintf("%q", a.at("created_at")))
		if b.at("updated_at") == a.at("updated_at") {
			t.Error("a change does not show in updated_at")
		}
		again := c.json(http.MethodPut, path, `{"name":"South","color":"red","status":"draft","fql":[]}`).want(http.StatusOK)
		if again.body != b.body {
			t.Errorf("what changed nothing shows:\n%s\n%s", b.body, again.body)
		}
		c.json(http.MethodPut, path, `{"color":"none"}`).want(http.StatusOK).is("color", "null")
	}
}

// A filter sent as a text comes back byte for byte, one sent as an array as compact JSON with its keys in their order.
func TestReportKeepsTheFilterAsSent(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	path := c.report(`{}`).path()
	for sent, kept := range map[string]string{
		`" [ ] "`: ` [ ] `,
		`"[{\"Status\":{\"$type\":\"and\",\"$eq\":\"todo\"}}]\n"`:          "[{\"Status\":{\"$type\":\"and\",\"$eq\":\"todo\"}}]\n",
		`"[{\"Attribute\":{\"name\":\"caf\u00e9\",\"$eq\":\"\\u00e9\"}}]"`: `[{"Attribute":{"name":"café","$eq":"\u00e9"}}]`,
		`[]`: `[]`,
		`[ { "Attribute" : { "name":"a&b", "$in" : [ "<", 1.50 ], "$type":"and" } } ]`: `[{"Attribute":{"name":"a&b","$in":["<",1.50],"$type":"and"}}]`,
		`[[{"Status":{"$type":"or","$eq":"todo"}}],{"Id":{"$gt":"5"}}]`:                `[[{"Status":{"$type":"or","$eq":"todo"}}],{"Id":{"$gt":"5"}}]`,
	} {
		for _, a := range []answer{
			c.json(http.MethodPut, path, `{"name":"x", "fql" : `+sent+`}`), c.json(http.MethodPost, reportsPath, `{"fql":`+sent+`}`),
		} {
			if got := a.at("fql"); got != kept {
				t.Errorf("sent %s, kept %q: %s", sent, got, a.body)
			}
		}
	}
	a := c.form(http.MethodPost, reportsPath, "fql[0][Id][$in][]=7", "fql[0][Id][$in][]=8").want(http.StatusCreated)
	if got := a.at("fql"); got != `[{"Id":{"$in":["7","8"]}}]` {
		t.Errorf("from brackets: %s", got)
	}
}

// Every mistake is named at once; a wrong filter alone has its own code.
func TestReportRefuses(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	theirUser, _ := other.user("eve@example.com", account.Viewer)
	theirMaster := other.report(`{"type":"master"}`).id()
	path := c.report(`{}`).path()
	for _, call := range []func(body string) answer{
		func(body string) answer { return c.json(http.MethodPost, reportsPath, body) },
		func(body string) answer { return c.json(http.MethodPut, path, body) },
	} {
		call(`{"name":["x"],"type":"secret","user_id":"me","team_id":0,"fql":[{}],"color":"#ff0000"}`).
			refused(422, "validation_failed", "name", "type", "user_id", "team_id", "fql", "color")
		call(`{"name":"  "}`).refused(422, "validation_failed", "name")
		call(`{"name":"`+strings.Repeat("x", 256)+`"}`).refused(422, "validation_failed", "name")
		call(`{"fql":"[{\"Statuss\":{\"$eq\":1}}]"}`).refused(422, "invalid_fql", "fql")
		call(`{"fql":{"Status":{"$eq":"todo"}}}`).refused(422, "invalid_fql", "fql")
		call(`{"fql":7}`).refused(422, "invalid_fql", "fql")
		call(`{"fql":"`+strings.Repeat(" ", 65_537)+`"}`).refused(422, "invalid_fql", "fql")
		call(fmt.Sprintf(`{"user_id":%d,"team_id":%s}`, theirUser.ID, other.mainTeam())).refused(422, "validation_failed", "user_id", "team_id")
		call(`{"user_id":9007199254740991,"team_id":9007199254740991}`).refused(422, "validation_failed", "user_id", "team_id")
		call(`[]`).refused(400, "bad_request")
		call(`{"name":"x`).refused(400, "bad_request")
	}
	c.json(http.MethodPost, reportsPath, `{"format":"full","master_id":"x"}`).refused(422, "validation_failed", "format", "master_id")
	c.json(http.MethodPut, path, `{"status":"gone"}`).refused(422, "validation_failed", "status")
	public := c.report(`{}`).id()
	for _, master := range []string{theirMaster, public, "9007199254740991"} {
		c.json(http.MethodPost, reportsPath, `{"master_id":`+master+`}`).refused(422, "validation_failed", "master_id")
	}
	c.get(path).is("name", `"Unnamed report"`)
}

// A clone takes name, filter and colour of its master unless they are given, never its type, user or team, and outlives it.
func TestReportCloning(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ada, token := c.user("ada@example.com", account.Editor)
	north := c.json(http.MethodPost, teamsPath, `{"name":"North"}`).want(http.StatusCreated).id()
	master := c.report(fmt.Sprintf(`{"type":"master","name":"Template","fql":" []","color":"pink","team_id":%s}`, north))
	plain := c.as(token).report(`{"master_id":`+master.id()+`}`).is("name", `"Template"`).is("fql", `" []"`).is("color", `"pink"`).
		is("type", `"public"`).is("user_id", fmt.Sprint(ada.ID)).is("team_id", c.mainTeam())
	c.report(`{"master_id":"`+master.id()+`","name":"Mine","fql":[{"Id":{"$gt":1}}],"color":"none","type":"private"}`).
		is("name", `"Mine"`).is("fql", `"[{\"Id\":{\"$gt\":1}}]"`).is("color", "null").is("type", `"private"`).is("user_id", "null")
	c.send(http.MethodDelete, master.path(), "", "").want(http.StatusOK).is("type", `"success"`)
	c.get(plain.path()).want(http.StatusOK).is("name", `"Template"`)
	c.json(http.MethodPost, reportsPath, `{"master_id":`+master.id()+`}`).refused(422, "validation_failed", "master_id")
}

// What is deleted is gone, and deleted once.
func TestReportDelete(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	a := c.report(`{}`)
	gone := c.send(http.MethodDelete, a.path()+"/", "", "").want(http.StatusOK).is("type", `"success"`)
	if m, _ := gone.at("message").(string); m == "" {
		t.Errorf("no message: %s", gone.body)
	}
	c.get(a.path()).refused(404, "not_found")
	c.send(http.MethodDelete, a.path(), "", "").refused(404, "not_found")
	c.json(http.MethodPut, a.path(), `{"name":"x"}`).refused(404, "not_found")
	c.json(http.MethodPost, a.path()+"/share", `{}`).refused(404, "not_found")
}

// names lists the names on a page of reports, in order.
func names(a answer) []string {
	a.t.Helper()
	rows, _ := a.want(http.StatusOK).at("data").([]any)
	list := make([]string, len(rows))
	for i, row := range rows {
		list[i] = fmt.Sprint(row.(map[string]any)["name"])
	}
	return list
}

// Lists are filtered by a part of the name and by whole ids, and sorted as asked; anything else is refused.
func TestReportListFiltersAndSorts(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ada, _ := c.user("ada@example.com", account.Editor)
	bob, _ := c.user("bob@example.com", account.Editor)
	north := c.json(http.MethodPost, teamsPath, `{"name":"North"}`).want(http.StatusCreated).id()
	c.report(fmt.Sprintf(`{"name":"Été, north_1","user_id":%d}`, ada.ID))
	c.report(fmt.Sprintf(`{"name":"beta 100%%","user_id":%d,"team_id":%s}`, bob.ID, north))
	c.report(`{"name":"Alpha"}`)
	c.report(`{"name":"alpha"}`)
	for query, want := range map[string][]string{
		"":                              {"alpha", "Alpha", "beta 100%", "Été, north_1"},
		"sort=":                         {"alpha", "Alpha", "beta 100%", "Été, north_1"},
		"sort=created_at":               {"Été, north_1", "beta 100%", "Alpha", "alpha"},
		"sort=name":                     {"Alpha", "alpha", "beta 100%", "Été, north_1"},
		"sort=-name":                    {"Été, north_1", "beta 100%", "alpha", "Alpha"},
		"sort=name,-created_at":         {"alpha", "Alpha", "beta 100%", "Été, north_1"},
		"sort[]=name&sort[]=created_at": {"Alpha", "alpha", "beta 100%", "Été, north_1"},
		"filter[name]=ALPHA":            {"alpha", "Alpha"},
		"filter[name]=" + url.QueryEscape("éTÉ, NORTH_"):       {"Été, north_1"},
		"filter[name]=north%251":                               {},
		"filter[name]=" + url.QueryEscape("%"):                 {"beta 100%"},
		"filter[name]=&filter[user_id]=&filter[team_id]=":      {"alpha", "Alpha", "beta 100%", "Été, north_1"},
		fmt.Sprint("filter[user_id]=", ada.ID):                 {"Été, north_1"},
		fmt.Sprintf("filter[user_id]=%d,%d", ada.ID, bob.ID):   {"beta 100%", "Été, north_1"},
		fmt.Sprintf("filter[user_id]=%d, %d ", ada.ID, bob.ID): {"beta 100%", "Été, north_1"},
		"filter[user_id]=0":                                    {},
		"filter[team_id]=" + north:                             {"beta 100%"},
		"filter[team_id]=" + north + "&filter[name]=alpha":     {},
		"filter[team_id]=" + c.mainTeam() + "&sort=name":       {"Alpha", "alpha", "Été, north_1"},
	} {
		if got := names(c.get(reportsPath + "?" + strings.ReplaceAll(query, " ", "%20"))); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	c.get(reportsPath+"?filter=x").refused(422, "validation_failed", "filter")
	c.get(reportsPath+"?filter[color]=red").refused(422, "validation_failed", "filter")
	c.get(reportsPath+"?filter[user_id]=me&filter[team_id]=1.5&sort=id&page=0&limit=x").
		refused(422, "validation_failed", "filter.user_id", "filter.team_id", "sort", "page", "limit")
	c.get(reportsPath+"?sort=name,--created_at").refused(422, "validation_failed", "sort")
	c.get(reportsPath+"?filter[user_id]=99999999999999999999").refused(422, "validation_failed", "filter.user_id")
}
