package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"earshot/internal/httpapi"
)

// flushTime is how long the last spans may take to leave, at most, when the server stops.
const flushTime = 5 * time.Second

// tracing says whether the standard variables ask for traces: they do by naming where to send them.
func (m *mistakes) tracing() bool {
	var endpoints []string
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if os.Getenv(name) != "" {
			endpoints = append(endpoints, name)
		}
	}
	exporter := os.Getenv("OTEL_TRACES_EXPORTER")
	if len(endpoints) == 0 || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || exporter == "none" {
		return false
	}
	if exporter != "" && exporter != "otlp" {
		m.all = append(m.all, fmt.Errorf("OTEL_TRACES_EXPORTER must be otlp or none, not %q", exporter))
	}
	for _, name := range endpoints {
		// The exporter would take a mistake for its default, and the address may hold a password.
		if u, err := url.Parse(os.Getenv(name)); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			m.all = append(m.all, fmt.Errorf("%s must be an address such as http://127.0.0.1:4318", name))
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		if p := os.Getenv(name); p != "" && p != "http/protobuf" && p != "http/json" {
			m.all = append(m.all, fmt.Errorf("%s must be http/protobuf or http/json, not %q", name, p))
		}
	}
	return true
}

// traces are spans of requests and of their statements on the way to a collector. Spans that it does not take in time are dropped:
// no request waits for it. A nil *traces is off, and nothing of it is in the way of a request.
type traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// openTraces makes everything ready. Beyond where to send spans, the standard variables say which requests are sampled and how spans are batched.
func openTraces(ctx context.Context, log *slog.Logger) (*traces, error) {
	otel.SetErrorHandler(&exportErrors{log: log})
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	version := "unknown"
	if build, ok := debug.ReadBuildInfo(); ok {
		version = build.Main.Version
	}
	described, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("earshot"), semconv.ServiceVersion(version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(discreet{exporter}), sdktrace.WithResource(described))
	return &traces{provider: provider, tracer: provider.Tracer("earshot")}, nil
}

// statements makes a span of every statement of a traced request: its text and how long it took, not its arguments.
func (t *traces) statements() pgx.QueryTracer {
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(t.provider), otelpgx.WithDisableConnectionDetailsInAttributes())
}

// handler makes a span of every request, below the caller's if it sent one. Nothing else of what it sent is kept: neither the path, which
// may hold anything, nor who it is, nor the state that came with its span.
func (t *traces) handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		caller := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header)))
		if caller.IsValid() {
			ctx = trace.ContextWithRemoteSpanContext(ctx, caller.WithTraceState(trace.TraceState{}))
		}
		ctx, span := t.tracer.Start(ctx, "unknown", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// observe hands an observation on, and names the request's span by it.
func (t *traces) observe(next func(context.Context, httpapi.Observation)) func(context.Context, httpapi.Observation) {
	if t == nil {
		return next
	}
	return func(ctx context.Context, o httpapi.Observation) {
		next(ctx, o)
		span := trace.SpanFromContext(ctx)
		span.SetName(o.Route)
		span.SetAttributes(semconv.HTTPResponseStatusCode(o.Status))
		if method, route, ok := strings.Cut(o.Route, " "); ok {
			span.SetAttributes(semconv.HTTPRequestMethodKey.String(method), semconv.HTTPRoute(route))
		}
		if o.Status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
	}
}

// logger adds the trace of a request to its lines.
func (t *traces) logger(log *slog.Logger) *slog.Logger { return slog.New(traceLog{log.Handler()}) }

// flush sends what is left. A collector that does not take it is no reason to stop any later than ctx says.
func (t *traces) flush(ctx context.Context, log *slog.Logger) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		log.WarnContext(ctx, "the last traces were not sent", "error", err.Error())
	}
}

type traceLog struct{ slog.Handler }

// Handle adds the trace that ctx belongs to, if any.
func (l traceLog) Handle(ctx context.Context, line slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		line.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return l.Handler.Handle(ctx, line)
}

// WithAttrs keeps the lines of a derived logger traced.
func (l traceLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceLog{l.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the lines of a derived logger traced.
func (l traceLog) WithGroup(name string) slog.Handler { return traceLog{l.Handler.WithGroup(name)} }

// discreet hands spans on without the texts of errors: PostgreSQL and the driver quote values in theirs. What is left of an error is its
// code (pgx.sql_state).
type discreet struct{ sdktrace.SpanExporter }

// ExportSpans sends the spans without what they may have of a request.
func (d discreet) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	quiet := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		quiet[i] = quietSpan{s}
	}
	return d.SpanExporter.ExportSpans(ctx, quiet)
}

type quietSpan struct{ sdktrace.ReadOnlySpan }

// Events are errors and panics, with their texts.
func (quietSpan) Events() []sdktrace.Event { return nil }

// Status says whether something failed, not what.
func (s quietSpan) Status() sdktrace.Status {
	return sdktrace.Status{Code: s.ReadOnlySpan.Status().Code}
}

// exportErrors says once a minute that a collector is not reached: it is tried again every few seconds.
type exportErrors struct {
	log *slog.Logger

	mu   sync.Mutex
	last time.Time
}

// Handle is called by the exporter's library.
func (e *exportErrors) Handle(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.last) < time.Minute {
		return
	}
	e.last = time.Now()
	e.log.Warn("traces are not sent", "error", err.Error())
}
