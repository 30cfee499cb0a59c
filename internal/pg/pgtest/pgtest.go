// Package pgtest gives tests a real database: one per test binary, cloned from a template that is migrated once
// per version of the schema. Tests share it and keep apart by organization, so every run is also a test of tenancy.
package pgtest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/pg"
)

const defaultURL = "postgres://postgres@127.0.0.1:5432/postgres"

var shared struct {
	once sync.Once
	url  string
	pool *pgxpool.Pool
	err  error
}

// Main runs a package's tests and then drops its database. When a test failed the database stays, and its name is printed.
func Main(m *testing.M) {
	code := m.Run()
	if shared.pool != nil {
		shared.pool.Close()
	}
	if shared.url != "" {
		if code == 0 {
			if err := drop(context.Background(), shared.url); err != nil {
				fmt.Fprintln(os.Stderr, "drop test database:", err)
			}
		} else {
			fmt.Fprintln(os.Stderr, "the test database was kept:", shared.url)
		}
	}
	os.Exit(code)
}

// DB returns the pool of this package's database.
func DB(t testing.TB) *pgxpool.Pool {
	t.Helper()
	shared.once.Do(func() {
		ctx := context.Background()
		shared.url, shared.err = create(ctx)
		if shared.err == nil {
			shared.pool, shared.err = pg.Open(ctx, pg.Settings{URL: shared.url, MaxConns: 16, StatementTimeout: time.Minute})
		}
	})
	if shared.err != nil {
		t.Fatalf("test database: %v (start one with make db, or set TEST_DATABASE_URL)", shared.err)
	}
	return shared.pool
}

// URL returns the address of this package's database, for a second process or a pool with settings of its own.
func URL(t testing.TB) string {
	t.Helper()
	DB(t)
	return shared.url
}

// New returns the address of a migrated database of the test's own, for what is global: migrations, queues, broken schemas.
// It is dropped at the end unless the test failed.
func New(t testing.TB) string {
	t.Helper()
	address, err := create(t.Context())
	if err != nil {
		t.Fatalf("test database: %v", err)
	}
	dropUnlessFailed(t, address)
	return address
}

// Empty returns the address of a database of the test's own with nothing in it, created with the given options of
// CREATE DATABASE.
func Empty(t testing.TB, options string) string {
	t.Helper()
	address, err := createFrom(t.Context(), "template0", options)
	if err != nil {
		t.Fatalf("test database: %v", err)
	}
	dropUnlessFailed(t, address)
	return address
}

func dropUnlessFailed(t testing.TB, address string) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the test database was kept: %s", address)
			return
		}
		if err := drop(context.Background(), address); err != nil {
			t.Errorf("drop test database: %v", err)
		}
	})
}

func serverURL() string {
	if v := os.Getenv("TEST_DATABASE_URL"); v != "" {
		return v
	}
	return defaultURL
}

func withDatabase(name string) (string, error) {
	u, err := url.Parse(serverURL())
	if err != nil {
		return "", fmt.Errorf("TEST_DATABASE_URL is not a URL")
	}
	u.Path = "/" + name
	return u.String(), nil
}

func create(ctx context.Context) (string, error) {
	name, err := template(ctx)
	if err != nil {
		return "", err
	}
	return createFrom(ctx, name, "")
}

func createFrom(ctx context.Context, template, options string) (string, error) {
	admin, err := pgx.Connect(ctx, serverURL())
	if err != nil {
		return "", err
	}
	defer admin.Close(ctx) //nolint:errcheck // nothing was left open on it
	name := fmt.Sprintf("earshot_test_%s_%d_%d", packageName(), os.Getpid(), time.Now().UnixNano()%1e9)
	id := pgx.Identifier{name}.Sanitize()
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+id+" TEMPLATE "+pgx.Identifier{template}.Sanitize()+" "+options); err != nil {
		return "", err
	}
	// A half-hour zone flushes out code that leans on the server's idea of a day.
	if _, err := admin.Exec(ctx, "ALTER DATABASE "+id+" SET timezone = 'Asia/Kolkata'"); err != nil {
		return "", err
	}
	return withDatabase(name)
}

// template makes sure that a migrated database for this schema exists, and returns its name. It is marked as a
// template only when complete, so a crash never leaves half of one in use.
func template(ctx context.Context) (string, error) {
	sum, err := schemaSum()
	if err != nil {
		return "", err
	}
	name := "earshot_template_" + sum
	admin, err := pgx.Connect(ctx, serverURL())
	if err != nil {
		return "", err
	}
	defer admin.Close(ctx) //nolint:errcheck // nothing was left open on it
	// Test binaries start together; one of them builds, the others wait.
	if _, err := admin.Exec(ctx, "SELECT pg_advisory_lock(hashtext('earshot test template'))"); err != nil {
		return "", err
	}
	var ready bool
	err = admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1 AND datistemplate)", name).Scan(&ready)
	if err != nil || ready {
		return name, err
	}
	id := pgx.Identifier{name}.Sanitize()
	for _, sql := range []string{
		"DROP DATABASE IF EXISTS " + id,
		"CREATE DATABASE " + id + " TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'",
	} {
		if _, err := admin.Exec(ctx, sql); err != nil {
			return "", err
		}
	}
	address, err := withDatabase(name)
	if err != nil {
		return "", err
	}
	db, err := pg.Open(ctx, pg.Settings{URL: address})
	if err != nil {
		return "", err
	}
	_, err = pg.Migrate(ctx, db)
	db.Close()
	if err != nil {
		return "", err
	}
	_, err = admin.Exec(ctx, "ALTER DATABASE "+id+" IS_TEMPLATE true")
	return name, err
}

func schemaSum() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(pg.MigrationFiles(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(pg.MigrationFiles(), path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil)[:6]), err
}

func drop(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	admin, err := pgx.Connect(ctx, serverURL())
	if err != nil {
		return err
	}
	defer admin.Close(ctx) //nolint:errcheck // nothing was left open on it
	_, err = admin.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{strings.TrimPrefix(u.Path, "/")}.Sanitize()+" WITH (FORCE)")
	return err
}

// packageName is the name of the test binary without its ending: the package under test.
func packageName() string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.TrimSuffix(filepath.Base(os.Args[0]), ".test"))
}
