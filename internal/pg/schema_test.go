package pg_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// index is one index of the schema; Columns holds "" for an expression.
type index struct {
	Table   string
	Name    string
	Primary bool
	Unique  bool
	Columns []string
}

func indexes(t *testing.T) []index {
	t.Helper()
	rows, err := pgtest.DB(t).Query(t.Context(), `
		SELECT c.relname AS table, i.relname AS name, x.indisprimary AS primary, x.indisunique AS unique,
		       ARRAY(SELECT coalesce(a.attname, '')
		             FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS k (attnum, n)
		             LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum AND k.attnum > 0
		             WHERE k.n <= x.indnkeyatts
		             ORDER BY k.n)::text[] AS columns
		FROM pg_index x
		JOIN pg_class c ON c.oid = x.indrelid
		JOIN pg_class i ON i.oid = x.indexrelid
		WHERE c.relnamespace = 'public'::regnamespace
		ORDER BY c.relname, i.relname`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[index])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func tables(t *testing.T) []string {
	t.Helper()
	rows, err := pgtest.DB(t).Query(t.Context(), `
		SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
		ORDER BY relname`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// global are the tables that belong to no organization, with the reason.
var global = map[string]string{
	"organization":     "it is the organization",
	"goose_db_version": "the migrations' own",
	"goose_lock":       "the migrations' own",

	"river_job": "the queue's own", "river_leader": "the queue's own", "river_migration": "the queue's own",
	"river_notification": "the queue's own", "river_queue": "the queue's own",
}

// keyless are the tables without a primary key, with the index that leads with the organization in its place.
var keyless = map[string]string{
	"feedback_delta": "feedback_delta_fold", // appended to, folded and deleted: nobody looks for one row
}

// unkeyed are the unique indexes without the organization, with the reason.
var unkeyed = map[string]string{
	"token_sha256":        "a token is found by its secret before its organization is known",
	"report_share_sha256": "a link is found by its secret before its organization is known",
}

// Everything belongs to one organization, and an organization's rows lie together: each primary key begins with it.
func TestSchemaPrimaryKeysBeginWithTheOrganization(t *testing.T) {
	t.Parallel()
	leads := map[string]bool{} // by table, and by table and index
	for _, x := range indexes(t) {
		if x.Columns[0] == "organization_id" {
			leads[x.Table] = leads[x.Table] || x.Primary
			leads[x.Table+" "+x.Name] = true
		}
	}
	known := tables(t)
	for _, table := range known {
		key := table
		if name, ok := keyless[table]; ok {
			key = table + " " + name
		}
		if _, ok := global[table]; !ok && !leads[key] {
			t.Errorf("the key of %s does not begin with organization_id", table)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(global)), slices.Collect(maps.Keys(keyless))) {
		if !slices.Contains(known, name) {
			t.Errorf("%s is excepted and does not exist", name)
		}
	}
}

// What is unique is unique within an organization: no one learns from a refusal what another one has.
func TestSchemaUniqueIndexesHoldTheOrganization(t *testing.T) {
	t.Parallel()
	var excepted []string
	for _, x := range indexes(t) {
		if _, ok := global[x.Table]; ok || !x.Unique || slices.Contains(x.Columns, "organization_id") {
			continue
		}
		if _, ok := unkeyed[x.Name]; !ok {
			t.Errorf("%s of %s is unique over all organizations: %v", x.Name, x.Table, x.Columns)
		}
		excepted = append(excepted, x.Name)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(unkeyed)), excepted); diff != "" {
		t.Errorf("exceptions (-listed +found):\n%s", diff)
	}
}

// A reference never leads into another organization: each foreign key carries it along.
func TestSchemaForeignKeysCarryTheOrganization(t *testing.T) {
	t.Parallel()
	rows, err := pgtest.DB(t).Query(t.Context(), `
		SELECT k.conname
		FROM pg_constraint k
		WHERE k.contype = 'f' AND k.connamespace = 'public'::regnamespace AND NOT EXISTS (
			SELECT FROM unnest(k.conkey, k.confkey) AS p (here, there)
			JOIN pg_attribute h ON h.attrelid = k.conrelid AND h.attnum = p.here AND h.attname = 'organization_id'
			JOIN pg_attribute f ON f.attrelid = k.confrelid AND f.attnum = p.there
			WHERE f.attname = CASE WHEN k.confrelid = 'organization'::regclass THEN 'id' ELSE 'organization_id' END)`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 0 {
		t.Errorf("without the organization: %v", names)
	}
}

// advisory is a lock of the two-key form.
type advisory struct{ Class, Object int64 }

// take takes ids in a transaction that is then rolled back; it returns them, and the advisory locks the transaction held.
func take(t *testing.T, db *pgxpool.Pool, organization int64, n int) (ids []int64, locks []advisory) {
	t.Helper()
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // nothing was written
	rows, err := tx.Query(t.Context(), `SELECT feedback_take_ids($1, $2)`, organization, n)
	if err != nil {
		t.Fatal(err)
	}
	if ids, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
		t.Fatal(err)
	}
	// objsubid 2 is the form with two keys, which leaves the form with one to the migrations and the tests.
	rows, err = tx.Query(t.Context(), `
		SELECT classid::bigint AS class, objid::bigint AS object FROM pg_locks
		WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND objsubid = 2 AND mode = 'ShareLock' AND granted`)
	if err != nil {
		t.Fatal(err)
	}
	if locks, err = pgx.CollectRows(rows, pgx.RowToStructByName[advisory]); err != nil {
		t.Fatal(err)
	}
	return ids, locks
}

// A transaction holds one lock on the last id handed out before its own, however many it takes: a reader who walks up
// to the smallest value locked misses none of them. The first ids ever are no exception.
func TestTakeIDsLocksBelowWhatItHandsOut(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.New(t)})
	var last int64
	for _, n := range []int{1, 1, 100, 3} {
		const organization = 2147483647
		ids, locks := take(t, db, organization, n)
		if len(ids) != n || !slices.IsSorted(ids) || ids[0] <= last {
			t.Errorf("%d ids after %d: %v", n, last, ids)
		}
		if len(locks) != 1 || locks[0].Class != organization {
			t.Fatalf("%d ids: locks %v, want one of the organization", n, locks)
		}
		if locks[0].Object >= ids[0] {
			t.Errorf("%d is locked, and %d handed out: a reader takes it for settled", locks[0].Object, ids[0])
		}
		if locks[0].Object < last {
			t.Errorf("%d is locked, and %d was handed out before: readers wait for nothing", locks[0].Object, last)
		}
		last = ids[len(ids)-1]
	}
}

// Past four bytes the lock is on the low bits.
func TestTakeIDsPastFourBytes(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.New(t)})
	const last = 5<<31 + 12
	if _, err := db.Exec(t.Context(), `SELECT setval('feedback_id', $1)`, int64(last)); err != nil {
		t.Fatal(err)
	}
	ids, locks := take(t, db, 1, 2)
	if diff := cmp.Diff([]int64{last + 1, last + 2}, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]advisory{{1, 12}}, locks); diff != "" {
		t.Errorf("locks (-want +got):\n%s", diff)
	}
}

// Whoever takes nothing holds nobody up.
func TestTakeIDsOfNothingLocksNothing(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, -1} {
		ids, locks := take(t, pgtest.DB(t), 1, n)
		if len(ids) != 0 || len(locks) != 0 {
			t.Errorf("%d ids: got %v and locks %v", n, ids, locks)
		}
	}
}
