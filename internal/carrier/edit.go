package carrier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg"
)

// New is a carrier to be. Without an id it gets a number of ours, without a team it belongs to the main one.
type New struct {
	ID        int64
	TeamID    int64
	Name      string
	Questions []NewQuestion
}

// Create adds a carrier with its questions, in order. It refuses a nameless carrier or question, an id that is in use, an
// unknown team or type, a scale outside 2 to 100, and a choice or table without options or with two of one name.
func (s *Store) Create(ctx context.Context, v account.View, n New) (Carrier, error) {
	var form fault.Form
	return s.CreateWith(ctx, v, n, &form)
}

// CreateWith is Create that adds to the mistakes the form already holds.
func (s *Store) CreateWith(ctx context.Context, v account.View, n New, form *fault.Form) (Carrier, error) {
	if err := n.check(ctx, s.db, v, form); err != nil {
		return Carrier{}, err
	}
	var id int64
	err := s.edit(ctx, "create carrier", func(tx pgx.Tx) error {
		err := claim(n.ID, "id", form, func() error {
			return tx.QueryRow(ctx, `
				INSERT INTO carrier (organization_id, id, team_id, name)
				SELECT organization_id, coalesce(nullif($2::bigint, 0), nextval('carrier_id')), id, $4
				FROM team
				WHERE organization_id = $1 AND (id = $3 OR $3 = 0 AND main)
				ON CONFLICT DO NOTHING
				RETURNING id`, v.Org(), n.ID, n.TeamID, n.Name).Scan(&id)
		})
		for i := 0; err == nil && i < len(n.Questions); i++ {
			_, err = addQuestion(ctx, tx, v, id, i+1, n.Questions[i], fmt.Sprintf("questions.%d.", i), form)
		}
		return err
	})
	if err != nil {
		return Carrier{}, err
	}
	return s.ByID(ctx, v, id)
}

// ByName returns the organization's oldest carrier of that name, or fault.NotFound.
func (s *Store) ByName(ctx context.Context, v account.View, name string) (Carrier, error) {
	var id int64
	err := s.db.QueryRow(ctx, `
		SELECT id FROM carrier WHERE organization_id = $1 AND name = $2 ORDER BY created_at, id LIMIT 1`, v.Org(), name).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Carrier{}, fault.Missing("carrier")
	}
	if err != nil {
		return Carrier{}, fmt.Errorf("find carrier: %w", err)
	}
	return s.ByID(ctx, v, id)
}

// ByID returns a carrier with its questions and their options. An unknown id is fault.NotFound.
func (s *Store) ByID(ctx context.Context, v account.View, id int64) (Carrier, error) {
	rows, err := s.db.Query(ctx, `
		SELECT id, team_id, name, created_at, archived_at FROM carrier
		WHERE organization_id = $1 AND id = $2`, v.Org(), id)
	if err != nil {
		return Carrier{}, fmt.Errorf("read carrier: %w", err)
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Carrier])
	if errors.Is(err, pgx.ErrNoRows) {
		return Carrier{}, fault.Missing("carrier")
	}
	if err != nil {
		return Carrier{}, fmt.Errorf("read carrier: %w", err)
	}
	if c.Questions, err = readQuestions(ctx, s.db, v, byCarrier, []int64{id}); err != nil {
		return Carrier{}, fmt.Errorf("read carrier: %w", err)
	}
	return c, nil
}

// Change is what is to be different about a carrier; what is empty or nil stays.
type Change struct {
	Name     string
	TeamID   int64
	Archived *bool
}

// Edit changes a carrier. An archived one is not offered any more and takes feedback all the same. It refuses a blank name and an
// unknown team; an unknown id is fault.NotFound.
func (s *Store) Edit(ctx context.Context, v account.View, id int64, c Change, form *fault.Form) (Carrier, error) {
	c.Name = trimmed(form, "name", c.Name)
	err := s.edit(ctx, "edit carrier", func(tx pgx.Tx) error {
		if err := lockCarrier(ctx, tx, v, id); err != nil {
			return err
		}
		if err := checkTeam(ctx, tx, v, c.TeamID, form); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			UPDATE carrier
			SET name = coalesce(nullif($3, ''), name), team_id = coalesce(nullif($4::bigint, 0), team_id),
			    archived_at = CASE $5::boolean WHEN true THEN coalesce(archived_at, now()) WHEN false THEN NULL ELSE archived_at END
			WHERE organization_id = $1 AND id = $2`, v.Org(), id, c.Name, c.TeamID, c.Archived)
		return refused(err, form)
	})
	if err != nil {
		return Carrier{}, err
	}
	return s.ByID(ctx, v, id)
}

// Delete removes a carrier with its questions. It refuses one that has feedback, or whose questions were answered in another
// carrier's: it can be archived. An unknown id is fault.NotFound.
func (s *Store) Delete(ctx context.Context, v account.View, id int64) error {
	return s.edit(ctx, "delete carrier", func(tx pgx.Tx) error {
		if err := lockCarrier(ctx, tx, v, id); err != nil {
			return err
		}
		questions, err := readQuestions(ctx, tx, v, byCarrier, []int64{id})
		if err != nil {
			return err
		}
		var used bool
		// Every feedback has a fingerprint, and those are kept by carrier.
		err = tx.QueryRow(ctx, `
			SELECT EXISTS (
				SELECT FROM fingerprint p
				JOIN feedback f ON f.organization_id = p.organization_id AND f.id = p.feedback_id
				WHERE p.organization_id = $1 AND p.carrier_id = $2)`, v.Org(), id).Scan(&used)
		if err == nil && !used {
			used, err = answered(ctx, tx, v, questions...)
		}
		if err != nil {
			return err
		}
		if used {
			return fault.New(fault.ValidationFailed, "The carrier has feedback and cannot be deleted: archive it instead.")
		}
		if err := deleteQuestions(ctx, tx, v, questions...); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM carrier WHERE organization_id = $1 AND id = $2`, v.Org(), id)
		return err
	})
}

// edit runs a change of carriers or questions in a transaction, after which every process reads them anew.
func (s *Store) edit(ctx context.Context, doing string, change func(pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if err := change(tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `SELECT pg_notify($1, '')`, Channel)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	s.Forget()
	return nil
}

// lockCarrier has edits of a carrier and its questions, and clients who bring new questions, wait for each other. An unknown
// id is fault.NotFound.
func lockCarrier(ctx context.Context, tx pgx.Tx, v account.View, id int64) error {
	err := tx.QueryRow(ctx, `
		SELECT id FROM carrier WHERE organization_id = $1 AND id = $2 FOR UPDATE`, v.Org(), id).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.Missing("carrier")
	}
	return err
}

func (n *New) check(ctx context.Context, q pg.Querier, v account.View, form *fault.Form) error {
	if n.Name = trimmed(form, "name", n.Name); n.Name == "" && !form.Wrong("name") {
		form.Add("name", "is required")
	}
	var ids []int64
	for i := range n.Questions {
		question := &n.Questions[i]
		path := fmt.Sprintf("questions.%d.", i)
		question.check(path, form)
		if question.ID != 0 && slices.Contains(ids, question.ID) {
			form.Add(path+"id", isTaken)
		}
		ids = append(ids, question.ID)
	}
	var taken bool
	var questions []int64
	err := q.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM carrier WHERE organization_id = $1 AND id = $2),
		       ARRAY(SELECT id FROM question WHERE organization_id = $1 AND id = ANY($3))`, v.Org(), n.ID, ids).Scan(&taken, &questions)
	if err != nil {
		return fmt.Errorf("read carriers: %w", err)
	}
	if taken {
		form.Add("id", isTaken)
	}
	for i, id := range ids {
		if slices.Contains(questions, id) {
			form.Add(fmt.Sprintf("questions.%d.id", i), isTaken)
		}
	}
	return checkTeam(ctx, q, v, n.TeamID, form)
}

const (
	isTaken       = "is the number of another one"
	teamIsUnknown = "is not a team of this organization"
)

// checkTeam notes a team that the organization does not have, and asks for all mistakes.
func checkTeam(ctx context.Context, q pg.Querier, v account.View, team int64, form *fault.Form) error {
	var known bool
	err := q.QueryRow(ctx, `
		SELECT $2::bigint = 0 OR EXISTS (SELECT FROM team WHERE organization_id = $1 AND id = $2)`, v.Org(), team).Scan(&known)
	if err != nil {
		return fmt.Errorf("read teams: %w", err)
	}
	if !known {
		form.Add("team_id", teamIsUnknown)
	}
	return form.Err()
}

// refused tells a team that was deleted a moment ago from an error of ours.
func refused(err error, form *fault.Form) error {
	if pg.Violates(err, "carrier_team") {
		form.Add("team_id", teamIsUnknown)
		return form.Err()
	}
	return err
}

// trimmed is a text without the spaces around it; one of nothing but spaces is a mistake.
func trimmed(form *fault.Form, field, text string) string {
	t := strings.TrimSpace(text)
	if t == "" && text != "" {
		form.Add(field, "must not be blank")
	}
	return t
}

// claim runs an INSERT that returns nothing when its number is in use: with the number given, or with the next of a sequence until one
// is free that no client has used before us.
func claim(given int64, field string, form *fault.Form, insert func() error) error {
	if given != 0 {
		err := insert()
		if errors.Is(err, pgx.ErrNoRows) { // a client was faster
			form.Add(field, isTaken)
			return form.Err()
		}
		return err
	}
	const most = 1000 // far more than chance explains: the organization itself is missing
	for range most {
		if err := insert(); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
	}
	return errors.New("no free number was found")
}
