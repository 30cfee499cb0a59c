package account

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"earshot/internal/fault"
	"earshot/internal/pg"
)

// UserFilter narrows a list of users down; what is empty narrows nothing.
type UserFilter struct {
	Email string // the whole address, in any spelling of its case
	Role  Role
}

// Users returns one page of the organization's users by id, and how many there are in all.
func (s *Store) Users(ctx context.Context, v View, f UserFilter, offset, limit int) ([]User, int, error) {
	users, total, err := page[User](ctx, s.db, userColumns, `
		FROM app_user
		WHERE organization_id = $1 AND ($2::text = '' OR lower(email) = lower($2)) AND ($3::text = '' OR role = $3)`,
		`id`, offset, limit, pg.Args{v.org, f.Email, f.Role})
	if err != nil {
		return nil, 0, fmt.Errorf("list users: %w", err)
	}
	return users, total, nil
}

// User returns a user. An unknown id is fault.NotFound.
func (s *Store) User(ctx context.Context, v View, id UserID) (User, error) {
	return one[User](ctx, s.db, "user", `SELECT `+userColumns+` FROM app_user WHERE organization_id = $1 AND id = $2`, v.org, id)
}

// UsersByEmail finds users by e-mail address, in any spelling of its case. The key is the address as it was asked for; unknown ones are left out.
func (s *Store) UsersByEmail(ctx context.Context, v View, emails []string) (map[string]UserID, error) {
	rows, err := s.db.Query(ctx, `
		SELECT g.email, u.id
		FROM unnest($2::text[]) AS g (email)
		JOIN app_user u ON u.organization_id = $1 AND lower(u.email) = lower(g.email)`, v.org, emails)
	if err != nil {
		return nil, fmt.Errorf("find users: %w", err)
	}
	type match struct {
		Email string
		ID    UserID
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[match])
	if err != nil {
		return nil, fmt.Errorf("find users: %w", err)
	}
	users := make(map[string]UserID, len(found))
	for _, m := range found {
		users[m.Email] = m.ID
	}
	return users, nil
}

// CreateUser adds a user, to the main team unless another one is given. It refuses an address that another user of the
// organization has in any spelling of its case, an unknown role and an unknown team.
func (s *Store) CreateUser(ctx context.Context, v View, u User, form *fault.Form) (User, error) {
	u.ID = 0
	u.trim(form)
	for _, field := range []struct{ name, text string }{{"email", u.Email}, {"name", u.Name}, {"role", string(u.Role)}} {
		if field.text == "" && !form.Wrong(field.name) {
			form.Add(field.name, "is required")
		}
	}
	if err := u.check(ctx, s.db, v, form); err != nil {
		return User{}, err
	}
	u, err := one[User](ctx, s.db, "user", `
		INSERT INTO app_user (organization_id, team_id, email, name, role)
		SELECT organization_id, id, $3, $4, $5 FROM team WHERE organization_id = $1 AND (id = $2 OR $2 = 0 AND main)
		RETURNING `+userColumns, v.org, u.TeamID, u.Email, u.Name, u.Role)
	if fault.Is(err, fault.NotFound) { // the team was deleted a moment ago
		form.Add("team_id", teamIsUnknown)
		return User{}, form.Err()
	}
	return u, userRefused(err, form)
}

// ChangeUser changes what u gives and leaves what is empty. It refuses what CreateUser refuses; an unknown id is
// fault.NotFound. Another role is felt by the user's tokens at once here, and within a second in every other process.
func (s *Store) ChangeUser(ctx context.Context, v View, id UserID, u User, form *fault.Form) (User, error) {
	u.ID = id
	u.trim(form)
	var sums []string
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		was, err := lockUser(ctx, tx, v, id)
		if err != nil {
			return err
		}
		if err := u.check(ctx, tx, v, form); err != nil {
			return err
		}
		u, err = one[User](ctx, tx, "user", `
			UPDATE app_user
			SET email = coalesce(nullif($3, ''), email), name = coalesce(nullif($4, ''), name),
			    role = coalesce(nullif($5, ''), role), team_id = coalesce(nullif($6, 0), team_id)
			WHERE organization_id = $1 AND id = $2
			RETURNING `+userColumns, v.org, id, u.Email, u.Name, u.Role, u.TeamID)
		if err != nil || u.Role == was.Role {
			return userRefused(err, form)
		}
		sums, err = announce(ctx, tx, `
			SELECT sha256 FROM token WHERE organization_id = $1 AND user_id = $2 AND revoked_at IS NULL`, v.org, id)
		return err
	})
	if err != nil {
		return User{}, fmt.Errorf("change user: %w", err)
	}
	s.forget(sums)
	return u, nil
}

// DeleteUser removes a user from the organization and from the feedback they own, and revokes their tokens, which stay on
// record without a user. An unknown id is fault.NotFound.
func (s *Store) DeleteUser(ctx context.Context, v View, id UserID) error {
	var sums []string
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := lockUser(ctx, tx, v, id); err != nil {
			return err
		}
		var err error
		sums, err = announce(ctx, tx, `
			UPDATE token SET revoked_at = coalesce(revoked_at, now()), user_id = NULL
			WHERE organization_id = $1 AND user_id = $2
			RETURNING sha256`, v.org, id)
		if err != nil {
			return err
		}
		// One by one in the order of the feedback, as when that is deleted: two such deletions would otherwise wait for each other.
		if _, err := tx.Exec(ctx, `
			WITH held AS MATERIALIZED (
				SELECT feedback_id FROM feedback_owner
				WHERE organization_id = $1 AND user_id = $2
				ORDER BY feedback_id
				FOR UPDATE
			)
			DELETE FROM feedback_owner w USING held h
			WHERE w.organization_id = $1 AND w.user_id = $2 AND w.feedback_id = h.feedback_id`, v.org, id); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM app_user WHERE organization_id = $1 AND id = $2`, v.org, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete user: %w", err)
	}
	s.forget(sums)
	return nil
}

// lockUser reads a user and keeps new tokens and ownerships of theirs waiting.
func lockUser(ctx context.Context, tx pgx.Tx, v View, id UserID) (User, error) {
	return one[User](ctx, tx, "user", `
		SELECT `+userColumns+` FROM app_user WHERE organization_id = $1 AND id = $2 FOR UPDATE`, v.org, id)
}

func (u *User) trim(form *fault.Form) {
	u.Email, u.Name = trimmed(form, "email", u.Email), trimmed(form, "name", u.Name)
}

// check notes what is wrong with what is given.
func (u *User) check(ctx context.Context, q pg.Querier, v View, form *fault.Form) error {
	if u.Email != "" && !strings.Contains(u.Email, "@") {
		form.Add("email", "must be an e-mail address")
	}
	if u.Role != "" && !u.Role.valid() {
		form.Add("role", roleNames)
	}
	var taken, known bool
	err := q.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM app_user WHERE organization_id = $1 AND lower(email) = lower($2) AND id <> $3),
		       $4 = 0 OR EXISTS (SELECT FROM team WHERE organization_id = $1 AND id = $4)`,
		v.org, u.Email, u.ID, u.TeamID).Scan(&taken, &known)
	if err != nil {
		return fmt.Errorf("read users: %w", err)
	}
	if taken {
		form.Add("email", emailIsTaken)
	}
	if !known {
		form.Add("team_id", teamIsUnknown)
	}
	return form.Err()
}

const (
	emailIsTaken  = "is the address of another user"
	teamIsUnknown = "is not a team of this organization"
	roleNames     = "must be one of admin, editor, viewer, restricted_viewer"
)

// refused turns what the database says to the one who came a moment later into the same sentences.
func userRefused(err error, form *fault.Form) error {
	switch {
	case pg.Violates(err, "app_user_email"):
		form.Add("email", emailIsTaken)
	case pg.Violates(err, "app_user_team"):
		form.Add("team_id", teamIsUnknown)
	default:
		return err
	}
	return form.Err()
}

// announce tells every process that the tokens whose hashes a statement returns mean something else once the transaction is
// through. It returns the hashes in hexadecimal, for this process to forget then.
func announce(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]string, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	sums, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var sum []byte
		err := row.Scan(&sum)
		return hex.EncodeToString(sum), err
	})
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `SELECT pg_notify($1, sum) FROM unnest($2::text[]) AS n (sum)`, TokenChannel, sums)
	return sums, err
}

func (s *Store) forget(sums []string) {
	for _, sum := range sums {
		s.ForgetToken(sum)
	}
}
