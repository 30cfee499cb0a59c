package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/bench/rig"
)

// plain is a change as one would write it by hand for all records at once: a statement for each table, in one transaction. The last one is the
// change itself. Both know what the dictionary holds and who else writes: nobody.
type plain struct {
	bulk
	statements []string
}

var plains = []plain{
	{moving, []string{`
INSERT INTO feedback_history (organization_id, feedback_id, token_id, operation_id, field, before, after)
SELECT f.organization_id, f.id, 1, 1, 1, ARRAY[f.status], '{5}'
FROM bench_selected s
JOIN feedback f ON f.organization_id = $1 AND f.id = s.id
WHERE f.status <> 5`, `
INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum)
SELECT $1, f.carrier_id, f.day, f.source, CASE m.n WHEN 1 THEN 5 ELSE f.status END AS moved, coalesce(f.nps_profile, 0), sum(m.n),
       sum(m.n * (f.satisfaction IS NOT NULL)::int), sum(m.n * coalesce(f.satisfaction, 0)), sum(m.n * (f.completed_at IS NOT NULL)::int), 0, 0
FROM bench_selected s
JOIN feedback f ON f.organization_id = $1 AND f.id = s.id
CROSS JOIN (VALUES (-1), (1)) AS m (n)
WHERE f.status <> 5
GROUP BY f.carrier_id, f.day, f.source, moved, f.nps_profile`, `
UPDATE feedback f SET status = 5
FROM bench_selected s
WHERE f.organization_id = $1 AND f.id = s.id AND f.status <> 5`}},
	{attaching, []string{`
INSERT INTO feedback_history (organization_id, feedback_id, token_id, operation_id, field, attribute_id, before, after, places)
SELECT $1, s.id, 1, 1, 3, v.attribute_id, '{}', ARRAY[v.id], '{}'
FROM bench_selected s, bench_value v`, `
INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum,
                            value_ids, value_n, value_sat_n, value_sat_sum)
SELECT $1, 0, f.day, 0, 0, coalesce(f.nps_profile, 0), 0, 0, 0, 0, 0, 0, ARRAY[v.attribute_id, v.id], count(*),
       count(f.satisfaction), coalesce(sum(f.satisfaction), 0)
FROM bench_selected s
JOIN feedback f ON f.organization_id = $1 AND f.id = s.id
CROSS JOIN bench_value v
GROUP BY f.day, f.nps_profile, v.attribute_id, v.id`, `
UPDATE feedback f SET attribute_value_ids = attribute_value_ids || ARRAY[v.attribute_id, v.id]
FROM bench_selected s, bench_value v
WHERE f.organization_id = $1 AND f.id = s.id`}},
}

// selectedSQL puts aside what an operation would have selected before it began, and what it would attach.
const selectedSQL = `
CREATE TABLE bench_selected AS
SELECT f.id FROM feedback f
JOIN attribute a ON a.organization_id = f.organization_id AND a.name = 'region'
JOIN attribute_value v ON v.organization_id = f.organization_id AND v.attribute_id = a.id AND v.text = 'EMEA'
WHERE v.id = ANY (f.attribute_value_ids)
ORDER BY f.id;
WITH named AS (
    INSERT INTO attribute (organization_id, name, label) SELECT id, 'campaign', 'campaign' FROM organization RETURNING *
), added AS (
    INSERT INTO attribute_value (organization_id, attribute_id, text, text_sha256, is_number)
    SELECT organization_id, id, 'spring', sha256('spring'), false FROM named RETURNING *
)
SELECT attribute_id, id INTO bench_value FROM added;
ANALYZE bench_selected`

// The ways of making a change.
const (
	byOperation = "operation"
	byHand      = "plain SQL in one transaction"
	bare        = "the bare UPDATE of it"
)

var ways = []string{byOperation, byHand, bare}

// timing is what a change took, and what PostgreSQL did meanwhile in processor time. For an operation that includes most of the folding; plain
// SQL is folded when it is done.
type timing struct{ took, processor time.Duration }

// paced is what one change took in each way, in each round.
type paced struct {
	name string
	took map[string][]timing
}

// rate is that of the fastest round, in records a second: whatever else goes on makes a round only slower.
func (p paced) rate(way string, size int) float64 {
	fastest := slices.MinFunc(p.took[way], func(a, b timing) int { return int(a.took - b.took) })
	return float64(size) / fastest.took.Seconds()
}

// cost is the processor time of the cheapest round, for one record.
func (p paced) cost(way string, size int) time.Duration {
	cheapest := slices.MinFunc(p.took[way], func(a, b timing) int { return int(a.processor - b.processor) })
	return cheapest.processor / time.Duration(size)
}

// pace makes each change in each way in turn, every time on a fresh copy of the data, with the same processes beside it.
func (b *bench) pace(ctx context.Context) error {
	for _, p := range plains {
		found := paced{p.name, map[string][]timing{}}
		for range b.rounds {
			for _, way := range ways {
				took, err := b.timed(ctx, p, way)
				if err != nil {
					return fmt.Errorf("%s by %s: %w", p.name, way, err)
				}
				rig.Progress("%s by %s: %s", p.name, way, took.took.Round(time.Millisecond))
				found.took[way] = append(found.took[way], took)
			}
		}
		b.report.Pace = append(b.report.Pace, found)
	}
	return nil
}

// timed makes a change and returns what it took: an operation from the answer of its call, plain SQL from the first statement, both to the
// commit. What was selected is known before in both.
func (b *bench) timed(ctx context.Context, p plain, way string) (t timing, err error) {
	s, err := b.open(ctx)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	conn, err := pgx.Connect(ctx, b.server.URL(work))
	if err != nil {
		return t, err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left open on it
	change := func() (changed int64, err error) { return b.byHand(ctx, conn, p, way, &t.took) }
	if way == byOperation {
		st, err := s.start(ctx, p.method, p.path, p.change)
		if err != nil {
			return t, err
		}
		change = func() (changed int64, err error) {
			o, err := s.until(ctx, st.id, ended)
			if err == nil {
				t.took = o.FinishedAt.Sub(st.answered)
			}
			return o.Changed, err
		}
	} else if err := b.execute(ctx, work, selectedSQL, `CHECKPOINT`); err != nil {
		return t, err
	}
	before, err := b.server.Processor()
	if err != nil {
		return t, err
	}
	changed, err := change()
	if err != nil {
		return t, err
	}
	after, err := b.server.Processor()
	t.processor = after - before
	return t, errors.Join(err, b.changedAll(ctx, conn, changed))
}

// byHand makes a change in plain SQL.
func (b *bench) byHand(ctx context.Context, conn *pgx.Conn, p plain, way string, took *time.Duration) (changed int64, err error) {
	var org int64
	if err := conn.QueryRow(ctx, `SELECT id FROM organization`).Scan(&org); err != nil {
		return 0, err
	}
	statements := p.statements
	if way == bare {
		statements = statements[len(statements)-1:]
	}
	began := time.Now()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL work_mem = '256MB'`); err != nil {
			return err
		}
		for _, sql := range statements {
			tag, err := tx.Exec(ctx, sql, org)
			if err != nil {
				return err
			}
			changed = tag.RowsAffected()
		}
		return nil
	})
	*took = time.Since(began)
	return changed, err
}

// changedAll makes sure that what was timed is what should have been done.
func (b *bench) changedAll(ctx context.Context, conn *pgx.Conn, changed int64) error {
	var found int64
	err := conn.QueryRow(ctx, `
		SELECT count(*) FROM feedback f
		WHERE status = 5 OR attribute_value_ids[9] = (SELECT id FROM attribute WHERE name = 'campaign')`).Scan(&found)
	if err == nil && (found != int64(b.size) || changed != found) {
		err = fmt.Errorf("%d changed, %d found changed", changed, found)
	}
	return err
}

func (r *report) paceTable() rig.Table {
	t := rig.Table{Title: "Pace, nothing else going on", Rows: [][]string{{
		"change", "way", "records a second", "of plain SQL", "processor time a record", "of plain SQL", "rounds",
	}}}
	size := r.Options.size
	for _, p := range r.Pace {
		for _, way := range ways {
			var rounds []string
			for _, one := range p.took[way] {
				rounds = append(rounds, fmt.Sprintf("%.1f s", one.took.Seconds()))
			}
			t.Rows = append(t.Rows, []string{
				p.name, way, rig.Thousands(int64(p.rate(way, size))), fmt.Sprintf("%.2f", p.rate(way, size)/p.rate(byHand, size)),
				p.cost(way, size).String(), fmt.Sprintf("%.2f", float64(p.cost(way, size))/float64(p.cost(byHand, size))), strings.Join(rounds, ", "),
			})
		}
	}
	return t
}
