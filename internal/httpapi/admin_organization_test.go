package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"earshot/internal/account"
)

const (
	organizationPath = "/admin/v1/organization"
	teamsPath        = "/admin/v1/teams"
)

// The organization shows itself, and changes what is given and nothing else, sent either way.
func TestAdminOrganization(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	was := c.get(organizationPath).want(http.StatusOK).is("time_zone", `"UTC"`).is("strict_carriers", "false")
	if was.id() != fmt.Sprint(c.view.Org()) || was.at("main_team_id") == nil || was.at("created_at") == nil {
		t.Errorf("organization %s", was.body)
	}
	name := fmt.Sprintf("Renamed %d", c.view.Org())
	c.json(http.MethodPut, organizationPath, map[string]any{"name": " " + name + " ", "strict_carriers": true}).want(http.StatusOK).
		is("name", `"`+name+`"`).is("strict_carriers", "true").is("time_zone", `"UTC"`)
	c.create(`{"carrier_id":1,"source":"email"}`).refused(422, "validation_failed", "carrier_id")
	c.form(http.MethodPut, organizationPath, "strict_carriers=0", "name=").want(http.StatusOK).
		is("name", `"`+name+`"`).is("strict_carriers", "false")
	c.create(`{"carrier_id":1,"source":"email"}`).want(http.StatusCreated)
	c.json(http.MethodPut, organizationPath, `{"name":null,"time_zone":"","strict_carriers":null}`).want(http.StatusOK)
	c.json(http.MethodPut, organizationPath, ``).want(http.StatusOK)
	c.get(organizationPath).is("name", `"`+name+`"`).is("id", was.id())
}

// Yes and no are read as JSON, forms and numbers spell them, and nothing else is either.
func TestAdminReadsBooleans(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for in, out := range map[string]string{
		`true`: "true", `"1"`: "true", `"true"`: "true", `1`: "true", `false`: "false", `0`: "false", `"0"`: "false", `"false"`: "false",
	} {
		c.json(http.MethodPut, organizationPath, `{"strict_carriers":`+in+`}`).want(http.StatusOK).is("strict_carriers", out)
	}
	for _, in := range []string{`2`, `"yes"`, `"TRUE"`, `[]`, `{}`, `[true]`, `-1`, `0.5`} {
		c.json(http.MethodPut, organizationPath, `{"strict_carriers":`+in+`}`).refused(422, "validation_failed", "strict_carriers")
	}
}

// Every mistake is named at once. Another organization's name cannot be had.
func TestAdminOrganizationRefuses(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.json(http.MethodPut, organizationPath, `{"name":["x"],"strict_carriers":"perhaps","time_zone":"Mars/Base"}`).
		refused(422, "validation_failed", "name", "strict_carriers", "time_zone")
	c.json(http.MethodPut, organizationPath, map[string]string{"name": strings.Repeat("x", 256)}).refused(422, "validation_failed", "name")
	c.json(http.MethodPut, organizationPath, `{"name":"  "}`).refused(422, "validation_failed", "name")
	other := newClient(t).get(organizationPath).at("name")
	c.json(http.MethodPut, organizationPath, map[string]any{"name": other}).refused(422, "validation_failed", "name")
	c.json(http.MethodPut, organizationPath, map[string]any{"name": c.get(organizationPath).at("name")}).want(http.StatusOK)
}

// The time zone is one that everybody knows by this name.
func TestAdminTimeZone(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, zone := range []string{"Asia/Kolkata", "America/St_Johns", "Etc/GMT+12", "UTC", "Europe/Paris"} {
		c.json(http.MethodPut, organizationPath, map[string]string{"time_zone": zone}).want(http.StatusOK).is("time_zone", `"`+zone+`"`)
	}
	for _, zone := range []string{
		"Mars/Base", "europe/paris", "Local", "localtime", "posixrules", "posix/Europe/Paris", "right/Europe/Paris", "UTC+3", "PST", "Factory",
		"../../etc/passwd", "+02:00", " ", "Europe",
	} {
		c.json(http.MethodPut, organizationPath, map[string]string{"time_zone": zone}).refused(422, "validation_failed", "time_zone")
	}
	c.json(http.MethodPut, organizationPath, `{"time_zone":"Europe/Paris"}`).want(http.StatusOK).is("operation_id", "null") // it is that already
	// Days are those of the zone: half past eleven in London is tomorrow in Paris.
	c.create(`{"carrier_id":1,"source":"email","created_at":"01/31/2026 23:30:00"}`).want(http.StatusCreated)
	c.get("/v4/feedback?fql="+`[{"TimePeriod":{"$eq":"2026-02-01"}}]`).want(http.StatusOK).is("meta.total", "1")
}

// Feedback moves to its days in a new zone: totals are exact before, while and after that is done, and tallies serve them again in the end.
func TestFeedbackMovesToItsDaysInAnotherZone(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, at := range []string{"01/31/2026 23:30:00", "01/31/2026 12:00:00", "02/01/2026 22:59:59", "02/01/2026 23:00:00"} {
		c.create(`{"carrier_id":1,"source":"email","created_at":"` + at + `","attributes":[{"name":"city","value":"Lyon"}]}`).want(http.StatusCreated)
	}
	total := func(from string, first, january int) {
		t.Helper()
		for fql, want := range map[string]int{
			`[{"TimePeriod":{"$eq":"2026-02-01"}}]`: first, `[{"TimePeriod":{"$lte":"2026-01-31"}}]`: january, `[{"TimePeriod":{"$gte":"2026-01-01T00:00:01Z"}}]`: 4,
			`[{"Attribute":{"name":"city","$eq":"Lyon"}}]`: 4, `[]`: 4,
		} {
			c.get("/v4/feedback?fql="+fql).is("meta.total", fmt.Sprint(want))
		}
		c.json(http.MethodPost, "/v4/fql/explain", `{"fql":[{"TimePeriod":{"$eq":"2026-02-01"}}]}`).is("total_from", `"`+from+`"`)
	}
	total("tallies", 2, 2)
	operation := c.json(http.MethodPut, organizationPath, `{"time_zone":"Europe/Paris"}`).want(http.StatusOK).number("operation_id")
	total("count", 2, 1)
	c.json(http.MethodPost, "/v4/operations/"+operation+"/cancel", "").refused(http.StatusConflict, "operation_not_cancellable")
	again := c.json(http.MethodPut, organizationPath, `{"time_zone":"Asia/Tokyo"}`).want(http.StatusOK).number("operation_id")
	total("count", 1, 1)
	c.settle()
	c.work(operation)
	total("count", 1, 1)
	c.work(again)
	total("tallies", 1, 1)
	c.get("/v4/operations/"+operation).is("kind", `"rezone"`).is("state", `"done"`).is("total", "4").is("changed", "3").is("undoable_until", "null")
	c.get("/v4/operations/"+again).is("changed", "0")
	c.sound()
}

// A team is made, shown, listed, renamed and deleted, sent either way.
func TestAdminTeams(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	main := fmt.Sprint(c.get(organizationPath).at("main_team_id"))
	north := c.json(http.MethodPost, teamsPath, `{"name":" Nörth "}`).want(http.StatusCreated).is("name", `"Nörth"`).is("main", "false")
	south := c.form(http.MethodPost, teamsPath, "name=South").want(http.StatusCreated).is("name", `"South"`)
	c.get(teamsPath + "/" + north.id()).want(http.StatusOK).matches(north.body)
	list := c.get(teamsPath+"?limit=2").want(http.StatusOK).is("data.0.id", main).is("data.0.main", "true").is("meta.total", "3").is("meta.last_page", "2")
	list.is("data.1", north.body)
	c.get(teamsPath+"?page=2&per_page=2").is("data.0", south.body).is("meta.from", "3")
	c.json(http.MethodPut, teamsPath+"/"+north.id(), `{"name":"NÖRTH"}`).want(http.StatusOK).is("name", `"NÖRTH"`)
	c.form(http.MethodPut, teamsPath+"/"+main, "name=Headquarters").want(http.StatusOK).is("name", `"Headquarters"`).is("main", "true")
	c.form(http.MethodPut, teamsPath+"/"+main, "name=").want(http.StatusOK).is("name", `"Headquarters"`)
	c.send(http.MethodDelete, teamsPath+"/"+south.id(), "", "").want(http.StatusOK).is("type", `"success"`)
	c.get(teamsPath+"/"+south.id()).refused(404, "not_found")
	c.send(http.MethodDelete, teamsPath+"/"+south.id(), "", "").refused(404, "not_found")
}

// Two teams of one organization do not share a name, whatever its case; those of two organizations may.
func TestAdminTeamsRefuse(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.json(http.MethodPost, teamsPath, `{"name":"Zoé"}`).want(http.StatusCreated)
	other := c.json(http.MethodPost, teamsPath, `{"name":"Other"}`).want(http.StatusCreated).id()
	c.json(http.MethodPost, teamsPath, `{"name":" ZOÉ"}`).refused(422, "validation_failed", "name")
	c.json(http.MethodPut, teamsPath+"/"+other, `{"name":"zoé"}`).refused(422, "validation_failed", "name")
	newClient(t).json(http.MethodPost, teamsPath, `{"name":"Zoé"}`).want(http.StatusCreated)
	for _, body := range []string{`{}`, `{"name":""}`, `{"name":" "}`, `{"name":null}`, `{"name":{}}`, `{"name":"` + strings.Repeat("x", 256) + `"}`} {
		c.json(http.MethodPost, teamsPath, body).refused(422, "validation_failed", "name")
	}
	c.json(http.MethodPost, teamsPath, `{"name":"`+strings.Repeat("é", 255)+`"}`).want(http.StatusCreated)
	c.json(http.MethodPut, teamsPath+"/"+other, `{"name":" "}`).refused(422, "validation_failed", "name")
	c.json(http.MethodPost, teamsPath, `[]`).refused(400, "bad_request")
	c.get(teamsPath+"?page=0&limit=x").refused(422, "validation_failed", "page", "limit")
}

// The main team stays, and so does one that somebody or something belongs to; the refusal says why.
func TestAdminTeamsInUseStay(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	refused := func(id, why string) {
		t.Helper()
		a := c.send(http.MethodDelete, teamsPath+"/"+id, "", "").refused(422, "validation_failed")
		if !strings.Contains(a.body, why) {
			t.Errorf("it does not say %q: %s", why, a.body)
		}
	}
	refused(fmt.Sprint(c.get(organizationPath).at("main_team_id")), "main team")
	team := c.json(http.MethodPost, teamsPath, `{"name":"North"}`).id()
	user := c.json(http.MethodPost, "/admin/v1/users", `{"email":"a@example.com","name":"A","role":"viewer","team_id":`+team+`}`).want(http.StatusCreated).id()
	refused(team, "users: 1, carriers: 0")
	carrier := c.json(http.MethodPost, "/admin/v1/carriers", `{"name":"Survey","team_id":`+team+`}`).want(http.StatusCreated).id()
	refused(team, "users: 1, carriers: 1")
	c.send(http.MethodDelete, "/admin/v1/users/"+user, "", "").want(http.StatusOK)
	c.send(http.MethodDelete, "/admin/v1/carriers/"+carrier, "", "").want(http.StatusOK)
	c.send(http.MethodDelete, teamsPath+"/"+team, "", "").want(http.StatusOK)
}

// A token of the organization without the scope, and any user who is no admin, manages nothing.
func TestAdminNeedsTheScopeAndTheRole(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	admin, token := c.user("admin@example.com", account.Admin)
	c.as(token).get(teamsPath).want(http.StatusOK)
	narrow := c.issue(account.NewToken{UserID: &admin.ID, Scopes: []account.Scope{account.FeedbackRead}})
	c.as(narrow).get(teamsPath).refused(403, "forbidden")
}
