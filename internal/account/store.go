package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/fault"
	"earshot/internal/pg"
)

// Store reads and writes accounts.
type Store struct {
	db     *pgxpool.Pool
	tokens *pg.Cache[string, identity]
}

// NewStore returns a store on the database.
func NewStore(db *pgxpool.Pool) *Store {
	return &Store{db: db, tokens: pg.NewCache[string, identity](func(sum string) string { return sum })}
}

// Organization is one tenant.
type Organization struct {
	ID             OrgID
	Name           string
	TimeZone       string
	StrictCarriers bool
	MainTeamID     int64
}

// User is a person of an organization.
type User struct {
	ID     UserID
	TeamID int64
	Email  string
	Name   string
	Role   Role
}

// OpenOrganization finds the organization of that name, or creates it with its main team.
// It takes no view: organizations are made before anyone can have one.
func (s *Store) OpenOrganization(ctx context.Context, name string) (Organization, error) {
	name = strings.TrimSpace(name)
	var form fault.Form
	if name == "" {
		form.Add("name", "is required")
		return Organization{}, form.Err()
	}
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		// The second INSERT finds a team when the organization was there already.
		_, err := tx.Exec(ctx, `INSERT INTO organization (name) VALUES ($1) ON CONFLICT (name) DO NOTHING`, name)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO team (organization_id, name, main)
			SELECT id, 'Main team', true FROM organization WHERE name = $1
			ON CONFLICT (organization_id) WHERE main DO NOTHING`, name)
		return err
	})
	if err != nil {
		return Organization{}, fmt.Errorf("create organization: %w", err)
	}
	return s.OrganizationByName(ctx, name)
}

// Organizations lists all of them by id, for an operator.
func (s *Store) Organizations(ctx context.Context) ([]Organization, error) {
	rows, err := s.db.Query(ctx, organizationSQL+` ORDER BY o.id`)
	if err != nil {
		return nil, fmt.Errorf("list organizations: %w", err)
	}
	orgs, err := pgx.CollectRows(rows, pgx.RowToStructByName[Organization])
	if err != nil {
		return nil, fmt.Errorf("list organizations: %w", err)
	}
	return orgs, nil
}

const organizationSQL = `
	SELECT o.id, o.name, o.time_zone, o.strict_carriers, t.id AS main_team_id
	FROM organization o
	JOIN team t ON t.organization_id = o.id AND t.main`

// OrganizationByName finds an organization for an operator who names it. An unknown name is fault.NotFound.
// It takes no view: it is how an operator gets one.
func (s *Store) OrganizationByName(ctx context.Context, name string) (Organization, error) {
	rows, err := s.db.Query(ctx, organizationSQL+` WHERE o.name = $1`, strings.TrimSpace(name))
	if err != nil {
		return Organization{}, fmt.Errorf("find organization: %w", err)
	}
	org, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Organization])
	if errors.Is(err, pgx.ErrNoRows) {
		return Organization{}, fault.Missing("organization")
	}
	if err != nil {
		return Organization{}, fmt.Errorf("find organization: %w", err)
	}
	return org, nil
}

// SetStrict says whether carriers and questions that nobody registered are refused.
func (s *Store) SetStrict(ctx context.Context, v View, strict bool) error {
	_, err := s.db.Exec(ctx, `UPDATE organization SET strict_carriers = $2 WHERE id = $1`, v.org, strict)
	if err != nil {
		return fmt.Errorf("set strictness: %w", err)
	}
	return nil
}

// OpenUser finds the user with that e-mail address, in any spelling of its case, or adds them to the main team.
func (s *Store) OpenUser(ctx context.Context, v View, u User) (User, error) {
	var form fault.Form
	if !strings.Contains(u.Email, "@") {
		form.Add("email", "must be an e-mail address")
	}
	if !u.Role.valid() {
		form.Add("role", "must be one of admin, editor, viewer, restricted_viewer")
	}
	if err := form.Err(); err != nil {
		return User{}, err
	}
	_, err := s.db.Exec(ctx, `
		INSERT INTO app_user (organization_id, team_id, email, name, role)
		SELECT organization_id, id, $2, $3, $4 FROM team WHERE organization_id = $1 AND main
		ON CONFLICT (organization_id, lower(email)) DO NOTHING`, v.org, u.Email, u.Name, u.Role)
	if err != nil {
		return User{}, fmt.Errorf("add user: %w", err)
	}
	return s.UserByEmail(ctx, v, u.Email)
}

// UserByEmail finds a user by e-mail address, in any spelling of its case. An unknown one is fault.NotFound.
func (s *Store) UserByEmail(ctx context.Context, v View, email string) (User, error) {
	rows, err := s.db.Query(ctx, `
		SELECT id, team_id, email, name, role FROM app_user
		WHERE organization_id = $1 AND lower(email) = lower($2)`, v.org, email)
	if err != nil {
		return User{}, fmt.Errorf("find user: %w", err)
	}
	u, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[User])
	if errors.Is(err, pgx.ErrNoRows) {
		return User{}, fault.Missing("user")
	}
	if err != nil {
		return User{}, fmt.Errorf("find user: %w", err)
	}
	return u, nil
}

func (r Role) valid() bool { return slices.Contains(Roles(), r) }
