package tally

import "strconv"

// RowsSQL is what is folded and what is not yet as rows to be summed: key, nps, n and the other sums. One statement over them sees an
// exact count in any snapshot. org is a placeholder; key and where render for the rows of a set of columns and of an alias, which they are asked
// for twice. Conditions on days must begin and end with months where the grain has months.
func RowsSQL(g Grain, org string, key func(ColumnNames) string, where func(alias string) (string, error)) (string, error) {
	rollup, err := where("r")
	if err != nil {
		return "", err
	}
	delta, err := where("d")
	if err != nil {
		return "", err
	}
	return `SELECT ` + key(Columns("r")) + ` AS key, r.nps, r.n, r.sat_n, r.sat_sum, r.completed_n, r.sentiment_n, r.sentiment_sum
		FROM feedback_rollup r
		WHERE r.organization_id = ` + org + ` AND r.grain = ` + strconv.Itoa(int(g)) + ` AND (` + rollup + `)
		UNION ALL
		SELECT ` + key(Columns("d")) + `, d.nps, d.n, d.sat_n, d.sat_sum, d.completed_n, d.sentiment_n, d.sentiment_sum
		FROM feedback_delta d
		WHERE d.organization_id = ` + org + ` AND d.xid >= ` + boundSQL(org) + ` AND (` + delta + `)`, nil
}

// FacetRowsSQL is RowsSQL for the counts kept by dictionary id, which is the key; ids is a placeholder for those wanted. They must not
// belong to an attribute whose values are no longer counted. where renders for columns that are a month or a day, and an NPS profile.
func FacetRowsSQL(org, ids string, where func(ColumnNames) (string, error)) (string, error) {
	rollup, err := where(ColumnNames{Day: "p.month", NPS: "p.nps"})
	if err != nil {
		return "", err
	}
	delta, err := where(ColumnNames{Day: "d.day", NPS: "d.nps"})
	if err != nil {
		return "", err
	}
	return `SELECT p.value_id AS key, p.nps, p.n, p.sat_n, p.sat_sum, 0 AS completed_n, 0 AS sentiment_n, 0 AS sentiment_sum
		FROM facet_rollup p
		WHERE p.organization_id = ` + org + ` AND p.value_id = ANY(` + ids + `::bigint[]) AND (` + rollup + `)
		UNION ALL
		SELECT u.id, d.nps, d.value_n, d.value_sat_n, d.value_sat_sum, 0, 0, 0
		FROM feedback_delta d
		CROSS JOIN LATERAL unnest(d.value_ids) AS u (id)
		WHERE d.organization_id = ` + org + ` AND d.xid >= ` + boundSQL(org) + `
		  AND u.id = ANY(` + ids + `::bigint[]) AND (` + delta + `)`, nil
}
