package operation

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/pg"
)

// Backlog is what the workers have before them, of all organizations.
type Backlog struct {
	Jobs     []Jobs
	LeaseAge time.Duration // how long past its lease some operation has shown no progress
}

// Jobs counts those of one kind in one state.
type Jobs struct {
	Kind, State string
	N           int64
}

// Queue reads the backlog. Every kind of job is listed as available, running and discarded, also where there is none.
func Queue(ctx context.Context, q pg.Querier) (Backlog, error) {
	var found Backlog
	var late float64
	b := &pgx.Batch{}
	b.Queue(`
		SELECT k.kind, k.state, count(j.id) AS n
		FROM (VALUES ($1, 'available'), ($1, 'running'), ($1, 'discarded')) AS k (kind, state)
		LEFT JOIN river_job j ON j.kind = k.kind AND j.state::text = k.state
		GROUP BY k.kind, k.state
		UNION ALL
		SELECT kind, state::text, count(*)
		FROM river_job
		WHERE state IN ('scheduled', 'retryable')
		GROUP BY kind, state`, Job{}.Kind()).Query(func(rows pgx.Rows) (err error) {
		found.Jobs, err = pgx.CollectRows(rows, pgx.RowToStructByName[Jobs])
		return err
	})
	b.Queue(`
		SELECT coalesce(extract(epoch FROM max(now() - lease_until)), 0)::float8
		FROM operation
		WHERE state = 'running' AND lease_until < now()`).QueryRow(func(row pgx.Row) error { return row.Scan(&late) })
	if err := q.SendBatch(ctx, b).Close(); err != nil {
		return Backlog{}, fmt.Errorf("read queue: %w", err)
	}
	found.LeaseAge = time.Duration(late * float64(time.Second))
	return found, nil
}
