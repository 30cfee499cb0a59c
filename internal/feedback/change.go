package feedback

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg"
)

// Verb is what a change does.
type Verb string

// The verbs. Attach adds values to those an attribute has. Sync leaves an attribute exactly the values listed, and none when none is.
// Detach takes the values listed away, or the whole attribute when none is.
const (
	Move   Verb = "status"
	Attach Verb = "attach"
	Sync   Verb = "sync"
	Detach Verb = "detach"
)

// Change is one thing done to any number of records.
type Change struct {
	Verb       Verb
	Status     Status      // Move
	Attributes []Attribute // the others; each name once
}

// By is who changes a record, as its history tells. All zero is an operator at the command line.
type By struct {
	TokenID     int64
	UserID      account.UserID
	OperationID int64 // 0: not part of one
}

// Caller is the one who sent a request.
func Caller(p account.Principal) By { return By{TokenID: p.TokenID, UserID: p.UserID} }

// Applied says what became of a change.
type Applied struct {
	Found   int64 // records that were there
	Changed int64 // of those, the ones that were not so already
}

// Apply makes a change to the records with these ids, with their history and tallies. Ids that no longer exist are passed over, and records
// that are so already stay as they are. What the dictionary lacks is added first, then the records are locked in the order of their ids: a
// transaction makes one change, or it would wait for others' new values while others wait for its records.
func (s *Store) Apply(ctx context.Context, q pg.Querier, v account.View, by By, c Change, ids []int64) (Applied, error) {
	if err := whole(v); err != nil {
		return Applied{}, err
	}
	var done Applied
	var err error
	if c.Verb == Move {
		err = q.QueryRow(ctx, statusSQL, v.Org(), ids, optional(by.TokenID), optional(by.UserID), optional(by.OperationID), c.Status).
			Scan(&done.Found, &done.Changed)
	} else {
		done, err = s.edit(ctx, q, v, by, c, ids)
	}
	if err != nil {
		return Applied{}, fmt.Errorf("change feedback: %w", err)
	}
	return done, nil
}

// Change makes a change to one record. A record that is not there is fault.NotFound.
func (s *Store) Change(ctx context.Context, v account.View, by By, c Change, id int64) error {
	change := func(q pg.Querier) error {
		done, err := s.Apply(ctx, q, v, by, c, []int64{id})
		if err == nil && done.Found == 0 {
			return fault.Missing("feedback")
		}
		return err
	}
	if c.Verb == Move || c.Verb == Detach {
		return change(s.db)
	}
	// Names and values that came into the dictionary for a record that is not there go with the transaction.
	return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error { return change(tx) })
}

// whole refuses a view narrowed to one owner: those only read.
func whole(v account.View) error {
	if _, narrowed := v.Owner(); narrowed {
		return fault.New(fault.Forbidden, "A restricted viewer changes nothing.")
	}
	return nil
}

// optional is nil for zero, which stands for nobody or nothing.
func optional[T ~int64 | ~int16](id T) *T {
	if id == 0 {
		return nil
	}
	return &id
}

// statusSQL moves records to the status $6. The old one is read under the row's lock, so that two changes at once leave the tallies exact.
const statusSQL = `
WITH old AS MATERIALIZED (
    SELECT id, carrier_id, day, source, status, coalesce(nps_profile, 0) AS nps, satisfaction, completed_at, sentiment,
           $6::smallint AS new_status
    FROM feedback
    WHERE organization_id = $1 AND id = ANY($2)
    ORDER BY id
    FOR UPDATE
)` + movedSQL + `
SELECT (SELECT count(*) FROM old), (SELECT count(*) FROM changed)`

// movedSQL gives the records of old their new status, with history and tallies. VALUES that looked at the record would be prepared anew for
// each, at a quarter of the cost of it all.
const movedSQL = `, changed AS (
    UPDATE feedback f SET status = old.new_status
    FROM old
    WHERE f.organization_id = $1 AND f.id = old.id AND old.status <> old.new_status
    RETURNING old.*
), history AS (
    INSERT INTO feedback_history (organization_id, feedback_id, token_id, user_id, operation_id, field, before, after)
    SELECT $1, id, $3, $4, $5, 1, ARRAY[status], ARRAY[new_status]
    FROM changed
), delta AS (
    INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
                                sentiment_n, sentiment_sum)
    SELECT $1, c.carrier_id, c.day, c.source, CASE s.n WHEN 1 THEN c.new_status ELSE c.status END AS moved, c.nps, sum(s.n),
           sum(s.n * (c.satisfaction IS NOT NULL)::int), sum(s.n * coalesce(c.satisfaction, 0)), sum(s.n * (c.completed_at IS NOT NULL)::int),
           sum(s.n * (c.sentiment IS NOT NULL)::int), sum(s.n * coalesce(c.sentiment, 0))
    FROM changed c
    CROSS JOIN (VALUES (-1), (1)) AS s (n)
    GROUP BY c.carrier_id, c.day, c.source, moved, c.nps
)`

// SetStatus moves a record to a status; the status it has already changes nothing. The record comes back with attributes and items.
// One outside the view is fault.NotFound.
func (s *Store) SetStatus(ctx context.Context, v account.View, by By, id int64, to Status) (Record, error) {
	if err := s.Change(ctx, v, by, Change{Verb: Move, Status: to}, id); err != nil {
		return Record{}, err
	}
	return s.ByID(ctx, v, id, Parts{Attributes: true, Items: true})
}

// lockSQL holds records, in the order of their ids. It is a statement of its own where the next one looks beyond the record: that one then sees
// what others changed while this one waited for them.
const lockSQL = `SELECT FROM feedback WHERE organization_id = $1 AND id = ANY($2) ORDER BY id FOR UPDATE`

// edit changes attributes, in one round trip. A value that somebody else attached a moment ago may be new to the dictionary, hence the lock
// before it. To attach nothing is nothing, whatever the name.
func (s *Store) edit(ctx context.Context, q pg.Querier, v account.View, by By, c Change, ids []int64) (Applied, error) {
	touched := []string{}
	for _, a := range c.Attributes {
		if c.Verb != Attach || len(a.Values) > 0 {
			touched = append(touched, a.Name)
		}
	}
	in := arguments([]draft{{New: New{Attributes: c.Attributes}}})
	var done Applied
	var complete bool
	b := &pgx.Batch{}
	if c.Verb != Detach {
		b.Queue(insertAttributesSQL, v.Org(), touched)
		b.Queue(insertValuesSQL, v.Org(), in.names, in.texts, in.folded, in.textSums, in.numbers, in.nums)
	}
	b.Queue(lockSQL, v.Org(), ids)
	b.Queue(editSQL, v.Org(), ids, optional(by.TokenID), optional(by.UserID), optional(by.OperationID), c.Verb, touched, in.names, in.textSums).
		QueryRow(func(row pgx.Row) error { return row.Scan(&complete, &done.Found, &done.Changed) })
	if err := q.SendBatch(ctx, b).Close(); err != nil {
		return Applied{}, err
	}
	if !complete {
		return Applied{}, fmt.Errorf("attribute values vanished while they were used")
	}
	return done, nil
}
