package main_test

import (
	"net/http"
	"strings"
	"testing"

	"earshot/internal/pg/pgtest"
)

// Whoever runs the demo opens its links and sees what happened: everything, and the days on which the app crashed.
func TestDemoLinksShowReports(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	s := serve(t, database)
	var done struct {
		Reports []struct {
			Name       string
			PublicLink string `json:"public_link"`
		}
	}
	decode(t, command(t, database, "demo", "--feedback", "3000", "--until", "2026-11-14", "--base-url", s.url+"/", "--json"), &done)
	if len(done.Reports) != 2 {
		t.Fatalf("%+v", done)
	}
	for i, wants := range [][]string{
		{"palette-own", `<p class="figure">3,000</p>`, "Feedback by month", "Latest comments", "Trustpilot"},
		{"palette-orange", "Reviews, day by day", "Satisfaction by version", ">4.0.0<", "What the angry wrote in the first days", "<blockquote>"},
	} {
		page := s.get(strings.TrimPrefix(done.Reports[i].PublicLink, s.url), "")
		for _, want := range append(wants, "<h1>"+done.Reports[i].Name+"</h1>") {
			if page.status != http.StatusOK || !strings.Contains(page.body, want) {
				t.Errorf("%s: %d, or %q is missing", done.Reports[i].Name, page.status, want)
			}
		}
	}
}
