package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/demo"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

type demoCmd struct {
	database
	output
	Name     string `default:"Demo" help:"Name of the organization; it is created when there is none (default ${default})."`
	Feedback int    `default:"50000" placeholder:"N" help:"How many feedback to invent (default ${default})."`
	Seed     uint64 `default:"1" help:"Number that everything invented follows from: the same one, with the same end, gives the same feedback (default ${default})."`
	Until    string `placeholder:"DATE" help:"Last day of the three years, such as 2026-01-31, or a time such as 2026-01-31T09:00:00Z (default now)."`
	Append   bool   `help:"Fill an organization that has feedback already. What a run that was interrupted has written is not written again."`
}

// filled is what a run has done.
type filled struct {
	OrganizationID account.OrgID `json:"organization_id"`
	Organization   string        `json:"organization"`
	Seed           uint64        `json:"seed"`
	Until          stamp         `json:"until"`
	Created        int           `json:"created"`
	Already        int           `json:"already"`
	Seconds        float64       `json:"seconds"`
}

// Run invents the feedback and writes it as if it had been sent.
func (c *demoCmd) Run(ctx context.Context, std streams) error {
	until, err := c.check(time.Now())
	if err != nil {
		return err
	}
	db, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := pg.Check(ctx, db); err != nil {
		return err
	}
	begun := time.Now()
	bar := newProgress(std.err)
	done, err := c.fill(ctx, db, until, func(n int) {
		bar.show(int64(n), int64(c.Feedback), fmt.Sprintf("%.1f s", time.Since(begun).Seconds()))
	})
	bar.end()
	if err != nil {
		return err
	}
	done.Seconds = time.Since(begun).Seconds()
	if c.JSON {
		return printJSON(std.out, done)
	}
	return done.print(std.out)
}

// check reads the end of the story, and names every mistake in the flags.
func (c *demoCmd) check(now time.Time) (time.Time, error) {
	var form fault.Form
	if c.Feedback < 1 || c.Feedback > 10_000_000 {
		form.Add("feedback", "must be a whole number from 1 to 10000000")
	}
	until := now.UTC().Truncate(time.Minute)
	if c.Until != "" {
		day, err := time.Parse(time.DateOnly, c.Until)
		if until = day.AddDate(0, 0, 1); err != nil { // all of that day
			until, err = time.Parse(time.RFC3339, c.Until)
		}
		if err != nil || until.Year() < 1910 || until.Year() > 9990 {
			form.Add("until", "must be a date such as 2026-01-31 or a time such as 2026-01-31T09:00:00Z")
		}
	}
	return until, form.Err()
}

func (c *demoCmd) fill(ctx context.Context, db *pgxpool.Pool, until time.Time, progress func(int)) (filled, error) {
	accounts, carriers, texts := account.NewStore(db), carrier.NewStore(db), analysis.NewStore(db)
	records := feedback.NewStore(db, db, carriers, texts)
	org, err := accounts.OpenOrganization(ctx, c.Name)
	if err != nil {
		return filled{}, err
	}
	v := account.Whole(org.ID)
	if err := c.refuseOccupied(ctx, records, v); err != nil {
		return filled{}, err
	}
	owners, err := furnish(ctx, accounts, carriers, v)
	if err != nil {
		return filled{}, err
	}
	if _, err := texts.AddStarter(ctx, v, nothingToReread); err != nil {
		return filled{}, err
	}
	done := filled{OrganizationID: org.ID, Organization: org.Name, Seed: c.Seed, Until: stamp(until)}
	invented := demo.Records(demo.Options{Seed: c.Seed, Until: until, Count: c.Feedback, Owners: owners})
	for batch := range batches(invented, feedback.MaxMany) {
		outcomes, err := records.CreateMany(ctx, v, batch, nil)
		if err != nil {
			return filled{}, err
		}
		for _, o := range outcomes {
			switch {
			case o.Refusal == nil:
				done.Created++
			case o.Refusal.Code == fault.FingerprintTaken:
				done.Already++
			default:
				return filled{}, fmt.Errorf("the carriers of this organization do not take what was invented for them: %w", o.Refusal)
			}
		}
		progress(done.Created + done.Already)
	}
	return done, nil
}

// refuseOccupied keeps what is invented apart from what customers said.
func (c *demoCmd) refuseOccupied(ctx context.Context, records *feedback.Store, v account.View) error {
	if c.Append {
		return nil
	}
	_, total, err := records.List(ctx, v, fql.Query{}, feedback.Page{Size: 1})
	if err == nil && total > 0 {
		return fault.New(fault.ValidationFailed,
			"The organization has %d feedback. Name another one, or fill this one nevertheless with --append.", total)
	}
	return err
}

// furnish makes the users and carriers that the invented feedback belongs to, unless they are there, and returns the ids of the users.
func furnish(ctx context.Context, accounts *account.Store, carriers *carrier.Store, v account.View) ([]account.UserID, error) {
	var owners []account.UserID
	for _, u := range demo.Users() {
		user, err := accounts.OpenUser(ctx, v, u)
		if err != nil {
			return nil, err
		}
		owners = append(owners, user.ID)
	}
	for _, n := range demo.Carriers() {
		c, err := carriers.ByID(ctx, v, n.ID)
		if fault.Is(err, fault.NotFound) {
			c, err = carriers.Create(ctx, v, n)
		}
		if err != nil {
			return nil, err
		}
		if c.Name != n.Name {
			return nil, fault.New(fault.ValidationFailed, "Carrier %d of this organization is its own. Name another organization.", n.ID)
		}
	}
	return owners, nil
}

// batches cuts a sequence into pieces of at most size.
func batches[T any](all iter.Seq[T], size int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		var batch []T
		for one := range all {
			if batch = append(batch, one); len(batch) == size {
				if !yield(batch) {
					return
				}
				batch = nil
			}
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

func (f filled) print(w io.Writer) error {
	already := ""
	if f.Already > 0 {
		already = fmt.Sprintf(" and found %d that were there", f.Already)
	}
	_, err := fmt.Fprintf(w, `Wrote %d feedback%s in %.1f s: organization %q, --seed %d --until %s.

Have a look at it:

  earshot token create --org %q
`, f.Created, already, f.Seconds, f.Organization, f.Seed, time.Time(f.Until).Format(time.RFC3339), f.Organization)
	return err
}
