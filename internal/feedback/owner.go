package feedback

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg"
)

// ErrUserGone says that somebody who should become an owner was deleted a moment before.
var ErrUserGone = errors.New("a user is gone")

// Own makes users owners of a record; who is one already stays so. A record that is not there is fault.NotFound; of users that are not all there
// none becomes an owner, and the answer is ErrUserGone.
func (s *Store) Own(ctx context.Context, v account.View, by By, id int64, users []account.UserID) error {
	return s.changeOwners(ctx, v, by, id, users, true)
}

// Disown takes a user away from the owners of a record; who is none stays so. A record that is not there is fault.NotFound.
func (s *Store) Disown(ctx context.Context, v account.View, by By, id int64, user account.UserID) error {
	return s.changeOwners(ctx, v, by, id, []account.UserID{user}, false)
}

func (s *Store) changeOwners(ctx context.Context, v account.View, by By, id int64, users []account.UserID, add bool) error {
	if err := whole(v); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		found, err := tx.Exec(ctx, lockSQL, v.Org(), []int64{id})
		if err != nil {
			return err
		}
		if found.RowsAffected() == 0 {
			return fault.Missing("feedback")
		}
		_, err = tx.Exec(ctx, ownersSQL, v.Org(), id, optional(by.TokenID), optional(by.UserID), optional(by.OperationID), users, add)
		return err
	})
	if pg.Violates(err, "feedback_owner_user") {
		return ErrUserGone
	}
	if err != nil {
		return fmt.Errorf("change owners: %w", err)
	}
	return nil
}

const ownersSQL = `
WITH old AS MATERIALIZED (
    SELECT ARRAY(SELECT user_id FROM feedback_owner WHERE organization_id = $1 AND feedback_id = $2 ORDER BY user_id) AS users
), new AS MATERIALIZED (
    SELECT CASE WHEN $7 THEN ARRAY(SELECT unnest(users) UNION SELECT unnest($6::bigint[]) ORDER BY 1)
                        ELSE ARRAY(SELECT unnest(users) EXCEPT SELECT unnest($6::bigint[]) ORDER BY 1) END AS users
    FROM old
), added AS (
    INSERT INTO feedback_owner (organization_id, feedback_id, user_id)
    SELECT $1, $2, u.id FROM old, new, unnest(new.users) AS u (id) WHERE u.id <> ALL (old.users)
), removed AS (
    DELETE FROM feedback_owner w USING new
    WHERE w.organization_id = $1 AND w.feedback_id = $2 AND w.user_id <> ALL (new.users)
)
INSERT INTO feedback_history (organization_id, feedback_id, token_id, user_id, operation_id, field, before, after)
SELECT $1, $2, $3, $4, $5, 2, old.users, new.users
FROM old, new
WHERE old.users <> new.users`
