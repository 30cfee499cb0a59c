package main_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"earshot/internal/pg/pgtest"
)

// A report goes the whole way to paper: made, shared and downloaded by the link on its page, from a server with a browser. The secret of the
// link is in no line of the log. A server without one says how to print.
func TestPrintSharedReport(t *testing.T) {
	t.Parallel()
	var chromium string
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && chromium == "" {
			chromium = path
		}
	}
	if chromium == "" {
		t.Skip("there is no Chromium: .ci/tools chromium")
	}
	database := pgtest.New(t)
	acme := initialize(t, database)
	s, plain := serve(t, database, "--chromium", chromium), serve(t, database)
	var made struct{ ID int64 }
	decode(t, s.must(http.MethodPost, "/v3/reports", acme.Token, `{"name":"Spring","format":"prefilled"}`).body, &made)
	var link struct {
		Token      string
		PublicLink string `json:"public_link"`
	}
	decode(t, s.must(http.MethodPost, fmt.Sprintf("/v3/reports/%d/share", made.ID), acme.Token, `{}`).body, &link)
	file := fmt.Sprintf("/report/%d/shareable.pdf?token=%s", made.ID, link.Token)
	page := strings.TrimPrefix(link.PublicLink, s.url)
	if got := s.get(page, ""); !strings.Contains(got.body, `href="`+file+`"`) {
		t.Errorf("the page does not lead to %s:\n%s", file, got.body)
	}
	pdf := s.get(file, "")
	if pdf.status != http.StatusOK || !strings.HasPrefix(pdf.body, "%PDF-") || pdf.header.Get("Content-Type") != "application/pdf" ||
		pdf.header.Get("Content-Disposition") != "attachment; filename=Spring.pdf" || pdf.header.Get("Cache-Control") != "private, no-store" {
		t.Errorf("%d, %d bytes, %v", pdf.status, len(pdf.body), pdf.header)
	}
	if got := s.get(file+"x", ""); got.status != http.StatusNotFound || !strings.Contains(got.body, "This page does not exist") {
		t.Errorf("a wrong token: %d\n%s", got.status, got.body)
	}
	if got := plain.get(page, ""); got.status != http.StatusOK || strings.Contains(got.body, "shareable.pdf") {
		t.Errorf("the page leads to a file that is not there: %d\n%s", got.status, got.body)
	}
	if got := plain.get(file, ""); got.status != http.StatusNotFound || !strings.Contains(got.body, "There is no PDF of this report") {
		t.Errorf("without a browser: %d\n%s", got.status, got.body)
	}
	var shares struct{ Data []struct{ Views int } }
	decode(t, s.must(http.MethodGet, fmt.Sprintf("/v3/reports/%d/shares", made.ID), acme.Token, "").body, &shares)
	if shares.Data[0].Views != 4 {
		t.Errorf("%d views", shares.Data[0].Views)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if log := s.log(1 << 20); strings.Contains(log, link.Token) || !strings.Contains(log, `"route":"GET /report/{id}/shareable.pdf"`) {
		t.Errorf("the log:\n%s", log)
	}
}
