package tally

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"earshot/internal/pg"
)

// The advisory locks of the loops, in the form with one key; the form with two belongs to feedback ids.
const (
	foldKey  = 0x65617273686f01
	cleanKey = 0x65617273686f02
)

// complainEvery is how long the log is spared an error it has had.
const complainEvery = time.Minute

// Run folds every second and cleans the pending lists twice a second until ctx ends. Of all processes on the database one does each:
// the one whose connection holds the lock; when it goes away another takes over. Nothing but the end of ctx ends
// it: an error is logged, each sort once a minute, and tried again.
func (s *Store) Run(ctx context.Context, log *slog.Logger) {
	var loops sync.WaitGroup
	loops.Go(func() {
		s.lead(ctx, log.With("task", "fold"), foldKey, time.Second, func(ctx context.Context, conn *pgx.Conn) error {
			_, err := s.foldOn(ctx, conn)
			return err
		})
	})
	loops.Go(func() {
		s.lead(ctx, log.With("task", "clean pending lists"), cleanKey, 500*time.Millisecond, func(ctx context.Context, conn *pgx.Conn) error {
			return clean(ctx, conn)
		})
	})
	loops.Wait()
}

// CleanPending moves what fresh feedback put on the pending lists of the GIN indexes into the indexes proper. Every search reads the
// whole list, and a create that finds it full would have to clean it.
func (s *Store) CleanPending(ctx context.Context) error { return clean(ctx, s.db) }

// clean is about all organizations: an index is everyone's.
func clean(ctx context.Context, db session) error {
	var failed []error
	for _, index := range ginIndexes {
		if _, err := db.Exec(ctx, `SELECT gin_clean_pending_list($1::text::regclass)`, index); err != nil {
			failed = append(failed, fmt.Errorf("clean the pending list of %s: %w", index, err))
			if pg.Away(err) {
				break
			}
		}
	}
	return errors.Join(failed...)
}

// lead does the work again and again whenever this process holds the lock, and tries for the lock when not.
func (s *Store) lead(ctx context.Context, log *slog.Logger, key int64, every time.Duration, work func(context.Context, *pgx.Conn) error) {
	c := complaints{log: log, last: map[string]time.Time{}}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var conn *pgx.Conn
	defer func() { release(ctx, conn) }()
	for {
		var err error
		if conn == nil {
			conn, err = s.lock(ctx, key)
		}
		if conn != nil {
			err = work(ctx, conn)
			// The lock went with the connection. The work is done on it so that this is noticed.
			if conn.IsClosed() {
				conn = nil
			}
		}
		if ctx.Err() != nil {
			return
		}
		c.note(ctx, err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// lock returns a connection of the process's own that holds the lock, or nil while another has it.
func (s *Store) lock(ctx context.Context, key int64) (*pgx.Conn, error) {
	conn, err := s.db.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	var locked bool
	err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, key).Scan(&locked)
	if err != nil || !locked {
		conn.Release()
		return nil, err
	}
	return conn.Hijack(), nil
}

func release(ctx context.Context, conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // it may be broken already
}

// complaints keeps a loop that fails every second from filling the log.
type complaints struct {
	log  *slog.Logger
	last map[string]time.Time // by sort of error
}

func (c *complaints) note(ctx context.Context, err error) {
	if err == nil {
		return
	}
	sort := err.Error()
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		sort = e.Code
	} else if pg.Away(err) {
		sort = "away" // the text may hold a port that changes
	}
	if time.Since(c.last[sort]) < complainEvery {
		return
	}
	c.last[sort] = time.Now()
	c.log.WarnContext(ctx, "background work failed", "error", pg.Describe(err))
}
