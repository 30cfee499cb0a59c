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

// NewQuestion is a question to be. Without an id it gets a number of ours. Max is for ratings and sliders, 5 when zero; Options are for
// choices and ratings tables. Order is its place among the carrier's questions, the last when zero.
type NewQuestion struct {
	ID       int64
	Name     string
	Type     Type
	Required bool
	Max      int16
	Order    int
	Options  []string
}

// Question returns a question with its options. An unknown id is fault.NotFound.
func (s *Store) Question(ctx context.Context, v account.View, id int64) (Question, error) {
	found, err := readQuestions(ctx, s.db, v, byID, []int64{id})
	if err != nil {
		return Question{}, fmt.Errorf("read question: %w", err)
	}
	if len(found) == 0 {
		return Question{}, fault.Missing("question")
	}
	return found[0], nil
}

// AddQuestion adds a question to a carrier. It refuses what Create refuses of a question; an unknown carrier is fault.NotFound.
func (s *Store) AddQuestion(ctx context.Context, v account.View, carrier int64, n NewQuestion, form *fault.Form) (Question, error) {
	n.check("", form)
	var id int64
	err := s.edit(ctx, "add question", func(tx pgx.Tx) error {
		if err := lockCarrier(ctx, tx, v, carrier); err != nil {
			return err
		}
		var taken bool
		var last int
		err := tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM question WHERE organization_id = $1 AND id = $2),
			       (SELECT coalesce(max(position), 0) FROM question WHERE organization_id = $1 AND carrier_id = $3)`,
			v.Org(), n.ID, carrier).Scan(&taken, &last)
		if err != nil {
			return err
		}
		if taken {
			form.Add("id", isTaken)
		}
		if err := form.Err(); err != nil {
			return err
		}
		if id, err = addQuestion(ctx, tx, v, carrier, last+1, n, "", form); err != nil {
			return err
		}
		return place(ctx, tx, v, carrier, id, n.Order)
	})
	if err != nil {
		return Question{}, err
	}
	return s.Question(ctx, v, id)
}

// Require says whether a question must be answered for feedback to be complete. Feedback that is there already
// keeps its completion. An unknown id is fault.NotFound.
func (s *Store) Require(ctx context.Context, v account.View, question int64, required bool) error {
	return s.edit(ctx, "edit question", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE question SET required = $3 WHERE organization_id = $1 AND id = $2`, v.Org(), question, required)
		if err == nil && tag.RowsAffected() == 0 {
			return fault.Missing("question")
		}
		return err
	})
}

// DeleteQuestion removes a question with its options. It refuses one that has answers: it can be archived. An unknown id is
// fault.NotFound.
func (s *Store) DeleteQuestion(ctx context.Context, v account.View, id int64) error {
	return s.edit(ctx, "delete question", func(tx pgx.Tx) error {
		q, err := lockQuestion(ctx, tx, v, id)
		if err != nil {
			return err
		}
		used, err := answered(ctx, tx, v, q)
		if err != nil {
			return err
		}
		if used {
			return fault.New(fault.ValidationFailed, "The question has answers and cannot be deleted: archive it instead.")
		}
		if err := deleteQuestions(ctx, tx, v, q); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE question SET position = position - 1
			WHERE organization_id = $1 AND carrier_id = $2 AND position > $3`, v.Org(), q.CarrierID, q.Position)
		return err
	})
}

// lockQuestion reads a question and has other edits of its carrier wait. An unknown id is fault.NotFound.
func lockQuestion(ctx context.Context, tx pgx.Tx, v account.View, id int64) (Question, error) {
	var carrier int64
	err := tx.QueryRow(ctx, `
		SELECT q.carrier_id
		FROM question q
		JOIN carrier c ON c.organization_id = q.organization_id AND c.id = q.carrier_id
		WHERE q.organization_id = $1 AND q.id = $2
		FOR UPDATE OF c`, v.Org(), id).Scan(&carrier)
	if errors.Is(err, pgx.ErrNoRows) {
		return Question{}, fault.Missing("question")
	}
	if err != nil {
		return Question{}, err
	}
	found, err := readQuestions(ctx, tx, v, byID, []int64{id})
	if err != nil {
		return Question{}, err
	}
	if len(found) == 0 { // deleted while we waited
		return Question{}, fault.Missing("question")
	}
	return found[0], nil
}

// answered reports whether any of the questions has an answer.
func answered(ctx context.Context, tx pgx.Tx, v account.View, questions ...Question) (bool, error) {
	if len(questions) == 0 {
		return false, nil
	}
	presences := make([]int64, len(questions))
	for i, q := range questions {
		presences[i] = q.PresenceID
	}
	var found bool
	b := &pgx.Batch{}
	// The first match ends the search, so the planner hopes to meet one early and walks the records; without any it would walk them all.
	// Only the index over answers knows that at once.
	b.Queue(`SELECT set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true)`)
	b.Queue(`
		SELECT EXISTS (SELECT FROM feedback WHERE organization_id = $1 AND answer_ids && $2::bigint[])`, v.Org(), presences).
		QueryRow(func(row pgx.Row) error { return row.Scan(&found) })
	b.Queue(`SELECT set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'on', true)`)
	return found, tx.SendBatch(ctx, b).Close()
}

func deleteQuestions(ctx context.Context, tx pgx.Tx, v account.View, questions ...Question) error {
	ids := make([]int64, len(questions))
	for i, q := range questions {
		ids[i] = q.ID
	}
	b := &pgx.Batch{}
	b.Queue(`DELETE FROM question_score WHERE organization_id = $1 AND question_id = ANY($2)`, v.Org(), ids)
	b.Queue(`DELETE FROM question_option WHERE organization_id = $1 AND question_id = ANY($2)`, v.Org(), ids)
	b.Queue(`DELETE FROM question WHERE organization_id = $1 AND id = ANY($2)`, v.Org(), ids)
	return tx.SendBatch(ctx, b).Close()
}

// place moves a question to a place among those of its carrier, counted from 1; past the end is the end, 0 leaves it.
func place(ctx context.Context, tx pgx.Tx, v account.View, carrier, id int64, order int) error {
	if order == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		WITH others AS (
			SELECT id, row_number() OVER (ORDER BY position, id) AS n
			FROM question
			WHERE organization_id = $1 AND carrier_id = $2 AND id <> $3
		), placed AS (
			SELECT id, n + (n >= $4)::int AS position FROM others
			UNION ALL
			SELECT $3, least($4, (SELECT count(*) + 1 FROM others))
		)
		UPDATE question q SET position = p.position
		FROM placed p
		WHERE q.organization_id = $1 AND q.id = p.id AND q.position <> p.position`, v.Org(), carrier, id, order)
	return err
}

func (n *NewQuestion) check(path string, form *fault.Form) {
	if n.Name = trimmed(form, path+"name", n.Name); n.Name == "" && !form.Wrong(path+"name") {
		form.Add(path+"name", "is required")
	}
	if !slices.Contains(types, n.Type) && !form.Wrong(path+"type") {
		form.Add(path+"type", "must be one of %s", typeNames())
	}
	if n.Type.hasMax() {
		if n.Max == 0 {
			n.Max = 5
		}
		if n.Max < 2 || n.Max > 100 {
			form.Add(path+"max", "must be from 2 to 100")
		}
	} else {
		n.Max = 0
	}
	if n.Type.hasOptions() != (len(n.Options) > 0) && !form.Wrong(path+"options") {
		form.Add(path+"options", "are for choices and ratings tables, which need at least one")
	}
	for i := range n.Options {
		field := fmt.Sprintf("%soptions.%d", path, i)
		n.Options[i] = strings.TrimSpace(n.Options[i])
		if (n.Options[i] == "" || slices.Contains(n.Options[:i], n.Options[i])) && !form.Wrong(field) {
			form.Add(field, "must be a name of its own")
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

func (t Type) hasMax() bool { return t == Rating || t == Slider }

func (t Type) hasOptions() bool { return t == Choice || t == MultipleChoice || t == RatingsTable }

func (t Type) scaled() bool {
	return slices.Contains([]Type{NPS, Smiley, Rating, Slider, CES, RatingsTable}, t)
}

// addQuestion writes a question together with its options and closed answers, and returns its id.
func addQuestion(
	ctx context.Context, tx pgx.Tx, v account.View, carrier int64, position int, n NewQuestion, path string, form *fault.Form,
) (int64, error) {
	var id int64
	err := claim(n.ID, path+"id", form, func() error {
		return tx.QueryRow(ctx, `
			INSERT INTO question (organization_id, id, carrier_id, name, type, position, required, max)
			VALUES ($1, coalesce(nullif($2::bigint, 0), nextval('question_id')), $3, $4, $5, $6, $7, nullif($8, 0))
			ON CONFLICT DO NOTHING
			RETURNING id`, v.Org(), n.ID, carrier, n.Name, n.Type, position, n.Required, n.Max).Scan(&id)
	})
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO question_option (organization_id, question_id, name, position)
		SELECT $1, $2, n.name, n.position FROM unnest($3::text[]) WITH ORDINALITY AS n (name, position)`, v.Org(), id, n.Options)
	if err != nil {
		return 0, err
	}
	return id, writeScores(ctx, tx, v, id, n.Type, n.Max)
}

// writeScores makes the closed answers of a question those of its type: a row per score, of a ratings table per score and option.
func writeScores(ctx context.Context, q pg.Querier, v account.View, id int64, t Type, top int16) error {
	low, high := int16(0), int16(-1)
	if t.scaled() {
		low, high = Question{Type: t, Max: &top}.scale()
	}
	b := &pgx.Batch{}
	b.Queue(`
		DELETE FROM question_score
		WHERE organization_id = $1 AND question_id = $2
		  AND (score NOT BETWEEN $3 AND $4 OR (option_id IS NOT NULL) <> $5)`, v.Org(), id, low, high, t == RatingsTable)
	b.Queue(`
		INSERT INTO question_score (organization_id, question_id, option_id, score)
		SELECT $1, $2, o.id, n.score
		FROM generate_series($3::int, $4::int) AS n (score)
		LEFT JOIN question_option o ON o.organization_id = $1 AND o.question_id = $2 AND $5
		WHERE $5 = (o.id IS NOT NULL)
		ON CONFLICT DO NOTHING`, v.Org(), id, low, high, t == RatingsTable)
	return q.SendBatch(ctx, b).Close()
}
