package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/bench/rig"
	"earshot/internal/account"
	"earshot/internal/pg"
	"earshot/internal/tally"
)

// again is what was found while texts were read again.
type again struct {
	texts     int64
	took      time.Duration // at work: without the time in which nobody was
	rests     []time.Duration
	different int64 // records that were read otherwise than when they were created
	outdated  int64 // that were not read
	drift     int   // counts that are not what the records say
}

func (a again) wrong() error {
	if a.different != 0 || a.outdated != 0 || a.drift != 0 {
		return fmt.Errorf("reading again went wrong: %+v", a)
	}
	return nil
}

// org is the organization whose texts are read again.
const org = "Demo"

// reread makes feedback with texts as the product makes it, takes away what was read in them, copies it until there is enough, and has a server
// of a new release find it: it reads all of them again, and is killed meanwhile.
func (b *bench) reread(ctx context.Context) (found again, err error) {
	rig.Progress("making %d feedback with texts", b.texts)
	if _, err := b.program.Run(ctx, b.url, "demo", "--name", org, "--feedback", "20000"); err != nil {
		return found, err
	}
	db, err := pg.Open(ctx, pg.Settings{URL: b.url, MaxConns: 2})
	if err != nil {
		return found, err
	}
	defer db.Close()
	o, err := account.NewStore(db).OrganizationByName(ctx, org)
	if err != nil {
		return found, err
	}
	v := account.Whole(o.ID)
	if _, err := db.Exec(ctx, `CREATE SCHEMA bench`); err != nil {
		return found, err
	}
	for _, sql := range copying {
		if _, err := db.Exec(ctx, sql, pgx.NamedArgs{"org": v.Org(), "texts": b.texts}); err != nil {
			return found, fmt.Errorf("%.60s: %w", sql, err)
		}
	}
	if err := tally.NewStore(db).Rebuild(ctx, v); err != nil {
		return found, err
	}
	if _, err := db.Exec(ctx, `VACUUM (ANALYZE)`); err != nil {
		return found, err
	}
	if found, err = b.work(ctx, db, v); err != nil {
		return found, err
	}
	rig.Progress("looking whether all of it is right")
	err = db.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE c.items <> k.items OR (f.sentiment, f.topic_ids) IS DISTINCT FROM (k.sentiment, k.topic_ids)),
		       count(*) FILTER (WHERE f.analysis_version <> (SELECT version FROM analysis WHERE organization_id = $1))
		FROM bench.copy p
		JOIN bench.kept k ON k.id = p.of
		JOIN feedback f ON f.organization_id = $1 AND f.id = p.id
		JOIN feedback_content c ON c.organization_id = $1 AND c.feedback_id = p.id`, v.Org()).Scan(&found.different, &found.outdated)
	if err != nil {
		return found, err
	}
	drift, err := tally.NewStore(db).Verify(ctx, v)
	found.drift = len(drift)
	return found, err
}

// copying keeps what was read, takes it away, and copies what is left.
var copying = []string{
	`CREATE TABLE bench.kept AS
	 SELECT f.id, c.items, f.sentiment, f.topic_ids
	 FROM feedback f JOIN feedback_content c ON c.organization_id = f.organization_id AND c.feedback_id = f.id
	 WHERE f.organization_id = @org AND c.search_text IS NOT NULL`,
	`UPDATE feedback_content c
	 SET items = (SELECT jsonb_agg(item - 's' ORDER BY n) FROM jsonb_array_elements(c.items) WITH ORDINALITY AS i (item, n))
	 FROM bench.kept k WHERE c.organization_id = @org AND c.feedback_id = k.id`,
	`UPDATE feedback SET sentiment = NULL, topic_ids = '{}', analysis_version = 0 WHERE organization_id = @org`,
	`UPDATE analysis SET version = 0, engine = 0, edits = edits + 1 WHERE organization_id = @org`,
	`CREATE TABLE bench.copy AS
	 SELECT nextval('feedback_id') AS id, k.id AS of
	 FROM generate_series(1, @texts::int / (SELECT count(*)::int FROM bench.kept) + 1) AS n
	 CROSS JOIN bench.kept k
	 LIMIT @texts`,
	`INSERT INTO feedback (organization_id, id, created_at, completed_at, carrier_id, day, source, status, nps_profile, satisfaction, attribute_value_ids, answer_ids)
	 SELECT @org, p.id, f.created_at, f.completed_at, f.carrier_id, f.day, f.source, f.status, f.nps_profile, f.satisfaction, f.attribute_value_ids, f.answer_ids
	 FROM bench.copy p JOIN feedback f ON f.organization_id = @org AND f.id = p.of`,
	`INSERT INTO feedback_content (organization_id, feedback_id, first_item_id, fingerprint, items, search_text)
	 SELECT @org, p.id, nextval('item_id'), md5(p.id::text), c.items, c.search_text
	 FROM bench.copy p JOIN feedback_content c ON c.organization_id = @org AND c.feedback_id = p.of`,
}

// work has a server read everything again, kills it on the way and starts another one at once.
func (b *bench) work(ctx context.Context, db *pgxpool.Pool, v account.View) (found again, err error) {
	server, err := b.program.Serve(ctx, b.url, "")
	if err != nil {
		return found, err
	}
	defer func() {
		_, stopped := server.Stop()
		err = errors.Join(err, stopped)
	}()
	rig.Progress("reading again")
	var o state
	for k := range b.kills {
		if o, err = until(ctx, db, v, func(o state) bool { return o.total > 0 && o.done >= o.total*int64(k+1)/int64(b.kills+1) }); err != nil {
			return found, err
		}
		if err := server.Kill(); err != nil {
			return found, err
		}
		killed := time.Now()
		if server, err = b.program.Serve(ctx, b.url, ""); err != nil {
			return found, err
		}
		// What the dead one had sent may still be committed, a moment later.
		time.Sleep(max(0, time.Second-time.Since(killed)))
		left, err := until(ctx, db, v, func(state) bool { return true })
		if err != nil {
			return found, err
		}
		if _, err = until(ctx, db, v, func(o state) bool { return o.done > left.done }); err != nil {
			return found, err
		}
		found.rests = append(found.rests, time.Since(killed))
		rig.Progress("killed at %d of %d, went on after %s", left.done, left.total, time.Since(killed).Round(time.Millisecond))
	}
	if o, err = until(ctx, db, v, func(o state) bool { return o.state == "done" }); err != nil {
		return found, err
	}
	found.texts, found.took = o.total, o.took
	for _, r := range found.rests {
		found.took -= r
	}
	return found, nil
}

// state is how far the operation is.
type state struct {
	state       string
	total, done int64
	took        time.Duration
}

// until looks at the operation until it is so far.
func until(ctx context.Context, db *pgxpool.Pool, v account.View, far func(state) bool) (state, error) {
	for deadline := time.Now().Add(time.Hour); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var o state
		err := db.QueryRow(ctx, `
			SELECT state, total, done, coalesce(finished_at, clock_timestamp()) - coalesce(started_at, clock_timestamp())
			FROM operation WHERE organization_id = $1 AND kind = 'reanalyse'`, v.Org()).Scan(&o.state, &o.total, &o.done, &o.took)
		switch {
		case errors.Is(err, pgx.ErrNoRows): // nobody has looked yet
		case err != nil:
			return o, err
		case o.state == "failed" || o.state == "cancelled":
			return o, fmt.Errorf("the operation has %s", o.state)
		case far(o):
			return o, nil
		}
	}
	return state{}, errors.New("the operation does not come to an end")
}

func spell(all []time.Duration) (text string) {
	for i, d := range all {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%.1f s", d.Seconds())
	}
	return text
}
