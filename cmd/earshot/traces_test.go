package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	main "earshot/cmd/earshot"
	"earshot/internal/pg/pgtest"
)

// collector takes in traces, as OTLP over HTTP.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	bytes []byte // everything that was sent
	spans []*tracepb.Span
	by    []*commonpb.KeyValue // the resource that sent the last
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("the collector was sent %s %s, %v", r.Method, r.URL.Path, err)
		}
		c.take(t, body)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(t *testing.T, body []byte) {
	t.Helper()
	var sent collectorpb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &sent); err != nil {
		t.Errorf("the collector cannot read what it was sent: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes = append(c.bytes, body...)
	for _, resource := range sent.ResourceSpans {
		c.by = resource.Resource.Attributes
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// find returns the spans that are right.
func (c *collector) find(right func(*tracepb.Span) bool) []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(func(yield func(*tracepb.Span) bool) {
		for _, s := range c.spans {
			if right(s) && !yield(s) {
				return
			}
		}
	})
}

// requests are the spans of requests with a route.
func (c *collector) requests(route string) []*tracepb.Span {
	return c.find(func(s *tracepb.Span) bool {
		return s.Kind == tracepb.Span_SPAN_KIND_SERVER && s.Name == route
	})
}

// attribute is one of a span's, in words; empty when it has none such.
func attribute(all []*commonpb.KeyValue, key string) string {
	for _, a := range all {
		if a.Key == key {
			if n, ok := a.Value.Value.(*commonpb.AnyValue_IntValue); ok {
				return fmt.Sprint(n.IntValue)
			}
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// traced starts a server that sends its spans to an address, soon after they end.
func traced(t *testing.T, database, address string, variables ...string) *server {
	t.Helper()
	cmd := serving(t, database)
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+address, "OTEL_BSP_SCHEDULE_DELAY=50")
	cmd.Env = append(cmd.Env, variables...)
	return launch(t, cmd)
}

// A request is a span named by its route, in the trace of its caller, with its statements below it; its line in the log names the trace.
func TestRequestsAreTraced(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	c := collect(t)
	s := traced(t, database, c.URL)
	const traceID, parentID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	a, err := s.send(http.MethodPost, "/v4/feedback", org.Token, org.feedback(), http.Header{"Traceparent": {"00-" + traceID + "-" + parentID + "-01"}})
	if err != nil || a.status != http.StatusCreated {
		t.Fatalf("create: %d %s, %v", a.status, a.body, err)
	}
	s.get("/v4/feedback/1000000", org.Token)
	s.get("/nowhere", org.Token)
	s.until("seen by the collector", func() bool {
		return len(c.requests("POST /v4/feedback")) == 1 && len(c.requests("GET /v4/feedback/{id}")) == 1 && len(c.requests("unknown")) == 1
	})

	create := c.requests("POST /v4/feedback")[0]
	if fmt.Sprintf("%x %x", create.TraceId, create.ParentSpanId) != traceID+" "+parentID {
		t.Errorf("the create is in the trace %x below %x, want %s below %s", create.TraceId, create.ParentSpanId, traceID, parentID)
	}
	for key, want := range map[string]string{
		"http.request.method": "POST", "http.route": "/v4/feedback", "http.response.status_code": "201",
	} {
		if got := attribute(create.Attributes, key); got != want {
			t.Errorf("%s of the create is %q, want %q", key, got, want)
		}
	}
	if got := attribute(c.requests("GET /v4/feedback/{id}")[0].Attributes, "http.response.status_code"); got != "404" {
		t.Errorf("the status of an unknown feedback is %s, want 404", got)
	}
	statements := c.find(func(span *tracepb.Span) bool {
		return string(span.TraceId) == string(create.TraceId) && strings.Contains(attribute(span.Attributes, "db.query.text"), "INSERT INTO feedback")
	})
	if len(statements) == 0 {
		t.Error("the create has no span of its statement")
	}
	if got := attribute(c.by, "service.name"); got != "earshot" {
		t.Errorf("the service is called %q", got)
	}
	if !slices.ContainsFunc(s.requests(), func(r logged) bool { return r.Route == "POST /v4/feedback" && r.TraceID == traceID }) {
		t.Errorf("the log does not name the trace:\n%s", s.log(10))
	}
}

// What is exported holds nothing that a request brought and nothing of its caller: not the token, the path, the query with its filter, a
// customer's words, an address. That goes for statements that fail as well, although PostgreSQL quotes values in its messages.
func TestTracesHoldNothingOfARequest(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	c := collect(t)
	s := traced(t, database, c.URL)
	const canary, person = "CANARY", "jane.doe@example.com"
	forged := "es_live_" + strings.Repeat(canary, 6)
	fql := url.QueryEscape(`[{"Text":{"$like":"` + canary + `"}},{"Attribute":{"name":"` + canary + `","$eq":"` + canary + `"}}]`)
	words := fmt.Sprintf(`{"carrier_id": %d, "source": "email", "fingerprint": %q, "attributes": [{"name": "shop", "value": %q}],
		"items": [{"question_id": %d, "value": %q}]}`, org.CarrierID, "%s", canary, org.Questions["text"], "So said the "+canary)
	header := http.Header{
		"X-Request-Id": {"0123456789abcdef"}, "User-Agent": {canary}, "Referer": {canary}, "X-Forwarded-For": {"203.0.113.77"},
		"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, "Tracestate": {"vendor=" + canary}, "Baggage": {"who=" + canary},
	}
	send := func(method, path, token, body string, status int) {
		t.Helper()
		if a, err := s.send(method, path, token, body, header); err != nil || a.status != status {
			t.Errorf("%s %s: %d %s, %v, want %d", method, path, a.status, a.body, err, status)
		}
	}
	send("GET", "/v4/feedback?fql="+fql, org.Token, "", 200)
	send("GET", "/v4/feedback?fql="+canary, org.Token, "", 422)
	send("GET", "/v4/feedback/"+person, org.Token, "", 404)
	send("GET", "/"+person+"//"+canary, org.Token, "", 404)
	send("GET", "/v4/feedback/918273645", org.Token, "", 404)
	send("PATCH", "/v4/feedback", org.Token, "", 405)
	send("GET", "/v4/carriers", forged, "", 401)
	send("POST", "/v4/feedback", org.Token, fmt.Sprintf(words, canary+" 1"), 201)
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // nothing was left open on it
	if _, err := conn.Exec(t.Context(), `ALTER TABLE feedback_content ADD CONSTRAINT number CHECK (fingerprint::int > 0) NOT VALID`); err != nil {
		t.Fatal(err)
	}
	send("POST", "/v4/feedback", org.Token, fmt.Sprintf(words, canary+" 2"), 500)

	// The failed statement is among the spans, and says that it failed.
	s.until("seen by the collector", func() bool {
		return len(c.requests("POST /v4/feedback")) == 2 && len(c.find(func(span *tracepb.Span) bool {
			return attribute(span.Attributes, "pgx.sql_state") == "22P02" && span.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR
		})) > 0
	})
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	for _, secret := range []string{
		canary, strings.ToLower(canary), org.Token, "es_live_", person, "jane.doe", "918273645", "0123456789abcdef", "203.0.113.77", "127.0.0.1", "fql=",
	} {
		if at := strings.Index(string(c.bytes), secret); at >= 0 {
			t.Errorf("%q is exported: …%q…", secret, c.bytes[max(0, at-100):min(len(c.bytes), at+100)])
		}
	}
}

// The spans of the last requests are sent before a server ends.
func TestLastTracesAreSent(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	c := collect(t)
	s := traced(t, database, c.URL, "OTEL_BSP_SCHEDULE_DELAY=3600000")
	s.post(org.Token, org.feedback())
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if got := c.requests("POST /v4/feedback"); len(got) != 1 {
		t.Errorf("the collector got %d spans of the create, want 1", len(got))
	}
}

// A collector that hangs or is not there costs a request nothing, though the queue of spans is full all the time, and the server ends in time.
func TestNoRequestWaitsForTheCollector(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	released := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(released) })
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, address := range map[string]string{"hanging": hanging.URL, "gone": gone.URL} {
		s := traced(t, database, address, "OTEL_BSP_MAX_QUEUE_SIZE=4", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=2")
		began := time.Now()
		for range 100 {
			if a := s.post(org.Token, org.feedback()); a.status != http.StatusCreated {
				t.Fatalf("%s: %d %s", name, a.status, a.body)
			}
		}
		// Had even one waited for an export, it would have taken the exporter's ten seconds.
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("%s: a hundred creates took %v", name, took)
		}
		began = time.Now()
		if err := s.stop(); err != nil {
			t.Errorf("%s: it ended with %v", name, err)
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s: it took %v to end", name, took)
		}
		if log := s.log(1000); !strings.Contains(log, `"the last traces were not sent"`) && !strings.Contains(log, `"traces are not sent"`) {
			t.Errorf("%s: the log does not say that traces are not sent", name)
		}
	}
}

// Traces are off unless the standard variables name an address, and when they say so; then nothing is sent, and nothing stands in the
// way of a request.
func TestTracesAreOffUnlessAskedFor(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	c := collect(t)
	address := "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL
	for name, variables := range map[string][]string{
		"no endpoint": {"OTEL_SERVICE_NAME=shop", "OTEL_TRACES_EXPORTER=otlp"},
		"disabled":    {address, "OTEL_SDK_DISABLED=true"},
		"no exporter": {address, "OTEL_TRACES_EXPORTER=none"},
	} {
		cmd := serving(t, database)
		cmd.Env = append(append(cmd.Env, "OTEL_BSP_SCHEDULE_DELAY=1"), variables...)
		s := launch(t, cmd)
		s.post(org.Token, org.feedback())
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if strings.Contains(s.log(1000), "trace_id") {
			t.Errorf("%s: the log names traces", name)
		}
	}
	if len(c.spans) > 0 {
		t.Errorf("%d spans were sent", len(c.spans))
	}
	mux := http.NewServeMux()
	if main.Untraced(mux) != http.Handler(mux) {
		t.Error("without traces there is a handler around the handler")
	}
}
