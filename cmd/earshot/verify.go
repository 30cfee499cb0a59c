package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"earshot/internal/account"
	"earshot/internal/pg"
	"earshot/internal/tally"
)

type verifyCmd struct {
	database
	Org    string `help:"Name of the organization; all of them when left out."`
	Repair bool   `help:"Count the tallies that drifted anew. Safe while the service runs."`
	JSON   bool   `name:"json" help:"Print one JSON object."`
}

// verified is the outcome for one organization.
type verified struct {
	OrganizationID account.OrgID `json:"organization_id"`
	Organization   string        `json:"organization"`
	Drift          []drift       `json:"drift"`
	Repaired       bool          `json:"repaired"`
}

// drift is one difference as scripts read it: how many records a key has, counted and kept.
type drift struct {
	What    string `json:"what"`
	Key     string `json:"key"`
	Counted int64  `json:"counted"`
	Kept    int64  `json:"kept"`
}

var errDrift = errors.New("some tallies are not what a count of the feedback gives; --repair counts them anew")

// Run compares, prints every difference, and fails when one is left.
func (c *verifyCmd) Run(ctx context.Context, std streams) error {
	db, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := pg.Check(ctx, db); err != nil {
		return err
	}
	orgs, err := c.organizations(ctx, account.NewStore(db))
	if err != nil {
		return err
	}
	tallies := tally.NewStore(db)
	results := []verified{}
	drifted := false
	for _, org := range orgs {
		v := account.Whole(org.ID)
		found, err := tallies.Verify(ctx, v)
		if err != nil {
			return err
		}
		r := verified{OrganizationID: org.ID, Organization: org.Name, Drift: make([]drift, len(found))}
		for i, d := range found {
			r.Drift[i] = drift{What: d.What, Key: d.Key, Counted: d.Want.N, Kept: d.Got.N}
		}
		if len(found) > 0 && c.Repair {
			if err := tallies.Rebuild(ctx, v); err != nil {
				return err
			}
			r.Repaired = true
		}
		drifted = drifted || len(found) > 0 && !r.Repaired
		results = append(results, r)
	}
	if err := printVerified(std.out, results, c.JSON); err != nil {
		return err
	}
	if drifted {
		return errDrift
	}
	return nil
}

func (c *verifyCmd) organizations(ctx context.Context, accounts *account.Store) ([]account.Organization, error) {
	if c.Org == "" {
		return accounts.Organizations(ctx)
	}
	org, err := accounts.OrganizationByName(ctx, c.Org)
	return []account.Organization{org}, err
}

func printVerified(out io.Writer, results []verified, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(map[string]any{"organizations": results})
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range results {
		state := "exact"
		if len(r.Drift) > 0 {
			state = fmt.Sprintf("%d differences", len(r.Drift))
		}
		if r.Repaired {
			state += ", counted anew"
		}
		fmt.Fprintf(w, "%s\t%s\n", r.Organization, state)
		for _, d := range r.Drift {
			fmt.Fprintf(w, "  %s %s\tcounted %d, kept %d\n", d.What, d.Key, d.Counted, d.Kept)
		}
	}
	return w.Flush()
}
