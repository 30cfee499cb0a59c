package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"earshot/internal/account"
	"earshot/internal/tally"
)

const ndjsonType = "application/x-ndjson"

// batch sends lines and returns the results; the contract has read each.
func (c *client) batch(contentType, body string) []result {
	c.t.Helper()
	return results(c.t, c.send(http.MethodPost, "/v4/feedback/batch", contentType, body).want(http.StatusOK).body)
}

type result struct {
	Line         int
	Status, Code string
	ID           int64
	Message      string
	Errors       map[string][]string
	RequestID    string `json:"request_id"`
}

func results(t testing.TB, body string) (all []result) {
	t.Helper()
	for line := range strings.Lines(body) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, r)
	}
	return all
}

// said is the results in short: the line and what became of it.
func said(all []result) (short []string) {
	for _, r := range all {
		text := fmt.Sprint(r.Line, " ", r.Status)
		if r.Code != "" {
			text += " " + r.Code
		}
		for field := range r.Errors {
			text += " " + field
		}
		short = append(short, text)
	}
	return short
}

func wantSaid(t *testing.T, got []result, want ...string) {
	t.Helper()
	if !slices.Equal(said(got), want) {
		t.Errorf("got %q,\nwant %q", said(got), want)
	}
}

func (c *client) total() string {
	c.t.Helper()
	drifts, err := tally.NewStore(c.server.db).Verify(c.t.Context(), c.view)
	if err != nil || len(drifts) > 0 {
		c.t.Errorf("the tallies: %v, %v", drifts, err)
	}
	return c.get("/v4/feedback").number("meta.total")
}

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// mixed are lines of every sort.
const mixed = `{"carrier_id":1,"source":"email","fingerprint":"a","items":[{"question_id":7,"value":"good"}],"attributes":[{"name":"shop","value":"Lyon"}]}
{"carrier_id":1,"source":"email","fingerprint":"a"}
{"carrier_id":1,"source":"fax"}

{"carrier_id":1,
[1,2]
null
{"carrier_id":0,"items":[{"value":"x"}]}
   ` + "\r" + `
{"carrier_id":1,"source":"email","fingerprint":"nul\u0000"}
{"carrier_id":2,"source":"sms","fingerprint":"a"}` + "\r\n" + `{"carrier_id":1,"source":"email","fingerprint":"last"}`

// Each line stands for itself, whatever it is: a result for each, in order, and the lines after it are read. Empty lines count.
func TestBatchSaysWhatBecameOfEachLine(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	got := c.batch(ndjsonType, mixed)
	if len(got) != 10 {
		t.Fatalf("%d results: %q", len(got), said(got))
	}
	if e := got[6].Errors; len(e) != 3 || e["carrier_id"] == nil || e["source"] == nil || e["items.0.question_id"] == nil {
		t.Errorf("the line with many mistakes: %v", e)
	}
	got[6].Errors = nil
	wantSaid(t, got, "1 created", "2 duplicate", "3 rejected validation_failed source", "5 rejected bad_request", "6 rejected bad_request",
		"7 rejected bad_request", "8 rejected validation_failed", "10 rejected bad_request", "11 created", "12 created")
	if got[1].ID != got[0].ID {
		t.Errorf("the duplicate is of %d, want %d", got[1].ID, got[0].ID)
	}
	a := c.get(fmt.Sprintf("/v4/feedback/%d?include=items,attributes", got[0].ID)).want(http.StatusOK)
	a.is("fingerprint", `"a"`).is("items.0.value", `"good"`).is("attributes.0.value", `"Lyon"`).is("status", `"todo"`)
	if n := c.total(); n != "3" {
		t.Errorf("%s are stored", n)
	}
	again := c.batch(ndjsonType, mixed)
	if again[0].Status != "duplicate" || again[0].ID != got[0].ID || again[9].Status != "duplicate" {
		t.Errorf("sent again: %q", said(again))
	}
	if n := c.total(); n != "3" {
		t.Errorf("sent again, %s are stored", n)
	}
}

// A list is read element by element; each counts as a line.
func TestBatchReadsLists(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	wantSaid(t, c.batch("application/json; charset=utf-8", ` [ {"carrier_id":1,"source":"email"},
		{"carrier_id":1,"source":"fax"}, 7, {"carrier_id":1,"source":"sms"} ] `),
		"1 created", "2 rejected validation_failed source", "3 rejected bad_request", "4 created")
	for _, empty := range []string{"[]", " [ ] "} {
		wantSaid(t, c.batch("application/json", empty))
	}
	for _, empty := range []string{"", "\n", " \r\n\n"} {
		wantSaid(t, c.batch(ndjsonType, empty))
	}
	if n := c.total(); n != "2" {
		t.Errorf("%s are stored", n)
	}
}

// A list that is no JSON is read up to where it breaks; the last line says where that is. One that breaks before its first
// element is refused.
func TestBatchOfABrokenList(t *testing.T) {
	t.Parallel()
	const good = `{"carrier_id":1,"source":"email"}`
	c := newClient(t)
	for name, body := range map[string]string{
		"breaks off":       `[` + good + `,{"carrier_id":`,
		"not closed":       `[` + good,
		"no comma":         `[` + good + ` ` + good + `]`,
		"comma at the end": `[` + good + `,]`,
		"other bracket":    `[` + good + `}`,
		"something behind": `[` + good + `] x`,
		"another list":     `[` + good + `][]`,
	} {
		got := c.batch("application/json", body)
		if len(got) != 2 || got[0].Status != "created" || got[1].Status != "failed" || got[1].Code != "bad_request" || got[1].Line != 2 ||
			got[1].RequestID == "" || !strings.Contains(got[1].Message, " at byte ") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, body := range []string{``, `{}`, `7`, `x`, good, `[x`, `[,]`, "\xff"} {
		c.send(http.MethodPost, "/v4/feedback/batch", "application/json", body).refused(http.StatusBadRequest, "bad_request")
	}
}

// Compressed bodies are read as they come; one that is not compressed as it says, or breaks off, says so.
func TestBatchReadsGzip(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	gz := c.with("Content-Encoding", "gzip")
	lines := strings.Repeat(`{"carrier_id":1,"source":"email"}`+"\n", 3)
	wantSaid(t, gz.batch(ndjsonType, zipped(t, lines)), "1 created", "2 created", "3 created")
	wantSaid(t, gz.batch("application/json", zipped(t, `[{"carrier_id":1,"source":"email"}]`)), "1 created")
	wantSaid(t, gz.batch(ndjsonType, zipped(t, lines[:40])+zipped(t, lines[40:])), "1 created", "2 created", "3 created")
	gz.send(http.MethodPost, "/v4/feedback/batch", ndjsonType, lines).refused(http.StatusBadRequest, "bad_request")
	whole := zipped(t, lines)
	if got := gz.batch(ndjsonType, whole[:len(whole)-4]); got[len(got)-1].Code != "bad_request" || got[len(got)-1].Status != "failed" {
		t.Errorf("without its end: %q", said(got))
	}
	for _, encoding := range []string{"br", "gzip, gzip", "zstd"} {
		c.with("Content-Encoding", encoding).send(http.MethodPost, "/v4/feedback/batch", ndjsonType, lines).
			refused(http.StatusUnsupportedMediaType, "unsupported_media_type")
	}
	for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} {
		c.send(http.MethodPost, "/v4/feedback/batch", media, lines).refused(http.StatusUnsupportedMediaType, "unsupported_media_type")
	}
}

// A line is as long as a body may be. A longer one is rejected alone, however much longer it is; an element of a list ends the batch.
func TestBatchLimitsLines(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.server.BodyLimit = 2000
	c.server.handler = c.server.Handler()
	line := func(n int) string {
		const head, tail = `{"carrier_id":1,"source":"email","x":"`, `"}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	wantSaid(t, c.batch(ndjsonType, line(2000)+"\n"+line(2001)+"\n"+line(300_000)+"\n"+line(100)+"\n"+line(5000)),
		"1 created", "2 rejected payload_too_large", "3 rejected payload_too_large", "4 created", "5 rejected payload_too_large")
	wantSaid(t, c.batch("application/json", "["+line(100)+","+line(300_000)+","+line(100)+"]"), "1 created", "2 failed payload_too_large")
}

// What a few compressed bytes say at length is read up to a limit: lines, and bytes.
func TestBatchLimitsTheWhole(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.server.LimitBatch(10, 5000)
	gz := c.with("Content-Encoding", "gzip")
	got := gz.batch(ndjsonType, zipped(t, strings.Repeat("{}\n", 12)))
	if len(got) != 11 || got[9].Status != "rejected" || got[10].Status != "failed" || got[10].Line != 11 || got[10].Code != "payload_too_large" {
		t.Errorf("too many lines: %q", said(got))
	}
	gz.send(http.MethodPost, "/v4/feedback/batch", ndjsonType, zipped(t, strings.Repeat(" ", 10<<20))).
		refused(http.StatusRequestEntityTooLarge, "payload_too_large")
	gz.send(http.MethodPost, "/v4/feedback/batch", ndjsonType, zipped(t, strings.Repeat("\n", 10<<20))).
		refused(http.StatusRequestEntityTooLarge, "payload_too_large")
}

// Another organization's fingerprints and feedback play no part, and who may not create may not in batches.
func TestBatchBelongsToItsOrganization(t *testing.T) {
	t.Parallel()
	mine, other := newClient(t), newClient(t)
	const lines = `{"carrier_id":1,"source":"email","fingerprint":"a"}` + "\n" + `{"carrier_id":1,"source":"email","fingerprint":"b"}`
	first := other.batch(ndjsonType, lines)
	got := mine.batch(ndjsonType, lines)
	wantSaid(t, got, "1 created", "2 created")
	if got[0].ID == first[0].ID {
		t.Error("it is the other's feedback")
	}
	mine.get(fmt.Sprintf("/v4/feedback/%d", first[0].ID)).refused(http.StatusNotFound, "not_found")
	for _, role := range []account.Role{account.Viewer, account.RestrictedViewer} {
		_, token := mine.user(string(role)+"@example.com", role)
		mine.as(token).send(http.MethodPost, "/v4/feedback/batch", ndjsonType, lines).refused(http.StatusForbidden, "forbidden")
	}
	mine.as(mine.issue(account.NewToken{Scopes: []account.Scope{account.FeedbackRead}})).
		send(http.MethodPost, "/v4/feedback/batch", ndjsonType, lines).refused(http.StatusForbidden, "forbidden")
	if mine.total() != "2" || other.total() != "2" {
		t.Error("something was stored twice, or elsewhere")
	}
}
