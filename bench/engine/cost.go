package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// bytesOf is what a table takes for each feedback.
type bytesOf struct {
	Relation            string
	Rows, Indexes, Size float64 // for each feedback; Size is both, and what is stored apart
}

// cost is what a feedback costs.
type cost struct {
	made, kept       []bytesOf // created by requests, and in the data that requests read
	count, keptCount int64     // feedback there
	with, alone      sample    // creates with the values in their deltas, and without
}

// measureCost weighs the tables and a create without the values in its delta.
func (b *bench) measureCost(ctx context.Context) (err error) {
	w, err := b.openWriting(ctx)
	if err != nil {
		return err
	}
	found := &cost{}
	if found.made, found.count, err = b.weighFresh(ctx); err != nil {
		return err
	}
	if found.kept, found.keptCount, err = weigh(ctx, b.postgres.URL(b.built.Main)); err != nil {
		return err
	}
	whole := w.rows[0].calls
	var less []call
	for _, c := range whole {
		without, err := withoutValues(c)
		if err != nil {
			return err
		}
		less = append(less, without)
	}
	var samples [2][]sample
	for range 2*b.rounds - 1 {
		for i, c := range [][]call{whole, less} {
			script, err := newBare(ctx, w.urls[byPgbench], b.dir, fmt.Sprintf("delta_%d", i), c, 0, 0)
			if err != nil {
				return err
			}
			s, err := b.measure(ctx, way{name: byPgbench, ask: script.run}, 8, b.warmPgbench(8), b.length)
			if err != nil {
				return err
			}
			samples[i] = append(samples[i], s)
		}
	}
	found.with, found.alone = median(samples[0]), median(samples[1])
	b.report.Cost = found
	return nil
}

// weighFresh creates feedback in an empty database and weighs it when all is folded.
func (b *bench) weighFresh(ctx context.Context) (all []bytesOf, count int64, err error) {
	batches := 200
	if b.short {
		batches = 5
	}
	url, admin := b.postgres.URL(written[weighed]), b.postgres.URL("postgres")
	if err := execute(ctx, admin, `DROP DATABASE IF EXISTS `+written[weighed]+` WITH (FORCE)`, createDatabase+written[weighed]+likeOurs); err != nil {
		return nil, 0, err
	}
	org, err := b.program.Organization(ctx, url, "Acme")
	if err != nil {
		return nil, 0, err
	}
	p, err := b.program.Serve(ctx, url, "")
	if err != nil {
		return nil, 0, err
	}
	_, err = repeat(ctx, p.Address, batchOf(org, feedbackOf(org)).bytes(), 200, batches)
	_, failed := p.Stop() // which takes longer than a fold
	if err := errors.Join(err, failed); err != nil {
		return nil, 0, err
	}
	if err := execute(ctx, url, `VACUUM (ANALYZE)`); err != nil {
		return nil, 0, err
	}
	return weigh(ctx, url)
}

// weigh asks how large every table of feedback is.
func weigh(ctx context.Context, url string) (all []bytesOf, count int64, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left open on it
	if err := conn.QueryRow(ctx, `SELECT count(*) FROM feedback`).Scan(&count); err != nil {
		return nil, 0, err
	}
	rows, err := conn.Query(ctx, `
		SELECT relname AS relation, pg_relation_size(oid) / $1::float8 AS rows, pg_indexes_size(oid) / $1::float8 AS indexes,
		       pg_total_relation_size(oid) / $1::float8 AS size
		FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname NOT LIKE 'bench%' AND pg_total_relation_size(oid) > greatest($1, 1e6)
		ORDER BY size DESC`, float64(count))
	if err != nil {
		return nil, 0, err
	}
	all, err = pgx.CollectRows(rows, pgx.RowToStructByName[bytesOf])
	return all, count, err
}

var deltaValues = regexp.MustCompile(`attribute_value_ids \|\| [^,\n]*answer_ids[^,\n]*`)

// withoutValues is a create whose delta has no values, by which the counts of values are kept.
func withoutValues(c call) (call, error) {
	out := make(call, len(c))
	changed := 0
	for i, t := range c {
		t.Statements = append([]statement(nil), t.Statements...)
		for j, s := range t.Statements {
			changed += len(deltaValues.FindAllString(s.SQL, -1))
			t.Statements[j].SQL = deltaValues.ReplaceAllString(s.SQL, "NULL::bigint[]")
		}
		out[i] = t
	}
	if changed != 1 {
		return nil, errors.New("the delta of a create is no longer written as this benchmark knows it")
	}
	return out, nil
}

// pages are what a call reads: PostgreSQL's pages, found in its memory or not.
type pages struct {
	name       string
	statements int
	trips      int
	pages      int64
}

// buffers runs every statement of the rows once more and adds up the pages they touch.
func (o *original) buffers(ctx context.Context, rows []row) (all []pages, err error) {
	for _, r := range rows {
		p := pages{name: r.name, trips: len(r.calls[0])}
		for _, t := range r.calls[0] {
			for _, s := range t.Statements {
				if !strings.HasPrefix(strings.TrimSpace(s.SQL), "SELECT") && !strings.HasPrefix(strings.TrimSpace(s.SQL), "WITH") {
					continue // begins and ends of transactions
				}
				n, err := o.touched(ctx, s, t.Custom)
				if err != nil {
					return nil, fmt.Errorf("explain %s: %w", strings.Join(strings.Fields(s.SQL), " "), err)
				}
				p.statements, p.pages = p.statements+1, p.pages+n
			}
		}
		all = append(all, p)
	}
	return all, nil
}

func (o *original) touched(ctx context.Context, s statement, custom bool) (int64, error) {
	pool := o.plain
	if custom {
		pool = o.pools[2]
	}
	var args []any
	for _, a := range s.Args {
		args = append(args, a.Text)
	}
	var raw []byte
	if err := pool.QueryRow(ctx, `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) `+s.SQL, args...).Scan(&raw); err != nil {
		return 0, err
	}
	var explained []struct {
		Plan struct {
			Hit  int64 `json:"Shared Hit Blocks"`
			Read int64 `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(raw, &explained); err != nil {
		return 0, err
	}
	return explained[0].Plan.Hit + explained[0].Plan.Read, nil
}

// metrics finds the values of metrics without labels.
func metrics(r io.Reader, names ...string) ([]float64, error) {
	found := make([]float64, len(names))
	seen := 0
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		for i, name := range names {
			if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
				var err error
				if found[i], err = strconv.ParseFloat(text, 64); err != nil {
					return found, err
				}
				seen++
			}
		}
	}
	if seen != len(names) {
		return found, errors.New("a metric is missing")
	}
	return found, lines.Err()
}

// position is how much WAL PostgreSQL has written.
func (b *bench) position(ctx context.Context) (bytes float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err = b.watcher.QueryRow(ctx, `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8`).Scan(&bytes)
	return bytes, err
}
