package httpapi_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"earshot/internal/feedback"
	"earshot/internal/fql/fqltest"
)

// Whatever is given as a filter is answered or refused: no panic, no 5xx.
func FuzzList(f *testing.F) {
	c := newClient(f)
	c.create(`{"carrier_id":1,"source":"email","fingerprint":"f","attributes":[{"name":"city","value":["Lyon",7]}],"items":[{"question_id":1,"value":"Too late"}]}`).want(201)
	c.create(`{"carrier_id":2,"source":"sms","created_at":"1900-01-01T00:00:00Z","attributes":[{"name":"city","value":-1.5e3}]}`).want(201)
	r := rand.New(rand.NewPCG(1, 1))
	w := fqltest.World{
		IDs: []int64{1}, Carriers: []int64{1, 2}, Sources: feedback.SourceNames(), Statuses: feedback.StatusNames(), Zone: time.UTC, Now: time.Now(),
		Attributes: []fqltest.Attribute{{Name: "city", Values: []string{"Lyon", "7"}}}, Questions: []fqltest.Question{{ID: 1, Type: "text", Values: []string{"Too late"}}},
		Words: []string{"late"},
	}
	for range 40 {
		f.Add(fqltest.Random(r, w))
	}
	for _, c := range hostile() {
		if len(c.query) < 2_000 {
			f.Add(c.query)
		}
	}
	f.Fuzz(func(t *testing.T, filter string) {
		mine := *c
		mine.t = t
		if a := mine.list(filter, ""); a.status >= 500 {
			t.Errorf("%d %s: %s", a.status, a.body, c.server.log)
		}
	})
}
