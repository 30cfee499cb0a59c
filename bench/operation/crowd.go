package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"earshot/bench/rig"
)

// What goes on beside an operation: somebody lists, somebody creates, each this often.
const (
	listEvery   = 20 * time.Millisecond
	createEvery = 20 * time.Millisecond
	// calm is how long lists are measured before the operation begins.
	calm = 20 * time.Second
)

// filters are what lists ask for: nothing, what is tallied, what is counted by value, what must be looked for.
var filters = []struct{ name, fql string }{
	{"no filter", ``},
	{"status", `[{"Status":{"$eq":"progress"}}]`},
	{"30 days", `[{"TimePeriod":{"$eq":"date_last_30_days"}}]`},
	{"attribute, 20 %", `[{"Attribute":{"name":"plan","$eq":"plus"}}]`},
	{"attribute, one feedback", `[{"Attribute":{"name":"order","$eq":"ord-10004711"}}]`},
	{"attribute and status, counted", `[{"Attribute":{"name":"city","$eq":"city 7"}},{"Status":{"$eq":"todo"}}]`},
	{"text, 0.1 %", `[{"Text":{"$like":"branch 976"}}]`},
}

// crowd is everybody else.
type crowd struct {
	s        *service
	matching atomic.Bool // what is created would be selected
	during   atomic.Bool // the operation has begun
	created  int64
	took     [2][][]time.Duration // by during, then filter
	err      error
	stop     context.CancelFunc
	gone     sync.WaitGroup
}

// gather lets them begin. They go on until disperse is called.
func (s *service) gather(ctx context.Context) *crowd {
	c := &crowd{s: s}
	for i := range c.took {
		c.took[i] = make([][]time.Duration, len(filters))
	}
	ctx, c.stop = context.WithCancel(ctx)
	var failed sync.Once
	each := func(every time.Duration, do func(n int) error) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := do(n); err != nil {
				failed.Do(func() { c.err = err })
				return
			}
		}
	}
	// What is under way is finished: a request that is cut off may or may not have been done.
	whole := context.WithoutCancel(ctx)
	c.gone.Go(func() { each(listEvery, func(n int) error { return c.list(whole, n%len(filters)) }) })
	c.gone.Go(func() { each(createEvery, func(int) error { return c.create(whole) }) })
	return c
}

// disperse ends it and returns what went wrong.
func (c *crowd) disperse() error {
	c.stop()
	c.gone.Wait()
	return c.err
}

func (c *crowd) list(ctx context.Context, filter int) error {
	var page struct{ Meta struct{ Total int64 } }
	when := 0
	if c.during.Load() {
		when = 1
	}
	began := time.Now()
	err := c.s.call(ctx, http.MethodGet, "/v4/feedback?fql="+url.QueryEscape(filters[filter].fql), "", &page, http.StatusOK)
	c.took[when][filter] = append(c.took[when][filter], time.Since(began))
	return err
}

func (c *crowd) create(ctx context.Context) error {
	region := "APAC"
	if c.matching.Load() {
		region = "EMEA"
	}
	var made struct{ ID int64 }
	err := c.s.call(ctx, http.MethodPost, "/v4/feedback", fmt.Sprintf(
		`{"carrier_id": 4711, "source": "survey", "attributes": [{"name": "region", "value": %q}, {"name": "plan", "value": "plus"}]}`, region),
		&made, http.StatusCreated)
	if err == nil && region == "EMEA" {
		c.created++
	}
	return err
}

// table is how long lists took, before and during.
func (c *crowd) table() rig.Table {
	t := rig.Table{Title: "Lists of 10 with exact totals, one client, before and during an operation", Rows: [][]string{{
		"filter", "p50 before", "p50 during", "p99 before", "p99 during", "slowest during", "lists before", "during",
	}}}
	for i, f := range filters {
		before, during := sorted(c.took[0][i]), sorted(c.took[1][i])
		t.Rows = append(t.Rows, []string{
			f.name, rig.Span(quantile(before, 50)), rig.Span(quantile(during, 50)), rig.Span(quantile(before, 99)), rig.Span(quantile(during, 99)),
			rig.Span(quantile(during, 100)), fmt.Sprint(len(before)), fmt.Sprint(len(during)),
		})
	}
	return t
}

func sorted(all []time.Duration) []time.Duration {
	slices.Sort(all)
	return all
}

// quantile is the value that so many percent do not exceed.
func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}
