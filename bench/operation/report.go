package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"earshot/bench/rig"
)

// report is everything a run found.
type report struct {
	Options   options
	Machine   rig.Machine
	LoadAfter string
	Date      time.Time
	Calls     []measuredCall
	Kills     []rest
	Exact     []exactness
	Pace      []paced
	Undo      []undoing
}

// measuredCall is a bulk call with what went on beside it.
type measuredCall struct {
	name   string
	total  int64
	took   time.Duration // to the answer
	done   time.Duration // from then on, until all was changed
	others *crowd
}

func (r *report) tables() []rig.Table {
	var all []rig.Table
	if len(r.Calls) > 0 {
		calls := rig.Table{Title: "The calls, others listing and creating", Rows: [][]string{{"call", "selected", "answered in", "all changed after"}}}
		for _, c := range r.Calls {
			calls.Rows = append(calls.Rows, []string{c.name, rig.Thousands(c.total), rig.Span(c.took), fmt.Sprintf("%.1f s", c.done.Seconds())})
		}
		all = append(all, calls)
		for _, c := range r.Calls {
			t := c.others.table()
			t.Title += ": " + c.name
			all = append(all, t)
		}
	}
	if len(r.Kills) > 0 {
		kills := rig.Table{Title: "The worker killed with SIGKILL and started again at once", Rows: [][]string{{"kill", "changed before", "changing again after"}}}
		for i, k := range r.Kills {
			kills.Rows = append(kills.Rows, []string{fmt.Sprint(i + 1), rig.Thousands(k.done), fmt.Sprintf("%.1f s", k.rested.Seconds())})
		}
		all = append(all, kills)
	}
	if len(r.Exact) > 0 {
		all = append(all, exactTable(r.Exact))
	}
	if len(r.Pace) > 0 {
		all = append(all, r.paceTable())
	}
	if len(r.Undo) > 0 {
		all = append(all, r.undoTable())
	}
	return append(all, rig.Bars(r.bars()))
}

func (r *report) undoTable() rig.Table {
	t := rig.Table{Title: "Undoing", Rows: [][]string{{
		"change", "hash before", "changed", "undone", "edited before a second undoing", "skipped by it", "restored by it", "skipped are the edited, untouched",
	}}}
	for _, u := range r.Undo {
		t.Rows = append(t.Rows, []string{
			u.name, u.before, u.changed, u.undone, fmt.Sprint(u.edited), fmt.Sprint(u.skipped), rig.Thousands(u.restored), fmt.Sprint(u.asReported),
		})
	}
	return t
}

// bars are what we hold ourselves to.
func (r *report) bars() []rig.Bar {
	var all []rig.Bar
	for _, c := range r.Calls {
		all = append(all, rig.Bar{What: c.name + ": answered in", Limit: "3 s", Found: rig.Span(c.took), Passed: c.took < 3*time.Second})
	}
	if len(r.Kills) > 0 {
		worst := slices.MaxFunc(r.Kills, func(a, b rest) int { return int(a.rested - b.rested) }).rested
		all = append(all, rig.Bar{What: "longest rest after a kill", Limit: "2 min", Found: fmt.Sprintf("%.1f s", worst.Seconds()), Passed: worst < 2*time.Minute})
	}
	for _, e := range r.Exact {
		all = append(all, rig.Bar{
			What: e.what + ": feedback not changed exactly once, or touched though created later", Limit: "0",
			Found: fmt.Sprint(e.selected - e.once + e.outside + e.touched), Passed: e.right(),
		})
	}
	for _, p := range r.Pace {
		ratio := p.rate(byOperation, r.Options.size) / p.rate(byHand, r.Options.size)
		all = append(all, rig.Bar{
			What: p.name + ": pace of the operation, of that of plain SQL", Limit: "(at least) 0.80", Found: fmt.Sprintf("%.2f", ratio), Passed: ratio >= 0.8,
		})
	}
	for _, u := range r.Undo {
		wrong := 0
		if u.before != u.undone || u.changed == u.before {
			wrong = r.Options.size
		}
		all = append(all, rig.Bar{What: u.name + ": feedback different after undoing", Limit: "0", Found: fmt.Sprint(wrong), Passed: wrong == 0})
		off := u.skipped - int64(u.edited)
		all = append(all, rig.Bar{What: u.name + ": skipped by undoing but not edited", Limit: "0", Found: fmt.Sprint(off), Passed: off == 0 && u.asReported})
	}
	return all
}

// wrong is an error when something is not as promised. A bar on time is no promise: it depends on the machine.
func (r *report) wrong() error {
	var all []error
	for _, e := range r.Exact {
		if !e.right() {
			all = append(all, fmt.Errorf("%s: %+v", e.what, e))
		}
	}
	for _, u := range r.Undo {
		if u.before != u.undone || !u.asReported || u.skipped != int64(u.edited) {
			all = append(all, fmt.Errorf("undoing %s: %+v", u.name, u))
		}
	}
	return errors.Join(all...)
}

// header says what was measured where.
func (r *report) header() []string {
	m := r.Machine
	lines := []string{
		fmt.Sprintf("%s, `%s`", r.Date.Format(time.DateOnly), r.command()),
		fmt.Sprintf("%d cores, %s, load average %s before the run and %s at its end, PostgreSQL %s on the same machine", m.Cores, m.Memory, m.Load, r.LoadAfter, m.Server),
		m.Settings,
		fmt.Sprintf("%s feedback in one organization, a database of %s", rig.Thousands(int64(r.Options.size*6/5)), m.Size),
	}
	if m.Commit != "" {
		lines = append(lines, "commit "+m.Commit)
	}
	return lines
}

func (r *report) command() string {
	if r.Options.size == full && r.Options.rounds == rounds {
		return "make bench-operation"
	}
	return fmt.Sprintf("go run ./bench/operation -size %d -rounds %d", r.Options.size, r.Options.rounds)
}

// text is the report for a terminal.
func (r *report) text() string {
	return rig.Text(r.header(), r.tables())
}

// markdown is the report for the documents.
func (r *report) markdown() string {
	return rig.Markdown(introduction, r.header(), r.tables())
}

const introduction = `# Benchmark: operations

Written by ` + "`make bench-operation`" + `. It starts a PostgreSQL of its own, which loses nothing in a crash, builds an organization (once; later runs
find it), and runs the released program as separate processes on copies of it: one with the role api, one with the role worker. Everything
but the plain SQL goes through HTTP.

Every feedback has an order number of its own and three more attributes, two closed answers, and every fifth a text; they are spread over three
years, 12 carriers and 24 sources. Five of six have the region that is selected, as have those that others create while an operation runs:
these came after the call and must be left alone. A change of attributes is answered when it is done, or when ` + "`--bulk-wait`" + ` is over; here
that is a millisecond, so that the time of the call is that of the selection.

"Plain SQL" is the same change written by hand: a statement for each table, over the whole selection, in one transaction that writes the same
rows of feedback and history, and their deltas; what is selected is known to it. "The bare UPDATE" is the last of these statements alone. Each is measured
on a fresh copy, in turn, with the same two processes beside it, which fold what the operation leaves while it runs, and what plain SQL leaves
afterwards. The pace is that of the fastest round; the processor time is PostgreSQL's, of all its processes, in the cheapest round.

On one connection, without the service, the statements of an operation cost about what plain SQL costs (attaching to 60,000 feedback, one run: 35 µs of
processor time each against 33). What an operation loses it loses beside the running service. Samples taken in other runs of the same changes say where
to look, not how much it is: in every eighth (attributes) or twelfth (status) PostgreSQL waited for the worker between two statements, and beside it the
index's pending list was cleaned, deltas were folded and, with others listing, dead rows were vacuumed, on the same cores. Plain SQL has most of that still
before it when it is done.

`
