package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"text/tabwriter"
	"time"

	"earshot/internal/pg"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" default:"withargs" help:"Apply what is pending. Safe to run from several places at once and while the service runs."`
	Status migrateStatusCmd `cmd:"" help:"List the steps of the schema and when each was applied."`
}

type migrateUpCmd struct{ database }

// Run applies pending steps.
func (c *migrateUpCmd) Run(ctx context.Context, std streams) error {
	db, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	applied, err := pg.Migrate(ctx, db)
	if err != nil {
		return err
	}
	for _, m := range applied {
		fmt.Fprintf(std.out, "applied %s\n", m.File)
	}
	fmt.Fprintf(std.out, "schema is at version %d\n", pg.Latest())
	return nil
}

type migrateStatusCmd struct{ database }

// Run lists the steps.
func (c *migrateStatusCmd) Run(ctx context.Context, std streams) error {
	db, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := pg.Migrations(ctx, db)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for _, m := range all {
		at := "pending"
		if !m.AppliedAt.IsZero() {
			at = m.AppliedAt.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s\t%s\n", m.File, at)
	}
	return w.Flush()
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(std streams) error {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	fmt.Fprintf(std.out, "earshot %s, schema %d, %s %s/%s\n", version, pg.Latest(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
