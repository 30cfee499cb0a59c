package feedback

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg"
)

// CreateOnce is Create for a request that carries an idempotency key: the first time it creates the feedback and keeps
// what answer makes of it; within a day the same token's same key and request get those bytes back, and another request fails.
func (s *Store) CreateOnce(ctx context.Context, p account.Principal, key string, request [sha256.Size]byte, n New, form *fault.Form,
	answer func(Record) ([]byte, error),
) ([]byte, error) {
	v := p.View()
	// Asked before anything is checked: what was accepted once stays answered, whatever the rules are by now.
	body, err := firstAnswer(ctx, s.db, p, key, request)
	if err != nil || body != nil {
		return body, err
	}
	d, err := s.draft(ctx, v, n, form)
	if err != nil {
		return nil, err
	}
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		body, err = claim(ctx, tx, p, key, request)
		if err != nil || body != nil {
			return err
		}
		s.gathered.wrote(1)
		rec, err := insertOne(ctx, tx, v, d)
		if rec, err = accepted(ctx, tx, v, d, rec, err); err != nil {
			return err
		}
		if body, err = answer(rec); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE idempotency SET answer = $4
			WHERE organization_id = $1 AND token_id = $2 AND key_sha256 = $3`, v.Org(), p.TokenID, hash(key), body)
		return err
	})
	return body, err
}

// claim takes an idempotency key for this transaction, or returns the answer that was given under it.
// A second request with the key waits here until the first has committed or failed.
func claim(ctx context.Context, tx pgx.Tx, p account.Principal, key string, request [sha256.Size]byte) ([]byte, error) {
	org := p.View().Org()
	// Each use sweeps up a few old ones, so that the table needs no job of its own.
	_, err := tx.Exec(ctx, `
		DELETE FROM idempotency
		WHERE organization_id = $1 AND (token_id, key_sha256) IN (
			SELECT token_id, key_sha256 FROM idempotency
			WHERE organization_id = $1 AND created_at < now() - interval '24 hours'
			ORDER BY created_at LIMIT 10 FOR UPDATE SKIP LOCKED)`, org)
	if err != nil {
		return nil, fmt.Errorf("sweep idempotency keys: %w", err)
	}
	tag, err := tx.Exec(ctx, `
		INSERT INTO idempotency AS i (organization_id, token_id, key_sha256, request_sha256)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT (organization_id, token_id, key_sha256) DO UPDATE
		SET request_sha256 = excluded.request_sha256, answer = NULL, created_at = now()
		WHERE i.created_at < now() - interval '24 hours'`, org, p.TokenID, hash(key), request[:])
	if err != nil {
		return nil, fmt.Errorf("claim idempotency key: %w", err)
	}
	if tag.RowsAffected() == 1 {
		return nil, nil //nolint:nilnil // no answer yet is what the caller asks about
	}
	return firstAnswer(ctx, tx, p, key, request)
}

// firstAnswer returns what was answered under a key in the last day, nil when nothing was, and a fault when it was
// another request that used the key.
func firstAnswer(ctx context.Context, q pg.Querier, p account.Principal, key string, request [sha256.Size]byte) ([]byte, error) {
	var first, answer []byte
	err := q.QueryRow(ctx, `
		SELECT request_sha256, answer FROM idempotency
		WHERE organization_id = $1 AND token_id = $2 AND key_sha256 = $3 AND created_at >= now() - interval '24 hours'`,
		p.View().Org(), p.TokenID, hash(key)).Scan(&first, &answer)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no answer yet is what the caller asks about
	}
	if err != nil {
		return nil, fmt.Errorf("read idempotency key: %w", err)
	}
	if !bytes.Equal(first, request[:]) {
		var form fault.Form
		form.Add("Idempotency-Key", "was used for another request in the last 24 hours")
		return nil, form.Err()
	}
	return answer, nil
}
