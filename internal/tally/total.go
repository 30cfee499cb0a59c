package tally

import "strconv"

// Grain is one of the sets of dimensions that rollups are kept for.
type Grain int

// The grains, as stored.
const (
	ByStatus Grain = iota + 1 // status and NPS
	AllTime                   // all dimensions but time
	ByDay                     // day and all dimensions but source
	ByMonth                   // month and all dimensions
	ByDate                    // day, status and NPS
)

// ColumnNames are the dimensions of one row source, by the names a condition uses.
type ColumnNames struct{ Day, Carrier, Source, Status, NPS string }

// Columns are the dimensions of rollup rows (alias r) or of deltas (alias d).
func Columns(alias string) ColumnNames {
	c := ColumnNames{
		Day: alias + ".day", Carrier: alias + ".carrier_id", Source: alias + ".source", Status: alias + ".status", NPS: alias + ".nps",
	}
	if alias == "r" {
		c.Day = "r.bucket"
	}
	return c
}

// TotalSQL sums what is folded and what is not yet, in one statement, so that any snapshot sees an exact total. org is a
// placeholder; where renders the condition for the rows of an alias, which it is asked for twice. A month's rollup has its
// first day as bucket, so conditions on days must begin and end with months there.
func TotalSQL(g Grain, org string, where func(alias string) (string, error)) (string, error) {
	rollup, err := where("r")
	if err != nil {
		return "", err
	}
	delta, err := where("d")
	if err != nil {
		return "", err
	}
	return `SELECT (coalesce((SELECT sum(r.n) FROM feedback_rollup r
			WHERE r.organization_id = ` + org + ` AND r.grain = ` + strconv.Itoa(int(g)) + ` AND (` + rollup + `)), 0)
		+ coalesce((SELECT sum(d.n) FROM feedback_delta d
			WHERE d.organization_id = ` + org + ` AND d.xid >= ` + boundSQL(org) + ` AND (` + delta + `)), 0))::bigint`, nil
}

// AboutSQL is about how many records the organization $1 has: what is folded.
const AboutSQL = `SELECT coalesce(sum(n), 0)::bigint FROM feedback_rollup WHERE organization_id = $1 AND grain = 1`

// boundSQL is the transaction before which everything is folded.
func boundSQL(org string) string {
	return `coalesce((SELECT bound FROM tally_fold WHERE organization_id = ` + org + `), '0'::xid8)`
}

// FacetSQL is the number of records with one value of an attribute, or with any: value is then the attribute's own id. While counts
// are kept for the attribute named they are summed; when not, the statement otherwise counts. All are placeholders but the last.
func FacetSQL(org, value, attribute, otherwise string) string {
	return `SELECT CASE WHEN (SELECT a.rolled_up FROM attribute a WHERE a.organization_id = ` + org + ` AND a.name = ` + attribute + `)
		THEN (coalesce((SELECT sum(p.n) FROM facet_rollup p WHERE p.organization_id = ` + org + ` AND p.value_id = ` + value + `), 0)
			+ coalesce((SELECT sum(d.value_n) FROM feedback_delta d
				WHERE d.organization_id = ` + org + ` AND d.xid >= ` + boundSQL(org) + ` AND d.value_ids @> ARRAY[` + value + `]), 0))::bigint
		ELSE (` + otherwise + `) END`
}
