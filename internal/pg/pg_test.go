package pg_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// patience is how long a test waits for what must happen: far longer than it takes, even on a busy machine.
const patience = 30 * time.Second

func TestMain(m *testing.M) { pgtest.Main(m) }

// open returns a pool of the test's own.
func open(t *testing.T, s pg.Settings) *pgxpool.Pool {
	t.Helper()
	if s.MaxConns == 0 {
		s.MaxConns = 2
	}
	db, err := pg.Open(t.Context(), s)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(db.Close)
	return db
}

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ask() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: still not so after %v", what, patience)
		case <-tick.C:
		}
	}
}

// A URL that cannot be read is refused at once, and the refusal repeats nothing of it.
func TestOpenRefusesMalformedURLWithoutRepeatingIt(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"port":      "postgres://someone:hunter2@db.example:port/earshot",
		"slash":     "postgres://someone:hun/ter2@db.example/earshot",
		"parameter": "postgres://someone:hunter2@db.example/earshot?sslmode=sometimes",
		"keywords":  "host=db.example password=hunter2 port=many",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := pg.Open(t.Context(), pg.Settings{URL: url})
			if err == nil {
				db.Close()
				t.Fatal("it was accepted")
			}
			for _, secret := range []string{"hunter2", "ter2", "someone", "db.example"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q repeats %q", err, secret)
				}
			}
		})
	}
}

// The session's settings are ours, whatever the database's or the URL's are: the test database itself says Asia/Kolkata.
func TestOpenSettlesTheSession(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.URL(t) + "?timezone=Asia/Tokyo&jit=on", StatementTimeout: 1500 * time.Millisecond})
	for setting, want := range map[string]string{
		"timezone":                            "UTC",
		"jit":                                 "off",
		"statement_timeout":                   "1500ms",
		"idle_in_transaction_session_timeout": "30s",
		"application_name":                    "earshot",
	} {
		var got string
		if err := db.QueryRow(t.Context(), `SELECT current_setting($1)`, setting).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
}

// Without a limit statements run as long as they need.
func TestOpenWithoutStatementTimeoutSetsNone(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.URL(t)})
	var got string
	if err := db.QueryRow(t.Context(), `SHOW statement_timeout`).Scan(&got); err != nil {
		t.Fatal(err)
	}
	if got != "0" {
		t.Errorf("statement_timeout is %q, want 0", got)
	}
}
