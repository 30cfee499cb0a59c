package pg_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"testing"
	"time"

	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// ear is a listener under test and what reached it.
type ear struct {
	lost    chan struct{}
	payload chan string
	done    chan struct{}
	stop    context.CancelFunc
	channel string
}

// listen starts to listen on a channel of its own, and on a second one beside it.
func listen(t *testing.T) *ear {
	t.Helper()
	channel := "listen_" + strings.ToLower(rand.Text())
	ctx, cancel := context.WithCancel(t.Context())
	e := &ear{
		lost: make(chan struct{}, 100), payload: make(chan string, 100), done: make(chan struct{}),
		stop: cancel, channel: channel,
	}
	db := open(t, pg.Settings{URL: pgtest.URL(t)})
	go func() {
		defer close(e.done)
		pg.Listen(ctx, db, slog.New(slog.DiscardHandler), func() { e.lost <- struct{}{} }, map[string]func(string){
			channel:             func(payload string) { e.payload <- "first " + payload },
			channel + "_second": func(payload string) { e.payload <- "second " + payload },
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-e.done
	})
	return e
}

// receive waits for one value.
func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: nothing after %v", what, patience)
		panic("unreachable")
	}
}

func notify(t *testing.T, channel, payload string) {
	t.Helper()
	if _, err := pgtest.DB(t).Exec(t.Context(), `SELECT pg_notify($1, $2)`, channel, payload); err != nil {
		t.Fatal(err)
	}
}

// backends counts the sessions that listen on the channel, after doing something to them.
func (e *ear) backends(t *testing.T, do string) int {
	t.Helper()
	var n int
	// The last statement of a session that waits for notifications is one of its LISTENs.
	err := pgtest.DB(t).QueryRow(t.Context(), `
		SELECT count(`+do+`) FROM pg_stat_activity
		WHERE datname = current_database() AND query IN ('LISTEN ' || $1, 'LISTEN ' || $1 || '_second')`, e.channel).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A notification reaches the function of its channel, and no other.
func TestListenHandsNotificationsToTheirChannel(t *testing.T) {
	t.Parallel()
	e := listen(t)
	receive(t, "lost at the beginning", e.lost)
	notify(t, e.channel+"_second", "a")
	notify(t, e.channel+"_third", "b")
	notify(t, e.channel, "c")
	for _, want := range []string{"second a", "first c"} {
		if got := receive(t, want, e.payload); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if len(e.lost) != 0 {
		t.Error("lost was called again while the connection held")
	}
}

// What was sent before listening began, or while the connection was gone, is gone: lost says so, each time
// after listening has begun, so that nothing falls between.
func TestListenSaysWhenNotificationsMayBeLost(t *testing.T) {
	t.Parallel()
	e := listen(t)
	for range 2 {
		receive(t, "lost at the beginning or after the connection broke", e.lost)
		notify(t, e.channel, "heard")
		if got := receive(t, "notification", e.payload); got != "first heard" {
			t.Errorf("got %q", got)
		}
		if n := e.backends(t, "pg_terminate_backend(pid)"); n != 1 {
			t.Fatalf("%d sessions listen, want 1", n)
		}
	}
	receive(t, "lost after the connection broke again", e.lost)
}

// When its context ends Listen returns and its connection is closed: it was taken out of the pool and nobody else would.
func TestListenStopsWithItsContext(t *testing.T) {
	t.Parallel()
	e := listen(t)
	receive(t, "lost at the beginning", e.lost)
	e.stop()
	receive(t, "return", e.done)
	eventually(t, "no session listens", func() bool { return e.backends(t, "*") == 0 })
}

// It also stops while it cannot reach the database.
func TestListenStopsWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	db := open(t, pg.Settings{URL: closedPort(t)})
	tried := make(chan struct{}, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pg.Listen(ctx, db, slog.New(signal(tried)), func() { t.Error("lost was called without a connection") }, nil)
	}()
	receive(t, "a first failure", tried)
	cancel()
	receive(t, "return", done)
}

// signal is a log handler that tells of each line.
type signal chan struct{}

func (s signal) Enabled(context.Context, slog.Level) bool { return true }
func (s signal) Handle(context.Context, slog.Record) error {
	s <- struct{}{}
	return nil
}
func (s signal) WithAttrs([]slog.Attr) slog.Handler { return s }
func (s signal) WithGroup(string) slog.Handler      { return s }
