package httpapi_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"earshot/internal/fault"
	"earshot/internal/optout"
)

// The pages themselves belong to another room; these show what they are told.
func showUnsubscribe(w http.ResponseWriter, l optout.Link) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, err := fmt.Fprintf(w, "page: %s, unsubscribed %v", l.Target, l.Unsubscribed)
	return err
}

func showRefusal(w http.ResponseWriter, _ string, status int) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, err := fmt.Fprintf(w, "page: refused %d", status)
	return err
}

// link is the path of the link for a target.
func (c *client) link(target string) string {
	c.t.Helper()
	a := c.json(http.MethodPost, optOuts+"/links", map[string]string{"target": target}).want(http.StatusOK)
	return strings.TrimPrefix(a.at("url").(string), baseURL)
}

// press sends what the button and mailbox providers send.
func (c *client) press(path string) answer {
	return c.as("").send(http.MethodPost, path, formType, "List-Unsubscribe=One-Click")
}

func (a answer) shows(status int, page string) answer {
	a.t.Helper()
	a.want(status)
	if a.body != page {
		a.t.Errorf("shows %q, want %q", a.body, page)
	}
	return a
}

// Opening a link never unsubscribes, however often and by whatever means that only look; pressing its button does, once and for all.
func TestUnsubscribe(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	path := c.link("Ada@example.org")
	for range 3 {
		c.as("").get(path).shows(http.StatusOK, "page: ada@example.org, unsubscribed false")
		c.as("").get(path + "?List-Unsubscribe=One-Click").want(http.StatusOK)
		c.as("").send(http.MethodGet, path, formType, "List-Unsubscribe=One-Click").want(http.StatusOK)
		c.as("").send(http.MethodHead, path, "", "").want(http.StatusOK)
	}
	c.get(optOuts).lists()
	c.press(path).shows(http.StatusOK, "page: ada@example.org, unsubscribed true")
	first := c.get(optOuts).lists("ada@example.org")
	c.press(path).shows(http.StatusOK, "page: ada@example.org, unsubscribed true")
	if again := c.get(optOuts); again.body != first.body {
		t.Errorf("the second press changed %s to %s", first.body, again.body)
	}
	c.as("").get(path).shows(http.StatusOK, "page: ada@example.org, unsubscribed true")
	// A token changes nothing here, not even a wrong one.
	c.as("es_live_wrong").get(path + "/").want(http.StatusOK)
}

// The press comes in every sort of body that mailbox providers send; anything else changes nothing.
func TestUnsubscribePress(t *testing.T) {
	t.Parallel()
	multipart := "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n"
	for name, tc := range map[string]struct {
		contentType, body string
		status            int
	}{
		"form":              {formType, "List-Unsubscribe=One-Click", 200},
		"multipart":         {"multipart/form-data; boundary=x", multipart, 200},
		"json":              {"application/json", `{"List-Unsubscribe":"One-Click"}`, 200},
		"untyped":           {"", "List-Unsubscribe=One-Click", 200},
		"with other fields": {formType, "a=1&List-Unsubscribe=One-Click&b[]=2", 200},
		"nothing":           {"", "", 422},
		"another value":     {formType, "List-Unsubscribe=yes", 422},
		"another field":     {formType, "Unsubscribe=One-Click", 422},
		"another case":      {formType, "list-unsubscribe=one-click", 422},
		"a list":            {formType, "List-Unsubscribe[]=One-Click", 422},
		"not readable":      {formType, "List-Unsubscribe=%zz", 400},
		"text":              {"text/plain", "List-Unsubscribe=One-Click", 415},
		"too large":         {formType, "List-Unsubscribe=One-Click&x=" + strings.Repeat("x", 1<<20), 413},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			a := c.as("").send(http.MethodPost, c.link("ada@example.org"), tc.contentType, tc.body).want(tc.status)
			if tc.status == 200 {
				c.get(optOuts).lists("ada@example.org")
				return
			}
			a.shows(tc.status, fmt.Sprintf("page: refused %d", tc.status))
			c.get(optOuts).lists()
		})
	}
}

// Every other way to spell an address leads nowhere, and each of them to the same page. One that only escapes a letter is the
// same address.
func TestUnsubscribeBadLinks(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	good := c.link("ada@example.org")
	token := strings.TrimPrefix(good, "/unsubscribe/")
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	with := func(at int, b byte) string {
		changed := []byte(string(raw))
		changed[at] ^= b
		return encode(changed)
	}
	theirs := strings.TrimPrefix(other.link("ada@example.org"), "/unsubscribe/")
	theirRaw, err := base64.RawURLEncoding.DecodeString(theirs)
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string]string{
		"upper case":                  strings.ToUpper(token),
		"lower case":                  strings.ToLower(token),
		"swapped case":                swapCase(token),
		"one letter less":             token[:len(token)-1],
		"one letter more":             token + "A",
		"half":                        token[:len(token)/2],
		"twice":                       token + token,
		"without the target":          encode(raw[:37]),
		"without a letter of it":      encode(raw[:len(raw)-1]),
		"head only":                   encode(raw[:5]),
		"another version":             with(0, 3),
		"version 0":                   with(0, raw[0]),
		"another organization":        encode(append(append([]byte{}, theirRaw[:5]...), raw[5:]...)),
		"another organization's hmac": encode(append(append([]byte{}, raw[:5]...), theirRaw[5:]...)),
		"an organization far away":    with(1, 0x7f),
		"padding":                     token + "=",
		"standard alphabet":           "+/" + token[2:],
		"line end":                    token + "%0A",
		"line end within":             token[:9] + "%0D%0A" + token[9:],
		"space":                       token + "%20",
		"NUL":                         token + "%00",
		"not UTF-8":                   "%ff%fe",
		"slash":                       token[:9] + "%2F" + token[9:],
		"escaped twice":               "%25" + fmt.Sprintf("%02X", token[0]) + token[1:],
		"a target":                    "ada@example.org",
		"its base64":                  encode([]byte("ada@example.org")),
		"zeros":                       encode(make([]byte, 60)),
		"one letter":                  "x",
		"huge":                        strings.Repeat("A", 50_000),
		"dots":                        "..%2F..%2Fv4%2Ffeedback",
	}
	for at := range raw { // a bit anywhere
		bad[fmt.Sprintf("bit in byte %d", at)] = with(at, 1<<(at%8))
	}
	// The last letter has bits that say nothing; one spelling of them is ours.
	for _, last := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
		if string(last) != token[len(token)-1:] {
			bad["last letter "+string(last)] = token[:len(token)-1] + string(last)
		}
	}
	for name, token := range bad {
		c := newServer(c.server.db).newClient(t) // nobody has guessed there yet
		for _, a := range []answer{c.as("").get("/unsubscribe/" + token), c.press("/unsubscribe/" + token)} {
			if a.status != http.StatusNotFound || a.body != "page: refused 404" {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
	}
	c.get(optOuts).lists()
	other.get(optOuts).lists()

	escaped := "/unsubscribe/"
	for i := range len(token) {
		escaped += fmt.Sprintf("%%%02X", token[i])
	}
	c.press(escaped).shows(http.StatusOK, "page: ada@example.org, unsubscribed true")
	c.get(optOuts).lists("ada@example.org")
	other.get(optOuts).lists()
}

func swapCase(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, text)
}

// Whatever goes wrong at the address of a page is said as a page; elsewhere it stays JSON.
func TestUnsubscribeRefusalsArePages(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	path := c.link("ada@example.org")
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch, "PURGE"} {
		if allow := c.as("").send(method, path, "", "").shows(405, "page: refused 405").header.Get("Allow"); allow != "GET, HEAD, POST" {
			t.Errorf("Allow is %q", allow)
		}
	}
	c.as("").get("/unsubscribe/a/b").shows(404, "page: refused 404")
	c.as("").get("/unsubscribe//"+path).shows(404, "page: refused 404")
	c.as("").get("/unsubscribe").refused(404, "not_found")
	c.as("").get("/unsubscribed/x").refused(404, "not_found")

	broken := newServer(c.server.db)
	broken.OptOuts = optout.NewStore(nil, nil) // panics
	(&client{t: t, server: broken}).get(path).shows(500, "page: refused 500")
	if log := broken.log.String(); !strings.Contains(log, `"msg":"panic"`) || strings.Contains(log, path) {
		t.Errorf("logged: %s", log)
	}
	full := newServer(c.server.db)
	full.ShowUnsubscribe = func(http.ResponseWriter, optout.Link) error { return fault.New(fault.Unavailable, "Not now.") }
	if retry := (&client{t: t, server: full}).get(path).shows(503, "page: refused 503").header.Get("Retry-After"); retry != "1" {
		t.Errorf("Retry-After is %q", retry)
	}
}

// One link is followed so often and no more, while others still work. Whoever tries links that nobody signed is told to wait, and
// those at the same address who have a link are not.
func TestUnsubscribeIsLimited(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	path, another := c.link("ada@example.org"), c.link("bob@example.org")
	refused := 0
	for range 40 {
		if a := c.as("").get(path); a.status == http.StatusTooManyRequests {
			a.shows(429, "page: refused 429")
			if a.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			refused++
		}
	}
	if refused < 5 || refused > 10 {
		t.Errorf("%d of 40 were refused", refused)
	}
	c.press(another).shows(http.StatusOK, "page: bob@example.org, unsubscribed true")

	refused = 0
	for i := range 40 {
		a := c.as("").get(fmt.Sprintf("/unsubscribe/guess%d", i))
		if a.status == http.StatusTooManyRequests {
			refused++
		} else {
			a.want(http.StatusNotFound)
		}
	}
	if refused < 5 || refused > 10 {
		t.Errorf("%d of 40 guesses were refused", refused)
	}
	c.press(c.link("carl@example.org")).want(http.StatusOK)
	elsewhere := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/unsubscribe/guess", nil)
	elsewhere.RemoteAddr = "[2001:db8::1]:4321"
	w := httptest.NewRecorder()
	c.server.handler.ServeHTTP(w, elsewhere)
	if w.Code != http.StatusNotFound {
		t.Errorf("a guess from elsewhere is answered %d", w.Code)
	}
}

// Neither a link nor a target is ever logged, whatever happens to a request.
func TestUnsubscribeIsNotLogged(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	path := c.link("canary@example.org")
	token := strings.TrimPrefix(path, "/unsubscribe/")
	c.as("").get(path)
	c.press(path)
	c.as("").get(path + "x")
	c.as("").get(path + "/more")
	c.as("").send(http.MethodPut, path, "", "")
	c.as("").send(http.MethodPost, path, "text/plain", "canary@example.org")
	c.optOut("canary 2@example.org")
	c.get(optOuts + "?filter[target]=canary*&sort=canary")
	c.send(http.MethodDelete, optOuts+"?target="+url.QueryEscape("canary 2@example.org"), "", "")
	c.json(http.MethodPost, optOuts+"/check", `{"targets":["canary"]}`)
	c.json(http.MethodPost, optOuts+"/bulk", `{"targets":["canary 3"]}`)
	log := c.server.log.String()
	for _, secret := range []string{token, token[8:24], "canary"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q:\n%s", secret, log)
		}
	}
	for _, route := range []string{"GET /unsubscribe/{token}", "POST /unsubscribe/{token}", "DELETE /v3/push-unsubscribes"} {
		if !strings.Contains(log, `"route":"`+route+`"`) {
			t.Errorf("%s was not logged:\n%s", route, log)
		}
	}
}

// Presses of one link at the same moment leave one record.
func TestUnsubscribeTogether(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	path := c.link("ada@example.org")
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if a := c.press(path); a.status != http.StatusOK {
				t.Errorf("answered %d: %s", a.status, a.body)
			}
		})
	}
	all.Wait()
	c.get(optOuts).lists("ada@example.org")
}
