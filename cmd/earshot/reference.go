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

const tracesTail = `
## Traces

` + "`earshot serve`" + ` sends traces (OTLP over HTTP) when one of the first two variables names a collector. They and the others are
OpenTelemetry's own; what is sent is in [operations](operations.md#traces).

| Variable | Default | |
| --- | --- | --- |
| ` + "`OTEL_EXPORTER_OTLP_ENDPOINT`" + ` | none | Collector, such as http://127.0.0.1:4318; /v1/traces is added. |
| ` + "`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`" + ` | none | The same with its path, for traces only. |
| ` + "`OTEL_SDK_DISABLED`" + `, ` + "`OTEL_TRACES_EXPORTER`" + ` | | true, or none: off, whatever the endpoint. |
| ` + "`OTEL_EXPORTER_OTLP_HEADERS`, `_TIMEOUT`, `_COMPRESSION`, `_CERTIFICATE`, `_PROTOCOL`" + ` | | How to send; each also with TRACES_. The protocol is http/protobuf or http/json. |
| ` + "`OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG`" + ` | parentbased_always_on | Which requests are traced. |
| ` + "`OTEL_BSP_SCHEDULE_DELAY`, `OTEL_BSP_MAX_QUEUE_SIZE`" + ` | 5000, 2048 | Milliseconds between sending, and spans that may wait; more are dropped. |
| ` + "`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`" + ` | earshot | What the service is called. |
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
	page.WriteString(tracesTail)
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
