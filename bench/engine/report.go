package main

import (
	"fmt"
	"time"

	"earshot/bench/corpus"
	"earshot/bench/rig"
)

// report is everything that was found.
type report struct {
	options
	Machine  rig.Machine
	Date     time.Time
	Compared []compared
	Buffers  []pages
	Sized    []sized
	Soaked   *soaked
	Cost     *cost
}

func (r *report) tables() []rig.Table {
	var all []rig.Table
	if len(r.Compared) > 0 {
		all = append(all, r.rates(), r.lengths(), r.costs())
	}
	if len(r.Buffers) > 0 {
		all = append(all, r.buffers())
	}
	if len(r.Sized) > 0 {
		all = append(all, r.sizes())
	}
	if r.Soaked != nil {
		all = append(all, r.soak())
	}
	if r.Cost != nil {
		all = append(all, r.Cost.tables()...)
	}
	return append(all, r.judgement())
}

// judgement is every bar that there are figures for.
func (r *report) judgement() rig.Table {
	t := rig.Table{Title: "Bars", Rows: [][]string{{"bar", "limit", "found", ""}}}
	for _, b := range r.bars() {
		verdict := "pass"
		if !b.Passed {
			verdict = "MISSED"
		}
		t.Rows = append(t.Rows, []string{b.What, b.Limit, b.Found, verdict})
	}
	return t
}

func (r *report) rates() rig.Table {
	t := rig.Table{Title: "Requests a second", Rows: [][]string{{
		"request", "connections", byPgbench, byHandler, byEarshot, "of the bare handler", "of pgbench", "feedback a second, Earshot",
	}}}
	for _, c := range r.Compared {
		row := []string{c.row.name, fmt.Sprint(c.clients)}
		for _, way := range []string{byPgbench, byHandler, byEarshot} {
			row = append(row, number(c.ways[way].rate))
		}
		row = append(row, fmt.Sprintf("%.2f", c.of(byHandler)), fmt.Sprintf("%.2f", c.of(byPgbench)), "")
		if c.row.units > 0 {
			row[len(row)-1] = number(c.ways[byEarshot].rate * float64(c.row.units))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// of is Earshot's pace as a part of another way's.
func (c compared) of(way string) float64 { return c.ways[byEarshot].rate / c.ways[way].rate }

func (r *report) lengths() rig.Table {
	t := rig.Table{Title: "How long a request takes", Rows: [][]string{{
		"request", "connections", "p50: " + byPgbench, byHandler, byEarshot, "p99: " + byPgbench, byHandler, byEarshot,
	}}}
	for _, c := range r.Compared {
		a, b, e := c.ways[byPgbench], c.ways[byHandler], c.ways[byEarshot]
		t.Rows = append(t.Rows, []string{
			c.row.name, fmt.Sprint(c.clients), rig.Span(a.p50), rig.Span(b.p50), rig.Span(e.p50), rig.Span(a.p99), rig.Span(b.p99), rig.Span(e.p99),
		})
	}
	return t
}

func (r *report) costs() rig.Table {
	t := rig.Table{Title: "What a request costs", Rows: [][]string{{
		"request", "connections", "PostgreSQL's processor time: " + byPgbench, byHandler, byEarshot, "the server's: " + byHandler, byEarshot,
		"the client's: " + byPgbench, byEarshot, "allocations, Earshot", "bytes allocated", "WAL: " + byPgbench, byEarshot,
	}}}
	for _, c := range r.Compared {
		a, b, e := c.ways[byPgbench], c.ways[byHandler], c.ways[byEarshot]
		row := []string{
			c.row.name, fmt.Sprint(c.clients), micros(a.postgres), micros(b.postgres), micros(e.postgres), micros(b.server), micros(e.server),
			micros(a.client), micros(e.client), number(e.allocations), number(e.bytes), "", "",
		}
		if c.row.units > 0 {
			row[len(row)-2], row[len(row)-1] = number(a.wal), number(e.wal)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r *report) buffers() rig.Table {
	t := rig.Table{
		Title: fmt.Sprintf("What a request reads, in the organization of %s", rig.Thousands(int64(r.size()))),
		Rows:  [][]string{{"request", "round trips", "statements", "pages of 8 kB"}},
	}
	for _, p := range r.Buffers {
		t.Rows = append(t.Rows, []string{p.name, fmt.Sprint(p.trips), fmt.Sprint(p.statements), rig.Thousands(p.pages)})
	}
	return t
}

func (r *report) sizes() rig.Table {
	t := rig.Table{
		Title: fmt.Sprintf("An organization of %s beside one of %s, one client", rig.Thousands(int64(r.size())), rig.Thousands(corpus.Small)),
		Rows:  [][]string{{"request", "p50: small", "large", "p99: small", "large", "ratio of p50", "requests of each"}},
	}
	for _, s := range r.Sized {
		t.Rows = append(t.Rows, []string{
			s.name, rig.Span(s.small.At(0.5)), rig.Span(s.large.At(0.5)), rig.Span(s.small.At(0.99)), rig.Span(s.large.At(0.99)),
			fmt.Sprintf("%.2f", s.ratio()), fmt.Sprint(len(s.large)),
		})
	}
	return t
}

func (r *report) soak() rig.Table {
	s := r.Soaked
	return rig.Table{
		Title: fmt.Sprintf("Creates at half of what can be done for %s, while operations change everything that was there", s.length),
		Rows: [][]string{
			{
				"most a second", "asked for", "answered", "p50", "p99", "longest", "operations", "feedback changed",
				"server's memory after a tenth", "at most", "at the end", "tallies exact",
			},
			{
				number(s.most), number(s.rate), rig.Thousands(int64(len(s.took))), rig.Span(s.took.At(0.5)), rig.Span(s.took.At(0.99)), rig.Span(s.took.At(1)),
				fmt.Sprint(s.operations), rig.Thousands(s.changed), mebibytes(s.start), mebibytes(s.high), mebibytes(s.last), fmt.Sprint(s.verified),
			},
		},
	}
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

func (c *cost) tables() []rig.Table {
	bytes := func(title string, all []bytesOf) rig.Table {
		t := rig.Table{Title: title, Rows: [][]string{{"table", "rows", "indexes", "in all"}}}
		sum := bytesOf{Relation: "in all"}
		for _, b := range all {
			sum.Rows, sum.Indexes, sum.Size = sum.Rows+b.Rows, sum.Indexes+b.Indexes, sum.Size+b.Size
		}
		for _, b := range append(all, sum) {
			t.Rows = append(t.Rows, []string{b.Relation, number(b.Rows), number(b.Indexes), number(b.Size)})
		}
		return t
	}
	deltas := rig.Table{Title: "A create with and without the values in its delta, pgbench, 8 connections", Rows: [][]string{
		{"", "a second", "p50", "PostgreSQL's processor time", "WAL"},
	}}
	for _, one := range []struct {
		name string
		sample
	}{{"as it is", c.with}, {"without", c.alone}} {
		deltas.Rows = append(deltas.Rows, []string{one.name, number(one.rate), rig.Span(one.p50), micros(one.postgres), number(one.wal)})
	}
	return []rig.Table{
		bytes(fmt.Sprintf("Bytes for each feedback, of %s made by batches", rig.Thousands(c.count)), c.made),
		bytes(fmt.Sprintf("Bytes for each feedback, of the data that requests read, %s", rig.Thousands(c.keptCount)), c.kept), deltas,
	}
}

// number spells a figure as precisely as it is worth.
func number(n float64) string {
	if n < 100 {
		return fmt.Sprintf("%.1f", n)
	}
	return rig.Thousands(int64(n + 0.5))
}

// micros is a duration in microseconds.
func micros(d time.Duration) string { return number(float64(d)/float64(time.Microsecond)) + " µs" }

// size is that of the large organization.
func (r *report) size() int {
	if r.short {
		return min(r.large, 200_000)
	}
	return r.large
}

// header says what was measured where.
func (r *report) header() []string {
	m := r.Machine
	lines := []string{
		fmt.Sprintf("%s, `%s`", r.Date.Format(time.DateOnly), r.command()),
		fmt.Sprintf("%d cores, %s, load average %s before the run; PostgreSQL %s, the servers and the clients share them", m.Cores, m.Memory, m.Load, m.Server),
		m.Settings,
		fmt.Sprintf("`earshot serve --database-conns %d` where requests read, and with %d, the default, where they write", readConns, writeConns),
	}
	if m.Commit != "" {
		lines = append(lines, "commit "+m.Commit)
	}
	return lines
}

func (r *report) command() string {
	if r.short {
		return "make bench-short"
	}
	return "make bench"
}

func (r *report) markdown() string {
	return rig.Markdown(introduction, r.header(), r.tables())
}

const introduction = `# Benchmark: against the bare engine

Written by ` + "`make bench`" + `. It starts a PostgreSQL of its own that loses nothing in a crash, and makes every sort of request in three ways, in turn,
several rounds, each beginning with another way. Figures are medians of the rounds.

- **pgbench**: the very statements that Earshot sends for such a request, prepared, pipelined where Earshot pipelines them, with its arguments and
  its settings of the connection. They are noted while Earshot's own handler answers one, so they cannot drift apart. Only what must differ from one create to the next,
  the fingerprint and its hash, is made by the statement.
- **bare handler**: the least Go between HTTP and these statements (` + "`bench/engine/handler.go`" + `). It looks at nothing that is asked, checks nothing
  and answers with the columns as they came.
- **Earshot**: the released program over HTTP, with its authentication, checks, logs and background work.

Clients of the last two are connections kept alive that send bytes made beforehand and read as little as they can, in a process of their own. Still all
of them share the machine's cores: what a client costs is in the tables, and takes away from what is measured. Requests that read are
made to the large organization, those that write to fresh databases, one for each way: what pgbench and the bare handler write, nobody folds.
A request of the last two sorts of writes changes many feedback; their rows count requests. Where PostgreSQL's processor time is smaller over
Earshot than by pgbench, requests were written together.

`
