// Command report measures reports: the figures of a prefilled one in an organization of 10 thousand and in one of 10 million, over
// everything and within filters, and what each of its components takes. It reads the data that bench/list reads.
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
const reportFile = "docs/benchmarks-report.md"

type options struct {
	size  int
	port  int
	build bool
	keep  bool
}

func main() {
	var o options
	flag.IntVar(&o.size, "size", corpus.Full, "feedback in the large organization")
	flag.IntVar(&o.port, "port", corpus.Port, "port for the PostgreSQL server")
	flag.BoolVar(&o.build, "build", false, "build the data, unless it is there, and measure nothing")
	flag.BoolVar(&o.keep, "keep", false, "measure the data that is there, though the schema has changed since")
	flag.Parse()
	rig.Main("bench-report", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) (err error) {
	s, err := rig.NewServer(o.port, corpus.Settings)
	if err != nil {
		return err
	}
	if err := s.Lock(); err != nil {
		return err
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
	if o.build {
		return nil
	}
	r := result{options: o, built: built, date: time.Now().UTC()}
	if r.machine, err = rig.Describe(ctx, s.URL(built.Main)); err != nil {
		return err
	}
	r.machine.Load = load
	if err := r.measure(ctx, s.URL(built.Main)); err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	fmt.Print(r.text())
	if o.size != corpus.Full || built.Stale {
		return nil
	}
	return os.WriteFile(reportFile, []byte(r.markdown()), 0o644)
}
