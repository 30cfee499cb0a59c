package operation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg"
)

const (
	// lease is how long an operation may show no progress before another worker is sent for it.
	lease = 30 * time.Second
	// sweepEvery is how often leases are looked at.
	sweepEvery = 5 * time.Second
	// turn is how long a worker stays with one operation before it looks whether others wait.
	turn = 5 * time.Second
	// stretch is how long one transaction should take: records are locked that long.
	stretch = 50 * time.Millisecond
	// maxChunks is how many chunks one transaction takes at most.
	maxChunks = 16
	// maxFailures is how often in a row an operation may fail before it is given up.
	maxFailures = 10
)

// Job is the work of one turn on one operation. A job that runs twice is harmless, so it is not retried: an operation that is left alone gets
// another.
type Job struct {
	OrganizationID account.OrgID `json:"organization_id"`
	OperationID    int64         `json:"operation_id"`
}

// Kind names the sort of job in the queue.
func (Job) Kind() string { return "operation" }

// InsertOpts makes the lease, not the queue, decide about another attempt.
func (Job) InsertOpts() river.InsertOpts { return river.InsertOpts{MaxAttempts: 1} }

// Worker runs jobs.
type Worker struct {
	river.WorkerDefaults[Job]
	Operations *Store
}

// Work stays with the operation for a turn and gets in line again when there is more to do.
func (w *Worker) Work(ctx context.Context, job *river.Job[Job]) error {
	more, err := w.Operations.Work(ctx, account.Whole(job.Args.OrganizationID), job.Args.OperationID)
	if err == nil && more {
		return river.JobSnooze(0)
	}
	return err
}

// Work goes on with an operation for a turn, and for another as long as nobody waits, or until ctx ends: then it finishes the records it has
// begun with. It reports whether the operation is left running. One that fails time and again ends as failed.
func (s *Store) Work(ctx context.Context, v account.View, id int64) (more bool, err error) {
	began := time.Now()
	chunks := 1
	for more = true; more; {
		if ctx.Err() != nil {
			return true, nil
		}
		if time.Since(began) > turn {
			if wait, err := s.othersWait(ctx); wait || err != nil {
				return true, err
			}
			began = time.Now()
		}
		start := time.Now()
		if more, err = s.step(context.WithoutCancel(ctx), v, id, chunks); err != nil {
			return true, s.failed(ctx, v, id, err)
		}
		switch took := time.Since(start); {
		case took < stretch/2:
			chunks = min(chunks*2, maxChunks)
		case took > stretch*2:
			chunks = max(chunks/2, 1)
		}
	}
	return false, nil
}

// othersWait says whether there is an operation, of whatever organization, that nobody has begun to work on. To get in line where there is
// none would only cost the time until the queue is looked at again.
func (s *Store) othersWait(ctx context.Context) (wait bool, err error) {
	err = s.db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM river_job WHERE state = 'available' AND kind = $1)`, Job{}.Kind()).Scan(&wait)
	if err != nil {
		return false, fmt.Errorf("look who waits: %w", err)
	}
	return wait, nil
}

// unhurried transactions need not be on disk when the next one begins: when one is lost, the cursor is lost with it.
var unhurried = pgx.TxOptions{BeginQuery: `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off`}

// step changes the next records of an operation in a transaction of its own. Only the last one is waited for.
func (s *Store) step(ctx context.Context, v account.View, id int64, chunks int) (more bool, err error) {
	err = pgx.BeginTxFunc(ctx, s.db, unhurried, func(tx pgx.Tx) error {
		o, err := s.read(ctx, tx, v, id, forUpdate)
		if err != nil || o.State != Running {
			return err
		}
		if o.selectsAt != nil {
			// A worker who comes too early goes again; when the lease has run out another one comes.
			if more = !o.selectsAt.After(o.now); !more {
				return nil
			}
			return s.selectNow(ctx, tx, v, &o)
		}
		if more, err = s.advance(ctx, tx, v, &o, chunks); err != nil || more {
			return err
		}
		_, err = tx.Exec(ctx, `SET LOCAL synchronous_commit TO DEFAULT`)
		return err
	})
	if fault.Is(err, fault.NotFound) {
		return false, nil // its organization was deleted
	}
	return more, err
}

// selectNow makes the selection of an operation that was started without one.
func (s *Store) selectNow(ctx context.Context, tx pgx.Tx, v account.View, o *Operation) error {
	q, err := feedback.Filters.Parse(o.FQL)
	if err != nil {
		return err
	}
	return s.feedback.Select(ctx, v, q, func(sql string, args *pg.Args) error {
		return s.keep(ctx, tx, v, o, sql, args, selectingUnasked)
	})
}

// advance changes the records of the next chunks of an operation that the transaction has locked, moves its cursor past them and renews its
// lease. After the last one the operation is done and more is false.
func (s *Store) advance(ctx context.Context, tx pgx.Tx, v account.View, o *Operation, chunks int) (more bool, err error) {
	from, to := o.next, min(o.next+chunks, o.chunks)
	var ids []int64
	err = tx.QueryRow(ctx, `
		SELECT coalesce(array_agg(id), '{}')
		FROM (
			SELECT unnest(ids) AS id FROM operation_chunk
			WHERE organization_id = $1 AND operation_id = $2 AND n >= $3 AND n < $4
		) AS selected`, v.Org(), o.ID, from, to).Scan(&ids)
	if err != nil {
		return false, fmt.Errorf("read selection: %w", err)
	}
	var changed int64
	var skipped []int64
	if len(ids) > 0 {
		if changed, skipped, err = s.change(ctx, tx, v, *o, ids); err != nil {
			return false, err
		}
	}
	b := &pgx.Batch{}
	if len(skipped) > 0 {
		b.Queue(`
			UPDATE operation_chunk SET skipped = ARRAY(SELECT unnest(ids) INTERSECT SELECT unnest($5::bigint[]))
			WHERE organization_id = $1 AND operation_id = $2 AND n >= $3 AND n < $4`, v.Org(), o.ID, from, to, skipped)
	}
	more = to < o.chunks
	b.Queue(`
		UPDATE operation
		SET next_chunk = $3, done = done + $4, changed = changed + $5, skipped = skipped + $6, failures = 0, error = NULL,
		    started_at = coalesce(started_at, $7), state = CASE WHEN $8 THEN state ELSE 'done' END,
		    finished_at = CASE WHEN NOT $8 THEN clock_timestamp() END, lease_until = CASE WHEN $8 THEN clock_timestamp() + $9::interval END
		WHERE organization_id = $1 AND id = $2`, v.Org(), o.ID, to, len(ids), changed, len(skipped), o.now, more, lease)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return false, fmt.Errorf("move on: %w", err)
	}
	o.next = to
	if !more {
		return false, s.finish(ctx, tx, v, *o)
	}
	return true, nil
}

// finish does what is left to do when an operation is done.
func (s *Store) finish(ctx context.Context, tx pgx.Tx, v account.View, o Operation) error {
	if o.Kind != Rezone {
		return nil
	}
	// The zone may have changed again meanwhile; then the last one of them ends it.
	var others bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM operation WHERE organization_id = $1 AND id <> $2 AND kind = $3 AND state = 'running')`,
		v.Org(), o.ID, Rezone).Scan(&others)
	if err != nil || others {
		return err
	}
	return account.Rezoned(ctx, tx, v)
}

// change does to the records what the operation is for.
func (s *Store) change(ctx context.Context, tx pgx.Tx, v account.View, o Operation, ids []int64) (changed int64, skipped []int64, err error) {
	switch o.Kind {
	case Status, Attach, Sync, Detach:
		c := o.Change
		c.Verb = feedback.Verb(o.Kind)
		done, err := s.feedback.Apply(ctx, tx, v, o.By, c, ids)
		return done.Changed, nil, err
	case Undo:
		done, err := s.feedback.Restore(ctx, tx, v, o.By, o.Undoes, ids)
		return done.Changed, done.Skipped, err
	case Rescore, Reanalyse: // both read answers and texts by what holds now
		changed, err = s.feedback.Rescore(ctx, tx, v, ids)
		return changed, nil, err
	case Rezone:
		changed, err = s.feedback.Rezone(ctx, tx, v, ids)
		return changed, nil, err
	}
	return 0, nil, fmt.Errorf("operation %d is of the unknown kind %q", o.ID, o.Kind)
}

// failed notes a failure, and gives the operation up when there were too many in a row; a consequence is never given up, because nobody would
// start it again. A database that is away is nobody's failure.
func (s *Store) failed(ctx context.Context, v account.View, id int64, err error) error {
	if pg.Away(err) || errors.Is(err, context.Canceled) {
		return err
	}
	_, noted := s.db.Exec(context.WithoutCancel(ctx), `
		UPDATE operation
		SET failures = failures + 1, error = $3, state = CASE WHEN failures + 1 >= $4 AND kind <> ALL($5) THEN 'failed' ELSE state END,
		    finished_at = CASE WHEN failures + 1 >= $4 AND kind <> ALL($5) THEN now() END
		WHERE organization_id = $1 AND id = $2 AND state = 'running'`, v.Org(), id, pg.Describe(err), maxFailures, consequences)
	return errors.Join(err, noted)
}

// Run sends for workers where an operation was left alone, has texts read by the rules of this release, and forgets selections that can no longer be
// undone, until ctx ends.
func (s *Store) Run(ctx context.Context, log *slog.Logger) {
	for tick := time.NewTicker(sweepEvery); ; {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "operations cannot be looked after", "error", pg.Describe(err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}

// Sweep is one round of Run. It is about all organizations: looking after operations is nobody's request.
func (s *Store) Sweep(ctx context.Context) error {
	type left struct {
		OrganizationID account.OrgID
		ID             int64
	}
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT organization_id, id FROM operation
			WHERE state = 'running' AND lease_until < now()
			ORDER BY organization_id, id
			LIMIT 100
			FOR UPDATE SKIP LOCKED`)
		if err != nil {
			return err
		}
		alone, err := pgx.CollectRows(rows, pgx.RowToStructByName[left])
		for _, o := range alone {
			err = errors.Join(err, s.enqueue(ctx, tx, account.Whole(o.OrganizationID), o.ID, 0))
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := s.upgradeTexts(ctx); err != nil {
		return err
	}
	_, err = s.db.Exec(ctx, `
		WITH old AS (
			UPDATE operation SET chunks = 0
			WHERE (organization_id, id) IN (
				SELECT organization_id, id FROM operation
				WHERE chunks > 0 AND finished_at < now() - $1::interval
				ORDER BY finished_at
				LIMIT 10
				FOR UPDATE SKIP LOCKED)
			RETURNING organization_id, id
		)
		DELETE FROM operation_chunk c
		USING old
		WHERE c.organization_id = old.organization_id AND c.operation_id = old.id`, s.settings.UndoFor)
	return err
}
