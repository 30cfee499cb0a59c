package main_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"
)

const (
	attach = "/v4/feedback/attributes/attach"
	syncs  = "/v4/feedback/attributes/sync"
	detach = "/v4/feedback/attributes/detach"
)

// openPair makes a shop with a second process on its database. Both answer and work.
func openPair(t *testing.T, n int, flags ...string) (s *shop, a, b *server) {
	t.Helper()
	s = openShop(t, n, flags...)
	return s, s.api, serve(t, s.database, append([]string{"--database-conns", "16"}, flags...)...)
}

// race runs two loops beside each other until the time is up, with a random source each. Its seed is printed.
func race(t *testing.T, long time.Duration, loops ...func(r *rand.Rand)) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	deadline := time.Now().Add(long)
	var wg sync.WaitGroup
	for i, loop := range loops {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			for time.Now().Before(deadline) && !t.Failed() {
				loop(r)
			}
		})
	}
	wg.Wait()
}

// try sends a request that must be answered with one of the statuses. Unlike must it may be called from any goroutine.
func (s *server) try(org start, method, path, body string, wanted ...int) answer {
	a, err := s.send(method, path, org.Token, body, nil)
	for _, status := range wanted {
		if err == nil && a.status == status {
			return a
		}
	}
	s.t.Errorf("%s %s: %d %s, %v", method, path, a.status, a.body, err)
	return a
}

// span is a filter for a random stretch of the feedback from 1 to n.
func span(r *rand.Rand, n int) string {
	low := 1 + r.IntN(n)
	return fmt.Sprintf(`"fql": [{"Id": {"$btw": [%d, %d]}}]`, low, min(n, low+r.IntN(n/2)))
}

// tagged is the attribute city with a value that may be new.
func tagged(r *rand.Rand) string {
	return fmt.Sprintf(`"attributes": [{"name": "city", "value": "city %d"}]`, r.IntN(1_000))
}

// Attaching while another process deletes leaves nothing behind of what is gone, and exact counts of what is not.
func TestAttachBesideDelete(t *testing.T) {
	t.Parallel()
	const n = 400
	s, a, b := openPair(t, n)

	// One after the other, in both orders, the second waiting for the first.
	one := `{"fql": [{"Id": {"$eq": %d}}]%s}`
	for i, first := range []string{"attach", "delete"} {
		id := n - i
		var wg sync.WaitGroup
		release := s.lock(id)
		calls := map[string]func(){
			"attach": func() {
				a.try(s.org, http.MethodPost, attach, fmt.Sprintf(one, id, `, "attributes": [{"name": "city", "value": "`+first+`"}]`), http.StatusOK)
			},
			"delete": func() { b.try(s.org, http.MethodDelete, "/v4/feedback", fmt.Sprintf(one, id, ""), http.StatusOK) },
		}
		wg.Go(calls[first])
		s.waiting(1)
		delete(calls, first)
		for _, second := range calls {
			wg.Go(second)
		}
		s.waiting(2)
		release()
		wg.Wait()
	}
	if left := read[int](s, `SELECT count(*) FROM feedback`); left != n-2 {
		t.Errorf("%d of %d are left", left, n-2)
	}
	s.sound()

	race(t, 3*time.Second,
		func(r *rand.Rand) {
			a.try(s.org, http.MethodPost, attach, "{"+span(r, n)+", "+tagged(r)+"}", http.StatusOK)
		},
		func(r *rand.Rand) {
			b.try(s.org, http.MethodDelete, "/v4/feedback", "{"+span(r, n)+fmt.Sprintf(`, "limit": %d}`, 1+r.IntN(3)), http.StatusOK)
		},
	)
	s.sound()
}

// Two processes that sync one attribute of the same feedback leave the values of one of them, never of both.
func TestSyncBesideSync(t *testing.T) {
	t.Parallel()
	const n = 200
	s, a, b := openPair(t, n)
	loop := func(by *server) func(r *rand.Rand) {
		return func(r *rand.Rand) {
			body := fmt.Sprintf(`{%s, "attributes": [{"name": "city", "value": ["%d a", "%[2]d b"]}]}`, span(r, n), r.IntN(1_000_000))
			by.try(s.org, http.MethodPut, syncs, body, http.StatusOK)
		}
	}
	race(t, 3*time.Second, loop(a), loop(b))
	// The attribute's own id and two values, of one call.
	if mixed := read[int](s, `
		SELECT count(*)
		FROM feedback f
		WHERE attribute_value_ids <> '{}' AND (cardinality(attribute_value_ids) <> 3 OR 1 <> (
			SELECT count(DISTINCT split_part(v.text, ' ', 1)) FROM attribute_value v WHERE v.id = ANY (f.attribute_value_ids)))`); mixed > 0 {
		t.Errorf("%d feedback have values of two calls", mixed)
	}
	if touched := read[int](s, `SELECT count(*) FROM feedback WHERE attribute_value_ids <> '{}'`); touched < n/2 {
		t.Errorf("only %d of %d were touched", touched, n)
	}
	s.sound()
}

// A feedback whose status is set while a bulk change runs has the status that came last, and both are in its history.
func TestStatusBesideBulk(t *testing.T) {
	t.Parallel()
	const n = 20_000
	s, a, b := openPair(t, n)
	release := s.lock(n / 2) // so that it does not end before it is met
	id := a.bulk(s.org, http.MethodPost, bulkUpdate, 1, n, resolved)
	s.waiting(1)
	statuses := []string{"todo", "progress", "contacted", "resolved", "abandoned"}
	put := func(r *rand.Rand) {
		// Some that were changed, some that will be; those of the stretch that waits would wait as well.
		feedback := 1 + r.IntN(1_000)
		if r.IntN(2) == 0 {
			feedback = n - r.IntN(1_000)
		}
		b.try(s.org, http.MethodPut, fmt.Sprintf("/v4/feedback/%d", feedback), fmt.Sprintf(`{"status": %q}`, statuses[r.IntN(len(statuses))]), http.StatusOK)
	}
	race(t, 2*time.Second, put, put)
	release()
	race(t, 2*time.Second, put, put)
	o := a.done(s.org, id)
	if o.Done != n || o.Error != nil {
		t.Errorf("%+v", o)
	}
	if twice := read[int](s, `
		SELECT count(*) FROM (SELECT FROM feedback_history WHERE operation_id = $1 GROUP BY feedback_id HAVING count(*) > 1) AS twice`, id); twice > 0 {
		t.Errorf("%d were changed twice", twice)
	}
	s.sound()
}

// Bulk changes of overlapping selections, small and large, of statuses and attributes, neither wait for each other for ever nor fail, and what they
// leave is what one after the other would have left.
func TestBulkBesideBulk(t *testing.T) {
	t.Parallel()
	const n = 6_000
	s, a, b := openPair(t, n, "--bulk-in-request", "2000")
	var mu sync.Mutex
	var all []int64
	loop := func(by *server) func(r *rand.Rand) {
		return func(r *rand.Rand) {
			method, path, change := http.MethodPost, bulkUpdate, fmt.Sprintf(`"status": %q`, []string{"todo", "progress", "resolved"}[r.IntN(3)])
			switch r.IntN(4) {
			case 0:
				path, change = attach, tagged(r)
			case 1:
				method, path, change = http.MethodPut, syncs, tagged(r)
			case 2:
				method, path, change = http.MethodDelete, detach, tagged(r)
			}
			answer := by.try(s.org, method, path, "{"+span(r, n)+", "+change+"}", http.StatusOK, http.StatusAccepted)
			var started struct {
				OperationID int64 `json:"operation_id"`
			}
			if !t.Failed() {
				decode(t, answer.body, &started)
			}
			mu.Lock()
			all = append(all, started.OperationID)
			mu.Unlock()
		}
	}
	race(t, 4*time.Second, loop(a), loop(a), loop(b), loop(b))
	if t.Failed() {
		return
	}
	for _, id := range all {
		if o := a.done(s.org, id); o.Done != o.Total || o.Error != nil {
			t.Errorf("%+v", o)
		}
	}
	t.Logf("%d operations", len(all))
	s.exec(`SELECT pg_stat_clear_snapshot()`)
	if n := read[int](s, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n > 0 {
		t.Errorf("%d deadlocks", n)
	}
	s.sound()
}

// Totals are exact at every moment while operations run and two processes fold what they leave.
func TestReaderBesideFold(t *testing.T) {
	t.Parallel()
	const n = 5_000
	s, a, b := openPair(t, n)
	a.done(s.org, a.bulk(s.org, http.MethodPost, attach, 1, n, `"attributes": [{"name": "size", "value": "S"}]`))
	flip := func(by *server, method, path string, changes ...string) func(r *rand.Rand) {
		return func(r *rand.Rand) {
			by.try(s.org, method, path, "{"+span(r, n)+", "+changes[r.IntN(len(changes))]+"}", http.StatusOK, http.StatusAccepted)
		}
	}
	size := func(v string) string { return fmt.Sprintf(`"attributes": [{"name": "size", "value": %q}]`, v) }
	// Whatever moves from one to the other, they stay as many together.
	totals := []string{
		``, `[{"Status":{"$in":["todo","resolved"]}}]`, `[{"Status":{"$ne":"progress"}}]`, `[{"TimePeriod":{"$eq":"date_last_7_days"}},{"Status":{"$in":["todo","resolved"]}}]`,
		`[{"Attribute":{"name":"size","$exists":true}}]`, `[{"Attribute":{"name":"size","$in":["S","XL"]}}]`,
	}
	reads := 0
	race(
		t, 5*time.Second,
		flip(a, http.MethodPost, bulkUpdate, `"status": "todo"`, resolved),
		flip(b, http.MethodPut, syncs, size("S"), size("XL")),
		func(r *rand.Rand) {
			by := []*server{a, b}[r.IntN(2)]
			filter := totals[r.IntN(len(totals))]
			answer := by.try(s.org, http.MethodGet, "/v4/feedback?per_page=1&fql="+url.QueryEscape(filter), "", http.StatusOK)
			var page struct{ Meta struct{ Total int } }
			if !t.Failed() {
				decode(t, answer.body, &page)
			}
			if page.Meta.Total != n {
				t.Errorf("%s: %d of %d", filter, page.Meta.Total, n)
			}
			reads++
		},
	)
	t.Logf("%d totals", reads)
	a.until("idle", func() bool { return read[int](s, `SELECT count(*) FROM operation WHERE state = 'running'`) == 0 })
	s.sound()
}

// Of two who come to a feedback while it is held, the one who edits first is not overwritten by the undoing that comes second: it sees the edit,
// leaves it and says so.
func TestUndoBesideEdit(t *testing.T) {
	t.Parallel()
	const n = 100
	s, a, b := openPair(t, n)
	for name, c := range map[string]struct {
		method, path, change string
		edit                 func()
	}{
		"status": {http.MethodPost, bulkUpdate, resolved, func() {
			a.try(s.org, http.MethodPut, "/v4/feedback/50", `{"status": "contacted"}`, http.StatusOK)
		}},
		"attribute": {http.MethodPost, attach, `"attributes": [{"name": "city", "value": "Lyon"}]`, func() {
			a.try(s.org, http.MethodPost, attach, `{"fql": [{"Id": {"$eq": 50}}], "attributes": [{"name": "city", "value": "Metz"}]}`, http.StatusOK)
		}},
	} {
		id := a.bulk(s.org, c.method, c.path, 1, n, c.change)
		release := s.lock(50)
		var wg sync.WaitGroup
		wg.Go(c.edit)
		s.waiting(1)
		var undo op
		wg.Go(func() {
			answer := b.try(s.org, http.MethodPost, fmt.Sprintf("/v4/operations/%d/undo", id), "", http.StatusOK)
			if !t.Failed() {
				decode(t, answer.body, &undo)
			}
		})
		s.waiting(2)
		release()
		wg.Wait()
		undo = b.operation(s.org, undo.ID)
		if undo.State != "done" || undo.Changed != n-1 || undo.Skipped != 1 || len(undo.SkippedIDs) != 1 || undo.SkippedIDs[0] != 50 {
			t.Errorf("%s: %+v", name, undo)
		}
	}
	got := read[string](s, `
		SELECT format('%s %s', status, (SELECT string_agg(v.text, ' ' ORDER BY v.text) FROM attribute_value v WHERE v.id = ANY (f.attribute_value_ids)))
		FROM feedback f WHERE id = 50`)
	if got != "3 Lyon Metz" {
		t.Errorf("the edited feedback is %s", got)
	}
	if others := read[int](s, `SELECT count(*) FROM feedback WHERE status = 1 AND attribute_value_ids = '{}'`); others != n-1 {
		t.Errorf("%d of %d others are as they were", others, n-1)
	}
	s.sound()
}
