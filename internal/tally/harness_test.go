package tally_test

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
	"earshot/internal/tally"
)

// patience is how long a test waits for what must happen: far longer than it takes, even on a busy machine.
const patience = 30 * time.Second

func TestMain(m *testing.M) { pgtest.Main(m) }

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ask() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: still not so after %v", what, patience)
		case <-tick.C:
		}
	}
}

// open returns a pool of the test's own.
func open(t testing.TB, s pg.Settings) *pgxpool.Pool {
	t.Helper()
	db, err := pg.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func exec(t testing.TB, db pg.Querier, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func read[T any](t testing.TB, db pg.Querier, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := db.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// world is an organization with a dictionary, in which feedback is written as the feedback package does: a record and its
// deltas in one transaction.
type world struct {
	db       *pgxpool.Pool
	view     account.View
	store    *tally.Store
	carriers []int64
	values   [][]int64 // an attribute's id, then its values
	answers  []int64   // ids that belong to no attribute
}

// newWorld makes an organization in a database.
func newWorld(t testing.TB, db *pgxpool.Pool) *world {
	t.Helper()
	org, err := account.NewStore(db).OpenOrganization(t.Context(), t.Name()+" "+rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{db: db, view: account.Whole(org.ID), store: tally.NewStore(db), carriers: []int64{5, 7, 1_000_003}}
	for _, rolledUp := range []bool{true, true, false} {
		w.values = append(w.values, w.attribute(t, rolledUp, 6))
	}
	for range 8 {
		w.answers = append(w.answers, read[int64](t, db, `SELECT nextval('dictionary_id')`))
	}
	return w
}

// attribute makes an attribute with n values and returns its id and theirs.
func (w *world) attribute(t testing.TB, rolledUp bool, n int) []int64 {
	t.Helper()
	id := read[int64](t, w.db, `
		INSERT INTO attribute (organization_id, name, label, rolled_up) VALUES ($1, $2, $2, $3) RETURNING id`,
		w.view.Org(), rand.Text(), rolledUp)
	return append([]int64{id}, w.addValues(t, id, n)...)
}

func (w *world) addValues(t testing.TB, attribute int64, n int) []int64 {
	t.Helper()
	return read[[]int64](t, w.db, `
		WITH v AS (
			INSERT INTO attribute_value (organization_id, attribute_id, text, text_sha256, is_number)
			SELECT $1, $2, u, sha256(u::bytea), false
			FROM generate_series(1, $3::int) AS n, LATERAL (SELECT gen_random_uuid()::text || n) AS g (u)
			RETURNING id)
		SELECT coalesce(array_agg(id ORDER BY id), '{}') FROM v`, w.view.Org(), attribute, n)
}

// createSQL writes a record and its delta, with random dimensions from the arrays given.
const createSQL = `
WITH record AS (
    INSERT INTO feedback (organization_id, id, created_at, completed_at, carrier_id, day, source, status, nps_profile,
                          satisfaction, sentiment, attribute_value_ids, answer_ids)
    SELECT $1, nextval('feedback_id'), now(), CASE WHEN random() < 0.5 THEN now() END,
           ($2::bigint[])[1 + floor(random() * cardinality($2::bigint[]))], date '2025-12-28' + floor(random() * 40)::int,
           1 + floor(random() * 3), 1 + floor(random() * 3), nullif(floor(random() * 4), 0),
           CASE WHEN random() < 0.7 THEN floor(random() * 10001) END, CASE WHEN random() < 0.3 THEN floor(random() * 10001) END,
           $3, $4
    FROM generate_series(1, $5::int)
    RETURNING *
)
INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
                            sentiment_n, sentiment_sum, value_ids, value_n, value_sat_n, value_sat_sum)
SELECT $1, carrier_id, day, source, status, coalesce(nps_profile, 0), 1, (satisfaction IS NOT NULL)::int,
       coalesce(satisfaction, 0), (completed_at IS NOT NULL)::int, (sentiment IS NOT NULL)::int, coalesce(sentiment, 0),
       attribute_value_ids || answer_ids, 1, (satisfaction IS NOT NULL)::int, coalesce(satisfaction, 0)
FROM record`

// pickSQL locks some record, if there is one that nobody else has locked.
const pickSQL = `
WITH old AS MATERIALIZED (
    SELECT *
    FROM feedback
    WHERE organization_id = $1
    ORDER BY md5(id::text || $2::bigint)
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)`

// removal is the place of the change that removes a record.
const removal = 1

// changes are what happens to records, each a statement that takes the organization and a random number.
var changes = []string{
	// a status
	pickSQL + `, changed AS (
    UPDATE feedback f SET status = old.status % 3 + 1 FROM old WHERE f.organization_id = $1 AND f.id = old.id
)
INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
                            sentiment_n, sentiment_sum)
SELECT $1, carrier_id, day, source, s.status, coalesce(nps_profile, 0), s.n, s.n * (satisfaction IS NOT NULL)::int,
       s.n * coalesce(satisfaction, 0), s.n * (completed_at IS NOT NULL)::int,
       s.n * (sentiment IS NOT NULL)::int, s.n * coalesce(sentiment, 0)
FROM old CROSS JOIN LATERAL (VALUES (old.status, -1), (old.status % 3 + 1, 1)) AS s (status, n)`,
	// a removal
	pickSQL + `, removed AS (
    DELETE FROM feedback f USING old WHERE f.organization_id = $1 AND f.id = old.id
)
INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
                            sentiment_n, sentiment_sum, value_ids, value_n, value_sat_n, value_sat_sum)
SELECT $1, carrier_id, day, source, status, coalesce(nps_profile, 0), -1, -(satisfaction IS NOT NULL)::int,
       -coalesce(satisfaction, 0), -(completed_at IS NOT NULL)::int, -(sentiment IS NOT NULL)::int, -coalesce(sentiment, 0),
       attribute_value_ids || topic_ids || answer_ids, -1, -(satisfaction IS NOT NULL)::int, -coalesce(satisfaction, 0)
FROM old`,
	// a satisfaction
	pickSQL + `, changed AS (
    UPDATE feedback f SET satisfaction = 100 FROM old WHERE f.organization_id = $1 AND f.id = old.id
)
INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
                            sentiment_n, sentiment_sum, value_ids, value_n, value_sat_n, value_sat_sum)
SELECT $1, carrier_id, day, source, status, coalesce(nps_profile, 0), 0, (satisfaction IS NULL)::int,
       100 - coalesce(satisfaction, 0), 0, 0, 0,
       attribute_value_ids || topic_ids || answer_ids, 0, (satisfaction IS NULL)::int, 100 - coalesce(satisfaction, 0)
FROM old`,
	// a topic
	pickSQL + `, changed AS (
    UPDATE feedback f SET topic_ids = ARRAY[-1] FROM old WHERE f.organization_id = $1 AND f.id = old.id AND old.topic_ids = '{}'
)
INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n,
                            sentiment_n, sentiment_sum, value_ids, value_n, value_sat_n, value_sat_sum)
SELECT $1, carrier_id, day, source, status, coalesce(nps_profile, 0), 0, 0, 0, 0, 0, 0,
       ARRAY[-1], 1, (satisfaction IS NOT NULL)::int, coalesce(satisfaction, 0)
FROM old
WHERE topic_ids = '{}'`,
}

// errUndo makes a transaction undo itself.
var errUndo = errors.New("undo")

// write makes n random transactions. Some undo part of themselves, some all.
func (w *world) write(ctx context.Context, random *mathrand.Rand, n int) error {
	for range n {
		err := pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
			for range 1 + random.IntN(3) {
				// A savepoint: the deltas carry the transaction's id, not its own.
				err := pgx.BeginFunc(ctx, tx, func(part pgx.Tx) error { return w.step(ctx, part, random) })
				if err != nil && !errors.Is(err, errUndo) {
					return err
				}
			}
			return undo(random)
		})
		if err != nil && !errors.Is(err, errUndo) {
			return err
		}
	}
	return nil
}

func undo(random *mathrand.Rand) error {
	if random.IntN(8) == 0 {
		return errUndo
	}
	return nil
}

// step is one change.
func (w *world) step(ctx context.Context, tx pgx.Tx, random *mathrand.Rand) error {
	var err error
	if random.IntN(2) == 0 {
		err = w.create(ctx, tx, random, 1+random.IntN(4))
	} else {
		_, err = tx.Exec(ctx, changes[random.IntN(len(changes))], w.view.Org(), random.Int64())
	}
	return errors.Join(err, undo(random))
}

// create writes n records with random values.
func (w *world) create(ctx context.Context, db pg.Querier, random *mathrand.Rand, n int) error {
	values := []int64{}
	for _, v := range w.values {
		if random.IntN(2) == 0 {
			values = append(values, v[0], v[1+random.IntN(len(v)-1)])
		}
	}
	answers := w.answers[:random.IntN(len(w.answers))]
	_, err := db.Exec(ctx, createSQL, w.view.Org(), w.carriers, values, answers, n)
	return err
}

// fill writes n records in one transaction.
func (w *world) fill(t testing.TB, n int) {
	t.Helper()
	if err := w.create(t.Context(), w.db, mathrand.New(mathrand.NewPCG(1, uint64(n))), n); err != nil {
		t.Fatal(err)
	}
}

func (w *world) records(t testing.TB) int64 {
	t.Helper()
	return read[int64](t, w.db, `SELECT count(*) FROM feedback WHERE organization_id = $1`, w.view.Org())
}

// unfolded is the number of deltas a reader would add.
func (w *world) unfolded(t testing.TB) int64 {
	t.Helper()
	return read[int64](t, w.db, `
		SELECT count(*) FROM feedback_delta
		WHERE organization_id = $1 AND xid >= coalesce((SELECT bound FROM tally_fold WHERE organization_id = $1), '0')`, w.view.Org())
}

// foldAll folds until nothing of the organization is left: elsewhere on the server others hold the fold back.
func (w *world) foldAll(t *testing.T) {
	t.Helper()
	eventually(t, "all deltas folded", func() bool {
		if _, err := w.store.Fold(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w.unfolded(t) == 0
	})
}
