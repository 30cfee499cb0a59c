package rig_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"earshot/bench/rig"
)

// An answer that tells its length as it goes is read whole, and the next one on the same connection too.
func TestAnswersInChunks(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("a line of an answer\n", 1_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/whole" {
			w.Header().Set("Content-Length", "5")
			_, _ = w.Write([]byte("whole"))
			return
		}
		for line := range strings.Lines(lines) {
			_, _ = w.Write([]byte(line))
		}
		_ = http.NewResponseController(w).Flush()
	}))
	t.Cleanup(server.Close)
	c, err := rig.Dial(t.Context(), server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, path := range []string{"/chunks", "/whole", "/chunks", "/chunks", "/whole"} {
		want := map[string]string{"/chunks": lines, "/whole": "whole"}[path]
		a, err := c.Do(rig.Request("GET", path, "token", ""))
		if err := a.Want(200, err); err != nil {
			t.Fatal(err)
		}
		if string(a.Body) != want {
			t.Errorf("%s: got %d bytes, want %d", path, len(a.Body), len(want))
		}
	}
}
