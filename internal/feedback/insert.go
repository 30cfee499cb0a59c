package feedback

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/pg"
)

// insertSQL writes any number of feedback of one organization with everything that belongs to them, in one statement.
// Attribute values are resolved by hash. When one of them is not in the dictionary, nothing is written and the one row that comes
// back says so. Otherwise a row per feedback, in the order given; one whose fingerprint was taken has a null id. The first row has
// what the dictionary knows of all the values: of a thousand feedback, looking again for each would take longer than writing them.
// Each value is looked up by itself: a join may be planned for ten of them over everything the dictionary holds, and run with ten thousand.
// Fingerprints are inserted in one order everywhere, or two statements would wait for each other; of several that are the same the first
// is taken.
const insertSQL = insertBegin + insertEnd

// insertOwnedSQL is insertSQL for feedback of which some have owners.
const insertOwnedSQL = insertBegin + `, owned AS (
    INSERT INTO feedback_owner (organization_id, feedback_id, user_id)
    SELECT DISTINCT $1::bigint, a.id, o.user_id
    FROM unnest($20::bigint[], $21::bigint[]) AS o (n, user_id)
    JOIN accepted a ON a.n = o.n
)` + insertEnd

const insertBegin = `
WITH input AS (
    SELECT *
    FROM unnest($2::bigint[], $3::text[], $4::bytea[], $5::timestamptz[], $6::boolean[], $7::smallint[], $8::smallint[],
                $9::smallint[], $10::text[], $11::jsonb[], $12::text[], $16::smallint[], $17::smallint[], $18::text[], $19::integer[])
         WITH ORDINALITY
         AS i (carrier_id, fingerprint, fingerprint_sha256, created_at, completed, source, nps_profile,
               satisfaction, answer_ids, items, search_text, status, sentiment, topic_ids, analysis_version, n)
), given AS (
    SELECT *
    FROM unnest($13::bigint[], $14::text[], $15::bytea[]) WITH ORDINALITY AS g (n, name, text_sha256, position)
), known AS MATERIALIZED (
    SELECT g.n, g.position, a.id AS attribute_id, a.label, v.id AS value_id, v.is_number
    FROM given g
    CROSS JOIN LATERAL (SELECT id, label FROM attribute WHERE organization_id = $1 AND name = g.name LIMIT 1) AS a
    CROSS JOIN LATERAL (
        SELECT id, is_number FROM attribute_value
        WHERE organization_id = $1 AND attribute_id = a.id AND text_sha256 = g.text_sha256 AND retired_at IS NULL
        LIMIT 1
    ) AS v
), resolved AS (
    SELECT (SELECT count(*) FROM known) = cardinality($13::bigint[]) AS complete
), attributes AS (
    SELECT n, array_agg(id ORDER BY position, is_value) AS ids
    FROM (
        SELECT n, attribute_id AS id, min(position) AS position, false AS is_value FROM known GROUP BY n, attribute_id
        UNION ALL
        SELECT n, value_id, position, true FROM known
    ) AS ids
    GROUP BY n
), numbered AS MATERIALIZED (
    SELECT i.*, t.id, coalesce(i.created_at, now()) AS at, a.ids AS attribute_value_ids
    FROM resolved r
    CROSS JOIN LATERAL feedback_take_ids($1, CASE WHEN r.complete THEN cardinality($2::bigint[]) ELSE 0 END)
               WITH ORDINALITY AS t (id, n)
    JOIN input i ON i.n = t.n
    LEFT JOIN attributes a ON a.n = i.n
), reserved AS (
    INSERT INTO fingerprint (organization_id, carrier_id, fingerprint_sha256, feedback_id)
    SELECT $1, carrier_id, fingerprint_sha256, id FROM numbered ORDER BY carrier_id, fingerprint_sha256, id
    ON CONFLICT DO NOTHING
    RETURNING feedback_id
), accepted AS MATERIALIZED (
    SELECT i.*, nextval('item_id') AS first_item_id, (i.at AT TIME ZONE o.time_zone)::date AS day
    FROM reserved r
    JOIN numbered i ON i.id = r.feedback_id
    JOIN organization o ON o.id = $1
), written AS (
    INSERT INTO feedback (organization_id, id, created_at, completed_at, carrier_id, day, source, status, nps_profile,
                          satisfaction, sentiment, analysis_version, attribute_value_ids, topic_ids, answer_ids)
    SELECT $1, id, at, CASE WHEN completed THEN at END, carrier_id, day, source, status, nps_profile,
           satisfaction, sentiment, analysis_version, coalesce(attribute_value_ids, '{}'), topic_ids::bigint[], answer_ids::bigint[]
    FROM accepted
), content AS (
    INSERT INTO feedback_content (organization_id, feedback_id, first_item_id, fingerprint, items, search_text)
    SELECT $1, id, first_item_id, fingerprint, items, search_text FROM accepted
), delta AS (
    INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
                                sentiment_n, sentiment_sum, value_ids, value_n, value_sat_n, value_sat_sum)
    SELECT $1, carrier_id, day, source, status, coalesce(nps_profile, 0), 1,
           (satisfaction IS NOT NULL)::int, coalesce(satisfaction, 0), completed::int,
           (sentiment IS NOT NULL)::int, coalesce(sentiment, 0), attribute_value_ids || topic_ids::bigint[] || answer_ids::bigint[], 1,
           (satisfaction IS NOT NULL)::int, coalesce(satisfaction, 0)
    FROM accepted
)`

const insertEnd = `
SELECT r.complete, a.id, a.at, coalesce(a.first_item_id, 0),
       CASE WHEN i.n = 1 THEN (SELECT array_agg(label ORDER BY position) FROM known) END,
       CASE WHEN i.n = 1 THEN (SELECT array_agg(is_number ORDER BY position) FROM known) END
FROM resolved r
CROSS JOIN input i
LEFT JOIN accepted a ON a.n = i.n
ORDER BY i.n`

// Both take their rows in one order everywhere, or two requests with the same new values would wait for each other.
const (
	insertAttributesSQL = `
INSERT INTO attribute (organization_id, name, label)
SELECT $1, n.name, n.name
FROM (SELECT DISTINCT name FROM unnest($2::text[]) AS u (name)) AS n
WHERE NOT EXISTS (SELECT FROM attribute a WHERE a.organization_id = $1 AND a.name = n.name)
ORDER BY n.name
ON CONFLICT DO NOTHING`

	// A retired value that is used again comes back to life.
	insertValuesSQL = `
INSERT INTO attribute_value AS v (organization_id, attribute_id, text, folded, text_sha256, is_number, num)
SELECT DISTINCT ON (a.id, g.text_sha256) $1, a.id, g.text, g.folded, g.text_sha256, g.is_number, g.num::numeric
FROM unnest($2::text[], $3::text[], $4::text[], $5::bytea[], $6::boolean[], $7::text[])
     AS g (name, text, folded, text_sha256, is_number, num)
CROSS JOIN LATERAL (SELECT id FROM attribute WHERE organization_id = $1 AND name = g.name LIMIT 1) AS a
LEFT JOIN LATERAL (
    SELECT id FROM attribute_value
    WHERE organization_id = $1 AND attribute_id = a.id AND text_sha256 = g.text_sha256 AND retired_at IS NULL
    LIMIT 1
) AS k ON true
WHERE k.id IS NULL
ORDER BY a.id, g.text_sha256
ON CONFLICT (organization_id, attribute_id, text_sha256) DO UPDATE SET retired_at = NULL WHERE v.retired_at IS NOT NULL`
)

// insert writes the drafts and returns a record for each, with ID 0 where the fingerprint was taken: one round trip when
// every attribute value is in the dictionary, a second one that adds what is missing when not.
func insert(ctx context.Context, q pg.Querier, v account.View, drafts []draft) ([]Record, error) {
	in := arguments(drafts)
	sql, args := in.insert(v)
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	written, complete, err := collect(rows, drafts)
	if err != nil || complete {
		return written, err
	}
	b := &pgx.Batch{}
	b.Queue(insertAttributesSQL, v.Org(), in.names)
	b.Queue(insertValuesSQL, v.Org(), in.names, in.texts, in.folded, in.textSums, in.numbers, in.nums)
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		written, complete, err = collect(rows, drafts)
		return err
	})
	if err := q.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	if !complete {
		return nil, fmt.Errorf("attribute values vanished while they were used")
	}
	return written, nil
}

// columns are the drafts turned sideways, as the statement takes them.
type columns struct {
	carriers, rowNumbers, owned                  []int64
	fingerprints, answerIDs, items, names, texts []string
	fingerprintSums, textSums                    [][]byte
	createdAt                                    []*time.Time
	completed, numbers                           []bool
	sources                                      []Source
	statuses                                     []Status
	owners                                       []account.UserID
	profiles                                     []*carrier.Profile
	satisfactions, sentiments                    []*int16
	topicIDs                                     []string
	versions                                     []int32
	searchTexts, folded, nums                    []*string
}

func (c *columns) insert(v account.View) (sql string, args []any) {
	args = []any{
		v.Org(), c.carriers, c.fingerprints, c.fingerprintSums, c.createdAt, c.completed, c.sources, c.profiles,
		c.satisfactions, c.answerIDs, c.items, c.searchTexts, c.rowNumbers, c.names, c.textSums, c.statuses,
		c.sentiments, c.topicIDs, c.versions,
	}
	if len(c.owned) == 0 {
		return insertSQL, args
	}
	return insertOwnedSQL, append(args, c.owned, c.owners)
}

func arguments(drafts []draft) *columns {
	c := &columns{rowNumbers: []int64{}, names: []string{}, textSums: [][]byte{}}
	for i, d := range drafts {
		c.carriers = append(c.carriers, d.CarrierID)
		c.fingerprints = append(c.fingerprints, d.Fingerprint)
		c.fingerprintSums = append(c.fingerprintSums, hash(d.Fingerprint))
		c.createdAt = append(c.createdAt, d.CreatedAt)
		c.completed = append(c.completed, d.result.Completed)
		c.sources = append(c.sources, d.Source)
		var profile *carrier.Profile
		if d.result.Profile != 0 {
			profile = &d.result.Profile
		}
		c.profiles = append(c.profiles, profile)
		c.satisfactions = append(c.satisfactions, d.satisfaction)
		c.answerIDs = append(c.answerIDs, arrayLiteral(d.result.AnswerIDs))
		c.items = append(c.items, string(d.items))
		c.searchTexts = append(c.searchTexts, d.searchText)
		c.sentiments = append(c.sentiments, d.sentiment())
		c.topicIDs = append(c.topicIDs, arrayLiteral(d.topicIDs))
		c.versions = append(c.versions, d.version)
		c.statuses = append(c.statuses, d.Status)
		for _, owner := range d.Owners {
			c.owned = append(c.owned, int64(i+1))
			c.owners = append(c.owners, owner)
		}
		for _, a := range d.Attributes {
			for _, value := range a.Values {
				c.rowNumbers = append(c.rowNumbers, int64(i+1))
				c.names = append(c.names, a.Name)
				c.texts = append(c.texts, value.Text)
				c.folded = append(c.folded, value.folded())
				c.textSums = append(c.textSums, hash(value.Text))
				c.numbers = append(c.numbers, value.IsNumber)
				c.nums = append(c.nums, value.number())
			}
		}
	}
	return c
}

// arrayLiteral spells an array for PostgreSQL: arrays of arrays of different lengths cannot be sent otherwise.
func arrayLiteral(ids []int64) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(id, 10))
	}
	b.WriteByte('}')
	return b.String()
}

// collect reads what insertSQL returned; complete is false when it wrote nothing for want of a dictionary entry.
func collect(rows pgx.Rows, drafts []draft) (written []Record, complete bool, err error) {
	var (
		id        *int64
		at        *time.Time
		firstItem int64
		labels    []string // of the values not dealt with yet
		numbers   []bool
		given     struct { // in the first row
			labels  []string
			numbers []bool
		}
	)
	n := 0
	_, err = pgx.ForEachRow(rows, []any{&complete, &id, &at, &firstItem, &given.labels, &given.numbers}, func() error {
		d := drafts[n]
		if n++; n == 1 {
			labels, numbers = given.labels, given.numbers
		}
		rec := d.record(firstItem)
		if id != nil {
			rec.ID, rec.CreatedAt = *id, *at
			if d.result.Completed {
				rec.CompletedAt = at
			}
			rec.Attributes = d.labelled(labels, numbers)
		}
		if complete {
			labels, numbers = labels[d.values():], numbers[d.values():]
		}
		written = append(written, rec)
		return nil
	})
	return written, complete, err
}

// values is how many values the draft's attributes have in all.
func (d draft) values() (n int) {
	for _, a := range d.Attributes {
		n += len(a.Values)
	}
	return n
}

// labelled is the draft's attributes with what the dictionary knows of them; both lists begin with its values in order.
func (d draft) labelled(labels []string, numbers []bool) []Attribute {
	attributes := make([]Attribute, 0, len(d.Attributes))
	at := 0
	for _, a := range d.Attributes {
		if len(a.Values) == 0 {
			continue
		}
		given := Attribute{Name: a.Name, Label: labels[at], Values: make([]Value, len(a.Values))}
		for i, value := range a.Values {
			given.Values[i] = Value{Text: value.Text, IsNumber: numbers[at]}
			at++
		}
		attributes = append(attributes, given)
	}
	return attributes
}
