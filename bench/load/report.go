package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"earshot/bench/rig"
)

// outcome is what one run found. Rules hold on every machine; bars are about speed, and judged in the long form only.
type outcome struct {
	tables      []rig.Table
	rules, bars []rig.Bar
}

// report is everything that was found.
type report struct {
	options
	Machine  rig.Machine
	Date     time.Time
	Outcomes []outcome
}

// none is a rule that something must not happen.
func none(what string, n int) rig.Bar {
	return rig.Bar{What: what, Limit: "0", Found: fmt.Sprint(n), Passed: n == 0}
}

// some is a rule that something must happen.
func some(what string, n int) rig.Bar {
	return rig.Bar{What: what, Limit: "≥ 1", Found: fmt.Sprint(n), Passed: n > 0}
}

// within is a bar on how long something takes.
func within(what string, found, limit time.Duration) rig.Bar {
	return rig.Bar{What: what, Limit: rig.Span(limit), Found: rig.Span(found), Passed: found <= limit}
}

// judgement is every rule and bar.
func (r *report) judgement() rig.Table {
	var all []rig.Bar
	for _, o := range r.Outcomes {
		all = slices.Concat(all, o.rules, o.bars)
	}
	return rig.Bars(all)
}

// err names what was broken.
func (r *report) err() error {
	var broken []error
	for _, o := range r.Outcomes {
		held := o.rules
		if !r.short {
			held = slices.Concat(o.rules, o.bars)
		}
		for _, b := range held {
			if !b.Passed {
				broken = append(broken, fmt.Errorf("%s: %s, and %s is allowed", b.What, b.Found, b.Limit))
			}
		}
	}
	return errors.Join(broken...)
}

// header says what was measured where.
func (r *report) header() []string {
	m := r.Machine
	lines := []string{
		fmt.Sprintf("%s, `%s`", r.Date.Format(time.DateOnly), r.command()),
		fmt.Sprintf("%d cores, %s, load average %s before the run; PostgreSQL %s and the clients share them", m.Cores, m.Memory, m.Load, m.Server),
		m.Settings,
	}
	if m.Commit != "" {
		lines = append(lines, "commit "+m.Commit)
	}
	return lines
}

func (r *report) command() string {
	if r.short {
		return "go run ./bench/load -short"
	}
	return "make load"
}

func (r *report) markdown() string {
	var tables []rig.Table
	for _, o := range r.Outcomes {
		tables = append(tables, o.tables...)
	}
	return rig.Markdown(introduction, r.header(), append(tables, r.judgement()))
}

const introduction = `# Benchmark: under load

Written by ` + "`make load`" + `: real processes, real HTTP, a PostgreSQL of its own that loses nothing in a crash. Clients are connections kept alive
that send bytes made beforehand, so that little of the machine is theirs; still, they, the servers and PostgreSQL share its cores.

`
