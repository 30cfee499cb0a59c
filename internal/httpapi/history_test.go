package httpapi_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/account"
)

// The history tells each change of status, owners and attributes, newest first, with what it was and became, by whom and when; what changed
// nothing is not in it.
func TestHistoryOfAFeedback(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ada, token := c.user("ada@example.com", account.Editor)
	id := c.create(`{"carrier_id":1,"source":"email","attributes":[{"name":"size","value":[7,1.50]}]}`).id()
	path := "/v4/feedback/" + id
	c.get(path + "/history").want(http.StatusOK).matches(`{"data":[],"meta":{"total":0,"next_search_after":null}}`)

	since := time.Now().Add(-time.Second)
	for range 2 { // the second time only the size changes
		c.json(http.MethodPut, path, `{"status":"resolved"}`).want(http.StatusOK)
		c.json(http.MethodPost, path+"/attach/owner", `{"emails":"ada@example.com"}`).want(http.StatusOK)
		c.as(token).json(http.MethodPost, path+"/attributes/attach", `{"attributes":[{"name":"size","value":"XL"},{"name":"city","value":"Lyon"}]}`).want(http.StatusOK)
		c.json(http.MethodPut, path+"/attributes/sync", `{"attributes":[{"name":"size","value":[]}]}`).want(http.StatusOK)
		c.json(http.MethodDelete, path+"/attributes/detach", `{"attributes":[{"name":"city","value":"Nice"}]}`).want(http.StatusOK)
	}
	if got := c.events(id); got != "7" {
		t.Fatalf("%s events", got)
	}
	history := c.get(path + "/history").want(http.StatusOK)
	for i, want := range []string{
		`"attribute","name":"size","before":"XL","after":null`,
		`"attribute","name":"size","before":null,"after":"XL"`,
		`"attribute","name":"size","before":[7,1.50,"XL"],"after":null`,
		`"attribute","name":"city","before":null,"after":"Lyon"`,
		`"attribute","name":"size","before":[7,1.50],"after":[7,1.50,"XL"]`,
		fmt.Sprintf(`"owners","before":[],"after":[{"id":%d,"name":"Somebody","email":"ada@example.com"}]`, ada.ID),
		`"status","before":"todo","after":"resolved"`,
	} {
		event, _ := history.at(fmt.Sprintf("data.%d", i)).(map[string]any)
		user := "null"
		if i == 1 || i == 3 || i == 4 {
			user = fmt.Sprintf(`{"id":%d,"name":"Somebody","email":"ada@example.com"}`, ada.ID)
		}
		at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(event["created_at"]))
		if err != nil || at.Before(since) || at.After(time.Now().Add(time.Second)) {
			t.Errorf("event %d was at %v", i, event["created_at"])
		}
		if event["token_id"] == nil {
			t.Errorf("event %d has no token", i)
		}
		history.is(fmt.Sprintf("data.%d", i), fmt.Sprintf(`{"id":%v,"created_at":%q,"field":%s,"token_id":%v,"user":%s,"operation_id":null}`,
			event["id"], event["created_at"], want, event["token_id"], user))
	}
	c.json(http.MethodDelete, "/v4/feedback", `{"fql":[{"Id":{"$eq":`+id+`}}]}`).want(http.StatusOK).is("meta.deleted", "1")
	c.get(path+"/history").refused(404, "not_found")
	var left int
	if err := c.server.db.QueryRow(t.Context(), `SELECT count(*) FROM feedback_history WHERE organization_id = $1`, c.view.Org()).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d events are left, %v", left, err)
	}
}

// A history is walked like the list: by the id of the last event, with the exact number of all.
func TestHistoryWalks(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.create(`{"carrier_id":1,"source":"email"}`).id()
	var want []string
	for i := range 23 {
		c.json(http.MethodPut, "/v4/feedback/"+id+"/attributes/sync", fmt.Sprintf(`{"attributes":[{"name":"n","value":%d}]}`, i)).want(http.StatusOK)
		want = append([]string{strconv.Itoa(i)}, want...)
	}
	path := "/v4/feedback/" + id + "/history"
	var got []string
	for after := ""; ; {
		a := c.get(path+"?per_page=5"+after).want(http.StatusOK).is("meta.total", "23")
		ids := a.ids()
		if len(ids) == 0 {
			a.is("meta.next_search_after", "null")
			break
		}
		for i := range ids {
			got = append(got, fmt.Sprint(a.at(fmt.Sprintf("data.%d.after", i))))
		}
		a.is("meta.next_search_after", ids[len(ids)-1])
		after = "&search_after=" + ids[len(ids)-1]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := len(c.get(path).ids()); n != 10 {
		t.Errorf("a page has %d events by default", n)
	}
	if n := len(c.get(path + "/?per_page=500&search_after=").ids()); n != 23 {
		t.Errorf("a large page has %d events", n)
	}
	c.get(path+"?search_after=0").is("data", "[]").is("meta", `{"total":23,"next_search_after":null}`)
	c.get(path+"?search_after=9007199254740991").want(http.StatusOK).is("meta.total", "23")
	c.get(path+"?per_page=0&search_after=-1").refused(422, "validation_failed", "per_page", "search_after")
	c.get(path+"?per_page=x").refused(422, "validation_failed", "per_page")
	c.get(path+"?per_page=%zz").refused(400, "bad_request")
	c.get("/v4/feedback/9007199254740991/history?per_page=0").refused(404, "not_found")
	newClient(t).get(path).refused(404, "not_found")
}

// A restricted viewer reads the history of the feedback they own, and of no other; readers read every one.
func TestHistoryForReaders(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	_, restricted := c.user("mine@example.com", account.RestrictedViewer)
	_, viewer := c.user("viewer@example.com", account.Viewer)
	mine, other := c.attributed(), c.attributed()
	c.json(http.MethodPost, "/v4/feedback/"+mine+"/attach/owner", `{"emails":"mine@example.com"}`).want(http.StatusOK)
	c.as(restricted).get("/v4/feedback/"+mine+"/history").want(http.StatusOK).is("meta.total", "1")
	c.as(restricted).get("/v4/feedback/"+other+"/history").refused(404, "not_found")
	c.as(restricted).get("/v4/feedback/"+other+"/history?per_page=0").refused(404, "not_found")
	c.as(viewer).get("/v4/feedback/"+other+"/history").want(http.StatusOK).is("meta.total", "0")
	c.as(c.issue(account.NewToken{Scopes: []account.Scope{account.FeedbackWrite}})).get("/v4/feedback/"+mine+"/history").refused(403, "forbidden")
}

// Who only reads changes nothing, not even what they own.
func TestReadersChangeNothing(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.attributed()
	for _, role := range []account.Role{account.Viewer, account.RestrictedViewer} {
		user, token := c.user(string(role)+"@example.com", role)
		c.json(http.MethodPost, "/v4/feedback/"+id+"/attach/owner", `{"emails":"`+user.Email+`"}`).want(http.StatusOK)
		before := c.events(id)
		reader := c.as(token)
		for _, call := range [][3]string{
			{http.MethodPut, "", `{"status":"resolved"}`},
			{http.MethodPost, "/attributes/attach", `{"attributes":[{"name":"city","value":"Nice"}]}`},
			{http.MethodPut, "/attributes/sync", `{"attributes":[{"name":"city","value":"Nice"}]}`},
			{http.MethodDelete, "/attributes/detach", `{"attributes":[{"name":"city"}]}`},
			{http.MethodPost, "/attach/owner", `{"emails":"` + user.Email + `"}`},
			{http.MethodPost, "/detach/owner", `{"email":"` + user.Email + `"}`},
		} {
			reader.json(call[0], "/v4/feedback/"+id+call[1], call[2]).refused(403, "forbidden")
		}
		if after := c.events(id); after != before {
			t.Errorf("%s: %s events became %s", role, before, after)
		}
	}
	c.shows(id, `[["city","Lyon"],["size",[7,"XL",1.50]]]`)
}
