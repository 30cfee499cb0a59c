package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"earshot/internal/fault"
)

// output is how a command prints its result.
type output struct {
	JSON bool `name:"json" help:"Print JSON, for scripts."`
}

// line is one thing a command prints: an object with the keys of the HTTP interface for scripts, a line of a table for
// people.
type line interface {
	titles() []string
	cells() []any
}

// printAll prints a list, as an array or as a table.
func printAll[T any, R line](w io.Writer, asJSON bool, all []T, as func(T) R) error {
	rows := make([]R, len(all))
	for i, one := range all {
		rows[i] = as(one)
	}
	if asJSON {
		return printJSON(w, rows)
	}
	return printTable(w, rows)
}

// printOne prints one thing, as an object or as a table of one line.
func printOne[R line](w io.Writer, asJSON bool, one R) error {
	if asJSON {
		return printJSON(w, one)
	}
	return printTable(w, []R{one})
}

func printJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

func printTable[R line](w io.Writer, rows []R) error {
	var none R
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(none.titles(), "\t"))
	for _, r := range rows {
		cells := r.cells()
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = strings.Map(printable, fmt.Sprint(c))
		}
		fmt.Fprintln(table, strings.Join(texts, "\t"))
	}
	return table.Flush()
}

// printable keeps names that clients chose from breaking a table, or from commanding a terminal.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// removal is what the HTTP interface answers when something is gone.
type removal struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

func printRemoved(w io.Writer, asJSON bool, message string) error {
	if asJSON {
		return printJSON(w, removal{Type: "success", Message: message})
	}
	_, err := fmt.Fprintln(w, message)
	return err
}

// complain prints an error for a person: what a fault says, without its code; of several mistakes, each in a line of its own.
func complain(w io.Writer, err error) {
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok {
		fmt.Fprintln(w, "earshot:", err)
		return
	}
	var lines []string
	for _, field := range slices.Sorted(maps.Keys(f.Fields)) {
		for _, sentence := range f.Fields[field] {
			lines = append(lines, field+": "+sentence)
		}
	}
	if len(lines) < 2 {
		lines = []string{"earshot: " + f.Message}
	}
	fmt.Fprintln(w, strings.Join(lines, "\n"))
}

// stamp is a time in the form of the HTTP interface.
type stamp time.Time

// MarshalJSON writes the time in UTC.
func (s stamp) MarshalJSON() ([]byte, error) {
	return time.Time(s).UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000000Z"`), nil
}

// String is the day, for people.
func (s stamp) String() string { return time.Time(s).UTC().Format(time.DateOnly) }

func optionalStamp(t *time.Time) *stamp {
	if t == nil {
		return nil
	}
	return new(stamp(*t))
}

func state(archived *stamp) string {
	if archived != nil {
		return "archived"
	}
	return "active"
}

// given is the text of a flag. One that is given and empty, from a variable nobody set, must not count as left out: as a blank it is
// refused.
func given[T ~string](text *T) T {
	switch {
	case text == nil:
		return ""
	case *text == "":
		return " "
	}
	return *text
}

// whole is the number of a flag, 0 when it is left out.
func whole(form *fault.Form, field string, n *int64, low, high int64) int64 {
	if n == nil {
		return 0
	}
	if *n < low || *n > high {
		form.Add(field, "must be a whole number from %d to %d", low, high)
		return 0
	}
	return *n
}

// Limits of what is given and listed.
const (
	maxID      = 1<<53 - 1 // JSON keeps it exact
	everything = 1<<31 - 1 // a list has no pages here
)

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
