package main

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/bench/rig"
)

// bare asks PostgreSQL by pgbench, in prepared statements, without anything of ours between.
type bare struct {
	url     string
	script  string // a file
	options string // of the connections
	dir     string // for its log
	program string // pgbench
}

// newBare writes the script of a call that may be made with several sets of arguments. Clients read them from a table, seldom: they may be longer
// than a command line, and would have to be quoted in it.
func newBare(ctx context.Context, url, dir, name string, calls []call, low, high int64) (*bare, error) {
	program, err := rig.Tool("pgbench")
	if err != nil {
		return nil, err
	}
	var sets [][]string
	w := &script{}
	for i, c := range calls {
		one := &script{}
		for _, t := range c {
			one.trip(t)
		}
		if i > 0 && one.text.String() != w.text.String() {
			return nil, fmt.Errorf("%s is not always the same statements", name)
		}
		w = one
		sets = append(sets, one.constants)
	}
	table := "bench_" + name
	if err := keepArguments(ctx, url, table, sets); err != nil {
		return nil, err
	}
	columns := []string{"min(n) AS least"}
	for i := range w.constants {
		columns = append(columns, fmt.Sprintf("max(v) FILTER (WHERE n = %d) AS a%d", i, i))
	}
	often := math.MaxInt32 // once is enough where there is one set
	if len(sets) > 1 {
		often = 50
	}
	text := fmt.Sprintf(`\set pick random(0, %d)
\if :made %% %d = 0
SELECT %s FROM %s WHERE pick = :pick \gset
\endif
\set made :made + 1
\set fp random(1, 4611686018427387904)
\set id random(%d, %d)
%s`, len(sets)-1, often, strings.Join(columns, ", "), table, low, high, w.text.String())
	b := &bare{url: url, script: filepath.Join(dir, name+".sql"), dir: dir, program: program, options: calls[0].options()}
	return b, os.WriteFile(b.script, []byte(text), 0o600)
}

func keepArguments(ctx context.Context, url, table string, sets [][]string) error {
	var rows [][]any
	for i, values := range sets {
		for n, v := range values {
			rows = append(rows, []any{i, n, v})
		}
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left open on it
	if _, err := conn.Exec(ctx, `DROP TABLE IF EXISTS `+table+`; CREATE TABLE `+table+` (pick int, n int, v text)`); err != nil {
		return err
	}
	if _, err = conn.CopyFrom(ctx, pgx.Identifier{table}, []string{"pick", "n", "v"}, pgx.CopyFromRows(rows)); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `CREATE INDEX ON `+table+` (pick)`)
	return err
}

// options are the settings of the product's connections that tell on plans.
func (c call) options() string {
	options := "-c jit=off -c timezone=UTC"
	for _, t := range c {
		if t.Custom {
			return options + " -c plan_cache_mode=force_custom_plan -c max_parallel_workers_per_gather=0"
		}
	}
	return options + " -c plan_cache_mode=force_generic_plan"
}

// script is one of pgbench's.
type script struct {
	text      strings.Builder
	constants []string
}

func (w *script) trip(t trip) {
	if len(t.Statements) > 1 {
		w.text.WriteString("\\startpipeline\n")
		defer w.text.WriteString("\\endpipeline\n")
	}
	for _, s := range t.Statements {
		w.text.WriteString(strings.TrimSpace(placeholder.ReplaceAllStringFunc(s.SQL, func(p string) string {
			n, _ := strconv.Atoi(p[1:])
			return w.value(s.Args[n-1])
		})))
		if s.Kept {
			w.text.WriteString("\n\\gset kept_\n")
		} else {
			w.text.WriteString(";\n")
		}
	}
}

var placeholder = regexp.MustCompile(`\$[0-9]+`)

// value is an argument in a script. pgbench makes each mention of a variable a parameter of its own, so each says its type. What
// differs from one execution to the next is made from a random number, as cheaply as it can be.
func (w *script) value(a arg) string {
	const rest = `|| '\x000102030405060708090a0b0c0d0e0f1011121314151617'::bytea` // a hash has 32 bytes
	switch {
	case a.From == fingerprints && a.N == 1:
		return "ARRAY[:fp::text]"
	case a.From == fingerprints:
		return fmt.Sprintf("ARRAY(SELECT (:fp::bigint + g)::text FROM generate_series(1, %d) AS g)", a.N)
	case a.From == hashes && a.N == 1:
		return "ARRAY[int8send(hashint8extended(:fp::bigint, 1)) " + rest + "]"
	case a.From == hashes:
		return fmt.Sprintf("ARRAY(SELECT int8send(hashint8extended(:fp::bigint + g, 1)) %s FROM generate_series(1, %d) AS g)", rest, a.N)
	case a.From == ids:
		return ":id::" + a.Type
	case a.From == kept:
		return ":kept_id::" + a.Type
	case a.Text == nil:
		return "NULL::" + a.Type
	}
	w.constants = append(w.constants, *a.Text)
	return fmt.Sprintf(":a%d::%s", len(w.constants)-1, a.Type)
}

// run drives so many clients for a while and returns what was done when. It cannot be stopped: its log would be lost.
func (b *bare) run(ctx context.Context, clients int, length time.Duration, _ <-chan struct{}) (all []done, used time.Duration, err error) {
	old, err := filepath.Glob(filepath.Join(b.dir, "pgbench.*"))
	if err != nil {
		return nil, 0, err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return nil, 0, err
		}
	}
	cmd := exec.CommandContext(ctx, b.program, "--no-vacuum", "--protocol=prepared", "--file="+b.script, "--define=made=0",
		"--client="+strconv.Itoa(clients), "--jobs="+strconv.Itoa(min(clients, 2)), fmt.Sprintf("--time=%.0f", length.Seconds()),
		"--log", "--log-prefix="+filepath.Join(b.dir, "pgbench"), b.url)
	cmd.Env = append(os.Environ(), "PGOPTIONS="+b.options)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, 0, fmt.Errorf("pgbench: %w\n%s", err, out)
	}
	used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	files, err := filepath.Glob(filepath.Join(b.dir, "pgbench.*"))
	if err != nil {
		return nil, 0, err
	}
	for _, file := range files {
		if all, err = readLog(file, all); err != nil {
			return nil, 0, err
		}
	}
	return all, used, nil
}

// readLog adds the transactions of one of pgbench's logs: client, number, microseconds, script, and when it ended.
func readLog(file string, all []done) ([]done, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var client, n, took, number, seconds, micros int64
		if _, err := fmt.Sscan(lines.Text(), &client, &n, &took, &number, &seconds, &micros); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		all = append(all, done{time.Unix(seconds, micros*1000), time.Duration(took) * time.Microsecond})
	}
	return all, lines.Err()
}
