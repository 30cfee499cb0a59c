package main

import (
	"context"
	"fmt"
	"strings"

	"earshot/internal/account"
	"earshot/internal/report"
)

type reportCmd struct {
	List  reportListCmd  `cmd:"" help:"List an organization's reports, private ones included, the newest first."`
	Show  reportShowCmd  `cmd:"" help:"Show a report and its components."`
	Share reportShareCmd `cmd:"" help:"Make a new link to a report. It is shown once; earlier ones stay valid."`
}

type reportListCmd struct {
	organization
	output
}

// Run lists the reports.
func (c *reportListCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		reports, _, err := s.reports.List(ctx, account.Operator(v.Org()), report.Filter{}, nil, 0, everything)
		if err != nil {
			return err
		}
		return printAll(std.out, c.JSON, reports, reportRowOf)
	})
}

type reportShowCmd struct {
	organization
	output
	ID int64 `arg:"" help:"Id of the report, as listed."`
}

// Run shows the report, for people with a table of its components.
func (c *reportShowCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		p := account.Operator(v.Org())
		found, err := s.reports.ByID(ctx, p, c.ID)
		if err != nil {
			return err
		}
		components, err := s.reports.Components(ctx, p, c.ID)
		if err != nil {
			return err
		}
		shown := reportRowOf(found)
		shown.Components = make([]componentRow, len(components))
		for i, component := range components {
			shown.Components[i] = componentRowOf(component)
		}
		if err := printOne(std.out, c.JSON, shown); err != nil || c.JSON || len(components) == 0 {
			return err
		}
		fmt.Fprintln(std.out)
		return printAll(std.out, false, components, componentRowOf)
	})
}

type reportShareCmd struct {
	organization
	output
	ID               int64  `arg:"" help:"Id of the report, as listed."`
	Expiration       string `default:"four_months" enum:"seven_days,thirty_days,ninety_days,four_months" help:"How long the link is valid: seven_days, thirty_days, ninety_days or four_months (default ${default})."`
	HideVerbatims    bool   `help:"Leave out what people wrote."`
	MinimumGroupSize int    `default:"0" placeholder:"N" help:"Hide figures of fewer feedback than this, up to 1000 (default ${default}, none)."`
	BaseURL          string `name:"base-url" env:"EARSHOT_BASE_URL" default:"http://127.0.0.1:8080" placeholder:"URL" help:"Address the service is reached at, which the link begins with (default ${default})."`
}

// Run makes the link.
func (c *reportShareCmd) Run(ctx context.Context, std streams) error {
	var m mistakes
	base := m.baseURL(c.BaseURL)
	if c.MinimumGroupSize < 0 || c.MinimumGroupSize > report.MaxGroupSize {
		m.add("minimum-group-size", "must be a whole number from 0 to %d", report.MaxGroupSize)
	}
	if err := m.err(); err != nil {
		return err
	}
	return c.with(ctx, func(s stores, v account.View) error {
		link, token, err := s.reports.Share(ctx, account.Operator(v.Org()), c.ID, report.NewLink{
			Lifetime: c.Expiration, HideVerbatims: c.HideVerbatims, MinimumGroupSize: c.MinimumGroupSize,
		})
		if err != nil {
			return err
		}
		address := fmt.Sprintf("%s/report/%d/shareable?token=%s", base, c.ID, token)
		if c.JSON {
			return printJSON(std.out, linkRow{
				link.ID, token, address, stamp(link.ExpiresAt), link.HideVerbatims, link.MinimumGroupSize, stamp(link.CreatedAt), stamp(link.UpdatedAt),
			})
		}
		_, err = fmt.Fprintln(std.out, address)
		return err
	})
}

type linkRow struct {
	ID               int64  `json:"id"`
	Token            string `json:"token"`
	PublicLink       string `json:"public_link"`
	ExpiresAt        stamp  `json:"expires_at"`
	HideVerbatims    bool   `json:"hide_verbatims"`
	MinimumGroupSize int    `json:"minimum_group_size"`
	CreatedAt        stamp  `json:"created_at"`
	UpdatedAt        stamp  `json:"updated_at"`
}

type reportRow struct {
	ID         int64           `json:"id"`
	UserID     *account.UserID `json:"user_id"`
	TeamID     int64           `json:"team_id"`
	SegmentID  *int64          `json:"segment_id"`
	Name       string          `json:"name"`
	Type       report.Type     `json:"type"`
	Status     string          `json:"status"`
	FQL        string          `json:"fql"`
	Color      *string         `json:"color"`
	CreatedAt  stamp           `json:"created_at"`
	UpdatedAt  stamp           `json:"updated_at"`
	Components []componentRow  `json:"components,omitzero"`
}

func reportRowOf(r report.Report) reportRow {
	return reportRow{
		ID: r.ID, UserID: r.UserID, TeamID: r.TeamID, Name: r.Name, Type: r.Type, Status: r.Status, FQL: r.FQL, Color: r.Color,
		CreatedAt: stamp(r.CreatedAt), UpdatedAt: stamp(r.UpdatedAt),
	}
}

func (reportRow) titles() []string {
	return []string{"ID", "TYPE", "STATUS", "NAME", "TEAM", "USER", "UPDATED", "FILTER"}
}

func (r reportRow) cells() []any {
	user := "-"
	if r.UserID != nil {
		user = fmt.Sprint(*r.UserID)
	}
	return []any{r.ID, r.Type, r.Status, r.Name, r.TeamID, user, r.UpdatedAt, r.FQL}
}

type componentRow struct {
	ID      int64       `json:"id"`
	Type    report.Kind `json:"type"`
	Title   string      `json:"title"`
	FQL     *string     `json:"fql"`
	Options struct {
		Metric     report.Metric `json:"metric,omitempty"`
		Interval   string        `json:"interval,omitempty"`
		By         string        `json:"by,omitempty"`
		QuestionID int64         `json:"question_id,omitempty"`
		Limit      int           `json:"limit,omitempty"`
	} `json:"options"`
}

func componentRowOf(c report.Component) componentRow {
	r := componentRow{ID: c.ID, Type: c.Type, Title: c.Title}
	if c.FQL != "" {
		r.FQL = &c.FQL
	}
	r.Options.Metric, r.Options.Interval, r.Options.By = c.Options.Metric, c.Options.Interval, c.Options.By
	r.Options.QuestionID, r.Options.Limit = c.Options.QuestionID, c.Options.Limit
	return r
}

func (componentRow) titles() []string { return []string{"ID", "TYPE", "TITLE", "OPTIONS", "FILTER"} }

func (r componentRow) cells() []any {
	var options []string
	for _, o := range []string{string(r.Options.Metric), r.Options.Interval, r.Options.By} {
		if o != "" {
			options = append(options, o)
		}
	}
	filter := ""
	if r.FQL != nil {
		filter = *r.FQL
	}
	return []any{r.ID, r.Type, r.Title, strings.Join(options, ", "), filter}
}
