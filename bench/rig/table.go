package rig

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Table is a heading and rows of the same length, the first of which names the columns.
type Table struct {
	Title string
	Rows  [][]string
}

// Text is a table for a terminal.
func (t Table) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", t.Title)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range t.Rows {
		_, _ = w.Write([]byte(strings.Join(row, "\t") + "\n"))
	}
	_ = w.Flush() // into memory
	return b.String()
}

// Markdown is a table for the documents.
func (t Table) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n", t.Title)
	for i, row := range t.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	return b.String()
}

// Text is a report for a terminal.
func Text(header []string, tables []Table) string {
	var b strings.Builder
	for _, line := range header {
		fmt.Fprintln(&b, line)
	}
	for _, t := range tables {
		b.WriteString(t.Text())
	}
	return b.String()
}

// Markdown is a report for the documents.
func Markdown(introduction string, header []string, tables []Table) string {
	var b strings.Builder
	b.WriteString(introduction)
	for _, line := range header {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	for _, t := range tables {
		b.WriteString(t.Markdown())
	}
	return b.String()
}

// Bar is one thing we hold ourselves to.
type Bar struct {
	What   string
	Limit  string
	Found  string
	Passed bool
}

// Bars is a table of them.
func Bars(all []Bar) Table {
	t := Table{"Bars", [][]string{{"bar", "at most", "found", ""}}}
	for _, b := range all {
		verdict := "pass"
		if !b.Passed {
			verdict = "MISSED"
		}
		t.Rows = append(t.Rows, []string{b.What, b.Limit, b.Found, verdict})
	}
	return t
}

// Ratio is a bar on how many times as much.
func Ratio(what string, of, to, limit float64) Bar {
	ratio := of / max(to, 1)
	return Bar{What: what, Limit: fmt.Sprintf("%.1f ×", limit), Found: fmt.Sprintf("%.2f ×", ratio), Passed: ratio <= limit}
}

// Times are how long things took.
type Times []time.Duration

// At is the q-th quantile, 0 without any.
func (t Times) At(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	slices.Sort(t)
	return t[min(len(t)-1, int(q*float64(len(t))))]
}

// Span is a duration in milliseconds, as precise as it is worth.
func Span(d time.Duration) string {
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

// Thousands spells a number with commas.
func Thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Progress tells whoever waits what is happening; results go to stdout, this does not.
func Progress(format string, args ...any) {
	fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), strings.TrimSpace(fmt.Sprintf(format, args...)))
}
