package feedback

import (
	"context"
	"runtime"
	"sync"

	"earshot/internal/account"
)

// maxCounts is how many filters of one organization may be counted through an index at the same time, in this process. Those can take
// seconds; without a limit one organization's would keep every connection busy. On a machine with few processors, which may well be the
// database's too, one leaves a processor to the others.
var maxCounts = min(2, max(1, runtime.GOMAXPROCS(0)/2))

// turns lets each organization have its heavy counts one after the other.
type turns struct {
	mu   sync.Mutex
	orgs map[account.OrgID]chan struct{}
}

// take waits for a turn, if this total needs one, until ctx ends. The caller gives it back.
func (t *turns) take(ctx context.Context, v account.View, way string) (done func(), err error) {
	if way != counted {
		return func() {}, nil
	}
	t.mu.Lock()
	places, ok := t.orgs[v.Org()]
	if !ok {
		places = make(chan struct{}, maxCounts)
		t.orgs[v.Org()] = places
	}
	t.mu.Unlock()
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
