package fql_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/fql"
)

// language has the names of the service, which this package must not know.
var language = fql.Language{
	Sources: []string{
		"trustpilot", "easiware", "bigquery", "email", "chat", "review", "google_review", "google_reviews_competitor", "csv", "facebook",
		"linkedin", "letter", "document", "glassdoor", "homeviews", "survey", "sms", "facetoface", "feedback_box", "whatsapp", "instagram",
		"call_center", "amazon_reviews", "hubspot",
	},
	Statuses: []string{"todo", "progress", "contacted", "resolved", "abandoned"},
}

var update = flag.Bool("update", false, "write what is said now into testdata; read the difference before you keep it")

// golden is a query with what is expected of it, line by line.
type golden struct {
	line int
	text []string
}

// readGolden reads blocks of lines with blank lines between them; lines that begin with # are for people.
func readGolden(t *testing.T, path string) []golden {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	open := false
	for i, line := range strings.Split(string(b), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			open = false
		case !open:
			all, open = append(all, golden{i + 1, []string{line}}), true
		default:
			last := &all[len(all)-1]
			last.text = append(last.text, line)
		}
	}
	return all
}

// checkGolden compares what a query gives with the lines below it, or with -update puts it there.
func checkGolden(t *testing.T, path string, least int, answer func(t *testing.T, query string) []string) {
	t.Helper()
	all := readGolden(t, path)
	if len(all) < least {
		t.Errorf("%s has %d queries", path, len(all))
	}
	if *update {
		rewrite(t, path, answer)
		return
	}
	var seen []string
	for _, g := range all {
		query := g.text[0]
		if slices.Contains(seen, query) {
			t.Errorf("%s:%d: %s is there twice", path, g.line, query)
		}
		seen = append(seen, query)
		if diff := cmp.Diff(g.text[1:], answer(t, query)); diff != "" {
			t.Errorf("%s:%d: %s (-want +got)\n%s", path, g.line, query, diff)
		}
	}
}

func rewrite(t *testing.T, path string, answer func(t *testing.T, query string) []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	inside := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			inside = false
			out = append(out, line)
		case !inside:
			inside = true
			out = append(append(out, line), answer(t, line)...)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(out, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A query has one canonical form and one sentence, each written down and read by a person.
func TestAcceptedQueries(t *testing.T) {
	t.Parallel()
	checkGolden(t, "testdata/accepted.txt", 120, func(t *testing.T, query string) []string {
		t.Helper()
		q, err := language.Parse(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			return nil
		}
		if again, err := language.Parse(q.String()); err != nil || again.String() != q.String() || again.Sentence() != q.Sentence() {
			t.Errorf("%s is printed as %s, which reads as %s: %v", query, q, again, err)
		}
		return []string{q.String(), q.Sentence()}
	})
}

// A wrong query is refused in a sentence that names the clause and says what is accepted.
func TestRefusedQueries(t *testing.T) {
	t.Parallel()
	checkGolden(t, "testdata/refused.txt", 60, func(t *testing.T, query string) []string {
		t.Helper()
		q, err := language.Parse(query)
		if err == nil {
			t.Errorf("%s is accepted as %s", query, q)
			return nil
		}
		return []string{err.Error()}
	})
}
