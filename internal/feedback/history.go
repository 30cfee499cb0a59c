package feedback

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
)

// Event is one change in a record's history. Of Status, Owners and Attribute one is set.
type Event struct {
	ID        int64
	At        time.Time
	By        By
	User      *Owner // who By.UserID is, while they exist
	Status    *StatusChange
	Owners    *OwnerChange
	Attribute *AttributeChange
}

// StatusChange is a move from one status to another.
type StatusChange struct{ Before, After Status }

// OwnerChange is the owners before and after, without those who were deleted since.
type OwnerChange struct{ Before, After []Owner }

// AttributeChange is the values of an attribute before and after, in their order.
type AttributeChange struct {
	Name          string
	Before, After []Value
}

// The fields of feedback_history.
const (
	statusField = iota + 1
	ownersField
	attributeField
)

// History returns a page of what was done to a record, the newest first, and how many events there are. It continues strictly past the event
// after, when one is given. A record outside the view is fault.NotFound.
func (s *Store) History(ctx context.Context, v account.View, id int64, after *int64, size int) ([]Event, int64, error) {
	if _, err := s.ByID(ctx, v, id, Parts{}); err != nil {
		return nil, 0, err
	}
	var stored []storedEvent
	var total int64
	b := &pgx.Batch{}
	b.Queue(`
		SELECT id, at, coalesce(token_id, 0) AS token_id, coalesce(user_id, 0) AS user_id, coalesce(operation_id, 0) AS operation_id,
		       coalesce(attribute_id, 0) AS attribute_id, field, before, after
		FROM feedback_history
		WHERE organization_id = $1 AND feedback_id = $2 AND ($3::bigint IS NULL OR id < $3)
		ORDER BY id DESC
		LIMIT $4`, v.Org(), id, after, size).Query(func(rows pgx.Rows) (err error) {
		stored, err = pgx.CollectRows(rows, pgx.RowToStructByName[storedEvent])
		return err
	})
	b.Queue(`SELECT count(*) FROM feedback_history WHERE organization_id = $1 AND feedback_id = $2`, v.Org(), id).
		QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	if err := s.snapshot(ctx, b); err != nil {
		return nil, 0, fmt.Errorf("read history: %w", err)
	}
	events, err := s.describe(ctx, v, stored)
	if err != nil {
		return nil, 0, fmt.Errorf("read history: %w", err)
	}
	return events, total, nil
}

type storedEvent struct {
	ID            int64
	At            time.Time
	TokenID       int64
	UserID        account.UserID
	OperationID   int64
	AttributeID   int64
	Field         int16
	Before, After []int64
}

// describe gives the ids of a history their names.
func (s *Store) describe(ctx context.Context, v account.View, stored []storedEvent) ([]Event, error) {
	var userIDs, valueIDs, attributeIDs []int64
	for _, e := range stored {
		userIDs = append(userIDs, int64(e.UserID))
		switch e.Field {
		case ownersField:
			userIDs = append(userIDs, slices.Concat(e.Before, e.After)...)
		case attributeField:
			attributeIDs = append(attributeIDs, e.AttributeID)
			valueIDs = append(valueIDs, slices.Concat(e.Before, e.After)...)
		}
	}
	users, values, names := map[int64]Owner{}, map[int64]Value{}, map[int64]string{}
	b := &pgx.Batch{}
	b.Queue(`SELECT id, name, email FROM app_user WHERE organization_id = $1 AND id = ANY($2)`, v.Org(), userIDs).
		Query(func(rows pgx.Rows) error {
			var o Owner
			_, err := pgx.ForEachRow(rows, []any{&o.ID, &o.Name, &o.Email}, func() error { users[int64(o.ID)] = o; return nil })
			return err
		})
	b.Queue(`SELECT id, text, is_number FROM attribute_value WHERE organization_id = $1 AND id = ANY($2)`, v.Org(), valueIDs).
		Query(func(rows pgx.Rows) error {
			var id int64
			var value Value
			_, err := pgx.ForEachRow(rows, []any{&id, &value.Text, &value.IsNumber}, func() error { values[id] = value; return nil })
			return err
		})
	b.Queue(`SELECT id, name FROM attribute WHERE organization_id = $1 AND id = ANY($2)`, v.Org(), attributeIDs).
		Query(func(rows pgx.Rows) error {
			var id int64
			var name string
			_, err := pgx.ForEachRow(rows, []any{&id, &name}, func() error { names[id] = name; return nil })
			return err
		})
	if err := s.reads.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	events := make([]Event, len(stored))
	for i, e := range stored {
		events[i] = Event{ID: e.ID, At: e.At.UTC(), By: By{TokenID: e.TokenID, UserID: e.UserID, OperationID: e.OperationID}}
		if user, ok := users[int64(e.UserID)]; ok {
			events[i].User = &user
		}
		switch e.Field {
		case statusField:
			events[i].Status = &StatusChange{Before: Status(e.Before[0]), After: Status(e.After[0])}
		case ownersField:
			events[i].Owners = &OwnerChange{Before: named(users, e.Before), After: named(users, e.After)}
		case attributeField:
			events[i].Attribute = &AttributeChange{Name: names[e.AttributeID], Before: named(values, e.Before), After: named(values, e.After)}
		}
	}
	return events, nil
}

// named is what the ids stand for, without those that are gone.
func named[T any](known map[int64]T, ids []int64) []T {
	found := []T{}
	for _, id := range ids {
		if what, ok := known[id]; ok {
			found = append(found, what)
		}
	}
	return found
}
