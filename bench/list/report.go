package main

import (
	"fmt"
	"strings"
	"time"

	"earshot/bench/corpus"
	"earshot/bench/rig"
)

// report is everything a run found.
type report struct {
	Options    options
	Built      corpus.Built
	Machine    rig.Machine
	Date       time.Time
	Sizes      []pair // the small organization against the large one
	Neighbours []pair // the tiny organization alone against beside the large one
}

func (r *report) tables() []rig.Table {
	sizes := rig.Table{Title: "A page of 10 with its exact total", Rows: [][]string{{
		"query", "page", "matches", "total from", "pages read (page + total)", "of 10 k", "p50", "of 10 k", "p99", "of 10 k", "ratio of p50", "runs",
	}}}
	for _, p := range r.Sizes {
		few, many := p.figs[0], p.figs[1]
		sizes.Rows = append(sizes.Rows, []string{
			p.Query, p.Page, rig.Thousands(many.Matches), many.Way,
			many.Buffers.String(), few.Buffers.String(), rig.Span(many.P50), rig.Span(few.P50), rig.Span(many.P99), rig.Span(few.P99),
			fmt.Sprintf("%.2f", float64(many.P50)/float64(few.P50)), fmt.Sprint(many.Runs),
		})
	}
	neighbours := rig.Table{Title: "An organization of 2,000 beside the large one, and alone", Rows: [][]string{{
		"query", "matches", "total from", "pages read (page + total)", "alone", "p50", "alone", "p99", "alone", "ratio of p50", "runs",
	}}}
	for _, p := range r.Neighbours {
		alone, beside := p.figs[0], p.figs[1]
		neighbours.Rows = append(neighbours.Rows, []string{
			p.Query, rig.Thousands(beside.Matches), beside.Way,
			beside.Buffers.String(), alone.Buffers.String(), rig.Span(beside.P50), rig.Span(alone.P50), rig.Span(beside.P99), rig.Span(alone.P99),
			fmt.Sprintf("%.2f", float64(beside.P50)/float64(alone.P50)), fmt.Sprint(beside.Runs),
		})
	}
	return []rig.Table{sizes, neighbours, rig.Bars(r.bars())}
}

func (c cost) String() string {
	return fmt.Sprintf("%s + %s", rig.Thousands(c.Page), rig.Thousands(c.Total))
}

// header says what was measured where.
func (r *report) header() []string {
	m := r.Machine
	lines := []string{
		fmt.Sprintf("%s, `%s`", r.Date.Format(time.DateOnly), r.command()),
		fmt.Sprintf("%d cores, %s, load average %s before the run, PostgreSQL %s on the same machine", m.Cores, m.Memory, m.Load, m.Server),
		m.Settings,
		fmt.Sprintf("database of %s, built in %s on %s", m.Size, r.Built.Took.Round(time.Second), r.Built.At.Format(time.DateOnly)),
	}
	if m.Commit != "" {
		lines = append(lines, "commit "+m.Commit)
	}
	return lines
}

func (r *report) command() string {
	command := "make bench-list"
	if r.Options.size != corpus.Full {
		command = fmt.Sprintf("go run ./bench/list -size %d", r.Options.size)
	}
	return command
}

// text is the report for a terminal.
func (r *report) text() string {
	var b strings.Builder
	b.WriteString(rig.Text(r.header(), r.tables()))
	for _, p := range append(r.Sizes, r.Neighbours...) {
		for i, f := range p.figs {
			if f.plans != "" {
				fmt.Fprintf(&b, "\n==== %s, %s page, organization %d\n%s", p.Query, p.Page, i+1, f.plans)
			}
		}
	}
	return b.String()
}

// markdown is the report for the documents.
func (r *report) markdown() string {
	return rig.Markdown(introduction, r.header(), r.tables())
}

const introduction = `# Benchmark: the list

Written by ` + "`make bench-list`" + `. It starts a PostgreSQL of its own, builds the data (once; later runs find it) and calls the store
that serves ` + "`GET /v4/feedback`" + ` in its own process, without HTTP: a page of 10 and its exact total, one client, warm cache.

One database holds an organization of 10 thousand feedback, one of 10 million, and one of 2,000 whose rows lie scattered among those
of the large one; a second database holds the same 2,000 alone. The feedback are spread over three years, 20 carriers, 24 sources and 5
statuses, each has an order number of its own, two more attributes, closed answers, and every fifth a text. Columns named
"of 10 k" and "alone" are the other side of each comparison, measured in turn with it. "Pages read" are PostgreSQL's pages of 8 kB,
found in memory or not, for the statement of the page and that of the total. p99 is the slowest run where there were fewer
than a hundred.

`
