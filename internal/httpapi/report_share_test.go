package httpapi_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

var shareToken = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// Each call makes a link of its own, valid as long as asked for, whose address begins with the base URL; earlier ones stay.
func TestReportShare(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	path := c.report(`{}`).path()
	id := strings.TrimPrefix(path, reportsPath+"/")
	seen := map[string]bool{}
	for expiration, lifetime := range map[string]func(time.Time) time.Time{
		"":            func(from time.Time) time.Time { return fourMonths(from) },
		"four_months": func(from time.Time) time.Time { return fourMonths(from) },
		"seven_days":  func(from time.Time) time.Time { return from.Add(7 * 24 * time.Hour) },
		"thirty_days": func(from time.Time) time.Time { return from.Add(30 * 24 * time.Hour) },
		"ninety_days": func(from time.Time) time.Time { return from.Add(90 * 24 * time.Hour) },
	} {
		for _, a := range []answer{
			c.with("Host", "evil.example").json(http.MethodPost, path+"/share", map[string]string{"expiration": expiration}),
			c.form(http.MethodPost, path+"/share", "expiration="+expiration),
		} {
			token, _ := a.want(http.StatusCreated).at("token").(string)
			if !shareToken.MatchString(token) || seen[token] {
				t.Errorf("token %q", token)
			}
			seen[token] = true
			c.get(path + "?token=" + token).want(http.StatusOK) // the log has patterns, not addresses
			a.is("public_link", fmt.Sprintf("%q", baseURL+"/report/"+id+"/shareable?token="+token))
			a.is("hide_verbatims", "false").is("minimum_group_size", "0").is("updated_at", fmt.Sprintf("%q", a.at("created_at")))
			created := parseStamp(a, "created_at")
			if got := parseStamp(a, "expires_at"); !got.Equal(lifetime(created)) || time.Since(created).Abs() > 5*time.Minute {
				t.Errorf("%q: created %v, expires %v", expiration, created, got)
			}
		}
	}
	list := c.get(path+"/shares?limit=100").want(http.StatusOK).is("meta.total", "10").is("data.9.views", "0").is("data.9.state", `"active"`)
	for token := range seen {
		if strings.Contains(list.body, token) || strings.Contains(c.server.log.String(), token) {
			t.Error("a token was shown again")
		}
	}
}

// fourMonths is the same day four calendar months later, or the last one of a month that has no such day.
func fourMonths(t time.Time) time.Time {
	later := t.AddDate(0, 4, 0)
	if later.Day() != t.Day() {
		later = later.AddDate(0, 0, -later.Day())
	}
	return later
}

func parseStamp(a answer, path string) time.Time {
	a.t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05.000000Z", fmt.Sprint(a.at(path)))
	if err != nil {
		a.t.Fatal(err)
	}
	return at
}

// A link can hide what people wrote and small groups; anything else is refused, with every mistake named.
func TestReportShareOptions(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	path := c.report(`{}`).path() + "/share"
	c.json(http.MethodPost, path, `{"hide_verbatims":true,"minimum_group_size":5}`).want(http.StatusCreated).
		is("hide_verbatims", "true").is("minimum_group_size", "5")
	c.form(http.MethodPost, path, "hide_verbatims=1", "minimum_group_size= 1000 ").want(http.StatusCreated).
		is("hide_verbatims", "true").is("minimum_group_size", "1000")
	c.json(http.MethodPost, path, `{"hide_verbatims":"","minimum_group_size":null,"expiration":null}`).want(http.StatusCreated).
		is("hide_verbatims", "false").is("minimum_group_size", "0")
	c.json(http.MethodPost, path, `{"expiration":"for_ever","hide_verbatims":"yes","minimum_group_size":1001}`).
		refused(422, "validation_failed", "expiration", "hide_verbatims", "minimum_group_size")
	for _, size := range []string{"-1", "2.5", `"x"`, "[]", "true"} {
		c.json(http.MethodPost, path, `{"minimum_group_size":`+size+`}`).refused(422, "validation_failed", "minimum_group_size")
	}
}

// Links are listed with what became of them, and revoked for good. A link of another report or organization is unknown.
func TestReportShares(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	one, two, theirs := c.report(`{}`), c.report(`{}`), other.report(`{}`)
	share := func(c *client, a answer) string {
		return c.json(http.MethodPost, a.path()+"/share", `{"expiration":"seven_days"}`).want(http.StatusCreated).id()
	}
	first, second, foreign, strange := share(c, one), share(c, one), share(other, theirs), share(c, two)
	revoke := func(path, id string) answer { return c.send(http.MethodDelete, path+"/shares/"+id, "", "") }
	for _, id := range []string{foreign, strange, "0", "x", "9007199254740991"} {
		a := revoke(one.path(), id).refused(404, "not_found")
		if a.at("message") != "There is no such link." {
			t.Errorf("link %s: %s", id, a.body)
		}
	}
	revoke(theirs.path(), foreign).refused(404, "not_found")
	revoke(one.path(), first).want(http.StatusOK).is("type", `"success"`)
	list := c.get(one.path()+"/shares").want(http.StatusOK).is("meta.total", "2").is("data.0.id", second).is("data.1.id", first).
		is("data.0.state", `"active"`).is("data.0.revoked_at", "null").is("data.0.last_viewed_at", "null").is("data.1.state", `"revoked"`)
	revoked := list.at("data.1.revoked_at")
	if revoked == nil || list.at("data.1.updated_at") != revoked {
		t.Errorf("when was it revoked? %s", list.body)
	}
	revoke(one.path(), first).want(http.StatusOK)
	if again := c.get(one.path() + "/shares"); again.body != list.body {
		t.Errorf("revoking again changed something: %s", again.body)
	}
	if _, err := c.server.db.Exec(t.Context(), `
		UPDATE report_share SET expires_at = now() WHERE organization_id = $1`, c.view.Org()); err != nil {
		t.Fatal(err)
	}
	c.get(one.path()+"/shares?page=2&limit=1").is("data.0.state", `"revoked"`)
	c.get(one.path()+"/shares?limit=1").is("data.0.state", `"expired"`).
		is("links.next", fmt.Sprintf(`"%s%s/shares?limit=1&page=2"`, baseURL, one.path()))
	c.get(one.path()+"/shares?page=x").refused(422, "validation_failed", "page")
	c.get(theirs.path()+"/shares").refused(404, "not_found")
}
