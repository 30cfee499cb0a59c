package pg

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// MigrationFiles holds the steps of the schema as they are embedded, in the order of their names.
func MigrationFiles() fs.FS {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err)
	}
	return files
}

// Migration is one step of the schema and when it was applied; AppliedAt is zero for a pending one.
type Migration struct {
	Version   int64
	File      string
	AppliedAt time.Time
}

// Migrate brings the schema up to date and returns the steps it applied. Processes that migrate at the same time
// wait for each other: the lock is a row of a table, which also holds behind a pooler in transaction mode.
func Migrate(ctx context.Context, db *pgxpool.Pool) ([]Migration, error) {
	provider, done, err := provider(db)
	if err != nil {
		return nil, err
	}
	defer done()
	results, err := provider.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	var applied []Migration
	for _, r := range results {
		applied = append(applied, Migration{Version: r.Source.Version, File: r.Source.Path, AppliedAt: time.Now()})
	}
	return applied, nil
}

// Migrations returns every step this binary knows, in order, with the time it was applied to this database. It only reads: goose's own status
// would create its tables.
func Migrations(ctx context.Context, db *pgxpool.Pool) ([]Migration, error) {
	applied, err := appliedAt(ctx, db)
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(MigrationFiles(), "*.sql")
	if err != nil {
		return nil, err
	}
	var all []Migration
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return nil, err
		}
		all = append(all, Migration{Version: version, File: file, AppliedAt: applied[version]})
	}
	return all, nil
}

// appliedAt is when each version was applied; there is none in a database that was never migrated.
func appliedAt(ctx context.Context, db *pgxpool.Pool) (map[int64]time.Time, error) {
	rows, err := db.Query(ctx, `SELECT version_id, tstamp::timestamptz FROM goose_db_version WHERE is_applied`)
	if undefined(err) {
		return map[int64]time.Time{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read schema version: %w", err)
	}
	steps, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
		Version int64
		At      time.Time
	}])
	if err != nil {
		return nil, fmt.Errorf("read schema version: %w", err)
	}
	applied := map[int64]time.Time{}
	for _, s := range steps {
		applied[s.Version] = s.At
	}
	return applied, nil
}

// undefined says whether a table is not there.
func undefined(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "42P01"
}

func provider(db *pgxpool.Pool) (*goose.Provider, func(), error) {
	locker, err := lock.NewPostgresTableLocker(lock.WithTableLockTimeout(500*time.Millisecond, 600))
	if err != nil {
		return nil, nil, err
	}
	sqlDB := stdlib.OpenDBFromPool(db)
	p, err := goose.NewProvider(goose.DialectPostgres, sqlDB, MigrationFiles(), goose.WithLocker(locker))
	if err != nil {
		return nil, nil, errors.Join(err, sqlDB.Close())
	}
	return p, func() { _ = sqlDB.Close() }, nil
}

// Latest is the schema version this binary was built for.
func Latest() int64 {
	names, err := fs.Glob(MigrationFiles(), "*.sql")
	if err != nil || len(names) == 0 {
		panic("no migrations embedded")
	}
	version, err := goose.NumericComponent(names[len(names)-1])
	if err != nil {
		panic(err)
	}
	return version
}

// Check says whether this database can carry Earshot: encoding, character classes, extension and schema version.
// The error names everything that is wrong and what to do about it. A newer schema is accepted: migrations are
// written so that the binary before them still runs.
func Check(ctx context.Context, db *pgxpool.Pool) error {
	var encoding string
	var server int
	var letters, trigrams bool
	err := db.QueryRow(ctx, `
		SELECT current_setting('server_encoding'), current_setting('server_version_num')::int, lower('É') = 'é',
		       EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm')`).Scan(&encoding, &server, &letters, &trigrams)
	if err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	var wrong []error
	if server < 150000 {
		wrong = append(wrong, fmt.Errorf("PostgreSQL %d is too old: 15 or newer is needed", server/10000))
	}
	if encoding != "UTF8" {
		wrong = append(wrong, fmt.Errorf("the database's encoding is %s: create it with ENCODING 'UTF8' TEMPLATE template0", encoding))
	}
	// pg_trgm asks the database's ctype what a letter is; with C, accented letters are none and searches miss them.
	if !letters {
		wrong = append(wrong, errors.New("the database's LC_CTYPE is C and knows no accented letters: create it with LC_CTYPE 'C.UTF-8' or a language's own, TEMPLATE template0"))
	}
	if !trigrams {
		wrong = append(wrong, errors.New("the extension pg_trgm is missing: run earshot migrate as a role that may create it, or CREATE EXTENSION pg_trgm as a superuser"))
	}
	version, err := schemaVersion(ctx, db)
	if err != nil {
		return err
	}
	if version < Latest() {
		wrong = append(wrong, fmt.Errorf("the schema is at version %d and this binary needs %d: run earshot migrate", version, Latest()))
	}
	return errors.Join(wrong...)
}

// schemaVersion reads the version without creating goose's table, which a status check must not do.
func schemaVersion(ctx context.Context, db *pgxpool.Pool) (int64, error) {
	var version int64
	err := db.QueryRow(ctx, `SELECT coalesce(max(version_id) FILTER (WHERE is_applied), 0) FROM goose_db_version`).Scan(&version)
	if undefined(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	return version, nil
}
