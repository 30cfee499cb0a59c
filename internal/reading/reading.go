// Package reading has a provider read the texts that arrive, where an operator has set one up. Feedback is read by our own rules when it is
// written, so nothing waits for a provider: what it reads takes the place of that, and what it cannot read stays as it is.
package reading

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/analysis/provider"
	"earshot/internal/feedback"
	"earshot/internal/pg"
)

const (
	// sweepEvery is how often there is a look for feedback that nobody reads.
	sweepEvery = 5 * time.Second
	// lease is how long a job may show no progress, or stays away after a failure, before another one is sent.
	lease = 2 * time.Minute
	// turn is how long a job stays with one organization before it gets in line again.
	turn = time.Minute
	// maxTexts is how many texts of one feedback are sent; the others stay as our own rules read them.
	maxTexts = 10
)

// Queue is where the jobs wait: apart from others, which they would keep waiting.
const Queue = "reading"

// Job is the reading of one organization's feedback for a turn. One that runs twice is harmless, and one that is lost is sent again when its lease
// is over, so it is not retried.
type Job struct {
	OrganizationID account.OrgID `json:"organization_id"`
}

// Kind names the sort of job in the queue.
func (Job) Kind() string { return "reading" }

// InsertOpts makes the lease, not the queue, decide about another attempt.
func (Job) InsertOpts() river.InsertOpts { return river.InsertOpts{MaxAttempts: 1, Queue: Queue} }

// Store sends for jobs and does their work.
type Store struct {
	db       *pgxpool.Pool
	texts    *analysis.Store
	feedback *feedback.Store
	provider *provider.Provider
	log      *slog.Logger
	queue    *river.Client[pgx.Tx] // takes jobs, runs none
}

// NewStore returns a store that has texts read by the provider.
func NewStore(db *pgxpool.Pool, texts *analysis.Store, records *feedback.Store, p *provider.Provider, log *slog.Logger) (*Store, error) {
	queue, err := river.NewClient(riverpgxv5.New(db), &river.Config{})
	if err != nil {
		return nil, fmt.Errorf("open job queue: %w", err)
	}
	return &Store{db: db, texts: texts, feedback: records, provider: p, log: log, queue: queue}, nil
}

// Worker runs jobs.
type Worker struct {
	river.WorkerDefaults[Job]
	Readings *Store
}

// Timeout is none: every question to the provider has one of its own.
func (w *Worker) Timeout(*river.Job[Job]) time.Duration { return -1 }

// Work reads for a turn and gets in line again when there is more to do.
func (w *Worker) Work(ctx context.Context, job *river.Job[Job]) error {
	more, err := w.Readings.Work(ctx, account.Whole(job.Args.OrganizationID))
	if err == nil && more {
		return river.JobSnooze(0)
	}
	return err
}

// Run sends for jobs where there is something to read, until ctx ends.
func (s *Store) Run(ctx context.Context) {
	for tick := time.NewTicker(sweepEvery); ; {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "the provider cannot be sent texts", "error", pg.Describe(err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}

// Sweep is one round of Run. An organization's feedback is read from the moment that it is first seen here: what a provider costs for all that came
// before is not ours to decide. It is about all organizations: looking after them is nobody's request.
func (s *Store) Sweep(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		// A sequence that was never used shows the value it will hand out first.
		_, err := tx.Exec(ctx, `
			INSERT INTO analysis_provider (organization_id, read_to, lease_until)
			SELECT a.organization_id, s.last_value - (NOT s.is_called)::int, now()
			FROM analysis a
			CROSS JOIN feedback_id s
			WHERE NOT EXISTS (SELECT FROM analysis_provider p WHERE p.organization_id = a.organization_id)
			ON CONFLICT DO NOTHING`)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			UPDATE analysis_provider SET lease_until = now() + $1::interval
			WHERE organization_id IN (
				SELECT p.organization_id FROM analysis_provider p
				WHERE p.lease_until < now()
				  AND EXISTS (SELECT FROM feedback f WHERE f.organization_id = p.organization_id AND f.id > p.read_to)
				ORDER BY p.organization_id
				LIMIT 100
				FOR UPDATE SKIP LOCKED)
			RETURNING organization_id`, lease)
		if err != nil {
			return err
		}
		orgs, err := pgx.CollectRows(rows, pgx.RowTo[account.OrgID])
		for _, org := range orgs {
			_, enqueued := s.queue.InsertTx(ctx, tx, Job{OrganizationID: org}, nil)
			err = errors.Join(err, enqueued)
		}
		return err
	})
}

// Work has an organization's feedback read for a turn, or until ctx ends, and reports whether there is more. When the provider cannot be reached
// the lease is left to run out.
func (s *Store) Work(ctx context.Context, v account.View) (more bool, err error) {
	for end := time.Now().Add(turn); time.Now().Before(end); {
		if more, err = s.step(ctx, v); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// step has one record read.
func (s *Store) step(ctx context.Context, v account.View) (more bool, err error) {
	var readTo int64
	err = s.db.QueryRow(ctx, `SELECT read_to FROM analysis_provider WHERE organization_id = $1`, v.Org()).Scan(&readTo)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil // the organization was deleted
	}
	if err != nil {
		return false, fmt.Errorf("find texts: %w", err)
	}
	next, err := s.feedback.NextUnread(ctx, v, readTo)
	if err != nil {
		return false, err
	}
	if next.ID == 0 {
		return false, s.leave(ctx, v, 0) // the next one is read as soon as it is seen
	}
	results, err := s.read(ctx, v, next)
	if err != nil {
		return false, err
	}
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		// Whoever lost the lease to another finds the cursor moved, and stops.
		tag, err := tx.Exec(ctx, `
			UPDATE analysis_provider SET read_to = $3, lease_until = now() + $4::interval
			WHERE organization_id = $1 AND read_to = $2`, v.Org(), readTo, next.ID, lease)
		if more = tag.RowsAffected() > 0; err != nil || !more || len(results) == 0 {
			return err
		}
		return s.feedback.Keep(ctx, tx, v, next, results)
	})
	if err != nil {
		return false, fmt.Errorf("keep what was read: %w", err)
	}
	return more, nil
}

// leave says for how long nobody else is to be sent for.
func (s *Store) leave(ctx context.Context, v account.View, long time.Duration) error {
	_, err := s.db.Exec(ctx, `UPDATE analysis_provider SET lease_until = now() + $2::interval WHERE organization_id = $1`, v.Org(), long)
	if err != nil {
		return fmt.Errorf("renew lease: %w", err)
	}
	return nil
}

// read has the texts of a record read. There is no result when one of them cannot be: a feedback is not read by two sorts of rules.
func (s *Store) read(ctx context.Context, v account.View, u feedback.Unread) ([]analysis.Result, error) {
	reader, err := s.texts.Reader(ctx, v)
	if err != nil {
		return nil, err
	}
	var results []analysis.Result
	if reader.Language(u.CarrierID) == analysis.Off {
		return nil, nil
	}
	for _, text := range u.Texts[:min(len(u.Texts), maxTexts)] {
		res, err := s.ask(ctx, v, text, reader.Language(u.CarrierID), reader.Topics())
		switch {
		case errors.Is(err, provider.ErrTooLong), errors.Is(err, provider.ErrAnswer):
			s.log.WarnContext(ctx, "the provider did not read a feedback", "organization_id", v.Org(), "feedback_id", u.ID, "error", err)
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("have texts read: %w", err)
		}
		results = append(results, res)
	}
	return results, nil
}

// ask waits until the budget allows another question.
func (s *Store) ask(ctx context.Context, v account.View, text string, lang analysis.Language, topics []analysis.Topic) (analysis.Result, error) {
	for {
		res, err := s.provider.Read(ctx, text, lang, topics)
		if !errors.Is(err, provider.ErrBudget) {
			return res, err
		}
		if err := s.leave(ctx, v, lease); err != nil {
			return analysis.Result{}, err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return analysis.Result{}, ctx.Err()
		}
	}
}
