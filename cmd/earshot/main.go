// Command earshot is the whole product in one binary: the service, the schema and what an operator needs.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/alecthomas/kong"
)

type commands struct {
	Serve      serveCmd      `cmd:"" help:"Answer HTTP requests until told to stop."`
	Migrate    migrateCmd    `cmd:"" help:"Bring the database schema up to date, or say where it stands."`
	Init       initCmd       `cmd:"" help:"Set up an organization to start with: a user, a carrier with questions, a token."`
	Org        orgCmd        `cmd:"" help:"List, show, create and change organizations."`
	Team       teamCmd       `cmd:"" help:"List, create, rename and delete teams."`
	User       userCmd       `cmd:"" help:"List, show, create, change and delete users."`
	Token      tokenCmd      `cmd:"" help:"Create, list and revoke access tokens."`
	Carrier    carrierCmd    `cmd:"" help:"List, show, create, rename, move, archive and delete carriers."`
	Question   questionCmd   `cmd:"" help:"List, show, create, change, archive and delete questions."`
	Topic      topicCmd      `cmd:"" help:"List, show, add, change and remove topics; take the starter catalogue; have some suggested."`
	Analysis   analysisCmd   `cmd:"" help:"Show and change how texts are read, and have them read again."`
	Operation  operationCmd  `cmd:"" help:"List, follow, cancel and undo bulk changes."`
	Optout     optoutCmd     `cmd:"" help:"List, add, remove, check and import targets that no push may reach."`
	Report     reportCmd     `cmd:"" help:"List, show and share reports."`
	Demo       demoCmd       `cmd:"" help:"Fill an organization with three years of invented feedback, to look at and to try things on."`
	Verify     verifyCmd     `cmd:"" help:"Recount feedback and compare with the tallies that totals come from."`
	Completion completionCmd `cmd:"" help:"Print a script that completes commands and flags in a shell."`
	Version    versionCmd    `cmd:"" help:"Print the version of this binary and of the schema it needs."`
	Manual     manualCmd     `cmd:"" name:"reference" hidden:"" help:"Print the reference of commands and settings, as Markdown."`
}

// password finds what must not be echoed when a database URL is given where none belongs.
var password = regexp.MustCompile(`://[^\s@]*@`)

// streams is where a command writes: results to out, everything else to err.
type streams struct{ out, err io.Writer }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
	os.Exit(code)
}

// run executes one command line and returns the exit code: 0 done, 1 failed, 2 not understood.
func run(ctx context.Context, args []string, std streams) int {
	code := -1
	parser, err := kong.New(&commands{},
		kong.Name("earshot"),
		kong.Description("Self-hosted customer feedback: one binary on PostgreSQL. Every flag that names a variable can be set by it instead."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(c int) { code = c }),
		kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(std),
	)
	if err != nil {
		panic(err)
	}
	command, err := parser.Parse(args)
	if code >= 0 { // help was asked for and given
		return code
	}
	if err != nil {
		fmt.Fprintf(std.err, "earshot: %s\nSee earshot --help.\n", password.ReplaceAllString(err.Error(), "://…@"))
		return 2
	}
	if err := command.Run(); err != nil {
		complain(std.err, err)
		return 1
	}
	return 0
}
