package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// manualCmd is earshot reference. It writes docs/configuration.md, so that the page says what the program does.
type manualCmd struct{}

const referenceHead = `# Configuration

<!-- Written by "earshot reference". Change the help texts in cmd/earshot, then run: make docs -->

Every setting is a flag, and most are also a variable; a flag beats its variable. Durations are written like 10s, 2m or
720h. Mistakes in settings are named all at once, before anything is done. A command exits with 0 when it did what it was
asked, with 1 when it could not and with 2 when it did not understand.

How to choose them is in [operations](operations.md).

## The database

Every command that uses the database finds it by one of these; exactly one is needed.
`

// Run prints every command with its flags, as Markdown. How the database is found is said once, for all.
func (manualCmd) Run(app *kong.Context, std streams) error {
	var page strings.Builder
	page.WriteString(referenceHead)
	commands := app.Model.Leaves(true)
	finding, _ := flagRows(commands[0])
	writeTable(&page, finding)
	for _, command := range commands {
		describeCommand(&page, command)
	}
	_, err := io.WriteString(std.out, page.String())
	return err
}

func describeCommand(page *strings.Builder, command *kong.Node) {
	title := command.FullPath()
	var rows []string
	for _, p := range command.Positional {
		title += " " + p.Summary()
		rows = append(rows, tableRow(p.Summary(), "", "required", p.Help))
	}
	finding, own := flagRows(command)
	fmt.Fprintf(page, "\n## %s\n\n%s\n", title, command.Help)
	if command.Parent.DefaultCmd == command {
		fmt.Fprintf(page, "`%s` alone does the same.\n", command.Parent.FullPath())
	}
	if len(finding) == 0 {
		page.WriteString("It needs no database.\n")
	}
	writeTable(page, append(rows, own...))
}

// flagRows are the flags of a command: those that find the database, and its own.
func flagRows(command *kong.Node) (finding, own []string) {
	for _, group := range command.AllFlags(true) {
		for _, f := range group {
			switch f.Name {
			case "help": // every command has it, and it sets nothing
			case "database-url", "database-url-file":
				finding = append(finding, flagRow(f))
			default:
				own = append(own, flagRow(f))
			}
		}
	}
	return finding, own
}

func writeTable(page *strings.Builder, rows []string) {
	if len(rows) > 0 {
		fmt.Fprintf(page, "\n| Flag | Variable | Default | |\n| --- | --- | --- | --- |\n%s", strings.Join(rows, ""))
	}
}

// inHelp is where a help text says its flag's default, which has a column of its own here.
var inHelp = regexp.MustCompile(` \(default ([^)]*)\)`)

func flagRow(f *kong.Flag) string {
	help, value := f.Help, ""
	if said := inHelp.FindStringSubmatch(help); said != nil {
		help, value = inHelp.ReplaceAllString(help, ""), said[1]
	}
	switch {
	case f.Required:
		value = "required"
	case f.HasDefault:
		value = codeSpan(f.Default)
	}
	return tableRow("--"+f.Name, strings.Join(f.Envs, ", "), value, help)
}

func tableRow(flag, variable, value, help string) string {
	cells := []string{codeSpan(flag), codeSpan(variable), value, help}
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func codeSpan(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
