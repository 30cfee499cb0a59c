// Command text measures what reading texts costs with real processes on a PostgreSQL of its own: the rate of creates with it and without, and how
// fast a million texts are read again while the process that does it is killed time and again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/bench/rig"
)

// reportFile is where a full run leaves its figures.
const reportFile = "docs/benchmarks-text.md"

// full is how many texts a full run reads again.
const full = 1_000_000

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
	texts  int
	kills  int
	rounds int
	each   time.Duration
	port   int
	clean  bool
}

func main() {
	var o options
	flag.IntVar(&o.texts, "texts", full, "texts that are read again")
	flag.IntVar(&o.kills, "kills", 3, "how often the process is killed meanwhile")
	flag.IntVar(&o.rounds, "rounds", 7, "how often creates are measured each way")
	flag.DurationVar(&o.each, "each", 5*time.Second, "how long one of these takes")
	flag.IntVar(&o.port, "port", 5487, "port for the PostgreSQL server")
	flag.BoolVar(&o.clean, "clean", false, "stop the server and remove its data")
	flag.Parse()
	rig.Main("bench-text", func(ctx context.Context) error { return run(ctx, o) })
}

// bench is what both runs need.
type bench struct {
	options
	program *rig.Program
	url     string // of the database
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
	load := rig.LoadAverage()
	if err := s.Start(ctx); err != nil {
		return err
	}
	// It must happen after an interrupt, too.
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	b := &bench{options: o, url: s.URL("text")}
	if err := fresh(ctx, s); err != nil {
		return err
	}
	if b.program, err = rig.Compile(ctx); err != nil {
		return err
	}
	defer b.program.Remove() //nolint:errcheck // it is a temporary directory
	if _, err := b.program.Run(ctx, b.url, "migrate"); err != nil {
		return err
	}
	written, err := b.creates(ctx)
	if err != nil {
		return fmt.Errorf("creates: %w", err)
	}
	again, err := b.reread(ctx)
	if err != nil {
		return fmt.Errorf("read again: %w", err)
	}
	machine, err := rig.Describe(ctx, b.url)
	if err != nil {
		return err
	}
	machine.Load = load
	r := report{options: o, machine: machine, after: rig.LoadAverage(), date: time.Now().UTC(), written: written, again: again}
	fmt.Print(r.text())
	if o.texts == full {
		err = os.WriteFile(reportFile, []byte(r.markdown()), 0o644)
	}
	return errors.Join(err, again.wrong())
}

// fresh makes an empty database in place of the one of the run before.
func fresh(ctx context.Context, s *rig.Server) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left open on it
	for _, sql := range []string{
		`DROP DATABASE IF EXISTS text WITH (FORCE)`,
		`CREATE DATABASE text TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
