package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"earshot/internal/account"
	"earshot/internal/pg/pgtest"
)

const usersPath = "/admin/v1/users"

// A user is made, shown, listed, changed and deleted, sent either way.
func TestAdminUsers(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	main := fmt.Sprint(c.get(organizationPath).at("main_team_id"))
	team := c.json(http.MethodPost, teamsPath, `{"name":"North"}`).id()
	ada := c.json(http.MethodPost, usersPath, `{"email":" Ada@Example.com ","name":"Ada","role":"editor"}`).want(http.StatusCreated).
		is("email", `"Ada@Example.com"`).is("name", `"Ada"`).is("role", `"editor"`).is("team_id", main)
	bob := c.form(http.MethodPost, usersPath, "email=bob@example.com", "name=Bob", "role=restricted_viewer", "team_id="+team).want(http.StatusCreated).
		is("team_id", team)
	c.get(usersPath + "/" + ada.id()).want(http.StatusOK).matches(ada.body)
	c.get(usersPath).want(http.StatusOK).is("data.0", ada.body).is("data.1", bob.body).is("meta.total", "2")
	for query, total := range map[string]string{
		"filter[email]=ADA@example.COM": "1", "filter[email]=ada": "0", "filter[role]=restricted_viewer": "1", "filter[role]=": "2",
		"filter[email]=bob@example.com&filter[role]=editor": "0", "filter[email]=bob@example.com&filter[role]=restricted_viewer": "1", "limit=1": "2",
	} {
		c.get(usersPath+"?"+query).want(http.StatusOK).is("meta.total", total)
	}
	c.json(http.MethodPut, usersPath+"/"+ada.id(), `{"role":"viewer"}`).want(http.StatusOK).
		is("email", `"Ada@Example.com"`).is("role", `"viewer"`).is("team_id", main)
	c.form(http.MethodPut, usersPath+"/"+ada.id(), "email=ADA@example.com", "name=Ada M.", "team_id="+team, "role=").want(http.StatusOK).
		is("email", `"ADA@example.com"`).is("name", `"Ada M."`).is("role", `"viewer"`).is("team_id", team)
	c.json(http.MethodPut, usersPath+"/"+ada.id(), ``).want(http.StatusOK).is("name", `"Ada M."`)
	c.send(http.MethodDelete, usersPath+"/"+bob.id(), "", "").want(http.StatusOK).is("type", `"success"`)
	c.get(usersPath+"/"+bob.id()).refused(404, "not_found")
}

// Every mistake in a user is named at once; an address is one user's, whatever its case.
func TestAdminUsersRefuse(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	foreign := other.json(http.MethodPost, teamsPath, `{"name":"Theirs"}`).id()
	c.json(http.MethodPost, usersPath, `{"email":"zoé@example.com","name":"Zoé","role":"admin"}`).want(http.StatusCreated)
	ada := c.json(http.MethodPost, usersPath, `{"email":"ada@example.com","name":"Ada","role":"admin"}`).want(http.StatusCreated).id()
	for body, fields := range map[string]string{
		`{}`:                                 "email name role",
		`{"email":"","name":null,"role":""}`: "email name role",
		`{"email":"ada","name":" ","role":"owner","team_id":"x"}`:                  "email name role team_id",
		`{"email":["a@b"],"name":{},"role":[],"team_id":0}`:                        "email name role team_id",
		`{"email":"ZOÉ@EXAMPLE.COM","name":"Z","role":"admin"}`:                    "email",
		`{"email":"Zoé@example.com","role":"x","team_id":` + foreign + `}`:         "email name role team_id",
		`{"email":"a@b","name":"A","role":"admin","team_id":` + foreign + `}`:      "team_id",
		`{"email":"` + strings.Repeat("x", 320) + `@b","name":"A","role":"admin"}`: "email",
	} {
		c.json(http.MethodPost, usersPath, body).refused(422, "validation_failed", strings.Fields(fields)...)
	}
	for body, fields := range map[string]string{
		`{"email":"ada","name":" ","role":"owner","team_id":"x"}`: "email name role team_id",
		`{"email":"ZOÉ@example.com","team_id":` + foreign + `}`:   "email team_id",
		`{"role":"Admin"}`: "role",
	} {
		c.json(http.MethodPut, usersPath+"/"+ada, body).refused(422, "validation_failed", strings.Fields(fields)...)
	}
	c.get(usersPath+"/"+ada).is("role", `"admin"`).is("email", `"ada@example.com"`)
	other.json(http.MethodPost, usersPath, `{"email":"ada@example.com","name":"Ada","role":"admin"}`).want(http.StatusCreated)
	c.get(usersPath+"?filter[role]=owner&page=0").refused(422, "validation_failed", "filter.role", "page")
	c.get(usersPath+"?filter[name]=Ada").refused(422, "validation_failed", "filter")
	c.get(usersPath+"?filter=Ada").refused(422, "validation_failed", "filter")
}

// Another role is felt by the user's tokens at once, in both directions.
func TestAdminRoleIsFeltAtOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	user, token := c.user("ada@example.com", account.Viewer)
	path := usersPath + "/" + fmt.Sprint(user.ID)
	body := `{"carrier_id":1,"source":"email"}`
	c.as(token).create(body).refused(403, "forbidden")
	c.json(http.MethodPut, path, `{"role":"editor"}`).want(http.StatusOK)
	id := c.as(token).create(body).want(http.StatusCreated).id()
	c.as(token).get(teamsPath).refused(403, "forbidden")
	c.json(http.MethodPut, path, `{"role":"admin"}`).want(http.StatusOK)
	c.as(token).get(teamsPath).want(http.StatusOK)
	c.as(token).get("/v4/feedback/" + id).want(http.StatusOK)
	c.json(http.MethodPut, path, `{"role":"restricted_viewer"}`).want(http.StatusOK)
	c.as(token).get("/v4/feedback/"+id).refused(404, "not_found")
	c.as(token).get(teamsPath).refused(403, "forbidden")
}

// Who is deleted is gone from everywhere: their tokens work no more, at once, and nobody's feedback names them.
func TestAdminDeletedUserIsGone(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	user, token := c.user("ada@example.com", account.Admin)
	_, kept := c.user("bob@example.com", account.Viewer)
	id := c.create(`{"carrier_id":1,"source":"email"}`).want(http.StatusCreated).id()
	_, err := pgtest.DB(t).Exec(t.Context(), `
		INSERT INTO feedback_owner (organization_id, feedback_id, user_id)
		SELECT $1, $2, id FROM app_user WHERE organization_id = $1`, c.view.Org(), id)
	if err != nil {
		t.Fatal(err)
	}
	c.as(token).get(usersPath).want(http.StatusOK).is("meta.total", "2")
	// The last admin may go, even by their own hand: tokens of the organization remain.
	c.as(token).send(http.MethodDelete, usersPath+"/"+fmt.Sprint(user.ID), "", "").want(http.StatusOK)
	c.as(token).get(usersPath).refused(401, "unauthenticated")
	c.as(kept).get("/v4/feedback/" + id).want(http.StatusOK)
	c.get("/v4/feedback/"+id+"?include=owners").want(http.StatusOK).is("owners.0.email", `"bob@example.com"`).is("owners.1", "null")
	tokens := c.get("/admin/v1/tokens").is("data.1.state", `"revoked"`).is("data.1.user_id", "null").is("data.0.state", `"active"`)
	if tokens.at("data.1.revoked_at") == nil {
		t.Errorf("the token has no time of revocation: %s", tokens.body)
	}
	// The address is free again, and brings no token back.
	c.json(http.MethodPost, usersPath, `{"email":"ada@example.com","name":"Ada","role":"admin"}`).want(http.StatusCreated)
	c.as(token).get(usersPath).refused(401, "unauthenticated")
}
