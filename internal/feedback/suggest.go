package feedback

import (
	"context"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// Suggestions are made from the latest texts: of so many feedback, and not much more than so many bytes. That is enough to tell what people
// speak of, and takes a processor a second at most.
const (
	suggestFrom  = 5_000
	suggestBytes = 1 << 20
)

// Suggest returns at most limit phrases that the latest texts of the records that match have in common and no topic covers, and how many
// texts it read for that. A filter that takes too long is fault.QueryTooBroad.
func (s *Store) Suggest(ctx context.Context, v account.View, q fql.Query, limit int) ([]analysis.Suggestion, int, error) {
	reader, err := s.texts.Reader(ctx, v)
	if err != nil {
		return nil, 0, err
	}
	// Finding the records and reading their texts are heavy both.
	done, err := s.counts.take(ctx, v, counted)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	records, err := s.latestTexts(ctx, v, q)
	if err != nil {
		return nil, 0, err
	}
	read := 0
	found := reader.Suggest(func(yield func(int64, string) bool) {
		for _, rec := range records {
			if reader.Language(rec.carrier) == analysis.Off {
				continue
			}
			for _, text := range rec.texts {
				if read++; ctx.Err() != nil || !yield(rec.carrier, text) {
					return
				}
			}
		}
	}, limit)
	return found, read, ctx.Err()
}

// written is what somebody wrote in one feedback.
type written struct {
	carrier int64
	texts   []string
}

func (s *Store) latestTexts(ctx context.Context, v account.View, q fql.Query) ([]written, error) {
	f, err := s.resolve(ctx, v, q)
	if err != nil {
		return nil, err
	}
	var args pg.Args
	where, err := f.matching(&args)
	if err != nil {
		return nil, err
	}
	// The page is taken from the narrow table first, as in a list. The length of a text is known without reading it.
	rows, err := s.reads.Query(ctx, `
		SELECT carrier_id, items
		FROM (
			SELECT f.id, f.carrier_id, c.items, sum(octet_length(c.search_text)) OVER (ORDER BY f.id DESC) - octet_length(c.search_text) AS before
			FROM (
				SELECT f.organization_id, f.id, f.carrier_id FROM feedback f
				WHERE `+where+`
				ORDER BY f.id DESC
				LIMIT `+args.Bind(searchedTexts)+`
			) AS f
			JOIN feedback_content c ON c.organization_id = f.organization_id AND c.feedback_id = f.id
			WHERE c.search_text IS NOT NULL
			ORDER BY f.id DESC
			LIMIT `+args.Bind(suggestFrom)+`
		) AS f
		WHERE before < `+args.Bind(suggestBytes)+`
		ORDER BY id DESC`, args...)
	if err != nil {
		return nil, tooBroad(err, "read texts")
	}
	records, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (written, error) {
		var rec written
		var raw []byte
		if err := row.Scan(&rec.carrier, &raw); err != nil {
			return rec, err
		}
		items, err := decodeItems(raw)
		rec.texts = writtenTexts(items)
		return rec, err
	})
	if err != nil {
		return nil, tooBroad(err, "read texts")
	}
	return records, nil
}
