package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"earshot/internal/feedback"
	"earshot/internal/httpapi"
	"earshot/internal/operation"
	"earshot/internal/pg"
	"earshot/internal/tally"
)

// signals are what an operator watches.
type signals struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	shed     *prometheus.CounterVec
	rows     prometheus.Histogram
}

func newSignals() *signals {
	s := &signals{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "earshot_http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "status"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "earshot_http_request_duration_seconds", Help: "How long requests took, by route.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route"}),
		shed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "earshot_http_shed_total", Help: "Requests turned away because there was too much to do, by class.",
		}, []string{"class"}),
		rows: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "earshot_create_rows", Help: "Feedback created by one statement: creates that wait are written together.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 1000},
		}),
	}
	for _, c := range httpapi.Classes() {
		s.shed.WithLabelValues(c.String()) // so that it is there before the first
	}
	s.registry.MustRegister(s.requests, s.took, s.shed, s.rows,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

// observe counts an answered request.
func (s *signals) observe(_ context.Context, o httpapi.Observation) {
	s.requests.WithLabelValues(o.Route, strconv.Itoa(o.Status)).Inc()
	s.took.WithLabelValues(o.Route).Observe(o.Took.Seconds())
	if o.Shed {
		s.shed.WithLabelValues(o.Class.String()).Inc()
	}
}

// created counts a statement that creates feedback.
func (s *signals) created(rows int) { s.rows.Observe(float64(rows)) }

// watchServer adds how many requests are under way.
func (s *signals) watchServer(server *httpapi.Server) {
	for _, class := range httpapi.Classes() {
		s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "earshot_http_in_flight", Help: "Requests under way, by class.", ConstLabels: prometheus.Labels{"class": class.String()},
		}, func() float64 { return float64(server.InFlight(class)) }))
	}
}

// watchPool adds what a pool of database connections is doing.
func (s *signals) watchPool(name string, pool *pgxpool.Pool) {
	labels := prometheus.Labels{"pool": name}
	for metric, m := range map[string]struct {
		help string
		read func(*pgxpool.Stat) float64
	}{
		"earshot_database_connections_busy":      {"Connections in use.", func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) }},
		"earshot_database_connections_open":      {"Connections open.", func(s *pgxpool.Stat) float64 { return float64(s.TotalConns()) }},
		"earshot_database_connections_limit":     {"Most connections.", func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) }},
		"earshot_database_waits_total":           {"Times a connection had to be waited for.", func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) }},
		"earshot_database_wait_seconds_total":    {"Time spent waiting for a connection.", func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() }},
		"earshot_database_acquires_total":        {"Times a connection was taken.", func(s *pgxpool.Stat) float64 { return float64(s.AcquireCount()) }},
		"earshot_database_abandoned_waits_total": {"Times somebody gave up waiting for a connection.", func(s *pgxpool.Stat) float64 { return float64(s.CanceledAcquireCount()) }},
	} {
		read := func() float64 { return m.read(pool.Stat()) }
		if strings.HasSuffix(metric, "_total") {
			s.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: metric, Help: m.help, ConstLabels: labels}, read))
		} else {
			s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metric, Help: m.help, ConstLabels: labels}, read))
		}
	}
}

// backlog reads, at each scrape, how far the work behind the requests is behind.
type backlog struct {
	tallies *tally.Store
	records *feedback.Store
	jobs    *pgxpool.Pool
	log     *slog.Logger
}

var (
	foldRows    = prometheus.NewDesc("earshot_fold_lag_rows", "Deltas not folded yet, up to a million.", nil, nil)
	foldAge     = prometheus.NewDesc("earshot_fold_lag_seconds", "Age of the oldest of them; -1 when it cannot be known.", nil, nil)
	pending     = prometheus.NewDesc("earshot_gin_pending_pages", "Pages on the pending list of a GIN index; -1 without the extension pageinspect.", []string{"index"}, nil)
	oldest      = prometheus.NewDesc("earshot_oldest_snapshot_seconds", "Age of the oldest transaction that others have to keep rows for.", nil, nil)
	horizonLag  = prometheus.NewDesc("earshot_horizon_lag_ids", "Ids handed out above the lowest that is not committed: what ascending lists hold back.", nil, nil)
	jobs        = prometheus.NewDesc("earshot_jobs", "Jobs in the queue, by kind and state.", []string{"kind", "state"}, nil)
	leaseAge    = prometheus.NewDesc("earshot_operation_lease_seconds", "How long past its lease an operation has shown no progress; 0 when none has.", nil, nil)
	backlogRead = prometheus.NewDesc("earshot_backlog_up", "Whether the figures of the backlog could be read.", nil, nil)
)

// Describe names the figures, without reading any: a server starts with its database as slow as it may be.
func (b *backlog) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{backlogRead, foldRows, foldAge, pending, oldest, horizonLag, jobs, leaseAge} {
		ch <- d
	}
}

// Collect reads them; when that fails it says so instead of guessing.
func (b *backlog) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	lag, err := b.tallies.Lag(ctx)
	ids, horizonErr := b.records.HorizonLag(ctx)
	queue, queueErr := operation.Queue(ctx, b.jobs)
	if err = errors.Join(err, horizonErr, queueErr); err != nil {
		b.log.Warn("the backlog cannot be read", "error", pg.Describe(err))
		gauge(backlogRead, 0)
		return
	}
	gauge(backlogRead, 1)
	gauge(foldRows, float64(lag.Rows))
	gauge(foldAge, lag.Age.Seconds())
	gauge(oldest, lag.Snapshot.Seconds())
	gauge(horizonLag, float64(ids))
	gauge(leaseAge, queue.LeaseAge.Seconds())
	for _, j := range queue.Jobs {
		gauge(jobs, float64(j.N), j.Kind, j.State)
	}
	for index, pages := range lag.PendingPages {
		gauge(pending, float64(pages), index)
	}
}

// adminHandler serves what only an operator may see: metrics and profiles.
func (s *signals) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// serveAdmin answers on the admin address until ctx ends.
func serveAdmin(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); ctx.Err() == nil {
		log.ErrorContext(ctx, "the admin address is not served any more", "error", err)
	}
}
