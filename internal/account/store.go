package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	CreatedAt      time.Time
}

// User is a person of an organization.
type User struct {
	ID        UserID
	TeamID    int64
	Email     string
	Name      string
	Role      Role
	CreatedAt time.Time
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
	SELECT o.id, o.name, o.time_zone, o.strict_carriers, t.id AS main_team_id, o.created_at
	FROM organization o
	JOIN team t ON t.organization_id = o.id AND t.main`

// OrganizationByName finds an organization for an operator who names it. An unknown name is fault.NotFound.
// It takes no view: it is how an operator gets one.
func (s *Store) OrganizationByName(ctx context.Context, name string) (Organization, error) {
	return one[Organization](ctx, s.db, "organization", organizationSQL+` WHERE o.name = $1`, strings.TrimSpace(name))
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
		form.Add("role", roleNames)
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
	return one[User](ctx, s.db, "user", `
		SELECT `+userColumns+` FROM app_user
		WHERE organization_id = $1 AND lower(email) = lower($2)`, v.org, email)
}

const userColumns = "id, team_id, email, name, role, created_at"

func (r Role) valid() bool { return slices.Contains(Roles(), r) }

// one reads the single row of a statement; when there is none, the answer is that there is no such thing.
func one[T any](ctx context.Context, q pg.Querier, what, sql string, args ...any) (T, error) {
	var none T
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return none, fault.Missing(what)
	}
	if err != nil {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	return row, nil
}

// page reads one page of a list, and how many rows the list has in all. from begins with FROM and takes the arguments.
func page[T any](ctx context.Context, q pg.Querier, columns, from, order string, offset, limit int, args pg.Args) ([]T, int, error) {
	var (
		total int
		rows  []T
		b     pgx.Batch
	)
	b.Queue(`SELECT count(*) `+from, slices.Clone(args)...).
		QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	sql := `SELECT ` + columns + ` ` + from + ` ORDER BY ` + order + ` LIMIT ` + args.Bind(limit) + ` OFFSET ` + args.Bind(offset)
	b.Queue(sql, args...).Query(func(r pgx.Rows) (err error) {
		rows, err = pgx.CollectRows(r, pgx.RowToStructByName[T])
		return err
	})
	return rows, total, q.SendBatch(ctx, &b).Close()
}

// trimmed is a text without the spaces around it; one of nothing but spaces is a mistake.
func trimmed(form *fault.Form, field, text string) string {
	t := strings.TrimSpace(text)
	if t == "" && text != "" {
		form.Add(field, "must not be blank")
	}
	return t
}
