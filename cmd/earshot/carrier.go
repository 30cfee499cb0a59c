package main

import (
	"context"
	"fmt"
	"io"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
)

type carrierCmd struct {
	List    carrierListCmd    `cmd:"" help:"List an organization's carriers; as JSON with their questions."`
	Show    carrierShowCmd    `cmd:"" help:"Show a carrier and its questions."`
	Create  carrierCreateCmd  `cmd:"" help:"Add a carrier without questions; earshot question create adds those."`
	Rename  carrierRenameCmd  `cmd:"" help:"Give a carrier another name."`
	Move    carrierMoveCmd    `cmd:"" help:"Give a carrier to another team."`
	Archive carrierArchiveCmd `cmd:"" help:"Stop offering a carrier. It stays where it was used, and takes feedback all the same."`
	Restore carrierRestoreCmd `cmd:"" help:"Offer an archived carrier again."`
	Delete  carrierDeleteCmd  `cmd:"" help:"Delete a carrier with its questions and their options. One that has feedback is refused: archive it. Nothing is asked."`
}

type carrierListCmd struct {
	organization
	output
}

// Run lists the carriers.
func (c *carrierListCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		carriers, _, err := s.carriers.List(ctx, v, 0, everything)
		if err != nil {
			return err
		}
		return printAll(std.out, c.JSON, carriers, carrierRowOf)
	})
}

// chosenCarrier is a command about one carrier.
type chosenCarrier struct {
	organization
	output
	ID int64 `arg:"" help:"Id of the carrier, as listed."`
}

// edit changes the carrier and prints it.
func (c chosenCarrier) edit(ctx context.Context, out io.Writer, change carrier.Change) error {
	return c.with(ctx, func(s stores, v account.View) error {
		var form fault.Form
		edited, err := s.carriers.Edit(ctx, v, c.ID, change, &form)
		if err != nil {
			return err
		}
		return printOne(out, c.JSON, carrierRowOf(edited))
	})
}

type carrierShowCmd struct{ chosenCarrier }

// Run shows the carrier, for people with a table of its questions.
func (c *carrierShowCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		found, err := s.carriers.ByID(ctx, v, c.ID)
		if err != nil {
			return err
		}
		if err := printOne(std.out, c.JSON, carrierRowOf(found)); err != nil || c.JSON || len(found.Questions) == 0 {
			return err
		}
		fmt.Fprintln(std.out)
		return printAll(std.out, false, found.Questions, questionRowOf)
	})
}

type carrierCreateCmd struct {
	organization
	output
	Name   string  `arg:"" help:"Name of the carrier."`
	Number *int64  `name:"id" placeholder:"NUMBER" help:"Number that clients send as carrier_id; the next free one when left out."`
	Team   *string `placeholder:"TEAM" help:"Team it belongs to, by name or id; the main team when left out."`
}

// Run adds the carrier.
func (c *carrierCreateCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		var form fault.Form
		team, err := teamID(ctx, s.accounts, v, c.Team, &form)
		if err != nil {
			return err
		}
		n := carrier.New{ID: whole(&form, "id", c.Number, 1, maxID), TeamID: team, Name: c.Name}
		made, err := s.carriers.CreateWith(ctx, v, n, &form)
		if err != nil {
			return err
		}
		return printOne(std.out, c.JSON, carrierRowOf(made))
	})
}

type carrierRenameCmd struct {
	chosenCarrier
	Name string `arg:"" help:"Its new name."`
}

// Run renames the carrier.
func (c *carrierRenameCmd) Run(ctx context.Context, std streams) error {
	return c.edit(ctx, std.out, carrier.Change{Name: given(&c.Name)})
}

type carrierMoveCmd struct {
	chosenCarrier
	Team string `arg:"" help:"Team it is to belong to, by name or id."`
}

// Run moves the carrier.
func (c *carrierMoveCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		var form fault.Form
		team, err := teamID(ctx, s.accounts, v, &c.Team, &form)
		if err != nil {
			return err
		}
		moved, err := s.carriers.Edit(ctx, v, c.ID, carrier.Change{TeamID: team}, &form)
		if err != nil {
			return err
		}
		return printOne(std.out, c.JSON, carrierRowOf(moved))
	})
}

type carrierArchiveCmd struct{ chosenCarrier }

// Run archives the carrier.
func (c *carrierArchiveCmd) Run(ctx context.Context, std streams) error {
	return c.edit(ctx, std.out, carrier.Change{Archived: new(true)})
}

type carrierRestoreCmd struct{ chosenCarrier }

// Run takes the carrier out of the archive.
func (c *carrierRestoreCmd) Run(ctx context.Context, std streams) error {
	return c.edit(ctx, std.out, carrier.Change{Archived: new(false)})
}

type carrierDeleteCmd struct{ chosenCarrier }

// Run deletes the carrier.
func (c *carrierDeleteCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		if err := s.carriers.Delete(ctx, v, c.ID); err != nil {
			return err
		}
		return printRemoved(std.out, c.JSON, "The carrier and its questions were deleted.")
	})
}

type carrierRow struct {
	ID         int64         `json:"id"`
	Name       string        `json:"name"`
	TeamID     int64         `json:"team_id"`
	ArchivedAt *stamp        `json:"archived_at"`
	CreatedAt  stamp         `json:"created_at"`
	Questions  []questionRow `json:"questions"`
}

func carrierRowOf(c carrier.Carrier) carrierRow {
	r := carrierRow{c.ID, c.Name, c.TeamID, optionalStamp(c.ArchivedAt), stamp(c.CreatedAt), make([]questionRow, len(c.Questions))}
	for i, q := range c.Questions {
		r.Questions[i] = questionRowOf(q)
	}
	return r
}

func (carrierRow) titles() []string {
	return []string{"ID", "STATE", "NAME", "TEAM", "QUESTIONS", "CREATED"}
}

func (r carrierRow) cells() []any {
	return []any{r.ID, state(r.ArchivedAt), r.Name, r.TeamID, len(r.Questions), r.CreatedAt}
}
