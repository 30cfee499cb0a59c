package report

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg"
)

// MaxGroupSize is the largest minimum group size a link can ask for.
const MaxGroupSize = 1000

// Lifetimes lists how long a link can be valid.
func Lifetimes() []string { return []string{"seven_days", "thirty_days", "ninety_days", "four_months"} }

// DefaultLifetime is how long a link is valid unless something else is asked for.
const DefaultLifetime = "four_months"

var lifetimes = map[string]string{"seven_days": "7 days", "thirty_days": "30 days", "ninety_days": "90 days", "four_months": "4 months"}

// expirySQL adds in UTC, where days have 24 hours; months are those of the calendar, and one that is too short ends it on its last day.
func expirySQL(from, interval string) string {
	return `((` + from + `) AT TIME ZONE 'UTC' + ` + interval + `::text::interval) AT TIME ZONE 'UTC'`
}

// Link shows a report to whoever has its token, which is kept nowhere.
type Link struct {
	ID               int64
	HideVerbatims    bool
	MinimumGroupSize int
	Views            int64
	ViewedAt         *time.Time
	ExpiresAt        time.Time
	RevokedAt        *time.Time
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

const linkColumns = `s.id, s.hide_verbatims, s.minimum_group_size, s.views, s.viewed_at, s.expires_at, s.revoked_at,
	s.created_at, s.updated_at`

// State is what became of a link: active, expired or revoked.
func (l Link) State(now time.Time) string {
	switch {
	case l.RevokedAt != nil:
		return "revoked"
	case !now.Before(l.ExpiresAt):
		return "expired"
	}
	return "active"
}

// NewLink is what a link is to be.
type NewLink struct {
	Lifetime         string // one of Lifetimes
	HideVerbatims    bool
	MinimumGroupSize int // groups of fewer feedback are not shown; 0 shows all
}

// Share makes a new link to a report and returns its token, which cannot be shown again. Links made before stay valid. A report
// that the caller may not see is fault.NotFound.
func (s *Store) Share(ctx context.Context, p account.Principal, id int64, n NewLink) (Link, string, error) {
	token := newToken()
	var args pg.Args
	where := visible(p, &args) + " AND r.id = " + args.Bind(id)
	rows, err := s.db.Query(ctx, `
		INSERT INTO report_share AS s (organization_id, report_id, sha256, hide_verbatims, minimum_group_size, expires_at)
		SELECT r.organization_id, r.id, `+args.Bind(hash(token))+`, `+args.Bind(n.HideVerbatims)+`, `+args.Bind(n.MinimumGroupSize)+`,
		       `+expirySQL("now()", args.Bind(lifetimes[n.Lifetime]))+`
		FROM report r
		WHERE `+where+`
		RETURNING `+linkColumns, args...)
	if err != nil {
		return Link{}, "", fmt.Errorf("share report: %w", err)
	}
	link, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Link])
	if errors.Is(err, pgx.ErrNoRows) || pg.Violates(err, "report_share_report") { // the second: deleted a moment ago
		return Link{}, "", fault.Missing("report")
	}
	if err != nil {
		return Link{}, "", fmt.Errorf("share report: %w", err)
	}
	return link, token, nil
}

// Links returns one page of a report's links, the newest first, and how many there are in all. A report that the caller may not
// see is fault.NotFound.
func (s *Store) Links(ctx context.Context, p account.Principal, id int64, offset, limit int) ([]Link, int, error) {
	if _, err := s.ByID(ctx, p, id); err != nil {
		return nil, 0, err
	}
	var (
		total int
		links []Link
		b     pgx.Batch
	)
	args := pg.Args{p.View().Org(), id}
	const from = ` FROM report_share s WHERE s.organization_id = $1 AND s.report_id = $2`
	b.Queue(`SELECT count(*)`+from, slices.Clone(args)...).QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	b.Queue(`SELECT `+linkColumns+from+` ORDER BY s.id DESC LIMIT `+args.Bind(limit)+` OFFSET `+args.Bind(offset), args...).
		Query(func(rows pgx.Rows) (err error) {
			links, err = pgx.CollectRows(rows, pgx.RowToStructByName[Link])
			return err
		})
	if err := s.db.SendBatch(ctx, &b).Close(); err != nil {
		return nil, 0, fmt.Errorf("list links: %w", err)
	}
	return links, total, nil
}

// Revoke makes a link of a report useless at once. Revoking twice keeps the first time. An unknown link, and a report that the caller may
// not see, are fault.NotFound.
func (s *Store) Revoke(ctx context.Context, p account.Principal, id, link int64) error {
	var args pg.Args
	where := visible(p, &args) + " AND r.id = " + args.Bind(id)
	tag, err := s.db.Exec(ctx, `
		UPDATE report_share s
		SET revoked_at = coalesce(s.revoked_at, now()), updated_at = CASE WHEN s.revoked_at IS NULL THEN now() ELSE s.updated_at END
		FROM report r
		WHERE `+where+` AND s.organization_id = r.organization_id AND s.report_id = r.id AND s.id = `+args.Bind(link), args...)
	if err != nil {
		return fmt.Errorf("revoke link: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.Missing("link")
	}
	return nil
}

// Outcome is what a token leads to.
type Outcome int

// The outcomes. Gone is a link that was valid once; whatever else does not lead to the report is Unknown.
const (
	Unknown Outcome = iota
	Gone
	Found
)

// Shared is a report that a token leads to, and what may be seen of it.
type Shared struct {
	View   account.View
	Report Report
	Link   Link
}

// ByToken finds the report that a link shows, and counts the view. It names no organization: like authentication it derives one
// from a secret, and is the only place where the secret of a link is believed. The token of another report is as unknown as none.
func (s *Store) ByToken(ctx context.Context, id int64, token string) (Shared, Outcome, error) {
	if len(token) != tokenLength {
		return Shared{}, Unknown, nil
	}
	var found []shared
	var gone bool
	b := &pgx.Batch{}
	// A view more or less after a crash is no loss; waiting for the disk with the row locked would make viewers queue.
	b.Queue(`SELECT set_config('synchronous_commit', 'off', true)`)
	b.Queue(`
		UPDATE report_share s
		SET views = s.views + 1, viewed_at = now()
		FROM report r
		WHERE s.sha256 = $1 AND s.report_id = $2 AND s.revoked_at IS NULL AND s.expires_at > now()
		  AND r.organization_id = s.organization_id AND r.id = s.report_id
		RETURNING s.organization_id, `+linkColumns+`, `+reportColumns, hash(token), id).
		Query(func(rows pgx.Rows) (err error) {
			found, err = pgx.CollectRows(rows, scanShared)
			return err
		})
	b.Queue(`SELECT EXISTS (SELECT FROM report_share s WHERE s.sha256 = $1 AND s.report_id = $2)`, hash(token), id).
		QueryRow(func(row pgx.Row) error { return row.Scan(&gone) })
	err := s.db.SendBatch(ctx, b).Close()
	switch {
	case err != nil:
		return Shared{}, Unknown, fmt.Errorf("find shared report: %w", err)
	case len(found) == 1:
		return Shared{View: account.Whole(found[0].org), Report: found[0].report, Link: found[0].link}, Found, nil
	case gone:
		return Shared{}, Gone, nil
	}
	return Shared{}, Unknown, nil
}

// shared is a row of ByToken.
type shared struct {
	org    account.OrgID
	link   Link
	report Report
}

func scanShared(row pgx.CollectableRow) (shared, error) {
	var s shared
	l, r := &s.link, &s.report
	err := row.Scan(&s.org,
		&l.ID, &l.HideVerbatims, &l.MinimumGroupSize, &l.Views, &l.ViewedAt, &l.ExpiresAt, &l.RevokedAt, &l.CreatedAt, &l.UpdatedAt,
		&r.ID, &r.UserID, &r.TeamID, &r.Name, &r.Type, &r.Status, &r.FQL, &r.Color, &r.CreatedAt, &r.UpdatedAt)
	return s, err
}

// tokenLength is that of 256 bits in base64 without padding.
const tokenLength = 43

func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
