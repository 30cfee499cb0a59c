package pg_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// closedPort is the address of a server that is not there.
func closedPort(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it is to be closed
	return fmt.Sprintf("postgres://postgres@%s/earshot", l.Addr())
}

// run returns the error of one statement on the package's database.
func run(t *testing.T, sql string, args ...any) error {
	t.Helper()
	_, err := pgtest.DB(t).Exec(t.Context(), sql, args...)
	if err == nil {
		t.Fatalf("%s: no error", sql)
	}
	return err
}

// taken is a violation of organization_name.
func taken(t *testing.T, name string) error {
	t.Helper()
	return run(t, `INSERT INTO organization (name) VALUES ($1), ($1)`, name)
}

// A refusal is told by the name of its constraint, through any wrapping, and by nothing else.
func TestViolatesGoesByTheNameOfTheConstraint(t *testing.T) {
	t.Parallel()
	unique := taken(t, "violates")
	foreign := run(t, `INSERT INTO team (organization_id, name) VALUES (2147483647, 'no such organization')`)
	check := run(t, `INSERT INTO organization (id, name) VALUES (0, 'id out of range')`)
	for name, c := range map[string]struct {
		err        error
		constraint string
		want       bool
	}{
		"unique":             {unique, "organization_name", true},
		"wrapped":            {fmt.Errorf("create organization: %w", unique), "organization_name", true},
		"foreign key":        {foreign, "team_organization", true},
		"check":              {check, "organization_id_range", true},
		"another constraint": {unique, "organization_pkey", false},
		"no name":            {run(t, `SELECT 1/0`), "", false},
		"another class":      {&pgconn.PgError{Code: "22001", ConstraintName: "organization_name"}, "organization_name", false},
		"another error":      {errors.New("organization_name"), "organization_name", false},
		"none":               {nil, "organization_name", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := pg.Violates(c.err, c.constraint); got != c.want {
				t.Errorf("Violates(%v, %q) = %v", c.err, c.constraint, got)
			}
		})
	}
}

// A statement that runs past the limit is told from everything else that may go wrong.
func TestTimedOutMeansTheStatementTimeout(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.URL(t), StatementTimeout: 50 * time.Millisecond})
	_, err := db.Exec(t.Context(), `SELECT pg_sleep(60)`)
	if !pg.TimedOut(fmt.Errorf("list feedback: %w", err)) {
		t.Errorf("%v: not timed out", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, past := pgtest.DB(t).Exec(ctx, `SELECT pg_sleep(60)`)
	for name, err := range map[string]error{
		"division by zero":     run(t, `SELECT 1/0`),
		"unique violation":     taken(t, "timed out"),
		"the caller's context": past,
		"none":                 nil,
	} {
		if pg.TimedOut(err) {
			t.Errorf("%s: %v counts as timed out", name, err)
		}
	}
}

// The database is away when it cannot be reached or will not serve: the same request may succeed later.
func TestAwayMeansThatTheDatabaseCannotServe(t *testing.T) {
	t.Parallel()
	_, refused := open(t, pg.Settings{URL: closedPort(t)}).Exec(t.Context(), `SELECT 1`)
	terminated, after := terminate(t)
	for name, err := range map[string]error{
		"connection refused":            refused,
		"terminated backend":            terminated,
		"after the backend was gone":    after,
		"cut while a statement ran":     cut(t),
		"too many connections":          &pgconn.PgError{Code: "53300"},
		"starting up":                   &pgconn.PgError{Code: "57P03"},
		"the request's time is over":    fmt.Errorf("list feedback: %w", context.DeadlineExceeded),
		"wrapped, reported by a method": fmt.Errorf("read carrier: %w", terminated),
	} {
		if err == nil || !pg.Away(err) {
			t.Errorf("%s: %v: not away", name, err)
		}
	}
}

// The database answered, and the answer will be the same the next time.
func TestAwayIsNotForRefusals(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"constraint violation":   taken(t, "not away"),
		"division by zero":       run(t, `SELECT 1/0`),
		"unknown table":          run(t, `SELECT FROM nowhere`),
		"unencodable argument":   run(t, `SELECT $1::int`, []string{"x"}),
		"no rows":                pgx.ErrNoRows,
		"cancelled by its maker": context.Canceled,
		"another error":          errors.New("something else"),
		"none":                   nil,
	} {
		if pg.Away(err) {
			t.Errorf("%s: %v counts as away", name, err)
		}
	}
}

// terminate ends a session from outside while a statement runs, and returns the errors of that and of the next statement.
func terminate(t *testing.T) (during, after error) {
	t.Helper()
	conn, err := open(t, pg.Settings{URL: pgtest.URL(t)}).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	pid := conn.Conn().PgConn().PID()
	go eventuallyTerminate(t, pid)
	_, during = conn.Exec(t.Context(), `SELECT pg_sleep(60)`)
	_, after = conn.Exec(t.Context(), `SELECT 1`)
	return during, after
}

func eventuallyTerminate(t *testing.T, pid uint32) {
	for t.Context().Err() == nil {
		var n int
		err := pgtest.DB(t).QueryRow(t.Context(), `
			SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE pid = $1 AND state = 'active' AND query LIKE '%pg_sleep%' AND wait_event = 'PgSleep'`, pid).Scan(&n)
		if err != nil || n > 0 {
			return
		}
	}
}

// cut runs a statement through a line that breaks while the statement runs, as when the server crashes.
func cut(t *testing.T) error {
	t.Helper()
	server, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the test is over
	line := make(chan net.Conn, 1)
	go relay(t.Context(), l, server.Host, line)
	server.Host = l.Addr().String()
	server.RawQuery = "sslmode=disable" // a server without TLS would be asked twice, on two connections
	conn, err := pgx.Connect(t.Context(), server.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // it is broken
	// Prepared beforehand, so that the line breaks while the statement itself runs.
	if _, err := conn.Exec(t.Context(), `SELECT pg_sleep($1)`, 0.0); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { _ = (<-line).Close() })
	_, err = conn.Exec(t.Context(), `SELECT pg_sleep($1)`, 3.0)
	return err
}

// relay passes one connection on and hands the client's end of it to whoever wants to cut it.
func relay(ctx context.Context, l net.Listener, to string, line chan<- net.Conn) {
	client, err := l.Accept()
	if err != nil {
		return
	}
	var d net.Dialer
	server, err := d.DialContext(ctx, "tcp", to)
	if err != nil {
		_ = client.Close()
		return
	}
	line <- client
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

// Logs are kept and shipped: what a request brought never gets into them, while what is needed to find the fault does.
func TestDescribeRepeatsNothingOfARequest(t *testing.T) {
	t.Parallel()
	const secret = "jane.doe@example.com"
	batch := &pgx.Batch{}
	batch.Queue(`SELECT 1`)
	batch.Queue(`SELECT $1::int`, []string{secret})
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"number":              {run(t, `SELECT $1::int`, secret), []string{"22P02"}},
		"time":                {run(t, `SELECT $1::text::timestamptz`, secret), []string{"22007"}},
		"time zone":           {run(t, `SELECT now() AT TIME ZONE $1`, secret), []string{"22023"}},
		"json":                {run(t, `SELECT $1::text::jsonb`, `{"`+secret), []string{"22P02"}},
		"pattern":             {run(t, `SELECT 'a' ~ $1`, secret+"("), []string{"2201B"}},
		"unique violation":    {taken(t, secret), []string{"23505", "organization_name"}},
		"check violation":     {run(t, `INSERT INTO organization (id, name) VALUES (0, $1)`, secret), []string{"23514", "organization_id_range"}},
		"null":                {run(t, `INSERT INTO organization (name, time_zone) VALUES ($1, NULL)`, secret), []string{"23502", "time_zone"}},
		"argument":            {run(t, `SELECT $1::int`, []string{secret}), []string{"an argument could not be encoded"}},
		"argument of a batch": {pgtest.DB(t).SendBatch(t.Context(), batch).Close(), []string{"an argument could not be encoded"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := pg.Describe(fmt.Errorf("create feedback: %w", c.err))
			if strings.Contains(got, secret) {
				t.Errorf("%q repeats the value", got)
			}
			for _, words := range append(c.want, "create feedback: ") {
				if !strings.Contains(got, words) {
					t.Errorf("%q says nothing of %q", got, words)
				}
			}
		})
	}
}

// An error that holds nothing of a request is described as it is.
func TestDescribeLeavesOtherErrorsAlone(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("read carrier: %w", context.DeadlineExceeded)
	if got := pg.Describe(err); got != err.Error() {
		t.Errorf("got %q, want %q", got, err)
	}
	if got := pg.Describe(run(t, `SELECT FROM nowhere`)); got != `relation "nowhere" does not exist (SQLSTATE 42P01)` {
		t.Errorf("got %q", got)
	}
}
