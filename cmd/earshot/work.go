package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"earshot/internal/operation"
	"earshot/internal/pg"
	"earshot/internal/reading"
)

// workers take jobs from the queue.
type workers struct {
	client *river.Client[pgx.Tx]
	db     *pgxpool.Pool
}

const (
	// jobsAtOnce is how many jobs one process works on at a time: each keeps a core of the database busy.
	jobsAtOnce = 2
	// readingsAtOnce is how many organizations' texts a provider reads at a time: those jobs mostly wait for it.
	readingsAtOnce = 4
)

// startWorkers begins with whatever jobs there are. The queue has connections of its own, so that waiting for jobs takes none from requests.
func startWorkers(ctx context.Context, s pg.Settings, operations *operation.Store, readings *reading.Store, log *slog.Logger) (*workers, error) {
	s.MaxConns = 4
	db, err := pg.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	known := river.NewWorkers()
	river.AddWorker(known, &operation.Worker{Operations: operations})
	queues := map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: jobsAtOnce}}
	if readings != nil {
		river.AddWorker(known, &reading.Worker{Readings: readings})
		queues[reading.Queue] = river.QueueConfig{MaxWorkers: readingsAtOnce}
	}
	client, err := river.NewClient(riverpgxv5.New(db), &river.Config{
		Logger:  slog.New(quieter{log.Handler()}),
		Queues:  queues,
		Workers: known,
	})
	if err == nil {
		err = client.Start(context.WithoutCancel(ctx))
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("start workers: %w", err)
	}
	return &workers{client: client, db: db}, nil
}

// stop lets each job finish what it has begun with and leaves the rest of it in the queue.
func (w *workers) stop(ctx context.Context, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	if err := w.client.StopAndCancel(ctx); err != nil {
		log.WarnContext(ctx, "a job did not stop in time", "error", pg.Describe(err))
	}
	w.db.Close()
}

// quieter logs what the queue has to say only where it is a warning or worse.
type quieter struct{ slog.Handler }

// Enabled says whether a line is worth writing.
func (q quieter) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}
