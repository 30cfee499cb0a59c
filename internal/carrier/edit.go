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

// New is a carrier to be.
type New struct {
	Name      string
	Questions []NewQuestion
}

// NewQuestion is a question to be. Max is for ratings and sliders, 5 when zero; Options are for choices and ratings tables.
type NewQuestion struct {
	Name     string
	Type     Type
	Required bool
	Max      int16
	Options  []string
}

// Create adds a carrier of the main team with its questions, in order. It refuses a nameless carrier or question, an
// unknown type, a scale outside 2 to 100, and a choice or table without options or with two of one name.
func (s *Store) Create(ctx context.Context, v account.View, n New) (Carrier, error) {
	if err := n.check(); err != nil {
		return Carrier{}, err
	}
	var id int64
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		err := untilFree(func() error {
			return tx.QueryRow(ctx, `
				INSERT INTO carrier (organization_id, id, team_id, name)
				SELECT organization_id, nextval('carrier_id'), id, $2 FROM team WHERE organization_id = $1 AND main
				ON CONFLICT DO NOTHING
				RETURNING id`, v.Org(), n.Name).Scan(&id)
		})
		for i := 0; err == nil && i < len(n.Questions); i++ {
			err = addQuestion(ctx, tx, v, id, i+1, n.Questions[i])
		}
		return err
	})
	if err != nil {
		return Carrier{}, fmt.Errorf("create carrier: %w", err)
	}
	return s.byID(ctx, v, id)
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
	return s.byID(ctx, v, id)
}

// Require says whether a question must be answered for feedback to be complete. Feedback that is there already
// keeps its completion. An unknown id is fault.NotFound.
func (s *Store) Require(ctx context.Context, v account.View, question int64, required bool) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE question SET required = $3 WHERE organization_id = $1 AND id = $2`, v.Org(), question, required)
		if err == nil && tag.RowsAffected() == 0 {
			return fault.Missing("question")
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `SELECT pg_notify($1, '')`, Channel)
		return err
	})
	if err != nil {
		return fmt.Errorf("edit question: %w", err)
	}
	s.Forget()
	return nil
}

func (s *Store) byID(ctx context.Context, v account.View, id int64) (Carrier, error) {
	rows, err := s.db.Query(ctx, `
		SELECT id, team_id, name, created_at, archived_at FROM carrier
		WHERE organization_id = $1 AND id = $2`, v.Org(), id)
	if err != nil {
		return Carrier{}, fmt.Errorf("read carrier: %w", err)
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Carrier])
	if err != nil {
		return Carrier{}, fmt.Errorf("read carrier: %w", err)
	}
	if c.Questions, err = s.questions(ctx, v, byCarrier, []int64{id}); err != nil {
		return Carrier{}, fmt.Errorf("read carrier: %w", err)
	}
	return c, nil
}

func (n *New) check() error {
	var form fault.Form
	if n.Name = strings.TrimSpace(n.Name); n.Name == "" {
		form.Add("name", "is required")
	}
	for i := range n.Questions {
		n.Questions[i].check(fmt.Sprintf("questions.%d.", i), &form)
	}
	return form.Err()
}

func (n *NewQuestion) check(path string, form *fault.Form) {
	if n.Name = strings.TrimSpace(n.Name); n.Name == "" {
		form.Add(path+"name", "is required")
	}
	if !slices.Contains(types, n.Type) {
		form.Add(path+"type", "must be one of %s", typeNames())
	}
	if n.Type == Rating || n.Type == Slider {
		if n.Max == 0 {
			n.Max = 5
		}
		if n.Max < 2 || n.Max > 100 {
			form.Add(path+"max", "must be from 2 to 100")
		}
	} else {
		n.Max = 0
	}
	needsOptions := n.Type == Choice || n.Type == MultipleChoice || n.Type == RatingsTable
	if needsOptions != (len(n.Options) > 0) {
		form.Add(path+"options", "are for choices and ratings tables, which need at least one")
	}
	for i := range n.Options {
		if n.Options[i] = strings.TrimSpace(n.Options[i]); n.Options[i] == "" || slices.Contains(n.Options[:i], n.Options[i]) {
			form.Add(fmt.Sprintf("%soptions.%d", path, i), "must be a name of its own")
		}
	}
}

var types = []Type{NPS, Smiley, Rating, Slider, CES, RatingsTable, Choice, MultipleChoice, Textarea, Text, Date, Number}

func typeNames() string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

// addQuestion writes a question together with its options and closed answers.
func addQuestion(ctx context.Context, q pg.Querier, v account.View, carrier int64, position int, n NewQuestion) error {
	var id int64
	err := untilFree(func() error {
		return q.QueryRow(ctx, `
			INSERT INTO question (organization_id, id, carrier_id, name, type, position, required, max)
			VALUES ($1, nextval('question_id'), $2, $3, $4, $5, $6, nullif($7, 0))
			ON CONFLICT DO NOTHING
			RETURNING id`, v.Org(), carrier, n.Name, n.Type, position, n.Required, n.Max).Scan(&id)
	})
	if err != nil {
		return err
	}
	_, err = q.Exec(ctx, `
		INSERT INTO question_option (organization_id, question_id, name, position)
		SELECT $1, $2, n.name, n.position FROM unnest($3::text[]) WITH ORDINALITY AS n (name, position)`, v.Org(), id, n.Options)
	if err != nil || !n.Type.scaled() {
		return err
	}
	low, high := Question{Type: n.Type, Max: &n.Max}.scale()
	_, err = q.Exec(ctx, `
		INSERT INTO question_score (organization_id, question_id, option_id, score)
		SELECT $1, $2, o.id, n.score
		FROM generate_series($3::int, $4::int) AS n (score)
		LEFT JOIN question_option o ON o.organization_id = $1 AND o.question_id = $2`, v.Org(), id, low, high)
	return err
}

func (t Type) scaled() bool {
	return slices.Contains([]Type{NPS, Smiley, Rating, Slider, CES, RatingsTable}, t)
}

// untilFree repeats an INSERT that takes the next number of a sequence while a client has used that number before us.
func untilFree(insert func() error) error {
	const most = 1000 // far more than chance explains: the organization itself is missing
	for range most {
		if err := insert(); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
	}
	return errors.New("no free number was found")
}
