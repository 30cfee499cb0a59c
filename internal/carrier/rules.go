package carrier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg"
)

// Rules are what a carrier asks of the feedback it takes.
type Rules struct {
	carrier   int64
	known     bool // the carrier is registered
	strict    bool
	questions map[int64]Question
	required  []int64
}

// Rules returns what holds for feedback of this carrier that answers these questions. In a strict organization it
// notes a carrier or question that is not registered in the form, a question of another carrier included, at
// carrier_id and items.N.question_id.
func (s *Store) Rules(ctx context.Context, v account.View, carrier int64, items []Item, form *fault.Form) (*Rules, error) {
	rules, err := s.remembered(ctx, v, carrier)
	if err != nil {
		return nil, err
	}
	if rules.Cover(items) {
		return rules, nil
	}
	// What is remembered may be a second old. Nothing is refused or registered before the database was asked.
	if rules, err = s.read(ctx, v, carrier); err != nil {
		return nil, err
	}
	if err := s.addStrangers(ctx, v, rules, items); err != nil {
		return nil, err
	}
	if rules.strict {
		rules.refuseUnknown(items, form)
	}
	return rules, nil
}

// Known returns the rules by which answers that were accepted once are read again: those of the carrier, and of the questions of other
// carriers that the items answer. What was deleted since is not in them.
func (s *Store) Known(ctx context.Context, v account.View, carrier int64, items []Item) (*Rules, error) {
	rules, err := s.remembered(ctx, v, carrier)
	if err != nil || rules.Cover(items) {
		return rules, err
	}
	rules = rules.clone()
	return rules, s.addStrangers(ctx, v, rules, items)
}

// Register puts the carrier and the questions that the rules do not cover on record, as text questions named after their
// number, and returns the rules that now do. Whoever comes second finds them there.
func (s *Store) Register(ctx context.Context, v account.View, rules *Rules, items []Item) (*Rules, error) {
	var unknown []int64
	for _, item := range items {
		if _, ok := rules.questions[item.QuestionID]; !ok && !slices.Contains(unknown, item.QuestionID) {
			unknown = append(unknown, item.QuestionID)
		}
	}
	err := s.register(ctx, v, rules.carrier, unknown)
	if pg.Violates(err, "question_carrier") { // it was there, and deleted before its question came
		err = s.register(ctx, v, rules.carrier, unknown)
	}
	if err != nil {
		return nil, err
	}
	s.rules.Forget(key{v.Org(), rules.carrier})
	if rules, err = s.remembered(ctx, v, rules.carrier); err != nil {
		return nil, err
	}
	// Two clients may bring the same new question for two carriers; it belongs to one of them.
	rules = rules.clone()
	return rules, s.addStrangers(ctx, v, rules, items)
}

// Cover reports whether the carrier and every question of the items are registered.
func (r *Rules) Cover(items []Item) bool {
	return r.known && !slices.ContainsFunc(items, func(i Item) bool {
		_, ok := r.questions[i.QuestionID]
		return !ok
	})
}

func (r *Rules) clone() *Rules {
	c := *r
	c.questions = maps.Clone(r.questions)
	return &c
}

func (r *Rules) refuseUnknown(items []Item, form *fault.Form) {
	if !r.known {
		form.Add("carrier_id", "is not a carrier of this organization")
		return
	}
	for n, item := range items {
		if q, ok := r.questions[item.QuestionID]; !ok || q.CarrierID != r.carrier {
			form.Add(fmt.Sprintf("items.%d.question_id", n), "is not a question of this carrier")
		}
	}
}

func (s *Store) remembered(ctx context.Context, v account.View, carrier int64) (*Rules, error) {
	return s.rules.Get(ctx, key{v.Org(), carrier}, func(ctx context.Context) (*Rules, error) {
		return s.read(ctx, v, carrier)
	})
}

func (s *Store) read(ctx context.Context, v account.View, carrier int64) (*Rules, error) {
	rules := &Rules{carrier: carrier, questions: map[int64]Question{}}
	var questions []Question
	b := &pgx.Batch{}
	b.Queue(`
		SELECT c.id IS NOT NULL, o.strict_carriers
		FROM organization o
		LEFT JOIN carrier c ON c.organization_id = o.id AND c.id = $2
		WHERE o.id = $1`, v.Org(), carrier).
		QueryRow(func(row pgx.Row) error { return row.Scan(&rules.known, &rules.strict) })
	queueQuestions(b, v, byCarrier, []int64{carrier}, &questions)
	if err := s.db.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("read carrier: %w", err)
	}
	for _, q := range questions {
		rules.questions[q.ID] = q
		if q.Required && q.ArchivedAt == nil {
			rules.required = append(rules.required, q.ID)
		}
	}
	return rules, nil
}

// addStrangers adds the questions that other carriers ask to the rules.
func (s *Store) addStrangers(ctx context.Context, v account.View, rules *Rules, items []Item) error {
	for _, item := range items {
		id := item.QuestionID
		if _, ok := rules.questions[id]; ok {
			continue
		}
		q, err := s.strangers.Get(ctx, key{v.Org(), id}, func(ctx context.Context) (Question, error) {
			found, err := readQuestions(ctx, s.db, v, byID, []int64{id})
			if err == nil && len(found) == 0 {
				err = pgx.ErrNoRows // absence is not remembered
			}
			if err != nil {
				return Question{}, err
			}
			return found[0], nil
		})
		if err == nil {
			rules.questions[id] = q
		} else if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("read question: %w", err)
		}
	}
	return nil
}

// register writes the questions by id, in one order everywhere, or two requests would wait for each other; their positions follow
// the order given. A carrier that is there is updated to what it is: that locks it, so that nobody deletes it before its questions
// are written, and one that was just deleted is written again.
func (s *Store) register(ctx context.Context, v account.View, carrier int64, questions []int64) error {
	b := &pgx.Batch{}
	b.Queue(`
		INSERT INTO carrier (organization_id, id, team_id, name)
		SELECT organization_id, $2, id, 'Carrier ' || $2::bigint
		FROM team
		WHERE organization_id = $1 AND main
		ON CONFLICT (organization_id, id) DO UPDATE SET name = carrier.name`, v.Org(), carrier)
	b.Queue(`
		INSERT INTO question (organization_id, id, carrier_id, name, type, position)
		SELECT $1, n.id, $2, 'Question ' || n.id, 'text',
		       n.ordinality + (SELECT coalesce(max(position), 0) FROM question WHERE organization_id = $1 AND carrier_id = $2)
		FROM unnest($3::bigint[]) WITH ORDINALITY AS n (id, ordinality)
		ORDER BY n.id
		ON CONFLICT DO NOTHING`, v.Org(), carrier, questions)
	if err := s.db.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("register carrier: %w", err)
	}
	return nil
}
