// Package demo invents an organization's feedback to look at: three years of a shop for furniture and household goods in five languages, with
// trends, seasons and incidents, and texts that say what the scores say. It is pure: the same options always give the same records,
// and nothing is read or written.
package demo

import (
	"cmp"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"earshot/internal/account"
	"earshot/internal/feedback"
)

// years is how long the story goes back.
const years = 3

// Options are what the records depend on, and nothing else.
type Options struct {
	Seed  uint64
	Until time.Time // the end of the three years
	Count int
	// Owners are the ids of the users that Users describes, in that order. Without them nobody owns anything.
	Owners []account.UserID
}

// Records returns Count feedback in the order of their times, all of them before Until.
func Records(o Options) iter.Seq[feedback.New] {
	return func(yield func(feedback.New) bool) {
		g := generator{Options: o, random: rand.New(rand.NewPCG(o.Seed, 0)), until: o.Until.UTC()}
		for n, at := range g.moments() {
			if !yield(g.feedback(n, at)) {
				return
			}
		}
	}
}

// generator makes the records one after the other; what it draws depends on what it drew before.
type generator struct {
	Options
	random *rand.Rand
	until  time.Time
}

// moment is when somebody says something, and at which touchpoint.
type moment struct {
	at    time.Time
	point *touchpoint
}

// day is how many days before the end a moment lies.
func (g *generator) day(at time.Time) float64 { return g.until.Sub(at).Hours() / 24 }

// moments are as many as asked for, spread over days and touchpoints by how much is said there and then, in order.
func (g *generator) moments() iter.Seq2[int, moment] {
	return func(yield func(int, moment) bool) {
		first := g.until.AddDate(-years, 0, 0).Truncate(24*time.Hour).AddDate(0, 0, 1)
		var total float64
		for day := first; day.Before(g.until); day = day.AddDate(0, 0, 1) {
			for i := range touchpoints {
				total += g.volume(day, &touchpoints[i])
			}
		}
		// One stride for all, so that rare places get their share and the number comes out exactly.
		stride := total / float64(g.Count)
		next, passed, n := g.random.Float64()*stride, 0.0, 0
		for day := first; day.Before(g.until); day = day.AddDate(0, 0, 1) {
			var today []moment
			for i := range touchpoints {
				passed += g.volume(day, &touchpoints[i])
				for ; next < passed && n+len(today) < g.Count; next += stride {
					today = append(today, moment{g.within(day, &touchpoints[i]), &touchpoints[i]})
				}
			}
			slices.SortStableFunc(today, func(a, b moment) int { return cmp.Compare(a.at.UnixMicro(), b.at.UnixMicro()) })
			for _, m := range today {
				if !yield(n, m) {
					return
				}
				n++
			}
		}
	}
}

// feedback is the nth record.
func (g *generator) feedback(n int, m moment) feedback.New {
	s := g.situation(m)
	return feedback.New{
		CarrierID:   m.point.carrier.ID,
		Source:      s.source,
		CreatedAt:   &m.at,
		Fingerprint: fmt.Sprintf("demo-%d-%d-%d", g.Seed, g.until.Unix(), n),
		Attributes:  g.attributes(n, s),
		Items:       g.answers(s),
		Status:      g.status(s),
		Owners:      g.owners(s),
	}
}

// chance is true this often.
func (g *generator) chance(p float64) bool { return g.random.Float64() < p }

// weighted is one of several things with how often it comes.
type weighted[T any] struct {
	what   T
	weight float64
}

// draw picks one by its weight.
func draw[T any](r *rand.Rand, all []weighted[T]) T {
	var total float64
	for _, w := range all {
		total += w.weight
	}
	at := r.Float64() * total
	for _, w := range all {
		if at -= w.weight; at < 0 {
			return w.what
		}
	}
	return all[len(all)-1].what
}

// pick picks any one.
func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }
