package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/operation"
	"earshot/internal/optout"
	"earshot/internal/pg"
	"earshot/internal/report"
)

type orgCmd struct {
	List   orgListCmd   `cmd:"" help:"List all organizations."`
	Show   orgShowCmd   `cmd:"" help:"Show one organization."`
	Create orgCreateCmd `cmd:"" help:"Create an organization with its main team and nothing else. A name that is in use is refused; earshot init sets up more."`
	Set    orgSetCmd    `cmd:"" help:"Change an organization's name, strictness or time zone. What is left out stays."`
}

// stores is what a command works on.
type stores struct {
	db       *pgxpool.Pool
	accounts *account.Store
	carriers *carrier.Store
	texts    *analysis.Store
	records  *feedback.Store
	optouts  *optout.Store
	reports  *report.Store
}

// operations are the bulk changes, with how long they can be undone.
func (s stores) operations(undoFor time.Duration) (*operation.Store, error) {
	return operation.NewStore(s.db, s.accounts, s.carriers, s.texts, s.records, operation.Settings{InRequest: 1_000, UndoFor: undoFor})
}

// use opens the database, which must be up to date, and hands its stores to do.
func (d database) use(ctx context.Context, do func(stores) error) error {
	db, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := pg.Check(ctx, db); err != nil {
		return err
	}
	carriers, texts := carrier.NewStore(db), analysis.NewStore(db)
	records := feedback.NewStore(db, db, carriers, texts)
	return do(stores{db, account.NewStore(db), carriers, texts, records, optout.NewStore(db, db), report.NewStore(db, carriers, records)})
}

// organization is how a command names the organization it works in.
type organization struct {
	database
	Org string `required:"" help:"Name of the organization."`
}

// with opens the database, finds the organization named and hands both to do.
func (o organization) with(ctx context.Context, do func(stores, account.View) error) error {
	return o.use(ctx, func(s stores) error {
		org, err := s.accounts.OrganizationByName(ctx, o.Org)
		if err != nil {
			return err
		}
		return do(s, account.Whole(org.ID))
	})
}

type orgListCmd struct {
	database
	output
}

// Run lists the organizations.
func (c *orgListCmd) Run(ctx context.Context, std streams) error {
	return c.use(ctx, func(s stores) error {
		orgs, err := s.accounts.Organizations(ctx)
		if err != nil {
			return err
		}
		return printAll(std.out, c.JSON, orgs, orgRowOf)
	})
}

type orgShowCmd struct {
	organization
	output
}

// Run shows the organization.
func (c *orgShowCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		org, err := s.accounts.Organization(ctx, v)
		if err != nil {
			return err
		}
		return printOne(std.out, c.JSON, orgRowOf(org))
	})
}

type orgCreateCmd struct {
	database
	output
	Name string `arg:"" help:"Name of the organization."`
}

// Run creates the organization.
func (c *orgCreateCmd) Run(ctx context.Context, std streams) error {
	return c.use(ctx, func(s stores) error {
		_, err := s.accounts.OrganizationByName(ctx, c.Name)
		if err == nil {
			var form fault.Form
			form.Add("name", "is not available")
			return form.Err()
		}
		if !fault.Is(err, fault.NotFound) {
			return err
		}
		org, err := s.accounts.OpenOrganization(ctx, c.Name)
		if err != nil {
			return err
		}
		return printOne(std.out, c.JSON, orgRowOf(org))
	})
}

type orgSetCmd struct {
	organization
	output
	NameTo   *string `placeholder:"NAME" help:"Another name."`
	Strict   *bool   `negatable:"" help:"Refuse feedback for carriers and questions that nobody registered; --no-strict registers them on first sight."`
	TimeZone *string `placeholder:"ZONE" help:"Zone in which its days are counted, such as Europe/Paris. Feedback that is there is moved to its days in the new zone by the workers."`
}

// Run changes the organization.
func (c *orgSetCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		operations, err := s.operations(0)
		if err != nil {
			return err
		}
		var form fault.Form
		org, started, err := operations.ChangeOrganization(ctx, v, feedback.By{}, account.OrganizationChange{
			Name: given(c.NameTo), TimeZone: given(c.TimeZone), StrictCarriers: c.Strict,
		}, &form)
		if err != nil {
			return err
		}
		if started != 0 {
			fmt.Fprintf(std.err, "Feedback is being counted on its days in the new zone, by operation %d.\n", started)
		}
		return printOne(std.out, c.JSON, orgRowOf(org))
	})
}

type orgRow struct {
	ID             account.OrgID `json:"id"`
	Name           string        `json:"name"`
	TimeZone       string        `json:"time_zone"`
	StrictCarriers bool          `json:"strict_carriers"`
	MainTeamID     int64         `json:"main_team_id"`
	CreatedAt      stamp         `json:"created_at"`
}

func orgRowOf(o account.Organization) orgRow {
	return orgRow{o.ID, o.Name, o.TimeZone, o.StrictCarriers, o.MainTeamID, stamp(o.CreatedAt)}
}

func (orgRow) titles() []string { return []string{"ID", "NAME", "TIME ZONE", "STRICT", "CREATED"} }

func (r orgRow) cells() []any {
	return []any{r.ID, r.Name, r.TimeZone, yesNo(r.StrictCarriers), r.CreatedAt}
}
