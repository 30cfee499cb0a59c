package tally_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
	"earshot/internal/tally"
)

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// process runs the loops on a pool of its own, whose connections carry its name, until stopped.
func process(t *testing.T, url, name string) (stop func()) {
	t.Helper()
	config := open(t, pg.Settings{URL: url, MaxConns: 2}).Config()
	config.ConnConfig.RuntimeParams["application_name"] = name
	db, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { tally.NewStore(db).Run(ctx, slog.New(slog.NewTextHandler(t.Output(), nil))) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		db.Close()
	})
	t.Cleanup(stop)
	return stop
}

// holders are the connections that hold a loop's lock, by process.
func holders(t *testing.T, db pg.Querier) map[string]int {
	t.Helper()
	rows, err := db.Query(t.Context(), `
		SELECT a.application_name
		FROM pg_locks l
		JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND a.datname = current_database()`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]int{}
	for _, name := range names {
		held[name]++
	}
	return held
}

// Of two processes one folds and one cleans, or one does both. When a connection that holds a lock is cut, or its process ends, the
// loops go on, and nothing is folded twice or not at all.
func TestRunInTwoProcesses(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	w := newWorld(t, open(t, pg.Settings{URL: url, MaxConns: 8}))
	stopOne := process(t, url, "one")
	process(t, url, "two")
	held := func(want int) func() bool {
		return func() bool {
			all := holders(t, w.db)
			return all["one"]+all["two"] == want
		}
	}
	eventually(t, "both locks held", held(2))
	var compared, folded atomic.Int64
	enough := func() bool { return compared.Load() >= 3 && folded.Load() > 0 }
	storm(t, w, enough, reader(t, w, &compared), func(ctx context.Context) {
		var n int64
		if err := w.db.QueryRow(ctx, `SELECT count(*) FROM feedback_rollup`).Scan(&n); err == nil {
			folded.Store(n)
		}
	})
	exec(t, w.db, `
		SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND a.datname = current_database()`)
	w.fill(t, 10)
	eventually(t, "all folded after the connections were cut", func() bool { return w.unfolded(t) == 0 })
	eventually(t, "both locks held again", held(2))
	w.drifted(t)
	stopOne()
	w.fill(t, 10)
	eventually(t, "all folded by the process that is left", func() bool { return w.unfolded(t) == 0 })
	eventually(t, "both locks held by it", func() bool { return cmp.Equal(map[string]int{"two": 2}, holders(t, w.db)) })
	w.drifted(t)
}

// folds counts how often somebody looked for deltas.
type folds struct{ n atomic.Int64 }

func (f *folds) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	if strings.Contains(d.SQL, "AS settled") {
		f.n.Add(1)
	}
	return ctx
}
func (f *folds) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A loop that fails says so once and tries again.
func TestRunGoesOnAfterErrors(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	w := newWorld(t, open(t, pg.Settings{URL: url, MaxConns: 4}))
	w.fill(t, 5)
	exec(t, w.db, `ALTER TABLE tally_fold RENAME TO elsewhere`)
	var count folds
	var log logged
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	store := tally.NewStore(open(t, pg.Settings{URL: url, MaxConns: 2, Tracer: &count}))
	running.Go(func() { store.Run(ctx, slog.New(slog.NewTextHandler(&log, nil))) })
	defer running.Wait()
	defer cancel()
	eventually(t, "the fold tried three times", func() bool { return count.n.Load() >= 3 })
	exec(t, w.db, `ALTER TABLE elsewhere RENAME TO tally_fold`)
	eventually(t, "all folded", func() bool { return w.unfolded(t) == 0 })
	w.drifted(t)
	lines := strings.TrimSpace(log.String())
	if strings.Count(lines, "\n") != 0 || !strings.Contains(lines, "task=fold") || !strings.Contains(lines, "42P01") {
		t.Errorf("logged, want one line:\n%s", lines)
	}
}
