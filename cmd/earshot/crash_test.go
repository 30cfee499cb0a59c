package main_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"

	"earshot/internal/pg/pgtest"
)

// Killed in the middle of writes and folds, the server leaves tallies that are exact, and goes on from there.
func TestKilledServerLeavesExactTallies(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	for round := range 3 {
		s := serve(t, database)
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for i := range 16 {
			wg.Go(func() { s.disturb(org, rand.New(rand.NewPCG(uint64(round), uint64(i))), stop) })
		}
		s.until("a good deal was written", func() bool {
			return strings.Contains(s.get("/v4/feedback?per_page=100", org.Token).body, `"next_search_after"`) && s.written() > 60
		})
		s.kill()
		close(stop)
		wg.Wait()
		if out := command(t, database, "verify"); !strings.Contains(out, "exact") || strings.Contains(out, "difference") {
			t.Fatalf("after kill %d: %s", round+1, out)
		}
	}
	// It serves on, and what it lists is what it counts.
	s := serve(t, database)
	a := s.get("/v4/feedback?per_page=1", org.Token)
	if a.status != http.StatusOK {
		t.Errorf("the list answers %d %s", a.status, a.body)
	}
}

// disturb creates, changes and deletes until told to stop; what fails because the server is gone does not matter.
func (s *server) disturb(org start, r *rand.Rand, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		switch id := 1 + r.IntN(200); r.IntN(4) {
		case 0:
			_, _ = s.send(http.MethodPut, fmt.Sprintf("/v4/feedback/%d", id), org.Token, `{"status":"resolved"}`, nil)
		case 1:
			filter := url.QueryEscape(fmt.Sprintf(`[{"Id":{"$eq":%d}}]`, id))
			_, _ = s.send(http.MethodDelete, "/v4/feedback?fql="+filter, org.Token, "", nil)
		default:
			_, _ = s.send(http.MethodPost, "/v4/feedback", org.Token, org.feedback(), nil)
		}
	}
}

// written counts the changes that were answered.
func (s *server) written() int {
	n := 0
	for _, r := range s.requests() {
		if r.Status < 300 && !strings.HasPrefix(r.Route, "GET") {
			n++
		}
	}
	return n
}

// kill ends the server as a power cut would.
func (s *server) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		s.t.Errorf("SIGKILL: %v", err)
	}
	s.once.Do(func() { <-s.read; _ = s.cmd.Wait() })
}
