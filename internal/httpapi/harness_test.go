package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/feedback"
	"earshot/internal/httpapi"
	"earshot/internal/operation"
	"earshot/internal/optout"
	"earshot/internal/pg/pgtest"
	"earshot/internal/report"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const baseURL = "https://feedback.example.com"

// server is the real router on a real database, with its log.
type server struct {
	*httpapi.Server
	db      *pgxpool.Pool
	handler http.Handler
	log     *logBuffer
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newServer(db *pgxpool.Pool) *server {
	accounts, carriers := account.NewStore(db), carrier.NewStore(db)
	texts := analysis.NewStore(db)
	records := feedback.NewStore(db, db, carriers, texts)
	operations, err := operation.NewStore(db, accounts, carriers, texts, records, operation.Settings{InRequest: 100, UndoFor: time.Hour})
	if err != nil {
		panic(err)
	}
	log := &logBuffer{}
	s := &server{db: db, log: log, Server: &httpapi.Server{
		Accounts:   accounts,
		Carriers:   carriers,
		Feedback:   records,
		Texts:      texts,
		Operations: operations,
		BulkWait:   2 * time.Second,
		OptOuts:    optout.NewStore(db, db),
		Reports:    report.NewStore(db, carriers, records),
		Pages:      http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }),
		Log:        slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		BaseURL:    baseURL,
		BodyLimit:  1 << 20,
		Timeout:    30 * time.Second,
		Ready:      func(ctx context.Context) error { return db.Ping(ctx) },

		ShowUnsubscribe: showUnsubscribe,
		ShowReport:      showReport,
		ShowRefusal:     showRefusal,
	}}
	s.handler = s.Handler()
	return s
}

// client calls the interface as one token of one organization.
type client struct {
	t      testing.TB
	server *server
	view   account.View
	token  string
	header http.Header
}

// newClient makes an organization for the test and a token for all of it.
func newClient(t testing.TB) *client {
	t.Helper()
	return newServer(pgtest.DB(t)).newClient(t)
}

func (s *server) newClient(t testing.TB) *client {
	t.Helper()
	org, err := s.Accounts.OpenOrganization(t.Context(), fmt.Sprintf("%s %d", t.Name(), time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, server: s, view: account.Whole(org.ID), header: http.Header{}}
	c.token = c.issue(account.NewToken{})
	return c
}

// issue makes another token of the client's organization.
func (c *client) issue(n account.NewToken) string {
	c.t.Helper()
	_, secret, err := c.server.Accounts.IssueToken(c.t.Context(), c.view, n)
	if err != nil {
		c.t.Fatal(err)
	}
	return secret
}

// as is the client with another token; with sets a header of every call.
func (c *client) as(token string) *client {
	other := *c
	other.token = token
	return &other
}

func (c *client) with(name, value string) *client {
	other := *c
	other.header = c.header.Clone()
	other.header.Set(name, value)
	return &other
}

// user adds a user and returns a token of theirs.
func (c *client) user(email string, role account.Role) (account.User, string) {
	c.t.Helper()
	u, err := c.server.Accounts.OpenUser(c.t.Context(), c.view, account.User{Email: email, Name: "Somebody", Role: role})
	if err != nil {
		c.t.Fatal(err)
	}
	return u, c.issue(account.NewToken{UserID: &u.ID})
}

// carrier adds a carrier with questions of these kinds and returns it.
func (c *client) carrier(questions ...carrier.NewQuestion) carrier.Carrier {
	c.t.Helper()
	for i := range questions {
		questions[i].Name = fmt.Sprintf("Question %d", i)
	}
	made, err := c.server.Carriers.Create(c.t.Context(), c.view, carrier.New{Name: "Test", Questions: questions})
	if err != nil {
		c.t.Fatal(err)
	}
	return made
}

func (c *client) get(path string) answer { return c.send(http.MethodGet, path, "", "") }

// json sends a value as JSON, or a string as it is.
func (c *client) json(method, path string, body any) answer {
	c.t.Helper()
	text, ok := body.(string)
	if !ok {
		b, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		text = string(b)
	}
	return c.send(method, path, "application/json", text)
}

// form sends fields given as key=value, unescaped.
func (c *client) form(method, path string, fields ...string) answer {
	return c.send(method, path, "application/x-www-form-urlencoded", encodeForm(fields))
}

func encodeForm(fields []string) string {
	escaped := make([]string, len(fields))
	for i, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		escaped[i] = url.QueryEscape(key) + "=" + url.QueryEscape(value)
	}
	return strings.Join(escaped, "&")
}

// send makes one call and holds it against the contract.
func (c *client) send(method, path, contentType, body string) answer {
	c.t.Helper()
	r := httptest.NewRequestWithContext(c.t.Context(), method, path, strings.NewReader(body))
	for name := range c.header {
		r.Header.Set(name, c.header.Get(name))
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	c.server.handler.ServeHTTP(w, r)
	res := w.Result()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	_ = res.Body.Close()
	a := answer{t: c.t, status: res.StatusCode, header: res.Header, body: string(text)}
	checkContract(c.t, r, body, a)
	return a
}

// answer is what came back.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

// want fails the test unless the status is the one expected.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// refused expects the one error body with this status and code, and a mistake noted for each of the fields and no other.
func (a answer) refused(status int, code string, fields ...string) answer {
	a.t.Helper()
	a.want(status)
	if got := a.at("code"); got != code {
		a.t.Errorf("code %v, want %s: %s", got, code, a.body)
	}
	wrong, _ := a.at("errors").(map[string]any)
	for _, f := range fields {
		if _, ok := wrong[f]; !ok {
			a.t.Errorf("errors lack %s: %s", f, a.body)
		}
	}
	if len(wrong) != len(fields) {
		a.t.Errorf("errors name %d fields, want %d: %s", len(wrong), len(fields), a.body)
	}
	return a
}

func (a answer) value() any {
	a.t.Helper()
	d := json.NewDecoder(strings.NewReader(a.body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		a.t.Fatalf("not JSON: %s", a.body)
	}
	return v
}

// at returns the member at a dotted path, or nil.
func (a answer) at(path string) any {
	a.t.Helper()
	v := a.value()
	for step := range strings.SplitSeq(path, ".") {
		switch container := v.(type) {
		case map[string]any:
			v = container[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(container) {
				return nil
			}
			v = container[i]
		default:
			return nil
		}
	}
	return v
}

// is expects the member at a path to be this JSON, to the letter of numbers.
func (a answer) is(path, want string) answer {
	a.t.Helper()
	got, err := json.Marshal(a.at(path))
	if err != nil {
		a.t.Fatal(err)
	}
	var g, w any
	decode := func(text string, into *any) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(into); err != nil {
			a.t.Fatalf("%s: %v", text, err)
		}
	}
	decode(string(got), &g)
	decode(want, &w)
	if diff := cmp.Diff(w, g); diff != "" {
		a.t.Errorf("%s: (-want +got)\n%s", path, diff)
	}
	return a
}

func (a answer) id() string {
	a.t.Helper()
	return a.number("id")
}

// number is the member at a path as it is printed.
func (a answer) number(path string) string {
	a.t.Helper()
	return fmt.Sprint(a.at(path))
}
