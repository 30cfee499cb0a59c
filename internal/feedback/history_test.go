package feedback_test

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/feedback"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// What history costs: bytes on disk for each change, its index included, and time beside the same change without it. The figures of the documents
// come from here; EARSHOT_RECORDS is how many records are changed, twice each.
func TestHistoryCost(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	records := 4_000
	if n, err := strconv.Atoi(os.Getenv("EARSHOT_RECORDS")); err == nil {
		records = n
	}
	db := open(t, pg.Settings{URL: pgtest.New(t), MaxConns: 2})
	store := feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db))
	v := organization(t, db)
	rows, err := db.Query(t.Context(), `
		INSERT INTO feedback (organization_id, id, created_at, carrier_id, day, source, status, attribute_value_ids, answer_ids)
		SELECT $1, nextval('feedback_id'), now(), 1, current_date, 1, 1, ARRAY[1, 2, 3, 4, 5], ARRAY[6, 7]
		FROM generate_series(1, $2::integer)
		RETURNING id`, v.Org(), records)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	// In stretches of a thousand, one with history and one without in turn, so that whatever else the machine does falls on both.
	var told, silent []time.Duration
	for _, to := range []feedback.Status{feedback.Progress, feedback.Resolved} {
		for stretch := range slices.Chunk(ids, 1000) {
			start := time.Now()
			done := change(t, store, db, v, feedback.By{TokenID: 1, UserID: 1, OperationID: 1}, feedback.Change{Verb: feedback.Move, Status: to}, stretch)
			told = append(told, time.Since(start))
			start = time.Now()
			err := pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
				again, err := store.MoveSilently(t.Context(), tx, v, feedback.Todo, stretch)
				if again != done || done.Changed != int64(len(stretch)) {
					t.Errorf("%+v and %+v of %d changed", done, again, len(stretch))
				}
				return err
			})
			silent = append(silent, time.Since(start))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	var bytes, events int64
	err = db.QueryRow(t.Context(), `SELECT pg_total_relation_size('feedback_history'), (SELECT count(*) FROM feedback_history)`).Scan(&bytes, &events)
	if err != nil {
		t.Fatal(err)
	}
	if events != int64(2*len(ids)) {
		t.Errorf("%d events of %d changes", events, 2*len(ids))
	}
	median := func(all []time.Duration) time.Duration { slices.Sort(all); return all[len(all)/2] }
	t.Logf("%d changes of status: %d bytes of history each; a thousand took %v with and %v without it (medians), %.2f times as long",
		events, bytes/events, median(told), median(silent), float64(median(told))/float64(median(silent)))
	if bytes/events > 250 {
		t.Errorf("an event takes %d bytes", bytes/events)
	}
}
