package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"earshot/internal/account"
	"earshot/internal/optout"
)

// Each target comes back as it was sent, in its place, with whether a push may reach it.
func TestOptOutCheck(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.optOut("Ada@example.org")
	since := fmt.Sprint(c.get(optOuts).at("data.0.created_at"))
	want := `{"data":[
		{"target":"bob@example.org","unsubscribed":false,"created_at":null},
		{"target":" ADA@example.org ","unsubscribed":true,"created_at":"` + since + `"},
		{"target":"bob@example.org","unsubscribed":false,"created_at":null},
		{"target":"ada@example.org","unsubscribed":true,"created_at":"` + since + `"}],
		"meta":{"checked":4,"unsubscribed":2}}`
	c.json(http.MethodPost, optOuts+"/check", `{"targets":["bob@example.org"," ADA@example.org ","bob@example.org","ada@example.org"]}`).
		want(http.StatusOK).matches(want)
	c.form(http.MethodPost, optOuts+"/check", "targets[]=bob@example.org", "targets[]= ADA@example.org ", "targets[]=bob@example.org",
		"targets[]=ada@example.org").want(http.StatusOK).matches(want)
	c.form(http.MethodPost, optOuts+"/check", "targets=ada@example.org").want(http.StatusOK).is("meta", `{"checked":1,"unsubscribed":1}`)
	c.json(http.MethodPost, optOuts+"/check", `{"targets":[7,"*","a,b"]}`).want(http.StatusOK).is("data.0.target", `"7"`).
		is("meta", `{"checked":3,"unsubscribed":0}`)
	// Asking adds nothing.
	c.get(optOuts).lists("Ada@example.org")
}

// Many are added at once: what is there stays as it was, what comes twice counts once, and both numbers make up what was sent.
func TestOptOutBulk(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.optOut("Ada@example.org")
	c.json(http.MethodPost, optOuts+"/bulk", `{"targets":["ADA@example.org","Bob@example.org"," bob@EXAMPLE.org ","carl@example.org"]}`).
		want(http.StatusOK).matches(`{"added":2,"already":2}`)
	c.json(http.MethodPost, optOuts+"/bulk", `{"targets":["bob@example.org"]}`).want(http.StatusOK).matches(`{"added":0,"already":1}`)
	c.form(http.MethodPost, optOuts+"/bulk", "targets[]=dora@example.org", "targets[]=eve@example.org").want(http.StatusOK).
		matches(`{"added":2,"already":0}`)
	c.get(optOuts+"?sort=created_at").lists("Ada@example.org", "Bob@example.org", "carl@example.org", "dora@example.org", "eve@example.org")
}

// Lists that cannot be are refused whole, and leave nothing behind.
func TestOptOutListsAreRefusedWhole(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, path := range []string{"/check", "/bulk", "/links"} {
		for name, tc := range map[string]struct {
			body   string
			fields []string
		}{
			"empty list": {`{"targets":[]}`, []string{"targets"}},
			"blank":      {`{"targets":["a","  ","b",""]}`, []string{"targets.1", "targets.3"}},
			"null":       {`{"targets":["a",null]}`, []string{"targets.1"}},
			"too long":   {`{"targets":["a","` + strings.Repeat("x", optout.MaxTarget+1) + `"]}`, []string{"targets.1"}},
			"shapes":     {`{"targets":["a",true,["b"],{"c":1}]}`, []string{"targets.1", "targets.2", "targets.3"}},
			"object":     {`{"targets":{"a":1}}`, []string{"targets.0"}},
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				t.Parallel()
				c.json(http.MethodPost, optOuts+path, tc.body).refused(422, "validation_failed", tc.fields...)
			})
		}
	}
	for _, path := range []string{"/check", "/bulk"} {
		c.json(http.MethodPost, optOuts+path, `{}`).refused(422, "validation_failed", "targets")
		c.json(http.MethodPost, optOuts+path, `{"targets":null}`).refused(422, "validation_failed", "targets")
		c.json(http.MethodPost, optOuts+path, many(optout.MaxTargets+1, 1)).refused(422, "validation_failed", "targets")
	}
	c.json(http.MethodPost, optOuts+"/links", many(optout.MaxLinks+1, 1)).refused(422, "validation_failed", "targets")
	c.get(optOuts).lists()
}

// many is a body with n targets of a length, or as short as they can be.
func many(n, length int) string {
	targets := make([]string, n)
	for i := range targets {
		number := fmt.Sprint(i)
		targets[i] = strings.Repeat("x", max(0, length-len(number))) + number
	}
	b, _ := json.Marshal(map[string]any{"targets": targets})
	return string(b)
}

// Ten thousand targets of full length fit, although they are more than the usual body; other routes keep to the usual limit.
func TestOptOutTenThousand(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	body := many(optout.MaxTargets, optout.MaxTarget)
	if len(body) < 3<<20 {
		t.Fatalf("the body has %d bytes", len(body))
	}
	c.json(http.MethodPost, optOuts+"/bulk", body).want(http.StatusOK).matches(`{"added":10000,"already":0}`)
	c.json(http.MethodPost, optOuts+"/bulk", body).want(http.StatusOK).matches(`{"added":0,"already":10000}`)
	c.json(http.MethodPost, optOuts+"/check", body).want(http.StatusOK).is("meta", `{"checked":10000,"unsubscribed":10000}`)
	c.json(http.MethodPost, optOuts+"/links", body).refused(413, "payload_too_large")
	c.json(http.MethodPost, optOuts+"/check", many(optout.MaxTargets, 500)).refused(413, "payload_too_large")
	var fields []string
	for i := range 1001 {
		fields = append(fields, fmt.Sprintf("targets[]=%d", i))
	}
	c.form(http.MethodPost, optOuts+"/check", fields...).refused(400, "bad_request")
	c.form(http.MethodPost, optOuts+"/check", fields[1:]...).want(http.StatusOK).is("meta.checked", "1000")
}

// The link for a target is the same in any case of it, and comes with the header fields of RFC 8058.
func TestOptOutLinks(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	one := c.json(http.MethodPost, optOuts+"/links", `{"target":" Ada@example.org "}`).want(http.StatusOK).is("target", `" Ada@example.org "`)
	address, _ := one.at("url").(string)
	if !strings.HasPrefix(address, baseURL+"/unsubscribe/") {
		t.Fatalf("the link is %s", address)
	}
	one.is("headers", `{"List-Unsubscribe":"<`+address+`>","List-Unsubscribe-Post":"List-Unsubscribe=One-Click"}`)
	c.form(http.MethodPost, optOuts+"/links", "target=ADA@EXAMPLE.ORG").want(http.StatusOK).is("url", `"`+address+`"`)
	list := c.json(http.MethodPost, optOuts+"/links", `{"targets":["bob@example.org","ada@example.org"]}`).want(http.StatusOK)
	list.is("data.1.url", `"`+address+`"`).is("data.1.target", `"ada@example.org"`).is("data.0.target", `"bob@example.org"`)
	if list.at("data.0.url") == address {
		t.Error("two targets have one link")
	}
	if links, _ := c.json(http.MethodPost, optOuts+"/links", many(optout.MaxLinks, 1)).want(http.StatusOK).at("data").([]any); len(links) != optout.MaxLinks {
		t.Errorf("%d links", len(links))
	}
	c.json(http.MethodPost, optOuts+"/links", `{}`).refused(422, "validation_failed", "target")
	c.json(http.MethodPost, optOuts+"/links", `{"target":" "}`).refused(422, "validation_failed", "target")
	c.json(http.MethodPost, optOuts+"/links", `{"target":"a","targets":["b"]}`).refused(422, "validation_failed", "target")
	// A link is made for anybody, and puts nobody on the list.
	c.get(optOuts).lists()
	reader := c.issue(account.NewToken{Scopes: []account.Scope{account.PushRead}})
	c.as(reader).json(http.MethodPost, optOuts+"/links", `{"target":"a"}`).refused(403, "forbidden")
}
