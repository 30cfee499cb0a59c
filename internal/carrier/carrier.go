// Package carrier keeps the sources that feedback belongs to, their questions and options. It knows what an answer may
// be and what it is worth. A carrier or question that nobody registered is registered on first sight, unless the
// organization is strict.
package carrier

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/pg"
)

// Type is what sort of answer a question takes.
type Type string

// The types of questions.
const (
	NPS            Type = "nps"
	Smiley         Type = "smiley"
	Rating         Type = "rating"
	Slider         Type = "slider"
	CES            Type = "ces"
	RatingsTable   Type = "ratings_table"
	Choice         Type = "choice"
	MultipleChoice Type = "multiple_choice"
	Textarea       Type = "textarea"
	Text           Type = "text"
	Date           Type = "date"
	Number         Type = "number"
)

// Carrier is a source of feedback: a survey, an account on a review site, a mailbox.
type Carrier struct {
	ID         int64
	TeamID     int64
	Name       string
	CreatedAt  time.Time
	ArchivedAt *time.Time // it is not offered any more since, and takes feedback all the same
	Questions  []Question `db:"-"`
}

// Question is one thing a carrier asks.
type Question struct {
	ID         int64
	CarrierID  int64
	PresenceID int64 // stands among a feedback's answer ids when it was answered at all
	Name       string
	Type       Type
	Position   int
	Required   bool
	Max        *int16             // the top of a rating's or slider's scale
	ArchivedAt *time.Time         // it takes no new answers since
	Options    []Option           `db:"-"`
	scores     map[scoreKey]int64 // the dictionary ids of its closed answers
}

// Option is one answer to a choice, or one row of a ratings table.
type Option struct {
	ID         int64
	QuestionID int64
	Name       string
	ArchivedAt *time.Time // it takes no new answers since
}

type scoreKey struct {
	option int64 // 0 unless the question is a ratings table
	score  int16
}

// Scores returns the dictionary ids of the scores that are meant; of a ratings table, in every row.
func (q Question) Scores(meant func(score int16) bool) []int64 {
	var ids []int64
	for k, id := range q.scores {
		if meant(k.score) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Store reads and writes carriers.
type Store struct {
	db *pgxpool.Pool
	// rules are kept by carrier, strangers by question: those asked about under another carrier than their own.
	rules     *pg.Cache[key, *Rules]
	strangers *pg.Cache[key, Question]
}

type key struct {
	org account.OrgID
	id  int64
}

// NewStore returns a store on the database.
func NewStore(db *pgxpool.Pool) *Store {
	name := func(k key) string { return fmt.Sprint(k.org, " ", k.id) }
	return &Store{db: db, rules: pg.NewCache[key, *Rules](name), strangers: pg.NewCache[key, Question](name)}
}

// Channel carries word that a carrier or one of its questions was edited.
const Channel = "earshot_carrier"

// Forget drops everything remembered of carriers and questions.
func (s *Store) Forget() {
	s.rules.ForgetAll()
	s.strangers.ForgetAll()
}

// List returns one page of the organization's carriers by id, with questions and options, and how many there are in all.
func (s *Store) List(ctx context.Context, v account.View, offset, limit int) ([]Carrier, int, error) {
	var total int
	var carriers []Carrier
	b := &pgx.Batch{}
	b.Queue(`SELECT count(*) FROM carrier WHERE organization_id = $1`, v.Org()).
		QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	b.Queue(`
		SELECT id, team_id, name, created_at, archived_at FROM carrier
		WHERE organization_id = $1
		ORDER BY id
		LIMIT $2 OFFSET $3`, v.Org(), limit, offset).
		Query(func(rows pgx.Rows) (err error) {
			carriers, err = pgx.CollectRows(rows, pgx.RowToStructByName[Carrier])
			return err
		})
	if err := s.db.SendBatch(ctx, b).Close(); err != nil {
		return nil, 0, fmt.Errorf("list carriers: %w", err)
	}
	ids := make([]int64, len(carriers))
	for i, c := range carriers {
		ids[i] = c.ID
	}
	questions, err := readQuestions(ctx, s.db, v, byCarrier, ids)
	if err != nil {
		return nil, 0, fmt.Errorf("list carriers: %w", err)
	}
	for i := range carriers {
		for _, q := range questions {
			if q.CarrierID == carriers[i].ID {
				carriers[i].Questions = append(carriers[i].Questions, q)
			}
		}
	}
	return carriers, total, nil
}

// Questions returns the questions with these ids, with their options; unknown ids are left out.
func (s *Store) Questions(ctx context.Context, v account.View, ids []int64) (map[int64]Question, error) {
	return s.QuestionsOn(ctx, s.db, v, ids)
}

// QuestionsOn is Questions for a caller who reads on a connection or in a transaction of their own.
func (s *Store) QuestionsOn(ctx context.Context, q pg.Querier, v account.View, ids []int64) (map[int64]Question, error) {
	questions, err := readQuestions(ctx, q, v, byID, ids)
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	found := make(map[int64]Question, len(questions))
	for _, q := range questions {
		found[q.ID] = q
	}
	return found, nil
}

// What questions are looked up by.
const (
	byID      = "q.id"
	byCarrier = "q.carrier_id"
)

func readQuestions(ctx context.Context, q pg.Querier, v account.View, column string, ids []int64) ([]Question, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var questions []Question
	b := &pgx.Batch{}
	queueQuestions(b, v, column, ids, &questions)
	return questions, q.SendBatch(ctx, b).Close()
}

// queueQuestions puts the reading of questions into a batch, three statements in one round trip. They arrive by carrier and position,
// their options with the archived ones last.
func queueQuestions(b *pgx.Batch, v account.View, column string, ids []int64, into *[]Question) {
	index := map[int64]*Question{}
	where := ` WHERE q.organization_id = $1 AND ` + column + ` = ANY($2)`
	b.Queue(`
		SELECT q.id, q.carrier_id, q.presence_id, q.name, q.type, q.position, q.required, q.max, q.archived_at
		FROM question q`+where+`
		ORDER BY q.carrier_id, q.position, q.id`, v.Org(), ids).
		Query(func(rows pgx.Rows) (err error) {
			*into, err = pgx.CollectRows(rows, pgx.RowToStructByNameLax[Question])
			for i := range *into {
				q := &(*into)[i]
				q.scores = map[scoreKey]int64{}
				index[q.ID] = q
			}
			return err
		})
	b.Queue(`
		SELECT o.id, o.question_id, o.name, o.archived_at
		FROM question q
		JOIN question_option o ON o.organization_id = q.organization_id AND o.question_id = q.id`+where+`
		ORDER BY o.archived_at IS NOT NULL, o.position, o.id`, v.Org(), ids).
		Query(func(rows pgx.Rows) error {
			options, err := pgx.CollectRows(rows, pgx.RowToStructByName[Option])
			for _, o := range options {
				q := index[o.QuestionID]
				q.Options = append(q.Options, o)
			}
			return err
		})
	b.Queue(`
		SELECT c.id, c.question_id, coalesce(c.option_id, 0) AS option_id, c.score
		FROM question q
		JOIN question_score c ON c.organization_id = q.organization_id AND c.question_id = q.id`+where, v.Org(), ids).
		Query(func(rows pgx.Rows) error {
			var id, question int64
			var k scoreKey
			_, err := pgx.ForEachRow(rows, []any{&id, &question, &k.option, &k.score}, func() error {
				index[question].scores[k] = id
				return nil
			})
			return err
		})
}
