package httpapi

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"earshot/internal/account"
	"earshot/internal/fault"
)

// Class is a sort of work with a limit of its own, so that one sort cannot keep the others waiting.
type Class int

// The classes.
const (
	Read Class = iota
	Write
	Bulk   // what touches every match of a filter
	Create // one feedback; those under way together are written together, so that there may be many
)

// Classes lists them.
func Classes() []Class { return []Class{Read, Write, Bulk, Create} }

func (c Class) String() string { return [...]string{"read", "write", "bulk", "create"}[c] }

// Limits are how much is taken on at once. Zero values leave a limit out.
type Limits struct {
	// InFlight is how many requests of each class may be under way; more are turned away at once. A request that would have waited
	// longer than its client does is better refused: those that are accepted then stay fast. One organization gets three quarters.
	InFlight map[Class]int
	// Rate is how many requests a second each token may make in the long run, Burst how many at once.
	Rate  float64
	Burst int
}

// gates counts the requests under way, of all and of each organization.
type gates struct {
	limits map[Class]chan struct{}

	mu     sync.Mutex
	shares map[share]int
}

// share is what an organization has under way of a class.
type share struct {
	class Class
	org   account.OrgID
}

func newGates(limits map[Class]int) *gates {
	g := &gates{limits: map[Class]chan struct{}{}, shares: map[share]int{}}
	for class, n := range limits {
		if n > 0 {
			g.limits[class] = make(chan struct{}, n)
		}
	}
	return g
}

// enter takes a place in a class, or refuses when there is none. The caller gives it back by leave. An organization, if it is known yet,
// does not get the last quarter of the places: however many requests it makes and however long they take, others have theirs.
func (g *gates) enter(c Class, org account.OrgID) (leave func(), err error) {
	places, limited := g.limits[c]
	if !limited {
		return func() {}, nil
	}
	mine := share{c, org}
	if org != 0 && !g.claim(mine, cap(places)-cap(places)/4) {
		return nil, tooMuch()
	}
	select {
	case places <- struct{}{}:
		return func() {
			<-places
			g.release(mine)
		}, nil
	default:
		g.release(mine)
		return nil, tooMuch()
	}
}

func tooMuch() error {
	return fault.New(fault.Unavailable, "The service has more to do than it can. Try again in a moment.")
}

// claim counts one more request of an organization, unless it has as many as it may.
func (g *gates) claim(s share, most int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shares[s] >= most {
		return false
	}
	g.shares[s]++
	return true
}

func (g *gates) release(s share) {
	if s.org == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shares[s]--; g.shares[s] == 0 {
		delete(g.shares, s)
	}
}

// maxBuckets bounds what is remembered of callers; full buckets are forgotten first, which loses nothing.
const maxBuckets = 10_000

// rates keeps a bucket for each caller, such as a token. They are this process's own: with several, each allows the rate.
type rates[K comparable] struct {
	rate    rate.Limit
	burst   int
	refusal string

	mu      sync.Mutex
	buckets map[K]*rate.Limiter
}

func newRates[K comparable](perSecond float64, burst int, refusal string) *rates[K] {
	if perSecond <= 0 {
		return nil
	}
	return &rates[K]{rate: rate.Limit(perSecond), burst: max(1, burst), refusal: refusal, buckets: map[K]*rate.Limiter{}}
}

// take spends one request of a caller and says in the headers what is left. It refuses when nothing is.
func (r *rates[K]) take(h http.Header, caller K, now time.Time) error {
	if r == nil {
		return nil
	}
	b := r.bucket(caller, now)
	allowed := b.AllowN(now, 1)
	left := math.Max(0, math.Floor(b.TokensAt(now)))
	full := time.Duration(math.Ceil((float64(r.burst)-b.TokensAt(now))/float64(r.rate))) * time.Second
	h.Set("RateLimit-Limit", strconv.Itoa(r.burst))
	h.Set("RateLimit-Remaining", strconv.Itoa(int(left)))
	h.Set("RateLimit-Reset", strconv.Itoa(int(full.Seconds())))
	if allowed {
		return nil
	}
	wait := math.Ceil((1 - b.TokensAt(now)) / float64(r.rate))
	h.Set("Retry-After", strconv.Itoa(int(math.Max(1, wait))))
	return fault.New(fault.RateLimited, "%s", r.refusal)
}

func (r *rates[K]) bucket(caller K, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.buckets[caller]
	if !ok {
		if len(r.buckets) >= maxBuckets {
			r.forgetFull(now)
		}
		b = rate.NewLimiter(r.rate, r.burst)
		r.buckets[caller] = b
	}
	return b
}

func (r *rates[K]) forgetFull(now time.Time) {
	for caller, b := range r.buckets {
		if b.TokensAt(now) >= float64(r.burst) {
			delete(r.buckets, caller)
		}
	}
	if len(r.buckets) >= maxBuckets {
		clear(r.buckets)
	}
}
