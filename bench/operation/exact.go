package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"earshot/bench/rig"
)

// exactness is what the history says of an operation.
type exactness struct {
	what                      string
	selected, once            int64
	twice, missed, outside    int64
	createdMeanwhile, touched int64
	verified                  bool
}

// exactSQL counts what the operation $1 did to each feedback it selected, and to others. $2 is the last id there was before.
const exactSQL = `
WITH selected AS (
    SELECT unnest(ids) AS id FROM operation_chunk WHERE operation_id = $1
), done AS (
    SELECT feedback_id AS id, count(*) AS n FROM feedback_history WHERE operation_id = $1 GROUP BY feedback_id
), compared AS (
    SELECT s.id IS NOT NULL AS selected, coalesce(d.n, 0) AS n FROM selected s FULL JOIN done d USING (id)
)
SELECT count(*) FILTER (WHERE selected), count(*) FILTER (WHERE selected AND n = 1), count(*) FILTER (WHERE n > 1),
       count(*) FILTER (WHERE n = 0), count(*) FILTER (WHERE NOT selected),
       (SELECT count(*) FROM feedback f
        WHERE f.id > $2 AND (f.status <> 1 OR cardinality(f.attribute_value_ids) <> 4
                             OR EXISTS (SELECT FROM feedback_history h WHERE h.organization_id = f.organization_id AND h.feedback_id = f.id)))
FROM compared`

// exact looks what became of an operation while the service rests, and has the tallies verified.
func (b *bench) exact(ctx context.Context, what string, id, created int64) (exactness, error) {
	e := exactness{what: what, createdMeanwhile: created}
	conn, err := pgx.Connect(ctx, b.server.URL(work))
	if err != nil {
		return e, err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left open on it
	err = conn.QueryRow(ctx, exactSQL, id, b.size*6/5).Scan(&e.selected, &e.once, &e.twice, &e.missed, &e.outside, &e.touched)
	if err != nil {
		return e, err
	}
	if _, err := b.command(ctx, "verify", "--org", name); err != nil {
		rig.Progress("%v", err)
		return e, nil
	}
	e.verified = true
	return e, nil
}

func exactTable(all []exactness) rig.Table {
	t := rig.Table{Title: "Each selected feedback changed exactly once, as its history tells", Rows: [][]string{{
		"operation", "selected", "changed once", "more than once", "not at all", "others changed", "created meanwhile, matching", "of those touched", "tallies",
	}}}
	for _, e := range all {
		verdict := "exact"
		if !e.verified {
			verdict = "DRIFTED"
		}
		t.Rows = append(t.Rows, []string{
			e.what, rig.Thousands(e.selected), rig.Thousands(e.once), fmt.Sprint(e.twice), fmt.Sprint(e.missed), fmt.Sprint(e.outside),
			rig.Thousands(e.createdMeanwhile), fmt.Sprint(e.touched), verdict,
		})
	}
	return t
}

// right says whether nothing is amiss.
func (e exactness) right() bool {
	return e.once == e.selected && e.twice == 0 && e.missed == 0 && e.outside == 0 && e.touched == 0 && e.verified
}
