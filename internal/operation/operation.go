// Package operation keeps changes of many feedback at once. The ids of what is changed are stored when the call is made; small selections are
// changed in the call, large ones by workers, a stretch of records at a time, each stretch in one transaction with the operation's own
// progress. So a killed worker loses nothing and repeats nothing, and what was changed can be undone for as long as the ids are kept.
package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg"
)

// Settings are the operator's choices.
type Settings struct {
	InRequest int64         // selections up to this size are changed in the call
	UndoFor   time.Duration // how long after its end an operation can be undone
}

// Store starts operations, works on them and tells of them.
type Store struct {
	db       *pgxpool.Pool
	accounts *account.Store
	carriers *carrier.Store
	texts    *analysis.Store
	feedback *feedback.Store
	queue    *river.Client[pgx.Tx] // takes jobs, runs none
	settings Settings
	chunk    int // how many ids a row of operation_chunk holds
}

// NewStore returns a store on the database.
func NewStore(db *pgxpool.Pool, accounts *account.Store, carriers *carrier.Store, texts *analysis.Store, records *feedback.Store, s Settings) (*Store, error) {
	queue, err := river.NewClient(riverpgxv5.New(db), &river.Config{})
	if err != nil {
		return nil, fmt.Errorf("open job queue: %w", err)
	}
	return &Store{db: db, accounts: accounts, carriers: carriers, texts: texts, feedback: records, queue: queue, settings: s, chunk: chunkSize}, nil
}

// Kind is what an operation does: one of the verbs of a change, taking one back, or what a change of the rules means to feedback that is there.
type Kind string

// The kinds.
const (
	Status Kind = Kind(feedback.Move)
	Attach Kind = Kind(feedback.Attach)
	Sync   Kind = Kind(feedback.Sync)
	Detach Kind = Kind(feedback.Detach)
	Undo   Kind = "undo"

	Rescore   Kind = "rescore"
	Rezone    Kind = "rezone"
	Reanalyse Kind = "reanalyse"
)

// consequences are the kinds that must be done once they are started.
var consequences = []Kind{Rescore, Rezone, Reanalyse}

// State is where an operation stands. All but running are final.
type State string

// The states. What a cancelled or failed operation changed stays changed until it is undone.
const (
	Running   State = "running"
	Done      State = "done"
	Cancelled State = "cancelled"
	Failed    State = "failed"
)

// Known says whether there is such a state.
func (s State) Known() bool { return s == Running || s == Done || s == Cancelled || s == Failed }

// Operation is one change of many records.
type Operation struct {
	ID         int64
	Kind       Kind
	FQL        string // what was selected, in canonical form
	Change     feedback.Change
	State      State
	Error      string
	Total      int64 // records selected
	Done       int64 // of those, looked at so far
	Changed    int64 // of those, changed
	Skipped    int64 // by an undo, because they were changed again
	By         feedback.By
	User       string // e-mail of By.UserID, while they exist
	Undoes     int64  // the operation this one takes back, 0 if none
	UndoneBy   int64  // the operation that took this one back, 0 if none
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
	UndoUntil  *time.Time // nil when it cannot be undone

	now          time.Time // when it was read
	selectsAt    *time.Time
	next, chunks int // the cursor, and where it ends
}

// Rate is how many records a second are looked at, 0 before the first.
func (o Operation) Rate() float64 {
	if o.StartedAt == nil {
		return 0
	}
	end := o.now
	if o.FinishedAt != nil {
		end = *o.FinishedAt
	}
	if took := end.Sub(*o.StartedAt).Seconds(); took > 0 {
		return float64(o.Done) / took
	}
	return 0
}

// ETA is when the operation will be done if it goes on like this; nil when that cannot be said, or it is.
func (o Operation) ETA() *time.Time {
	rate := o.Rate()
	if o.State != Running || rate == 0 {
		return nil
	}
	at := o.now.Add(time.Duration(float64(o.Total-o.Done) / rate * float64(time.Second)))
	return &at
}

const columns = `o.id, o.kind, o.fql, o.change, o.state, coalesce(o.error, ''), o.total, o.done, o.changed, o.skipped,
	coalesce(o.token_id, 0), coalesce(o.user_id, 0), coalesce(u.email, ''), coalesce(o.undoes, 0), coalesce(o.undone_by, 0),
	o.created_at, o.started_at, o.finished_at, clock_timestamp(), o.next_chunk, o.chunks, o.selects_at`

const table = `operation o LEFT JOIN app_user u ON u.organization_id = o.organization_id AND u.id = o.user_id`

func (s *Store) scan(row pgx.CollectableRow) (Operation, error) {
	var o Operation
	var change []byte
	err := row.Scan(&o.ID, &o.Kind, &o.FQL, &change, &o.State, &o.Error, &o.Total, &o.Done, &o.Changed, &o.Skipped,
		&o.By.TokenID, &o.By.UserID, &o.User, &o.Undoes, &o.UndoneBy, &o.CreatedAt, &o.StartedAt, &o.FinishedAt,
		&o.now, &o.next, &o.chunks, &o.selectsAt)
	if err != nil {
		return Operation{}, err
	}
	o.By.OperationID = o.ID
	if o.Change, err = readChange(change); err != nil {
		return Operation{}, err
	}
	if until := s.undoUntil(o); until.After(o.now) {
		o.UndoUntil = &until
	}
	return o, nil
}

// undoUntil is the moment from which an operation can no longer be undone, zero when it cannot be at all.
func (s *Store) undoUntil(o Operation) time.Time {
	if o.FinishedAt == nil || o.UndoneBy != 0 {
		return time.Time{}
	}
	switch o.Kind {
	case Status, Attach, Sync, Detach, Undo:
		return o.FinishedAt.Add(s.settings.UndoFor)
	case Rescore, Rezone, Reanalyse:
	}
	return time.Time{}
}

// ByID returns an operation. One of another organization, and any for a restricted viewer, is fault.NotFound.
func (s *Store) ByID(ctx context.Context, v account.View, id int64) (Operation, error) {
	return s.read(ctx, s.db, v, id, "")
}

func (s *Store) read(ctx context.Context, q pg.Querier, v account.View, id int64, lock string) (Operation, error) {
	if _, narrowed := v.Owner(); narrowed {
		return Operation{}, fault.Missing("operation")
	}
	rows, err := q.Query(ctx, `SELECT `+columns+` FROM `+table+` WHERE o.organization_id = $1 AND o.id = $2`+lock, v.Org(), id)
	if err != nil {
		return Operation{}, fmt.Errorf("read operation: %w", err)
	}
	o, err := pgx.CollectExactlyOneRow(rows, s.scan)
	if errors.Is(err, pgx.ErrNoRows) {
		return Operation{}, fault.Missing("operation")
	}
	if err != nil {
		return Operation{}, fmt.Errorf("read operation: %w", err)
	}
	return o, nil
}

// forUpdate locks the operation while reading it: whoever changes its progress or state has it.
const forUpdate = ` FOR UPDATE OF o`

// Filter narrows a list.
type Filter struct {
	State State // empty: any
	After int64 // only operations older than this one; 0: from the newest
}

// List returns a page of operations, the newest first, and how many there are in all. A restricted viewer sees none.
func (s *Store) List(ctx context.Context, v account.View, f Filter, size int) ([]Operation, int64, error) {
	if _, narrowed := v.Owner(); narrowed {
		return nil, 0, nil
	}
	var page []Operation
	var total int64
	b := &pgx.Batch{}
	b.Queue(`
		SELECT `+columns+` FROM `+table+`
		WHERE o.organization_id = $1 AND ($2 = '' OR o.state = $2) AND ($3 = 0 OR o.id < $3)
		ORDER BY o.id DESC
		LIMIT $4`, v.Org(), f.State, f.After, size).Query(func(rows pgx.Rows) (err error) {
		page, err = pgx.CollectRows(rows, s.scan)
		return err
	})
	b.Queue(`SELECT count(*) FROM operation WHERE organization_id = $1 AND ($2 = '' OR state = $2)`, v.Org(), f.State).
		QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	if err := s.db.SendBatch(ctx, b).Close(); err != nil {
		return nil, 0, fmt.Errorf("list operations: %w", err)
	}
	return page, total, nil
}

// SkippedIDs are the first of the records that an undo left alone, by id.
func (s *Store) SkippedIDs(ctx context.Context, v account.View, id int64, limit int) ([]int64, error) {
	rows, err := s.db.Query(ctx, `
		SELECT unnest(skipped) AS id
		FROM operation_chunk
		WHERE organization_id = $1 AND operation_id = $2 AND skipped IS NOT NULL
		ORDER BY id
		LIMIT $3`, v.Org(), id, limit)
	if err != nil {
		return nil, fmt.Errorf("read what was skipped: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("read what was skipped: %w", err)
	}
	return ids, nil
}

// Cancel stops a running operation before its next stretch of records; what it has changed stays changed. Cancelling again changes nothing; one that
// has ended otherwise, or must be done, is fault.NotCancellable.
func (s *Store) Cancel(ctx context.Context, v account.View, id int64) (Operation, error) {
	var o Operation
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) (err error) {
		if o, err = s.read(ctx, tx, v, id, forUpdate); err != nil || o.State == Cancelled {
			return err
		}
		if o.State != Running {
			return fault.New(fault.NotCancellable, "The operation has ended already.")
		}
		if slices.Contains(consequences, o.Kind) {
			return fault.New(fault.NotCancellable, "The operation follows from a change of the settings; half of it would leave feedback counted wrongly.")
		}
		_, err = tx.Exec(ctx, `
			UPDATE operation SET state = 'cancelled', finished_at = clock_timestamp(), lease_until = NULL
			WHERE organization_id = $1 AND id = $2`, v.Org(), id)
		if err != nil {
			return fmt.Errorf("cancel operation: %w", err)
		}
		o, err = s.read(ctx, tx, v, id, "")
		return err
	})
	return o, err
}

// Wait returns the operation when it has ended or the time is up, whichever comes first.
func (s *Store) Wait(ctx context.Context, v account.View, id int64, long time.Duration) (Operation, error) {
	deadline := time.Now().Add(long)
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		o, err := s.ByID(ctx, v, id)
		if err != nil || o.State != Running || !time.Now().Add(pause).Before(deadline) {
			return o, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return o, ctx.Err()
		}
	}
}

// storedChange is a change inside operation.change.
type storedChange struct {
	Status     feedback.Status   `json:"status,omitempty"`
	Attributes []storedAttribute `json:"attributes,omitempty"`
}

type storedAttribute struct {
	Name   string        `json:"name"`
	Values []storedValue `json:"values,omitempty"`
}

type storedValue struct {
	Text     string `json:"text"`
	IsNumber bool   `json:"number,omitempty"`
}

func writeChange(c feedback.Change) ([]byte, error) {
	stored := storedChange{Status: c.Status}
	for _, a := range c.Attributes {
		kept := storedAttribute{Name: a.Name}
		for _, v := range a.Values {
			kept.Values = append(kept.Values, storedValue(v))
		}
		stored.Attributes = append(stored.Attributes, kept)
	}
	return json.Marshal(stored)
}

func readChange(raw []byte) (feedback.Change, error) {
	var stored storedChange
	if err := json.Unmarshal(raw, &stored); err != nil {
		return feedback.Change{}, fmt.Errorf("decode change: %w", err)
	}
	c := feedback.Change{Status: stored.Status}
	for _, a := range stored.Attributes {
		given := feedback.Attribute{Name: a.Name}
		for _, v := range a.Values {
			given.Values = append(given.Values, feedback.Value(v))
		}
		c.Attributes = append(c.Attributes, given)
	}
	return c, nil
}
