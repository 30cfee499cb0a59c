package tally

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Refold makes bounds and deltas fit the server they are on. In a database restored into another cluster they carry that cluster's
// transaction ids: a bound that lies ahead would hide every delta written from now on, and a delta that lies ahead would not be folded.
// It must be called before the first write; where nothing lies ahead it only reads.
func (s *Store) Refold(ctx context.Context) error {
	err := pgx.BeginTxFunc(ctx, s.db, afresh, func(tx pgx.Tx) error {
		// About all organizations: a cluster is everyone's. No transaction at or above xmax has ended, so a row we see that
		// carries such an id is not from here; and a bound of ours is not above the transaction that set it.
		rows, err := tx.Query(ctx, `
			SELECT organization_id FROM tally_fold
			WHERE bound >= pg_snapshot_xmax(pg_current_snapshot())
			UNION
			SELECT o.id
			FROM organization o
			CROSS JOIN LATERAL (
				SELECT FROM feedback_delta d
				WHERE d.organization_id = o.id AND d.xid >= pg_snapshot_xmax(pg_current_snapshot())
				LIMIT 1
			) AS ahead
			ORDER BY 1`)
		if err != nil {
			return err
		}
		orgs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil || len(orgs) == 0 {
			return err
		}
		// The row is locked before deltas are touched, as by a fold, and in one order by processes that start together.
		b := &pgx.Batch{}
		b.Queue(`
			INSERT INTO tally_fold (organization_id, bound)
			SELECT o.id, '0' FROM unnest($1::bigint[]) AS o (id) ORDER BY o.id
			ON CONFLICT (organization_id) DO UPDATE SET bound = excluded.bound, folded_at = NULL`, orgs)
		b.Queue(`
			UPDATE feedback_delta SET xid = pg_current_xact_id()
			WHERE organization_id = ANY($1) AND xid >= pg_snapshot_xmax(pg_current_snapshot())`, orgs)
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return fmt.Errorf("refold: %w", err)
	}
	return nil
}
