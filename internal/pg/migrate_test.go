package pg_test

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// Replicas that start together all migrate: every one succeeds, and each step is applied by one of them.
func TestMigrateFromSeveralProcessesAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t, "")
	const processes = 5
	var (
		applied [processes][]pg.Migration
		errs    [processes]error
		wg      sync.WaitGroup
		start   = make(chan struct{})
	)
	for i := range processes {
		db := open(t, pg.Settings{URL: url})
		wg.Go(func() {
			<-start
			applied[i], errs[i] = pg.Migrate(t.Context(), db)
		})
	}
	close(start)
	wg.Wait()

	var files []string
	for i := range processes {
		if errs[i] != nil {
			t.Errorf("process %d: %v", i, errs[i])
		}
		for _, m := range applied[i] {
			files = append(files, m.File)
		}
	}
	slices.Sort(files)
	if diff := cmp.Diff(embedded(t), files); diff != "" {
		t.Errorf("steps applied by all of them together (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(versions(t), recorded(t, url)); diff != "" {
		t.Errorf("versions on record (-want +got):\n%s", diff)
	}
}

// Migrating what is up to date applies nothing.
func TestMigrateTwiceAppliesNothingMore(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.New(t)})
	applied, err := pg.Migrate(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if len(applied) != 0 {
		t.Errorf("applied %v", applied)
	}
}

// Status lists every step in order: pending before, with the true time of its application after.
func TestMigrationsTellPendingFromApplied(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.Empty(t, "")})
	all, err := pg.Migrations(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(embedded(t), fileNames(all)); diff != "" {
		t.Errorf("steps before (-want +got):\n%s", diff)
	}
	for _, m := range all {
		if !m.AppliedAt.IsZero() {
			t.Errorf("%s says it was applied at %v", m.File, m.AppliedAt)
		}
	}

	before := time.Now()
	if _, err := pg.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if all, err = pg.Migrations(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(embedded(t), fileNames(all)); diff != "" {
		t.Errorf("steps after (-want +got):\n%s", diff)
	}
	for i, m := range all {
		if m.Version != versions(t)[i] {
			t.Errorf("%s has version %d, want %d", m.File, m.Version, versions(t)[i])
		}
		// The two clocks may differ a little; a zone taken for another is off by half an hour at least.
		if d := m.AppliedAt.Sub(before).Abs(); d > 5*time.Minute {
			t.Errorf("%s says it was applied at %v, now is %v", m.File, m.AppliedAt, before)
		}
	}
}

// The version a binary needs is that of its last embedded step.
func TestLatestIsTheLastStep(t *testing.T) {
	t.Parallel()
	if want := slices.Max(versions(t)); pg.Latest() != want {
		t.Errorf("Latest() = %d, want %d", pg.Latest(), want)
	}
}

// embedded are the names of the steps in order.
func embedded(t *testing.T) []string {
	t.Helper()
	names, err := fs.Glob(pg.MigrationFiles(), "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("embedded steps: %v %v", names, err)
	}
	names = append(names, "00008_queue.go") // the job queue brings its own
	slices.Sort(names)
	return names
}

// versions are the numbers of the steps in order, as their names say. Work done side by side may leave gaps.
func versions(t *testing.T) []int64 {
	t.Helper()
	var numbers []int64
	for _, name := range embedded(t) {
		n, err := strconv.ParseInt(name[:5], 10, 64)
		if err != nil || len(numbers) > 0 && n <= numbers[len(numbers)-1] {
			t.Fatalf("the number of %s: %v", name, err)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func fileNames(all []pg.Migration) []string {
	var names []string
	for _, m := range all {
		names = append(names, m.File[strings.LastIndex(m.File, "/")+1:])
	}
	return names
}

// recorded are the versions the database says it has, in order, as often as it says so.
func recorded(t *testing.T, url string) []int64 {
	t.Helper()
	db := open(t, pg.Settings{URL: url})
	rows, err := db.Query(t.Context(), `SELECT version_id FROM goose_db_version WHERE is_applied AND version_id > 0 ORDER BY version_id`)
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	return numbers
}
