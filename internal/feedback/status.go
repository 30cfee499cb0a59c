package feedback

import (
	"context"
	"fmt"

	"earshot/internal/account"
)

// SetStatus moves a record to a status, and the tallies with it; the status it has already changes nothing.
// The record comes back with attributes and items. One outside the view is fault.NotFound.
func (s *Store) SetStatus(ctx context.Context, v account.View, id int64, to Status) (Record, error) {
	// The old status is read under the row's lock, so that two changes at once leave the tallies exact.
	_, err := s.db.Exec(ctx, `
		WITH old AS MATERIALIZED (
			SELECT organization_id, id, carrier_id, day, source, status, coalesce(nps_profile, 0) AS nps,
			       (satisfaction IS NOT NULL)::int AS sat_n, coalesce(satisfaction, 0) AS sat_sum,
			       (completed_at IS NOT NULL)::int AS completed_n,
			       (sentiment IS NOT NULL)::int AS sentiment_n, coalesce(sentiment, 0) AS sentiment_sum
			FROM feedback
			WHERE organization_id = $1 AND id = $2
			FOR UPDATE
		), changed AS (
			UPDATE feedback f SET status = $3
			FROM old
			WHERE f.organization_id = $1 AND f.id = old.id AND old.status <> $3
			RETURNING f.id
		)
		INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
		                            sentiment_n, sentiment_sum)
		SELECT $1, carrier_id, day, source, s.status, nps, s.n, s.n * sat_n, s.n * sat_sum, s.n * completed_n,
		       s.n * sentiment_n, s.n * sentiment_sum
		FROM changed
		JOIN old USING (id)
		CROSS JOIN LATERAL (VALUES (old.status, -1), ($3::smallint, 1)) AS s (status, n)`, v.Org(), id, to)
	if err != nil {
		return Record{}, fmt.Errorf("set status: %w", err)
	}
	return s.ByID(ctx, v, id, Parts{Attributes: true, Items: true})
}
