package webui_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"earshot/internal/webui"
)

// Each file is what it says it is, may not be taken for anything else, and is
// not sent again to a browser that has it.
func TestDocsFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path        string
		contentType string
		contains    string
	}{
		"openapi":  {"/openapi.yaml", "application/yaml", "openapi: 3.1"},
		"page":     {"/docs", "text/html; charset=utf-8", "<title>Earshot API reference</title>"},
		"style":    {"/docs/docs.css", "text/css; charset=utf-8", "body"},
		"script":   {"/docs/docs.js", "text/javascript; charset=utf-8", `Redoc.init("/openapi.yaml"`},
		"renderer": {"/docs/redoc.standalone.js", "text/javascript; charset=utf-8", "redoc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := get(t, c.path, "")
			if first.Code != http.StatusOK || !strings.Contains(first.Body.String(), c.contains) {
				t.Fatalf("status %d, or %q is missing", first.Code, c.contains)
			}
			want := map[string]string{
				"Content-Type":           c.contentType,
				"X-Content-Type-Options": "nosniff",
				"Cache-Control":          "no-cache",
			}
			for header, value := range want {
				if got := first.Header().Get(header); got != value {
					t.Errorf("%s is %q, want %q", header, got, value)
				}
			}

			tag := first.Header().Get("ETag")
			again := get(t, c.path, tag)
			if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
				t.Errorf("with its ETag %s: status %d and %d bytes", tag, again.Code, again.Body.Len())
			}
			if other := get(t, c.path, `"other"`); other.Code != http.StatusOK {
				t.Errorf("with another ETag: status %d", other.Code)
			}
		})
	}
}

// The page may load nothing from another host, run no script of its own text
// and stand in no frame.
func TestDocsPageKeepsToItself(t *testing.T) {
	t.Parallel()
	page := get(t, "/docs", "")
	policy := page.Header().Get("Content-Security-Policy")
	for _, want := range []string{
		"default-src 'none'", "script-src 'self'", "img-src 'self' data:", "connect-src 'self'",
		"frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
	} {
		if !strings.Contains(policy+";", want+";") {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	body := page.Body.String()
	if strings.Contains(body, "//") {
		t.Error("the page names another host")
	}
	if strings.Contains(body, "<script>") || strings.Contains(body, "<style") {
		t.Error("the page has a script or style of its own text")
	}
	for _, address := range []string{"/docs/docs.css", "/docs/docs.js", "/docs/redoc.standalone.js"} {
		if !strings.Contains(body, `"`+address+`"`) {
			t.Errorf("the page does not use %s", address)
		}
	}
}

// Who has no script finds the reference all the same.
func TestDocsPageWithoutScript(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(get(t, "/docs", "").Body.String(), "<noscript>")
	text, _, _ := strings.Cut(rest, "</noscript>")
	if !strings.Contains(text, `<a href="/openapi.yaml">`) {
		t.Errorf("no link to the description in %q", text)
	}
}

func get(t *testing.T, path, etag string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	w := httptest.NewRecorder()
	webui.Handler().ServeHTTP(w, r)
	return w
}
