package feedback

import (
	"context"
	"strings"

	"earshot/internal/account"
	"earshot/internal/pg"
)

// MoveSilently is Apply of a status without the history of it, to measure what that costs.
func (s *Store) MoveSilently(ctx context.Context, q pg.Querier, v account.View, to Status, ids []int64) (Applied, error) {
	before, rest, _ := strings.Cut(statusSQL, ", history AS (")
	_, after, _ := strings.Cut(rest, ", delta AS (")
	var done Applied
	err := q.QueryRow(ctx, before+", history AS (SELECT $3::bigint, $4::bigint, $5::bigint), delta AS ("+after, v.Org(), ids, nil, nil, nil, to).
		Scan(&done.Found, &done.Changed)
	return done, err
}
