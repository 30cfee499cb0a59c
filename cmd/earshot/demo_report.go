package main

import (
	"context"
	"fmt"
	"time"

	"earshot/internal/account"
	"earshot/internal/demo"
	"earshot/internal/fault"
	"earshot/internal/report"
)

// shownReport is a report over what was invented, with a link to it.
type shownReport struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	PublicLink string `json:"public_link"`
}

// sample is a report to be; without components it has the standard ones.
type sample struct {
	report.New
	components []report.Component
}

// samples are one report over everything, and one that follows an incident from before it to long after.
func samples(until time.Time) []sample {
	crash := demo.Crash(until)
	day := func(t time.Time, days int) string { return t.AddDate(0, 0, days).Format(time.DateOnly) }
	return []sample{
		{New: report.New{Name: "Customer experience", Prefilled: true}},
		{
			New: report.New{
				Name: "The app that crashed: release 4.0.0", Color: "orange",
				FQL: fmt.Sprintf(`[{"Form":{"$eq":%d}},{"TimePeriod":{"$btw":["%s","%s"]}}]`, crash.Carrier, day(crash.Begins, -28), day(crash.Ends, 42)),
			},
			components: []report.Component{
				{Type: report.KPI, Title: "App reviews", Options: report.Options{Metric: report.Count}},
				{Type: report.KPI, Options: report.Options{Metric: report.Satisfaction}},
				{Type: report.KPI, Options: report.Options{Metric: report.Sentiment}},
				{Type: report.Trend, Title: "Reviews, day by day", Options: report.Options{Metric: report.Count, Interval: "day"}},
				{Type: report.Trend, Title: "Satisfaction, week by week", Options: report.Options{Metric: report.Satisfaction, Interval: "week"}},
				{Type: report.Breakdown, Title: "Satisfaction by version", Options: report.Options{By: "attribute:app_version", Metric: report.Satisfaction}},
				{Type: report.Distribution, Options: report.Options{QuestionID: crash.Rating}},
				{Type: report.Breakdown, Title: "Reviews by country", Options: report.Options{By: "attribute:country"}},
				{Type: report.Topics, Options: report.Options{Metric: report.Satisfaction}},
				{
					Type: report.Verbatims, Title: "What the angry wrote in the first days", Options: report.Options{QuestionID: crash.Text, Limit: 9},
					FQL: fmt.Sprintf(`[{"Satisfaction":{"$lte":40}},{"TimePeriod":{"$btw":["%s","%s"]}}]`, day(crash.Begins, 0), day(crash.Begins, 4)),
				},
			},
		},
	}
}

// present makes the samples, unless an earlier run did, and a link to each.
func present(ctx context.Context, reports *report.Store, v account.View, until time.Time, base string) ([]shownReport, error) {
	var shown []shownReport
	for _, s := range samples(until) {
		id, err := s.open(ctx, reports, account.Operator(v.Org()))
		if err != nil {
			return nil, fmt.Errorf("report %q: %w", s.Name, err)
		}
		_, token, err := reports.Share(ctx, account.Operator(v.Org()), id, report.NewLink{Lifetime: report.DefaultLifetime})
		if err != nil {
			return nil, fmt.Errorf("report %q: %w", s.Name, err)
		}
		shown = append(shown, shownReport{id, s.Name, fmt.Sprintf("%s/report/%d/shareable?token=%s", base, id, token)})
	}
	return shown, nil
}

// open finds the report of this name and filter, or makes it.
func (s sample) open(ctx context.Context, reports *report.Store, p account.Principal) (int64, error) {
	found, _, err := reports.List(ctx, p, report.Filter{Name: s.Name}, nil, 0, everything)
	if err != nil {
		return 0, err
	}
	for _, r := range found {
		if r.Name == s.Name && (r.FQL == s.FQL || s.FQL == "") {
			return r.ID, nil
		}
	}
	var form fault.Form
	made, err := reports.Create(ctx, p, s.New, &form)
	if err != nil || s.components == nil {
		return made.ID, err
	}
	_, err = reports.SetComponents(ctx, p, made.ID, s.components, &form)
	return made.ID, err
}
