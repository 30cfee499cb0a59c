package httpapi_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/httpapi"
)

// resources makes, for each path with an id, something in another organization that the id could stand for. A route with an
// id that is missing here fails the walk.
var resources = map[string]func(*client) string{
	"/v4/feedback/{id}": func(c *client) string {
		return c.json(http.MethodPost, "/v4/feedback", `{"carrier_id":1,"source":"email"}`).want(http.StatusCreated).id()
	},
	"/v4/operations/{id}": func(c *client) string {
		return c.json(http.MethodPost, "/v4/feedback/bulk-update", `{"fql":"[{\"Id\":{\"$gt\":0}}]","status":"resolved"}`).want(http.StatusOK).number("operation_id")
	},
	"/admin/v1/teams/{id}": func(c *client) string {
		return c.json(http.MethodPost, "/admin/v1/teams", map[string]string{"name": rand.Text()}).want(http.StatusCreated).id()
	},
	"/admin/v1/users/{id}": func(c *client) string {
		body := map[string]string{"email": rand.Text() + "@example.com", "name": "Ada", "role": "viewer"}
		return c.json(http.MethodPost, "/admin/v1/users", body).want(http.StatusCreated).id()
	},
	"/admin/v1/tokens/{id}": func(c *client) string {
		return c.json(http.MethodPost, "/admin/v1/tokens", `{}`).want(http.StatusCreated).id()
	},
	"/admin/v1/carriers/{id}": func(c *client) string {
		return c.json(http.MethodPost, "/admin/v1/carriers", `{"name":"Survey"}`).want(http.StatusCreated).id()
	},
	"/admin/v1/topics/{id}": func(c *client) string {
		body := map[string]string{"name": rand.Text(), "keywords": "parcel"}
		return c.json(http.MethodPost, "/admin/v1/topics", body).want(http.StatusCreated).id()
	},
	"/v3/reports/{id}": func(c *client) string {
		return c.json(http.MethodPost, "/v3/reports", `{}`).want(http.StatusCreated).id()
	},
	"/admin/v1/questions/{id}": func(c *client) string {
		return fmt.Sprint(c.carrier(carrier.NewQuestion{Type: carrier.NPS}).Questions[0].ID)
	},
}

// Every route is in openapi.yaml with its scope, and every operation there that is not planned is a route.
func TestRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	routes := map[string]httpapi.Route{}
	for _, rt := range httpapi.Routes() {
		routes[rt.Pattern] = rt
	}
	for path, item := range document().Paths.Map() {
		for method, op := range item.Operations() {
			rt, built := routes[method+" "+path]
			planned := op.Extensions["x-status"] == "planned"
			switch {
			case planned && built:
				t.Errorf("%s %s is built and still marked as planned", method, path)
			case !planned && !built:
				t.Errorf("%s %s is documented but not built", method, path)
			case built && rt.Public != (op.Security != nil && len(*op.Security) == 0):
				t.Errorf("%s %s is public in one of routes.go and openapi.yaml only", method, path)
			case built && !rt.Public && op.Extensions["x-scope"] != string(rt.Scope):
				t.Errorf("%s %s needs %s, documented %v", method, path, rt.Scope, op.Extensions["x-scope"])
			}
			delete(routes, method+" "+path)
		}
	}
	for pattern := range routes {
		t.Errorf("%s is not documented", pattern)
	}
}

// Every route that is not public answers 401 without a token, 403 without its scope or with a role that narrows it away,
// and 404 for an id of another organization, in the same words as for an id that never was.
func TestRoutesAreGuarded(t *testing.T) {
	t.Parallel()
	mine, other := newClient(t), newClient(t)
	without := map[account.Scope]string{}
	for _, missing := range account.Scopes() {
		var scopes []account.Scope
		for _, s := range account.Scopes() {
			if s != missing {
				scopes = append(scopes, s)
			}
		}
		without[missing] = mine.issue(account.NewToken{Scopes: scopes})
	}
	_, viewer := mine.user("viewer@example.com", account.Viewer)
	for _, rt := range httpapi.Routes() {
		method, path, _ := strings.Cut(rt.Pattern, " ")
		call := func(c *client, id string) answer {
			return c.send(method, strings.ReplaceAll(path, "{id}", id), "", "")
		}
		if rt.Public {
			address := strings.ReplaceAll(path, "/unsubscribe/{token}", mine.link("ada@example.org"))
			if kind, isReport := strings.CutPrefix(address, "/report/{id}/shareable"); isReport {
				address = strings.Replace(mine.shared(`{}`), "/shareable", "/shareable"+kind, 1)
			}
			mine.as("").send(method, address, formType, "List-Unsubscribe=One-Click").want(http.StatusOK)
			continue
		}
		t.Run(rt.Pattern, func(t *testing.T) {
			t.Parallel()
			call(mine.as(""), "1").refused(http.StatusUnauthorized, "unauthenticated")
			if got := call(mine.as("es_live_wrong"), "1").refused(http.StatusUnauthorized, "unauthenticated").header.Get("WWW-Authenticate"); got != "Bearer" {
				t.Errorf("WWW-Authenticate is %q", got)
			}
			call(mine.as(without[rt.Scope]), "1").refused(http.StatusForbidden, "forbidden")
			if strings.HasSuffix(string(rt.Scope), ":write") {
				call(mine.as(viewer), "1").refused(http.StatusForbidden, "forbidden")
			}
			if !strings.Contains(path, "{id}") {
				return
			}
			prefix := path[:strings.Index(path, "{id}")+len("{id}")]
			foreign, ok := resources[prefix]
			if !ok {
				t.Fatalf("resources has no way to make something for %s", prefix)
			}
			theirs := call(mine, foreign(other)).refused(http.StatusNotFound, "not_found")
			never := call(mine, "9007199254740991").refused(http.StatusNotFound, "not_found")
			if theirs.at("message") != never.at("message") {
				t.Errorf("another organization's id can be told from an unknown one: %s %s", theirs.body, never.body)
			}
			for _, id := range []string{"0", "-1", "abc", "1.5", "9007199254740992", "99999999999999999999", "%20", "1%2F2"} {
				call(mine, id).refused(http.StatusNotFound, "not_found")
			}
		})
	}
}
