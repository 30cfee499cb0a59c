package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg"
)

// storedOptions are options as they are kept.
type storedOptions struct {
	Metric     Metric `json:"metric,omitempty"`
	Interval   string `json:"interval,omitempty"`
	By         string `json:"by,omitempty"`
	QuestionID int64  `json:"question_id,omitempty"`
	Limit      int    `json:"limit,omitempty"`
}

// Components returns what a report shows, in order. A report that the caller may not see is fault.NotFound.
func (s *Store) Components(ctx context.Context, p account.Principal, id int64) ([]Component, error) {
	if _, err := s.ByID(ctx, p, id); err != nil {
		return nil, err
	}
	return readComponents(ctx, s.db, p.View(), id)
}

// SetComponents makes a report show these components, in this order, and returns them. Those that give the id of one it has keep
// it. It notes every mistake at components.N and refuses them all together; a report that the caller may not see is fault.NotFound.
func (s *Store) SetComponents(ctx context.Context, p account.Principal, id int64, components []Component, form *fault.Form) ([]Component, error) {
	questions, err := s.carriers.Questions(ctx, p.View(), questionIDs(components))
	if err != nil {
		return nil, err
	}
	components = slices.Clone(components)
	for i := range components {
		components[i].check(fmt.Sprintf("components.%d.", i), form, questions)
	}
	if len(components) > MaxComponents {
		form.Add("components", "must not have more than %d elements", MaxComponents)
	}
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		r, err := find(ctx, tx, p, id, "FOR UPDATE")
		if err != nil {
			return err
		}
		was, err := readComponents(ctx, tx, p.View(), id)
		if err != nil {
			return err
		}
		if err := checkTogether(r, was, components, form); err != nil {
			return err
		}
		if slices.Equal(was, components) {
			return nil
		}
		if err := writeComponents(ctx, tx, p.View(), id, components); err != nil {
			return err
		}
		if components, err = readComponents(ctx, tx, p.View(), id); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE report SET updated_at = now() WHERE organization_id = $1 AND id = $2`, p.View().Org(), id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("change components: %w", err)
	}
	return components, nil
}

// checkTogether notes ids that are none of the report's components, or given twice, and filters that are too long together with the report's.
func checkTogether(r Report, was, components []Component, form *fault.Form) error {
	whole, err := feedback.Filters.Parse(r.FQL)
	if err != nil {
		return fmt.Errorf("filter of the report: %w", err)
	}
	for i, c := range components {
		path := fmt.Sprintf("components.%d.", i)
		same := func(o Component) bool { return o.ID == c.ID }
		if c.ID != 0 && (!slices.ContainsFunc(was, same) || slices.ContainsFunc(components[:i], same)) && !form.Wrong(path+"id") {
			form.Add(path+"id", "must be a component of this report, once")
		}
		if form.Wrong(path + "fql") {
			continue
		}
		if _, err := c.query(whole); err != nil {
			form.Add(path+"fql", "is too long together with the filter of the report: %s", err)
		}
	}
	return form.Err()
}

// checkCombined notes a filter that is too long together with that of one of the report's components.
func checkCombined(ctx context.Context, q pg.Querier, v account.View, id int64, text string, form *fault.Form) error {
	whole, err := feedback.Filters.Parse(text)
	if err != nil {
		return fmt.Errorf("filter of the report: %w", err)
	}
	if whole.Everything() {
		return nil
	}
	components, err := readComponents(ctx, q, v, id)
	if err != nil {
		return err
	}
	for i, c := range components {
		if _, err := c.query(whole); err != nil {
			form.Add("fql", "is too long together with the filter of component %d: %s", i+1, err)
			return nil
		}
	}
	return nil
}

func readComponents(ctx context.Context, q pg.Querier, v account.View, id int64) ([]Component, error) {
	rows, err := q.Query(ctx, `
		SELECT id, type, title, coalesce(fql, ''), options
		FROM report_component
		WHERE organization_id = $1 AND report_id = $2
		ORDER BY position`, v.Org(), id)
	if err != nil {
		return nil, fmt.Errorf("read components: %w", err)
	}
	components, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Component, error) {
		var c Component
		var options []byte
		if err := row.Scan(&c.ID, &c.Type, &c.Title, &c.FQL, &options); err != nil {
			return c, err
		}
		var stored storedOptions
		err := json.Unmarshal(options, &stored)
		c.Options = Options(stored)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("read components: %w", err)
	}
	return components, nil
}

// writeComponents puts components in the place of those a report has; one with an id keeps it.
func writeComponents(ctx context.Context, tx pgx.Tx, v account.View, id int64, components []Component) error {
	n := len(components)
	ids, kinds, titles, filters, options := make([]int64, n), make([]Kind, n), make([]string, n), make([]string, n), make([]string, n)
	for i, c := range components {
		ids[i], kinds[i], titles[i], filters[i] = c.ID, c.Type, c.Title, c.FQL
		b, err := json.Marshal(storedOptions(c.Options))
		if err != nil {
			return fmt.Errorf("encode options: %w", err)
		}
		options[i] = string(b)
	}
	b := &pgx.Batch{}
	b.Queue(`DELETE FROM report_component WHERE organization_id = $1 AND report_id = $2`, v.Org(), id)
	b.Queue(`
		INSERT INTO report_component (organization_id, report_id, id, position, type, title, fql, options)
		SELECT $1, $2, coalesce(nullif(c.id, 0), nextval(pg_get_serial_sequence('report_component', 'id'))), c.position,
		       c.type, c.title, nullif(c.fql, ''), c.options::jsonb
		FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[]) WITH ORDINALITY AS c (id, type, title, fql, options, position)
		ORDER BY c.position`, v.Org(), id, ids, kinds, titles, filters, options)
	return tx.SendBatch(ctx, b).Close()
}

func copyComponents(ctx context.Context, tx pgx.Tx, v account.View, from, to int64) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO report_component (organization_id, report_id, position, type, title, fql, options)
		SELECT organization_id, $3, position, type, title, fql, options
		FROM report_component
		WHERE organization_id = $1 AND report_id = $2
		ORDER BY position`, v.Org(), from, to)
	return err
}
