package main

import (
	"fmt"
	"slices"
	"time"

	"earshot/bench/rig"
)

type report struct {
	options
	machine rig.Machine
	after   string
	date    time.Time
	written written
	again   again
}

func (r report) tables() []rig.Table {
	creates := rig.Table{Title: "Creates", Rows: [][]string{{"", "median a second", "lowest", "highest"}}}
	for _, side := range []struct {
		name  string
		rates []float64
	}{{"texts are read", r.written.read}, {"texts are not read", r.written.unread}} {
		creates.Rows = append(creates.Rows, []string{
			side.name, fmt.Sprintf("%.0f", median(side.rates)), fmt.Sprintf("%.0f", slices.Min(side.rates)), fmt.Sprintf("%.0f", slices.Max(side.rates)),
		})
	}
	creates.Rows = append(creates.Rows, []string{"ratio of the medians", fmt.Sprintf("%.3f", r.ratio()), "", ""})
	reread := rig.Table{Title: "Reading again", Rows: [][]string{
		{"", ""},
		{"feedback with texts", rig.Thousands(r.again.texts)},
		{"at work", fmt.Sprintf("%.0f s", r.again.took.Seconds())},
		{"feedback a second", rig.Thousands(int64(float64(r.again.texts) / r.again.took.Seconds()))},
		{fmt.Sprintf("killed %d times, went on after", len(r.again.rests)), spell(r.again.rests)},
		{"read otherwise than when they were created", fmt.Sprint(r.again.different)},
		{"not read", fmt.Sprint(r.again.outdated)},
		{"counts that are wrong", fmt.Sprint(r.again.drift)},
	}}
	bar := rig.Table{Title: "Bars", Rows: [][]string{{"bar", "at least", "found", ""}, {"creates with reading, of those without", "0.90", fmt.Sprintf("%.3f", r.ratio()), verdict(r.ratio() >= 0.9)}}}
	return []rig.Table{creates, reread, bar}
}

func (r report) ratio() float64 { return median(r.written.read) / median(r.written.unread) }

func verdict(passed bool) string {
	if passed {
		return "pass"
	}
	return "MISSED"
}

// header says what was measured where.
func (r report) header() []string {
	command := "make bench-reading"
	if r.texts != full {
		command = fmt.Sprintf("go run ./bench/text -texts %d", r.texts)
	}
	lines := []string{
		fmt.Sprintf("%s, `%s`", r.date.Format(time.DateOnly), command),
		fmt.Sprintf("%d cores, %s, load average %s before the run and %s at its end, PostgreSQL %s on the same machine",
			r.machine.Cores, r.machine.Memory, r.machine.Load, r.after, r.machine.Server),
		r.machine.Settings,
	}
	if r.machine.Commit != "" {
		lines = append(lines, "commit "+r.machine.Commit)
	}
	return lines
}

// text is the report for a terminal.
func (r report) text() string {
	return rig.Text(r.header(), r.tables())
}

// markdown is the report for the documents.
func (r report) markdown() string {
	return rig.Markdown(introduction, r.header(), r.tables())
}

const introduction = `# Benchmark: reading texts

Written by ` + "`make bench-reading`" + `. It starts a PostgreSQL of its own, which loses nothing in a crash, and runs the released program as a process.

Creates: eight connections send feedback with a score, a rating and a text of 120 characters, in five languages, in turn to an organization whose texts
are read for the topics of the starter catalogue and to one whose texts are not read at all.

Reading again: feedback with texts as ` + "`earshot demo`" + ` makes it is kept as it was read, then what was read is taken away, and what is left is copied. A server
that finds it reads all of it, as after an upgrade, and writes spans, sentiment, topics, satisfaction, and counts. It is killed with -9 on the way, and
another one started at once. In the end every feedback must have been read as it was when it was created, and every count be exact.

`
