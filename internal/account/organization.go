package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a zone that was accepted is known wherever the binary runs

	"github.com/jackc/pgx/v5"

	"earshot/internal/fault"
	"earshot/internal/pg"
)

// OrganizationChange is what is to be different; what is empty or nil stays.
type OrganizationChange struct {
	Name           string
	TimeZone       string
	StrictCarriers *bool
}

// Organization returns the organization that is seen.
func (s *Store) Organization(ctx context.Context, v View) (Organization, error) {
	return one[Organization](ctx, s.db, "organization", organizationSQL+` WHERE o.id = $1`, v.org)
}

// ChangeOrganization makes the changes and returns the result. It refuses a name that is in use and a time zone that Go or
// PostgreSQL does not know. In another time zone feedback may belong to another day: then rezone is called in the same transaction, and
// whoever does that work ends it with Rezoned.
func (s *Store) ChangeOrganization(ctx context.Context, v View, c OrganizationChange, form *fault.Form, rezone func(pgx.Tx) error) (Organization, error) {
	c.Name, c.TimeZone = trimmed(form, "name", c.Name), trimmed(form, "time_zone", c.TimeZone)
	rezoned, err := s.checkOrganization(ctx, v, c, form)
	if err != nil {
		return Organization{}, err
	}
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if rezoned {
			_, err := tx.Exec(ctx, `UPDATE organization SET time_zone = $2, rezoning = true WHERE id = $1`, v.org, c.TimeZone)
			if err != nil {
				return err
			}
			if err := rezone(tx); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `
			UPDATE organization SET name = coalesce(nullif($2, ''), name), strict_carriers = coalesce($3, strict_carriers)
			WHERE id = $1`, v.org, c.Name, c.StrictCarriers)
		if pg.Violates(err, "organization_name") {
			form.Add("name", "is not available")
			return form.Err()
		}
		return err
	})
	if err != nil {
		return Organization{}, fmt.Errorf("change organization: %w", err)
	}
	return s.Organization(ctx, v)
}

// checkOrganization notes what cannot be changed so, and reports whether the zone is to be another one.
func (s *Store) checkOrganization(ctx context.Context, v View, c OrganizationChange, form *fault.Form) (rezoned bool, err error) {
	var zone string
	var taken, known bool
	// Names are unique over all organizations: an operator tells them apart by it.
	err = s.db.QueryRow(ctx, `
		SELECT o.time_zone,
		       EXISTS (SELECT FROM organization n WHERE n.name = $2 AND n.id <> $1),
		       $3 = '' OR EXISTS (SELECT FROM pg_timezone_names WHERE name = $3)
		FROM organization o
		WHERE o.id = $1`, v.org, c.Name, c.TimeZone).Scan(&zone, &taken, &known)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, fault.Missing("organization")
	}
	if err != nil {
		return false, fmt.Errorf("read organization: %w", err)
	}
	if taken {
		form.Add("name", "is not available")
	}
	rezoned = c.TimeZone != "" && c.TimeZone != zone
	if rezoned && (!known || !isZone(c.TimeZone)) {
		form.Add("time_zone", "must be a name of the time zone database, such as Europe/Paris")
	}
	return rezoned, form.Err()
}

// isZone asks Go's table, and leaves out the names that mean another zone on another machine or count leap seconds.
func isZone(name string) bool {
	if slices.Contains([]string{"Local", "localtime", "posixrules", "Factory"}, name) ||
		strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/") {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// Rezoned notes that every feedback belongs to its day in the organization's zone again.
func Rezoned(ctx context.Context, tx pgx.Tx, v View) error {
	if _, err := tx.Exec(ctx, `UPDATE organization SET rezoning = false WHERE id = $1`, v.org); err != nil {
		return fmt.Errorf("note the new zone: %w", err)
	}
	return nil
}
