package feedback

// An attribute stands in feedback.attribute_value_ids as its own id, once, followed somewhere behind by the ids of its values; the order is that
// in which they were attached. Attributes are edited on these arrays, whole statements over any number of records.
//
// Everything about one record is found in lateral subqueries: joins between the parts of the statement would be planned for ten records
// and run with a thousand.

// editSQL attaches, syncs or detaches ($6) attributes of the names $7, with values of the names $8 and hashes $9. When it lacks an entry of the
// dictionary, nothing is written and complete is false; detaching lacks none.
const editSQL = `
WITH listed AS MATERIALIZED (
    SELECT v.id, v.attribute_id, g.position
    FROM unnest($8::text[], $9::bytea[]) WITH ORDINALITY AS g (name, text_sha256, position)
    JOIN attribute a ON a.organization_id = $1 AND a.name = g.name
    JOIN attribute_value v ON v.organization_id = $1 AND v.attribute_id = a.id AND v.text_sha256 = g.text_sha256
                          AND v.retired_at IS NULL
), touched AS MATERIALIZED (
    SELECT a.id, ARRAY(SELECT l.id FROM listed l WHERE l.attribute_id = a.id) AS listed, n.name <> ALL ($8::text[]) AS bare
    FROM unnest($7::text[]) AS n (name)
    JOIN attribute a ON a.organization_id = $1 AND a.name = n.name
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
    ORDER BY id
    FOR UPDATE
), edited AS (
    SELECT o.*, ARRAY(
               SELECT k.id FROM unnest(o.ids) WITH ORDINALITY AS k (id, place)
               WHERE k.id <> ALL (coalesce(gone.ids, '{}'))
               ORDER BY k.place
           ) || ARRAY(
               SELECT n.id FROM unnest(given.ids) WITH ORDINALITY AS n (id, place)
               WHERE n.id <> ALL (o.ids)
               ORDER BY n.place
           ) AS new_ids
    FROM old o
    CROSS JOIN given
    LEFT JOIN LATERAL (
        SELECT array_agg(id) AS ids
        FROM (
            -- An attribute's own id goes with its last value.
            SELECT e.id, CASE WHEN e.id <> t.id THEN stays.value
                              ELSE bool_or(stays.value AND e.id <> t.id) OVER (PARTITION BY t.id)
                                OR $6 = 'sync' AND t.listed <> '{}' END AS stays
            FROM unnest(o.ids) AS e (id)
            LEFT JOIN attribute_value v ON v.organization_id = $1 AND v.id = e.id
            JOIN touched t ON t.id = coalesce(v.attribute_id, e.id)
            CROSS JOIN LATERAL (SELECT (e.id = ANY (t.listed)) = ($6 = 'sync') AND NOT ($6 = 'detach' AND t.bare) AS value) AS stays
        ) AS e
        WHERE NOT stays
    ) AS gone ON $6 <> 'attach' AND o.ids && given.touched
), part AS (
    SELECT e.id AS feedback_id, t.id AS attribute_id, coalesce(had.ids, '{}') AS before, coalesce(had.places, '{}') AS places,
           coalesce(had.ids, '{}') || t.listed AS members, e.new_ids
    FROM edited e
    CROSS JOIN touched t
    LEFT JOIN LATERAL (` + hadSQL + `) AS had ON t.id = ANY (e.ids)
    WHERE e.new_ids <> e.ids
)` + changedSQL + `
SELECT (SELECT complete FROM given), (SELECT count(*) FROM old), (SELECT count(*) FROM changed)`

// hadSQL is the values of the attribute t in the array of e, and the places of its own id and theirs.
const hadSQL = `
        SELECT array_agg(u.id ORDER BY u.place) FILTER (WHERE u.id <> t.id) AS ids, array_agg(u.place::smallint ORDER BY u.place) AS places
        FROM unnest(e.ids) WITH ORDINALITY AS u (id, place)
        LEFT JOIN attribute_value v ON v.organization_id = $1 AND v.id = u.id
        WHERE coalesce(v.attribute_id, u.id) = t.id`

// changedSQL writes what edited made of old, the history of each part that differs, and what that means to the tallies. An attribute is counted
// by month and profile alone; the other dimensions of such a delta are 0.
const changedSQL = `, changed AS (
    UPDATE feedback f SET attribute_value_ids = e.new_ids
    FROM edited e
    WHERE f.organization_id = $1 AND f.id = e.id AND e.new_ids <> e.ids
    RETURNING e.*
), history AS (
    INSERT INTO feedback_history (organization_id, feedback_id, token_id, user_id, operation_id, field, attribute_id, before, after, places)
    SELECT $1, p.feedback_id, $3, $4, $5, 3, p.attribute_id, p.before, a.after, p.places
    FROM part p
    CROSS JOIN LATERAL (SELECT ARRAY(
        SELECT n.id FROM unnest(p.new_ids) WITH ORDINALITY AS n (id, place)
        WHERE n.id = ANY (p.members)
        ORDER BY n.place) AS after) AS a
    WHERE p.before <> a.after
), delta AS (
    INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
                                sentiment_n, sentiment_sum, value_ids, value_n, value_sat_n, value_sat_sum)
    SELECT $1, 0, c.day, 0, 0, c.nps, 0, 0, 0, 0, 0, 0, d.ids, sum(d.n), sum(d.n * (c.satisfaction IS NOT NULL)::int),
           sum(d.n * coalesce(c.satisfaction, 0))
    FROM changed c
    CROSS JOIN LATERAL (VALUES
        (1, ARRAY(SELECT id FROM unnest(c.new_ids) AS u (id) WHERE id <> ALL (c.ids) ORDER BY id)),
        (-1, ARRAY(SELECT id FROM unnest(c.ids) AS u (id) WHERE id <> ALL (c.new_ids) ORDER BY id))
    ) AS d (n, ids)
    WHERE d.ids <> '{}'
    GROUP BY c.day, c.nps, d.ids
)`
