package feedback

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
)

// ByID returns one record with the parts asked for. A record outside the view is fault.NotFound, like one that never was.
func (s *Store) ByID(ctx context.Context, v account.View, id int64, parts Parts) (Record, error) {
	args := []any{v.Org(), id}
	mine := ""
	if owner, narrowed := v.Owner(); narrowed {
		args = append(args, owner)
		mine = ` AND EXISTS (SELECT FROM feedback_owner w
			WHERE w.organization_id = f.organization_id AND w.feedback_id = f.id AND w.user_id = $3)`
	}
	rows, err := s.db.Query(ctx, `
		SELECT `+recordColumns(parts)+`
		FROM feedback f
		JOIN feedback_content c ON c.organization_id = f.organization_id AND c.feedback_id = f.id
		WHERE f.organization_id = $1 AND f.id = $2`+mine, args...)
	if err != nil {
		return Record{}, fmt.Errorf("read feedback: %w", err)
	}
	rec, err := pgx.CollectExactlyOneRow(rows, scanRecord)
	if errors.Is(err, pgx.ErrNoRows) {
		return Record{}, fault.Missing("feedback")
	}
	if err != nil {
		return Record{}, fmt.Errorf("read feedback: %w", err)
	}
	page := []Record{rec}
	if err := s.addParts(ctx, v, page, parts); err != nil {
		return Record{}, fmt.Errorf("read feedback: %w", err)
	}
	return page[0], nil
}

// recordColumns are what a record is made of. Its items, which may be long, are read only where they are asked for.
func recordColumns(parts Parts) string {
	if parts.Items {
		return ownColumns + "c.items"
	}
	return ownColumns + "NULL::jsonb"
}

const ownColumns = `f.id, f.carrier_id, c.fingerprint, f.source, f.status, f.created_at, f.completed_at,
	coalesce(f.nps_profile, 0), f.satisfaction, f.attribute_value_ids, c.first_item_id, `

func scanRecord(row pgx.CollectableRow) (Record, error) {
	var (
		rec   Record
		first int64
		raw   []byte
	)
	err := row.Scan(&rec.ID, &rec.CarrierID, &rec.Fingerprint, &rec.Source, &rec.Status, &rec.CreatedAt, &rec.CompletedAt,
		&rec.Profile, &rec.Satisfaction, &rec.valueIDs, &first, &raw)
	if err != nil {
		return Record{}, err
	}
	rec.CreatedAt = rec.CreatedAt.UTC()
	if raw == nil {
		return rec, nil
	}
	items, err := decodeItems(raw)
	if err != nil {
		return Record{}, err
	}
	rec.Items = make([]Item, len(items))
	for i, item := range items {
		rec.Items[i] = Item{ID: first + int64(i), QuestionID: item.Question, Value: item.Value, spans: item.Spans}
		if item.Option != 0 {
			rec.Items[i].Option = &carrier.Option{ID: item.Option}
		}
	}
	return rec, nil
}

// addParts loads what was asked for, one statement a part however many records there are.
func (s *Store) addParts(ctx context.Context, v account.View, page []Record, parts Parts) error {
	if parts.Items {
		if err := s.addQuestions(ctx, v, page, parts.Questions); err != nil {
			return err
		}
		if parts.Texts {
			if err := s.addTexts(ctx, v, page); err != nil {
				return err
			}
		}
	}
	if parts.Attributes {
		if err := s.addAttributes(ctx, v, page); err != nil {
			return err
		}
	}
	if parts.Owners {
		return s.addOwners(ctx, v, page)
	}
	return nil
}

func (s *Store) addAttributes(ctx context.Context, v account.View, page []Record) error {
	var ids []int64
	for i := range page {
		ids = append(ids, page[i].valueIDs...)
		page[i].Attributes = []Attribute{}
	}
	if len(ids) == 0 {
		return nil
	}
	type entry struct {
		ID          int64
		AttributeID int64
		Name        string
		Label       string
		Text        string
		IsNumber    bool
	}
	rows, err := s.db.Query(ctx, `
		SELECT v.id, v.attribute_id, a.name, a.label, v.text, v.is_number
		FROM attribute_value v
		JOIN attribute a ON a.organization_id = v.organization_id AND a.id = v.attribute_id
		WHERE v.organization_id = $1 AND v.id = ANY($2)`, v.Org(), ids)
	if err != nil {
		return fmt.Errorf("read attributes: %w", err)
	}
	entries, err := pgx.CollectRows(rows, pgx.RowToStructByName[entry])
	if err != nil {
		return fmt.Errorf("read attributes: %w", err)
	}
	dictionary := make(map[int64]entry, 2*len(entries))
	for _, e := range entries {
		dictionary[e.ID], dictionary[e.AttributeID] = e, e
	}
	for i := range page {
		rec := &page[i]
		for _, id := range rec.valueIDs {
			e, ok := dictionary[id]
			if !ok {
				continue
			}
			at := slices.IndexFunc(rec.Attributes, func(a Attribute) bool { return a.Name == e.Name })
			if at < 0 {
				at = len(rec.Attributes)
				rec.Attributes = append(rec.Attributes, Attribute{Name: e.Name, Label: e.Label})
			}
			if id == e.AttributeID {
				continue // the presence of the attribute, which keeps its place whatever its values
			}
			values := &rec.Attributes[at].Values
			*values = append(*values, Value{Text: e.Text, IsNumber: e.IsNumber})
		}
	}
	return nil
}

// addQuestions gives items the names of their options and, when asked, their questions. Most items name no option;
// then nothing is read.
func (s *Store) addQuestions(ctx context.Context, v account.View, page []Record, all bool) error {
	var ids []int64
	for _, rec := range page {
		for _, item := range rec.Items {
			if all || item.Option != nil {
				ids = append(ids, item.QuestionID)
			}
		}
	}
	questions, err := s.carriers.Questions(ctx, v, ids)
	if err != nil {
		return err
	}
	for i := range page {
		for j := range page[i].Items {
			item := &page[i].Items[j]
			q, ok := questions[item.QuestionID]
			if !ok {
				continue
			}
			if all {
				item.Question = &q
			}
			if item.Option == nil {
				continue
			}
			for _, o := range q.Options {
				if o.ID == item.Option.ID {
					item.Option = &o
				}
			}
		}
	}
	return nil
}

func (s *Store) addOwners(ctx context.Context, v account.View, page []Record) error {
	index := make(map[int64]*Record, len(page))
	ids := make([]int64, len(page))
	for i := range page {
		page[i].Owners = []Owner{}
		index[page[i].ID], ids[i] = &page[i], page[i].ID
	}
	rows, err := s.db.Query(ctx, `
		SELECT w.feedback_id, u.id, u.name, u.email
		FROM feedback_owner w
		JOIN app_user u ON u.organization_id = w.organization_id AND u.id = w.user_id
		WHERE w.organization_id = $1 AND w.feedback_id = ANY($2)
		ORDER BY w.feedback_id, u.id`, v.Org(), ids)
	if err != nil {
		return fmt.Errorf("read owners: %w", err)
	}
	type ownership struct {
		FeedbackID int64
		Owner
	}
	owners, err := pgx.CollectRows(rows, pgx.RowToStructByName[ownership])
	if err != nil {
		return fmt.Errorf("read owners: %w", err)
	}
	for _, o := range owners {
		rec := index[o.FeedbackID]
		rec.Owners = append(rec.Owners, o.Owner)
	}
	return nil
}
