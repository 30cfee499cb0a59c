package feedback

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
)

// Rescore reads the answers of the records with these ids again, by the rules of today, and writes what they are worth: profile, satisfaction,
// sentiment, topics, closed answers and searched text, with the tallies. Texts that were read by the version of today, or for it by a provider, are
// not read again. Answers that no longer fit are kept and worth nothing; when a record was completed stays as it was. It returns how many records changed, and locks as Apply does.
func (s *Store) Rescore(ctx context.Context, tx pgx.Tx, v account.View, ids []int64) (int64, error) {
	if err := whole(v); err != nil {
		return 0, err
	}
	read, err := s.reread(ctx, tx, v, ids)
	if err != nil {
		return 0, fmt.Errorf("rescore feedback: %w", err)
	}
	changed, err := read.write(ctx, tx, v)
	if err != nil {
		return 0, fmt.Errorf("rescore feedback: %w", err)
	}
	return changed, nil
}

// worth is what a second reading made of some records, turned sideways.
type worth struct {
	ids                        []int64
	profiles                   []*carrier.Profile
	satisfactions, sentiments  []*int16
	answerIDs, topicIDs, items []string
	searchTexts                []*string
	versions                   []int32
}

// reread locks the records and reads their answers again.
func (s *Store) reread(ctx context.Context, tx pgx.Tx, v account.View, ids []int64) (worth, error) {
	type record struct {
		ID, CarrierID   int64
		AnalysisVersion int32
		Items           []byte
	}
	reader, err := s.texts.Reader(ctx, v)
	if err != nil {
		return worth{}, err
	}
	rows, err := tx.Query(ctx, `
		SELECT f.id, f.carrier_id, f.analysis_version, c.items
		FROM feedback f
		JOIN feedback_content c ON c.organization_id = f.organization_id AND c.feedback_id = f.id
		WHERE f.organization_id = $1 AND f.id = ANY($2)
		ORDER BY f.id
		FOR UPDATE OF f`, v.Org(), ids)
	if err != nil {
		return worth{}, err
	}
	records, err := pgx.CollectRows(rows, pgx.RowToStructByName[record])
	if err != nil {
		return worth{}, err
	}
	var out worth
	for _, rec := range records {
		stored, err := decodeItems(rec.Items)
		if err != nil {
			return worth{}, err
		}
		known := stored
		if rec.AnalysisVersion < reader.Version {
			known = nil
		}
		d, err := s.again(ctx, v, reader, rec.CarrierID, stored, known)
		if err != nil {
			return worth{}, err
		}
		d.version = max(d.version, rec.AnalysisVersion)
		out.add(rec.ID, d)
	}
	return out, nil
}

// again works out what stored answers are worth by the rules of today. Texts whose spans are known are not read.
func (s *Store) again(ctx context.Context, v account.View, reader *analysis.Reader, carrierID int64, stored, known []storedItem) (draft, error) {
	answers := make([]carrier.Answer, len(stored))
	items := make([]carrier.Item, len(stored))
	for i, item := range stored {
		answers[i] = carrier.Answer{QuestionID: item.Question, OptionID: item.Option, Value: item.Value}
		items[i] = carrier.Item{QuestionID: item.Question}
	}
	rules, err := s.carriers.Known(ctx, v, carrierID, items)
	if err != nil {
		return draft{}, err
	}
	d := draft{New: New{CarrierID: carrierID}, result: rules.Reread(answers)}
	return d, d.finish(reader, known)
}

func (w *worth) add(id int64, d draft) {
	w.ids = append(w.ids, id)
	w.profiles = append(w.profiles, optional(d.result.Profile))
	w.satisfactions = append(w.satisfactions, d.satisfaction)
	w.answerIDs = append(w.answerIDs, arrayLiteral(d.result.AnswerIDs))
	w.items = append(w.items, string(d.items))
	w.searchTexts = append(w.searchTexts, d.searchText)
	w.sentiments = append(w.sentiments, d.sentiment())
	w.topicIDs = append(w.topicIDs, arrayLiteral(d.topicIDs))
	w.versions = append(w.versions, d.version)
}

// write puts it into the records, which must be locked, and returns how many changed.
func (w *worth) write(ctx context.Context, tx pgx.Tx, v account.View) (changed int64, err error) {
	err = tx.QueryRow(ctx, rescoreSQL, v.Org(), w.ids, w.profiles, w.satisfactions, w.answerIDs, w.items, w.searchTexts,
		w.sentiments, w.topicIDs, w.versions).Scan(&changed)
	return changed, err
}

// A profile is a key of every count, also of those for attribute values: a record that changes is taken out of all of them and put in again.
const rescoreSQL = `
WITH new AS (
    SELECT *
    FROM unnest($2::bigint[], $3::smallint[], $4::smallint[], $5::text[], $6::jsonb[], $7::text[], $8::smallint[], $9::text[], $10::integer[])
         AS n (id, nps_profile, satisfaction, answer_ids, items, search_text, sentiment, topic_ids, analysis_version)
), old AS MATERIALIZED (
    SELECT f.id, f.carrier_id, f.day, f.source, f.status, f.completed_at, f.attribute_value_ids,
           f.nps_profile, f.satisfaction, f.sentiment, f.topic_ids || f.answer_ids AS read_ids,
           n.nps_profile AS new_nps_profile, n.satisfaction AS new_satisfaction, n.sentiment AS new_sentiment,
           n.topic_ids::bigint[] AS new_topic_ids, n.answer_ids::bigint[] AS new_answer_ids, n.analysis_version AS new_analysis_version,
           (f.nps_profile, f.satisfaction, f.sentiment, f.topic_ids, f.answer_ids)
               IS DISTINCT FROM (n.nps_profile, n.satisfaction, n.sentiment, n.topic_ids::bigint[], n.answer_ids::bigint[]) AS differs
    FROM new n
    JOIN feedback f ON f.organization_id = $1 AND f.id = n.id
), changed AS (
    UPDATE feedback f
    SET nps_profile = old.new_nps_profile, satisfaction = old.new_satisfaction, sentiment = old.new_sentiment,
        topic_ids = old.new_topic_ids, answer_ids = old.new_answer_ids, analysis_version = old.new_analysis_version
    FROM old
    WHERE f.organization_id = $1 AND f.id = old.id AND (old.differs OR f.analysis_version <> old.new_analysis_version)
    RETURNING old.*
), content AS (
    UPDATE feedback_content c SET items = n.items, search_text = n.search_text
    FROM new n
    WHERE c.organization_id = $1 AND c.feedback_id = n.id
      AND (c.items, c.search_text) IS DISTINCT FROM (n.items, n.search_text)
    RETURNING n.id
), delta AS (
    INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
                                sentiment_n, sentiment_sum, value_ids, value_n, value_sat_n, value_sat_sum)
    SELECT $1, carrier_id, day, source, status, coalesce(nps, 0), n, n * (satisfaction IS NOT NULL)::int, n * coalesce(satisfaction, 0),
           n * (completed_at IS NOT NULL)::int, n * (sentiment IS NOT NULL)::int, n * coalesce(sentiment, 0),
           attribute_value_ids || read_ids, n, n * (satisfaction IS NOT NULL)::int, n * coalesce(satisfaction, 0)
    FROM (
        SELECT -1 AS n, carrier_id, day, source, status, completed_at, attribute_value_ids,
               nps_profile AS nps, satisfaction, sentiment, read_ids
        FROM changed
        WHERE differs
        UNION ALL
        SELECT 1, carrier_id, day, source, status, completed_at, attribute_value_ids,
               new_nps_profile, new_satisfaction, new_sentiment, new_topic_ids || new_answer_ids
        FROM changed
        WHERE differs
    ) AS counted
)
SELECT count(*) FROM (SELECT id FROM changed WHERE differs UNION SELECT id FROM content) AS touched`

// Rezone counts the records with these ids on their days in the organization's zone of today, with the tallies. It returns how many belong to
// another day than before, and locks as Apply does.
func (s *Store) Rezone(ctx context.Context, tx pgx.Tx, v account.View, ids []int64) (int64, error) {
	if err := whole(v); err != nil {
		return 0, err
	}
	var changed int64
	if err := tx.QueryRow(ctx, rezoneSQL, v.Org(), ids).Scan(&changed); err != nil {
		return 0, fmt.Errorf("rezone feedback: %w", err)
	}
	return changed, nil
}

const rezoneSQL = `
WITH old AS MATERIALIZED (
    SELECT f.id, f.carrier_id, f.day, f.source, f.status, coalesce(f.nps_profile, 0) AS nps, f.satisfaction, f.completed_at, f.sentiment,
           f.attribute_value_ids || f.topic_ids || f.answer_ids AS value_ids,
           (f.created_at AT TIME ZONE (SELECT time_zone FROM organization WHERE id = $1))::date AS new_day
    FROM feedback f
    WHERE f.organization_id = $1 AND f.id = ANY($2)
    ORDER BY f.id
    FOR UPDATE
), changed AS (
    UPDATE feedback f SET day = old.new_day
    FROM old
    WHERE f.organization_id = $1 AND f.id = old.id AND old.day <> old.new_day
    RETURNING old.*
), delta AS (
    INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
                                sentiment_n, sentiment_sum, value_ids, value_n, value_sat_n, value_sat_sum)
    SELECT $1, c.carrier_id, CASE s.n WHEN 1 THEN c.new_day ELSE c.day END, c.source, c.status, c.nps, s.n, s.n * (c.satisfaction IS NOT NULL)::int,
           s.n * coalesce(c.satisfaction, 0), s.n * (c.completed_at IS NOT NULL)::int, s.n * (c.sentiment IS NOT NULL)::int,
           s.n * coalesce(c.sentiment, 0), c.value_ids, s.n, s.n * (c.satisfaction IS NOT NULL)::int, s.n * coalesce(c.satisfaction, 0)
    FROM changed c
    CROSS JOIN (VALUES (-1), (1)) AS s (n)
)
SELECT count(*) FROM changed`
