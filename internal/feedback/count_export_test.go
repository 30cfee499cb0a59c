package feedback

import (
	"context"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fql"
)

// TotalAndCount returns the total as List obtains it and a plain count, both seen in one snapshot, and the way the total took.
func (s *Store) TotalAndCount(ctx context.Context, v account.View, q fql.Query) (got, want int64, way string, err error) {
	f, err := s.resolve(ctx, v, q)
	if err != nil {
		return 0, 0, "", err
	}
	t, err := f.total()
	if err != nil {
		return 0, 0, "", err
	}
	c, err := f.count()
	if err != nil {
		return 0, 0, "", err
	}
	b := &pgx.Batch{}
	b.Queue(t.sql, t.args...).QueryRow(func(row pgx.Row) error { return row.Scan(&got) })
	b.Queue(c.sql, c.args...).QueryRow(func(row pgx.Row) error { return row.Scan(&want) })
	return got, want, t.way, s.snapshot(ctx, b)
}
