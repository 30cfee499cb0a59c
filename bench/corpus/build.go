// Package corpus builds the feedback that benchmarks of reading look at: an organization of 10 million, one of 10 thousand and one
// of 2,000 whose rows lie scattered among those of the large one. It is built once and kept for later runs, of any benchmark.
package corpus

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"earshot/bench/rig"
	"earshot/internal/pg"
)

// How many feedback each organization has. The size of the large one is a flag.
const (
	Full  = 10_000_000
	Small = 10_000
	Tiny  = 2_000
)

// dataVersion is raised when the same schema is filled differently.
const dataVersion = 3

// The organizations. Small and Large are compared with each other; Tiny lives beside Large, a few of its rows among each
// thousand of the neighbour's, and in a database of its own.
const (
	NameSmall = "Small"
	NameLarge = "Large"
	NameTiny  = "Tiny"
)

// Port is that of the PostgreSQL server that keeps the data, unless another is asked for.
const Port = 5477

// Settings are what the server runs with beyond PostgreSQL's defaults. Nothing is lost in a crash: fsync is on. With the minimal
// WAL level a table that is filled in the transaction that emptied it is written once and synced, instead of twice; reading
// does not notice. The planner's settings are those of a fresh installation.
var Settings = [][2]string{
	{"shared_buffers", "4GB"},
	{"maintenance_work_mem", "1GB"},
	{"fsync", "on"},
	{"synchronous_commit", "on"},
	{"wal_level", "minimal"},
	{"max_wal_senders", "0"},
	{"max_wal_size", "8GB"},
	{"checkpoint_timeout", "15min"},
	{"checkpoint_completion_target", "0.9"},
}

// Built is the data to measure.
type Built struct {
	Main, Alone string // databases: of all organizations, and of the tiny one by itself
	At          time.Time
	Took        time.Duration
	Stale       bool // of another schema
}

// Build makes both databases, unless they are there from an earlier run with the same schema, or are to be kept whatever it was: then
// only the migrations that came since are run.
func Build(ctx context.Context, s *rig.Server, size int, keep bool) (Built, error) {
	if size < 10*Small {
		return Built{}, fmt.Errorf("-size must be at least %d", 10*Small)
	}
	size -= size % Tiny
	b := Built{Main: fmt.Sprintf("list_%d", size), Alone: fmt.Sprintf("list_%d_alone", size)}
	admin, err := pg.Open(ctx, pg.Settings{URL: s.URL("postgres")})
	if err != nil {
		return b, err
	}
	defer admin.Close()
	mark, err := SchemaMark(dataVersion)
	if err != nil {
		return b, err
	}
	switch found, err := b.find(ctx, admin); {
	case err != nil:
		return b, err
	case found == mark:
		return b, nil
	case found != "" && keep:
		b.Stale = true
		return b, errors.Join(migrate(ctx, s.URL(b.Main)), migrate(ctx, s.URL(b.Alone)))
	}
	rig.Progress("building %d feedback; later runs will find them", size+Small+Tiny)
	b.At = time.Now().UTC()
	// The load ends with a VACUUM of its own; one of the daemon's in between would only be in the way.
	if err := autovacuum(ctx, admin, "SET autovacuum = off"); err != nil {
		return b, err
	}
	if err := b.make(ctx, s, admin, size); err != nil {
		return b, err
	}
	if err := autovacuum(ctx, admin, "RESET autovacuum"); err != nil {
		return b, err
	}
	b.Took = time.Since(b.At)
	// Only now is it worth finding again.
	_, err = admin.Exec(ctx, fmt.Sprintf(`COMMENT ON DATABASE %s IS '%s %s %s'`, b.Main, mark, b.At.Format(time.RFC3339), b.Took))
	return b, err
}

func (b *Built) make(ctx context.Context, s *rig.Server, admin *pgxpool.Pool, size int) error {
	organizations := map[string][]sized{
		b.Main:  {{NameSmall, Small}, {NameLarge, size}, {NameTiny, Tiny}},
		b.Alone: {{NameTiny, Tiny}},
	}
	for name, sizes := range organizations {
		if _, err := admin.Exec(ctx, `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`); err != nil {
			return err
		}
		if _, err := admin.Exec(ctx, `CREATE DATABASE `+name); err != nil {
			return err
		}
		if err := fill(ctx, s.URL(name), sizes); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	_, err := admin.Exec(ctx, `CHECKPOINT`)
	return err
}

// SchemaMark tells data of one schema, filled by one version of a program, from that of another.
func SchemaMark(version int) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "version %d\n", version)
	err := fs.WalkDir(pg.MigrationFiles(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(pg.MigrationFiles(), path)
		fmt.Fprintf(h, "%s\n%s\n", path, text)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), err
}

// find reads the mark of an earlier run, which says when and in what time it built; empty when there was none.
func (b *Built) find(ctx context.Context, admin *pgxpool.Pool) (mark string, err error) {
	var comment *string
	err = admin.QueryRow(ctx, `
		SELECT max(shobj_description(oid, 'pg_database')) FROM pg_database WHERE datname = $1`, b.Main).Scan(&comment)
	if err != nil || comment == nil {
		return "", err
	}
	words := strings.Fields(*comment)
	if len(words) != 3 {
		return "", nil
	}
	if b.At, err = time.Parse(time.RFC3339, words[1]); err != nil {
		return "", err
	}
	if b.Took, err = time.ParseDuration(words[2]); err != nil {
		return "", err
	}
	if time.Since(b.At) > 7*24*time.Hour {
		return "", nil // too little of it would lie within the last thirty days
	}
	return words[0], nil
}

func migrate(ctx context.Context, url string) error {
	db, err := pg.Open(ctx, pg.Settings{URL: url})
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = pg.Migrate(ctx, db)
	return err
}

func autovacuum(ctx context.Context, admin *pgxpool.Pool, change string) error {
	if _, err := admin.Exec(ctx, `ALTER SYSTEM `+change); err != nil {
		return err
	}
	_, err := admin.Exec(ctx, `SELECT pg_reload_conf()`)
	return err
}

// sized is an organization to be.
type sized struct {
	name string
	size int
}

// fill makes the organizations of one database and what belongs to them. Everything heavy runs in two sessions.
func fill(ctx context.Context, url string, sizes []sized) error {
	if err := migrate(ctx, url); err != nil {
		return err
	}
	db, err := pg.Open(ctx, pg.Settings{URL: url, MaxConns: 4})
	if err != nil {
		return err
	}
	defer db.Close()
	orgs, err := prepare(ctx, db, sizes)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	indexes, err := strip(ctx, db)
	if err != nil {
		return fmt.Errorf("drop indexes: %w", err)
	}
	if err := load(ctx, db); err != nil {
		return err
	}
	if err := indexes.restore(ctx, db, tallies(db)); err != nil {
		return err
	}
	if err := finish(ctx, db); err != nil {
		return err
	}
	return verify(ctx, db, orgs, sizes)
}

// finish leaves no traces of the load: index-only scans need the visibility map, the planner its statistics.
func finish(ctx context.Context, db *pgxpool.Pool) error {
	if _, err := db.Exec(ctx, `DROP SCHEMA bench CASCADE`); err != nil {
		return err
	}
	rows, err := db.Query(ctx, `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY pg_table_size(tablename::regclass) DESC`)
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	var jobs []job
	for _, table := range tables {
		jobs = append(jobs, statement("vacuum "+table, db, `VACUUM (ANALYZE) `+pgx.Identifier{table}.Sanitize()))
	}
	return inPairs(ctx, jobs)
}

// job is one heavy step.
type job struct {
	name string
	run  func(context.Context) error
}

func statement(name string, db *pgxpool.Pool, sql string) job {
	return job{name, func(ctx context.Context) error {
		_, err := db.Exec(ctx, sql)
		return err
	}}
}

// inPairs runs jobs two at a time, in order, and tells of those that took a while.
func inPairs(ctx context.Context, jobs []job) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for _, j := range jobs {
		g.Go(func() error {
			began := time.Now()
			if err := j.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", j.name, err)
			}
			if took := time.Since(began); took > time.Second {
				rig.Progress("%s: %.0f s", j.name, took.Seconds())
			}
			return nil
		})
	}
	return g.Wait()
}
