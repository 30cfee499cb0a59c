package feedback

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// Snapshot is an organization's feedback as it was at one moment: whatever is asked of it fits together.
type Snapshot struct {
	Now  time.Time
	Zone *time.Location

	store    *Store
	tx       pgx.Tx
	view     account.View
	filters  map[string]*filter // by the canonical form of their query
	rezoning bool
	turn     func() // gives back the turn that is held; nil while none is
}

// errTurn says that what was asked has to be counted, and that others of the organization are counting already.
var errTurn = errors.New("no turn to count")

// Snapshot lets look ask questions about one moment, with a context that leaves time to say that they were too much. It may be called
// again from the start, when it turns out that it has to wait for its turn to count: nobody waits while holding a connection. What takes
// too long is fault.QueryTooBroad.
func (s *Store) Snapshot(ctx context.Context, v account.View, look func(context.Context, *Snapshot) error) error {
	within := ctx
	if deadline, ok := ctx.Deadline(); ok {
		left, cancel := context.WithTimeout(ctx, time.Until(deadline)*9/10)
		defer cancel()
		within = left
	}
	p := &Snapshot{store: s, view: v}
	defer func() {
		if p.turn != nil {
			p.turn()
		}
	}()
	err := p.take(within, look)
	if errors.Is(err, errTurn) {
		if p.turn, err = s.counts.take(within, v, counted); err == nil {
			err = p.take(within, look)
		}
	}
	switch {
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		return fault.New(fault.QueryTooBroad, "This takes too long to count. Ask about a shorter period, or about less at once.")
	case pg.TimedOut(err):
		return tooBroad(err, "look at feedback")
	}
	return err
}

func (p *Snapshot) take(ctx context.Context, look func(context.Context, *Snapshot) error) error {
	p.filters = map[string]*filter{}
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, p.store.reads, options, func(tx pgx.Tx) error {
		p.tx = tx
		var zone string
		err := tx.QueryRow(ctx, `SELECT time_zone, rezoning, now() FROM organization WHERE id = $1`, p.view.Org()).Scan(&zone, &p.rezoning, &p.Now)
		if err != nil {
			return fmt.Errorf("read organization: %w", err)
		}
		if p.Zone, err = time.LoadLocation(zone); err != nil {
			return fmt.Errorf("time zone of the organization: %w", err)
		}
		return look(ctx, p)
	})
}

// may says whether a statement that goes this way may run now: what is counted needs a turn.
func (p *Snapshot) may(way string) error {
	if way != counted || p.turn != nil {
		return nil
	}
	done, ok := p.store.counts.try(p.view)
	if !ok {
		return errTurn
	}
	p.turn = done
	return nil
}

// filter is what a query means at this moment.
func (p *Snapshot) filter(ctx context.Context, q fql.Query) (*filter, error) {
	text := q.String()
	if f, ok := p.filters[text]; ok {
		return f, nil
	}
	f, err := p.store.resolveOn(ctx, p.tx, p.view, q)
	if err != nil {
		return nil, err
	}
	f.now, f.zone, f.rezoning = p.Now, p.Zone, p.rezoning
	p.filters[text] = f
	return f, nil
}
