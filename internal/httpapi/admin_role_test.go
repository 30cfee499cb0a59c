package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"earshot/internal/account"
	"earshot/internal/httpapi"
)

// readsByPost are the routes that only read although their method is not GET: their input may be too long for an address.
var readsByPost = []string{"POST /v4/fql/explain", "POST /v3/push-unsubscribes/check"}

// What each role may do with each route: an admin everything, an editor everything but /admin, the others read and never /admin. A token of
// the organization may what its scopes say. The answer is 403 exactly when that says so, whatever else the request is worth.
func TestRolesAndScopesDecideEveryRoute(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	may := map[account.Role]func(path string, reads bool) bool{
		account.Admin:            func(string, bool) bool { return true },
		account.Editor:           func(path string, _ bool) bool { return !strings.HasPrefix(path, "/admin/") },
		account.Viewer:           func(path string, reads bool) bool { return reads && !strings.HasPrefix(path, "/admin/") },
		account.RestrictedViewer: func(path string, reads bool) bool { return reads && !strings.HasPrefix(path, "/admin/") },
	}
	users := map[account.Role]string{}
	for _, role := range account.Roles() {
		_, users[role] = c.user(string(role)+"@example.com", role)
	}
	scoped := map[account.Scope]string{}
	for _, scope := range account.Scopes() {
		scoped[scope] = c.issue(account.NewToken{Scopes: []account.Scope{scope}})
	}
	for _, rt := range httpapi.Routes() {
		if rt.Public {
			continue
		}
		t.Run(rt.Pattern, func(t *testing.T) {
			t.Parallel()
			method, path, _ := strings.Cut(rt.Pattern, " ")
			// An id of nothing and no input: what is allowed is refused for that, or does no harm.
			check := func(who, token string, allowed bool) {
				a := c.as(token).send(method, strings.ReplaceAll(path, "{id}", "9007199254740991"), "", "")
				if a.status == http.StatusUnauthorized || (a.status != http.StatusForbidden) != allowed {
					t.Errorf("%s: answered %d, allowed is %v: %s", who, a.status, allowed, a.body)
				}
			}
			reads := method == http.MethodGet || slices.Contains(readsByPost, rt.Pattern)
			for role, token := range users {
				check(string(role), token, may[role](path, reads))
			}
			for scope, token := range scoped {
				check("scope "+string(scope), token, scope == rt.Scope)
			}
			if strings.HasPrefix(path, "/admin/") != (rt.Scope == account.AdminScope) {
				t.Errorf("the scope is %s", rt.Scope)
			}
		})
	}
}
