package main_test

import (
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"earshot/internal/pg/pgtest"
)

// An organization whose filters hang, more of them than there are places, leaves places for the others: it gets three quarters.
func TestOneOrganizationLeavesPlacesForOthers(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	noisy := initialize(t, database)
	var quiet start
	decode(t, command(t, database, "init", "--name", "Quiet", "--json"), &quiet)
	s := serve(t, database, "--database-conns", "16", "--statement-timeout", "2m", "--request-timeout", "2m")
	s.client.Timeout = 2 * patience
	release := hold(t, database, `LOCK TABLE feedback_owner IN ACCESS EXCLUSIVE MODE`)
	heavy := "/v4/feedback?fql=" + url.QueryEscape(`[{"Owner":{"$eq":"admin@example.com"}}]`)
	const asked, taken = 40, 24 // of 32
	var clients sync.WaitGroup
	var answered [600]atomic.Int64 // by status
	for range asked {
		clients.Go(func() {
			a, err := s.send(http.MethodGet, heavy, noisy.Token, "", nil)
			if err != nil {
				t.Errorf("a heavy count: %v", err)
			}
			answered[a.status].Add(1)
		})
	}
	s.until("refusing the others", func() bool { return answered[http.StatusServiceUnavailable].Load() == asked-taken })
	for range 3 {
		if a := s.get("/v4/feedback", quiet.Token); a.status != http.StatusOK {
			t.Errorf("another organization's list: %d %s, want 200", a.status, a.body)
		}
	}
	release()
	clients.Wait()
	if n := answered[http.StatusOK].Load(); n != taken {
		t.Errorf("%d heavy counts were answered, want %d", n, taken)
	}
}
