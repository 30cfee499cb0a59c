package corpus

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// loaded are the tables that get millions of rows.
var loaded = []string{"feedback", "feedback_content", "attribute_value"}

// stripped is what was taken off the tables for the load, as the catalog had it, so that it comes back as the migrations made it.
type stripped struct {
	keys    []key
	indexes []index
}

// key is a foreign key.
type key struct{ Relation, Name, Definition string }

// index is an index, and the constraint it serves if any.
type index struct {
	Relation, Name, Definition string
	Constraint                 string // PRIMARY KEY, UNIQUE or nothing
}

// strip drops the indexes of the tables to be loaded and the foreign keys from and to them: filling an index in one go takes a
// fraction of the time, and a foreign key would be checked row by row.
func strip(ctx context.Context, db *pgxpool.Pool) (*stripped, error) {
	var s stripped
	b := &pgx.Batch{}
	b.Queue(`
		SELECT conrelid::regclass::text AS relation, conname::text AS name, pg_get_constraintdef(oid) AS definition
		FROM pg_constraint
		WHERE contype = 'f' AND (conrelid::regclass::text = ANY($1) OR confrelid::regclass::text = ANY($1))`, loaded).
		Query(func(rows pgx.Rows) (err error) {
			s.keys, err = pgx.CollectRows(rows, pgx.RowToStructByName[key])
			return err
		})
	b.Queue(`
		SELECT i.tablename::text AS relation, i.indexname::text AS name, i.indexdef AS definition,
		       CASE c.contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' ELSE '' END AS constraint
		FROM pg_indexes i
		LEFT JOIN pg_constraint c ON c.conindid = i.indexname::regclass AND c.contype IN ('p', 'u')
		WHERE i.schemaname = 'public' AND i.tablename = ANY($1)`, loaded).
		Query(func(rows pgx.Rows) (err error) {
			s.indexes, err = pgx.CollectRows(rows, pgx.RowToStructByName[index])
			return err
		})
	if err := db.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	var drops []string
	for _, k := range s.keys {
		drops = append(drops, fmt.Sprintf(`ALTER TABLE %s DROP CONSTRAINT %s`, name(k.Relation), name(k.Name)))
	}
	for _, i := range s.indexes {
		if i.Constraint == "" {
			drops = append(drops, `DROP INDEX `+name(i.Name))
		} else {
			drops = append(drops, fmt.Sprintf(`ALTER TABLE %s DROP CONSTRAINT %s`, name(i.Relation), name(i.Name)))
		}
	}
	_, err := db.Exec(ctx, strings.Join(drops, ";"))
	return &s, err
}

// restore builds the indexes anew, the slowest first and the other jobs behind them, so that both sessions are busy to the end. The
// foreign keys come last: they are checked through the indexes.
func (s *stripped) restore(ctx context.Context, db *pgxpool.Pool, others []job) error {
	var slow, trees, constraints, keys []job
	for _, i := range s.indexes {
		j := statement("index "+i.Name, db, i.Definition)
		if strings.Contains(i.Definition, " USING btree ") {
			trees = append(trees, j)
		} else {
			slow = append(slow, j)
		}
		// Not together with the index: two of one table would each wait for the other's lock.
		if i.Constraint != "" {
			sql := fmt.Sprintf(`ALTER TABLE %s ADD CONSTRAINT %s %s USING INDEX %s`, name(i.Relation), name(i.Name), i.Constraint, name(i.Name))
			constraints = append(constraints, statement("constraint "+i.Name, db, sql))
		}
	}
	for _, k := range s.keys {
		sql := fmt.Sprintf(`ALTER TABLE %s ADD CONSTRAINT %s %s`, name(k.Relation), name(k.Name), k.Definition)
		keys = append(keys, statement("foreign key "+k.Name, db, sql))
	}
	for _, jobs := range [][]job{slices.Concat(slow, trees, others), constraints, keys} {
		if err := inPairs(ctx, jobs); err != nil {
			return err
		}
	}
	return nil
}

func name(identifier string) string { return pgx.Identifier{identifier}.Sanitize() }
