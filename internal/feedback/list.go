package feedback

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// Page is which part of a list is asked for. Ids grow with arrival; descending starts with the newest.
type Page struct {
	Ascending bool
	After     *int64 // continue strictly past this id, which need not exist
	Size      int
	Parts     Parts

	horizon int64 // where an ascending page ends
}

// List returns one page of the records that match, and how many match in all: exact, and seen in the same snapshot as the page. A
// filter that takes too long is fault.QueryTooBroad.
//
// Rows commit out of order. So that a client walking upwards misses none, an ascending page ends at the horizon: ids above it may
// still be joined by smaller ones. The total counts them already.
func (s *Store) List(ctx context.Context, v account.View, q fql.Query, p Page) ([]Record, int64, error) {
	f, err := s.resolve(ctx, v, q)
	if err != nil {
		return nil, 0, err
	}
	if p.Ascending {
		if p.horizon, err = s.horizon(ctx, v); err != nil {
			return nil, 0, err
		}
	}
	total, err := f.total()
	if err != nil {
		return nil, 0, err
	}
	done, err := s.counts.take(ctx, v, total.way)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	var page []Record
	n, err := s.totalThen(ctx, f, total, p.Size, func(b *pgx.Batch, few bool) error {
		var args pg.Args
		sql, err := f.pageSQL(p, few, &args)
		b.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
			page, err = pgx.CollectRows(rows, scanRecord)
			return err
		})
		return err
	})
	if err != nil {
		return nil, 0, tooBroad(err, "list feedback")
	}
	if err := s.addParts(ctx, v, page, p.Parts); err != nil {
		return nil, 0, fmt.Errorf("list feedback: %w", err)
	}
	return page, n, nil
}

// horizon is the largest id below which nothing of the organization is still to be committed. Writers lock the last id handed out
// before they take theirs (feedback_take_ids). The sequence is read before the locks: a writer who comes between takes ids above it.
func (s *Store) horizon(ctx context.Context, v account.View) (int64, error) {
	var last int64
	var locked []int64
	b := &pgx.Batch{}
	b.Queue(`SELECT last_value FROM feedback_id`).QueryRow(func(row pgx.Row) error { return row.Scan(&last) })
	b.Queue(`
		SELECT objid::bigint
		FROM pg_locks
		WHERE locktype = 'advisory' AND objsubid = 2 AND classid::bigint = $1
		  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, v.Org()).
		Query(func(rows pgx.Rows) (err error) {
			locked, err = pgx.CollectRows(rows, pgx.RowTo[int64])
			return err
		})
	if err := s.reads.SendBatch(ctx, b).Close(); err != nil {
		return 0, fmt.Errorf("read horizon: %w", err)
	}
	horizon := last
	for _, low := range locked {
		// The lock holds the low 31 bits of an id; the id itself is not far back. A writer who locked after the sequence was
		// read may hold a later one, whose difference then wraps to almost all bits.
		if back := (last - low) & math.MaxInt32; back < 1<<30 {
			horizon = min(horizon, last-back)
		}
	}
	return horizon, nil
}

// HorizonLag is how many ids were handed out above the lowest one that is not committed, over all organizations: it names none because
// it is about the sequence they share. It grows while a transaction that creates feedback hangs.
func (s *Store) HorizonLag(ctx context.Context) (int64, error) {
	var lag int64
	err := s.reads.QueryRow(ctx, `
		SELECT coalesce(max((s.last_value - l.objid::bigint) & 2147483647), 0)
		FROM feedback_id s, pg_locks l
		WHERE l.locktype = 'advisory' AND l.objsubid = 2
		  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&lag)
	if err != nil {
		return 0, fmt.Errorf("read horizon: %w", err)
	}
	return lag, nil
}
