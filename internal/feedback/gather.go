package feedback

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/pg"
)

const (
	// maxWrites is how many statements may write creates of one organization at the same time.
	maxWrites = 2
	// A gathering is closed when it has this many, or these bytes: the statement and what it sends have to stay small.
	maxGathered      = 128
	maxGatheredBytes = 1 << 20
	// gatheringTime is how long one may take to be written, whatever time its members have left.
	gatheringTime = 10 * time.Second
)

// gatherings bring creates together. Those that arrive while others of their organization are being written gather, and are written in one
// statement as soon as one of those writes is done: a commit costs the same for one and for a hundred. A create that
// finds nobody ahead is written at once and by itself: nothing ever waits for company.
type gatherings struct {
	db    *pgxpool.Pool
	wrote func(rows int)

	mu   sync.Mutex
	orgs map[account.OrgID]*queue // those that write
}

// queue is what an organization has under way.
type queue struct {
	writes  int
	waiting []*gathering // all but the last are closed
}

// gathering is creates that will be written together.
type gathering struct {
	members []*member
	bytes   int
	start   func()
	done    chan struct{} // closed when each member has its outcome
}

type member struct {
	draft
	left   bool // before it was being written
	record Record
	err    error
}

// insert writes one draft, together with others if that is the sooner way, and returns when it is committed; the record's ID is 0 when the
// fingerprint was taken. A caller whose time is up while it waits is not written; once it is being written, it may be.
func (g *gatherings) insert(ctx context.Context, v account.View, d draft) (Record, error) {
	gathered, m := g.join(ctx, v, d)
	if gathered == nil {
		defer g.next(v)
		g.wrote(1)
		return insertOne(ctx, g.db, v, d)
	}
	select {
	case <-gathered.done:
		return m.record, m.err
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		m.left = true
		return Record{}, ctx.Err()
	}
}

func insertOne(ctx context.Context, q pg.Querier, v account.View, d draft) (Record, error) {
	written, err := insert(ctx, q, v, []draft{d})
	if err != nil {
		return Record{}, err
	}
	return written[0], nil
}

// join has the caller write, or adds the draft to those that wait.
func (g *gatherings) join(ctx context.Context, v account.View, d draft) (*gathering, *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q, ok := g.orgs[v.Org()]
	if !ok {
		q = &queue{}
		g.orgs[v.Org()] = q
	}
	if q.writes < maxWrites {
		q.writes++
		return nil, nil
	}
	var last *gathering
	if n := len(q.waiting); n > 0 {
		last = q.waiting[n-1]
	}
	size := d.size()
	if last == nil || len(last.members) == maxGathered || last.bytes+size > maxGatheredBytes {
		last = &gathering{done: make(chan struct{})}
		// The first one's values, for its trace; nobody's cancellation.
		own, opened := context.WithoutCancel(ctx), last
		last.start = func() { go g.write(own, v, opened) }
		q.waiting = append(q.waiting, last)
	}
	m := &member{draft: d}
	last.members, last.bytes = append(last.members, m), last.bytes+size
	return last, m
}

// next hands a write that is done on to those who wait longest.
func (g *gatherings) next(v account.View) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.orgs[v.Org()]
	for len(q.waiting) > 0 {
		first := q.waiting[0]
		q.waiting = q.waiting[1:]
		if first.dropLeft() {
			first.start()
			return
		}
	}
	if q.writes--; q.writes == 0 {
		delete(g.orgs, v.Org())
	}
}

// dropLeft forgets the members who are gone, and says whether any is there.
func (b *gathering) dropLeft() bool {
	here := b.members[:0]
	for _, m := range b.members {
		if !m.left {
			here = append(here, m)
		}
	}
	b.members = here
	return len(here) > 0
}

// write writes a gathering and tells everyone what became of theirs.
func (g *gatherings) write(ctx context.Context, v account.View, b *gathering) {
	defer g.next(v)
	defer close(b.done)
	// A panic would end the process here, instead of a request.
	defer func() {
		if p := recover(); p != nil {
			b.fail(fmt.Errorf("panic while writing: %T", p))
		}
	}()
	drafts := make([]draft, len(b.members))
	for i, m := range b.members {
		drafts[i] = m.draft
	}
	ctx, cancel := context.WithTimeout(ctx, gatheringTime)
	defer cancel()
	g.wrote(len(drafts))
	written, err := insert(ctx, g.db, v, drafts)
	switch {
	case err == nil:
		for i, m := range b.members {
			m.record = written[i]
		}
	case len(drafts) > 1 && nothingWritten(err):
		// One of them may be to blame; the others must not pay for it.
		for _, m := range b.members {
			g.wrote(1)
			m.record, m.err = insertOne(ctx, g.db, v, m.draft)
		}
	default:
		b.fail(err)
	}
}

func (b *gathering) fail(err error) {
	for _, m := range b.members {
		m.record, m.err = Record{}, err
	}
}

// nothingWritten reports whether an error says for sure that the statement left nothing behind, and that another may fare better. After any
// other, such as a connection that broke, drafts written again could be refused for the fingerprints they themselves have taken.
func nothingWritten(err error) bool {
	_, refused := errors.AsType[*pgconn.PgError](err)
	return refused && !pg.Away(err) || errors.Is(err, errVanished)
}

// size is about how many bytes a draft adds to a statement.
func (d draft) size() int {
	n := len(d.items)
	for _, a := range d.Attributes {
		for _, value := range a.Values {
			n += len(a.Name) + len(value.Text)
		}
	}
	return n
}
