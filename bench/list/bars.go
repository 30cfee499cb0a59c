package main

import (
	"fmt"
	"time"
)

// bar is one thing we hold ourselves to.
type bar struct {
	What   string
	Limit  string
	Found  string
	Passed bool
}

// How much more still counts as the same.
const (
	sizeRatio      = 2.0 // a thousand times the feedback
	depthRatio     = 1.5 // the last page instead of the first
	neighbourRatio = 2.0 // beside a large organization instead of alone
)

// bars are judged from the figures alone.
func (r *report) bars() []bar {
	var all []bar
	for _, p := range r.Sizes {
		if way := p.figs[1].Way; p.Page == "first" && (way == "tallies" || way == "tallies_and_edges") {
			all = append(all, ratioBar(p.Query+": time at the large size against the small", float64(p.figs[1].P50), float64(p.figs[0].P50), sizeRatio))
		}
	}
	for i, p := range r.Sizes {
		if p.Page == "deepest" {
			first := r.Sizes[i-1]
			all = append(all, ratioBar(p.Query+": pages read by the deepest page against the first",
				float64(p.figs[1].Buffers.Page), float64(first.figs[1].Buffers.Page), depthRatio))
		}
	}
	for _, p := range r.Sizes {
		all = append(all, bar{
			What: fmt.Sprintf("%s, %s page: slowest answer", p.Query, p.Page), Limit: span(p.limit),
			Found: span(p.figs[1].P99), Passed: p.figs[1].P99 <= p.limit,
		})
	}
	for _, p := range r.Neighbours {
		alone, beside := p.figs[0], p.figs[1]
		all = append(all,
			ratioBar(p.Query+": pages read beside the large organization against alone", float64(beside.Buffers.sum()), float64(alone.Buffers.sum()), neighbourRatio),
			ratioBar(p.Query+": time beside the large organization against alone", float64(beside.P50), float64(alone.P50), neighbourRatio))
	}
	return all
}

func ratioBar(what string, of, to, limit float64) bar {
	ratio := of / max(to, 1)
	return bar{What: what, Limit: fmt.Sprintf("%.1f ×", limit), Found: fmt.Sprintf("%.2f ×", ratio), Passed: ratio <= limit}
}

func (b bar) verdict() string {
	if b.Passed {
		return "pass"
	}
	return "MISSED"
}

// span is a duration in milliseconds, as precise as it is worth.
func span(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms < 10:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 100:
		return fmt.Sprintf("%.1f ms", ms)
	default:
		return fmt.Sprintf("%.0f ms", ms)
	}
}
