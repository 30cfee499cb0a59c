package feedback

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// Explanation is how a filter is understood and answered.
type Explanation struct {
	Count         int64
	TotalFrom     string  // tallies, tallies_and_edges, value_count or count
	EstimatedCost float64 // of a first page, in the database's units
	EstimatedRows float64 // matches the database expects
}

// firstPage is the size of the page whose cost is estimated.
const firstPage = 10

// Explain counts the matches of a query and says how the total is obtained and what a page is expected to cost.
func (s *Store) Explain(ctx context.Context, v account.View, q fql.Query) (Explanation, error) {
	f, err := s.resolve(ctx, v, q)
	if err != nil {
		return Explanation{}, err
	}
	total, err := f.total()
	if err != nil {
		return Explanation{}, err
	}
	done, err := s.counts.take(ctx, v, total.way)
	if err != nil {
		return Explanation{}, err
	}
	defer done()
	e := Explanation{TotalFrom: total.way}
	var pagePlan, matchPlan []plan
	e.Count, err = s.totalThen(ctx, f, total, firstPage, func(b *pgx.Batch, few bool) error {
		var page, count pg.Args
		pageSQL, err := f.pageSQL(Page{Size: firstPage}, few, &page)
		if err != nil {
			return err
		}
		where, err := f.matching(&count)
		b.Queue(`EXPLAIN (FORMAT JSON) `+pageSQL, page...).QueryRow(func(row pgx.Row) error { return row.Scan(&pagePlan) })
		b.Queue(`EXPLAIN (FORMAT JSON) SELECT FROM feedback f WHERE `+where, count...).QueryRow(func(row pgx.Row) error { return row.Scan(&matchPlan) })
		return err
	})
	if err != nil {
		return Explanation{}, tooBroad(err, "explain filter")
	}
	if len(pagePlan) == 0 || len(matchPlan) == 0 {
		return Explanation{}, errors.New("explain filter: the database gave no plan")
	}
	e.EstimatedCost, e.EstimatedRows = pagePlan[0].Plan.Cost, matchPlan[0].Plan.Rows
	return e, nil
}

// plan is what is read of PostgreSQL's plan.
type plan struct {
	Plan struct {
		Cost float64 `json:"Total Cost"`
		Rows float64 `json:"Plan Rows"`
	} `json:"Plan"`
}
