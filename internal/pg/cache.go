package pg

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	cacheLife = time.Second
	cacheLoad = 10 * time.Second
	cacheSize = 10_000
)

// Cache keeps what was read a moment ago. It only speeds up: an entry lives for a second at most, so an edit made
// elsewhere is felt within a second even when its notification is lost, and absence is never kept.
type Cache[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]cached[V]
	// Forgetting moves the generation on, so that a read begun before the edit neither puts the old value back
	// nor serves those who ask after it.
	generation uint64
	flight     singleflight.Group
	name       func(K) string
}

type cached[V any] struct {
	value V
	until time.Time
}

// NewCache returns an empty cache. name must give different keys different names.
func NewCache[K comparable, V any](name func(K) string) *Cache[K, V] {
	return &Cache[K, V]{entries: map[K]cached[V]{}, name: name}
}

// Get returns the entry for key, calling load when there is none. Callers that arrive together share one call, which
// therefore runs on a context of its own: a caller who goes away does not fail the others, and one whose time is up does not wait.
// An error is returned to all of them and not kept.
func (c *Cache[K, V]) Get(ctx context.Context, key K, load func(context.Context) (V, error)) (V, error) {
	c.mu.Lock()
	e, ok := c.entries[key]
	generation := c.generation
	c.mu.Unlock()
	if ok && time.Now().Before(e.until) {
		return e.value, nil
	}
	loaded := c.flight.DoChan(strconv.FormatUint(generation, 10)+" "+c.name(key), func() (loaded any, err error) {
		// It runs in a goroutine of its own, where a panic would end the process instead of one request.
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic while loading: %T", p)
			}
		}()
		// Age counts from before the read: what is read may be that old already.
		until := time.Now().Add(cacheLife)
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), cacheLoad)
		defer cancel()
		v, err := load(own)
		if err == nil {
			c.put(key, cached[V]{v, until}, generation)
		}
		return v, err
	})
	var none V
	select {
	case <-ctx.Done():
		return none, ctx.Err()
	case r := <-loaded:
		if r.Err != nil {
			return none, r.Err
		}
		return r.Val.(V), nil
	}
}

func (c *Cache[K, V]) put(key K, e cached[V], generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation {
		return
	}
	if len(c.entries) >= cacheSize {
		clear(c.entries) // a second's worth of reading; not worth an order of eviction
	}
	c.entries[key] = e
}

// Forget drops one entry.
func (c *Cache[K, V]) Forget(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	delete(c.entries, key)
}

// ForgetAll drops everything.
func (c *Cache[K, V]) ForgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	clear(c.entries)
}
