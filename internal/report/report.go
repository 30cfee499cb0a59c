// Package report keeps reports, what they show and the links that show them to people without an account. Every figure of a
// report comes with the filter that lists exactly the feedback behind it, and all figures of a report are seen at one moment.
package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg"
)

// Store reads and writes reports.
type Store struct {
	db       *pgxpool.Pool
	carriers *carrier.Store
	records  *feedback.Store
}

// NewStore returns a store on the database that takes its figures from the records.
func NewStore(db *pgxpool.Pool, carriers *carrier.Store, records *feedback.Store) *Store {
	return &Store{db: db, carriers: carriers, records: records}
}

// Type says who sees a report. A private one is its user's, and a master serves as a template.
type Type string

// The types of reports.
const (
	Master  Type = "master"
	Private Type = "private"
	Public  Type = "public"
)

// Types lists every type.
func Types() []string { return []string{string(Master), string(Private), string(Public)} }

// Statuses lists what a report can be: still worked on, or ready to be read. It changes nothing else.
func Statuses() []string { return []string{"draft", "published"} }

// Colors lists the palettes that charts can be drawn in. Without one they have the colours of the product.
func Colors() []string {
	return []string{"blue", "teal", "green", "yellow", "orange", "red", "pink", "purple", "brown", "grey"}
}

// NoColor takes a report's palette away.
const NoColor = "none"

// Report is a view on an organization's feedback.
type Report struct {
	ID        int64
	UserID    *account.UserID // nil: the organization's
	TeamID    int64
	Name      string
	Type      Type
	Status    string
	FQL       string // as it was sent
	Color     *string
	CreatedAt time.Time
	UpdatedAt time.Time
}

const reportColumns = "r.id, r.user_id, r.team_id, r.name, r.type, r.status, r.fql, r.color, r.created_at, r.updated_at"

// visible is the condition on reports r that a caller may see them. Whoever sees a report may change it if they may change reports at all.
func visible(p account.Principal, args *pg.Args) string {
	where := "r.organization_id = " + args.Bind(p.View().Org())
	switch {
	case p.UserID == 0 || p.Role == account.Admin:
		return where
	case p.Role == account.RestrictedViewer:
		return where + " AND r.user_id = " + args.Bind(p.UserID)
	}
	return where + " AND (r.type <> 'private' OR r.user_id = " + args.Bind(p.UserID) + ")"
}

// ByID returns a report. One that the caller may not see is fault.NotFound, like one that never was.
func (s *Store) ByID(ctx context.Context, p account.Principal, id int64) (Report, error) {
	return find(ctx, s.db, p, id, "")
}

// find reads a report; lock is how its row is locked, if at all.
func find(ctx context.Context, q pg.Querier, p account.Principal, id int64, lock string) (Report, error) {
	var args pg.Args
	where := visible(p, &args) + " AND r.id = " + args.Bind(id)
	return one(ctx, q, `SELECT `+reportColumns+` FROM report r WHERE `+where+` `+lock, args...)
}

// one reads the single report of a statement; when there is none, there is no such report.
func one(ctx context.Context, q pg.Querier, sql string, args ...any) (Report, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return Report{}, fmt.Errorf("read report: %w", err)
	}
	r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Report])
	if errors.Is(err, pgx.ErrNoRows) {
		return Report{}, fault.Missing("report")
	}
	if err != nil {
		return Report{}, fmt.Errorf("read report: %w", err)
	}
	return r, nil
}

// Filter narrows a list of reports down; what is empty narrows nothing.
type Filter struct {
	Name    string // a part of the name, in any case
	UserIDs []int64
	TeamIDs []int64
}

// Sort is one thing a list is ordered by.
type Sort struct {
	By         string // one of Sorts
	Descending bool
}

var sortColumns = map[string]string{"name": `lower(r.name)`, "created_at": "r.created_at"}

// Sorts lists what reports can be ordered by.
func Sorts() []string { return []string{"name", "created_at"} }

// List returns one page of the reports the caller may see, and how many there are in all. What ties is ordered by id, in the
// direction of what was asked for last; without a wish the newest come first.
func (s *Store) List(ctx context.Context, p account.Principal, f Filter, sorts []Sort, offset, limit int) ([]Report, int, error) {
	var args pg.Args
	from := " FROM report r WHERE " + visible(p, &args)
	if f.Name != "" {
		from += " AND position(lower(" + args.Bind(f.Name) + ") IN lower(r.name)) > 0"
	}
	if len(f.UserIDs) > 0 {
		from += " AND r.user_id = ANY(" + args.Bind(f.UserIDs) + ")"
	}
	if len(f.TeamIDs) > 0 {
		from += " AND r.team_id = ANY(" + args.Bind(f.TeamIDs) + ")"
	}
	var (
		total   int
		reports []Report
		b       pgx.Batch
	)
	b.Queue(`SELECT count(*)`+from, slices.Clone(args)...).QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	sql := `SELECT ` + reportColumns + from + orderBy(sorts) + ` LIMIT ` + args.Bind(limit) + ` OFFSET ` + args.Bind(offset)
	b.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		reports, err = pgx.CollectRows(rows, pgx.RowToStructByName[Report])
		return err
	})
	if err := s.db.SendBatch(ctx, &b).Close(); err != nil {
		return nil, 0, fmt.Errorf("list reports: %w", err)
	}
	return reports, total, nil
}

func orderBy(sorts []Sort) string {
	if len(sorts) == 0 {
		sorts = []Sort{{By: "created_at", Descending: true}}
	}
	order := " ORDER BY "
	direction := ""
	for _, s := range sorts {
		direction = " ASC"
		if s.Descending {
			direction = " DESC"
		}
		order += sortColumns[s.By] + direction + ", "
	}
	return order + "r.id" + direction
}

// Delete removes a report with its components and links. One that the caller may not see is fault.NotFound.
func (s *Store) Delete(ctx context.Context, p account.Principal, id int64) error {
	var args pg.Args
	where := visible(p, &args) + " AND r.id = " + args.Bind(id)
	tag, err := s.db.Exec(ctx, `DELETE FROM report r WHERE `+where, args...)
	if err != nil {
		return fmt.Errorf("delete report: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.Missing("report")
	}
	return nil
}
