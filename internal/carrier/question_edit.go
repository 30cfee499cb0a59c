package carrier

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
)

// QuestionChange is what is to be different about a question; what is zero or nil stays.
type QuestionChange struct {
	Name     string
	Type     Type
	Required *bool
	Archived *bool
	Max      int16
	Order    int            // its place among the carrier's questions
	Options  []OptionChange // all there are to be, in order
}

// OptionChange is an option as it is to be: one there is by its id, with another name if one is given, or one by name,
// which is added unless the question has it, archived or not.
type OptionChange struct {
	ID   int64
	Name string
}

// EditQuestion changes a question. Options that are left out are archived: they stand where they were answered and take no
// new answers. It refuses what Create refuses and an option of another question. With another type or top of the scale, answers are worth
// something else: then revalue is called in the same transaction. An unknown id is fault.NotFound.
func (s *Store) EditQuestion(ctx context.Context, v account.View, id int64, c QuestionChange, form *fault.Form,
	revalue func(pgx.Tx, Question) error,
) (Question, error) {
	err := s.edit(ctx, "edit question", func(tx pgx.Tx) error {
		q, err := lockQuestion(ctx, tx, v, id)
		if err != nil {
			return err
		}
		options := q.resolve(c.Options, form)
		n := q.changed(c, options, form)
		if err := form.Err(); err != nil {
			return err
		}
		archived := q.ArchivedAt != nil
		if c.Archived != nil {
			archived = *c.Archived
		}
		_, err = tx.Exec(ctx, `
			UPDATE question
			SET name = $3, type = $4, required = $5, max = nullif($6, 0),
			    archived_at = CASE WHEN $7 THEN coalesce(archived_at, now()) END
			WHERE organization_id = $1 AND id = $2`, v.Org(), id, n.Name, n.Type, n.Required, n.Max, archived)
		if err != nil {
			return err
		}
		if err := q.rewrite(ctx, tx, v, n, options); err != nil {
			return err
		}
		if n.Type != q.Type || q.Max != nil && n.Max != *q.Max {
			if err := revalue(tx, q); err != nil {
				return err
			}
		}
		return place(ctx, tx, v, q.CarrierID, id, c.Order)
	})
	if err != nil {
		return Question{}, err
	}
	return s.Question(ctx, v, id)
}

// resolve finds the options that are meant: each comes back with its name, and with its id if it exists. Nil stays nil.
func (q Question) resolve(given []OptionChange, form *fault.Form) []OptionChange {
	if given == nil {
		return nil
	}
	options := slices.Clone(given)
	meant := map[int64]bool{}
	for i := range options {
		o := &options[i]
		if o.ID == 0 {
			continue
		}
		field := fmt.Sprintf("options.%d", i)
		at := slices.IndexFunc(q.Options, func(known Option) bool { return known.ID == o.ID })
		switch {
		case at < 0:
			form.Add(field, "is not an option of this question")
		case meant[o.ID]:
			form.Add(field, "is given twice")
		case o.Name == "":
			o.Name = q.Options[at].Name
		}
		meant[o.ID] = true
	}
	for i := range options {
		o := &options[i]
		o.Name = trimmed(form, fmt.Sprintf("options.%d", i), o.Name)
		at := slices.IndexFunc(q.Options, func(known Option) bool { return known.Name == o.Name && !meant[known.ID] })
		switch {
		case at < 0:
		case o.ID == 0:
			o.ID = q.Options[at].ID
			meant[o.ID] = true
		default:
			form.Add(fmt.Sprintf("options.%d", i), "has the name of another option of this question, which is archived or left out")
		}
	}
	return options
}

// changed is the question as it is to be, with what is wrong about that noted.
func (q Question) changed(c QuestionChange, options []OptionChange, form *fault.Form) NewQuestion {
	n := NewQuestion{Name: q.Name, Type: q.Type, Required: q.Required, Max: c.Max}
	if c.Name != "" {
		n.Name = c.Name
	}
	if c.Type != "" {
		n.Type = c.Type
	}
	if c.Required != nil {
		n.Required = *c.Required
	}
	if n.Max == 0 && q.Max != nil {
		n.Max = *q.Max
	}
	for _, o := range options {
		n.Options = append(n.Options, o.Name)
	}
	if options == nil && n.Type.hasOptions() {
		for _, o := range q.offered() {
			n.Options = append(n.Options, o.Name)
		}
	}
	n.check("", form)
	return n
}

// rewrite writes the options and closed answers of a question where they change. Options of a type that has none go; where they were
// answered they are archived, in case the question gets its type back.
func (q Question) rewrite(ctx context.Context, tx pgx.Tx, v account.View, n NewQuestion, options []OptionChange) error {
	if n.Type != q.Type && !n.Type.hasOptions() {
		used, err := answered(ctx, tx, v, q)
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		if used {
			b.Queue(`
				UPDATE question_option SET archived_at = now()
				WHERE organization_id = $1 AND question_id = $2 AND archived_at IS NULL`, v.Org(), q.ID)
		} else {
			b.Queue(`DELETE FROM question_score WHERE organization_id = $1 AND question_id = $2`, v.Org(), q.ID)
			b.Queue(`DELETE FROM question_option WHERE organization_id = $1 AND question_id = $2`, v.Org(), q.ID)
		}
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
	}
	if options != nil {
		if err := writeOptions(ctx, tx, v, q.ID, options); err != nil {
			return err
		}
	}
	return writeScores(ctx, tx, v, q.ID, n.Type, n.Max)
}

// writeOptions makes these the options of a question, in order, and archives the others.
func writeOptions(ctx context.Context, tx pgx.Tx, v account.View, question int64, options []OptionChange) error {
	var ids []int64
	var names []string
	for _, o := range options {
		ids, names = append(ids, o.ID), append(names, o.Name)
	}
	const given = `unnest($3::bigint[], $4::text[]) WITH ORDINALITY AS n (id, name, position)`
	b := &pgx.Batch{}
	b.Queue(`
		UPDATE question_option SET archived_at = now()
		WHERE organization_id = $1 AND question_id = $2 AND archived_at IS NULL AND id <> ALL($3)`, v.Org(), question, ids)
	// Two options may swap their names, and no two may have one at any moment.
	b.Queue(`
		UPDATE question_option o SET name = gen_random_uuid()
		FROM `+given+`
		WHERE o.organization_id = $1 AND o.question_id = $2 AND o.id = n.id AND o.name <> n.name`, v.Org(), question, ids, names)
	b.Queue(`
		UPDATE question_option o SET name = n.name, position = n.position, archived_at = NULL
		FROM `+given+`
		WHERE o.organization_id = $1 AND o.question_id = $2 AND o.id = n.id`, v.Org(), question, ids, names)
	b.Queue(`
		INSERT INTO question_option (organization_id, question_id, name, position)
		SELECT $1, $2, n.name, n.position
		FROM `+given+`
		WHERE n.id = 0`, v.Org(), question, ids, names)
	return tx.SendBatch(ctx, b).Close()
}
