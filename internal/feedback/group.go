package feedback

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"earshot/internal/fql"
	"earshot/internal/pg"
	"earshot/internal/tally"
)

// Sums are what is known of some records together.
type Sums struct {
	N                           int64
	Positive, Neutral, Negative int64 // by NPS profile; the others have none
	SatisfactionN               int64 // how many could be measured
	SatisfactionSum             int64 // of hundredths of a percent
	CompletedN                  int64
	SentimentN, SentimentSum    int64 // as satisfaction
}

// Plus is what is known of both together, when no record is in both.
func (s Sums) Plus(o Sums) Sums { return s.add(o, 1) }

// Minus is what is known of those of s that are not in o, when all of o are in s.
func (s Sums) Minus(o Sums) Sums { return s.add(o, -1) }

func (s Sums) add(o Sums, sign int64) Sums {
	return Sums{
		N: s.N + sign*o.N, Positive: s.Positive + sign*o.Positive, Neutral: s.Neutral + sign*o.Neutral, Negative: s.Negative + sign*o.Negative,
		SatisfactionN: s.SatisfactionN + sign*o.SatisfactionN, SatisfactionSum: s.SatisfactionSum + sign*o.SatisfactionSum,
		CompletedN: s.CompletedN + sign*o.CompletedN,
		SentimentN: s.SentimentN + sign*o.SentimentN, SentimentSum: s.SentimentSum + sign*o.SentimentSum,
	}
}

// Measures are the sums that are wanted beside the count. What is not wanted may come back as zero: looking at fewer columns can be much
// cheaper.
type Measures struct{ NPS, Satisfaction, Completion, Sentiment bool }

// Dimension is what records are told apart by: one of the fields Source, Carrier, Status, NPS, and CreatedAt, whose Interval is
// day, week (from Monday) or month in the organization's zone. The zero Dimension tells none apart.
type Dimension struct {
	Field    fql.Field
	Interval string
}

// Group is the records with one value of a dimension. Key is how that is stored: the number of a source or status, the id of a
// carrier, an NPS profile (0 for none), or the first day as days since 1970; with no dimension it is 0.
type Group struct {
	Key int64
	Sums
}

// Groups tells the records that match apart in several ways, and returns the groups of each that are not empty by key. What no rollup
// knows is counted, for all of them in one pass over the records.
func (p *Snapshot) Groups(ctx context.Context, q fql.Query, want Measures, ways ...Dimension) (map[Dimension][]Group, error) {
	f, err := p.filter(ctx, q)
	if err != nil {
		return nil, err
	}
	out := map[Dimension][]Group{}
	var uncounted []Dimension
	for _, by := range ways {
		var args pg.Args
		rows, ok, err := f.keptRows(by, want, &args)
		if err != nil {
			return nil, err
		}
		if !ok {
			uncounted = append(uncounted, by)
			continue
		}
		if err := p.sum(ctx, out, []Dimension{by}, rows, args); err != nil {
			return nil, err
		}
	}
	if len(uncounted) == 0 {
		return out, nil
	}
	if err := p.may(counted); err != nil {
		return nil, err
	}
	var args pg.Args
	rows, err := f.countedRows(uncounted, want, &args)
	if err != nil {
		return nil, err
	}
	return out, p.sum(ctx, out, uncounted, rows, args)
}

// sum adds the groups of rows that have a key for each dimension, key0 and so on.
func (p *Snapshot) sum(ctx context.Context, out map[Dimension][]Group, ways []Dimension, rows string, args pg.Args) error {
	var keys, sets []string
	for i := range ways {
		key := "key" + strconv.Itoa(i)
		keys, sets = append(keys, key), append(sets, "("+key+")")
	}
	all := strings.Join(keys, ", ")
	// In each row all keys are null but that of its set, whose bit is the only one that grouping leaves out.
	found, err := p.tx.Query(ctx, `
		SELECT grouping(`+all+`), coalesce(`+all+`), `+sumsSQL+`
		FROM (`+rows+`) AS x
		GROUP BY GROUPING SETS (`+strings.Join(sets, ", ")+`)
		HAVING sum(n) <> 0
		ORDER BY 1, 2`, args...)
	if err != nil {
		return tooBroad(err, "group feedback")
	}
	_, err = pgx.CollectRows(found, func(row pgx.CollectableRow) (g Group, err error) {
		var mask int
		err = row.Scan(append([]any{&mask, &g.Key}, g.into()...)...)
		for i, by := range ways {
			if mask&(1<<(len(ways)-1-i)) == 0 {
				out[by] = append(out[by], g)
			}
		}
		return g, err
	})
	if err != nil {
		return tooBroad(err, "group feedback")
	}
	return nil
}

// Total is what is known of all records that match.
func (p *Snapshot) Total(ctx context.Context, q fql.Query, want Measures) (Sums, error) {
	groups, err := p.Groups(ctx, q, want, Dimension{})
	if err != nil || len(groups[Dimension{}]) == 0 {
		return Sums{}, err
	}
	return groups[Dimension{}][0].Sums, nil
}

// sumsSQL sums rows of key, nps, n and the rest into what scanGroup reads behind the key.
const sumsSQL = `sum(n)::bigint AS n, coalesce(sum(n) FILTER (WHERE nps = 3), 0)::bigint AS positive,
	coalesce(sum(n) FILTER (WHERE nps = 2), 0)::bigint AS neutral, coalesce(sum(n) FILTER (WHERE nps = 1), 0)::bigint AS negative,
	sum(sat_n)::bigint AS sat_n, sum(sat_sum)::bigint AS sat_sum, sum(completed_n)::bigint AS completed_n,
	sum(sentiment_n)::bigint AS sentiment_n, sum(sentiment_sum)::bigint AS sentiment_sum`

func (s *Sums) into() []any {
	return []any{
		&s.N, &s.Positive, &s.Neutral, &s.Negative, &s.SatisfactionN, &s.SatisfactionSum, &s.CompletedN, &s.SentimentN, &s.SentimentSum,
	}
}

// keptRows are what adds up to the groups of one dimension, from rollups: key0, nps and sums. False says that they do not know.
func (f *filter) keptRows(by Dimension, want Measures, args *pg.Args) (sql string, ok bool, err error) {
	if _, narrowed := f.view.Owner(); narrowed {
		return "", false, nil
	}
	if sql, ok, err = f.talliedRows(by, args); !ok && err == nil {
		sql, ok, err = f.edgedRows(by, want, args)
	}
	return `SELECT key::bigint AS key0, x.* FROM (` + sql + `) AS x`, ok, err
}

// countedRows have a row for each record, with a key for each dimension.
func (f *filter) countedRows(ways []Dimension, want Measures, args *pg.Args) (string, error) {
	where, err := f.matching(args)
	column := recordColumnNames
	if f.rezoning { // the day of some records is still that of another zone
		column.Day = "(f.created_at AT TIME ZONE " + args.Bind(f.zone.String()) + ")::date"
	}
	sql := `SELECT `
	for i, by := range ways {
		sql += by.key(column) + `::bigint AS key` + strconv.Itoa(i) + `, `
	}
	return sql + recordSums(want, "") + ` FROM feedback f WHERE ` + where + ` OFFSET 0`, err // some keys are constants, which are no columns to group by
}

// talliedRows takes them from a rollup that has every dimension asked about.
func (f *filter) talliedRows(by Dimension, args *pg.Args) (string, bool, error) {
	n, ok := f.needs()
	if !ok {
		return "", false, nil
	}
	grain := tally.ByStatus
	switch n = n.with(by); {
	case n.timed && f.rezoning:
		return "", false, nil
	case n.timed && !n.sourced && !n.carried:
		grain = tally.ByDate
	case n.timed && !n.days:
		grain = tally.ByMonth
	case n.timed && n.sourced:
		return "", false, nil
	case n.timed:
		grain = tally.ByDay
	case n.carried || n.sourced:
		grain = tally.AllTime
	}
	sql, err := tally.RowsSQL(grain, args.Bind(f.view.Org()), by.key, func(alias string) (string, error) {
		return f.dimensions(tally.Columns(alias), args)
	})
	return sql, true, err
}

// with adds what grouping asks for.
func (n needs) with(by Dimension) needs {
	n.sourced = n.sourced || by.Field == fql.Source
	n.carried = n.carried || by.Field == fql.Carrier
	if by.Field == fql.CreatedAt {
		n.timed, n.days = true, n.days || by.Interval != "month"
	}
	return n
}

// edgedRows takes the whole days within a period from a rollup, or the whole months where days are not kept by source, and counts the ends.
func (f *filter) edgedRows(by Dimension, want Measures, args *pg.Args) (string, bool, error) {
	rest, period, ok := f.apart()
	if !ok || f.rezoning {
		return "", false, nil
	}
	n, ok := rest.needs()
	if n = n.with(by); !ok || n.sourced && n.days {
		return "", false, nil
	}
	grain, whole := n.daily(), unit(wholeDay)
	if n.sourced {
		grain, whole = tally.ByMonth, wholeMonth
	}
	inner, edges := f.split(period, whole)
	if empty(inner) {
		return "", false, nil
	}
	sql, err := tally.RowsSQL(grain, args.Bind(f.view.Org()), by.key, func(alias string) (string, error) {
		column := tally.Columns(alias)
		match, err := rest.dimensions(column, args)
		return "(" + match + ") AND " + daysSQL(column.Day, []fql.Range{inner}, f.zone, args.Bind), err
	})
	if err != nil {
		return "", false, err
	}
	for _, e := range edges {
		where, err := rest.matching(args)
		if err != nil {
			return "", false, err
		}
		where += " AND f.created_at >= " + args.Bind(e.From) + " AND f.created_at < " + args.Bind(e.To)
		sql += " UNION ALL " + recordRows(by.key(recordColumnNames), want, strings.TrimPrefix(strings.TrimSpace(e.sign), "+"), where)
	}
	return sql, true, nil
}

// recordColumnNames are the dimensions of the records themselves.
var recordColumnNames = tally.ColumnNames{
	Day: "f.day", Carrier: "f.carrier_id", Source: "f.source", Status: "f.status", NPS: "coalesce(f.nps_profile, 0)",
}

// recordRows has a row for each record that meets the condition; sign is a minus where they are to be taken away.
func recordRows(key string, want Measures, sign, where string) string {
	return `SELECT ` + key + ` AS key, ` + recordSums(want, sign) + ` FROM feedback f WHERE ` + where
}

func recordSums(want Measures, sign string) string {
	column := func(wanted bool, sql, name string) string {
		if !wanted {
			return "0 AS " + name
		}
		return sign + sql + " AS " + name
	}
	nps := "0 AS nps"
	if want.NPS {
		nps = recordColumnNames.NPS + " AS nps"
	}
	return strings.Join([]string{
		nps, sign + "1 AS n",
		column(want.Satisfaction, "(f.satisfaction IS NOT NULL)::int", "sat_n"), column(want.Satisfaction, "coalesce(f.satisfaction, 0)", "sat_sum"),
		column(want.Completion, "(f.completed_at IS NOT NULL)::int", "completed_n"),
		column(want.Sentiment, "(f.sentiment IS NOT NULL)::int", "sentiment_n"), column(want.Sentiment, "coalesce(f.sentiment, 0)", "sentiment_sum"),
	}, ", ")
}

// key is the dimension of a row as a number.
func (by Dimension) key(column tally.ColumnNames) string {
	switch by.Field {
	case fql.Source:
		return column.Source
	case fql.Carrier:
		return column.Carrier
	case fql.Status:
		return column.Status
	case fql.NPS:
		return column.NPS
	case fql.CreatedAt:
		day := column.Day
		if by.Interval != "day" {
			day = "date_trunc('" + map[string]string{"week": "week", "month": "month"}[by.Interval] + "', " + day + "::timestamp)::date"
		}
		return "(" + day + " - DATE '1970-01-01')"
	default:
		return "0"
	}
}
