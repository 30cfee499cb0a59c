package account

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/fault"
	"earshot/internal/pg"
)

// Team is a part of an organization. Users, carriers and reports belong to one each.
type Team struct {
	ID        int64
	Name      string
	Main      bool // the one that what names no team belongs to
	CreatedAt time.Time
}

const teamColumns = "id, name, main, created_at"

// Teams returns one page of the organization's teams by id, and how many there are in all.
func (s *Store) Teams(ctx context.Context, v View, offset, limit int) ([]Team, int, error) {
	teams, total, err := page[Team](ctx, s.db, teamColumns, `FROM team WHERE organization_id = $1`, `id`, offset, limit, pg.Args{v.org})
	if err != nil {
		return nil, 0, fmt.Errorf("list teams: %w", err)
	}
	return teams, total, nil
}

// Team returns a team. An unknown id is fault.NotFound.
func (s *Store) Team(ctx context.Context, v View, id int64) (Team, error) {
	return one[Team](ctx, s.db, "team", `SELECT `+teamColumns+` FROM team WHERE organization_id = $1 AND id = $2`, v.org, id)
}

// CreateTeam adds a team. It refuses a name that another team of the organization has in any spelling of its case.
func (s *Store) CreateTeam(ctx context.Context, v View, name string, form *fault.Form) (Team, error) {
	if name = trimmed(form, "name", name); name == "" && !form.Wrong("name") {
		form.Add("name", "is required")
	}
	if err := form.Err(); err != nil {
		return Team{}, err
	}
	t, err := one[Team](ctx, s.db, "team", `
		INSERT INTO team (organization_id, name) VALUES ($1, $2) RETURNING `+teamColumns, v.org, name)
	return t, teamNameTaken(err, form)
}

// RenameTeam gives a team another name; the empty one leaves it as it is. It refuses what CreateTeam refuses; an unknown
// id is fault.NotFound.
func (s *Store) RenameTeam(ctx context.Context, v View, id int64, name string, form *fault.Form) (Team, error) {
	name = trimmed(form, "name", name)
	if err := form.Err(); err != nil {
		return Team{}, err
	}
	t, err := one[Team](ctx, s.db, "team", `
		UPDATE team SET name = coalesce(nullif($3, ''), name)
		WHERE organization_id = $1 AND id = $2
		RETURNING `+teamColumns, v.org, id, name)
	return t, teamNameTaken(err, form)
}

func teamNameTaken(err error, form *fault.Form) error {
	if pg.Violates(err, "team_name") {
		form.Add("name", "is the name of another team")
		return form.Err()
	}
	return err
}

// DeleteTeam removes a team. It refuses the main team, and one that still has users, carriers or reports. An unknown
// id is fault.NotFound.
func (s *Store) DeleteTeam(ctx context.Context, v View, id int64) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		// Whoever is about to join the team waits for this lock; whoever has, is counted.
		t, err := one[Team](ctx, tx, "team", `
			SELECT `+teamColumns+` FROM team WHERE organization_id = $1 AND id = $2 FOR UPDATE`, v.org, id)
		if err != nil {
			return err
		}
		if t.Main {
			return fault.New(fault.ValidationFailed, "The main team cannot be deleted: what names no team belongs to it.")
		}
		var users, carriers, reports int
		err = tx.QueryRow(ctx, `
			SELECT (SELECT count(*) FROM app_user WHERE organization_id = $1 AND team_id = $2),
			       (SELECT count(*) FROM carrier WHERE organization_id = $1 AND team_id = $2),
			       (SELECT count(*) FROM report WHERE organization_id = $1 AND team_id = $2)`, v.org, id).Scan(&users, &carriers, &reports)
		if err != nil {
			return err
		}
		if users+carriers+reports > 0 {
			return fault.New(fault.ValidationFailed,
				"The team cannot be deleted: users: %d, carriers: %d, reports: %d. Give them another team first.", users, carriers, reports)
		}
		_, err = tx.Exec(ctx, `DELETE FROM team WHERE organization_id = $1 AND id = $2`, v.org, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete team: %w", err)
	}
	return nil
}
