package corpus

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/tally"
)

// The tallies are counted here and not by tally.Rebuild, which takes the feedback of any organization, and minutes for those of the large
// one: we know which of their ids are counted and that few lists of ids repeat. That the result is the same is verified where it
// is cheap. Rows are inserted in the order in which the fold meets them as time goes by.
const (
	tallyMonths = `
INSERT INTO feedback_rollup
SELECT organization_id, 4, date_trunc('month', day::timestamp)::date, carrier_id, source, status, coalesce(nps_profile, 0),
       count(*), count(satisfaction), coalesce(sum(satisfaction), 0), count(completed_at),
       count(sentiment), coalesce(sum(sentiment), 0)
FROM feedback
GROUP BY 1, 3, 4, 5, 6, 7
ORDER BY 1, 2, 3, 4, 5, 6, 7;
INSERT INTO feedback_rollup
SELECT organization_id, 2, '-infinity'::date, carrier_id, source, status, nps, sum(n), sum(sat_n), sum(sat_sum), sum(completed_n),
       sum(sentiment_n), sum(sentiment_sum)
FROM feedback_rollup
WHERE grain = 4
GROUP BY 1, 4, 5, 6, 7
ORDER BY 1, 2, 3, 4, 5, 6, 7;
INSERT INTO feedback_rollup
SELECT organization_id, 1, '-infinity'::date, 0, 0, status, nps, sum(n), sum(sat_n), sum(sat_sum), sum(completed_n),
       sum(sentiment_n), sum(sentiment_sum)
FROM feedback_rollup
WHERE grain = 2
GROUP BY 1, 6, 7
ORDER BY 1, 2, 3, 4, 5, 6, 7`

	tallyDays = `
INSERT INTO feedback_rollup
SELECT organization_id, 3, day, carrier_id, 0, status, coalesce(nps_profile, 0),
       count(*), count(satisfaction), coalesce(sum(satisfaction), 0), count(completed_at),
       count(sentiment), coalesce(sum(sentiment), 0)
FROM feedback
GROUP BY 1, 3, 4, 6, 7
ORDER BY 1, 2, 3, 4, 5, 6, 7`

	// Slices of a list that repeat are counted before they are taken apart. The first attribute is not counted by value.
	tallyFacets = `
INSERT INTO facet_rollup
SELECT organization_id, value_id, month, nps, sum(n), sum(sat_n), sum(sat_sum)
FROM (
    SELECT organization_id, %s AS ids, date_trunc('month', day::timestamp)::date AS month, coalesce(nps_profile, 0) AS nps,
           count(*) AS n, count(satisfaction) AS sat_n, coalesce(sum(satisfaction), 0) AS sat_sum
    FROM feedback
    GROUP BY 1, 2, 3, 4
) AS c
CROSS JOIN unnest(ids) AS value_id
GROUP BY 1, 2, 3, 4
ORDER BY 1, 2, 3, 4`

	tallyBounds = `
INSERT INTO tally_fold (organization_id, bound, folded_at)
SELECT id, pg_snapshot_xmin(pg_current_snapshot()), now() FROM organization`
)

// tallies are the jobs that count.
func tallies(db *pgxpool.Pool) []job {
	return []job{
		loading("tallies by month", db, tallyMonths),
		loading("tallies by day", db, tallyDays),
		loading("tallies by answer", db, fmt.Sprintf(tallyFacets, "answer_ids")),
		loading("tallies by topic", db, fmt.Sprintf(tallyFacets, "topic_ids")),
		loading("tallies by attribute value", db, fmt.Sprintf(tallyFacets, "attribute_value_ids[3:6]")),
		loading("bounds of tallies", db, tallyBounds),
	}
}

// verify has the product recount the organizations in which that takes no time.
func verify(ctx context.Context, db *pgxpool.Pool, orgs []account.View, sizes []sized) error {
	for i, v := range orgs {
		if sizes[i].size > Small {
			continue
		}
		drifts, err := tally.NewStore(db).Verify(ctx, v)
		if err != nil {
			return err
		}
		if len(drifts) > 0 {
			return fmt.Errorf("the tallies of %s are not what its feedback are: %+v", sizes[i].name, drifts[0])
		}
	}
	return nil
}
