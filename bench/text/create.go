package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/bench/rig"
)

// clients are how many connections create at once.
const clients = 8

// opinions are texts of about 120 characters in the languages that are read.
var opinions = []string{
	"The delivery was two days late and nobody told us. The driver was friendly, though, and the box was well packed. Thanks!",
	"La livraison avait deux jours de retard et personne ne nous a prévenus. Le livreur était aimable et le colis bien emballé.",
	"Die Lieferung kam zwei Tage zu spät, und niemand hat uns Bescheid gesagt. Der Fahrer war aber freundlich und alles heil.",
	"El pedido llegó dos días tarde y nadie nos avisó. El repartidor fue amable, eso sí, y la caja venía bien embalada. Gracias.",
	"La consegna è arrivata con due giorni di ritardo e nessuno ci ha avvisati. Il corriere però è stato gentile. Grazie mille!",
}

// written are creates a second, of each round.
type written struct {
	read, unread []float64
}

// creates measures the rate of creates in an organization whose texts are read, for the topics of the starter catalogue, and in one whose are not, in turn.
func (b *bench) creates(ctx context.Context) (w written, err error) {
	reading, err := b.program.Organization(ctx, b.url, "Reading")
	if err != nil {
		return w, err
	}
	not, err := b.program.Organization(ctx, b.url, "Not reading")
	if err != nil {
		return w, err
	}
	conn, err := pgx.Connect(ctx, b.url)
	if err != nil {
		return w, err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left open on it
	if _, err := conn.Exec(ctx, `UPDATE analysis SET language = 'off', edits = edits + 1 WHERE organization_id = $1`, not.ID); err != nil {
		return w, err
	}
	server, err := b.program.Serve(ctx, b.url, "")
	if err != nil {
		return w, err
	}
	defer func() {
		_, stopped := server.Stop()
		err = errors.Join(err, stopped)
	}()
	rig.Progress("creating for %s, %d connections", 2*time.Duration(b.rounds)*b.each, clients)
	for _, warm := range []rig.Organization{reading, not} {
		if _, err := rate(ctx, server.Address, warm, time.Second); err != nil {
			return w, err
		}
	}
	for range b.rounds {
		for _, side := range []struct {
			org   rig.Organization
			rates *[]float64
		}{{reading, &w.read}, {not, &w.unread}} {
			perSecond, err := rate(ctx, server.Address, side.org, b.each)
			if err != nil {
				return w, err
			}
			*side.rates = append(*side.rates, perSecond)
		}
	}
	return w, nil
}

// rate creates for a while and returns how many there were a second.
func rate(ctx context.Context, address string, org rig.Organization, long time.Duration) (float64, error) {
	var requests [][]byte
	for _, text := range opinions {
		requests = append(requests, org.Create(text))
	}
	var (
		all    sync.WaitGroup
		count  atomic.Int64
		failed = make(chan error, clients)
	)
	began := time.Now()
	for i := range clients {
		all.Go(func() {
			c, err := rig.Dial(ctx, address)
			for n := i; err == nil && time.Since(began) < long && ctx.Err() == nil; n++ {
				a, sent := c.Do(requests[n%len(requests)])
				if err = a.Want(201, sent); err == nil {
					count.Add(1)
				}
			}
			if err != nil {
				failed <- err
			}
		})
	}
	all.Wait()
	close(failed)
	if err := <-failed; err != nil {
		return 0, fmt.Errorf("a create: %w", err)
	}
	return float64(count.Load()) / time.Since(began).Seconds(), ctx.Err()
}

// median of some figures.
func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
