// Command load puts earshot serve under load and looks at what an operator relies on: a process told to stop loses nothing, one
// organization's heavy filters do not slow down another's creates, and more than can be done is refused quickly. It runs real
// processes over HTTP, prints what it found and fails when a rule is broken.
//
// With -short it takes half a minute and holds only to what is true on any machine; the figures are printed all the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/bench/rig"
)

// reportFile is where a full run leaves its figures.
const reportFile = "docs/benchmarks-load.md"

// settings are those of a small server that loses nothing in a crash.
var settings = [][2]string{
	{"shared_buffers", "1GB"},
	{"max_connections", "200"},
	{"fsync", "on"},
	{"synchronous_commit", "on"},
	{"max_wal_size", "4GB"},
}

type options struct {
	short    bool
	only     string
	database string
	port     int
	clean    bool
}

func main() {
	var o options
	flag.BoolVar(&o.short, "short", false, "take half a minute and hold only to what is true on any machine")
	flag.StringVar(&o.only, "only", "", "make only the run whose name contains this: stop, neighbour or overload")
	flag.StringVar(&o.database, "database", "", "URL of a PostgreSQL server to make databases in (default a server of its own)")
	flag.IntVar(&o.port, "port", 5478, "port for the PostgreSQL server of its own")
	flag.BoolVar(&o.clean, "clean", false, "stop that server and remove its data")
	flag.Parse()
	rig.Main("load", func(ctx context.Context) error { return run(ctx, o) })
}

// bench is what every run needs.
type bench struct {
	options
	program *rig.Program
	server  string // URL of a database to make others from
}

// runs are what there is to look at.
var runs = []struct {
	name string
	run  func(*bench, context.Context) (outcome, error)
}{
	{"stop", (*bench).stopUnderLoad},
	{"neighbour", (*bench).noisyNeighbour},
	{"overload", (*bench).overload},
}

func run(ctx context.Context, o options) (err error) {
	b := &bench{options: o, server: o.database}
	load := rig.LoadAverage()
	if b.server == "" {
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
		if err := s.Start(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
		b.server = s.URL("postgres")
	}
	if b.program, err = rig.Compile(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.program.Remove()) }()
	r := report{options: o, Date: time.Now().UTC()}
	if r.Machine, err = rig.Describe(ctx, b.server); err != nil {
		return err
	}
	r.Machine.Load = load
	fmt.Println(strings.Join(r.header(), "\n"))
	for _, step := range runs {
		if !strings.Contains(step.name, o.only) {
			continue
		}
		rig.Progress("%s", step.name)
		found, err := step.run(b, ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		for _, t := range found.tables {
			fmt.Print(t.Text())
		}
		r.Outcomes = append(r.Outcomes, found)
	}
	fmt.Print(r.judgement().Text())
	if !o.short && o.only == "" && o.database == "" {
		if err := os.WriteFile(reportFile, []byte(r.markdown()), 0o644); err != nil {
			return err
		}
	}
	return r.err()
}

// fresh makes an empty database; drop removes it.
func (b *bench) fresh(ctx context.Context, name string) (address string, drop func(), err error) {
	u, err := url.Parse(b.server)
	if err != nil {
		return "", nil, err
	}
	name = fmt.Sprintf("earshot_load_%s_%d", name, os.Getpid())
	if err := b.admin(ctx, `CREATE DATABASE `+name+` TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'`); err != nil {
		return "", nil, err
	}
	u.Path = "/" + name
	return u.String(), func() {
		if err := b.admin(context.WithoutCancel(ctx), `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			rig.Progress("%v", err)
		}
	}, nil
}

func (b *bench) admin(ctx context.Context, sql string) error { return execute(ctx, b.server, sql) }

// execute runs statements in a database, one after the other.
func execute(ctx context.Context, database string, statements ...string) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left open on it
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
