package pg

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Listen waits for notifications until ctx ends and hands each one to the function of its channel. Channel names are
// constants of ours. Whenever the connection was lost, and once at the beginning, lost is called: what was sent meanwhile is gone.
func Listen(ctx context.Context, db *pgxpool.Pool, log *slog.Logger, lost func(), channels map[string]func(payload string)) {
	for ctx.Err() == nil {
		err := listen(ctx, db, lost, channels)
		if ctx.Err() != nil {
			return
		}
		log.WarnContext(ctx, "notifications interrupted", "error", Describe(err))
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func listen(ctx context.Context, db *pgxpool.Pool, lost func(), channels map[string]func(string)) error {
	conn, err := db.Acquire(ctx)
	if err != nil {
		return err
	}
	// The connection leaves the pool: it still listens and must not serve anyone else.
	own := conn.Hijack()
	defer own.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it may be broken already
	for channel := range channels {
		if _, err := own.Exec(ctx, "LISTEN "+channel); err != nil {
			return err
		}
	}
	lost()
	for {
		n, err := own.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if notice, ok := channels[n.Channel]; ok {
			notice(n.Payload)
		}
	}
}
