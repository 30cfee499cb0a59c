package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"earshot/bench/corpus"
	"earshot/bench/rig"
	"earshot/internal/feedback"
	"earshot/internal/fql"
)

// How long one query is measured, both organizations together: until there are enough runs, or at least a few and no patience left.
const (
	enough   = 200
	fewest   = 3
	patience = 6 * time.Second
)

// figures are what one query took in one organization.
type figures struct {
	Matches int64
	Way     string // how the total was obtained
	Buffers cost
	P50     time.Duration
	P99     time.Duration // the slowest where there were fewer than a hundred runs
	Runs    int
	plans   string
}

// pair is one query on one page, measured in two organizations in turn.
type pair struct {
	Query string
	Page  string // first or deepest
	limit time.Duration
	figs  [2]figures
}

// measure asks everything of the small and the large organization, then of the tiny one beside and alone.
func (r *report) measure(ctx context.Context, s *rig.Server) error {
	var orgs [4]*organization
	for i, where := range [][2]string{
		{r.Built.Main, corpus.NameSmall}, {r.Built.Main, corpus.NameLarge}, {r.Built.Alone, corpus.NameTiny}, {r.Built.Main, corpus.NameTiny},
	} {
		o, closeAll, err := openOrganization(ctx, s.URL(where[0]), where[1])
		defer closeAll()
		if err != nil {
			return fmt.Errorf("open organization %s: %w", where[1], err)
		}
		orgs[i] = o
	}
	for _, q := range queries {
		if !strings.Contains(q.name, r.Options.only) {
			continue
		}
		for _, page := range []string{"first", "deepest"} {
			p, err := compare(ctx, q, page, [2]*organization(orgs[:2]), r.Options.plans)
			if err != nil {
				return fmt.Errorf("%s, %s page: %w", q.name, page, err)
			}
			r.Sizes = append(r.Sizes, p)
		}
		if !q.beside {
			continue
		}
		p, err := compare(ctx, q, "first", [2]*organization(orgs[2:]), r.Options.plans)
		if err != nil {
			return fmt.Errorf("%s, alone and beside: %w", q.name, err)
		}
		r.Neighbours = append(r.Neighbours, p)
	}
	return nil
}

// compare measures one query in two organizations in turn, so that what disturbs the machine disturbs both.
func compare(ctx context.Context, q query, page string, orgs [2]*organization, plans bool) (pair, error) {
	p := pair{Query: q.name, Page: page, limit: q.limit}
	var asked [2]fql.Query
	var after [2]*int64
	for i, o := range orgs {
		parsed, err := feedback.Filters.Parse(q.text(o))
		if err != nil {
			return p, err
		}
		asked[i] = parsed
		if page == "deepest" {
			if after[i], err = o.deepest(ctx, parsed); err != nil {
				return p, err
			}
		}
		if p.figs[i], err = o.look(ctx, parsed, after[i], plans); err != nil {
			return p, err
		}
	}
	var took [2][]time.Duration
	for began := time.Now(); len(took[0]) < fewest || len(took[0]) < enough && time.Since(began) < patience; {
		for i, o := range orgs {
			start := time.Now()
			if _, err := o.list(ctx, o.store, asked[i], after[i]); err != nil {
				return p, err
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	for i := range took {
		slices.Sort(took[i])
		p.figs[i].Runs = len(took[i])
		p.figs[i].P50 = took[i][len(took[i])/2]
		p.figs[i].P99 = took[i][(len(took[i])*99+99)/100-1]
	}
	rig.Progress("%s, %s page: %s against %s", q.name, page, p.figs[0].P50, p.figs[1].P50)
	return p, nil
}

// look runs a query once, unmeasured, to see what it reads and finds. That also warms what the measured runs read.
func (o *organization) look(ctx context.Context, q fql.Query, after *int64, plans bool) (figures, error) {
	var f figures
	var err error
	o.trace.statements = nil
	if f.Matches, err = o.list(ctx, o.traced, q, after); err != nil {
		return f, err
	}
	first, total, err := o.trace.snapshot()
	if err != nil {
		return f, err
	}
	if f.Buffers, f.plans, err = explain(ctx, o.reads, first, total, plans); err != nil {
		return f, err
	}
	if _, err := o.list(ctx, o.store, q, after); err != nil {
		return f, err
	}
	explanation, err := o.traced.Explain(ctx, o.view, q)
	f.Way = explanation.TotalFrom
	return f, err
}
