package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"earshot/internal/account"
)

// A private report is seen and changed by its user and by tokens of the organization or of an admin, and is unknown to everybody else. Public
// and master reports are seen by all but restricted viewers, who see what is theirs; viewers only read. Lists show what can be read.
func TestReportVisibility(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	tokens := map[string]string{"organization": c.token}
	users := map[string]string{"nobody": "null"}
	for _, role := range account.Roles() {
		u, token := c.user(string(role)+"@example.com", role)
		tokens[string(role)], users[string(role)] = token, fmt.Sprint(u.ID)
	}
	for _, kind := range []string{"private", "public", "master"} {
		for owner, ownerID := range users {
			for who, token := range tokens {
				t.Run(kind+" of "+owner+" for "+who, func(t *testing.T) {
					t.Parallel()
					whole := who == "organization" || who == "admin"
					sees := whole || who == owner || kind != "private" && who != "restricted_viewer"
					writes := whole || who == "editor"
					checkVisibility(t, c, token, kind, ownerID, sees, writes)
				})
			}
		}
	}
}

func checkVisibility(t *testing.T, c *client, token, kind, ownerID string, sees, writes bool) {
	t.Helper()
	made := c.report(fmt.Sprintf(`{"type":%q,"user_id":%s,"name":%q}`, kind, ownerID, t.Name()))
	share := c.json(http.MethodPost, made.path()+"/share", ``).want(http.StatusCreated).id()
	mine := c.as(token)
	expect := func(a answer, done int, write bool) {
		t.Helper()
		switch {
		case write && !writes:
			a.refused(http.StatusForbidden, "forbidden")
		case !sees:
			a.refused(http.StatusNotFound, "not_found")
		default:
			a.want(done)
		}
	}
	expect(mine.get(made.path()), 200, false)
	expect(mine.get(made.path()+"/shares"), 200, false)
	expect(mine.json(http.MethodPut, made.path(), `{"color":"red"}`), 200, true)
	expect(mine.json(http.MethodPost, made.path()+"/share", ``), 201, true)
	expect(mine.send(http.MethodDelete, made.path()+"/shares/"+share, "", ""), 200, true)
	listed := mine.get(reportsPath + "?limit=100&sort=-created_at&filter[name]=" + escape(t.Name())).want(http.StatusOK)
	if slices.Contains(names(listed), t.Name()) != sees {
		t.Errorf("seen is %v, listed: %s", sees, listed.body)
	}
	expect(mine.send(http.MethodDelete, made.path(), "", ""), 200, true)
	if !sees || !writes {
		c.get(made.path()).want(http.StatusOK)
	}
}

// Who gives a report away, or makes another's private, is told what became of it and sees it no more.
func TestReportGivenAway(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	_, ada := c.user("ada@example.com", account.Editor)
	bob, bobs := c.user("bob@example.com", account.Editor)
	a := c.as(ada).report(`{"type":"private"}`)
	c.as(bobs).get(a.path()).refused(404, "not_found")
	c.as(ada).json(http.MethodPut, a.path(), fmt.Sprintf(`{"user_id":%d}`, bob.ID)).want(http.StatusOK).is("user_id", fmt.Sprint(bob.ID))
	c.as(ada).get(a.path()).refused(404, "not_found")
	c.as(bobs).get(a.path()).want(http.StatusOK)
}

// A team with reports is not deleted. A deleted user's reports stay without a user: the private ones are left to the organization.
func TestReportsOutliveTheirPeople(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ada, _ := c.user("ada@example.com", account.Editor)
	_, bob := c.user("bob@example.com", account.Editor)
	north := c.json(http.MethodPost, teamsPath, `{"name":"North"}`).want(http.StatusCreated).id()
	private := c.report(fmt.Sprintf(`{"type":"private","user_id":%d,"team_id":%s}`, ada.ID, north))
	public := c.report(fmt.Sprintf(`{"user_id":%d}`, ada.ID))
	c.send(http.MethodDelete, teamsPath+"/"+north, "", "").refused(422, "validation_failed")
	c.json(http.MethodPut, private.path(), `{"team_id":`+c.mainTeam()+`}`).want(http.StatusOK)
	c.send(http.MethodDelete, teamsPath+"/"+north, "", "").want(http.StatusOK)
	c.send(http.MethodDelete, fmt.Sprint("/admin/v1/users/", ada.ID), "", "").want(http.StatusOK)
	c.get(private.path()).want(http.StatusOK).is("user_id", "null")
	c.as(bob).get(private.path()).refused(404, "not_found")
	c.as(bob).get(public.path()).want(http.StatusOK).is("user_id", "null")
}
