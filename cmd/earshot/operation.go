package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"earshot/internal/account"
	"earshot/internal/operation"
)

type operationCmd struct {
	List   operationListCmd   `cmd:"" help:"List bulk changes, the newest first."`
	Show   operationShowCmd   `cmd:"" help:"Show a bulk change and how far it is."`
	Watch  operationWatchCmd  `cmd:"" help:"Follow a bulk change until it has ended. Ends with 1 when it did not get done."`
	Cancel operationCancelCmd `cmd:"" help:"Stop a bulk change. What it has changed stays changed until it is undone."`
	Undo   operationUndoCmd   `cmd:"" help:"Take back what a bulk change changed, unless that was changed again since, and follow it until it is done."`
}

// operating is what the commands about operations take.
type operating struct {
	organization
	output
	UndoFor string `env:"EARSHOT_UNDO_FOR" default:"168h" help:"How long after its end a bulk change can be undone; as the service has it (default ${default})."`
}

func (c operating) with(ctx context.Context, do func(*operation.Store, account.View) error) error {
	var m mistakes
	undoFor := m.duration("undo-for", c.UndoFor)
	if err := m.err(); err != nil {
		return err
	}
	return c.organization.with(ctx, func(s stores, v account.View) error {
		operations, err := s.operations(undoFor)
		if err != nil {
			return err
		}
		return do(operations, v)
	})
}

type operationListCmd struct {
	operating
	Limit int `default:"20" help:"How many at most (default ${default})."`
}

// Run lists operations.
func (c *operationListCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s *operation.Store, v account.View) error {
		page, _, err := s.List(ctx, v, operation.Filter{}, max(c.Limit, 1))
		if err != nil {
			return err
		}
		return printAll(std.out, c.JSON, page, operationRowOf)
	})
}

type operationShowCmd struct {
	operating
	ID int64 `arg:"" help:"Id of the operation."`
}

// Run shows one.
func (c *operationShowCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s *operation.Store, v account.View) error {
		o, err := s.ByID(ctx, v, c.ID)
		if err != nil {
			return err
		}
		return printOne(std.out, c.JSON, operationRowOf(o))
	})
}

type operationWatchCmd struct {
	operating
	ID int64 `arg:"" help:"Id of the operation."`
}

// Run follows one.
func (c *operationWatchCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s *operation.Store, v account.View) error {
		return watch(ctx, std, s, v, c.ID, c.JSON)
	})
}

type operationCancelCmd struct {
	operating
	ID int64 `arg:"" help:"Id of the operation."`
}

// Run cancels one.
func (c *operationCancelCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s *operation.Store, v account.View) error {
		o, err := s.Cancel(ctx, v, c.ID)
		if err != nil {
			return err
		}
		return printOne(std.out, c.JSON, operationRowOf(o))
	})
}

type operationUndoCmd struct {
	operating
	ID int64 `arg:"" help:"Id of the operation to take back."`
}

// Run undoes one. Large ones are undone by the workers of the service.
func (c *operationUndoCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s *operation.Store, v account.View) error {
		o, err := s.UndoAsOperator(ctx, v, c.ID)
		if err != nil {
			return err
		}
		return watch(ctx, std, s, v, o.ID, c.JSON)
	})
}

// watch shows an operation's progress on the error stream until it has ended, and then prints it.
func watch(ctx context.Context, std streams, s *operation.Store, v account.View, id int64, asJSON bool) error {
	bar := newProgress(std.err)
	for {
		o, err := s.ByID(ctx, v, id)
		if err != nil {
			return err
		}
		note := fmt.Sprintf("%.0f/s", o.Rate())
		if eta := o.ETA(); eta != nil {
			note += ", " + time.Until(*eta).Round(time.Second).String() + " left"
		}
		bar.show(o.Done, o.Total, note)
		if o.State != operation.Running {
			bar.end()
			if err := printOne(std.out, asJSON, operationRowOf(o)); err != nil || o.State == operation.Done {
				return err
			}
			return fmt.Errorf("the operation ended as %s %s", o.State, o.Error)
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			bar.end()
			return errors.New("no longer followed; the operation goes on")
		}
	}
}

type operationRow struct {
	ID         int64           `json:"id"`
	Kind       operation.Kind  `json:"kind"`
	FQL        string          `json:"fql"`
	State      operation.State `json:"state"`
	Total      int64           `json:"total"`
	Done       int64           `json:"done"`
	Changed    int64           `json:"changed"`
	Skipped    int64           `json:"skipped"`
	UserEmail  string          `json:"user_email"`
	CreatedAt  stamp           `json:"created_at"`
	FinishedAt *stamp          `json:"finished_at"`
}

func operationRowOf(o operation.Operation) operationRow {
	return operationRow{
		o.ID, o.Kind, o.FQL, o.State, o.Total, o.Done, o.Changed, o.Skipped, o.User, stamp(o.CreatedAt), optionalStamp(o.FinishedAt),
	}
}

func (operationRow) titles() []string {
	return []string{"ID", "KIND", "STATE", "DONE", "TOTAL", "CHANGED", "SKIPPED", "STARTED BY", "CREATED", "FILTER"}
}

func (r operationRow) cells() []any {
	return []any{r.ID, r.Kind, r.State, r.Done, r.Total, r.Changed, r.Skipped, r.UserEmail, r.CreatedAt, r.FQL}
}
