package operation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/analysis"
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

// AddTopic adds a topic as analysis.AddTopic does. Texts are read again for it: by an operation, whose id is returned.
func (s *Store) AddTopic(ctx context.Context, v account.View, by feedback.By, t analysis.Topic, form *fault.Form) (analysis.Topic, int64, error) {
	var started int64
	t, err := s.texts.AddTopic(ctx, v, t, form, s.reread(ctx, v, by, &started))
	return t, started, err
}

// AddStarter adds the topics of the starter catalogue that are missing, as AddTopic does.
func (s *Store) AddStarter(ctx context.Context, v account.View, by feedback.By) ([]analysis.Topic, int64, error) {
	var started int64
	topics, err := s.texts.AddStarter(ctx, v, s.reread(ctx, v, by, &started))
	return topics, started, err
}

// EditTopic changes a topic as analysis.EditTopic does. With other words texts are read again: by an operation, whose id is returned, else 0.
func (s *Store) EditTopic(ctx context.Context, v account.View, by feedback.By, id int64, c analysis.TopicChange, form *fault.Form) (analysis.Topic, int64, error) {
	var started int64
	t, err := s.texts.EditTopic(ctx, v, id, c, form, s.reread(ctx, v, by, &started))
	return t, started, err
}

// DeleteTopic removes a topic as analysis.DeleteTopic does. Texts are read again without it: by an operation, whose id is returned.
func (s *Store) DeleteTopic(ctx context.Context, v account.View, by feedback.By, id int64) (int64, error) {
	var started int64
	err := s.texts.DeleteTopic(ctx, v, id, s.reread(ctx, v, by, &started))
	return started, err
}

// ChangeLanguages changes the languages that texts are expected in as analysis.ChangeLanguages does. They are read again when one is another: by an
// operation, whose id is returned, else 0.
func (s *Store) ChangeLanguages(ctx context.Context, v account.View, by feedback.By, c analysis.LanguageChange, form *fault.Form) (analysis.Settings, int64, error) {
	var started int64
	settings, err := s.texts.ChangeLanguages(ctx, v, c, form, s.reread(ctx, v, by, &started))
	return settings, started, err
}

// Reanalyse has every text read again although nothing has changed: by an operation, whose id is returned.
func (s *Store) Reanalyse(ctx context.Context, v account.View, by feedback.By) (int64, error) {
	var started int64
	err := s.texts.Reread(ctx, v, s.reread(ctx, v, by, &started))
	return started, err
}

// upgradeTexts has the texts of every organization read again that were read by the rules of an earlier release.
func (s *Store) upgradeTexts(ctx context.Context) error {
	outdated, err := s.texts.Outdated(ctx)
	for _, org := range outdated {
		v := account.Whole(org)
		var started int64
		err = errors.Join(err, s.texts.Upgrade(ctx, v, s.reread(ctx, v, feedback.By{}, &started)))
	}
	return err
}

// reread has texts read again by an operation, and notes its id. One that waits to begin serves several changes: it waits a little longer.
func (s *Store) reread(ctx context.Context, v account.View, by feedback.By, started *int64) analysis.Reread {
	return func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			UPDATE operation SET selects_at = now() + $3::interval
			WHERE organization_id = $1 AND kind = $2 AND state = 'running' AND selects_at > now()
			RETURNING id`, v.Org(), Reanalyse, settle).Scan(started)
		if err == nil {
			return s.enqueue(ctx, tx, v, *started, settle)
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("find operation: %w", err)
		}
		*started, err = s.follow(ctx, tx, v, Operation{Kind: Reanalyse, FQL: `[{"Text":{"$exists":true}}]`, By: by})
		return err
	}
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
