package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"earshot/bench/rig"
)

// The ways that are compared.
const (
	byPgbench = "pgbench"
	byHandler = "bare handler"
	byEarshot = "Earshot"
)

// compared is what was found for a row with so many clients, by way.
type compared struct {
	row     row
	clients int
	ways    map[string]sample
}

// stage is a database for each way and what asks it. Where rows only read, it is one database.
type stage struct {
	b       *bench
	urls    map[string]string
	earshot *rig.Process
	admin   string
	handler *rig.Process
	rows    []row
	bares   map[string]*bare
}

// The connections that the server may have to the database. It takes on 128 creates of one organization with the default; of reads four for
// each connection of a pool, which has half of them, and three quarters are one organization's.
const (
	writeConns = 16
	readConns  = 88
)

// open starts the server and the bare handler, and writes the scripts.
func (b *bench) open(ctx context.Context, urls map[string]string, rows []row, conns int) (*stage, error) {
	s := &stage{b: b, urls: urls, rows: rows, bares: map[string]*bare{}}
	p := plan{URL: urls[byHandler], Conns: int32(conns / 2), Calls: map[string][]call{}}
	for _, r := range rows {
		var err error
		if s.bares[r.slug], err = newBare(ctx, urls[byPgbench], b.dir, r.slug, r.calls, r.low, r.high); err != nil {
			return nil, err
		}
		p.Calls["/"+r.slug] = r.calls
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, "plan.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	if s.admin, err = rig.FreeAddress(ctx); err != nil {
		return nil, err
	}
	if s.earshot, err = b.program.Serve(ctx, urls[byEarshot], "", "--database-conns", strconv.Itoa(conns), "--admin-listen", s.admin); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	address, err := rig.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-handle", file, "-address", address) //nolint:noctx // it is ended by a signal
	cmd.Stderr = os.Stderr
	s.handler, err = b.program.Start(ctx, cmd, address)
	return s, err
}

func (s *stage) close() error {
	_, err := s.earshot.Stop()
	_, failed := s.handler.Stop()
	return errors.Join(err, failed)
}

// ways are those that a row can go.
func (s *stage) ways(r row) []way {
	var requests, handled [][]byte
	for _, q := range r.questions {
		requests = append(requests, q.bytes())
		own := q
		own.path = "/" + r.slug
		if r.low > 0 {
			id, _, _ := strings.Cut(filepath.Base(q.path), "?")
			own.path += "/id/" + id
		}
		handled = append(handled, own.bytes())
	}
	if r.slug == "bulk" { // both ways in one
		handled = handled[:1]
	}
	return []way{
		{name: byPgbench, ask: s.bares[r.slug].run},
		{name: byHandler, ask: overHTTP(s.handler.Address, handled, 200, nil), processor: s.handler.Processor},
		{name: byEarshot, ask: overHTTP(s.earshot.Address, requests, r.status, r.check), processor: s.earshot.Processor, metrics: s.allocated},
	}
}

// allocated is what the server has allocated since it was started.
func (s *stage) allocated(ctx context.Context) (allocations, bytes float64, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+"/metrics", nil)
	if err != nil {
		return 0, 0, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	found, err := metrics(response.Body, "go_memstats_mallocs_total", "go_memstats_alloc_bytes_total")
	return found[0], found[1], err
}

// compare measures every row with each number of clients, the ways in turn, so that what disturbs the machine disturbs all of them. Each
// round begins with another.
func (s *stage) compare(ctx context.Context) ([]compared, error) {
	var all []compared
	for _, r := range s.rows {
		for _, clients := range r.clients {
			found := map[string][]sample{}
			for n := range s.b.rounds {
				ways := s.ways(r)
				for i := range ways {
					w := ways[(i+n)%len(ways)]
					warm := s.b.warm
					if w.name == byPgbench {
						warm = s.b.warmPgbench(clients)
					}
					one, err := s.b.measure(ctx, w, clients, warm, s.b.length)
					if err != nil {
						return nil, fmt.Errorf("%s, %s: %w", r.name, connections(clients), err)
					}
					found[w.name] = append(found[w.name], one)
					if r.units > 0 {
						time.Sleep(s.b.settle) // what was written is folded
					}
				}
			}
			c := compared{r, clients, map[string]sample{}}
			for name, samples := range found {
				c.ways[name] = median(samples)
			}
			if r.slug == "bulk" {
				for _, name := range []string{byPgbench, byHandler} {
					c.ways[name] = c.ways[name].halved()
				}
			}
			rig.Progress("%s, %s: %.1f, %.1f, %.1f a second", r.name, connections(clients), c.ways[byPgbench].rate, c.ways[byHandler].rate, c.ways[byEarshot].rate)
			all = append(all, c)
		}
	}
	return all, nil
}

func connections(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", n)
}

// halved is one request of two that were made as one.
func (s sample) halved() sample {
	s.rate *= 2
	s.p50, s.p99, s.server, s.postgres, s.client, s.wal = s.p50/2, s.p99/2, s.server/2, s.postgres/2, s.client/2, s.wal/2
	return s
}
