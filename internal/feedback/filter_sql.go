package feedback

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"earshot/internal/carrier"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// matching starts every statement over many records: it fixes the organization, and whose feedback, before anything the
// caller asked for. The records are called f.
func (f *filter) matching(args *pg.Args) (string, error) {
	where := "f.organization_id = " + args.Bind(f.view.Org())
	if owner, narrowed := f.view.Owner(); narrowed {
		where += ` AND EXISTS (SELECT FROM feedback_owner w
			WHERE w.organization_id = f.organization_id AND w.feedback_id = f.id AND w.user_id = ` + args.Bind(owner) + `)`
	}
	n := -1
	f.joins = 0
	match, err := f.query.SQL(func(c fql.Condition) (string, error) {
		n++
		return f.leaf(c, f.sets[n], args.Bind)
	})
	if err != nil {
		return "", err
	}
	return where + " AND (" + match + ")", nil
}

// leaf renders one positive condition on the records. The text depends on the condition's shape and on whether its set is
// small or large, never on a value.
func (f *filter) leaf(c fql.Condition, set []int64, bind func(any) string) (string, error) {
	if column, ids, ok := f.dictionary(c, set); ok {
		return f.setSQL(column, ids, bind), nil
	}
	switch c.Field {
	case fql.ID:
		return wholeSQL("f.id", c, bind)
	case fql.Carrier:
		return wholeSQL("f.carrier_id", c, bind)
	case fql.Team:
		return "f.carrier_id = ANY(" + bind(set) + "::bigint[])", nil
	case fql.CreatedAt:
		return rangesSQL("f.created_at", c, f.now, f.zone, bind), nil
	case fql.CompletedAt:
		return rangesSQL("f.completed_at", c, f.now, f.zone, bind), nil
	case fql.Source:
		return namesSQL("f.source", c, bind), nil
	case fql.Status:
		return namesSQL("f.status", c, bind), nil
	case fql.NPS:
		return namesSQL("f.nps_profile", c, bind), nil
	case fql.Satisfaction:
		return percentSQL("f.satisfaction", c, bind), nil
	case fql.Sentiment:
		return percentSQL("f.sentiment", c, bind), nil
	case fql.Topic:
		return "f.topic_ids <> '{}'", nil
	case fql.Question:
		return f.answerSQL(c, bind), nil
	case fql.Text:
		return f.contentSQL(textSQL(c, bind)), nil
	case fql.Owner:
		return f.joined(ownerSQL(c, set, bind)), nil
	case fql.Fingerprint:
		return f.fingerprintSQL(c, bind), nil
	case fql.Attribute, fql.TopicID: // always in the dictionary
	}
	return "", fmt.Errorf("no column for field %d", c.Field)
}

// maxOverlap is how many ids the index takes at once.
const maxOverlap = 100

// setSQL finds records that carry one of these dictionary ids. More than the index takes at once are looked up one by one, by a
// subquery that does not look at f: one that did would be run again for every record.
func (f *filter) setSQL(column string, set []int64, bind func(any) string) string {
	if set == nil {
		set = []int64{}
	}
	ids := bind(set)
	if len(set) <= maxOverlap {
		return "f." + column + " && " + ids + "::bigint[]"
	}
	return f.joined(`f.id IN (SELECT g.id FROM unnest(` + ids + `::bigint[]) AS u (v)
		JOIN feedback g ON g.organization_id = ` + bind(f.view.Org()) + ` AND g.` + column + ` @> ARRAY[u.v])`)
}

// wholeSQL compares whole numbers; one beyond 64 bits equals none.
func wholeSQL(column string, c fql.Condition, bind func(any) string) (string, error) {
	switch c.Op {
	case fql.Exists:
		return "TRUE", nil
	case fql.In:
		return column + " = ANY(" + bind(exactInts(c)) + "::bigint[])", nil
	case fql.Like:
		return "", fmt.Errorf("$like on %s", column)
	default:
		bound := func(i int) string {
			n, _ := c.Values[i].Int()
			return bind(n) + "::bigint"
		}
		return compare(column, c.Op, bound), nil
	}
}

func exactInts(c fql.Condition) []int64 {
	ints := []int64{}
	for _, v := range c.Values {
		if n, exact := v.Int(); exact {
			ints = append(ints, n)
		}
	}
	return ints
}

// numericSQL compares decimal numbers.
func numericSQL(expression string, c fql.Condition, bind func(any) string) string {
	return compare(expression, c.Op, func(i int) string { return bind(c.Values[i].Text) + "::text::numeric" })
}

// compare renders an order comparison; bound binds the i-th value.
func compare(expression string, op fql.Op, bound func(i int) string) string {
	if op == fql.Between {
		return expression + " BETWEEN " + bound(0) + " AND " + bound(1)
	}
	sign := map[fql.Op]string{fql.Above: ">", fql.AtLeast: ">=", fql.Below: "<", fql.AtMost: "<="}[op]
	return expression + " " + sign + " " + bound(0)
}

// rangesSQL finds times within any of a condition's stretches. Open ends are infinite, so that the text is the same.
func rangesSQL(column string, c fql.Condition, now time.Time, zone *time.Location, bind func(any) string) string {
	if c.Op == fql.Exists {
		return column + " IS NOT NULL"
	}
	ranges := c.Ranges(now, zone)
	if len(ranges) == 0 {
		return "FALSE"
	}
	parts := make([]string, len(ranges))
	for i, r := range ranges {
		parts[i] = column + " >= " + bind(instant(r.From, pgtype.NegativeInfinity)) + " AND " + column + " < " + bind(instant(r.To, pgtype.Infinity))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

func instant(t time.Time, open pgtype.InfinityModifier) pgtype.Timestamptz {
	if t.IsZero() {
		return pgtype.Timestamptz{InfinityModifier: open, Valid: true}
	}
	return pgtype.Timestamptz{Time: t, Valid: true}
}

// namesSQL compares what is stored as the number of a name.
func namesSQL(column string, c fql.Condition, bind func(any) string) string {
	if c.Op == fql.Exists {
		return column + " IS NOT NULL"
	}
	numbers := make([]int16, len(c.Values))
	for i, v := range c.Values {
		switch c.Field {
		case fql.Source:
			n, _ := ParseSource(v.Text)
			numbers[i] = int16(n)
		case fql.Status:
			n, _ := ParseStatus(v.Text)
			numbers[i] = int16(n)
		default:
			numbers[i] = int16(map[string]carrier.Profile{"negative": carrier.Negative, "neutral": carrier.Neutral, "positive": carrier.Positive}[v.Text])
		}
	}
	return column + " = ANY(" + bind(numbers) + "::smallint[])"
}

// percentSQL compares hundredths of a percent, or the thirds that a label of sentiment means. It is null where nothing was measured.
func percentSQL(column string, c fql.Condition, bind func(any) string) string {
	switch c.Op {
	case fql.Exists:
		return column + " IS NOT NULL"
	case fql.In:
		if c.Field == fql.Satisfaction {
			return column + " = ANY(" + bind(exactHundredths(c)) + "::smallint[])"
		}
		return column + "::int <@ ANY(" + bind(stretches(c)) + "::text[]::int4range[])"
	default:
		// Between two hundredths there is nothing: above 66.666 is from 66.67 on.
		low, high := make([]int16, len(c.Values)), make([]int16, len(c.Values))
		for i, v := range c.Values {
			low[i], high[i] = hundredths(v.Text)
		}
		bound := func(i int) string {
			if c.Op == fql.Above || c.Op == fql.AtMost || i == 1 {
				return bind(low[i]) + "::smallint"
			}
			return bind(high[i]) + "::smallint"
		}
		return compare(column, c.Op, bound)
	}
}

// exactHundredths are the values there can be. One that cannot be goes with them: nothing is compared with an empty list, and what was not
// measured would then count as different instead of unknown.
func exactHundredths(c fql.Condition) []int16 {
	exact := []int16{-1}
	for _, v := range c.Values {
		if below, above := hundredths(v.Text); below == above {
			exact = append(exact, below)
		}
	}
	return exact
}

// stretches are the ranges of hundredths that labels and numbers mean, and one that cannot be for the same reason.
func stretches(c fql.Condition) []string {
	labels := map[string]string{"negative": "[0,4000]", "neutral": "(4000,6000]", "positive": "(6000,10000]"}
	ranges := []string{"[-1,-1]"}
	for _, v := range c.Values {
		if r, ok := labels[v.Text]; ok {
			ranges = append(ranges, r)
		} else if below, above := hundredths(v.Text); below == above {
			ranges = append(ranges, fmt.Sprintf("[%d,%d]", below, below))
		}
	}
	return ranges
}

// hundredths are the hundredths below and above a number from 0 to 100; both the same where it is one.
func hundredths(text string) (below, above int16) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return -1, math.MaxInt16
	}
	r.Mul(r, big.NewRat(100, 1))
	floor := new(big.Int).Quo(r.Num(), r.Denom()).Int64()
	if r.IsInt() {
		return int16(floor), int16(floor)
	}
	return int16(floor), int16(floor) + 1
}

// contentSQL is a condition on a record's content, called c.
func (f *filter) contentSQL(condition string) string {
	return f.joined(`EXISTS (SELECT FROM feedback_content c
		WHERE c.organization_id = f.organization_id AND c.feedback_id = f.id AND ` + condition + `)`)
}

// textSQL looks into the text answers. For equality the search column narrows down and the items decide.
func textSQL(c fql.Condition, bind func(any) string) string {
	if c.Op == fql.Exists {
		return "c.search_text IS NOT NULL"
	}
	search := "c.search_text LIKE ANY(" + bind(patterns(c, searched)) + "::text[])"
	switch c.Op {
	case fql.In:
		return search + " AND c.items @> ANY(" + bind(itemsWith(c, storedItem{Text: true})) + "::jsonb[])"
	default:
		return search
	}
}

// itemsWith are JSON lists with one item each: the template with one of the values. A list of items contains it when one of them does.
func itemsWith(c fql.Condition, template storedItem) []string {
	lists := make([]string, len(c.Values))
	for i, v := range c.Values {
		item := map[string]any{"v": v.Text}
		if template.Text {
			item["t"] = true
		}
		if template.Question != 0 {
			item["q"] = template.Question
		}
		b, _ := json.Marshal([]any{item}) // texts and numbers always encode
		lists[i] = string(b)
	}
	return lists
}

func ownerSQL(c fql.Condition, set []int64, bind func(any) string) string {
	owned := `EXISTS (SELECT FROM feedback_owner o WHERE o.organization_id = f.organization_id AND o.feedback_id = f.id`
	if c.Op == fql.Exists {
		return owned + ")"
	}
	return owned + " AND o.user_id = ANY(" + bind(set) + "::bigint[]))"
}

// fingerprintSQL finds a fingerprint through its hash, carrier by carrier: that is its key.
func (f *filter) fingerprintSQL(c fql.Condition, bind func(any) string) string {
	switch c.Op {
	case fql.Exists:
		return "TRUE"
	case fql.Like:
		return f.contentSQL("lower(c.fingerprint) LIKE ANY(SELECT lower(p) FROM unnest(" + bind(patterns(c, fql.Fold)) + "::text[]) AS p)")
	default:
		sums := make([][]byte, len(c.Values))
		for i, v := range c.Values {
			sums[i] = hash(v.Text)
		}
		return f.joined(`f.id IN (SELECT p.feedback_id FROM carrier k
			JOIN fingerprint p ON p.organization_id = k.organization_id AND p.carrier_id = k.id AND p.fingerprint_sha256 = ANY(` + bind(sums) + `::bytea[])
			WHERE k.organization_id = ` + bind(f.view.Org()) + `)`)
	}
}
