package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"earshot/internal/pg/pgtest"
)

// The command line does what its help says. Every script has an empty database of its own in EARSHOT_DATABASE_URL and
// nothing else of the environment but PATH. Beside testscript's own commands there are
//
//	exits CODE PROGRAM ARG...   run it and expect this exit code
//	[!] field FILE PATH TEXT    the member of a JSON document, such as questions.nps or 0.id, is this
//	keys FILE PATH NAME...      the object there, . for the whole, has exactly these members
//	save FILE PATH VARIABLE     put the member into a variable
//	sql STATEMENT               run it in the script's database
//
// FILE may be stdout, which must then be one JSON document on one line and nothing else.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			t := e.T().(testing.TB)
			e.Values[contextKey{}] = t.Context()
			e.Setenv("EARSHOT_DATABASE_URL", pgtest.Empty(t, ""))
			e.Setenv("GORACE", promptExit)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "field": field, "keys": keys, "save": save, "sql": sql,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) < 2, "exits CODE PROGRAM ARG...")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	err = ts.Exec(args[1], args[2:]...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		code = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func field(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) != 3, "[!] field FILE PATH TEXT")
	if got := text(ts, member(ts, args[0], args[1])); (got == args[2]) == neg {
		ts.Fatalf("%s is %s", args[1], got)
	}
}

func keys(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) < 3, "keys FILE PATH NAME...")
	object, ok := member(ts, args[0], args[1]).(map[string]any)
	if !ok {
		ts.Fatalf("%s is no object", args[1])
	}
	got, want := slices.Sorted(maps.Keys(object)), slices.Sorted(slices.Values(args[2:]))
	if !slices.Equal(got, want) {
		ts.Fatalf("%s has the members %v, want %v", args[1], got, want)
	}
}

func save(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) != 3, "save FILE PATH VARIABLE")
	ts.Setenv(args[2], text(ts, member(ts, args[0], args[1])))
}

func sql(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) != 1, "sql STATEMENT")
	ctx := ts.Value(contextKey{}).(context.Context)
	conn, err := pgx.Connect(ctx, ts.Getenv("EARSHOT_DATABASE_URL"))
	ts.Check(err)
	defer conn.Close(ctx) //nolint:errcheck // nothing was left open on it
	_, err = conn.Exec(ctx, args[0])
	ts.Check(err)
}

// contextKey is where a script keeps the context of its test.
type contextKey struct{}

func usage(ts *testscript.TestScript, wrong bool, text string) {
	if wrong {
		ts.Fatalf("usage: %s", text)
	}
}

// member reads a JSON document and goes down a dotted path.
func member(ts *testscript.TestScript, file, path string) any {
	document := ts.ReadFile(file)
	if strings.Count(document, "\n") != 1 || !strings.HasSuffix(document, "\n") {
		ts.Fatalf("%s is not one line", file)
	}
	d := json.NewDecoder(strings.NewReader(document))
	d.UseNumber()
	var at any
	ts.Check(d.Decode(&at))
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		ts.Fatalf("%s holds more than one JSON document", file)
	}
	if path == "." {
		return at
	}
	for name := range strings.SplitSeq(path, ".") {
		next, err := step(at, name)
		if err != nil {
			ts.Fatalf("%s: %v", path, err)
		}
		at = next
	}
	return at
}

func step(at any, name string) (any, error) {
	switch v := at.(type) {
	case map[string]any:
		if next, ok := v[name]; ok {
			return next, nil
		}
	case []any:
		if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < len(v) {
			return v[n], nil
		}
	}
	return nil, fmt.Errorf("there is no %s", name)
}

// text is a string as it is, and anything else as JSON spells it, members in the order of their names.
func text(ts *testscript.TestScript, v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	ts.Check(err)
	return string(b)
}
