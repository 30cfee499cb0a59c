package feedback

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/analysis"
)

// Unread is a record whose texts somebody else may read.
type Unread struct {
	ID        int64
	CarrierID int64
	Version   int32 // what they were read by so far
	Texts     []string
}

// NextUnread returns the first record after the one with this id, in the order of their ids; ID is 0 when there is none yet. One without texts is
// returned as well.
func (s *Store) NextUnread(ctx context.Context, v account.View, after int64) (Unread, error) {
	horizon, err := s.horizon(ctx, v)
	if err != nil {
		return Unread{}, err
	}
	var u Unread
	var raw []byte
	err = s.db.QueryRow(ctx, `
		SELECT f.id, f.carrier_id, f.analysis_version, c.items
		FROM feedback f
		JOIN feedback_content c ON c.organization_id = f.organization_id AND c.feedback_id = f.id
		WHERE f.organization_id = $1 AND f.id > $2 AND f.id <= $3
		ORDER BY f.id
		LIMIT 1`, v.Org(), after, horizon).Scan(&u.ID, &u.CarrierID, &u.Version, &raw)
	if errors.Is(err, pgx.ErrNoRows) {
		return Unread{}, nil
	}
	if err != nil {
		return Unread{}, fmt.Errorf("find texts: %w", err)
	}
	stored, err := decodeItems(raw)
	if err != nil {
		return Unread{}, err
	}
	u.Texts = writtenTexts(stored)
	return u, nil
}

// Keep writes what somebody else read in a record's first texts, with all that follows from it, as one version above what they were read by so far. It
// does nothing when the record was deleted, or read again, since it was handed out.
func (s *Store) Keep(ctx context.Context, tx pgx.Tx, v account.View, u Unread, results []analysis.Result) error {
	reader, err := s.texts.Reader(ctx, v)
	if err != nil {
		return err
	}
	var raw []byte
	err = tx.QueryRow(ctx, `
		SELECT c.items
		FROM feedback f
		JOIN feedback_content c ON c.organization_id = f.organization_id AND c.feedback_id = f.id
		WHERE f.organization_id = $1 AND f.id = $2 AND f.analysis_version = $3
		FOR UPDATE OF f`, v.Org(), u.ID, u.Version).Scan(&raw)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep what was read: %w", err)
	}
	stored, err := decodeItems(raw)
	if err != nil {
		return err
	}
	n := 0
	for i := range stored {
		if stored[i].Text && n < len(results) {
			stored[i].Spans = spans(results[n])
			n++
		}
	}
	d, err := s.again(ctx, v, reader, u.CarrierID, stored, stored)
	if err != nil {
		return fmt.Errorf("keep what was read: %w", err)
	}
	d.version = u.Version + 1
	var w worth
	w.add(u.ID, d)
	if _, err := w.write(ctx, tx, v); err != nil {
		return fmt.Errorf("keep what was read: %w", err)
	}
	return nil
}
