package httpapi_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"earshot/internal/carrier"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// What a create costs this process, by itself and where 128 come at once: mostly allocations, since the time is the database's.
func BenchmarkCreate(b *testing.B) {
	for _, callers := range []int{1, 128} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			db, err := pg.Open(b.Context(), pg.Settings{URL: pgtest.URL(b), MaxConns: 8})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(db.Close)
			s := newServer(db)
			s.Log = slog.New(slog.NewJSONHandler(io.Discard, nil)) //nolint:sloglint // what a line of the log costs is counted
			var statements atomic.Int64
			s.Feedback.WatchCreates(func(int) { statements.Add(1) })
			c := s.newClient(b)
			made := c.carrier(carrier.NewQuestion{Type: carrier.NPS}, carrier.NewQuestion{Type: carrier.Rating}, carrier.NewQuestion{Type: carrier.Text})
			body := fmt.Sprintf(`{"carrier_id": %d, "source": "survey", "attributes": [{"name": "plan", "value": "plus"}, {"name": "city", "value": "Lyon"}],
				"items": [{"question_id": %d, "value": 9}, {"question_id": %d, "value": 4}, {"question_id": %d, "value": "Friendly staff, slow delivery."}]}`,
				made.ID, made.Questions[0].ID, made.Questions[1].ID, made.Questions[2].ID)
			create := func() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v4/feedback", strings.NewReader(body))
				r.Header.Set("Authorization", "Bearer "+c.token)
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				if s.handler.ServeHTTP(w, r); w.Code != http.StatusCreated {
					b.Errorf("%d %s", w.Code, w.Body)
				}
			}
			create()
			statements.Store(0)
			b.ReportAllocs()
			b.ResetTimer()
			turns := make(chan struct{}, callers)
			done := make(chan struct{})
			for range callers {
				go func() {
					for range turns {
						create()
					}
					done <- struct{}{}
				}()
			}
			for range b.N {
				turns <- struct{}{}
			}
			close(turns)
			for range callers {
				<-done
			}
			b.ReportMetric(float64(b.N)/float64(statements.Load()), "rows/statement")
		})
	}
}
