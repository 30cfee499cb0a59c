package report

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg"
)

// New is a report to be. What is empty takes its default: the caller's user, the main team, the master's name, filter and palette where
// there is a master, "Unnamed report", everything, public.
type New struct {
	UserID    account.UserID
	TeamID    int64
	MasterID  int64
	Name      string
	Type      Type
	FQL       string // a filter that was read before
	Color     string
	Prefilled bool // with the standard components, where there is no master to take them from
}

// Create adds a report. A master lends its components, too; the copy is on its own from then on. It refuses a user or a
// team that the organization does not have, a master that is none, and a filter too long together with that of a component.
func (s *Store) Create(ctx context.Context, p account.Principal, n New, form *fault.Form) (Report, error) {
	n.Name = trimmed(form, n.Name)
	if n.UserID == 0 {
		n.UserID = p.UserID
	}
	var made Report
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if err := check(ctx, tx, p.View(), n.UserID, n.TeamID, form); err != nil {
			return err
		}
		if err := n.inherit(ctx, tx, p.View(), form); err != nil {
			return err
		}
		if err := form.Err(); err != nil {
			return err
		}
		var err error
		made, err = one(ctx, tx, `
			INSERT INTO report AS r (organization_id, user_id, team_id, name, type, fql, color)
			SELECT t.organization_id, nullif($2, 0), t.id, $4, $5, $6, nullif($7, '')
			FROM team t
			WHERE t.organization_id = $1 AND (t.id = $3 OR $3 = 0 AND t.main)
			RETURNING `+reportColumns, p.View().Org(), n.UserID, n.TeamID, n.Name, n.Type, n.FQL, n.Color)
		if fault.Is(err, fault.NotFound) { // the team was deleted a moment ago
			form.Add("team_id", teamIsUnknown)
			return form.Err()
		}
		if err != nil {
			return err
		}
		switch {
		case n.MasterID != 0:
			return copyComponents(ctx, tx, p.View(), n.MasterID, made.ID)
		case n.Prefilled:
			return writeComponents(ctx, tx, p.View(), made.ID, Standard())
		}
		return nil
	})
	if err != nil {
		return Report{}, refused(err, "create report", form)
	}
	return made, nil
}

// inherit fills in what is not given, from the master where there is one. The master is locked: what is copied belongs together.
func (n *New) inherit(ctx context.Context, tx pgx.Tx, v account.View, form *fault.Form) error {
	from := Report{Name: "Unnamed report", FQL: "[]"}
	if n.MasterID != 0 {
		var err error
		from, err = one(ctx, tx, `
			SELECT `+reportColumns+` FROM report r
			WHERE r.organization_id = $1 AND r.id = $2 AND r.type = 'master'
			FOR SHARE`, v.Org(), n.MasterID)
		if fault.Is(err, fault.NotFound) {
			form.Add("master_id", "is not a master report of this organization")
		} else if err != nil {
			return err
		} else if err := checkCombined(ctx, tx, v, n.MasterID, n.FQL, form); err != nil {
			return err
		}
	}
	if n.Name == "" {
		n.Name = from.Name
	}
	if n.FQL == "" {
		n.FQL = from.FQL
	}
	if n.Color == "" && from.Color != nil {
		n.Color = *from.Color
	}
	if n.Color == NoColor {
		n.Color = ""
	}
	if n.Type == "" {
		n.Type = Public
	}
	return nil
}

// Change is what is to be different; what is empty stays.
type Change struct {
	UserID account.UserID
	TeamID int64
	Name   string
	Type   Type
	Status string
	FQL    string // a filter that was read before
	Color  string // NoColor takes the palette away
}

// Change makes the changes and returns the result; it is another version of the report only where something is different. It refuses a
// user or a team that the organization does not have, and a filter too long together with that of a component. One that the caller
// may not see is fault.NotFound.
func (s *Store) Change(ctx context.Context, p account.Principal, id int64, c Change, form *fault.Form) (Report, error) {
	c.Name = trimmed(form, c.Name)
	var changed Report
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		// A user's row is locked before those of reports, as when a user is deleted.
		if err := check(ctx, tx, p.View(), c.UserID, c.TeamID, form); err != nil {
			return err
		}
		was, err := find(ctx, tx, p, id, "FOR UPDATE")
		if err != nil {
			return err
		}
		if err := checkCombined(ctx, tx, p.View(), id, c.FQL, form); err != nil {
			return err
		}
		if err := form.Err(); err != nil {
			return err
		}
		changed = c.apply(was)
		if !changed.differs(was) {
			return nil
		}
		changed, err = one(ctx, tx, `
			UPDATE report r
			SET user_id = $3, team_id = $4, name = $5, type = $6, status = $7, fql = $8, color = $9, updated_at = now()
			WHERE r.organization_id = $1 AND r.id = $2
			RETURNING `+reportColumns, p.View().Org(), id,
			changed.UserID, changed.TeamID, changed.Name, changed.Type, changed.Status, changed.FQL, changed.Color)
		return err
	})
	if err != nil {
		return Report{}, refused(err, "change report", form)
	}
	return changed, nil
}

func (c Change) apply(r Report) Report {
	if c.UserID != 0 {
		r.UserID = &c.UserID
	}
	if c.TeamID != 0 {
		r.TeamID = c.TeamID
	}
	if c.Name != "" {
		r.Name = c.Name
	}
	if c.Type != "" {
		r.Type = c.Type
	}
	if c.Status != "" {
		r.Status = c.Status
	}
	if c.FQL != "" {
		r.FQL = c.FQL
	}
	switch c.Color {
	case "":
	case NoColor:
		r.Color = nil
	default:
		r.Color = &c.Color
	}
	return r
}

func (r Report) differs(was Report) bool {
	same := func(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }
	sameUser := r.UserID == was.UserID || r.UserID != nil && was.UserID != nil && *r.UserID == *was.UserID
	return !sameUser || !same(r.Color, was.Color) || r.TeamID != was.TeamID || r.Name != was.Name || r.Type != was.Type ||
		r.Status != was.Status || r.FQL != was.FQL
}

const (
	userIsUnknown = "is not a user of this organization"
	teamIsUnknown = "is not a team of this organization"
)

// check notes a user or a team that is not there, and keeps the user from being deleted meanwhile.
func check(ctx context.Context, tx pgx.Tx, v account.View, user account.UserID, team int64, form *fault.Form) error {
	var users, teams int
	b := &pgx.Batch{}
	b.Queue(`
		SELECT count(*) FROM (
			SELECT FROM app_user WHERE organization_id = $1 AND id = $2 FOR KEY SHARE) AS u`, v.Org(), user).
		QueryRow(func(row pgx.Row) error { return row.Scan(&users) })
	b.Queue(`SELECT count(*) FROM team WHERE organization_id = $1 AND id = $2`, v.Org(), team).
		QueryRow(func(row pgx.Row) error { return row.Scan(&teams) })
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	if user != 0 && users == 0 {
		form.Add("user_id", userIsUnknown)
	}
	if team != 0 && teams == 0 {
		form.Add("team_id", teamIsUnknown)
	}
	return nil
}

// refused turns what the database says of a user or team deleted a moment ago into the same sentences.
func refused(err error, doing string, form *fault.Form) error {
	switch {
	case pg.Violates(err, "report_user"):
		form.Add("user_id", userIsUnknown)
		return form.Err()
	case pg.Violates(err, "report_team"):
		form.Add("team_id", teamIsUnknown)
		return form.Err()
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// trimmed is a name without the spaces around it; one of nothing but spaces is a mistake.
func trimmed(form *fault.Form, name string) string {
	t := strings.TrimSpace(name)
	if t == "" && name != "" {
		form.Add("name", "must not be blank")
	}
	return t
}
