package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/jackc/pgx/v5"

	"earshot/bench/rig"
)

// undoing is what became of changes that were taken back.
type undoing struct {
	name                    string
	before, changed, undone string // hashes over all rows of feedback, in the order of their ids
	edited                  int
	restored, skipped       int64
	asReported              bool // exactly the edited ones were skipped and are named, and are as they were edited
}

// hashSQL is over every column of every feedback.
const hashSQL = `SELECT md5(string_agg(md5(f::text), '' ORDER BY organization_id, id)) FROM feedback f`

// undo makes a change and takes it back; then makes it again, edits some of the feedback and takes it back again.
func (b *bench) undo(ctx context.Context) (err error) {
	s, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	conn, err := pgx.Connect(ctx, b.server.URL(work))
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left open on it
	hash := func() (sum string, err error) {
		err = conn.QueryRow(ctx, hashSQL).Scan(&sum)
		return sum, err
	}
	for _, call := range []bulk{moving, attaching} {
		u := undoing{name: call.name, edited: b.edits}
		if u.before, err = hash(); err != nil {
			return err
		}
		first, err := s.make(ctx, call)
		if err != nil {
			return err
		}
		if u.changed, err = hash(); err != nil {
			return err
		}
		if _, err := s.takeBack(ctx, first); err != nil {
			return err
		}
		if u.undone, err = hash(); err != nil {
			return err
		}
		if err := s.undoEdited(ctx, conn, call, &u); err != nil {
			return err
		}
		rig.Progress("%s undone: %s, then %s; %d of %d skipped", call.name, u.before, u.undone, u.skipped, u.edited)
		b.report.Undo = append(b.report.Undo, u)
	}
	return nil
}

// make makes a call and waits until all is done.
func (s *service) make(ctx context.Context, call bulk) (int64, error) {
	st, err := s.start(ctx, call.method, call.path, call.change)
	if err != nil {
		return 0, err
	}
	o, err := s.until(ctx, st.id, ended)
	if err == nil && o.Changed != int64(s.b.size) {
		err = fmt.Errorf("%s changed %d of %d", call.name, o.Changed, s.b.size)
	}
	return st.id, err
}

// takeBack undoes an operation.
func (s *service) takeBack(ctx context.Context, id int64) (operation, error) {
	var o operation
	if err := s.call(ctx, http.MethodPost, fmt.Sprintf("/v4/operations/%d/undo", id), "", &o, http.StatusAccepted); err != nil {
		return o, err
	}
	if _, err := s.until(ctx, o.ID, ended); err != nil {
		return o, err
	}
	return s.look(ctx, o.ID)
}

// edit is what somebody does to one of the feedback: something that is as the operation left it already, and something that is not.
func (s *service) edit(ctx context.Context, call bulk, id int64) error {
	only := fmt.Sprintf(`{"fql": [{"Id": {"$eq": %d}}], `, id)
	var answer any
	if call.name == moving.name {
		return s.call(ctx, http.MethodPut, fmt.Sprintf("/v4/feedback/%d", id), `{"status": "contacted"}`, &answer, http.StatusOK)
	}
	return s.call(ctx, http.MethodPost, attaching.path, only+`"attributes": [{"name": "campaign", "value": "autumn"}]}`, &answer, http.StatusOK)
}

// undoEdited makes the change once more, edits some feedback, spread evenly, and takes the change back.
func (s *service) undoEdited(ctx context.Context, conn *pgx.Conn, call bulk, u *undoing) error {
	id, err := s.make(ctx, call)
	if err != nil {
		return err
	}
	rows, err := conn.Query(ctx, `
		SELECT id
		FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM (SELECT unnest(ids) AS id FROM operation_chunk WHERE operation_id = $1) AS s) AS s
		WHERE n % $2 = 0
		ORDER BY id`, id, s.b.size/s.b.edits)
	if err != nil {
		return err
	}
	edited, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	for _, id := range edited {
		if err := s.edit(ctx, call, id); err != nil {
			return err
		}
	}
	const theirs = `SELECT md5(string_agg(f::text, ',' ORDER BY id)) FROM feedback f WHERE id = ANY($1)`
	var before, after string
	if err := conn.QueryRow(ctx, theirs, edited).Scan(&before); err != nil {
		return err
	}
	o, err := s.takeBack(ctx, id)
	if err != nil {
		return err
	}
	if err := conn.QueryRow(ctx, theirs, edited).Scan(&after); err != nil {
		return err
	}
	u.edited, u.restored, u.skipped = len(edited), o.Changed, o.Skipped
	u.asReported = slices.Equal(o.SkippedIDs, edited) && before == after
	return nil
}
