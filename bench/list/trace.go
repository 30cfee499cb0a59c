package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// sent is a statement as it went to the database.
type sent struct {
	sql  string
	args []any
}

// trace notes the statements of the calls made while it hangs on a pool.
type trace struct{ statements []sent }

// TraceQueryStart notes a single statement.
func (t *trace) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	t.statements = append(t.statements, sent{d.SQL, d.Args})
	return ctx
}

// TraceQueryEnd has nothing to note.
func (t *trace) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart notes every statement of a batch.
func (t *trace) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		t.statements = append(t.statements, sent{q.SQL, q.Arguments})
	}
	return ctx
}

// TraceBatchQuery has nothing to note.
func (t *trace) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd has nothing to note.
func (t *trace) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// snapshot returns the statements of a list that read: the page, which is the last in the one transaction that a list opens, and those of the
// total before it. What they set is left out.
func (t *trace) snapshot() (page sent, total []sent, err error) {
	from := slices.IndexFunc(t.statements, func(s sent) bool { return strings.HasPrefix(s.sql, "BEGIN") })
	to := slices.IndexFunc(t.statements, func(s sent) bool { return s.sql == "COMMIT" })
	if from < 0 || to < from+3 {
		return page, nil, errors.New("a list is no longer a transaction of a total and a page")
	}
	total = slices.DeleteFunc(slices.Clone(t.statements[from+1:to-1]), func(s sent) bool { return strings.HasPrefix(s.sql, "SET") })
	return t.statements[to-1], total, nil
}

// cost is what reading took: pages of PostgreSQL's, found in its memory or not.
type cost struct{ Page, Total int64 }

func (c cost) sum() int64 { return c.Page + c.Total }

// explain runs the statements once more and returns the pages they touch; their plans too, when wanted.
func explain(ctx context.Context, reads *pgxpool.Pool, page sent, total []sent, plans bool) (c cost, text string, err error) {
	if c.Page, err = buffers(ctx, reads, page); err != nil {
		return c, "", fmt.Errorf("explain the page: %w", err)
	}
	for _, s := range total {
		read, err := buffers(ctx, reads, s)
		if err != nil {
			return c, "", fmt.Errorf("explain the total: %w", err)
		}
		c.Total += read
	}
	if !plans {
		return c, "", nil
	}
	for _, s := range append([]sent{page}, total...) {
		rows, err := reads.Query(ctx, `EXPLAIN (ANALYZE, BUFFERS) `+s.sql, s.args...)
		if err != nil {
			return c, "", err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return c, "", err
		}
		text += s.sql + "\n\n" + strings.Join(lines, "\n") + "\n\n"
	}
	return c, text, nil
}

func buffers(ctx context.Context, reads *pgxpool.Pool, s sent) (int64, error) {
	var raw []byte
	if err := reads.QueryRow(ctx, `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) `+s.sql, s.args...).Scan(&raw); err != nil {
		return 0, err
	}
	var explained []struct {
		Plan struct {
			Hit  int64 `json:"Shared Hit Blocks"`
			Read int64 `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(raw, &explained); err != nil {
		return 0, err
	}
	return explained[0].Plan.Hit + explained[0].Plan.Read, nil
}
