package operation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// chunkSize is about what a worker changes within 50 ms.
const chunkSize = 1_000

// How long a selection may take: longer than a list, since nobody wants half of it, and longer still where nobody waits.
const (
	selecting        = 25 * time.Second
	selectingUnasked = 15 * time.Minute
)

// Start changes every record that matches now. A small selection is changed when it returns; a large one is stored, and workers change it. With
// expected, a selection of another size is fault.SelectionChanged and nothing is done. It refuses a query that filters nothing.
func (s *Store) Start(ctx context.Context, p account.Principal, c feedback.Change, q fql.Query, expected *int64) (Operation, error) {
	if q.Everything() {
		return Operation{}, fault.New(fault.ValidationFailed, "The filter matches everything; a change of many feedback needs one that says which.")
	}
	v, by := p.View(), feedback.Caller(p)
	if _, narrowed := v.Owner(); narrowed {
		return Operation{}, fault.New(fault.Forbidden, "A restricted viewer changes nothing.")
	}
	var o Operation
	err := s.feedback.Select(ctx, v, q, func(sql string, args *pg.Args) error {
		return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) (err error) {
			if o, err = s.insert(ctx, tx, v, Operation{Kind: Kind(c.Verb), FQL: q.String(), Change: c, By: by}); err != nil {
				return err
			}
			if err := s.keep(ctx, tx, v, &o, sql, args, selecting); err != nil {
				return err
			}
			if expected != nil && *expected != o.Total {
				return feedback.SelectionChanged(*expected, o.Total)
			}
			return s.begin(ctx, tx, v, &o)
		})
	})
	return o, err
}

// Undo takes back what an ended operation changed, unless that was changed again since: an operation of its own, small or large as the first.
// What is still running, was undone, ended too long ago or is of a kind that cannot be is fault.NotUndoable.
func (s *Store) Undo(ctx context.Context, p account.Principal, id int64) (Operation, error) {
	return s.undo(ctx, p.View(), feedback.Caller(p), id)
}

// UndoAsOperator is Undo at the command line.
func (s *Store) UndoAsOperator(ctx context.Context, v account.View, id int64) (Operation, error) {
	return s.undo(ctx, v, feedback.By{}, id)
}

func (s *Store) undo(ctx context.Context, v account.View, by feedback.By, id int64) (Operation, error) {
	var o Operation
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		undone, err := s.read(ctx, tx, v, id, forUpdate)
		if err != nil {
			return err
		}
		if err := undoable(undone); err != nil {
			return err
		}
		if o, err = s.insert(ctx, tx, v, Operation{Kind: Undo, FQL: undone.FQL, By: by, Undoes: id}); err != nil {
			return err
		}
		// What the first one did not come to is not looked at.
		err = tx.QueryRow(ctx, `
			WITH copied AS (
				INSERT INTO operation_chunk (organization_id, operation_id, n, ids)
				SELECT $1, $3, c.n, c.ids
				FROM operation_chunk c
				JOIN operation o ON o.organization_id = $1 AND o.id = $2
				WHERE c.organization_id = $1 AND c.operation_id = $2 AND c.n < o.next_chunk
				RETURNING cardinality(ids) AS n
			), marked AS (
				UPDATE operation SET undone_by = $3 WHERE organization_id = $1 AND id = $2
			)
			UPDATE operation SET (chunks, total) = (SELECT count(*), coalesce(sum(n), 0) FROM copied)
			WHERE organization_id = $1 AND id = $3
			RETURNING total`, v.Org(), id, o.ID).Scan(&o.Total)
		if err != nil {
			return fmt.Errorf("copy selection: %w", err)
		}
		return s.begin(ctx, tx, v, &o)
	})
	return o, err
}

func undoable(o Operation) error {
	switch {
	case o.State == Running:
		return fault.New(fault.NotUndoable, "The operation is still running; cancel it first.")
	case o.UndoneBy != 0:
		return fault.New(fault.NotUndoable, "The operation was undone by operation %d already.", o.UndoneBy)
	case o.UndoUntil == nil:
		return fault.New(fault.NotUndoable, "The operation can no longer be undone.")
	}
	return nil
}

// insert writes a new operation without a selection.
func (s *Store) insert(ctx context.Context, tx pgx.Tx, v account.View, o Operation) (Operation, error) {
	change, err := writeChange(o.Change)
	if err != nil {
		return Operation{}, fmt.Errorf("encode change: %w", err)
	}
	err = tx.QueryRow(ctx, `
		INSERT INTO operation (organization_id, kind, fql, change, state, token_id, user_id, undoes)
		VALUES ($1, $2, $3, $4, 'running', nullif($5, 0), nullif($6, 0), nullif($7, 0))
		RETURNING id`, v.Org(), o.Kind, o.FQL, change, o.By.TokenID, o.By.UserID, o.Undoes).Scan(&o.ID)
	if err != nil {
		return Operation{}, fmt.Errorf("start operation: %w", err)
	}
	o.State, o.By.OperationID = Running, o.ID
	return o, nil
}

// keep stores the ids that a query selects as the operation's. Cutting one array into pieces takes half the time of numbering the ids and
// grouping them.
func (s *Store) keep(ctx context.Context, tx pgx.Tx, v account.View, o *Operation, sql string, args *pg.Args, timeout time.Duration) error {
	org, id, size := args.Bind(v.Org()), args.Bind(o.ID), fmt.Sprint(s.chunk)
	b := &pgx.Batch{}
	b.Queue(fmt.Sprintf(`SET LOCAL statement_timeout = %d`, timeout.Milliseconds()))
	b.Queue(`SET LOCAL plan_cache_mode = force_custom_plan`)
	b.Queue(`
		WITH chunk AS (
			INSERT INTO operation_chunk (organization_id, operation_id, n, ids)
			SELECT `+org+`, `+id+`, n, selected.ids[n * `+size+` + 1:(n + 1) * `+size+`]
			FROM (SELECT array_agg(id ORDER BY id) AS ids FROM (`+sql+`) AS picked) AS selected
			CROSS JOIN generate_series(0, (cardinality(selected.ids) - 1) / `+size+`) AS n
			RETURNING cardinality(ids) AS n
		)
		UPDATE operation SET (chunks, total) = (SELECT count(*), coalesce(sum(n), 0) FROM chunk), selects_at = NULL
		WHERE organization_id = `+org+` AND id = `+id+`
		RETURNING total`, *args...).QueryRow(func(row pgx.Row) error { return row.Scan(&o.Total) })
	b.Queue(`SET LOCAL plan_cache_mode TO DEFAULT`)
	return tx.SendBatch(ctx, b).Close()
}

// begin does the work when there is little of it, and else leaves it to a worker, who comes when the transaction commits.
func (s *Store) begin(ctx context.Context, tx pgx.Tx, v account.View, o *Operation) error {
	var err error
	if *o, err = s.read(ctx, tx, v, o.ID, ""); err != nil {
		return err
	}
	if o.Total <= s.settings.InRequest {
		for more := true; more && err == nil; {
			more, err = s.advance(ctx, tx, v, o, 1)
		}
	} else {
		err = s.enqueue(ctx, tx, v, o.ID, 0)
	}
	if err != nil {
		return err
	}
	*o, err = s.read(ctx, tx, v, o.ID, "")
	return err
}

// enqueue sends for a worker, who is to come after a while, and gives it time to come.
func (s *Store) enqueue(ctx context.Context, tx pgx.Tx, v account.View, id int64, after time.Duration) error {
	var options *river.InsertOpts
	if after > 0 {
		options = &river.InsertOpts{ScheduledAt: time.Now().Add(after)}
	}
	_, err := s.queue.InsertTx(ctx, tx, Job{OrganizationID: v.Org(), OperationID: id}, options)
	_, leaseErr := tx.Exec(ctx, `
		UPDATE operation SET lease_until = now() + $3::interval
		WHERE organization_id = $1 AND id = $2`, v.Org(), id, after+lease)
	if err = errors.Join(err, leaseErr); err != nil {
		return fmt.Errorf("send for a worker: %w", err)
	}
	return nil
}
