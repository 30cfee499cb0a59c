// Package optout keeps the list of targets, usually e-mail addresses, that no push may reach, and the signed links by which
// people put themselves on it. A target is any text: it is kept as first sent and compared in lower case, whole.
package optout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

const (
	// MaxTarget is how many characters a target may have.
	MaxTarget = 320
	// MaxTargets is how many targets are taken at once.
	MaxTargets = 10_000
)

// Store reads and writes opt-outs.
type Store struct {
	db    *pgxpool.Pool
	reads *pgxpool.Pool
}

// NewStore returns a store on the database. Filters run on reads, whose connections must plan every execution anew: only then
// does the beginning of a target find its place in the index.
func NewStore(db, reads *pgxpool.Pool) *Store { return &Store{db: db, reads: reads} }

// OptOut is one target that no push may reach.
type OptOut struct {
	Target    string
	CreatedAt time.Time
}

// Query is which opt-outs are listed. Target is a whole target in any spelling of its case, in which * stands for any characters;
// the empty one narrows nothing. Without OldestFirst the newest come first; those of one time are in the order of their arrival.
type Query struct {
	Target        string
	OldestFirst   bool
	Offset, Limit int
}

// List returns one page of the opt-outs, and how many match in all.
func (s *Store) List(ctx context.Context, v account.View, q Query) ([]OptOut, int, error) {
	args := pg.Args{v.Org()}
	from := ` FROM push_unsubscribe WHERE organization_id = $1`
	switch target := fql.Fold(strings.TrimSpace(q.Target)); {
	case q.Target == "":
	case strings.Contains(target, "*"):
		from += ` AND folded LIKE ` + args.Bind(pattern(target))
	default:
		from += ` AND folded = ` + args.Bind(target)
	}
	order := ` ORDER BY created_at DESC, id DESC`
	if q.OldestFirst {
		order = ` ORDER BY created_at, id`
	}
	var (
		total int
		found []OptOut
		b     pgx.Batch
	)
	b.Queue(`SELECT count(*)`+from, slices.Clone(args)...).
		QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	page := `SELECT target, created_at` + from + order + ` LIMIT ` + args.Bind(q.Limit) + ` OFFSET ` + args.Bind(q.Offset)
	b.Queue(page, args...).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, pgx.RowToStructByName[OptOut])
		return err
	})
	err := s.reads.SendBatch(ctx, &b).Close()
	if pg.TimedOut(err) {
		return nil, 0, fault.New(fault.QueryTooBroad, "This filter takes too long. Begin it with the beginning of a target.")
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list opt-outs: %w", err)
	}
	return found, total, nil
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`, `*`, `%`)

// pattern is the LIKE pattern of a filter: only * is special in it.
func pattern(filter string) string { return likeEscaper.Replace(filter) }

// Add puts a target on the list and reports whether it was new; one that is there already comes back as it was first added.
// It refuses a blank target and one that is too long.
func (s *Store) Add(ctx context.Context, v account.View, target string, form *fault.Form) (added OptOut, isNew bool, err error) {
	t := read(target, "target", form)
	if err := form.Err(); err != nil {
		return OptOut{}, false, err
	}
	return s.add(ctx, v, t)
}

func (s *Store) add(ctx context.Context, v account.View, t target) (added OptOut, isNew bool, err error) {
	for {
		err = s.db.QueryRow(ctx, `
			WITH added AS (
				INSERT INTO push_unsubscribe (organization_id, target, folded) VALUES ($1, $2, $3)
				ON CONFLICT (organization_id, folded) DO NOTHING
				RETURNING target, created_at
			)
			SELECT target, created_at, true FROM added
			UNION ALL
			SELECT target, created_at, false FROM push_unsubscribe
			WHERE organization_id = $1 AND folded = $3 AND NOT EXISTS (SELECT FROM added)`, v.Org(), t.text, t.folded).
			Scan(&added.Target, &added.CreatedAt, &isNew)
		switch {
		case err == nil:
			return added, isNew, nil
		case !errors.Is(err, pgx.ErrNoRows):
			return OptOut{}, false, fmt.Errorf("add opt-out: %w", err)
		}
		// Somebody else has added it since this statement began; the next one sees theirs.
	}
}

// AddAll puts many targets on the list in one statement and says how many were new and how many were there already; one that is given
// twice is new once. The first of several spellings is kept. It refuses all of them when one is blank or too long, none, and more
// than MaxTargets.
func (s *Store) AddAll(ctx context.Context, v account.View, targets []string, form *fault.Form) (added, already int, err error) {
	all, err := readAll(targets, MaxTargets, form)
	if err != nil {
		return 0, 0, err
	}
	// One order everywhere, or two statements with the same new targets would wait for each other.
	slices.SortStableFunc(all, func(a, b target) int { return strings.Compare(a.folded, b.folded) })
	all = slices.CompactFunc(all, func(a, b target) bool { return a.folded == b.folded })
	texts, folded := make([]string, len(all)), make([]string, len(all))
	for i, t := range all {
		texts[i], folded[i] = t.text, t.folded
	}
	tag, err := s.db.Exec(ctx, `
		INSERT INTO push_unsubscribe (organization_id, target, folded)
		SELECT $1, target, folded
		FROM unnest($2::text[], $3::text[]) AS t (target, folded)
		ORDER BY folded COLLATE "C"
		ON CONFLICT (organization_id, folded) DO NOTHING`, v.Org(), texts, folded)
	if err != nil {
		return 0, 0, fmt.Errorf("add opt-outs: %w", err)
	}
	added = int(tag.RowsAffected())
	return added, len(targets) - added, nil
}

// Remove takes a target off the list. One that is not on it is fault.NotFound.
func (s *Store) Remove(ctx context.Context, v account.View, target string, form *fault.Form) error {
	t := read(target, "target", form)
	if err := form.Err(); err != nil {
		return err
	}
	tag, err := s.db.Exec(ctx, `DELETE FROM push_unsubscribe WHERE organization_id = $1 AND folded = $2`, v.Org(), t.folded)
	if err != nil {
		return fmt.Errorf("remove opt-out: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.Missing("opt-out")
	}
	return nil
}

// Check returns for each target, in the order given, since when no push may reach it, nil where one may. It refuses what AddAll refuses.
func (s *Store) Check(ctx context.Context, v account.View, targets []string, form *fault.Form) ([]*time.Time, error) {
	all, err := readAll(targets, MaxTargets, form)
	if err != nil {
		return nil, err
	}
	folded := make([]string, len(all))
	for i, t := range all {
		folded[i] = t.folded
	}
	rows, err := s.db.Query(ctx, `
		SELECT folded AS target, created_at FROM push_unsubscribe
		WHERE organization_id = $1 AND folded = ANY ($2)`, v.Org(), folded)
	if err != nil {
		return nil, fmt.Errorf("check targets: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[OptOut])
	if err != nil {
		return nil, fmt.Errorf("check targets: %w", err)
	}
	times := make(map[string]time.Time, len(found))
	for _, o := range found {
		times[o.Target] = o.CreatedAt
	}
	since := make([]*time.Time, len(folded))
	for i, f := range folded {
		if at, ok := times[f]; ok {
			since[i] = &at
		}
	}
	return since, nil
}

// target is a target without the spaces around it, and in lower case.
type target struct{ text, folded string }

// read reads a target, and notes what is wrong with it.
func read(text, field string, form *fault.Form) target {
	t := strings.TrimSpace(text)
	switch {
	case form.Wrong(field):
	case t == "":
		form.Add(field, "is required and must not be blank")
	case utf8.RuneCountInString(t) > MaxTarget:
		form.Add(field, "must not be longer than %d characters", MaxTarget)
	}
	return target{text: t, folded: fql.Fold(t)}
}

// readAll reads a list of targets, and returns all that is wrong with the form.
func readAll(texts []string, most int, form *fault.Form) ([]target, error) {
	switch {
	case form.Wrong("targets"):
	case len(texts) == 0:
		form.Add("targets", "must have at least one element")
	case len(texts) > most:
		form.Add("targets", "must not have more than %d elements", most)
	default:
		all := make([]target, len(texts))
		for i, text := range texts {
			all[i] = read(text, "targets."+strconv.Itoa(i), form)
		}
		return all, form.Err()
	}
	return nil, form.Err()
}
