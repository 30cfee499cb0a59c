package webui_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"earshot/internal/optout"
	"earshot/internal/webui"
)

// headers are what every page for one person comes with.
var headers = map[string]string{
	"Content-Type": "text/html; charset=utf-8",
	"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; script-src 'self'; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	"Referrer-Policy":        "no-referrer",
	"X-Content-Type-Options": "nosniff",
	"Cache-Control":          "private, no-store",
	"X-Robots-Tag":           "noindex",
}

// shown makes a page and holds it against what all of them promise: the headers, a language and a title, one heading, no script,
// nothing from elsewhere, and a style that is served.
func shown(t *testing.T, make func(http.ResponseWriter) error) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	if err := make(w); err != nil {
		t.Fatal(err)
	}
	for name, want := range headers {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	page := w.Body.String()
	for _, want := range []string{`<!doctype html>`, `<html lang="en">`, `name="viewport"`, `<title>`, `<main>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	if n := strings.Count(page, "<h1>"); n != 1 {
		t.Errorf("%d headings:\n%s", n, page)
	}
	for _, never := range []string{"<script", "<style", " style=", " onclick=", "//", "ZgotmplZ"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %s:\n%s", never, page)
		}
	}
	for _, link := range regexp.MustCompile(`href="(/[^"]*)"`).FindAllStringSubmatch(page, -1) {
		if file := get(t, link[1], ""); file.Code != http.StatusOK {
			t.Errorf("%s is not served: %d", link[1], file.Code)
		}
	}
	return w
}

// The page of a link says who writes to which address and has one button, which sends the one field; once it was pressed there is none.
func TestUnsubscribePage(t *testing.T) {
	t.Parallel()
	pages := webui.NewPages("https://feedback.example.com", "")
	link := optout.Link{Organization: "Acme & <Sons>", Target: "jane.doe@example.com"}
	before := shown(t, func(w http.ResponseWriter) error { return pages.Unsubscribe(w, link) })
	link.Unsubscribed = true
	after := shown(t, func(w http.ResponseWriter) error { return pages.Unsubscribe(w, link) })
	for _, w := range []*httptest.ResponseRecorder{before, after} {
		page := w.Body.String()
		if w.Code != http.StatusOK || !strings.Contains(page, "Acme &amp; &lt;Sons&gt;") || !strings.Contains(page, "j•••@example.com") {
			t.Errorf("status %d:\n%s", w.Code, page)
		}
		if strings.Contains(page, "jane") || strings.Contains(page, "doe") {
			t.Errorf("the address is shown:\n%s", page)
		}
	}
	const form = "<form method=\"post\">\n<button name=\"List-Unsubscribe\" value=\"One-Click\">Unsubscribe</button>\n</form>"
	if page := before.Body.String(); strings.Count(page, form) != 1 || strings.Count(page, "<button") != 1 || strings.Contains(page, "<input") {
		t.Errorf("before:\n%s", page)
	}
	if page := after.Body.String(); strings.Contains(page, "<form") || strings.Contains(page, "<button") || !strings.Contains(page, "You are unsubscribed") {
		t.Errorf("after:\n%s", page)
	}
}

// Of a target enough is shown for its owner to know it, and of short ones nothing that gives them away.
func TestUnsubscribePageMasksTargets(t *testing.T) {
	t.Parallel()
	pages := webui.NewPages("https://feedback.example.com", "")
	for target, want := range map[string]string{
		"jane@example.com":                     "j•••@example.com",
		"j@example.com":                        "•••@example.com",
		"@example.com":                         "•••@example.com",
		"a@b@example.com":                      "a•••@example.com",
		"élodie@exemple.fr":                    "é•••@exemple.fr",
		"+33612345678":                         "&#43;•••78",
		"1234567":                              "1•••",
		"12":                                   "1•••",
		"1":                                    "•••",
		"日本のお客さん12":                            "日•••12",
		"<b>bold</b>@example.com":              "&lt;•••@example.com",
		"x\u202e\u200bgro.elpmaxe@moc.x\u202e": "x•••@moc.x�",
	} {
		w := shown(t, func(w http.ResponseWriter) error {
			return pages.Unsubscribe(w, optout.Link{Organization: "Acme", Target: target})
		})
		if page := w.Body.String(); !strings.Contains(page, "<b>"+want+"</b>?") {
			t.Errorf("%q is not shown as %s:\n%s", target, want, page)
		}
	}
}

// A refusal keeps its status, says what to do and, where somebody has to be asked, what to quote. What was wrong with a link is not said.
func TestRefusalPage(t *testing.T) {
	t.Parallel()
	pages := webui.NewPages("https://feedback.example.com/earshot", "")
	for status, want := range map[int]string{
		400: "That did not work", 404: "This page does not exist", 405: "That did not work", 413: "That did not work", 415: "That did not work",
		422: "That did not work", 429: "Too many attempts", 500: "Something went wrong", 503: "Not right now",
	} {
		w := httptest.NewRecorder()
		w.Header().Set("X-Request-Id", "0123abcd")
		if err := pages.Refusal(w, "", status); err != nil {
			t.Fatal(err)
		}
		page := w.Body.String()
		if w.Code != status || !strings.Contains(page, "<h1>"+want+"</h1>") || !strings.Contains(page, "<title>"+want+"</title>") {
			t.Errorf("%d: status %d\n%s", status, w.Code, page)
		}
		if strings.Contains(page, "0123abcd") != (status == 500) {
			t.Errorf("%d: the request id:\n%s", status, page)
		}
		// Behind a proxy that gives the service a part of its addresses, the style is there, too.
		if !strings.Contains(page, `href="/earshot/assets/page.css"`) {
			t.Errorf("%d: the style:\n%s", status, page)
		}
	}
	plain := webui.NewPages("https://feedback.example.com", "")
	shown(t, func(w http.ResponseWriter) error { return plain.Refusal(w, "", http.StatusNotFound) })
}
