package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/analysis/provider"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/httpapi"
	"earshot/internal/operation"
	"earshot/internal/optout"
	"earshot/internal/pg"
	"earshot/internal/reading"
	"earshot/internal/report"
	"earshot/internal/tally"
	"earshot/internal/webui"
)

type serveCmd struct {
	database
	Listen           string `env:"EARSHOT_LISTEN" default:"127.0.0.1:8080" help:"Address to answer at (default ${default})."`
	BaseURL          string `name:"base-url" env:"EARSHOT_BASE_URL" placeholder:"URL" help:"Address clients reach the service at; it begins every address in an answer (default http:// and the address listened at)."`
	LogFormat        string `env:"EARSHOT_LOG_FORMAT" default:"json" help:"Format of the log: json or text (default ${default})."`
	LogLevel         string `env:"EARSHOT_LOG_LEVEL" default:"info" help:"Least level that is logged: debug, info, warn or error (default ${default})."`
	BodyLimit        string `env:"EARSHOT_BODY_LIMIT" default:"1048576" placeholder:"BYTES" help:"Largest body accepted, in bytes; lists of push targets may have 4 MiB in any case (default ${default})."`
	RequestTimeout   string `env:"EARSHOT_REQUEST_TIMEOUT" default:"30s" help:"How long a request may take (default ${default})."`
	StatementTimeout string `env:"EARSHOT_STATEMENT_TIMEOUT" default:"10s" help:"How long one database statement may take; a filter that takes longer is answered 422 (default ${default})."`
	ShutdownTimeout  string `env:"EARSHOT_SHUTDOWN_TIMEOUT" default:"30s" help:"How long requests under way may take to finish when stopping (default ${default})."`
	ShutdownDelay    string `env:"EARSHOT_SHUTDOWN_DELAY" default:"2s" help:"How much of that time new requests are still answered, so that proxies and clients can go elsewhere; 0s for none (default ${default})."`
	AdminListen      string `env:"EARSHOT_ADMIN_LISTEN" placeholder:"HOST:PORT" help:"Address for metrics and profiles; keep it private (default none)."`
	Role             string `env:"EARSHOT_ROLE" default:"all" help:"api answers requests, worker listens on no address but the admin one, all does both; every role keeps the tallies (default ${default})."`
	RateLimit        string `env:"EARSHOT_RATE_LIMIT" default:"0" placeholder:"N" help:"Requests a second that each token may make, 0 for no limit (default ${default})."`
	RateBurst        string `env:"EARSHOT_RATE_BURST" default:"100" placeholder:"N" help:"Requests that a token may make at once, where --rate-limit is set (default ${default})."`
	BulkInRequest    string `env:"EARSHOT_BULK_IN_REQUEST" default:"1000" placeholder:"N" help:"Bulk changes of up to this many feedback are done within the request, larger ones by workers (default ${default})."`
	BulkWait         string `env:"EARSHOT_BULK_WAIT" default:"25s" help:"How long a bulk change of attributes waits for the workers before it is answered 202 (default ${default})."`
	UndoFor          string `env:"EARSHOT_UNDO_FOR" default:"168h" help:"How long after its end a bulk change can be undone (default ${default}, seven days)."`
	Chromium         string `env:"EARSHOT_CHROMIUM" placeholder:"PATH" help:"Chromium that makes PDF files of shared reports, such as /usr/bin/chromium (default none: readers print the page)."`
	providerFlags
	DatabaseConns string `env:"EARSHOT_DATABASE_CONNS" default:"16" placeholder:"N" help:"Most connections to the database, half of them for filters; a few for control come on top. Four requests for each are taken on at once, and 24 creates (default ${default})."`
}

// settings are the flags, read and checked.
type settings struct {
	database                         pg.Settings
	listen, baseURL, logFormat       string
	adminListen, role, chromium      string
	limits                           httpapi.Limits
	logLevel                         slog.Level
	bodyLimit                        int64
	requestTimeout, shutdownDeadline time.Duration
	shutdownDelay                    time.Duration
	bulkWait                         time.Duration
	operations                       operation.Settings
	traced                           bool
	provider                         *provider.Provider // nil without one
}

// check reads every flag and names every mistake.
func (c *serveCmd) check() (settings, error) {
	var m mistakes
	var s settings
	conns := m.whole("database-conns", c.DatabaseConns, 4, 10_000)
	s.database = pg.Settings{
		URL:              c.url(&m),
		MaxConns:         int32(conns / 2),
		StatementTimeout: m.duration("statement-timeout", c.StatementTimeout),
	}
	// Four requests for each connection: enough to keep it busy, and none waits for more than a few others. Creates that wait are written
	// together: the more there are, the less each costs.
	inFlight := int(conns/2) * 4
	s.limits = httpapi.Limits{
		InFlight: map[httpapi.Class]int{
			httpapi.Read: inFlight, httpapi.Write: inFlight, httpapi.Bulk: max(2, inFlight/8), httpapi.Create: 6 * inFlight,
		},
		Rate:  float64(m.whole("rate-limit", c.RateLimit, 0, 1_000_000)),
		Burst: int(m.whole("rate-burst", c.RateBurst, 1, 1_000_000)),
	}
	s.role = m.oneOf("role", c.Role, "api", "worker", "all")
	if s.adminListen = c.AdminListen; s.adminListen != "" {
		m.address("admin-listen", s.adminListen)
	}
	s.listen = c.Listen
	m.address("listen", c.Listen)
	if s.baseURL = c.BaseURL; s.baseURL != "" {
		s.baseURL = m.baseURL(c.BaseURL)
	}
	s.logFormat = m.oneOf("log-format", c.LogFormat, "json", "text")
	if err := s.logLevel.UnmarshalText([]byte(c.LogLevel)); err != nil {
		m.add("log-level", "must be debug, info, warn or error, not %q", c.LogLevel)
	}
	s.bodyLimit = m.whole("body-limit", c.BodyLimit, 1024, 1<<30)
	s.requestTimeout = m.duration("request-timeout", c.RequestTimeout)
	s.shutdownDeadline = m.duration("shutdown-timeout", c.ShutdownTimeout)
	s.shutdownDelay = m.delay("shutdown-delay", c.ShutdownDelay, s.shutdownDeadline)
	s.bulkWait = m.duration("bulk-wait", c.BulkWait)
	s.operations = operation.Settings{
		InRequest: m.whole("bulk-in-request", c.BulkInRequest, 0, 10_000),
		UndoFor:   m.duration("undo-for", c.UndoFor),
	}
	s.chromium = m.program("chromium", c.Chromium)
	s.provider = c.providerFlags.check(&m)
	s.traced = m.tracing()
	return s, m.err()
}

// Run serves until ctx ends, then lets the requests under way finish, and then the background work.
func (c *serveCmd) Run(ctx context.Context, std streams) error {
	s, err := c.check()
	if err != nil {
		return err
	}
	spareCollector()
	log := newLogger(s, std)
	var traced *traces
	if s.traced {
		if traced, err = openTraces(ctx, log); err != nil {
			return err
		}
		log, s.database.Tracer = traced.logger(log), traced.statements()
	}
	db, err := openWrites(ctx, s.database)
	if err != nil {
		return err
	}
	defer db.Close()
	reads, err := openFilters(ctx, s.database)
	if err != nil {
		return err
	}
	defer reads.Close()
	control, err := openControl(ctx, s.database)
	if err != nil {
		return err
	}
	defer control.Close()
	if err := pg.Check(ctx, db); err != nil {
		return fmt.Errorf("this database cannot be served:\n%w", err)
	}
	accounts, carriers, tallies := account.NewStore(control), carrier.NewStore(db), tally.NewStore(db)
	if err := tallies.Refold(ctx); err != nil {
		return err
	}
	texts := analysis.NewStore(db)
	records := feedback.NewStore(db, reads, carriers, texts)
	operations, err := operation.NewStore(db, accounts, carriers, texts, records, s.operations)
	if err != nil {
		return err
	}

	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	defer loops.Wait()
	defer stop()
	signals := newSignals()
	signals.watchPool("writes", db)
	signals.watchPool("filters", reads)
	signals.watchPool("control", control)
	records.WatchCreates(signals.created)
	signals.registry.MustRegister(&backlog{tallies: tally.NewStore(control), records: records, jobs: control, log: log})
	if s.adminListen != "" {
		admin, err := bind(ctx, s.adminListen)
		if err != nil {
			return err
		}
		log.InfoContext(ctx, "admin address", "address", admin.Addr().String())
		loops.Go(func() { serveAdmin(background, admin, signals.adminHandler(), log) })
	}
	loops.Go(func() { tallies.Run(background, log) })
	if s.role != "api" {
		var readings *reading.Store
		if s.provider != nil {
			if readings, err = reading.NewStore(db, texts, records, s.provider, log); err != nil {
				return err
			}
			loops.Go(func() { readings.Run(background) })
		}
		workers, err := startWorkers(ctx, s.database, operations, readings, log)
		if err != nil {
			return err
		}
		defer workers.stop(ctx, log)
		loops.Go(func() { operations.Run(background, log) })
	}
	if s.role == "worker" {
		log.InfoContext(ctx, "working")
		<-ctx.Done()
		return nil
	}
	loops.Go(func() { listen(background, control, log, accounts, carriers, texts) })
	listener, err := bind(ctx, s.listen)
	if err != nil {
		return err
	}
	if s.baseURL == "" {
		s.baseURL = "http://" + listener.Addr().String()
	}
	pages := webui.NewPages(s.baseURL, s.chromium)
	var draining atomic.Bool
	api := &httpapi.Server{
		Accounts:   accounts,
		Carriers:   carriers,
		Feedback:   records,
		Texts:      texts,
		Operations: operations,
		BulkWait:   s.bulkWait,
		OptOuts:    optout.NewStore(db, reads),
		Reports:    report.NewStore(db, carriers, records),
		Pages:      webui.Handler(),
		Log:        log,
		BaseURL:    s.baseURL,
		BodyLimit:  s.bodyLimit,
		Timeout:    s.requestTimeout,
		Limits:     s.limits,
		Observe:    traced.observe(signals.observe),
		Ready:      func(ctx context.Context) error { return ready(ctx, control, &draining) },

		ShowUnsubscribe: pages.Unsubscribe,
		ShowReport:      pages.Report,
		PrintReport:     pages.PrintedReport,
		ShowRefusal:     pages.Refusal,
	}
	handler := traced.handler(api.Handler())
	signals.watchServer(api)
	log.InfoContext(ctx, "listening", "address", listener.Addr().String(), "base_url", s.baseURL)
	return serve(ctx, listener, handler, log, s, &draining, traced)
}

// spareCollector lets garbage grow to twice what is alive before it is collected, unless an operator has decided otherwise: that is little, and
// would be collected many times a second.
func spareCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

// openWrites is the pool for all but filters.
func openWrites(ctx context.Context, s pg.Settings) (*pgxpool.Pool, error) {
	s.OnePlan = true
	return pg.Open(ctx, s)
}

// openFilters is the pool that filters run on.
func openFilters(ctx context.Context, s pg.Settings) (*pgxpool.Pool, error) {
	s.CustomPlans = true
	return pg.Open(ctx, s)
}

// openControl is a small pool for what must go on when all else is stuck: finding out who calls, readiness, metrics.
func openControl(ctx context.Context, s pg.Settings) (*pgxpool.Pool, error) {
	s.MaxConns = 4
	return pg.Open(ctx, s)
}

func bind(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", address)
}

// listen makes edits done by other processes felt at once.
func listen(ctx context.Context, db *pgxpool.Pool, log *slog.Logger, accounts *account.Store, carriers *carrier.Store, texts *analysis.Store) {
	lost := func() {
		accounts.ForgetTokens()
		carriers.Forget()
		texts.Forget()
	}
	pg.Listen(ctx, db, log, lost, map[string]func(string){
		account.TokenChannel: accounts.ForgetToken,
		carrier.Channel:      func(string) { carriers.Forget() },
		analysis.Channel:     func(string) { texts.Forget() },
	})
}

func ready(ctx context.Context, db *pgxpool.Pool, draining *atomic.Bool) error {
	if draining.Load() {
		return fault.New(fault.Unavailable, "The service is stopping.")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := db.Ping(ctx); err != nil {
		return fault.New(fault.Unavailable, "The database does not answer.")
	}
	return nil
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger, s settings, draining *atomic.Bool, traced *traces) error {
	server := &http.Server{
		Handler:           parting(handler, draining),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       s.requestTimeout,
		WriteTimeout:      s.requestTimeout + 10*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	door := newDoor(listener)
	server.ConnState = door.note
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(door) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	draining.Store(true)
	log.Info("stopping", "deadline", s.shutdownDeadline.String())
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.shutdownDeadline)
	defer cancel()
	defer traced.flush(deadline, log)
	if err := drain(deadline, server, door, failed, s.shutdownDelay); err != nil {
		return errors.Join(errors.New("some requests did not finish in time"), server.Close())
	}
	log.Info("stopped")
	return nil
}

func newLogger(s settings, std streams) *slog.Logger {
	options := &slog.HandlerOptions{Level: s.logLevel}
	if s.logFormat == "text" {
		return slog.New(slog.NewTextHandler(std.err, options))
	}
	return slog.New(slog.NewJSONHandler(std.err, options))
}
