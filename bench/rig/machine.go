package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"earshot/internal/pg"
)

// Machine is where the figures come from.
type Machine struct {
	Cores    int
	Memory   string
	Load     string // how busy it was before we began
	Server   string
	Settings string
	Size     string // of the database
	Commit   string // empty outside a checkout
}

// shown are the settings that matter to a reader of the figures, ours and PostgreSQL's own.
var shown = []string{
	"shared_buffers", "work_mem", "effective_cache_size", "random_page_cost", "max_parallel_workers_per_gather", "default_statistics_target",
	"fsync", "synchronous_commit", "wal_level", "max_wal_size", "checkpoint_timeout", "autovacuum",
}

// Describe says what there is to know of this machine, and of the server at url as filters meet it.
func Describe(ctx context.Context, url string) (Machine, error) {
	m := Machine{Cores: runtime.NumCPU(), Memory: memory(), Commit: commit(ctx)}
	// As lists are read: some settings are the pool's.
	db, err := pg.Open(ctx, pg.Settings{URL: url, CustomPlans: true})
	if err != nil {
		return m, err
	}
	defer db.Close()
	var names []string
	b := &pgx.Batch{}
	b.Queue(`SELECT current_setting('server_version'), pg_size_pretty(pg_database_size(current_database()))`).
		QueryRow(func(row pgx.Row) error { return row.Scan(&m.Server, &m.Size) })
	b.Queue(`SELECT name || ' ' || current_setting(name) FROM unnest($1::text[]) AS name`, shown).
		Query(func(rows pgx.Rows) (err error) {
			names, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
	err = db.SendBatch(ctx, b).Close()
	m.Server, _, _ = strings.Cut(m.Server, " ")
	m.Settings = strings.Join(names, ", ")
	return m, err
}

var totalMemory = regexp.MustCompile(`MemTotal: +([0-9]+) kB`)

func memory() string {
	text, _ := os.ReadFile("/proc/meminfo")
	found := totalMemory.FindSubmatch(text)
	if found == nil {
		return "unknown memory"
	}
	kb, _ := strconv.Atoi(string(found[1]))
	return fmt.Sprintf("%.0f GiB memory", float64(kb)/(1<<20))
}

// LoadAverage is that of the last minute: what else goes on.
func LoadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// commit is what was measured, if the tree is a checkout and git is there.
func commit(ctx context.Context) string {
	hash, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return ""
	}
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", "internal").Output()
	if err != nil || len(changed) > 0 {
		return strings.TrimSpace(string(hash)) + " with changes"
	}
	return strings.TrimSpace(string(hash))
}
