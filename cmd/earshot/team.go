package main

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"earshot/internal/account"
	"earshot/internal/fault"
)

type teamCmd struct {
	List   teamListCmd   `cmd:"" help:"List an organization's teams."`
	Create teamCreateCmd `cmd:"" help:"Add a team."`
	Rename teamRenameCmd `cmd:"" help:"Give a team another name."`
	Delete teamDeleteCmd `cmd:"" help:"Delete a team, and nothing else: the main team, and one that has users, carriers or reports, is refused. Nothing is asked."`
}

type teamListCmd struct {
	organization
	output
}

// Run lists the teams.
func (c *teamListCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		teams, _, err := s.accounts.Teams(ctx, v, 0, everything)
		if err != nil {
			return err
		}
		return printAll(std.out, c.JSON, teams, teamRowOf)
	})
}

type teamCreateCmd struct {
	organization
	output
	Name string `arg:"" help:"Name of the team, which no other team of the organization has."`
}

// Run adds the team.
func (c *teamCreateCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		var form fault.Form
		team, err := s.accounts.CreateTeam(ctx, v, c.Name, &form)
		if err != nil {
			return err
		}
		return printOne(std.out, c.JSON, teamRowOf(team))
	})
}

type teamRenameCmd struct {
	organization
	output
	Team string `arg:"" help:"The team, by name or id."`
	Name string `arg:"" help:"Its new name."`
}

// Run renames the team.
func (c *teamRenameCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		team, err := findTeam(ctx, s.accounts, v, c.Team)
		if err != nil {
			return err
		}
		var form fault.Form
		team, err = s.accounts.RenameTeam(ctx, v, team.ID, given(&c.Name), &form)
		if err != nil {
			return err
		}
		return printOne(std.out, c.JSON, teamRowOf(team))
	})
}

type teamDeleteCmd struct {
	organization
	output
	Team string `arg:"" help:"The team, by name or id."`
}

// Run deletes the team.
func (c *teamDeleteCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		team, err := findTeam(ctx, s.accounts, v, c.Team)
		if err != nil {
			return err
		}
		if err := s.accounts.DeleteTeam(ctx, v, team.ID); err != nil {
			return err
		}
		return printRemoved(std.out, c.JSON, "The team was deleted.")
	})
}

// findTeam finds a team by its name, in any spelling of its case, or by its id. An unknown one is fault.NotFound.
func findTeam(ctx context.Context, accounts *account.Store, v account.View, which string) (account.Team, error) {
	teams, _, err := accounts.Teams(ctx, v, 0, everything)
	if err != nil {
		return account.Team{}, err
	}
	which = strings.TrimSpace(which)
	at := slices.IndexFunc(teams, func(t account.Team) bool { return strings.EqualFold(t.Name, which) })
	if at < 0 {
		at = slices.IndexFunc(teams, func(t account.Team) bool { return strconv.FormatInt(t.ID, 10) == which })
	}
	if at < 0 {
		return account.Team{}, fault.Missing("team")
	}
	return teams[at], nil
}

// teamID is the team of a flag, 0 when it is left out. An unknown one is noted.
func teamID(ctx context.Context, accounts *account.Store, v account.View, which *string, form *fault.Form) (int64, error) {
	if which == nil {
		return 0, nil
	}
	team, err := findTeam(ctx, accounts, v, *which)
	if fault.Is(err, fault.NotFound) {
		form.Add("team", "is not a team of this organization")
		return 0, nil
	}
	return team.ID, err
}

type teamRow struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	Main      bool   `json:"main"`
	CreatedAt stamp  `json:"created_at"`
}

func teamRowOf(t account.Team) teamRow { return teamRow{t.ID, t.Name, t.Main, stamp(t.CreatedAt)} }

func (teamRow) titles() []string { return []string{"ID", "NAME", "MAIN", "CREATED"} }

func (r teamRow) cells() []any { return []any{r.ID, r.Name, yesNo(r.Main), r.CreatedAt} }
