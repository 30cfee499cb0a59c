package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/bench/corpus"
	"earshot/bench/rig"
	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/pg"
	"earshot/internal/tally"
)

// name is that of the organization.
const name = "Acme"

// What it has, however many feedback.
const (
	carriers = 12
	scores   = 11 // answers to the first question of each
	ratings  = 5  // answers to the second
)

// chosen is what the operations select: five feedback of six, and all that are created meanwhile.
const chosen = `[{"Attribute":{"name":"region","$eq":"EMEA"}}]`

// dataVersion is raised when the same schema is filled differently.
const dataVersion = 1

// base is the database that every run works on a copy of.
func (b *bench) base() string { return fmt.Sprintf("operation_%d", b.size) }

// work is the copy.
const work = "operation_work"

// build makes the base, unless it is there from an earlier run with the same schema.
func (b *bench) build(ctx context.Context) error {
	admin, err := pgx.Connect(ctx, b.server.URL("postgres"))
	if err != nil {
		return err
	}
	defer admin.Close(ctx) //nolint:errcheck // nothing is left open on it
	mark, err := corpus.SchemaMark(dataVersion)
	if err != nil {
		return err
	}
	var found *string
	err = admin.QueryRow(ctx, `SELECT max(shobj_description(oid, 'pg_database')) FROM pg_database WHERE datname = $1`, b.base()).Scan(&found)
	if err != nil || found != nil && *found == mark {
		return err
	}
	rig.Progress("building %d feedback; later runs will find them", b.size*6/5)
	began := time.Now()
	err = b.execute(ctx, "postgres", `DROP DATABASE IF EXISTS `+b.base()+` WITH (FORCE)`,
		`CREATE DATABASE `+b.base()+` TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'`)
	if err != nil {
		return err
	}
	db, err := pg.Open(ctx, pg.Settings{URL: b.server.URL(b.base()), MaxConns: 2})
	if err != nil {
		return err
	}
	err = fill(ctx, db, b.size*6/5)
	db.Close()
	if err != nil {
		return err
	}
	rig.Progress("built in %s", time.Since(began).Round(time.Second))
	// Only now is it worth finding again.
	return b.execute(ctx, "postgres", `CHECKPOINT`, fmt.Sprintf(`COMMENT ON DATABASE %s IS '%s'`, b.base(), mark))
}

// fill makes the organization and n feedback, with carriers and answers as the product makes them, and folded tallies.
func fill(ctx context.Context, db *pgxpool.Pool, n int) error {
	if _, err := pg.Migrate(ctx, db); err != nil {
		return err
	}
	org, err := account.NewStore(db).OpenOrganization(ctx, name)
	if err != nil {
		return err
	}
	v := account.Whole(org.ID)
	if _, err := db.Exec(ctx, scaffold); err != nil {
		return err
	}
	if err := addTemplates(ctx, db, v); err != nil {
		return err
	}
	if _, err := db.Exec(ctx, addRecords, n); err != nil {
		return err
	}
	for _, sql := range []string{addDictionary, addFeedback, addContent} {
		if _, err := db.Exec(ctx, sql, v.Org()); err != nil {
			return err
		}
	}
	for _, sql := range []string{addIndexes, `DROP SCHEMA bench CASCADE`, `VACUUM (ANALYZE)`} {
		if _, err := db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := tally.NewStore(db).Rebuild(ctx, v); err != nil {
		return err
	}
	_, err = db.Exec(ctx, `VACUUM (ANALYZE) feedback_rollup, facet_rollup, tally_fold, feedback_delta`)
	return err
}

// addTemplates makes the carriers and every combination of closed answers to their questions, worth what the product says they are.
func addTemplates(ctx context.Context, db *pgxpool.Pool, v account.View) error {
	store := carrier.NewStore(db)
	var rows [][]any
	for i := range carriers {
		c, err := store.Create(ctx, v, carrier.New{Name: fmt.Sprintf("Survey %02d", i+1), Questions: []carrier.NewQuestion{
			{Name: "Would you recommend us?", Type: carrier.NPS},
			{Name: "How was it?", Type: carrier.Rating, Max: ratings},
			{Name: "Anything else?", Type: carrier.Textarea},
		}})
		if err != nil {
			return err
		}
		var form fault.Form
		rules, err := store.Rules(ctx, v, c.ID, nil, &form)
		if err != nil {
			return err
		}
		for k := range scores * ratings {
			res := rules.Check([]carrier.Item{
				{QuestionID: c.Questions[0].ID, Value: fmt.Sprint(k % scores)},
				{QuestionID: c.Questions[1].ID, Value: fmt.Sprint(k/scores + 1)},
			}, &form)
			items, err := json.Marshal([]map[string]any{
				{"q": c.Questions[0].ID, "v": res.Answers[0].Value}, {"q": c.Questions[1].ID, "v": res.Answers[1].Value},
			})
			if err != nil {
				return err
			}
			rows = append(rows, []any{
				len(rows), c.ID, res.AnswerIDs, res.Profile, carrier.Satisfaction(res.Scale, nil), string(items),
				c.Questions[2].ID, c.Questions[2].PresenceID, corpus.QuestionMark(c.Questions[2].ID),
			})
		}
		if err := form.Err(); err != nil {
			return err
		}
	}
	_, err := db.CopyFrom(ctx, pgx.Identifier{"bench", "template"}, []string{
		"key", "carrier_id", "answer_ids", "nps_profile", "satisfaction", "items", "text_question", "text_presence", "text_mark",
	}, pgx.CopyFromRows(rows))
	return err
}

// The statements that fill. What a feedback is follows from a hash of its number; they are spread evenly over three years.
const (
	scaffold = `
CREATE SCHEMA bench;
CREATE TABLE bench.template (key int, carrier_id bigint, answer_ids bigint[], nps_profile smallint, satisfaction smallint, items jsonb,
                             text_question bigint, text_presence bigint, text_mark text);
CREATE TABLE bench.record (i bigint, id bigint, h bigint, at timestamptz, text text);
DROP INDEX feedback_dictionary;
DROP INDEX feedback_content_search`

	addIndexes = `
CREATE INDEX feedback_dictionary ON feedback USING gin (attribute_value_ids, topic_ids, answer_ids)
    WITH (fastupdate = on, gin_pending_list_limit = 16384);
CREATE INDEX feedback_content_search ON feedback_content USING gin (search_text gin_trgm_ops)
    WITH (fastupdate = on, gin_pending_list_limit = 16384)`

	addRecords = `
INSERT INTO bench.record
SELECT i, nextval('feedback_id'), abs(hashint8extended(i, 1)), now() - interval '3 years' + i * (interval '3 years' / $1::int),
       CASE WHEN i % 5 = 0 THEN 'the parcel came on day ' || i % 31 || ' and the ' || (ARRAY['staff', 'driver', 'box'])[1 + i % 3] ||
                                ' was as good as in branch ' || i % 977 END
FROM generate_series(1, $1::int) AS i`

	// Every feedback has an order number of its own; the other attributes have few values.
	addDictionary = `
WITH named AS (
    INSERT INTO attribute (organization_id, name, label, rolled_up)
    SELECT $1, name, name, name <> 'order' FROM unnest('{order,region,plan,city}'::text[]) AS name
    RETURNING id, name
)
INSERT INTO attribute_value (organization_id, attribute_id, text, text_sha256, is_number)
SELECT $1, n.id, g.text, sha256(g.text::bytea), false
FROM (
    SELECT 'order' AS name, 'ord-' || 10000000 + i AS text, i FROM bench.record
    UNION ALL
    SELECT 'region', text, i FROM unnest('{EMEA,APAC}'::text[]) WITH ORDINALITY AS u (text, i)
    UNION ALL
    SELECT 'plan', text, i FROM unnest('{free,basic,plus,pro,team}'::text[]) WITH ORDINALITY AS u (text, i)
    UNION ALL
    SELECT 'city', 'city ' || i, i FROM generate_series(1, 100) AS i
) AS g
JOIN named n USING (name)
ORDER BY n.id, g.i`

	addFeedback = `
WITH dictionary AS MATERIALIZED (
    SELECT a.name, a.id, (SELECT min(v.id) FROM attribute_value v WHERE v.organization_id = $1 AND v.attribute_id = a.id) AS first_value
    FROM attribute a
    WHERE a.organization_id = $1
)
INSERT INTO feedback (organization_id, id, created_at, completed_at, carrier_id, day, source, status, nps_profile, satisfaction,
                      attribute_value_ids, answer_ids)
SELECT $1, r.id, r.at, CASE WHEN r.h % 10 < 7 THEN r.at END, t.carrier_id, (r.at AT TIME ZONE 'UTC')::date,
       1 + r.h / 7 % 24, 1 + r.h / 11 % 4, t.nps_profile, t.satisfaction,
       ARRAY[o.id, o.first_value + r.i - 1, g.id, g.first_value + (r.i % 6 = 0)::int, p.id, p.first_value + r.h / 13 % 5,
             c.id, c.first_value + r.h / 17 % 100],
       CASE WHEN r.text IS NOT NULL THEN t.answer_ids || t.text_presence ELSE t.answer_ids END
FROM bench.record r
JOIN bench.template t ON t.key = r.h / 3 % (SELECT count(*) FROM bench.template)
JOIN dictionary o ON o.name = 'order'
JOIN dictionary g ON g.name = 'region'
JOIN dictionary p ON p.name = 'plan'
JOIN dictionary c ON c.name = 'city'
ORDER BY r.id`

	addContent = `
INSERT INTO feedback_content (organization_id, feedback_id, first_item_id, fingerprint, items, search_text)
SELECT $1, r.id, nextval('item_id'), md5(r.id::text),
       CASE WHEN r.text IS NULL THEN t.items
            ELSE t.items || jsonb_build_array(jsonb_build_object('q', t.text_question, 'v', r.text, 't', true)) END,
       E'\x1e' || t.text_mark || E'\x1f' || r.text
FROM bench.record r
JOIN bench.template t ON t.key = r.h / 3 % (SELECT count(*) FROM bench.template)
ORDER BY r.id`
)

// fresh puts a copy of the base in place of the work of the run before, as warm as it would be in service.
func (b *bench) fresh(ctx context.Context) error {
	err := b.execute(ctx, "postgres", `DROP DATABASE IF EXISTS `+work+` WITH (FORCE)`,
		`CREATE DATABASE `+work+` TEMPLATE `+b.base()+` STRATEGY file_copy`)
	if err != nil {
		return err
	}
	return b.execute(ctx, work, `CREATE EXTENSION IF NOT EXISTS pg_prewarm`, `
		SELECT sum(pg_prewarm(oid)) FROM pg_class
		WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace`, `CHECKPOINT`)
}
