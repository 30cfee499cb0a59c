// Package pg is the way to PostgreSQL: the pool and its settings, the migrations and the checks at start-up,
// short-lived caches with their invalidation, and the few things callers need to know of an error.
// It knows no table of the product.
package pg

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Querier is what a statement needs: a pool, or a transaction that the caller has open.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Settings are the operator's choices for the pool. Zero values take pgx's defaults,
// except that a zero StatementTimeout means no limit.
type Settings struct {
	URL              string
	MaxConns         int32
	StatementTimeout time.Duration
	// CustomPlans has every execution planned for its own values. After five executions PostgreSQL may otherwise settle
	// on one plan for all, and a rare value is then looked for as if it were common. It is for filters, which anyone can make heavy:
	// they also get no parallel workers.
	CustomPlans bool
	// OnePlan has a statement planned once for all its executions. It is for statements that are best run one way whatever their values. PostgreSQL
	// would plan some of them every time, which takes longer than to run them: it knows that an array has one element, and expects ten of any.
	OnePlan bool
	Tracer  pgx.QueryTracer
}

// Open returns a pool for the database. It connects lazily: an unreachable server is noticed by the first statement
// (or by Check), a malformed URL at once.
func Open(ctx context.Context, s Settings) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(s.URL)
	if err != nil {
		// The parser's message masks the password but repeats the rest of the URL: say what, not which.
		return nil, fmt.Errorf("the database URL cannot be read; it looks like postgres://user:password@host:5432/name")
	}
	if s.MaxConns > 0 {
		cfg.MaxConns = s.MaxConns
	}
	cfg.ConnConfig.Tracer = s.Tracer
	params := cfg.ConnConfig.RuntimeParams
	params["application_name"] = "earshot"
	params["timezone"] = "UTC"
	// Our statements are short; compiling them costs more than running them.
	params["jit"] = "off"
	params["statement_timeout"] = fmt.Sprint(s.StatementTimeout.Milliseconds())
	if s.CustomPlans {
		params["plan_cache_mode"] = "force_custom_plan"
		// One reader gets one core: another organization's requests need the others.
		params["max_parallel_workers_per_gather"] = "0"
	}
	if s.OnePlan {
		params["plan_cache_mode"] = "force_generic_plan"
	}
	params["idle_in_transaction_session_timeout"] = "30000"
	return pgxpool.NewWithConfig(ctx, cfg)
}
