package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"earshot/bench/rig"
)

// What the neighbour has and does: feedback with texts of some words, and filters that must be counted text by text.
const (
	originals  = 500 // made by the product; the others are copies
	neighbours = 20  // connections
)

// settling is how long the neighbour's coming and going may take.
const settling = 500 * time.Millisecond

var vocabulary = strings.Fields(`delivery service staff price quality order website phone store week email support app refund account box
	window manager payment parking kitchen colour size garden contract invoice branch courier queue password appointment technician heating
	battery screen cable printer carpet mirror blanket bicycle jacket saucepan cupboard mattress lantern hammer ladder curtain doorbell`)

// heavy is a list whose total has two terms, for which most texts have to be read.
func heavy(o rig.Organization) []byte {
	return rig.Request("GET", "/v4/feedback?per_page=1&fql="+url.QueryEscape(`[{"Text":{"$like":"delivery"}},{"Text":{"$nlike":"refund"}}]`), o.Token, "")
}

// settle gives an organization as many feedback as it should have.
func (b *bench) settle(ctx context.Context, database string, p *rig.Process, org rig.Organization, size int) error {
	c, err := rig.Dial(ctx, p.Address)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // all of it was read
	random := rand.New(rand.NewPCG(20, 26))
	for range originals {
		words := make([]string, 30)
		for i := range words {
			words[i] = vocabulary[random.IntN(len(vocabulary))]
		}
		a, err := c.Do(org.Create(strings.Join(words, " ")))
		if err := a.Want(201, err); err != nil {
			return err
		}
	}
	// A copy is its original with another id, whatever columns there are.
	copies := func(table, id string) string {
		return fmt.Sprintf(`
			INSERT INTO %[1]s
			SELECT c.*
			FROM generate_series(1, %[3]d) AS n
			CROSS JOIN %[1]s AS original
			CROSS JOIN LATERAL jsonb_populate_record(original, jsonb_build_object('%[2]s', original.%[2]s + n * %[4]d)) AS c
			WHERE original.organization_id = %[5]d`, table, id, size/originals-1, originals, org.ID)
	}
	if err := execute(ctx, database,
		copies("feedback", "id"), copies("feedback_content", "feedback_id"),
		`SELECT setval('feedback_id', (SELECT max(id) FROM feedback))`, `VACUUM (ANALYZE) feedback, feedback_content`); err != nil {
		return err
	}
	_, err = b.program.Run(ctx, database, "verify", "--repair") // or the totals of the copies would be missing
	return err
}

// crowd asks for heavy counts on all its connections until stop is called, which returns how long those took that were answered. Like people
// who close a page, it does not wait for the others.
func crowd(ctx context.Context, address string, org rig.Organization) (stop func() (took rig.Times, refused int, err error)) {
	var (
		clients sync.WaitGroup
		mu      sync.Mutex
		all     rig.Times
		shed    int
		failed  error
	)
	ctx, leave := context.WithCancel(ctx)
	ask := heavy(org)
	for range neighbours {
		clients.Go(func() {
			c, err := rig.Dial(ctx, address)
			if err == nil {
				defer context.AfterFunc(ctx, func() { _ = c.Close() })()
			}
			for err == nil {
				var a rig.Answer
				began := time.Now()
				a, err = c.Do(ask)
				mu.Lock()
				switch {
				case err == nil && a.Status == 200:
					all = append(all, time.Since(began))
				case err == nil && (a.Status == 503 || a.Status == 422): // no place, or longer than a statement may take
					shed++
				default:
					err = a.Want(200, err)
				}
				mu.Unlock()
			}
			if ctx.Err() == nil {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	return func() (rig.Times, int, error) {
		leave()
		clients.Wait()
		return all, shed, failed
	}
}

// beat is the time between two creates.
const beat = 10 * time.Millisecond

// trickle creates at a steady pace for a while, each on the beat whether the one before is answered or not, and returns how long each took.
// One that is not answered 201 is an error.
func trickle(ctx context.Context, address string, org rig.Organization, length time.Duration) (took rig.Times, err error) {
	const hands = 16
	var (
		clients sync.WaitGroup
		mu      sync.Mutex
		next    atomic.Int64
	)
	text := org.Create(rig.Opinion)
	began := time.Now()
	for range hands {
		clients.Go(func() {
			c, failed := rig.Dial(ctx, address)
			for failed == nil {
				due := began.Add(time.Duration(next.Add(1)) * beat)
				if due.Sub(began) > length {
					break
				}
				time.Sleep(time.Until(due))
				var a rig.Answer
				a, failed = c.Do(text)
				failed = a.Want(201, failed)
				mu.Lock()
				took = append(took, time.Since(due))
				mu.Unlock()
			}
			if c != nil {
				_ = c.Close() // all of it was read
			}
			mu.Lock()
			err = errors.Join(err, failed)
			mu.Unlock()
		})
	}
	clients.Wait()
	return took, err
}

// once sends a request three times and returns how long the quickest answer took.
func once(ctx context.Context, address string, text []byte) (time.Duration, error) {
	c, err := rig.Dial(ctx, address)
	if err != nil {
		return 0, err
	}
	defer c.Close() //nolint:errcheck // all of it was read
	var took rig.Times
	for range 3 {
		sent := time.Now()
		a, err := c.Do(text)
		if err := a.Want(200, err); err != nil {
			return 0, err
		}
		took = append(took, time.Since(sent))
	}
	return took.At(0), nil
}

// street is a server with the two organizations.
type street struct {
	*rig.Process
	quiet, noisy rig.Organization
	count        time.Duration // what one heavy count takes, alone
}

func (b *bench) street(ctx context.Context, database string, size int) (s street, err error) {
	if s.quiet, err = b.program.Organization(ctx, database, "Quiet"); err != nil {
		return s, err
	}
	if s.noisy, err = b.program.Organization(ctx, database, "Noisy"); err != nil {
		return s, err
	}
	if s.Process, err = b.program.Serve(ctx, database, ""); err != nil {
		return s, err
	}
	if err := b.settle(ctx, database, s.Process, s.noisy, size); err != nil {
		return s, fmt.Errorf("build the neighbour's data: %w", err)
	}
	if s.count, err = once(ctx, s.Address, heavy(s.noisy)); err != nil {
		return s, err
	}
	_, err = trickle(ctx, s.Address, s.quiet, time.Second) // to warm up
	return s, err
}

// round is what was found in one turn without the neighbour and one with it.
type round struct {
	alone, beside rig.Times
	counts        rig.Times
	refused       int
}

func (s street) round(ctx context.Context, phase time.Duration) (r round, err error) {
	if err := pause(ctx, settling); err != nil {
		return r, err
	}
	if r.alone, err = trickle(ctx, s.Address, s.quiet, phase); err != nil {
		return r, err
	}
	stop := crowd(ctx, s.Address, s.noisy)
	if err := pause(ctx, settling); err != nil {
		return r, err
	}
	r.beside, err = trickle(ctx, s.Address, s.quiet, phase)
	var failed error
	r.counts, r.refused, failed = stop()
	return r, errors.Join(err, failed)
}

func (r round) row(name string) []string {
	return []string{
		name, fmt.Sprint(len(r.alone)), rig.Span(r.alone.At(0.5)), rig.Span(r.alone.At(0.99)),
		fmt.Sprint(len(r.beside)), rig.Span(r.beside.At(0.5)), rig.Span(r.beside.At(0.99)),
		fmt.Sprintf("%.2f", float64(r.beside.At(0.99))/float64(r.alone.At(0.99))), fmt.Sprint(len(r.counts)), rig.Span(r.counts.At(0.5)), fmt.Sprint(r.refused),
	}
}

// noisyNeighbour compares the creates of one organization alone with those beside another that runs heavy counts, in turns.
func (b *bench) noisyNeighbour(ctx context.Context) (outcome, error) {
	rounds, phase, size := 20, 3*time.Second, 250_000
	if b.short {
		rounds, phase, size = 2, 2*time.Second, 10_000
	}
	database, drop, err := b.fresh(ctx, "neighbour")
	if err != nil {
		return outcome{}, err
	}
	defer drop()
	s, err := b.street(ctx, database, size)
	if err != nil {
		return outcome{}, err
	}
	defer s.Stop() //nolint:errcheck // it is not what is looked at
	title := fmt.Sprintf("Creates of an organization alone, and beside one that counts on %d connections; one such count alone takes %s", neighbours, rig.Span(s.count))
	t := rig.Table{Title: title, Rows: [][]string{{
		"round", "creates alone", "p50", "p99", "creates beside", "p50", "p99", "ratio of p99", "counts answered", "p50", "counts refused",
	}}}
	var all round
	for n := range rounds {
		r, err := s.round(ctx, phase)
		if err != nil {
			return outcome{}, err
		}
		t.Rows = append(t.Rows, r.row(fmt.Sprint(n+1)))
		all.alone, all.beside, all.counts = append(all.alone, r.alone...), append(all.beside, r.beside...), append(all.counts, r.counts...)
		all.refused += r.refused
	}
	t.Rows = append(t.Rows, all.row("in all"))
	return outcome{
		tables: []rig.Table{t},
		rules:  []rig.Bar{some("neighbour: creates answered beside it", len(all.beside)), some("neighbour: heavy counts answered", len(all.counts))},
		bars: []rig.Bar{
			rig.Ratio("neighbour: p99 of creates beside it against alone", float64(all.beside.At(0.99)), float64(all.alone.At(0.99)), 2),
		},
	}, nil
}
