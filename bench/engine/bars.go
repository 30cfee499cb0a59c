package main

import (
	"fmt"
	"time"

	"earshot/bench/rig"
)

// bars are judged from the figures alone.
func (r *report) bars() []rig.Bar {
	all := r.createBars()
	for _, c := range r.Compared {
		if c.row.units > 0 {
			continue
		}
		what := fmt.Sprintf("%s, %s: pace of ", c.row.name, connections(c.clients))
		least := 0.25
		if c.clients >= 32 {
			least = 0.35
		}
		all = append(all, atLeast(what+"the bare handler's", c.of(byHandler), 0.8), atLeast(what+"pgbench's", c.of(byPgbench), least))
	}
	for _, s := range r.Sized {
		all = append(all, rig.Bar{
			What: s.name + ": time in the large organization against the small", Limit: fmt.Sprintf("≤ %.2f", s.limit),
			Found: fmt.Sprintf("%.2f", s.ratio()), Passed: s.ratio() <= s.limit,
		})
	}
	if s := r.Soaked; s != nil {
		flat := float64(s.last) / float64(max(s.start, 1))
		all = append(all,
			within("soak: p99 of creates", s.took.At(0.99), 25*time.Millisecond), within("soak: longest create", s.took.At(1), 250*time.Millisecond),
			rig.Bar{What: "soak: server's memory at the end against after a tenth", Limit: "≤ 1.25", Found: fmt.Sprintf("%.2f", flat), Passed: flat <= 1.25})
	}
	return all
}

// createBars hold creates to the best that pgbench does with single creates, however many clients it takes, and batches to its batches.
func (r *report) createBars() (all []rig.Bar) {
	var best float64
	for _, c := range r.Compared {
		if c.row.slug == "create" {
			best = max(best, c.ways[byPgbench].rate)
		}
	}
	for _, c := range r.Compared {
		switch {
		case c.row.slug == "create" && c.clients == 1:
			all = append(all, atLeast("create, 1 connection: pace of pgbench's", c.of(byPgbench), 0.6))
		case c.row.slug == "create" && c.clients == 128:
			all = append(all, atLeast("create, 128 connections: pace of pgbench's at its best", c.ways[byEarshot].rate/best, 1.2))
		case c.row.slug == "batch":
			all = append(all, atLeast(fmt.Sprintf("batch create, %s: pace of pgbench's", connections(c.clients)), c.of(byPgbench), 0.6))
		}
	}
	return all
}

func atLeast(what string, found, least float64) rig.Bar {
	return rig.Bar{What: what, Limit: fmt.Sprintf("≥ %.2f", least), Found: fmt.Sprintf("%.2f", found), Passed: found >= least}
}

func within(what string, found, limit time.Duration) rig.Bar {
	return rig.Bar{What: what, Limit: "≤ " + rig.Span(limit), Found: rig.Span(found), Passed: found <= limit}
}
