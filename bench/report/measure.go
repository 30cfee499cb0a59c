package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"earshot/bench/corpus"
	"earshot/bench/rig"
	"earshot/internal/fault"
	"earshot/internal/report"
)

// How long one thing is measured, both organizations together: until there are enough runs, or at least a few and no patience left.
const (
	enough   = 60
	fewest   = 5
	patience = 4 * time.Second
)

// question is a prefilled report within a filter.
type question struct {
	name  string
	fql   string
	limit time.Duration // of the slowest answer; 0 where there is none
	parts bool          // its components are measured, too
}

var questions = []question{
	{"everything", `[]`, 300 * time.Millisecond, true},
	{"the last 12 months", `[{"TimePeriod":{"$eq":"date_last_12_months"}}]`, 0, true},
	{"one source", `[{"Source":{"$eq":"linkedin"}}]`, 0, false},
	{"an attribute that 0.01 % have", having(corpus.Plans[0]), 0, false},
	{"an attribute that 1 % have", having(corpus.Plans[1]), 0, true},
}

func having(plan string) string {
	return fmt.Sprintf(`[{"Attribute":{"name":%q,"$eq":%q}}]`, corpus.Plan, plan)
}

// span is what something took in one organization.
type span struct {
	Status  int // what it was answered, by HTTP
	Matches int64
	P50     time.Duration
	P99     time.Duration // the slowest where there were fewer than a hundred runs
	Runs    int
}

// measured is one thing in both organizations, the small one first.
type measured struct {
	Name, Part string
	limit      time.Duration
	spans      [2]span
}

func (r *result) measure(ctx context.Context, url string) error {
	s, err := openService(ctx, url)
	if err != nil {
		return err
	}
	defer s.close()
	var orgs [2]organization
	for i, name := range []string{corpus.NameSmall, corpus.NameLarge} {
		if orgs[i], err = s.organization(ctx, name); err != nil {
			return err
		}
	}
	for _, q := range questions {
		if err := r.ask(ctx, q, orgs); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
	}
	return nil
}

// ask measures a report as a whole over HTTP, the page of its link where it is held to a bar, and its components in the process.
func (r *result) ask(ctx context.Context, q question, orgs [2]organization) error {
	var made [2]report.Report
	data, page := measured{Name: q.name, limit: q.limit}, measured{Name: q.name + ", the page of a link", limit: q.limit}
	var addresses [2]string
	for i, o := range orgs {
		var err error
		if made[i], err = o.prefilled(ctx, q.fql); err != nil {
			return err
		}
		defer func() { _ = o.reports.Delete(context.WithoutCancel(ctx), o.operator, made[i].ID) }()
		_, token, err := o.reports.Share(ctx, o.operator, made[i].ID, report.NewLink{Lifetime: report.DefaultLifetime})
		if err != nil {
			return err
		}
		addresses[i] = fmt.Sprintf("/report/%d/shareable?token=%s", made[i].ID, token)
		components, err := o.reports.Components(ctx, o.operator, made[i].ID)
		if err != nil {
			return err
		}
		_, first, err := o.reports.Figures(ctx, o.operator, made[i].ID, report.Reading{Component: components[0].ID})
		if err != nil {
			return err
		}
		data.spans[i].Matches = first.Parts[0].Total.Count
	}
	err := data.time(func(i int) (int, error) { return orgs[i].get(ctx, fmt.Sprintf("/v3/reports/%d/data", made[i].ID)) })
	if err != nil {
		return err
	}
	r.whole = append(r.whole, data)
	if q.limit > 0 {
		page.spans[0].Matches, page.spans[1].Matches = data.spans[0].Matches, data.spans[1].Matches
		if err := page.time(func(i int) (int, error) { return orgs[i].get(ctx, addresses[i]) }); err != nil {
			return err
		}
		r.whole = append(r.whole, page)
	}
	if !q.parts {
		return nil
	}
	return r.askParts(ctx, q, orgs, made)
}

func (r *result) askParts(ctx context.Context, q question, orgs [2]organization, made [2]report.Report) error {
	var ids [2][]report.Component
	for i, o := range orgs {
		var err error
		if ids[i], err = o.reports.Components(ctx, o.operator, made[i].ID); err != nil {
			return err
		}
	}
	for n, c := range ids[0] {
		part := measured{Name: q.name, Part: c.Title}
		if c.Type == report.KPI {
			part.Part += " (figure)"
		}
		err := part.time(func(i int) (int, error) {
			_, _, err := orgs[i].reports.Figures(ctx, orgs[i].operator, made[i].ID, report.Reading{Component: ids[i][n].ID})
			if fault.Is(err, fault.QueryTooBroad) { // on a machine that has too much else to do
				return http.StatusUnprocessableEntity, nil
			}
			return 0, err
		})
		if err != nil {
			return err
		}
		r.parts = append(r.parts, part)
	}
	return nil
}

// time calls something for both organizations in turn, so that what disturbs the machine disturbs both.
func (m *measured) time(call func(i int) (int, error)) error {
	var took [2][]time.Duration
	for i := range took { // unmeasured, to warm what the measured runs read
		var err error
		if m.spans[i].Status, err = call(i); err != nil {
			return err
		}
	}
	for began := time.Now(); len(took[0]) < fewest || len(took[0]) < enough && time.Since(began) < patience; {
		for i := range took {
			start := time.Now()
			if _, err := call(i); err != nil {
				return err
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	for i := range took {
		slices.Sort(took[i])
		m.spans[i].Runs = len(took[i])
		m.spans[i].P50 = took[i][len(took[i])/2]
		m.spans[i].P99 = took[i][(len(took[i])*99+99)/100-1]
	}
	rig.Progress("%s %s: %s against %s", m.Name, m.Part, m.spans[0].P50, m.spans[1].P50)
	return nil
}
