package corpus

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// textEvery is how many feedback there are to one with a text.
const textEvery = 5

// recordView makes bench.record, one row for each feedback to be. Ids run over all organizations in the order of arrival: first all
// of the small organization, together on few pages, which is the best it can have; then the large one with those of the tiny one
// spread evenly among them, each on a page of its own, which is the worst. What a feedback is follows from hashes of its number
// within its organization, so that the tiny organization has the same feedback in both databases.
func recordView(small, large, tiny int) string {
	between := large/tiny + 1
	return fmt.Sprintf(`
CREATE VIEW bench.record AS
SELECT o.organization_id, r.id, r.i, to_timestamp(o.since + r.i * o.step) AS at,
       o.templates + %[4]d * floor(%[5]d * ((r.h & 65535) / 65536.0::float8) ^ 2)::int + (r.h >> 16 & %[4]d - 1)::int AS template,
       1 + floor(24 * ((r.h >> 32 & 65535) / 65536.0::float8) ^ 2)::int AS source,
       CASE WHEN (r.h >> 48 & 1023) < 410 THEN 1 WHEN (r.h >> 48 & 1023) < 512 THEN 2 WHEN (r.h >> 48 & 1023) < 614 THEN 3
            WHEN (r.h >> 48 & 1023) < 973 THEN 4 ELSE 5 END AS status,
       ARRAY[o.order_attribute, o.first_order + r.i, o.plan_attribute,
             o.first_plan + CASE WHEN r.p = 0 THEN 0 WHEN r.p <= 100 THEN 1 WHEN r.p <= 3100 THEN 2 ELSE 3 + r.p %% 4 END,
             o.city_attribute, o.first_city + floor(%[6]d * ((r.k & 65535) / 65536.0::float8) ^ 2)::int] AS attribute_value_ids,
       r.i %% %[7]d = 0 AS has_text,
       CASE WHEN r.i %% %[7]d = 0 THEN r.k >> 16 & %[8]d - 1 END AS fragment1,
       CASE WHEN r.i %% %[7]d = 0 THEN r.k >> 28 & %[8]d - 1 END AS fragment2,
       CASE WHEN r.i %% %[7]d = 0 THEN r.k >> 40 & %[8]d - 1 END AS fragment3,
       (r.k >> 52 & 1023) < 307 AS has_common,
       r.i / %[7]d %% o.rare_every = 0 AS has_rare,
       CASE WHEN r.i %% %[7]d = 0 THEN ((r.k >> 28 & 4095) * 10000 / 4095)::smallint END AS sentiment,
       CASE WHEN r.i %% %[7]d > 0 THEN '{}'
            WHEN r.k & 3 = 0 THEN ARRAY[o.first_topic + r.t]
            ELSE ARRAY[o.first_topic + r.t, o.first_topic + (r.t + 1 + (r.k >> 40 & 7)) %% %[12]d] END AS topic_ids
FROM (
    SELECT g.id, g.n, g.i, g.i * 7919 %% 10000 AS p, hashint8extended(g.i, 1) AS h, x.k,
           floor(%[12]d * ((x.k >> 16 & 4095) / 4096.0::float8) ^ 2)::int AS t
    FROM (
        SELECT g AS id,
               CASE WHEN g <= %[1]d THEN %[9]d WHEN (g - %[1]d) %% %[2]d = 0 THEN %[11]d ELSE %[10]d END AS n,
               CASE WHEN g <= %[1]d THEN g WHEN (g - %[1]d) %% %[2]d = 0 THEN (g - %[1]d) / %[2]d ELSE g - %[1]d - (g - %[1]d) / %[2]d END AS i
        FROM generate_series(1::bigint, %[3]d) AS g
    ) AS g
    CROSS JOIN LATERAL (SELECT hashint8extended(g.i, 2) AS k) AS x
) AS r
JOIN bench.organization o ON o.n = r.n`, small, between, small+large+tiny, combinations, Carriers, cities, textEvery, fragments, 0, 1, place(large), topics)
}

// place is the number of the tiny organization: the third, or the first where it is alone.
func place(large int) int {
	if large == 0 {
		return 0
	}
	return 2
}

const (
	// A table emptied in the transaction that fills it needs no WAL at the minimal level, and stays a logged table.
	loadFeedback = `
TRUNCATE feedback;
INSERT INTO feedback (organization_id, id, created_at, completed_at, carrier_id, day, source, status, nps_profile, satisfaction, sentiment,
                      attribute_value_ids, topic_ids, answer_ids)
SELECT r.organization_id, r.id, r.at, CASE WHEN t.completed THEN r.at END, t.carrier_id, (r.at AT TIME ZONE 'UTC')::date, r.source,
       r.status, t.nps_profile, t.satisfaction, r.sentiment, r.attribute_value_ids, r.topic_ids,
       CASE WHEN r.has_text THEN t.answer_ids || t.text_presence ELSE t.answer_ids END
FROM bench.record r
JOIN bench.template t ON t.key = r.template`

	loadContent = `
TRUNCATE feedback_content;
INSERT INTO feedback_content (organization_id, feedback_id, first_item_id, fingerprint, items, search_text)
SELECT r.organization_id, r.id, r.id * 100, md5(r.id::text),
       CASE WHEN r.text IS NULL THEN r.items
            ELSE r.items || jsonb_build_array(jsonb_build_object('q', r.text_question, 'v', r.text, 't', true)) END,
       E'\x1e' || r.text_mark || E'\x1f' || r.text
FROM (
    SELECT r.organization_id, r.id, t.items, t.text_question, t.text_mark,
           f1.text || CASE WHEN r.has_common THEN ' ` + CommonWord + ` ' ELSE ' ' END || f2.text ||
           CASE WHEN r.has_rare THEN ' ` + RareWord + ` ' ELSE ' ' END || f3.text AS text
    FROM bench.record r
    JOIN bench.template t ON t.key = r.template
    LEFT JOIN bench.fragment f1 ON f1.n = r.fragment1
    LEFT JOIN bench.fragment f2 ON f2.n = r.fragment2
    LEFT JOIN bench.fragment f3 ON f3.n = r.fragment3
    OFFSET 0 -- the text is put together once, not at each mention
) AS r`

	loadOrders = `
INSERT INTO attribute_value (organization_id, id, attribute_id, text, text_sha256, is_number)
SELECT o.organization_id, o.first_order + i, o.order_attribute, 'ord-' || 10000000 + i, sha256(('ord-' || 10000000 + i)::bytea), false
FROM bench.organization o
CROSS JOIN LATERAL generate_series(1, o.size) AS i`

	// The next feedback gets ids above all of these.
	setSequences = `
SELECT setval('feedback_id', sum(size)::bigint), setval('item_id', (sum(size)::bigint + 1) * 100) FROM bench.organization`
)

// load fills the tables, the two large ones beside each other.
func load(ctx context.Context, db *pgxpool.Pool) error {
	return inPairs(ctx, []job{
		loading("load feedback", db, loadFeedback),
		loading("load content", db, loadContent),
		loading("load order numbers", db, loadOrders),
		statement("set sequences", db, setSequences),
	})
}

// loading is a statement in one transaction. The joins are with small tables: hashed whole, they leave the rows in the order of their ids.
// Groups are few and hashed as well: without statistics PostgreSQL would sort ten million rows to find them.
func loading(name string, db *pgxpool.Pool, sql string) job {
	return job{name, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `
				SET LOCAL work_mem = '512MB'; SET LOCAL enable_mergejoin = off;
				SET LOCAL enable_sort = off; SET LOCAL enable_incremental_sort = off;`+sql)
			return err
		})
	}}
}
