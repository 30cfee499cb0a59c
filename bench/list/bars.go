package main

import (
	"fmt"

	"earshot/bench/rig"
)

// How much more still counts as the same.
const (
	sizeRatio      = 2.0 // a thousand times the feedback
	depthRatio     = 1.5 // the last page instead of the first
	neighbourRatio = 2.0 // beside a large organization instead of alone
)

// bars are judged from the figures alone.
func (r *report) bars() []rig.Bar {
	var all []rig.Bar
	for _, p := range r.Sizes {
		if way := p.figs[1].Way; p.Page == "first" && (way == "tallies" || way == "tallies_and_edges") {
			all = append(all, rig.Ratio(p.Query+": time at the large size against the small", float64(p.figs[1].P50), float64(p.figs[0].P50), sizeRatio))
		}
	}
	for i, p := range r.Sizes {
		if p.Page == "deepest" {
			first := r.Sizes[i-1]
			all = append(all, rig.Ratio(p.Query+": pages read by the deepest page against the first",
				float64(p.figs[1].Buffers.Page), float64(first.figs[1].Buffers.Page), depthRatio))
		}
	}
	for _, p := range r.Sizes {
		all = append(all, rig.Bar{
			What: fmt.Sprintf("%s, %s page: slowest answer", p.Query, p.Page), Limit: rig.Span(p.limit),
			Found: rig.Span(p.figs[1].P99), Passed: p.figs[1].P99 <= p.limit,
		})
	}
	for _, p := range r.Neighbours {
		alone, beside := p.figs[0], p.figs[1]
		all = append(all,
			rig.Ratio(p.Query+": pages read beside the large organization against alone", float64(beside.Buffers.sum()), float64(alone.Buffers.sum()), neighbourRatio),
			rig.Ratio(p.Query+": time beside the large organization against alone", float64(beside.P50), float64(alone.P50), neighbourRatio))
	}
	return all
}
