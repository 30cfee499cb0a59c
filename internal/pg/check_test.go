package pg_test

import (
	"strings"
	"testing"

	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// What Check finds, in the words an operator searches for.
const (
	noTrigrams   = "pg_trgm is missing"
	noLetters    = "LC_CTYPE"
	oldSchema    = "run earshot migrate"
	wrongCharset = "create it with ENCODING 'UTF8'"
)

// A database that cannot carry the service is refused with everything that is wrong with it, so that it is mended in one go.
func TestCheckNamesEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options  string
		migrated bool
		want     []string
		unwanted []string
	}{
		"empty": {
			want:     []string{noTrigrams, oldSchema, "version 0"},
			unwanted: []string{noLetters, wrongCharset},
		},
		"LC_CTYPE C, empty": {
			options:  "ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'",
			want:     []string{noLetters, noTrigrams, oldSchema},
			unwanted: []string{wrongCharset},
		},
		"LC_CTYPE C, migrated": {
			options:  "ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'",
			migrated: true,
			want:     []string{noLetters},
			unwanted: []string{wrongCharset, noTrigrams, oldSchema},
		},
		"SQL_ASCII, empty": {
			options: "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'",
			want:    []string{"SQL_ASCII", wrongCharset, noTrigrams, oldSchema},
		},
		"SQL_ASCII, migrated": {
			options:  "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'",
			migrated: true,
			want:     []string{"SQL_ASCII", wrongCharset},
			unwanted: []string{noTrigrams, oldSchema},
		},
		"LATIN1, empty": {
			options: "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'",
			want:    []string{"LATIN1", wrongCharset, noTrigrams, oldSchema},
		},
		"LATIN1, migrated": {
			options:  "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'",
			migrated: true,
			want:     []string{"LATIN1", wrongCharset},
			unwanted: []string{noTrigrams, oldSchema},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, pg.Settings{URL: pgtest.Empty(t, c.options)})
			if c.migrated {
				if _, err := pg.Migrate(t.Context(), db); err != nil {
					t.Fatal(err)
				}
			}
			err := pg.Check(t.Context(), db)
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, words := range c.want {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("nothing about %q in:\n%v", words, err)
				}
			}
			for _, words := range c.unwanted {
				if strings.Contains(err.Error(), words) {
					t.Errorf("there is %q in:\n%v", words, err)
				}
			}
		})
	}
}

// A migrated database is good.
func TestCheckAcceptsAMigratedDatabase(t *testing.T) {
	t.Parallel()
	if err := pg.Check(t.Context(), pgtest.DB(t)); err != nil {
		t.Error(err)
	}
}

// While a new release rolls out its schema is there before the last old binary is gone.
func TestCheckAcceptsANewerSchema(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.New(t)})
	if _, err := db.Exec(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)`, pg.Latest()+1); err != nil {
		t.Fatal(err)
	}
	if err := pg.Check(t.Context(), db); err != nil {
		t.Error(err)
	}
}

// A step that is missing at the end is told by its number.
func TestCheckRefusesAnOlderSchema(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.New(t)})
	if _, err := db.Exec(t.Context(), `DELETE FROM goose_db_version WHERE version_id = $1`, pg.Latest()); err != nil {
		t.Fatal(err)
	}
	err := pg.Check(t.Context(), db)
	if err == nil || !strings.Contains(err.Error(), oldSchema) {
		t.Errorf("got %v, want a word about the schema", err)
	}
}

// A server that cannot be reached is no verdict on the database.
func TestCheckSaysWhenTheServerIsAway(t *testing.T) {
	t.Parallel()
	err := pg.Check(t.Context(), open(t, pg.Settings{URL: closedPort(t)}))
	if err == nil || !strings.Contains(err.Error(), "reach the database") || !pg.Away(err) {
		t.Errorf("got %v, want that the database cannot be reached", err)
	}
}

// Looking at a database leaves nothing behind in it.
func TestCheckCreatesNothing(t *testing.T) {
	t.Parallel()
	db := open(t, pg.Settings{URL: pgtest.Empty(t, "")})
	if err := pg.Check(t.Context(), db); err == nil {
		t.Error("an empty database was accepted")
	}
	var n int
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != 0 {
		t.Errorf("it left %d relations", n)
	}
}
