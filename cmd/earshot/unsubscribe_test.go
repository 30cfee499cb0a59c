package main_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"earshot/internal/pg/pgtest"
)

// A link goes the whole way: from the interface into a mail, opened by a scanner, pressed by a person, felt by the next dispatch, through a
// server with its real pages. Its secret is in no line of the log.
func TestUnsubscribeFromMailToList(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	acme := initialize(t, database)
	s := serve(t, database)
	var link struct {
		URL     string
		Headers map[string]string
	}
	decode(t, s.must(http.MethodPost, "/v3/push-unsubscribes/links", acme.Token, `{"target":"Jane.Doe@example.com"}`).body, &link)
	path := strings.TrimPrefix(link.URL, s.url)
	if path == link.URL || link.Headers["List-Unsubscribe"] != "<"+link.URL+">" {
		t.Fatalf("the link is %+v", link)
	}
	unsubscribed := func() bool {
		var check struct{ Data []struct{ Unsubscribed bool } }
		decode(t, s.must(http.MethodPost, "/v3/push-unsubscribes/check", acme.Token, `{"targets":["jane.doe@EXAMPLE.com"]}`).body, &check)
		return check.Data[0].Unsubscribed
	}

	page := s.get(path, "")
	for _, want := range []string{"Acme", "j•••@example.com", `<form method="post">`, `name="List-Unsubscribe" value="One-Click"`} {
		if page.status != http.StatusOK || !strings.Contains(page.body, want) {
			t.Errorf("%d, or %s is missing:\n%s", page.status, want, page.body)
		}
	}
	if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("the policy is %q", policy)
	}
	if style := s.get("/assets/page.css", ""); style.status != http.StatusOK || !strings.Contains(style.header.Get("Content-Type"), "text/css") {
		t.Errorf("the style: %d %s", style.status, style.header)
	}
	if unsubscribed() {
		t.Fatal("opening the link has unsubscribed")
	}
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	pressed, err := s.send(http.MethodPost, path, "", "", form)
	if err != nil || pressed.status != http.StatusUnprocessableEntity || unsubscribed() {
		t.Errorf("an empty press: %v %d", err, pressed.status)
	}
	done := press(t, s, path)
	if done.status != http.StatusOK || !strings.Contains(done.body, "You are unsubscribed") || !unsubscribed() {
		t.Errorf("the press: %d\n%s", done.status, done.body)
	}
	wrong := press(t, s, path+"x")
	if wrong.status != http.StatusNotFound || !strings.Contains(wrong.body, "This page does not exist") || wrong.header.Get("X-Robots-Tag") != "noindex" {
		t.Errorf("a wrong link: %d\n%s", wrong.status, wrong.body)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	log := s.log(1 << 20)
	if token := strings.TrimPrefix(path, "/unsubscribe/"); strings.Contains(log, token) || strings.Contains(strings.ToLower(log), "jane") {
		t.Errorf("the log holds the link or the target:\n%s", log)
	}
	if !strings.Contains(log, `"route":"POST /unsubscribe/{token}"`) {
		t.Errorf("the press was not logged:\n%s", log)
	}
}

// press sends what the button of the page sends.
func press(t *testing.T, s *server, path string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader("List-Unsubscribe=One-Click"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return do(t, s, r)
}

func do(t *testing.T, s *server, r *http.Request) answer {
	t.Helper()
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}
