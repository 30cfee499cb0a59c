package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"earshot/internal/pg/pgtest"
)

// question is an expression of the dashboard or of an alert, and whose it is.
type question struct{ whose, expr, legend string }

func readDeployed(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dashboardQuestions are the expressions of the panels, and those that fill the variables: the latter as the series they ask for.
func dashboardQuestions(t *testing.T) (all []question) {
	t.Helper()
	var dashboard struct {
		Templating struct {
			List []struct {
				Name, Type string
				Query      json.RawMessage
			}
		}
		Panels []struct {
			Type, Title, Description string
			Targets                  []struct{ Expr, LegendFormat string }
		}
	}
	decode(t, readDeployed(t, "deploy/grafana/earshot.json"), &dashboard)
	values := regexp.MustCompile(`^label_values\((.*), ([a-z]+)\)$`)
	for _, v := range dashboard.Templating.List {
		if v.Type != "query" {
			continue
		}
		var asked struct{ Query string }
		decode(t, string(v.Query), &asked)
		parts := values.FindStringSubmatch(asked.Query)
		if parts == nil {
			t.Fatalf("variable %s asks %q", v.Name, asked.Query)
		}
		all = append(all, question{whose: "variable " + v.Name, expr: "count by (" + parts[2] + ") (" + parts[1] + ")"})
	}
	for _, p := range dashboard.Panels {
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.Description == "" {
			t.Errorf("panel %q asks nothing or does not explain itself", p.Title)
		}
		for _, q := range p.Targets {
			all = append(all, question{whose: "panel " + p.Title, expr: q.Expr, legend: q.LegendFormat})
		}
	}
	return all
}

// alertQuestions reads the rules line by line: each has its name, its expression and its runbook on a line of its own.
func alertQuestions(t *testing.T) (all []question) {
	t.Helper()
	manual := readDeployed(t, "docs/operations.md")
	for rule := range strings.SplitSeq(readDeployed(t, "deploy/prometheus/alerts.yaml"), "- alert: ") {
		name, rest, _ := strings.Cut(rule, "\n")
		if strings.HasPrefix(name, "#") {
			continue // what stands before the first
		}
		member := func(key string) string {
			found := regexp.MustCompile(`(?m)^ +` + key + `: (.+)$`).FindStringSubmatch(rest)
			if found == nil {
				t.Fatalf("alert %s has no %s", name, key)
			}
			return found[1]
		}
		for _, key := range []string{"severity", "summary", "description"} {
			member(key)
		}
		_, anchor, _ := strings.Cut(member("runbook"), "docs/operations.md#")
		if !slices.Contains(anchors(manual), anchor) {
			t.Errorf("alert %s: there is no %q in docs/operations.md", name, anchor)
		}
		all = append(all, question{whose: "alert " + name, expr: member("expr")})
	}
	return all
}

// anchors are the addresses of a page's headings.
func anchors(page string) (all []string) {
	for line := range strings.Lines(page) {
		if hashes, title, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.Trim(hashes, "#") == "" && hashes != "" {
			all = append(all, regexp.MustCompile(`[^a-z0-9-]`).ReplaceAllString(strings.ReplaceAll(strings.ToLower(title), " ", "-"), ""))
		}
	}
	return all
}

// matcher is a condition on a label, of one metric.
type matcher struct{ metric, label, value string }

// parsed is what an expression names.
type parsed struct {
	metrics  []string
	labels   []string // by which it groups
	matchers []matcher
}

var (
	promToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[a-zA-Z_:][a-zA-Z0-9_:]*|\[[^\]]*\]|[0-9.]+|[=!]~|[=!<>]=|[-+*/%^(){},=<>]`)
	promWords = []string{"and", "or", "unless", "bool", "by", "without", "on", "ignoring", "group_left", "group_right", "offset"}
)

// parse finds metrics, grouping labels and matchers. Whether Prometheus understands the whole is for make dashboard-check.
func parse(t *testing.T, q question) (p parsed) {
	t.Helper()
	if rest := strings.TrimSpace(promToken.ReplaceAllString(q.expr, "")); rest != "" {
		t.Fatalf("%s: %q is not understood in %s", q.whose, rest, q.expr)
	}
	tokens := append(promToken.FindAllString(q.expr, -1), "")
	word := regexp.MustCompile(`^[a-zA-Z_:]`)
	for i := 0; i < len(tokens)-1; i++ {
		switch token := tokens[i]; {
		case token == "{":
			for i++; tokens[i] != "}"; i++ {
				if word.MatchString(tokens[i]) {
					p.matchers = append(p.matchers, matcher{p.metrics[len(p.metrics)-1], tokens[i], strings.Trim(tokens[i+2], `"`)})
				}
			}
		case slices.Contains([]string{"by", "on"}, token):
			for i++; tokens[i] != ")"; i++ {
				if word.MatchString(tokens[i]) {
					p.labels = append(p.labels, tokens[i])
				}
			}
		case !word.MatchString(token), slices.Contains(promWords, token), tokens[i+1] == "(", tokens[i+1] == "by":
		default:
			p.metrics = append(p.metrics, token)
		}
	}
	return p
}

// series are the metrics of scrapes with the values of their labels.
type series map[string]map[string][]string

var (
	seriesName = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})?$`)
	seriesPair = regexp.MustCompile(`([a-z]+)="((?:[^"\\]|\\.)*)"`)
)

func (all series) add(f figures) {
	for name := range f {
		parts := seriesName.FindStringSubmatch(name)
		if all[parts[1]] == nil {
			// What Prometheus adds to every series.
			all[parts[1]] = map[string][]string{"job": {"earshot"}, "instance": {"127.0.0.1:9464"}}
		}
		for _, pair := range seriesPair.FindAllStringSubmatch(parts[2], -1) {
			all[parts[1]][pair[1]] = append(all[parts[1]][pair[1]], pair[2])
		}
	}
}

// Every metric and label that the dashboard and the alerts name is there, every condition on a label is met by something, and every
// metric of ours is shown and explained.
func TestDashboardAndAlertsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	proxy, database := throughProxy(t, pgtest.New(t))
	org := initialize(t, database)
	s := serve(t, database, watched...)
	s.traffic(org)
	there := series{"up": {"job": {"earshot"}, "instance": {"127.0.0.1:9464"}}}
	there.add(s.figures())
	proxy.cut()
	wantUnavailable(t, "without a database", s.post(org.Token, org.feedback()))
	s.until("counting", func() bool {
		f := s.figures()
		there.add(f)
		return f[`earshot_http_requests_total{route="POST /v4/feedback",status="503"}`] > 0
	})

	shown := map[string]bool{}
	for _, q := range append(dashboardQuestions(t), alertQuestions(t)...) {
		p := parse(t, q)
		if len(p.metrics) == 0 {
			t.Errorf("%s: no metric in %s", q.whose, q.expr)
		}
		labels := map[string]bool{}
		for _, m := range p.metrics {
			if there[m] == nil {
				t.Errorf("%s: there is no %s", q.whose, m)
			}
			shown[m] = true
			for l := range there[m] {
				labels[l] = true
			}
		}
		for _, l := range p.labels {
			if !labels[l] {
				t.Errorf("%s: there is no label %s on %v", q.whose, l, p.metrics)
			}
		}
		for _, l := range regexp.MustCompile(`\{\{([a-z]+)\}\}`).FindAllStringSubmatch(q.legend, -1) {
			if !slices.Contains(p.labels, l[1]) && l[1] != "instance" {
				t.Errorf("%s: its legend names %s, which it does not group by", q.whose, l[1])
			}
		}
		for _, m := range p.matchers {
			value := regexp.MustCompile(`^(?:` + regexp.MustCompile(`\$[a-z]+`).ReplaceAllString(m.value, ".*") + `)$`)
			if !slices.ContainsFunc(there[m.metric][m.label], value.MatchString) {
				t.Errorf("%s: %s has no label %s with the value %s", q.whose, m.metric, m.label, m.value)
			}
		}
	}
	manual := readDeployed(t, "docs/operations.md")
	for _, m := range slices.Sorted(maps.Keys(there)) {
		name := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(m, "")
		if !strings.HasPrefix(m, "earshot_") {
			continue
		}
		if !shown[m] && !shown[name+"_bucket"] || !strings.Contains(manual, "`"+name+"`") {
			t.Errorf("%s is on no panel and in no alert, or is not explained in docs/operations.md", m)
		}
	}
}

// traffic sends a few requests of each class, good and bad.
func (s *server) traffic(org start) {
	s.t.Helper()
	for _, r := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/v4/feedback", org.feedback(), http.StatusCreated},
		{"POST", "/v4/feedback", `{}`, http.StatusUnprocessableEntity},
		{"GET", "/v4/feedback", "", http.StatusOK},
		{"GET", "/v4/feedback?order=asc", "", http.StatusOK},
		{"GET", "/v4/carriers", "", http.StatusOK},
		{"DELETE", "/v4/feedback", `{"fql": [{"Id": {"$eq": 1000000}}]}`, http.StatusOK},
		{"GET", "/healthz", "", http.StatusOK},
		{"GET", "/nowhere", "", http.StatusNotFound},
	} {
		if a, err := s.send(r.method, r.path, org.Token, r.body, nil); err != nil || a.status != r.status {
			s.t.Errorf("%s %s: %d %s, %v", r.method, r.path, a.status, a.body, err)
		}
	}
}

// The small parser reads what stands in the files.
func TestParse(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint(parse(t, question{expr: `(sum(rate(a_total{x=~"$x",y!="GET /{id}"}[5m])) or vector(0)) / max by (l, k) (b) > 1.5 and sum(c) by (z)`}))
	want := fmt.Sprint(parsed{
		[]string{"a_total", "b", "c"},
		[]string{"l", "k", "z"},
		[]matcher{{"a_total", "x", "$x"}, {"a_total", "y", "GET /{id}"}},
	})
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Prometheus itself understands every expression and has an answer to each of the dashboard's. It runs on its own only, with
// TEST_PROMETHEUS naming the program: make dashboard-check.
func TestPrometheusAnswersTheDashboard(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_PROMETHEUS") == "" {
		t.Skip("no TEST_PROMETHEUS: make dashboard-check")
	}
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database, watched...)
	p := prometheus{s, s.startPrometheus()}
	variables := strings.NewReplacer("$job", ".*", "$instance", ".*", "$__rate_interval", "10s")
	open := dashboardQuestions(t)
	t.Cleanup(func() {
		for _, q := range open {
			t.Logf("%s has no data: %s", q.whose, q.expr)
		}
	})
	s.until("answering every question in Prometheus", func() bool {
		s.traffic(org)
		open = slices.DeleteFunc(open, func(q question) bool { return p.answers(variables.Replace(q.expr)) > 0 })
		return len(open) == 0
	})
	alerts := alertQuestions(t)
	for _, q := range alerts {
		p.answers(q.expr) // which fails when Prometheus does not understand it
	}
	// Prometheus has read the rules, evaluated each, and none has failed.
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	s.until("evaluated", func() bool {
		p.ask("/api/v1/rules", &rules)
		evaluated := 0
		for _, g := range rules.Groups {
			for _, r := range g.Rules {
				if r.Health == "err" {
					t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health == "ok" {
					evaluated++
				}
			}
		}
		return evaluated == len(alerts)
	})
}

// prometheus is one that scrapes a server.
type prometheus struct {
	server *server
	url    string
}

// startPrometheus starts it on loopback, scraping every second, with the alert rules. It is ended with the test.
func (s *server) startPrometheus() string {
	s.t.Helper()
	dir := s.t.TempDir()
	rules, err := filepath.Abs("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\n"+
		"scrape_configs: [{job_name: earshot, static_configs: [{targets: [%q]}]}]\n", rules, s.adminAddress())
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	free, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close() // for Prometheus to take
	cmd := exec.CommandContext(s.t.Context(), os.Getenv("TEST_PROMETHEUS"), "--config.file="+filepath.Join(dir, "config.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Wait() }) // killed, because the test's context has ended
	return "http://" + address
}

// ask reads the data of an answer, and returns whether there was one.
func (p prometheus) ask(path string, into any) bool {
	p.server.t.Helper()
	r, err := http.NewRequestWithContext(p.server.t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		p.server.t.Fatal(err)
	}
	response, err := p.server.client.Do(r)
	if err != nil {
		return false // it is starting
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	var envelope struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&envelope); err != nil {
		return false // still starting, which it says in plain text
	}
	if envelope.Status != "success" {
		p.server.t.Fatalf("%s: %s", path, envelope.Error)
	}
	decode(p.server.t, string(envelope.Data), into)
	return true
}

// answers counts the series that an expression gives now.
func (p prometheus) answers(expr string) int {
	p.server.t.Helper()
	var data struct{ Result []json.RawMessage }
	p.ask("/api/v1/query?query="+url.QueryEscape(expr), &data)
	return len(data.Result)
}
