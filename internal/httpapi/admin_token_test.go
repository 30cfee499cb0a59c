package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"earshot/internal/account"
	"earshot/internal/pg/pgtest"
)

const tokensPath = "/admin/v1/tokens"

// A token is issued, sent either way, works, is shown without its secret, and is revoked.
func TestAdminTokens(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	user, _ := c.user("ada@example.com", account.Editor)
	plain := c.json(http.MethodPost, tokensPath, `{}`).want(http.StatusCreated).is("name", `"Unnamed token"`).is("state", `"active"`).
		is("user_id", "null").is("expires_at", "null").is("revoked_at", "null").
		is("scopes", `["feedback:read","feedback:write","reports:read","reports:write","push:read","push:write","admin"]`)
	full := c.form(http.MethodPost, tokensPath, "name= Import ", "scopes[]=feedback:write", "scopes[]=feedback:write", "scopes[]=admin",
		"user_id="+fmt.Sprint(user.ID), "expires_at=12/31/2099 23:59:59").want(http.StatusCreated).
		is("name", `"Import"`).is("scopes", `["feedback:write","admin"]`).is("user_id", fmt.Sprint(user.ID)).is("expires_at", `"2099-12-31T23:59:59.000000Z"`)
	c.json(http.MethodPost, tokensPath, `{"scopes":"push:read, push:write","expires_at":"2099-12-31T23:59:59+01:00"}`).want(http.StatusCreated).
		is("scopes", `["push:read","push:write"]`).is("expires_at", `"2099-12-31T22:59:59.000000Z"`)

	theirs := c.as(fmt.Sprint(full.at("token")))
	theirs.create(`{"carrier_id":1,"source":"email"}`).want(http.StatusCreated)
	theirs.get("/v4/carriers").refused(403, "forbidden")
	theirs.get(tokensPath).refused(403, "forbidden") // the scope is there, the role is an editor's

	shown := c.get(tokensPath + "/" + full.id()).want(http.StatusOK)
	list := c.get(tokensPath+"?limit=100").want(http.StatusOK).is("data.1", shown.body).is("meta.total", "5")
	for _, a := range []answer{shown, list} {
		if strings.Contains(a.body, "es_live") || strings.Contains(a.body, "sha256") {
			t.Errorf("a secret is shown: %s", a.body)
		}
	}
	for range 2 {
		c.send(http.MethodDelete, tokensPath+"/"+full.id(), "", "").want(http.StatusOK).is("type", `"success"`)
	}
	theirs.create(`{"carrier_id":1,"source":"email"}`).refused(401, "unauthenticated")
	c.get(tokensPath+"/"+full.id()).is("state", `"revoked"`)
	_, err := pgtest.DB(t).Exec(t.Context(), `
		UPDATE token SET expires_at = now() WHERE organization_id = $1 AND id = $2`, c.view.Org(), plain.id())
	if err != nil {
		t.Fatal(err)
	}
	c.get(tokensPath+"/"+plain.id()).is("state", `"expired"`)
}

// Every mistake in a token is named at once, and nothing is issued. An empty list of scopes is not all of them.
func TestAdminTokensRefuse(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	foreign, _ := newClient(t).user("ada@example.com", account.Editor)
	for body, fields := range map[string]string{
		`{"scopes":["feedback:read","nothing","ADMIN"]}`: "scopes.1 scopes.2",
		`{"scopes":[]}`:                              "scopes",
		`{"scopes":" , "}`:                           "scopes",
		`{"scopes":{"a":"feedback:read"}}`:           "scopes scopes.0",
		`{"scopes":[["admin"]]}`:                     "scopes scopes.0",
		`{"user_id":` + fmt.Sprint(foreign.ID) + `}`: "user_id",
		`{"user_id":` + fmt.Sprint(foreign.ID) + `,"expires_at":"01/01/2020 00:00:00","name":[]}`: "user_id expires_at name",
		`{"user_id":"x","expires_at":"soon","scopes":["x"],"name":{}}`:                            "user_id expires_at scopes.0 name",
		`{"name":"` + strings.Repeat("x", 256) + `"}`:                                             "name",
	} {
		c.json(http.MethodPost, tokensPath, body).refused(422, "validation_failed", strings.Fields(fields)...)
	}
	c.form(http.MethodPost, tokensPath, "scopes[]=").refused(422, "validation_failed", "scopes")
	c.get(tokensPath).is("meta.total", "1")
	c.get(tokensPath+"?page=x").refused(422, "validation_failed", "page")
}

// A token hands on only what it has: given nothing it hands on all of that, and anything else is refused by its place.
func TestAdminTokenHandsOnOnlyWhatItHas(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	narrow := c.as(c.issue(account.NewToken{Scopes: []account.Scope{account.AdminScope, account.PushRead}}))
	narrow.json(http.MethodPost, tokensPath, `{"scopes":["push:read","feedback:read","admin","push:write"]}`).
		refused(422, "validation_failed", "scopes.1", "scopes.3")
	narrow.json(http.MethodPost, tokensPath, `{"scopes":["push:read"]}`).want(http.StatusCreated).is("scopes", `["push:read"]`)
	given := narrow.json(http.MethodPost, tokensPath, `{"scopes":null}`).want(http.StatusCreated).is("scopes", `["push:read","admin"]`)
	grandchild := c.as(fmt.Sprint(given.at("token")))
	grandchild.json(http.MethodPost, tokensPath, `{"scopes":["feedback:read"]}`).refused(422, "validation_failed", "scopes.0")
}

// A token that is revoked in one process is useless in another within a second, although it was used there a moment before.
func TestAdminRevocationIsFeltElsewhere(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	made := c.json(http.MethodPost, tokensPath, `{}`).want(http.StatusCreated)
	elsewhere := c.as(fmt.Sprint(made.at("token")))
	elsewhere.server = newServer(pgtest.DB(t))
	elsewhere.get("/v4/carriers").want(http.StatusOK)
	c.send(http.MethodDelete, tokensPath+"/"+made.id(), "", "").want(http.StatusOK)
	revoked := time.Now()
	for tick := time.Tick(20 * time.Millisecond); ; <-tick {
		before := time.Now()
		if elsewhere.get("/v4/carriers").status == http.StatusUnauthorized {
			return
		}
		if late := before.Sub(revoked); late > time.Second {
			t.Fatalf("accepted %v after it was revoked", late)
		}
	}
}
