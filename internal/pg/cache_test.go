package pg_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"earshot/internal/pg"
)

// The tests of the cache run on a clock of their own: nothing is slow there, and a second passes at once.

type cache = pg.Cache[string, int]

func newCache() *cache {
	return pg.NewCache[string, int](func(key string) string { return key })
}

// give is a load that succeeds with n.
func give(n int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return n, nil }
}

// want reads key with a load that gives n if it is called, and compares what comes back.
func want(t *testing.T, c *cache, key string, loaded, want int) {
	t.Helper()
	got, err := c.Get(t.Context(), key, give(loaded))
	if err != nil || got != want {
		t.Errorf("%s is %d (%v), want %d", key, got, err, want)
	}
}

// pass lets time go by.
func pass(d time.Duration) { <-time.After(d) }

// slow is a load that waits to be released with a value.
type slow struct {
	begun   atomic.Int32
	release chan int
}

func newSlow() *slow { return &slow{release: make(chan int)} }

func (s *slow) load(ctx context.Context) (int, error) {
	s.begun.Add(1)
	n := <-s.release
	return n, ctx.Err()
}

// Callers that arrive together cost one read.
func TestCacheSharesOneLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(), newSlow()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if got, err := c.Get(t.Context(), "a", s.load); got != 7 || err != nil {
					t.Errorf("got %d, %v", got, err)
				}
			})
		}
		synctest.Wait() // all of them are inside
		s.release <- 7
		wg.Wait()
		if n := s.begun.Load(); n != 1 {
			t.Errorf("%d loads, want 1", n)
		}
		want(t, c, "a", 8, 7)
		want(t, c, "b", 9, 9)
	})
}

// An error is everybody's who waited for it, and nobody's after that.
func TestCacheKeepsNoError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache()
		broken := errors.New("broken")
		got, err := c.Get(t.Context(), "a", func(context.Context) (int, error) { return 3, broken })
		if !errors.Is(err, broken) || got != 0 {
			t.Errorf("got %d, %v, want 0 and the load's error", got, err)
		}
		want(t, c, "a", 4, 4)
	})
}

// An entry lives for a second, counted from before it was read.
func TestCacheEntryExpiresAfterASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache()
		want(t, c, "a", 1, 1)
		pass(999 * time.Millisecond)
		want(t, c, "a", 2, 1)
		pass(time.Millisecond)
		want(t, c, "a", 3, 3)

		_, err := c.Get(t.Context(), "b", func(context.Context) (int, error) {
			pass(600 * time.Millisecond)
			return 1, nil
		})
		if err != nil {
			t.Error(err)
		}
		pass(400 * time.Millisecond)
		want(t, c, "b", 2, 2)
	})
}

// Forgetting one entry leaves the others; forgetting all leaves none.
func TestCacheReloadsWhatWasForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache()
		want(t, c, "a", 1, 1)
		want(t, c, "b", 1, 1)
		c.Forget("a")
		want(t, c, "a", 2, 2)
		want(t, c, "b", 2, 1)
		c.ForgetAll()
		want(t, c, "a", 3, 3)
		want(t, c, "b", 3, 3)
	})
}

// forgets are the ways to forget "a".
var forgets = map[string]func(*cache){
	"one": func(c *cache) { c.Forget("a") },
	"all": func(c *cache) { c.ForgetAll() },
}

// A read that began before an edit may return the old value; it must not put it back.
func TestCacheDoesNotKeepALoadFromBeforeTheForget(t *testing.T) {
	t.Parallel()
	for name, forget := range forgets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := newCache(), newSlow()
				var wg sync.WaitGroup
				wg.Go(func() { _, _ = c.Get(t.Context(), "a", s.load) })
				synctest.Wait()
				forget(c)
				s.release <- 1
				wg.Wait()
				want(t, c, "a", 2, 2)
			})
		})
	}
}

// Whoever asks after an edit gets what holds after it, even while a read from before it is still under way,
// and even when that read ends last.
func TestCacheDoesNotJoinALoadFromBeforeTheForget(t *testing.T) {
	t.Parallel()
	for name, forget := range forgets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, old := newCache(), newSlow()
				var wg sync.WaitGroup
				wg.Go(func() { _, _ = c.Get(t.Context(), "a", old.load) })
				synctest.Wait()
				forget(c)
				wg.Go(func() { want(t, c, "a", 2, 2) })
				synctest.Wait()
				old.release <- 1
				wg.Wait()
				want(t, c, "a", 3, 2)
			})
		})
	}
}

// The first caller's context is not the others': when they go away the read goes on.
func TestCacheSurvivesACancelledCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(), newSlow()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = c.Get(ctx, "a", s.load) })
		synctest.Wait()
		for range 3 {
			wg.Go(func() {
				if got, err := c.Get(t.Context(), "a", s.load); got != 7 || err != nil {
					t.Errorf("got %d, %v", got, err)
				}
			})
		}
		synctest.Wait()
		cancel()
		s.release <- 7
		wg.Wait()
		want(t, c, "a", 8, 7)
	})
}

// A caller whose time is up does not wait for the read, nor does it cost anybody the value.
func TestCacheDoesNotHoldACancelledCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(), newSlow()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := c.Get(ctx, "a", s.load); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the time is up", err)
		}
		if waited := time.Since(start); waited != 100*time.Millisecond {
			t.Errorf("it waited %v", waited)
		}
		s.release <- 7
		synctest.Wait()
		want(t, c, "a", 8, 7)
	})
}

// A read that nobody's context ends any more ends by itself.
func TestCacheEndsALoadThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, err := newCache().Get(t.Context(), "a", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the time is up", err)
		}
	})
}

// The load still sees the caller's values: a trace goes through it.
func TestCacheLoadSeesTheCallersValues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type trace struct{}
		ctx := context.WithValue(t.Context(), trace{}, 5)
		got, err := newCache().Get(ctx, "a", func(ctx context.Context) (int, error) {
			n, _ := ctx.Value(trace{}).(int)
			return n, nil
		})
		if got != 5 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
	})
}

// However many keys are asked for, the cache holds ten thousand entries at most.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const asked, most = 25_000, 10_000
		c := newCache()
		for i := range asked {
			want(t, c, fmt.Sprint(i), i, i)
		}
		kept := 0
		for i := range asked {
			// An error is not kept, so that counting changes nothing.
			_, err := c.Get(t.Context(), fmt.Sprint(i), func(context.Context) (int, error) { return 0, errors.New("gone") })
			if err == nil {
				kept++
			}
		}
		if kept == 0 || kept > most {
			t.Errorf("%d entries are kept, want 1 to %d", kept, most)
		}
	})
}
