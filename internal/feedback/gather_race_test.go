package feedback_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg"
)

// Whatever comes together, of one fingerprint one create is acknowledged at most, everything acknowledged is stored, and the tallies are
// exact: many callers, few fingerprints, rows the database refuses, callers who leave.
func TestCreatesRace(t *testing.T) {
	t.Parallel()
	c := newThrong(t)
	const callers, each, fingerprints = 48, 20, 300
	var acknowledged [fingerprints]atomic.Int32
	var uncertain atomic.Int64
	for i := range callers {
		c.all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 2))
			for range each {
				f := random.IntN(fingerprints)
				n := feedback.New{CarrierID: 1, Source: 4, Fingerprint: fmt.Sprint(f), Attributes: []feedback.Attribute{attribute("n", fmt.Sprint(f%50))}}
				ctx, leave := context.WithCancel(t.Context())
				switch random.IntN(20) {
				case 0:
					n.Owners = []account.UserID{1 << 40}
				case 1:
					time.AfterFunc(time.Duration(random.IntN(3000))*time.Microsecond, leave)
				}
				_, err := c.store.Create(ctx, c.view, n, &fault.Form{})
				leave()
				switch _, refused := errors.AsType[*pgconn.PgError](err); {
				case err == nil:
					acknowledged[f].Add(1)
				case errors.Is(err, context.Canceled), refused && pg.TimedOut(err):
					uncertain.Add(1)
				case fault.Is(err, fault.FingerprintTaken), refused && len(n.Owners) > 0:
				default:
					t.Errorf("%v", err)
				}
			}
		})
	}
	c.all.Wait()
	var known int64
	for f := range acknowledged {
		n := acknowledged[f].Load()
		if n > 1 {
			t.Errorf("fingerprint %d was acknowledged %d times", f, n)
		}
		known += int64(n)
	}
	if n := c.stored(); n < known || n > known+uncertain.Load() {
		t.Errorf("%d are stored, %d acknowledged, %d uncertain", n, known, uncertain.Load())
	}
	statements, rows := len(c.writes), 0
	for _, n := range c.writes {
		rows += n
	}
	t.Logf("%d statements wrote %d rows; %d acknowledged, %d uncertain", statements, rows, known, uncertain.Load())
	if statements == rows {
		t.Error("nothing was ever gathered")
	}
}
