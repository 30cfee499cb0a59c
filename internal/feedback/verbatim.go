package feedback

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/carrier"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// Verbatim is one text that somebody wrote.
type Verbatim struct {
	FeedbackID   int64
	CreatedAt    time.Time
	Source       Source          // 0: not to be told
	Profile      carrier.Profile // 0: none
	Satisfaction *int16          // hundredths of a percent; nil: not measurable
	Sentiment    *int16          // as satisfaction, of all the record's texts
	QuestionID   int64
	Text         string
}

// Feeling is the label of the sentiment; 0: none. The stretches are those of filters.
func (v Verbatim) Feeling() carrier.Profile {
	switch {
	case v.Sentiment == nil:
		return 0
	case *v.Sentiment <= 4000:
		return carrier.Negative
	case *v.Sentiment <= 6000:
		return carrier.Neutral
	}
	return carrier.Positive
}

// searchedTexts is how many of the latest records are looked through for texts. Where hardly any has one, the answer is not worth reading them all.
const searchedTexts = 20_000

// Texts returns the latest texts of the records that match, as many as limit; with a question, its answers only.
func (p *Snapshot) Texts(ctx context.Context, q fql.Query, question int64, limit int) ([]Verbatim, error) {
	f, err := p.filter(ctx, q)
	if err != nil {
		return nil, err
	}
	var args pg.Args
	where, err := f.matching(&args)
	if err != nil {
		return nil, err
	}
	// The page is taken from the narrow table first, as in a list: newest first, by the primary key.
	rows, err := p.tx.Query(ctx, `
		SELECT f.id, f.created_at, f.source, coalesce(f.nps_profile, 0), f.satisfaction, f.sentiment, c.items
		FROM (
			SELECT f.organization_id, f.id, f.created_at, f.source, f.nps_profile, f.satisfaction, f.sentiment FROM feedback f
			WHERE `+where+`
			ORDER BY f.id DESC
			LIMIT `+strconv.Itoa(searchedTexts)+`
		) AS f
		JOIN feedback_content c ON c.organization_id = f.organization_id AND c.feedback_id = f.id
		WHERE c.search_text IS NOT NULL
		ORDER BY f.id DESC
		LIMIT `+args.Bind(limit), args...)
	if err != nil {
		return nil, tooBroad(err, "read texts")
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]Verbatim, error) {
		var rec Verbatim
		var raw []byte
		if err := row.Scan(&rec.FeedbackID, &rec.CreatedAt, &rec.Source, &rec.Profile, &rec.Satisfaction, &rec.Sentiment, &raw); err != nil {
			return nil, err
		}
		return rec.written(raw, question)
	})
	if err != nil {
		return nil, tooBroad(err, "read texts")
	}
	texts := slices.Concat(found...)
	return texts[:min(len(texts), limit)], nil
}

// written are the texts among the items of a record.
func (v Verbatim) written(raw []byte, question int64) ([]Verbatim, error) {
	items, err := decodeItems(raw)
	if err != nil {
		return nil, err
	}
	var texts []Verbatim
	for _, item := range items {
		if item.Text && item.Value != "" && (question == 0 || item.Question == question) {
			v.QuestionID, v.Text = item.Question, item.Value
			texts = append(texts, v)
		}
	}
	return texts, nil
}
