package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/optout"
)

type optoutCmd struct {
	List   optoutListCmd   `cmd:"" help:"List the targets that no push may reach, the newest first."`
	Add    optoutAddCmd    `cmd:"" help:"Put a target on the list. One that is there already is shown as it is."`
	Remove optoutRemoveCmd `cmd:"" help:"Take a target off the list. Nothing is asked."`
	Check  optoutCheckCmd  `cmd:"" help:"Say which of some targets no push may reach."`
	Import optoutImportCmd `cmd:"" help:"Put the targets of a file on the list, all of them or, when one is not valid, none. Safe to repeat."`
}

type optoutListCmd struct {
	organization
	output
	Target string `placeholder:"TARGET" help:"Only this target, in any spelling of its case; * stands for any characters."`
}

// Run lists the opt-outs.
func (c *optoutListCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		found, _, err := s.optouts.List(ctx, v, optout.Query{Target: c.Target, Limit: everything})
		if err != nil {
			return err
		}
		return printAll(std.out, c.JSON, found, optoutRowOf)
	})
}

// chosenTarget is a command about one target.
type chosenTarget struct {
	organization
	output
	Target string `arg:"" help:"The target, usually an e-mail address, in any spelling of its case."`
}

type optoutAddCmd struct{ chosenTarget }

// Run adds the target.
func (c *optoutAddCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		var form fault.Form
		added, _, err := s.optouts.Add(ctx, v, c.Target, &form)
		if err != nil {
			return err
		}
		return printOne(std.out, c.JSON, optoutRowOf(added))
	})
}

type optoutRemoveCmd struct{ chosenTarget }

// Run removes the target.
func (c *optoutRemoveCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		var form fault.Form
		if err := s.optouts.Remove(ctx, v, c.Target, &form); err != nil {
			return err
		}
		return printRemoved(std.out, c.JSON, "The target was taken off the list.")
	})
}

type optoutCheckCmd struct {
	organization
	output
	Targets []string `arg:"" help:"The targets, in any spelling of their case."`
}

// Run checks the targets.
func (c *optoutCheckCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		var form fault.Form
		since, err := s.optouts.Check(ctx, v, c.Targets, &form)
		if err != nil {
			return err
		}
		rows := make([]standingRow, len(since))
		for i, at := range since {
			rows[i] = standingRow{c.Targets[i], at != nil, optionalStamp(at)}
		}
		return printAll(std.out, c.JSON, rows, func(r standingRow) standingRow { return r })
	})
}

type optoutImportCmd struct {
	organization
	output
	File string `arg:"" help:"A text file with one target in each line, or - for standard input. Empty lines are passed over."`
}

// Run imports the file.
func (c *optoutImportCmd) Run(ctx context.Context, std streams) error {
	targets, err := readTargets(c.File)
	if err != nil {
		return err
	}
	return c.with(ctx, func(s stores, v account.View) error {
		var sum additionRow
		for batch := range slices.Chunk(targets, optout.MaxTargets) {
			var form fault.Form
			added, already, err := s.optouts.AddAll(ctx, v, batch, &form)
			if err != nil {
				return err
			}
			sum.Added += added
			sum.Already += already
		}
		return printOne(std.out, c.JSON, sum)
	})
}

// readTargets reads the lines of a file that are not empty. It refuses all of them when one cannot be a target, and names the first few
// of those by their line: nothing is added before everything can be.
func readTargets(file string) ([]string, error) {
	in := io.ReadCloser(os.Stdin)
	if file != "-" {
		var err error
		if in, err = os.Open(file); err != nil {
			return nil, err
		}
		defer in.Close() //nolint:errcheck // it was only read
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var (
		targets []string
		form    fault.Form
		wrong   int
	)
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		number++
		target := strings.TrimSpace(line)
		mistake := ""
		switch {
		case target == "":
			continue
		case !utf8.ValidString(target) || strings.ContainsRune(target, 0):
			mistake = "is not text in UTF-8"
		case utf8.RuneCountInString(target) > optout.MaxTarget:
			mistake = fmt.Sprintf("is longer than %d characters", optout.MaxTarget)
		}
		if mistake != "" {
			if wrong++; wrong <= 10 {
				form.Add(fmt.Sprintf("line %d", number), "%s", mistake)
			}
		}
		targets = append(targets, target)
	}
	if len(targets) == 0 {
		return nil, fault.New(fault.ValidationFailed, "There is no target in this file.")
	}
	return targets, form.Err()
}

type optoutRow struct {
	Target    string `json:"target"`
	CreatedAt stamp  `json:"created_at"`
}

func optoutRowOf(o optout.OptOut) optoutRow { return optoutRow{o.Target, stamp(o.CreatedAt)} }

func (optoutRow) titles() []string { return []string{"TARGET", "CREATED"} }

func (r optoutRow) cells() []any { return []any{r.Target, r.CreatedAt} }

type standingRow struct {
	Target       string `json:"target"`
	Unsubscribed bool   `json:"unsubscribed"`
	CreatedAt    *stamp `json:"created_at"`
}

func (standingRow) titles() []string { return []string{"TARGET", "UNSUBSCRIBED", "SINCE"} }

func (r standingRow) cells() []any {
	since := ""
	if r.CreatedAt != nil {
		since = r.CreatedAt.String()
	}
	return []any{r.Target, yesNo(r.Unsubscribed), since}
}

type additionRow struct {
	Added   int `json:"added"`
	Already int `json:"already"`
}

func (additionRow) titles() []string { return []string{"ADDED", "ALREADY"} }

func (r additionRow) cells() []any { return []any{r.Added, r.Already} }
