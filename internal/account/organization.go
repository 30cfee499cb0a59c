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
	"github.com/jackc/pgx/v5/pgconn"

	"earshot/internal/fault"
	"earshot/internal/pg"
)

// OrganizationChange is what is to be different; what is empty or nil stays.
type OrganizationChange struct {
	Name           string
	TimeZone       string
	StrictCarriers *bool
}

const zoneIsFixed = "can be changed only while there is no feedback: its days are counted in this zone"

// Organization returns the organization that is seen.
func (s *Store) Organization(ctx context.Context, v View) (Organization, error) {
	return one[Organization](ctx, s.db, "organization", organizationSQL+` WHERE o.id = $1`, v.org)
}

// ChangeOrganization makes the changes and returns the result. It refuses a name that is in use, a time zone that Go or
// PostgreSQL does not know, and another time zone once there is feedback.
func (s *Store) ChangeOrganization(ctx context.Context, v View, c OrganizationChange, form *fault.Form) (Organization, error) {
	c.Name, c.TimeZone = trimmed(form, "name", c.Name), trimmed(form, "time_zone", c.TimeZone)
	rezoned, err := s.checkOrganization(ctx, v, c, form)
	if err != nil {
		return Organization{}, err
	}
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if rezoned {
			if err := setZone(ctx, tx, v, c.TimeZone, form); err != nil {
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
	var taken, known, used bool
	// Names are unique over all organizations: an operator tells them apart by it.
	err = s.db.QueryRow(ctx, `
		SELECT o.time_zone,
		       EXISTS (SELECT FROM organization n WHERE n.name = $2 AND n.id <> $1),
		       $3 = '' OR EXISTS (SELECT FROM pg_timezone_names WHERE name = $3),
		       EXISTS (SELECT FROM feedback WHERE organization_id = $1)
		FROM organization o
		WHERE o.id = $1`, v.org, c.Name, c.TimeZone).Scan(&zone, &taken, &known, &used)
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
	switch {
	case !rezoned:
	case !known || !isZone(c.TimeZone):
		form.Add("time_zone", "must be a name of the time zone database, such as Europe/Paris")
	case used:
		form.Add("time_zone", zoneIsFixed)
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

// setZone changes the time zone while there is no feedback. A feedback being written takes its day from the zone it saw when it
// began, so writers are kept out for the moment between looking and changing.
func setZone(ctx context.Context, tx pgx.Tx, v View, zone string, form *fault.Form) error {
	// A lock that has to be waited for makes everyone behind it wait.
	if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '2s'`); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `LOCK TABLE feedback IN SHARE MODE`)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "55P03" {
		return fault.New(fault.Unavailable, "The time zone cannot be changed while so much is being written. Try again in a moment.")
	}
	if err != nil {
		return err
	}
	tag, err := tx.Exec(ctx, `
		UPDATE organization SET time_zone = $2
		WHERE id = $1 AND NOT EXISTS (SELECT FROM feedback WHERE organization_id = $1)`, v.org, zone)
	if err == nil && tag.RowsAffected() == 0 {
		form.Add("time_zone", zoneIsFixed)
		return form.Err()
	}
	return err
}
