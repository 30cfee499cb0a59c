package webui

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
)

var (
	//go:embed assets/page.html assets/unsubscribe.html assets/refusal.html assets/report.html
	pageFiles embed.FS
	//go:embed assets/page.css
	pageCSS []byte
	//go:embed assets/report.css
	reportCSS []byte
)

// A page loads nothing but what this service serves, runs no script of its own text, stands in no frame and sends its forms back
// to where it came from.
const pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; script-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'"

// Pages writes the pages that are made for one request.
type Pages struct {
	unsubscribe, refusal, report *template.Template
	browser                      *browser // nil: nothing prints
}

// NewPages reads the templates. Addresses in pages begin with the path of baseURL, behind which a proxy may have put the service.
// chromium is the program that prints reports; without one there are none to download.
func NewPages(baseURL, chromium string) *Pages {
	var root string
	if u, err := url.Parse(baseURL); err == nil {
		root = u.EscapedPath()
	}
	functions := template.FuncMap{"root": func() string { return root }, "mask": mask}
	page := func(name string) *template.Template {
		return template.Must(template.New("page.html").Funcs(functions).ParseFS(pageFiles, "assets/page.html", "assets/"+name))
	}
	p := &Pages{
		unsubscribe: page("unsubscribe.html"),
		refusal:     page("refusal.html"),
		report:      template.Must(template.New("report.html").Funcs(functions).ParseFS(pageFiles, "assets/report.html")),
	}
	if chromium != "" {
		p.browser = newBrowser(chromium)
	}
	return p
}

// show writes a page, which is made whole before its first byte leaves.
func show(w http.ResponseWriter, status int, page *template.Template, content any) error {
	var b bytes.Buffer
	if err := page.Execute(&b, content); err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	return send(w, status, "text/html; charset=utf-8", b.Bytes())
}

// send writes what is about one person or has a secret in its address: nobody keeps it, nobody lists it, and no other page is told where
// it was.
func send(w http.ResponseWriter, status int, contentType string, content []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(content)))
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-store")
	h.Set("X-Robots-Tag", "noindex")
	w.WriteHeader(status)
	_, err := w.Write(content)
	return err
}

// refusal is what a person is told.
type refusal struct {
	T           *tongue
	Title, Text string
	RequestID   string // where somebody should be asked
}

// Refusal says in a person's words that a request was answered with this status. It tells apart what the person can do, and no more.
func (p *Pages) Refusal(w http.ResponseWriter, accept string, status int) error {
	r := refusal{Title: "That did not work", Text: "Nothing was changed. Open the link again from the message you received."}
	switch {
	case status == http.StatusNotFound:
		r = refusal{Title: "This page does not exist", Text: "The link may be incomplete or no longer valid. Copy all of it and try again."}
	case status == http.StatusGone:
		r = refusal{Title: "This link has expired", Text: "It was valid for a limited time, or somebody withdrew it. Ask for a new one where you got it."}
	case status == http.StatusTooManyRequests:
		r = refusal{Title: "Too many attempts", Text: "Wait a minute and try again."}
	case status == http.StatusServiceUnavailable:
		r = refusal{Title: "Not right now", Text: "There is too much to do at the moment. Try again in a minute."}
	case status >= http.StatusInternalServerError:
		r = refusal{
			Title: "Something went wrong", Text: "It is not your fault. Try again in a minute.",
			RequestID: w.Header().Get("X-Request-Id"),
		}
	}
	r.T = tongueFor(accept)
	return show(w, status, p.refusal, r)
}
