// Command operation measures changes of many feedback at once with real processes on a PostgreSQL of its own: how long the call takes, what
// lists take meanwhile, how long work rests when a worker is killed and that it is then done exactly once, how fast it is beside plain
// SQL that writes the same rows, and that undoing restores every row.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/bench/rig"
)

// reportFile is where a full run leaves its figures.
const reportFile = "docs/benchmarks-operation.md"

// full is how many feedback a full run selects.
const full = 1_000_000

// rounds is how often it measures each way of changing.
const rounds = 3

// settings are what the server runs with beyond PostgreSQL's defaults. Nothing is lost in a crash: fsync is on.
var settings = [][2]string{
	{"shared_buffers", "2GB"},
	{"maintenance_work_mem", "512MB"},
	{"fsync", "on"},
	{"synchronous_commit", "on"},
	{"max_wal_size", "8GB"},
	{"checkpoint_timeout", "15min"},
}

type options struct {
	size   int
	kills  int
	rounds int
	edits  int
	only   string
	port   int
	clean  bool
}

func main() {
	var o options
	flag.IntVar(&o.size, "size", full, "feedback selected; the organization has a fifth more")
	flag.IntVar(&o.kills, "kills", 10, "how often the worker is killed")
	flag.IntVar(&o.rounds, "rounds", rounds, "how often each way of changing is measured")
	flag.IntVar(&o.edits, "edits", 500, "feedback edited between a change and its undoing")
	flag.StringVar(&o.only, "only", "", "make only the run whose name contains this: calls, kills, pace or undo")
	flag.IntVar(&o.port, "port", 5486, "port for the PostgreSQL server")
	flag.BoolVar(&o.clean, "clean", false, "stop the server and remove its data")
	flag.Parse()
	rig.Main("bench-operation", func(ctx context.Context) error { return run(ctx, o) })
}

// bench is what every run needs.
type bench struct {
	options
	server *rig.Server
	dir    string // for what is left behind
	binary string
	report *report
}

// runs are what there is to look at.
var runs = []struct {
	name string
	run  func(*bench, context.Context) error
}{
	{"calls", (*bench).calls},
	{"kills", (*bench).killed},
	{"pace", (*bench).pace},
	{"undo", (*bench).undo},
}

func run(ctx context.Context, o options) (err error) {
	s, err := rig.NewServer(o.port, settings)
	if err != nil {
		return err
	}
	if err := s.Lock(); err != nil {
		return err
	}
	if o.clean {
		return s.Remove(ctx)
	}
	if o.size < 20_000 || o.size%5_000 != 0 {
		return errors.New("-size must be a multiple of 5000, and at least 20000")
	}
	load := rig.LoadAverage()
	if err := s.Start(ctx); err != nil {
		return err
	}
	// It must happen after an interrupt, too.
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	b := &bench{options: o, server: s, report: &report{Options: o, Date: time.Now().UTC()}}
	if b.dir, err = os.MkdirTemp("", "earshot-operation"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir) //nolint:errcheck // it is a temporary directory
	if b.binary, err = compile(ctx, b.dir); err != nil {
		return err
	}
	if err := b.build(ctx); err != nil {
		return fmt.Errorf("build the data: %w", err)
	}
	if b.report.Machine, err = rig.Describe(ctx, s.URL(b.base())); err != nil {
		return err
	}
	b.report.Machine.Load = load
	for _, r := range runs {
		if !strings.Contains(r.name, o.only) {
			continue
		}
		if err := r.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	b.report.LoadAfter = rig.LoadAverage()
	fmt.Print(b.report.text())
	if o == (options{size: full, kills: o.kills, rounds: o.rounds, edits: o.edits, port: o.port}) {
		err = os.WriteFile(reportFile, []byte(b.report.markdown()), 0o644)
	}
	return errors.Join(err, b.report.wrong())
}

// execute runs statements in a database, one after the other.
func (b *bench) execute(ctx context.Context, database string, statements ...string) error {
	conn, err := pgx.Connect(ctx, b.server.URL(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left open on it
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(strings.Fields(sql), " "), err)
		}
	}
	return nil
}
