// Command list measures the list of feedback: pages and exact totals in an organization of 10 thousand and one of 10 million on one
// server, and a small organization beside the large one against the same one alone. It starts a PostgreSQL of its own, builds the
// data once and keeps it for later runs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"earshot/bench/corpus"
	"earshot/bench/rig"
)

// reportFile is where a full run leaves its figures.
const reportFile = "docs/benchmarks-list.md"

type options struct {
	size  int
	only  string
	port  int
	plans bool
	keep  bool
	clean bool
}

func main() {
	var o options
	flag.IntVar(&o.size, "size", corpus.Full, "feedback in the large organization")
	flag.StringVar(&o.only, "only", "", "measure only queries whose name contains this")
	flag.IntVar(&o.port, "port", corpus.Port, "port for the PostgreSQL server")
	flag.BoolVar(&o.plans, "plans", false, "print the plan of every statement measured")
	flag.BoolVar(&o.keep, "keep", false, "measure the data that is there, though the schema has changed since")
	flag.BoolVar(&o.clean, "clean", false, "stop the server and remove its data")
	flag.Parse()
	rig.Main("bench-list", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) (err error) {
	s, err := rig.NewServer(o.port, corpus.Settings)
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
	// A fast stop is a clean one: the next run finds the data without recovery. It must happen after an interrupt, too.
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	built, err := corpus.Build(ctx, s, o.size, o.keep)
	if err != nil {
		return fmt.Errorf("build the data: %w", err)
	}
	r := report{Options: o, Built: built, Date: time.Now().UTC()}
	if r.Machine, err = rig.Describe(ctx, s.URL(built.Main)); err != nil {
		return err
	}
	r.Machine.Load = load
	if err := r.measure(ctx, s); err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	fmt.Print(r.text())
	if o.size != corpus.Full || o.only != "" || built.Stale {
		return nil
	}
	return os.WriteFile(reportFile, []byte(r.markdown()), 0o644)
}
