package feedback

// An attribute stands in feedback.attribute_value_ids as its own id, once, followed somewhere behind by the ids of its values; the order is that
// in which they were attached. Attributes are edited on these arrays, whole statements over any number of records.
//
// What is looked up, and everything about one record, is found in lateral subqueries: joins between the parts of the statement would be planned
// for ten of them and run with thousands. A record may hold ten thousand ids: they are not searched for one another one by one. Most records do
// not have the attribute that is attached to them, and are spared the subqueries. What decides that stands within them, where it is looked at
// first; in the condition of a join it would be looked at last.

// editSQL attaches, syncs or detaches ($6) attributes of the names $7, with values of the names $8 and hashes $9, on records that are locked.
// When it lacks an entry of the dictionary, nothing is written and complete is false; detaching lacks none.
const editSQL = `
WITH listed AS MATERIALIZED (
    SELECT v.id, a.id AS attribute_id, g.position
    FROM unnest($8::text[], $9::bytea[]) WITH ORDINALITY AS g (name, text_sha256, position)
    CROSS JOIN LATERAL (SELECT id FROM attribute WHERE organization_id = $1 AND name = g.name LIMIT 1) AS a
    CROSS JOIN LATERAL (
        SELECT id FROM attribute_value
        WHERE organization_id = $1 AND attribute_id = a.id AND text_sha256 = g.text_sha256 AND retired_at IS NULL
        LIMIT 1
    ) AS v
), touched AS MATERIALIZED (
    SELECT a.id, ARRAY(SELECT l.id FROM listed l WHERE l.attribute_id = a.id ORDER BY l.position) AS listed, n.name <> ALL ($8::text[]) AS bare
    FROM unnest($7::text[]) AS n (name)
    CROSS JOIN LATERAL (SELECT id FROM attribute WHERE organization_id = $1 AND name = n.name LIMIT 1) AS a
), given AS MATERIALIZED (
    SELECT CASE WHEN $6 = 'detach' THEN '{}' ELSE ARRAY(
               SELECT id
               FROM (
                   SELECT attribute_id AS id, min(position) AS position, false AS is_value FROM listed GROUP BY attribute_id
                   UNION ALL
                   SELECT id, position, true FROM listed
               ) AS ids
               ORDER BY position, is_value) END AS ids,
           ARRAY(SELECT id FROM touched) AS touched,
           $6 = 'detach' OR (SELECT count(*) FROM listed) = cardinality($8::text[])
                        AND (SELECT count(*) FROM touched) = cardinality($7::text[]) AS complete
), old AS MATERIALIZED (
    SELECT id, day, coalesce(nps_profile, 0)::smallint AS nps, satisfaction, attribute_value_ids AS ids
    FROM feedback
    WHERE organization_id = $1 AND id = ANY($2) AND (SELECT complete FROM given)
), tagged AS MATERIALIZED (
    SELECT o.*, CASE WHEN o.ids && given.touched THEN ` + tagsSQL + ` ELSE '{}' END AS tags, CASE WHEN o.ids && given.touched THEN ARRAY(
               SELECT id
               FROM (
                   SELECT id, place FROM unnest(given.ids) WITH ORDINALITY AS n (id, place)
                   UNION ALL
                   SELECT id, NULL FROM unnest(o.ids) AS u (id)
               ) AS n
               GROUP BY id
               HAVING count(*) = count(place)
               ORDER BY min(place)
           ) ELSE given.ids END AS added
    FROM old o
    CROSS JOIN given
), edited AS MATERIALIZED (
    SELECT o.*, coalesce(had.kept, o.ids) || o.added AS new_ids, coalesce(had.gone, '{}') AS gone
    FROM tagged o
    LEFT JOIN LATERAL (
        SELECT coalesce(array_agg(id ORDER BY place) FILTER (WHERE stays), '{}') AS kept,
               coalesce(array_agg(id ORDER BY id) FILTER (WHERE NOT stays), '{}') AS gone
        FROM (
            -- An attribute's own id goes with its last value.
            SELECT u.id, u.place, CASE WHEN t.id IS NULL THEN true
                                       WHEN u.id <> t.id THEN ` + staysSQL + `
                                       WHEN $6 = 'sync' THEN t.listed <> '{}'
                                       ELSE bool_or(u.id <> t.id AND ` + staysSQL + `) OVER (PARTITION BY t.id) END AS stays
            FROM unnest(o.ids, o.tags) WITH ORDINALITY AS u (id, tag, place)
            LEFT JOIN touched t ON t.id = u.tag
        ) AS u
        HAVING $6 <> 'attach' AND o.tags <> '{}'
    ) AS had ON true
), part AS MATERIALIZED (
    SELECT e.id AS feedback_id, t.id AS attribute_id, had.ids AS before, had.places, CASE WHEN had.ids = '{}' AND $6 <> 'detach' THEN t.listed ELSE ARRAY(
               SELECT u.id FROM unnest(had.ids) WITH ORDINALITY AS u (id, place)
               WHERE ` + staysSQL + `
               ORDER BY u.place
           ) || ARRAY(
               SELECT n.id FROM unnest(t.listed) WITH ORDINALITY AS n (id, place)
               WHERE $6 <> 'detach' AND n.id <> ALL (had.ids)
               ORDER BY n.place
           ) END AS after
    FROM edited e
    CROSS JOIN touched t
    CROSS JOIN LATERAL (` + hadSQL + `) AS had
    WHERE e.new_ids <> e.ids
)` + changedSQL + `
SELECT (SELECT complete FROM given), (SELECT count(*) FROM old), (SELECT count(*) FROM changed)`

const (
	// tagsSQL is, for each id of the record o, the attribute that it belongs to: a value's, or itself.
	tagsSQL = `ARRAY(
        SELECT coalesce((SELECT v.attribute_id FROM attribute_value v WHERE v.organization_id = $1 AND v.id = u.id), u.id)
        FROM unnest(o.ids) WITH ORDINALITY AS u (id, place)
        ORDER BY u.place)`

	// staysSQL is whether the value u of the touched attribute t stays.
	staysSQL = `CASE $6 WHEN 'attach' THEN true
                        WHEN 'sync' THEN u.id = ANY (t.listed)
                        ELSE NOT t.bare AND u.id <> ALL (t.listed) END`

	// hadSQL is the values of the attribute t that the record e had, and the places of its own id and theirs.
	hadSQL = `
        SELECT coalesce(array_agg(u.id ORDER BY u.place) FILTER (WHERE u.id <> t.id), '{}') AS ids,
               coalesce(array_agg(u.place::integer ORDER BY u.place), '{}') AS places
        FROM unnest(e.ids, e.tags) WITH ORDINALITY AS u (id, tag, place)
        WHERE e.tags <> '{}' AND u.tag = t.id`
)

// changedSQL writes what edited made of records, the history of each part that differs, and what that means to the tallies. An attribute is counted
// by month and profile alone; the other dimensions of such a delta are 0.
const changedSQL = `, changed AS (
    UPDATE feedback f SET attribute_value_ids = e.new_ids
    FROM edited e
    WHERE f.organization_id = $1 AND f.id = e.id AND e.new_ids <> e.ids
    RETURNING e.*
), history AS (
    INSERT INTO feedback_history (organization_id, feedback_id, token_id, user_id, operation_id, field, attribute_id, before, after, places)
    SELECT $1, feedback_id, $3, $4, $5, 3, attribute_id, before, after, places
    FROM part
    WHERE before <> after
), delta AS (
    INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
                                sentiment_n, sentiment_sum, value_ids, value_n, value_sat_n, value_sat_sum)
    SELECT $1, 0, d.day, 0, 0, d.nps, 0, 0, 0, 0, 0, 0, d.ids, sum(d.n), sum(d.n * (d.satisfaction IS NOT NULL)::int),
           sum(d.n * coalesce(d.satisfaction, 0))
    FROM (
        SELECT c.day, c.nps, c.satisfaction, s.n, CASE s.n WHEN 1 THEN c.added ELSE c.gone END AS ids
        FROM changed c
        CROSS JOIN (VALUES (-1), (1)) AS s (n)
    ) AS d
    WHERE d.ids <> '{}'
    GROUP BY d.day, d.nps, d.ids
)`
