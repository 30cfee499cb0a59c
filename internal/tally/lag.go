package tally

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// lagCap is how many unfolded deltas are counted before it is clear that there are too many.
const lagCap = 1_000_000

// ginIndexes have a pending list that somebody must clean.
var ginIndexes = []string{"feedback_dictionary", "feedback_content_search"}

// Lag is how far the background work is behind. Durations are negative and pages -1 where they cannot be known.
type Lag struct {
	// Rows is the number of unfolded deltas: exact below a million, which stands for a million or more.
	Rows int64
	// Age is an upper estimate of the age of the oldest of them, 0 without any: the time since all before it was folded.
	Age time.Duration
	// PendingPages is the length of each GIN index's pending list. It takes the extension pageinspect and the right to use it.
	PendingPages map[string]int64
	// Snapshot is the age of the oldest transaction that keeps deltas from being folded or dead rows from being vacuumed. Of the
	// sessions of other roles it sees only what the database role may see.
	Snapshot time.Duration
}

// Lag measures. It is about all organizations: the background work is everyone's.
func (s *Store) Lag(ctx context.Context) (Lag, error) {
	var l Lag
	var age, snapshot float64
	b := &pgx.Batch{}
	b.Queue(`SELECT set_config('enable_seqscan', 'off', true)`) // as for the fold
	b.Queue(`
		SELECT count(*)
		FROM (
			SELECT
			FROM organization o
			LEFT JOIN tally_fold f ON f.organization_id = o.id
			CROSS JOIN LATERAL (
				SELECT
				FROM feedback_delta d
				WHERE d.organization_id = o.id AND d.xid >= coalesce(f.bound, '0')
				LIMIT $1
			) AS d
			LIMIT $1
		) AS unfolded`, lagCap).
		QueryRow(func(row pgx.Row) error { return row.Scan(&l.Rows) })
	b.Queue(`
		WITH oldest AS (SELECT min(xid) AS xid FROM (` + backlogSQL + `) AS b)
		SELECT CASE WHEN o.xid IS NULL THEN 0
		       ELSE coalesce((SELECT extract(epoch FROM clock_timestamp() - max(f.folded_at))
		                      FROM tally_fold f
		                      WHERE f.bound <= o.xid), -1) END::float8
		FROM oldest o`).
		QueryRow(func(row pgx.Row) error { return row.Scan(&age) })
	// A snapshot matters in our database only, a transaction that writes in any: the fold waits for it.
	b.Queue(`
		SELECT greatest(extract(epoch FROM clock_timestamp() - least(
			(SELECT min(xact_start)
			 FROM pg_stat_activity
			 WHERE pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
			   AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL AND datname = current_database())),
			(SELECT min(prepared) FROM pg_prepared_xacts))), 0)::float8`).
		QueryRow(func(row pgx.Row) error { return row.Scan(&snapshot) })
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error { return tx.SendBatch(ctx, b).Close() })
	if err != nil {
		return Lag{}, fmt.Errorf("measure lag: %w", err)
	}
	l.Age, l.Snapshot = seconds(age), seconds(snapshot)
	pages, err := s.pendingPages(ctx)
	if err != nil {
		return Lag{}, fmt.Errorf("measure lag: %w", err)
	}
	l.PendingPages = pages
	return l, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// pendingPages reads the indexes' first pages. PostgreSQL itself has no function that tells, and pageinspect is not everywhere.
func (s *Store) pendingPages(ctx context.Context) (map[string]int64, error) {
	pages := map[string]int64{}
	for _, index := range ginIndexes {
		pages[index] = -1
	}
	var installed bool
	err := s.db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pageinspect')`).Scan(&installed)
	if err != nil || !installed {
		return pages, err
	}
	for _, index := range ginIndexes {
		var n int64
		err := s.db.QueryRow(ctx, `SELECT n_pending_pages FROM gin_metapage_info(get_raw_page($1, 0))`, index).Scan(&n)
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(e.Code, "42") {
			continue // not allowed, or not in our search path
		}
		if err != nil {
			return nil, err
		}
		pages[index] = n
	}
	return pages, nil
}
