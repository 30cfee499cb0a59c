package feedback

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/fql"
	"earshot/internal/pg"
	"earshot/internal/tally"
)

// Set is a field of which a record may have several values: an Attribute by name, the Topics, or the closed answers to a Question.
type Set struct {
	Field    fql.Field
	Name     string
	Question carrier.Question
}

// Values are the values that records have of a set. Keys are dictionary ids: of attribute values, topics, options, or scores.
type Values struct {
	Top     []Group // those that most records have, in that order
	Others  int64   // how many values there are beside those
	All     Sums    // of all values: a record with two of them is in it twice
	Present Sums    // of the records with any value; of topics it is not known
}

// Values finds the values that most of the records that match have, as many as limit. A question has its options, or the scores of its scale.
func (p *Snapshot) Values(ctx context.Context, q fql.Query, of Set, limit int, want Measures) (Values, error) {
	f, err := p.filter(ctx, q)
	if err != nil {
		return Values{}, err
	}
	d, err := p.dictionary(ctx, of)
	if err != nil || d.column == "" {
		return Values{}, err
	}
	var args pg.Args
	rows, way, err := f.valueRows(d, want, &args)
	if err != nil {
		return Values{}, err
	}
	if err := p.may(way); err != nil {
		return Values{}, err
	}
	presence := args.Bind(d.presence) + "::bigint"
	found, err := p.tx.Query(ctx, `
		WITH cell AS MATERIALIZED (
			SELECT key::bigint AS key, `+sumsSQL+`
			FROM (`+rows+`) AS x
			GROUP BY key
			HAVING sum(n) <> 0
		)
		(SELECT 0 AS part, * FROM cell WHERE key <> `+presence+` ORDER BY n DESC, key LIMIT `+args.Bind(limit)+`)
		UNION ALL
		SELECT 1, * FROM cell WHERE key = `+presence+`
		UNION ALL
		SELECT 2, count(*), coalesce(sum(n), 0)::bigint, coalesce(sum(positive), 0)::bigint, coalesce(sum(neutral), 0)::bigint,
		       coalesce(sum(negative), 0)::bigint, coalesce(sum(sat_n), 0)::bigint, coalesce(sum(sat_sum), 0)::bigint,
		       coalesce(sum(completed_n), 0)::bigint, coalesce(sum(sentiment_n), 0)::bigint, coalesce(sum(sentiment_sum), 0)::bigint
		FROM cell
		WHERE key <> `+presence, args...)
	if err != nil {
		return Values{}, tooBroad(err, "find values")
	}
	var v Values
	_, err = pgx.CollectRows(found, func(row pgx.CollectableRow) (g Group, err error) {
		var part int
		err = row.Scan(append([]any{&part, &g.Key}, g.into()...)...)
		switch part {
		case 0:
			v.Top = append(v.Top, g)
		case 1:
			v.Present = g.Sums
		default:
			v.Others, v.All = g.Key-int64(len(v.Top)), g.Sums
		}
		return g, err
	})
	if err != nil {
		return Values{}, tooBroad(err, "find values")
	}
	return v, nil
}

// dictionary is where the values of a set stand.
type dictionary struct {
	column   string  // of the records
	presence int64   // the id that stands for any value; 0 where there is none
	ids      []int64 // of the values; nil where they are too many to list, or all of the column
	parent   int64   // the attribute, where they are not listed
	kept     bool    // counts of each are kept
}

// dictionary looks up the ids of a set. Its column is empty when nothing is known of it.
func (p *Snapshot) dictionary(ctx context.Context, of Set) (dictionary, error) {
	switch of.Field {
	case fql.Question:
		d := dictionary{column: "answer_ids", presence: of.Question.PresenceID, kept: true}
		for _, o := range of.Question.Options {
			d.ids = append(d.ids, o.ID)
		}
		if scores := of.Question.Scores(func(int16) bool { return true }); len(scores) > 0 {
			d.ids = scores
		}
		if d.ids == nil {
			d.ids = []int64{}
		}
		return d, nil
	case fql.Topic:
		d := dictionary{column: "topic_ids", kept: true}
		var err error
		d.ids, err = p.ids(ctx, `SELECT id FROM topic WHERE organization_id = $1`, p.view.Org())
		return d, err
	default:
		return p.attribute(ctx, of.Name)
	}
}

func (p *Snapshot) attribute(ctx context.Context, name string) (dictionary, error) {
	d := dictionary{column: "attribute_value_ids"}
	err := p.tx.QueryRow(ctx, `
		SELECT id, rolled_up FROM attribute WHERE organization_id = $1 AND name = $2`, p.view.Org(), name).Scan(&d.presence, &d.kept)
	if errors.Is(err, pgx.ErrNoRows) {
		return dictionary{}, nil
	}
	if err != nil {
		return dictionary{}, tooBroad(err, "read attribute")
	}
	d.parent = d.presence
	if d.kept {
		d.ids, err = p.ids(ctx, `SELECT id FROM attribute_value WHERE organization_id = $1 AND attribute_id = $2`, p.view.Org(), d.parent)
	}
	return d, err
}

func (p *Snapshot) ids(ctx context.Context, sql string, args ...any) ([]int64, error) {
	rows, err := p.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, tooBroad(err, "read dictionary")
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, tooBroad(err, "read dictionary")
	}
	if len(ids) > maxSet {
		return nil, fault.New(fault.QueryTooBroad, "There are more than %d values to tell apart.", maxSet)
	}
	return ids, nil
}

// valueRows are the rows of the values, and of the presence: the counts kept of each where the query asks about nothing but months and
// profiles, or a row for each value of each record.
func (f *filter) valueRows(d dictionary, want Measures, args *pg.Args) (sql, way string, err error) {
	if _, narrowed := f.view.Owner(); !narrowed && d.kept && !want.Completion && !want.Sentiment && f.byMonth() {
		sql, err := tally.FacetRowsSQL(args.Bind(f.view.Org()), args.Bind(append([]int64{d.presence}, d.ids...)),
			func(column tally.ColumnNames) (string, error) { return f.dimensions(column, args) })
		return sql, fromFacet, err
	}
	where, err := f.matching(args)
	if err != nil {
		return "", "", err
	}
	values := " CROSS JOIN LATERAL unnest(f." + d.column + ") AS u (id)"
	if d.parent != 0 {
		values += ` LEFT JOIN attribute_value v ON v.organization_id = f.organization_id AND v.id = u.id
			AND v.attribute_id = ` + args.Bind(d.parent)
		where += " AND f." + d.column + " @> ARRAY[" + args.Bind(d.presence) + "::bigint] AND (v.id IS NOT NULL OR u.id = " + args.Bind(d.presence) + ")"
	} else {
		where += " AND u.id = ANY(" + args.Bind(append([]int64{d.presence}, d.ids...)) + "::bigint[])"
	}
	return `SELECT u.id AS key, ` + recordSums(want, "") + ` FROM feedback f` + values + ` WHERE ` + where, counted, nil
}

// byMonth reports whether counts by month and profile answer the query.
func (f *filter) byMonth() bool {
	for _, c := range f.query.Conditions() {
		if c.Field != fql.NPS && c.Field != fql.CreatedAt {
			return false
		}
	}
	n, ok := f.needs()
	return ok && !n.days && (!n.timed || !f.rezoning)
}

// Labels are what keys are called: the texts of attribute values, the names of topics and of carriers.
func (p *Snapshot) Labels(ctx context.Context, field fql.Field, keys []int64) (map[int64]string, error) {
	sql, ok := map[fql.Field]string{
		fql.Attribute: `SELECT id, text FROM attribute_value WHERE organization_id = $1 AND id = ANY($2)`,
		fql.Topic:     `SELECT id, name FROM topic WHERE organization_id = $1 AND id = ANY($2)`,
		fql.Carrier:   `SELECT id, name FROM carrier WHERE organization_id = $1 AND id = ANY($2)`,
	}[field]
	labels := map[int64]string{}
	if !ok || len(keys) == 0 {
		return labels, nil
	}
	rows, err := p.tx.Query(ctx, sql, p.view.Org(), keys)
	if err != nil {
		return nil, tooBroad(err, "read labels")
	}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (label string, err error) {
		var key int64
		err = row.Scan(&key, &label)
		labels[key] = label
		return label, err
	})
	if err != nil {
		return nil, tooBroad(err, "read labels")
	}
	return labels, nil
}
