package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/bench/corpus"
	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/feedback"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// query is one filter. Its text may differ between organizations: carriers have ids.
type query struct {
	name  string
	text  func(o *organization) string
	limit time.Duration // that no answer may take longer than
	beside
}

// beside says that a query is also asked of the tiny organization, beside the large one and alone.
type beside bool

// queries are asked for by people who look at a list: everything, by what is tallied, by what must be counted.
var queries = []query{
	{"no filter", always(``), slow, false},
	{"status", always(`[{"Status":{"$eq":"progress"}}]`), slow, false},
	{"status, source and carrier", func(o *organization) string {
		return fmt.Sprintf(`[{"Status":{"$eq":"progress"}},{"Source":{"$eq":"linkedin"}},{"Form":{"$eq":%d}}]`, o.carrier)
	}, slow, false},
	{"30 days", always(`[{"TimePeriod":{"$eq":"date_last_30_days"}}]`), slow, false},
	{"satisfaction range", always(`[{"Satisfaction":{"$btw":[30,45]}}]`), 300 * time.Millisecond, false},
	{"attribute 0.01 %", attribute(corpus.Plan, corpus.Plans[0]), slow, false},
	{"attribute 1 %", attribute(corpus.Plan, corpus.Plans[1]), slow, true},
	{"attribute 30 %", attribute(corpus.Plan, corpus.Plans[2]), slow, true},
	{"two attributes and status", always(`[{"Attribute":{"name":"plan","$eq":"plus"}},{"Attribute":{"name":"city","$eq":"City 004"}},{"Status":{"$eq":"todo"}}]`), slow, true},
	{"text, rare word", always(`[{"Text":{"$like":"` + corpus.RareWord + `"}}]`), slow, true},
	{"text, common word", always(`[{"Text":{"$like":"` + corpus.CommonWord + `"}}]`), 6 * time.Second, true},
}

const slow = 1500 * time.Millisecond

func always(text string) func(*organization) string {
	return func(*organization) string { return text }
}

func attribute(name, value string) func(*organization) string {
	return always(fmt.Sprintf(`[{"Attribute":{"name":%q,"$eq":%q}}]`, name, value))
}

// organization is one to measure: the product's own store on connections as serve opens them, and a second one whose statements are
// noted.
type organization struct {
	view    account.View
	carrier int64 // one that is neither the busiest nor the quietest
	store   *feedback.Store
	traced  *feedback.Store
	trace   *trace
	reads   *pgxpool.Pool
}

// openOrganization finds an organization in a database. close must be called when it is no longer measured.
func openOrganization(ctx context.Context, url, name string) (o *organization, closeAll func(), err error) {
	o = &organization{trace: &trace{}}
	var pools []*pgxpool.Pool
	closeAll = func() {
		for _, p := range pools {
			p.Close()
		}
	}
	for _, s := range []pg.Settings{{}, {CustomPlans: true}, {Tracer: o.trace}, {CustomPlans: true, Tracer: o.trace}} {
		s.URL, s.MaxConns, s.StatementTimeout = url, 1, time.Minute
		pool, err := pg.Open(ctx, s)
		if err != nil {
			return nil, closeAll, err
		}
		pools = append(pools, pool)
	}
	o.store = feedback.NewStore(pools[0], pools[1], carrier.NewStore(pools[0]), analysis.NewStore(pools[0]))
	o.traced = feedback.NewStore(pools[2], pools[3], carrier.NewStore(pools[2]), analysis.NewStore(pools[2]))
	o.reads = pools[1]
	org, err := account.NewStore(pools[0]).OrganizationByName(ctx, name)
	if err != nil {
		return nil, closeAll, err
	}
	o.view = account.Whole(org.ID)
	list, _, err := carrier.NewStore(pools[0]).List(ctx, o.view, corpus.Carriers/2, 1)
	if err != nil {
		return nil, closeAll, err
	}
	o.carrier = list[0].ID
	return o, closeAll, nil
}

// list is the request measured: a page of ten with the exact total, without further parts.
func (o *organization) list(ctx context.Context, store *feedback.Store, q fql.Query, after *int64) (int64, error) {
	_, total, err := store.List(ctx, o.view, q, feedback.Page{Size: 10, After: after})
	return total, err
}

// deepest is where the last page begins: past the eleventh match from the end. nil when there is only one page.
func (o *organization) deepest(ctx context.Context, q fql.Query) (*int64, error) {
	last, _, err := o.store.List(ctx, o.view, q, feedback.Page{Size: 11, Ascending: true})
	if err != nil || len(last) < 11 {
		return nil, err
	}
	return &last[10].ID, nil
}
