package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/feedback"
	"earshot/internal/httpapi"
	"earshot/internal/operation"
	"earshot/internal/pg"
	reports "earshot/internal/report"
)

// call is what a request has sent to PostgreSQL, one trip after the other.
type call []trip

// trip is what is sent together: one statement, or several that are answered at once.
type trip struct {
	Statements []statement
	Custom     bool // on connections that plan every execution
}

// statement is one as it was sent, its arguments in PostgreSQL's spelling.
type statement struct {
	SQL  string
	Args []arg
	Kept bool // the first value of its answer is used by those that follow
}

// arg is an argument. It is the same in every execution, unless it comes from somewhere.
type arg struct {
	Type string
	Text *string // nil is NULL
	From source
	N    int // how many elements it has, when they come from somewhere
}

// source is where arguments come from that cannot be the same in every execution.
type source string

const (
	given        source = ""
	fingerprints source = "fingerprints"
	hashes       source = "hashes" // of those fingerprints
	ids          source = "ids"    // of feedback
	kept         source = "kept"
)

// recorder notes what the stores send. It hangs on their pools.
type recorder struct {
	mu    sync.Mutex
	trips []recorded
}

type recorded struct {
	sql    []string
	args   [][]any
	custom bool
}

func (r *recorder) note(conn *pgx.Conn, sql []string, args [][]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trips = append(r.trips, recorded{sql, args, conn.Config().RuntimeParams["plan_cache_mode"] == "force_custom_plan"})
}

func (r *recorder) take() []recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	trips := r.trips
	r.trips = nil
	return trips
}

// TraceQueryStart notes a single statement.
func (r *recorder) TraceQueryStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	r.note(conn, []string{d.SQL}, [][]any{d.Args})
	return ctx
}

// TraceQueryEnd has nothing to note.
func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart notes every statement of a batch.
func (r *recorder) TraceBatchStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	var sql []string
	var args [][]any
	for _, q := range d.Batch.QueuedQueries {
		sql, args = append(sql, q.SQL), append(args, q.Arguments)
	}
	r.note(conn, sql, args)
	return ctx
}

// TraceBatchQuery has nothing to note.
func (r *recorder) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd has nothing to note.
func (r *recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// original is the product's own handler in this process, on connections whose statements are noted. So what is sent without the product is what the
// product sends, and stays so.
type original struct {
	recorder
	server *http.Server
	url    string
	pools  []*pgxpool.Pool
	plain  *pgxpool.Pool // notes nothing
}

func openOriginal(ctx context.Context, url string) (*original, error) {
	o := &original{}
	for _, s := range []pg.Settings{{OnePlan: true}, {Tracer: &o.recorder, OnePlan: true}, {Tracer: &o.recorder, CustomPlans: true}} {
		s.URL = url
		pool, err := pg.Open(ctx, s)
		if err != nil {
			return nil, err
		}
		o.pools = append(o.pools, pool)
	}
	o.plain = o.pools[0]
	db, reads := o.pools[1], o.pools[2]
	accounts, carriers, texts := account.NewStore(o.plain), carrier.NewStore(db), analysis.NewStore(db)
	records := feedback.NewStore(db, reads, carriers, texts)
	operations, err := operation.NewStore(db, accounts, carriers, texts, records, operation.Settings{InRequest: bulkSize, UndoFor: time.Hour})
	if err != nil {
		return nil, err
	}
	api := &httpapi.Server{
		Accounts: accounts, Carriers: carriers, Texts: texts, Feedback: records, Operations: operations, Reports: reports.NewStore(db, carriers, records),
		Log: slog.New(slog.DiscardHandler), BodyLimit: 1 << 20, Timeout: time.Minute, Ready: func(context.Context) error { return nil },
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o.url = "http://" + listener.Addr().String()
	o.server = &http.Server{Handler: api.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = o.server.Serve(listener) }() // until it is closed
	return o, nil
}

func (o *original) close() {
	_ = o.server.Close() // nothing is under way
	for _, p := range o.pools {
		p.Close()
	}
}

// question is a request before it is bytes.
type question struct{ method, path, token, body, kind string }

// capture asks twice, so that caches are warm and the dictionary knows every value, and returns what the second time sent. vary says what the
// second request has that the next one would not: texts, and where they come from.
func (o *original) capture(ctx context.Context, first, second question, status int, vary func(answer []byte) map[string]source) (call, error) {
	if _, err := o.ask(ctx, first, status); err != nil {
		return nil, err
	}
	o.take()
	answer, err := o.ask(ctx, second, status)
	if err != nil {
		return nil, err
	}
	var c call
	for _, r := range o.take() {
		t := trip{Custom: r.custom}
		for i, sql := range r.sql {
			s, err := o.spell(ctx, sql, r.args[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", strings.Join(strings.Fields(sql), " "), err)
			}
			t.Statements = append(t.Statements, s)
		}
		c = append(c, t)
	}
	if vary == nil {
		return c, nil
	}
	found := map[source]bool{}
	for text, from := range vary(answer) {
		found[from] = c.replace(text, from) || found[from]
	}
	for from, ok := range found {
		if !ok {
			return nil, fmt.Errorf("the %s are not among what %s sends", from, second.path)
		}
	}
	return c, nil
}

func (o *original) ask(ctx context.Context, q question, status int) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, q.method, o.url+q.path, strings.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+q.token)
	r.Header.Set("Content-Type", q.kind)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("%s %s: %d %s", q.method, q.path, response.StatusCode, bytes.TrimSpace(answer))
	}
	return answer, err
}

// spell writes the arguments of a statement as text, with the types that PostgreSQL takes them for.
func (o *original) spell(ctx context.Context, sql string, args []any) (statement, error) {
	s := statement{SQL: sql}
	if len(args) == 0 {
		return s, nil
	}
	conn, err := o.plain.Acquire(ctx)
	if err != nil {
		return s, err
	}
	defer conn.Release()
	described, err := conn.Conn().Prepare(ctx, sql, sql)
	if err != nil {
		return s, err
	}
	rows, err := conn.Query(ctx, `SELECT format_type(t, NULL) FROM unnest($1::oid[]) WITH ORDINALITY AS u (t, n) ORDER BY n`, described.ParamOIDs)
	if err != nil {
		return s, err
	}
	types, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return s, err
	}
	for i, value := range args {
		text, err := conn.Conn().TypeMap().Encode(described.ParamOIDs[i], pgx.TextFormatCode, value, nil)
		if err != nil {
			return s, err
		}
		a := arg{Type: types[i]}
		if text != nil {
			a.Text = new(string(text))
		}
		s.Args = append(s.Args, a)
	}
	return s, nil
}

// replace has every argument that holds a text, once or in all its elements, come from somewhere.
func (c call) replace(text string, from source) (found bool) {
	for _, t := range c {
		for _, s := range t.Statements {
			for i := range s.Args {
				a := &s.Args[i]
				if a.Text == nil || a.From != given {
					continue
				}
				if from == ids || from == kept {
					if *a.Text == text {
						a.From, found = from, true
					}
				} else if n := strings.Count(*a.Text, text); n > 0 {
					a.From, a.N, found = from, strings.Count(*a.Text, ",")+1, true
				}
			}
		}
	}
	return found
}
