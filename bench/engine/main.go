// Command engine measures Earshot against the engine it stands on. Each sort of request is made in three ways in turn: the very statements
// that Earshot sends, by pgbench; the same by the least Go that can stand between HTTP and them; and Earshot over HTTP. It also
// compares a large organization with a small one, keeps up a load for a while, and measures what a feedback costs in bytes, WAL and
// processor time. It starts a PostgreSQL of its own that loses nothing in a crash.
//
// With -short it takes a minute and fails only when something does not work; the figures are printed all the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/bench/corpus"
	"earshot/bench/rig"
)

// reportFile is where a full run leaves its figures.
const reportFile = "docs/benchmarks.md"

// settings are what the server runs with beyond PostgreSQL's defaults. Nothing is lost in a crash.
var settings = [][2]string{
	{"shared_buffers", "4GB"},
	{"max_connections", "400"},
	{"fsync", "on"},
	{"synchronous_commit", "on"},
	{"full_page_writes", "on"},
	{"wal_level", "replica"},
	{"max_wal_size", "8GB"},
	{"checkpoint_timeout", "15min"},
}

type options struct {
	short         bool
	large         int
	soak          time.Duration
	only          string
	port          int
	clean         bool
	handle, serve string // of the bare handler's process
}

func main() {
	var o options
	flag.BoolVar(&o.short, "short", false, "take a minute and fail only when something does not work")
	flag.IntVar(&o.large, "large", corpus.Full, "feedback in the large organization")
	flag.DurationVar(&o.soak, "soak", 10*time.Minute, "how long a load is kept up")
	flag.StringVar(&o.only, "only", "", "make only these steps, with commas between: reads, sizes, writes, cost, soak")
	flag.IntVar(&o.port, "port", corpus.Port, "port for the PostgreSQL server")
	flag.BoolVar(&o.clean, "clean", false, "stop the server and remove its data")
	flag.StringVar(&o.handle, "handle", "", "be the bare handler, with the plan in this file")
	flag.StringVar(&o.serve, "address", "", "where the bare handler listens")
	flag.Parse()
	rig.Main("bench", func(ctx context.Context) error {
		if o.handle != "" {
			return handle(ctx, o.handle, o.serve)
		}
		return run(ctx, o)
	})
}

// bench is what every step needs.
type bench struct {
	options
	postgres *rig.Server
	program  *rig.Program
	built    corpus.Built
	dir      string
	report   *report

	// How it is measured.
	clients      []int
	rounds       int
	warm, length time.Duration
	settle       time.Duration

	watcher  *pgx.Conn // reads how much was written
	writing  *writing  // once it is there
	reportID int64
}

// warmPgbench is longer: its clients connect, prepare, and plan the first five executions each time.
func (b *bench) warmPgbench(clients int) time.Duration {
	if b.short {
		return b.warm
	}
	return time.Duration(1+clients/128) * time.Second
}

// steps are what there is to measure. Those on the data that is kept come first, and leave it as it was.
var steps = []struct {
	name string
	run  func(*bench, context.Context) error
}{
	{"reads", (*bench).measureReads},
	{"sizes", (*bench).measureSizes},
	{"writes", (*bench).measureWrites},
	{"cost", (*bench).measureCost},
	{"soak", (*bench).measureSoak},
}

func run(ctx context.Context, o options) (err error) {
	b := &bench{
		options: o, report: &report{options: o, Date: time.Now().UTC()},
		clients: []int{1, 8, 32, 128}, rounds: 3, warm: 500 * time.Millisecond, length: 2 * time.Second, settle: time.Second,
	}
	if o.short {
		b.large, b.soak = min(b.large, 200_000), min(b.soak, 5*time.Second)
		b.clients, b.rounds, b.warm, b.length, b.settle = []int{1, 16}, 1, 300*time.Millisecond, 700*time.Millisecond, 0
	}
	filling, err := rig.NewServer(o.port, corpus.Settings)
	if err != nil {
		return err
	}
	if err := filling.Lock(); err != nil {
		return err
	}
	if o.clean {
		return filling.Remove(ctx)
	}
	b.report.Machine.Load = rig.LoadAverage()
	if b.postgres, err = rig.NewServer(o.port, settings); err != nil {
		return err
	}
	// A fast stop is a clean one, and must happen after an interrupt, too.
	defer func() { err = errors.Join(err, b.postgres.Stop(context.WithoutCancel(ctx))) }()
	if err := b.prepare(ctx, filling); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.program.Remove(), b.dropWritten(ctx), os.RemoveAll(b.dir)) }()
	if b.watcher, err = pgx.Connect(ctx, b.postgres.URL("postgres")); err != nil {
		return err
	}
	defer b.watcher.Close(ctx) //nolint:errcheck // nothing is left open on it
	load := b.report.Machine.Load
	if b.report.Machine, err = rig.Describe(ctx, b.postgres.URL(b.built.Main)); err != nil {
		return err
	}
	b.report.Machine.Load = load
	fmt.Println(strings.Join(b.report.header(), "\n"))
	for _, s := range steps {
		if o.only != "" && !slices.Contains(strings.Split(o.only, ","), s.name) {
			continue
		}
		rig.Progress("%s", s.name)
		if err = s.run(b, ctx); err != nil {
			err = fmt.Errorf("%s: %w", s.name, err)
			break
		}
	}
	for _, t := range b.report.tables() {
		fmt.Print(t.Text()) // what there is, also after an error
	}
	if err != nil {
		return err
	}
	if o.short || o.only != "" || o.large != corpus.Full {
		return nil
	}
	return os.WriteFile(reportFile, []byte(b.report.markdown()), 0o644)
}

// prepare builds the program and the data, the latter on the server as it is set up for that, and starts it as it is measured.
func (b *bench) prepare(ctx context.Context, filling *rig.Server) (err error) {
	if b.dir, err = os.MkdirTemp("", "earshot-engine"); err != nil {
		return err
	}
	if b.program, err = rig.Compile(ctx); err != nil {
		return err
	}
	if err := filling.Start(ctx); err != nil {
		return err
	}
	b.built, err = corpus.Build(ctx, filling, b.large, false)
	if err := errors.Join(err, filling.Stop(context.WithoutCancel(ctx))); err != nil {
		return fmt.Errorf("build the data: %w", err)
	}
	return b.postgres.Start(ctx)
}

// measureReads compares the requests that read, in the large organization.
func (b *bench) measureReads(ctx context.Context) (err error) {
	url := b.postgres.URL(b.built.Main)
	org, err := b.program.Organization(ctx, url, corpus.NameLarge)
	if err != nil {
		return err
	}
	o, err := openOriginal(ctx, url)
	if err != nil {
		return err
	}
	defer o.close()
	rows, err := b.reads(ctx, o, org)
	if err != nil {
		return err
	}
	defer func() {
		_, failed := o.ask(context.WithoutCancel(ctx), question{method: "DELETE", path: fmt.Sprintf("/v3/reports/%d", b.reportID), token: org.Token}, 200)
		err = errors.Join(err, failed)
	}()
	if b.report.Buffers, err = o.buffers(ctx, rows); err != nil {
		return err
	}
	s, err := b.open(ctx, map[string]string{byPgbench: url, byHandler: url, byEarshot: url}, rows, readConns)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(), b.drop(ctx, url, rows)) }()
	found, err := s.compare(ctx)
	b.report.Compared = append(b.report.Compared, found...)
	return err
}

// drop removes the arguments that pgbench read.
func (b *bench) drop(ctx context.Context, url string, rows []row) error {
	var names []string
	for _, r := range rows {
		names = append(names, "bench_"+r.slug)
	}
	return execute(context.WithoutCancel(ctx), url, `DROP TABLE IF EXISTS `+strings.Join(names, ", "))
}

// execute runs statements in a database, one after the other.
func execute(ctx context.Context, url string, statements ...string) error {
	conn, err := pgx.Connect(ctx, url)
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

// few are the numbers of clients for requests that are much work each, up to a number.
func (b *bench) few(most int) []int {
	return slices.DeleteFunc(slices.Clone(b.clients), func(n int) bool { return n > most })
}
