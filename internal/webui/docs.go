// Package webui serves what people read in a browser: the API reference, which
// draws the description of the interface, and the pages behind links that
// people are sent. Everything a page needs is in the binary; no page asks
// another host for anything, and each comes with a policy that keeps it so.
package webui

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"time"

	"earshot/api"
)

// The renderer is the unchanged file of its release; its licence lies beside it.
var (
	//go:embed assets/docs.html
	docsHTML []byte
	//go:embed assets/docs.css
	docsCSS []byte
	//go:embed assets/docs.js
	docsJS []byte
	//go:embed assets/redoc.standalone.js
	redocJS []byte
)

// The renderer writes style elements as it goes, so inline styles must be
// allowed, and it searches in a worker made from a blob. The picture it would
// fetch from its maker's host is refused here.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; worker-src 'self' blob:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Handler serves every file that changes only with the binary, at its own path.
// What has no file here is not asked of it.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/openapi.yaml", static("application/yaml", api.OpenAPI))
	mux.Handle("/docs", docsPage())
	mux.Handle("/docs/docs.css", static("text/css; charset=utf-8", docsCSS))
	mux.Handle("/docs/docs.js", static("text/javascript; charset=utf-8", docsJS))
	mux.Handle("/docs/redoc.standalone.js", static("text/javascript; charset=utf-8", redocJS))
	mux.Handle("/assets/page.css", static("text/css; charset=utf-8", pageCSS))
	mux.Handle("/assets/report.css", static("text/css; charset=utf-8", reportCSS))
	return mux
}

// docsPage is the API reference, drawn in the browser from /openapi.yaml.
func docsPage() http.Handler {
	page := static("text/html; charset=utf-8", docsHTML)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		page.ServeHTTP(w, r)
	})
}

// static serves content that changes only with the binary. A browser keeps it
// and asks each time whether it is still good, so an upgrade shows at once and
// a revisit costs an empty answer.
func static(contentType string, content []byte) http.Handler {
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}
