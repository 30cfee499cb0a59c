package feedback

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// Filters is the filter language with the names of this room.
var Filters = fql.Language{Sources: SourceNames(), Statuses: StatusNames()}

// maxSet is how many dictionary entries one condition may mean. Beyond it the answer is to narrow the filter.
const maxSet = 20_000

// filter is a query seen by one caller at one moment: names are resolved to dictionary ids, periods to times.
type filter struct {
	view      account.View
	query     fql.Query
	now       time.Time
	zone      *time.Location
	sets      [][]int64 // for each condition, in order, the ids it means; nil where it needs none
	questions map[int64]carrier.Question
	rezoning  bool // days are being moved to another zone
	joins     int  // conditions rendered so far that PostgreSQL may turn into a join
}

// maxJoins is how many conditions PostgreSQL may turn into joins. The time to plan them grows with their third power; those beyond are
// fenced, and looked at record by record.
const maxJoins = 4

// joined fences a condition that could become a join when there are enough of those.
func (f *filter) joined(condition string) string {
	if f.joins++; f.joins > maxJoins {
		return "(" + condition + ") IS TRUE"
	}
	return condition
}

// resolve looks up what the conditions of a query mean to this organization, in one round trip, and one more when it asks about answers.
func (s *Store) resolve(ctx context.Context, v account.View, q fql.Query) (*filter, error) {
	conditions := q.Conditions()
	f := &filter{view: v, query: q, zone: time.UTC, sets: make([][]int64, len(conditions))}
	if len(conditions) == 0 {
		return f, nil
	}
	var zone string
	var questions []int64
	b := &pgx.Batch{}
	b.Queue(`SELECT time_zone, rezoning, now() FROM organization WHERE id = $1`, v.Org()).
		QueryRow(func(row pgx.Row) error { return row.Scan(&zone, &f.rezoning, &f.now) })
	for i, c := range conditions {
		if c.Field == fql.Question {
			questions = append(questions, c.Question)
			continue
		}
		var args pg.Args
		sql, err := lookup(c, v, &args)
		if err != nil {
			return nil, err
		}
		if sql == "" {
			continue
		}
		b.Queue(sql+fmt.Sprintf(" LIMIT %d", maxSet+1), args...).Query(func(rows pgx.Rows) (err error) {
			f.sets[i], err = pgx.CollectRows(rows, pgx.RowTo[int64])
			return err
		})
	}
	if err := s.reads.SendBatch(ctx, b).Close(); err != nil {
		return nil, tooBroad(err, "resolve filter")
	}
	for _, set := range f.sets {
		if len(set) > maxSet {
			return nil, fault.New(fault.QueryTooBroad, "One condition of the filter means more than %d values; make it narrower.", maxSet)
		}
	}
	var err error
	if f.zone, err = time.LoadLocation(zone); err != nil {
		return nil, fmt.Errorf("time zone of the organization: %w", err)
	}
	for _, c := range conditions {
		if (c.Field == fql.CreatedAt || c.Field == fql.CompletedAt) && len(c.Ranges(f.now, f.zone)) > fql.MaxRanges {
			return nil, fault.New(fault.QueryTooBroad, "One condition of the filter lists more than %d separate times; use a period or $btw.", fql.MaxRanges)
		}
	}
	if f.questions, err = s.carriers.Questions(ctx, v, questions); err != nil {
		return nil, err
	}
	return f, nil
}

// tooBroad tells a filter that ran out of time from an error of ours.
func tooBroad(err error, doing string) error {
	if pg.TimedOut(err) {
		return fault.New(fault.QueryTooBroad, "The filter takes too long to answer. Add a condition that few records meet, such as a period, an attribute or a carrier.")
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// lookup is the statement that finds the ids a condition means, or "" when it means none.
func lookup(c fql.Condition, v account.View, args *pg.Args) (string, error) {
	org := args.Bind(v.Org())
	switch c.Field {
	case fql.Attribute:
		return lookupAttribute(c, org, args), nil
	case fql.Topic:
		switch c.Op {
		case fql.Exists:
			return "", nil
		case fql.Like:
			return `SELECT id FROM topic WHERE organization_id = ` + org + ` AND lower(name) LIKE ANY(` + args.Bind(patterns(c, fql.Fold)) + `::text[])`, nil
		default:
			return `SELECT id FROM topic WHERE organization_id = ` + org + ` AND name = ANY(` + args.Bind(texts(c)) + `::text[])`, nil
		}
	case fql.Owner:
		const users = `SELECT id FROM app_user WHERE organization_id = `
		switch c.Op {
		case fql.Exists:
			return "", nil
		case fql.Like:
			return users + org + ` AND lower(email) LIKE ANY(SELECT lower(p) FROM unnest(` + args.Bind(patterns(c, fql.Fold)) + `::text[]) AS p)`, nil
		default:
			return users + org + ` AND lower(email) = ANY(SELECT lower(e) FROM unnest(` + args.Bind(texts(c)) + `::text[]) AS e)`, nil
		}
	case fql.Team:
		match, err := wholeSQL("team_id", c, args.Bind)
		return `SELECT id FROM carrier WHERE organization_id = ` + org + ` AND ` + match, err
	default:
		return "", nil
	}
}

func lookupAttribute(c fql.Condition, org string, args *pg.Args) string {
	name := args.Bind(c.Name)
	if c.Op == fql.Exists {
		return `SELECT id FROM attribute WHERE organization_id = ` + org + ` AND name = ` + name
	}
	var match string
	switch c.Op {
	case fql.In:
		sums := make([][]byte, len(c.Values))
		for i, value := range c.Values {
			sums[i] = hash(value.Text)
		}
		match = "v.text_sha256 = ANY(" + args.Bind(sums) + "::bytea[])"
	case fql.Like:
		match = "coalesce(v.folded, v.text) LIKE ANY(" + args.Bind(patterns(c, fql.Fold)) + "::text[])"
	default:
		match = numericSQL("v.num", c, args.Bind)
	}
	return `SELECT v.id FROM attribute a
		JOIN attribute_value v ON v.organization_id = a.organization_id AND v.attribute_id = a.id
		WHERE a.organization_id = ` + org + ` AND a.name = ` + name + ` AND ` + match
}

func texts(c fql.Condition) []string {
	out := make([]string, len(c.Values))
	for i, v := range c.Values {
		out[i] = v.Text
	}
	return out
}

// patterns are the LIKE patterns of a condition's values, folded as what they are held against was.
func patterns(c fql.Condition, fold func(string) string) []string {
	out := make([]string, len(c.Values))
	for i, v := range c.Values {
		out[i] = containing(fold(v.Text))
	}
	return out
}
