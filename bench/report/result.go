package main

import (
	"fmt"
	"net/http"
	"time"

	"earshot/bench/corpus"
	"earshot/bench/rig"
)

// result is everything a run found.
type result struct {
	options options
	built   corpus.Built
	machine rig.Machine
	date    time.Time
	whole   []measured // reports
	parts   []measured // their components
}

func (r *result) tables() []rig.Table {
	whole := rig.Table{Title: "A prefilled report", Rows: [][]string{{"over", "feedback", "p50", "of 10 k", "p99", "of 10 k", "runs"}}}
	for _, m := range r.whole {
		few, many := m.spans[0], m.spans[1]
		whole.Rows = append(whole.Rows, []string{
			m.Name + many.note(), rig.Thousands(many.Matches), rig.Span(many.P50), rig.Span(few.P50), rig.Span(many.P99), rig.Span(few.P99), fmt.Sprint(many.Runs),
		})
	}
	parts := rig.Table{Title: "Its components, each alone and without HTTP", Rows: [][]string{{"over", "component", "p50", "of 10 k", "p99", "of 10 k", "runs"}}}
	for _, m := range r.parts {
		few, many := m.spans[0], m.spans[1]
		parts.Rows = append(parts.Rows, []string{
			m.Name, m.Part + many.note(), rig.Span(many.P50), rig.Span(few.P50), rig.Span(many.P99), rig.Span(few.P99), fmt.Sprint(many.Runs),
		})
	}
	return []rig.Table{whole, parts, rig.Bars(r.bars())}
}

// note says where an answer was a refusal.
func (s span) note() string {
	if s.Status == http.StatusUnprocessableEntity {
		return " (refused: too broad)"
	}
	return ""
}

func (r *result) bars() []rig.Bar {
	var all []rig.Bar
	for _, m := range r.whole {
		if m.limit > 0 {
			all = append(all, rig.Bar{
				What: m.Name + ": slowest answer", Limit: rig.Span(m.limit), Found: rig.Span(m.spans[1].P99), Passed: m.spans[1].P99 <= m.limit,
			})
		}
	}
	return all
}

// header says what was measured where.
func (r *result) header() []string {
	m := r.machine
	command := "make bench-report"
	if r.options.size != corpus.Full {
		command = fmt.Sprintf("go run ./bench/report -size %d", r.options.size)
	}
	lines := []string{
		fmt.Sprintf("%s, `%s`", r.date.Format(time.DateOnly), command),
		fmt.Sprintf("%d cores, %s, load average %s before the run, PostgreSQL %s on the same machine", m.Cores, m.Memory, m.Load, m.Server),
		m.Settings,
		fmt.Sprintf("database of %s, built in %s on %s", m.Size, r.built.Took.Round(time.Second), r.built.At.Format(time.DateOnly)),
	}
	if m.Commit != "" {
		lines = append(lines, "commit "+m.Commit)
	}
	return lines
}

// text is the result for a terminal.
func (r *result) text() string {
	return rig.Text(r.header(), r.tables())
}

// markdown is the result for the documents.
func (r *result) markdown() string {
	return rig.Markdown(introduction, r.header(), r.tables())
}

const introduction = `# Benchmark: reports

Written by ` + "`make bench-report`" + `. It starts a PostgreSQL of its own, builds the data (once; later runs find it, and so does the
[benchmark of the list](benchmarks-list.md), which says what is in it) and asks the product's router over HTTP for
` + "`GET /v3/reports/:id/data`" + ` of a prefilled report, twelve components with all their figures at one moment: one client, warm cache. Nothing is kept
between two calls: each answer is counted when it is asked for.

Every fifth feedback has a text, with a sentiment and one or two of 24 topics. Columns named "of 10 k" are the same report in an
organization of 10 thousand feedback, measured in turn with the one of 10 million. p99 is the slowest run where there were fewer than a hundred.

`
