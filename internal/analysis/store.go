package analysis

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/pg"
)

// Store keeps what each organization's texts are read for: its topics, and the languages they are expected in.
type Store struct {
	db      *pgxpool.Pool
	readers *pg.Cache[account.OrgID, *Reader]

	// compiled are readers that may be out of date. Compiling takes milliseconds, so one since which nothing was edited is used again.
	mu       sync.Mutex
	compiled map[account.OrgID]*Reader
}

// maxCompiled is how many readers are kept: one with the starter catalogue has about a hundred kilobytes.
const maxCompiled = 200

// NewStore returns a store on the database.
func NewStore(db *pgxpool.Pool) *Store {
	name := func(org account.OrgID) string { return strconv.FormatInt(int64(org), 10) }
	return &Store{db: db, readers: pg.NewCache[account.OrgID, *Reader](name), compiled: map[account.OrgID]*Reader{}}
}

// Channel carries word that topics or languages were edited.
const Channel = "earshot_analysis"

// Forget drops everything remembered.
func (s *Store) Forget() { s.readers.ForgetAll() }

// Reader reads an organization's texts. It does not change and may be used by many at once.
type Reader struct {
	Version   int32 // goes up when texts may be read differently
	edits     int64
	language  Language
	carriers  map[int64]Language
	topics    []Topic
	names     map[int64]string
	catalogue *Catalogue
}

// Off stands for a language where texts are not to be read at all.
const Off Language = "off"

// Read reads a text that came through a carrier.
func (r *Reader) Read(carrier int64, text string) Result {
	lang := r.Language(carrier)
	if lang == Off {
		return Result{}
	}
	return Read(text, lang, r.catalogue)
}

// Language is what a carrier's texts are written in; zero when each is to tell by itself, Off when they are not to be read.
func (r *Reader) Language(carrier int64) Language {
	if lang, ok := r.carriers[carrier]; ok {
		return lang
	}
	return r.language
}

// Topics are those that are looked for. They must not be changed.
func (r *Reader) Topics() []Topic { return r.topics }

// Names are what topics are called, in their order; those that are no more are left out.
func (r *Reader) Names(ids []int64) []string {
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		if name, ok := r.names[id]; ok {
			names = append(names, name)
		}
	}
	return names
}

// Suggest is Suggest for what this reader does not look for, in texts that came through carriers.
func (r *Reader) Suggest(texts iter.Seq2[int64, string], limit int) []Suggestion {
	c := collector{all: map[string]*candidate{}}
	for carrier, text := range texts {
		c.read(text, r.Language(carrier), r.catalogue)
	}
	return c.best(limit)
}

// Reader returns what reads the organization's texts. It may be a second old.
func (s *Store) Reader(ctx context.Context, v account.View) (*Reader, error) {
	return s.readers.Get(ctx, v.Org(), func(ctx context.Context) (*Reader, error) {
		r, err := s.read(ctx, v)
		if err != nil {
			return nil, fmt.Errorf("read topics: %w", err)
		}
		return r, nil
	})
}

// read returns the reader of the version that is current. The version is read before all else: a reader may know more than its version says, and
// what it reads is then read once more, but never less.
func (s *Store) read(ctx context.Context, v account.View) (*Reader, error) {
	fresh := &Reader{names: map[int64]string{}, carriers: map[int64]Language{}}
	find := func() error {
		return s.db.QueryRow(ctx, `SELECT version, edits FROM analysis WHERE organization_id = $1`, v.Org()).Scan(&fresh.Version, &fresh.edits)
	}
	err := find()
	if errors.Is(err, pgx.ErrNoRows) {
		// Whoever comes first finds no row. Nothing was read before, so there is nothing to catch up with.
		_, err = s.db.Exec(ctx, `
			INSERT INTO analysis (organization_id, version, engine) VALUES ($1, 2, $2)
			ON CONFLICT DO NOTHING`, v.Org(), Version)
		if err == nil {
			err = find()
		}
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	r := s.compiled[v.Org()]
	s.mu.Unlock()
	if r != nil && r.edits == fresh.edits {
		return r, nil
	}
	r = fresh
	settings, err := readSettings(ctx, s.db, v)
	if err != nil {
		return nil, err
	}
	r.language = settings.Language
	for _, speaks := range settings.Carriers {
		r.carriers[speaks.CarrierID] = speaks.Language
	}
	if r.topics, err = readTopics(ctx, s.db, v); err != nil {
		return nil, err
	}
	for _, t := range r.topics {
		r.names[t.ID] = t.Name
	}
	wordless := func(t Topic) bool { return len(t.Keywords) == 0 } // from before there were any
	if r.catalogue, err = Compile(slices.DeleteFunc(slices.Clone(r.topics), wordless)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.compiled) >= maxCompiled {
		clear(s.compiled) // the next text compiles again; not worth an order of eviction
	}
	s.compiled[v.Org()] = r
	return r, nil
}

// Settings are what texts are read by.
type Settings struct {
	Version  int32             // goes up with every change of topics, languages or rules
	Engine   int               // the version of the rules
	Language Language          // of texts, unless their carrier has one; zero: each tells by itself; Off: they are not read
	Carriers []CarrierLanguage // in the order of their ids
}

// CarrierLanguage is what the texts of one carrier are written in.
type CarrierLanguage struct {
	CarrierID int64
	Language  Language
}

// Settings returns what the organization's texts are read by.
func (s *Store) Settings(ctx context.Context, v account.View) (Settings, error) {
	if _, err := s.Reader(ctx, v); err != nil { // the row is there then
		return Settings{}, err
	}
	settings, err := readSettings(ctx, s.db, v)
	if err != nil {
		return Settings{}, fmt.Errorf("read languages: %w", err)
	}
	return settings, nil
}

func readSettings(ctx context.Context, q pg.Querier, v account.View) (Settings, error) {
	var settings Settings
	b := &pgx.Batch{}
	b.Queue(`SELECT version, engine, language FROM analysis WHERE organization_id = $1`, v.Org()).QueryRow(func(row pgx.Row) error {
		return row.Scan(&settings.Version, &settings.Engine, &settings.Language)
	})
	b.Queue(`
		SELECT carrier_id, language FROM analysis_language WHERE organization_id = $1
		ORDER BY carrier_id`, v.Org()).Query(func(rows pgx.Rows) (err error) {
		settings.Carriers, err = pgx.CollectRows(rows, pgx.RowToStructByName[CarrierLanguage])
		return err
	})
	return settings, q.SendBatch(ctx, b).Close()
}
