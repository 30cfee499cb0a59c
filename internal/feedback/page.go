package feedback

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/fql"
	"earshot/internal/pg"
	"earshot/internal/tally"
)

// pageSQL selects the page from the narrow table first and joins the wide one to it: the other way round PostgreSQL may read
// the content of every match before it sorts. Where there are few matches, OFFSET keeps it from walking along the ids in the hope of
// meeting enough of them soon: all are found, then sorted.
func (f *filter) pageSQL(p Page, few bool, args *pg.Args) (string, error) {
	where, err := f.matching(args)
	if err != nil {
		return "", err
	}
	order, past := "DESC", "<"
	if p.Ascending {
		order, past = "ASC", ">"
		where += " AND f.id <= " + args.Bind(p.horizon)
	}
	if p.After != nil {
		where += " AND f.id " + past + " " + args.Bind(*p.After)
	}
	matches := "feedback f WHERE " + where
	if few {
		matches = "(SELECT f.* FROM " + matches + " OFFSET 0) AS f"
	}
	return `
		SELECT ` + recordColumns(p.Parts) + `
		FROM (
			SELECT f.* FROM ` + matches + `
			ORDER BY f.id ` + order + `
			LIMIT ` + args.Bind(p.Size) + `
		) AS f
		JOIN feedback_content c ON c.organization_id = f.organization_id AND c.feedback_id = f.id
		ORDER BY f.id ` + order, nil
}

// totalThen reads the total and runs what queue adds, in one snapshot and one round trip; two where an index finds the matches. There the total
// comes first and says whether there are few, so that a page of them is not left to PostgreSQL's guess: it takes a value that one record has
// for one that every two hundredth has, since it keeps statistics of common values only, and those lag behind.
func (s *Store) totalThen(ctx context.Context, f *filter, t total, size int, queue func(b *pgx.Batch, few bool) error) (n int64, err error) {
	b := &pgx.Batch{}
	b.Queue(t.sql, t.args...).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	if !f.indexed() {
		if err := queue(b, false); err != nil {
			return 0, err
		}
		return n, s.snapshot(ctx, b)
	}
	var all int64
	b.Queue(tally.AboutSQL, f.view.Org()).QueryRow(func(row pgx.Row) error { return row.Scan(&all) })
	return n, s.snapshot(ctx, b, func(b *pgx.Batch) error {
		// A walk along the ids comes past size × all ÷ n records before the page is full, the index past n.
		few := n*n <= int64(size)*all
		if few { // nor may it guess that the value is still as common as it was
			b.Queue(`SET LOCAL enable_seqscan = off`)
		}
		return queue(b, few)
	})
}

// snapshot runs batches in one read-only transaction that sees one moment, each in one round trip. What follows is queued when the one before
// is answered.
func (s *Store) snapshot(ctx context.Context, b *pgx.Batch, following ...func(*pgx.Batch) error) error {
	return s.reads.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		all := &pgx.Batch{}
		all.Queue("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
		all.QueuedQueries = append(all.QueuedQueries, b.QueuedQueries...)
		for _, queue := range following {
			if err := conn.SendBatch(ctx, all).Close(); err != nil {
				return err
			}
			all = &pgx.Batch{}
			if err := queue(all); err != nil {
				return err
			}
		}
		all.Queue("COMMIT")
		return conn.SendBatch(ctx, all).Close()
	})
}

// indexed says whether the dictionary's index finds the matches: in every group some condition that must hold lists few of its ids.
func (f *filter) indexed() bool {
	i := -1
	for _, group := range f.query.Groups {
		found := false
		for _, c := range group {
			i++
			_, ids, ok := f.dictionary(c, f.sets[i])
			found = found || ok && !c.Negative && len(ids) <= maxOverlap
		}
		if !found {
			return false
		}
	}
	return !f.query.Everything()
}

// dictionary is the column and the ids that a condition looks for, if that is what it does.
func (f *filter) dictionary(c fql.Condition, set []int64) (column string, ids []int64, ok bool) {
	switch c.Field {
	case fql.Attribute:
		return "attribute_value_ids", set, true
	case fql.Topic:
		return "topic_ids", set, c.Op != fql.Exists
	case fql.TopicID:
		return "topic_ids", exactInts(c), true
	case fql.Question:
		q, known := f.questions[c.Question]
		if !known {
			return "", nil, false
		}
		ids, ok = closedAnswers(q, c)
		return "answer_ids", ids, ok
	default:
		return "", nil, false
	}
}
