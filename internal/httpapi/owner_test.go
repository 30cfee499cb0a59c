package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"earshot/internal/account"
)

// owned expects these users, in the order of their ids, as the owners of a feedback, in the retrieve answer and in the list.
func (c *client) owned(id string, users ...account.User) {
	c.t.Helper()
	want := []string{}
	for _, u := range users {
		want = append(want, fmt.Sprintf(`{"id":%d,"name":%q,"email":%q}`, u.ID, u.Name, u.Email))
	}
	list := "[" + strings.Join(want, ",") + "]"
	c.get("/v4/feedback/"+id+"?include[]=owners").want(http.StatusOK).is("owners", list)
	c.list(`[{"Id":{"$eq":`+id+`}}]`, "&include[]=owners").is("data.0.owners", list)
}

// Owners are attached by e-mail address in any case, several or one, as JSON or form, each once; the filter finds what they own at once.
func TestOwnersOfAFeedback(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ada, _ := c.user("Ada@Example.com", account.Editor)
	bob, _ := c.user("bob@example.com", account.Viewer)
	eve, token := c.user("eve@example.com", account.RestrictedViewer)
	id := c.create(`{"carrier_id":1,"source":"email"}`).id()
	attach, detach := "/v4/feedback/"+id+"/attach/owner", "/v4/feedback/"+id+"/detach/owner"

	for range 2 { // again changes nothing
		c.json(http.MethodPost, attach, `{"emails":["BOB@example.com","ada@EXAMPLE.com"," bob@example.com "]}`).want(http.StatusOK).is("type", `"success"`)
		c.owned(id, ada, bob)
	}
	c.as(token).get("/v4/feedback/"+id).refused(404, "not_found")
	c.json(http.MethodPost, attach, `{"emails":"eve@example.com"}`).want(http.StatusOK)
	c.owned(id, ada, bob, eve)
	c.as(token).get("/v4/feedback/" + id).want(http.StatusOK)
	c.list(`[{"Owner":{"$eq":"ADA@example.com"}}]`, "").is("meta.total", "1")

	for range 2 {
		c.form(http.MethodPost, detach, "email=aDa@example.com").want(http.StatusOK).is("type", `"success"`)
		c.owned(id, bob, eve)
	}
	c.list(`[{"Owner":{"$eq":"ada@example.com"}}]`, "").is("meta.total", "0")
	c.json(http.MethodPost, detach+"/", `{"email":"eve@example.com"}`).want(http.StatusOK)
	c.as(token).get("/v4/feedback/"+id).refused(404, "not_found")
	c.form(http.MethodPost, attach, "emails[]=ada@example.com", "emails[]=bob@example.com").want(http.StatusOK)
	c.owned(id, ada, bob)
	c.form(http.MethodPost, attach, "emails[0]=eve@example.com").want(http.StatusOK)
	c.form(http.MethodPost, attach, "emails=eve@example.com").want(http.StatusOK)
	c.owned(id, ada, bob, eve)
	if got := c.events(id); got != "6" {
		t.Errorf("%s events", got)
	}
}

// An unknown address is refused where it stands and nobody becomes an owner; one of another organization is unknown.
func TestOwnersRefuse(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	ada, _ := c.user("ada@example.com", account.Editor)
	other.user("theirs@example.com", account.Editor)
	id := c.create(`{"carrier_id":1,"source":"email"}`).id()
	attach, detach := "/v4/feedback/"+id+"/attach/owner", "/v4/feedback/"+id+"/detach/owner"
	long := strings.Repeat("a", 310) + "@example.com"
	for body, fields := range map[string][]string{
		`{}`:                      {"emails"},
		`{"emails":null}`:         {"emails"},
		`{"emails":""}`:           {"emails"},
		`{"emails":[]}`:           {"emails"},
		`{"email":"ada@example"}`: {"emails"},
		`{"emails":["ada@example.com","theirs@example.com","","x",true,"` + long + `"]}`:  {"emails.1", "emails.2", "emails.3", "emails.4", "emails.5"},
		`{"emails":["ada@example.com",null]}`:                                             {"emails.1"},
		`{"emails":"nobody@example.com"}`:                                                 {"emails.0"},
		`{"emails":{"a":"ada@example.com"}}`:                                              {"emails.0"},
		`{"emails":["ada@example.com,ada@example.com"]}`:                                  {"emails.0"},
		`{"emails":["` + strings.Repeat(`ada@example.com","`, 100) + `ada@example.com"]}`: {"emails"},
	} {
		c.json(http.MethodPost, attach, body).refused(422, "validation_failed", fields...)
	}
	c.form(http.MethodPost, attach, "emails[]=").refused(422, "validation_failed", "emails")
	c.owned(id)
	c.json(http.MethodPost, attach, `{"emails":["ada@example.com"]}`).want(http.StatusOK)
	for _, body := range []string{
		`{}`, `{"email":null}`, `{"email":""}`, `{"email":" "}`, `{"email":"nobody@example.com"}`, `{"email":"theirs@example.com"}`, `{"email":["ada@example.com"]}`,
		`{"email":true}`, `{"email":"` + long + `"}`, `{"emails":["ada@example.com"]}`,
	} {
		c.json(http.MethodPost, detach, body).refused(422, "validation_failed", "email")
	}
	c.owned(id, ada)
	for _, unknown := range []string{"9007199254740991", "0", "x"} {
		for _, body := range []string{`{"emails":["ada@example.com"],"email":"ada@example.com"}`, `{"emails":["nobody@example.com"],"email":"nobody@example.com"}`, `{}`} {
			c.json(http.MethodPost, "/v4/feedback/"+unknown+"/attach/owner", body).refused(404, "not_found")
			c.json(http.MethodPost, "/v4/feedback/"+unknown+"/detach/owner", body).refused(404, "not_found")
		}
	}
	other.json(http.MethodPost, attach, `{"emails":["theirs@example.com"]}`).refused(404, "not_found")
	other.json(http.MethodPost, detach, `{"email":"theirs@example.com"}`).refused(404, "not_found")
	c.json(http.MethodPost, "/v4/feedback//attach/owner", `{"emails":["ada@example.com"]}`).refused(404, "not_found")
	c.owned(id, ada)
}

// A user who is deleted while they are made an owner is unknown: the refusal is that of an unknown address.
func TestOwnerDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.user("ada@example.com", account.Editor)
	bob, _ := c.user("bob@example.com", account.Editor)
	id := c.create(`{"carrier_id":1,"source":"email"}`).id()
	// Whoever deletes a user holds them first; what is deleted here stays to be seen until it is committed.
	tx, err := c.server.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `DELETE FROM token WHERE organization_id = $1 AND user_id = $2`, c.view.Org(), bob.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `DELETE FROM app_user WHERE organization_id = $1 AND id = $2`, c.view.Org(), bob.ID); err != nil {
		t.Fatal(err)
	}
	answered := make(chan answer, 1)
	go func() {
		answered <- c.json(http.MethodPost, "/v4/feedback/"+id+"/attach/owner", `{"emails":["ada@example.com","bob@example.com"]}`)
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for waits := false; !waits; <-tick.C {
		select {
		case a := <-answered:
			t.Fatalf("the request did not wait: %s", a.body)
		default:
		}
		err := c.server.db.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid)))`,
			tx.Conn().PgConn().PID()).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	(<-answered).refused(422, "validation_failed", "emails.1")
	c.owned(id)
	if got := c.events(id); got != "0" {
		t.Errorf("%s events", got)
	}
}

// Deleting a user takes them off the feedback they own and out of what its history shows; the history itself stays.
func TestOwnerDeletedLater(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ada, _ := c.user("ada@example.com", account.Editor)
	bob, token := c.user("bob@example.com", account.Editor)
	id := c.create(`{"carrier_id":1,"source":"email"}`).id()
	c.as(token).json(http.MethodPost, "/v4/feedback/"+id+"/attach/owner", `{"emails":["ada@example.com","bob@example.com"]}`).want(http.StatusOK)
	history := "/v4/feedback/" + id + "/history"
	person := func(u account.User) string {
		return fmt.Sprintf(`{"id":%d,"name":%q,"email":%q}`, u.ID, u.Name, u.Email)
	}
	before := c.get(history).is("data.0.after", "["+person(ada)+","+person(bob)+"]").is("data.0.user", person(bob))
	c.send(http.MethodDelete, fmt.Sprintf("/admin/v1/users/%d", bob.ID), "", "").want(http.StatusOK)
	c.owned(id, ada)
	after := c.get(history).is("meta.total", "1").is("data.0.after", "["+person(ada)+"]").is("data.0.user", "null")
	if before.at("data.0.token_id") != after.at("data.0.token_id") || after.at("data.0.token_id") == nil {
		t.Errorf("the token was %v and is %v", before.at("data.0.token_id"), after.at("data.0.token_id"))
	}
	c.json(http.MethodPost, "/v4/feedback/"+id+"/detach/owner", `{"email":"bob@example.com"}`).refused(422, "validation_failed", "email")
	c.json(http.MethodPost, "/v4/feedback/"+id+"/detach/owner", `{"email":"ada@example.com"}`).want(http.StatusOK)
	c.get(history).is("data.0.before", "["+person(ada)+"]").is("data.0.after", "[]")
}
