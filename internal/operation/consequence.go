package operation

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
)

// settle is how long after a change of rules feedback may still be written by the old ones: a second that rules are remembered, and as long as
// a statement may take. What the change means to feedback is selected after that.
const settle = 15 * time.Second

// EditQuestion changes a question as carrier.EditQuestion does. When its answers are worth something else afterwards, they are scored again:
// by an operation, whose id is returned, else 0.
func (s *Store) EditQuestion(ctx context.Context, v account.View, by feedback.By, id int64, c carrier.QuestionChange, form *fault.Form) (carrier.Question, int64, error) {
	var started int64
	q, err := s.carriers.EditQuestion(ctx, v, id, c, form, func(tx pgx.Tx, q carrier.Question) (err error) {
		filter := fmt.Sprintf(`[{"Question":{"id":%d,"$exists":true}}]`, q.ID)
		started, err = s.follow(ctx, tx, v, Operation{Kind: Rescore, FQL: filter, By: by})
		return err
	})
	return q, started, err
}

// ChangeOrganization changes the organization as account.ChangeOrganization does. In another time zone feedback is counted on other days: by
// an operation, whose id is returned, else 0.
func (s *Store) ChangeOrganization(ctx context.Context, v account.View, by feedback.By, c account.OrganizationChange, form *fault.Form) (account.Organization, int64, error) {
	var started int64
	org, err := s.accounts.ChangeOrganization(ctx, v, c, form, func(tx pgx.Tx) (err error) {
		started, err = s.follow(ctx, tx, v, Operation{Kind: Rezone, FQL: `[]`, By: by})
		return err
	})
	return org, started, err
}

// follow starts an operation that is the consequence of a change made in the same transaction. Its selection is made when nothing is written by
// the old rules any more.
func (s *Store) follow(ctx context.Context, tx pgx.Tx, v account.View, o Operation) (int64, error) {
	o, err := s.insert(ctx, tx, v, o)
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, `
		UPDATE operation SET selects_at = now() + $3::interval WHERE organization_id = $1 AND id = $2`, v.Org(), o.ID, settle)
	if err != nil {
		return 0, fmt.Errorf("start operation: %w", err)
	}
	return o.ID, s.enqueue(ctx, tx, v, o.ID, settle)
}
