package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"earshot/bench/rig"
)

// The databases that are written to, one for each way, and one to be weighed. Nobody folds what pgbench and the bare handler write.
var written = map[string]string{byPgbench: "bench_pgbench", byHandler: "bench_handler", byEarshot: "bench_earshot", weighed: "bench_weighed"}

const (
	weighed        = "weighed"
	createDatabase = `CREATE DATABASE `
	likeOurs       = ` TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'`
)

// writing is what requests that write are made to.
type writing struct {
	org  rig.Organization
	urls map[string]string
	rows []row
}

// openWriting makes the databases, the same three times, unless a step before did.
func (b *bench) openWriting(ctx context.Context) (*writing, error) {
	if b.writing != nil {
		return b.writing, nil
	}
	w := &writing{urls: map[string]string{}}
	if err := b.dropWritten(ctx); err != nil {
		return nil, err
	}
	for way, name := range written {
		w.urls[way] = b.postgres.URL(name)
	}
	url, admin := w.urls[byEarshot], b.postgres.URL("postgres")
	err := execute(ctx, admin, createDatabase+written[byEarshot]+likeOurs)
	if err != nil {
		return nil, err
	}
	if w.org, err = b.program.Organization(ctx, url, "Acme"); err != nil {
		return nil, err
	}
	// The id of an operation is told from other numbers by its size.
	if err := execute(ctx, url, `SELECT setval('operation_id', 1000000007)`); err != nil {
		return nil, err
	}
	o, err := openOriginal(ctx, url)
	if err != nil {
		return nil, err
	}
	err = addWave(ctx, o, w.org)
	if err == nil {
		w.rows, err = b.creates(ctx, o, w.org)
	}
	o.close()
	if err != nil {
		return nil, err
	}
	b.writing = w
	return w, execute(ctx, admin,
		createDatabase+written[byPgbench]+` TEMPLATE `+written[byEarshot],
		createDatabase+written[byHandler]+` TEMPLATE `+written[byEarshot], `CHECKPOINT`)
}

// addWave creates the feedback that bulk changes are made to.
func addWave(ctx context.Context, o *original, org rig.Organization) error {
	body := strings.Replace(org.Body(rig.Opinion), `"attributes": [`, `"attributes": [{"name": "wave", "value": "first"}, `, 1)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for range bulkSize {
		g.Go(func() error {
			_, err := o.ask(ctx, post(org, "/v4/feedback", body), 201)
			return err
		})
	}
	return g.Wait()
}

func (b *bench) dropWritten(ctx context.Context) error {
	var all []error
	for _, name := range written {
		all = append(all, execute(context.WithoutCancel(ctx), b.postgres.URL("postgres"), `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`))
	}
	return errors.Join(all...)
}

// measureWrites compares the requests that write.
func (b *bench) measureWrites(ctx context.Context) (err error) {
	w, err := b.openWriting(ctx)
	if err != nil {
		return err
	}
	s, err := b.open(ctx, w.urls, w.rows, writeConns)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	found, err := s.compare(ctx)
	b.report.Compared = append(b.report.Compared, found...)
	return err
}

// saturation is how many creates a second Earshot can do, measured before or now.
func (b *bench) saturation(ctx context.Context, s *stage) (most float64, err error) {
	for _, c := range b.report.Compared {
		if c.row.slug == "create" {
			most = max(most, c.ways[byEarshot].rate)
		}
	}
	if most > 0 {
		return most, nil
	}
	w := s.ways(b.writing.rows[0])[2]
	found, err := b.measure(ctx, w, 128, b.warm, b.length)
	if err != nil {
		return 0, fmt.Errorf("find the most that can be done: %w", err)
	}
	return found.rate, nil
}
