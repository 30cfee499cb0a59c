package tally

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
)

// Rebuild counts the organization's records anew and puts the result in place of its rollups and deltas, while others write.
// Until it is done, readers see what was there before and no organization is folded further than to its beginning. Attributes that
// are no longer rolled up stay so.
//
// Why it is exact: one statement, hence one snapshot, counts the records and deletes the deltas. A writer commits a record's
// change together with its delta, so the snapshot has both or neither. Where both, the count includes the change and the delta's row is
// deleted, whatever its xid. Where neither, the writer is still running, or begins later: its xid is not below the
// snapshot's xmin, which becomes the bound, so its delta will be read, and folded, on top of the count. Nobody else deletes deltas or
// writes rollups meanwhile: that takes the lock on the organization's row of tally_fold.
func (s *Store) Rebuild(ctx context.Context, v account.View) error {
	if err := whole(v); err != nil {
		return err
	}
	err := pgx.BeginTxFunc(ctx, s.db, afresh, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		b.Queue(`SELECT set_config('statement_timeout', '0', true), set_config('work_mem', '64MB', true)`)
		b.Queue(`
			INSERT INTO tally_fold (organization_id, bound)
			SELECT id, '0' FROM organization WHERE id = $1
			ON CONFLICT (organization_id) DO NOTHING`, v.Org())
		b.Queue(`SELECT FROM tally_fold WHERE organization_id = $1 FOR UPDATE`, v.Org())
		var attributes []int64
		b.Queue(`SELECT id FROM attribute WHERE organization_id = $1 AND rolled_up`, v.Org()).
			Query(func(rows pgx.Rows) (err error) {
				attributes, err = pgx.CollectRows(rows, pgx.RowTo[int64])
				return err
			})
		b.Queue(`DELETE FROM feedback_rollup WHERE organization_id = $1`, v.Org())
		b.Queue(`DELETE FROM facet_rollup WHERE organization_id = $1`, v.Org())
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		if err := unroll(ctx, tx, v.Org(), attributes); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, rebuildSQL, v.Org())
		return err
	})
	if err != nil {
		return fmt.Errorf("rebuild tallies: %w", err)
	}
	return nil
}

var rebuildSQL = `
WITH deleted AS (
    DELETE FROM feedback_delta WHERE organization_id = $1
), counted AS (
    INSERT INTO feedback_rollup (organization_id, grain, bucket, carrier_id, source, status, nps,
                                 n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum)
    SELECT $1, c.* FROM (` + grains(records) + `) AS c
), facetted AS (
    INSERT INTO facet_rollup (organization_id, value_id, month, nps, n, sat_n, sat_sum)
    SELECT $1, value_id, month, nps, n, sat_n, sat_sum FROM (` + facets(records) + `) AS c
)
UPDATE tally_fold SET bound = pg_snapshot_xmin(pg_current_snapshot()), folded_at = now()
WHERE organization_id = $1`
