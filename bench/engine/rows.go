package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"earshot/bench/corpus"
	"earshot/bench/rig"
)

// row is one sort of request.
type row struct {
	name      string
	slug      string
	units     int // feedback in a request
	clients   []int
	questions []question
	status    int
	check     func(answer []byte) error
	calls     []call // what it sends, with one set of arguments or another
	low, high int64  // ids of feedback to ask for
}

const (
	batchSize = 1_000 // feedback in a batch, of which the server takes on three at once from one organization
	bulkSize  = 1_000 // feedback in a bulk change, as many as are changed within the request
)

func (q question) bytes() []byte {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n", q.method, q.path, q.token)
	if q.body != "" {
		head += fmt.Sprintf("Content-Type: %s\r\nContent-Length: %d\r\n", q.kind, len(q.body))
	}
	return []byte(head + "\r\n" + q.body)
}

func get(org rig.Organization, path string) question {
	return question{method: "GET", path: path, token: org.Token}
}

func post(org rig.Organization, path, body string) question {
	return question{"POST", path, org.Token, body, "application/json"}
}

// filters of lists: none; one that the tallies answer; one that the count kept for a value answers, had by 1 %.
var filters = []struct{ slug, name, fql string }{
	{"list", "list, no filter", ``},
	{"list_tally", "list, status", `[{"Status":{"$eq":"progress"}}]`},
	{"list_value", "list, attribute of 1 %", `[{"Attribute":{"name":"plan","$eq":"enterprise"}}]`},
}

func list(fql string) string { return "/v4/feedback?per_page=10&fql=" + url.QueryEscape(fql) }

// reads are the requests that read, asked of the large organization.
func (b *bench) reads(ctx context.Context, o *original, org rig.Organization) ([]row, error) {
	recent, err := recentIDs(ctx, o, org)
	if err != nil {
		return nil, err
	}
	retrieve := func(id int64) question {
		return get(org, fmt.Sprintf("/v4/feedback/%d?include=items,attributes", id))
	}
	one := row{
		name: "retrieve, with items and attributes", slug: "retrieve", status: 200, clients: b.clients,
		low: recent[0], high: recent[len(recent)-1],
	}
	for _, id := range recent {
		one.questions = append(one.questions, retrieve(id))
	}
	middle := recent[len(recent)/2]
	c, err := o.capture(ctx, retrieve(middle), retrieve(middle), 200, func([]byte) map[string]source {
		return map[string]source{fmt.Sprint(middle): ids}
	})
	if err != nil {
		return nil, err
	}
	one.calls = []call{c}
	rows := []row{one}
	for _, f := range filters {
		q := get(org, list(f.fql))
		c, err := o.capture(ctx, q, q, 200, nil)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{name: f.name, slug: f.slug, status: 200, clients: b.clients, questions: []question{q}, calls: []call{c}})
	}
	report, err := o.ask(ctx, post(org, "/v3/reports", `{"name": "Benchmark", "format": "prefilled"}`), 201)
	if err != nil {
		return nil, err
	}
	var made struct{ ID int64 }
	if err := json.Unmarshal(report, &made); err != nil {
		return nil, err
	}
	b.reportID = made.ID
	q := get(org, fmt.Sprintf("/v3/reports/%d/data", made.ID))
	c, err = o.capture(ctx, q, q, 200, nil)
	return append(rows, row{name: "report data", slug: "report", status: 200, clients: b.few(8), questions: []question{q}, calls: []call{c}}), err
}

// recentIDs are some of the latest feedback of an organization, from the oldest.
func recentIDs(ctx context.Context, o *original, org rig.Organization) ([]int64, error) {
	rows, err := o.plain.Query(ctx, `
		SELECT id
		FROM (SELECT id FROM feedback WHERE organization_id = $1 ORDER BY id DESC LIMIT $2) AS f
		ORDER BY id`, org.ID, corpus.Small)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// opinions is how many different feedback are created. Were they all the same, their words would always meet the same pages of the index.
const opinions = 50

// creates are the requests that write, of an organization that has a thousand feedback of one wave.
func (b *bench) creates(ctx context.Context, o *original, org rig.Organization) ([]row, error) {
	body := feedbackOf(org)
	one := row{name: "create", slug: "create", units: 1, status: 201, clients: b.clients}
	for n := range opinions {
		one.questions = append(one.questions, post(org, "/v4/feedback", body(n)))
		create := func(n int) question { return post(org, "/v4/feedback", marked(body(n), n)) }
		// What it is to be told apart by is not in the first one.
		c, err := o.capture(ctx, post(org, "/v4/feedback", body(n)), create(n), 201, varied(n, 1))
		if err != nil {
			return nil, err
		}
		one.calls = append(one.calls, c)
	}
	// Rules are read anew every second; that is not what a create is.
	shortest := len(slices.MinFunc(one.calls, func(a, b call) int { return len(a) - len(b) }))
	one.calls = slices.DeleteFunc(one.calls, func(c call) bool { return len(c) > shortest })
	batch := row{
		name: fmt.Sprintf("batch create, %d in a request", batchSize), slug: "batch", units: batchSize, status: 200, clients: append(b.few(1), 2), check: allCreated,
		questions: []question{batchOf(org, body)},
	}
	c, err := o.capture(ctx, batchOf(org, body), batchOf(org, func(n int) string { return marked(body(n), opinions+n) }), 200, varied(opinions, batchSize))
	if err != nil {
		return nil, err
	}
	batch.calls = []call{c}
	bulk, err := b.bulk(ctx, o, org)
	return []row{one, batch, bulk}, err
}

// feedbackOf are bodies of creates, by number.
func feedbackOf(org rig.Organization) func(n int) string {
	texts := corpus.Texts(opinions)
	return func(n int) string {
		return strings.Replace(org.Body(texts[n%opinions]), "Lyon", fmt.Sprintf("City %d", n%20), 1)
	}
}

// batchOf is a request that creates a batch of them.
func batchOf(org rig.Organization, body func(n int) string) question {
	var text strings.Builder
	for n := range batchSize {
		text.WriteString(body(n) + "\n")
	}
	return question{"POST", "/v4/feedback/batch", org.Token, text.String(), "application/x-ndjson"}
}

func fingerprint(n int) string { return fmt.Sprintf("bench-fingerprint-%d", n) }

// marked is a create with a fingerprint by which it is found among what is sent.
func marked(body string, n int) string {
	return strings.Replace(body, `{`, fmt.Sprintf(`{"fingerprint": %q, `, fingerprint(n)), 1)
}

// varied says where the fingerprints of some creates come from, and their hashes.
func varied(from, n int) func([]byte) map[string]source {
	all := map[string]source{}
	for i := from; i < from+n; i++ {
		all[fingerprint(i)], all[fmt.Sprintf("%x", sha256.Sum256([]byte(fingerprint(i))))] = fingerprints, hashes
	}
	return func([]byte) map[string]source { return all }
}

// allCreated holds the answer to a batch against what was sent.
func allCreated(answer []byte) error {
	if n := bytes.Count(answer, []byte(`"status":"created"`)); n != batchSize {
		return fmt.Errorf("%d of a batch were created: %.300s", n, answer)
	}
	return nil
}

// bulk is a change of status there and back, of a thousand feedback, each in one request.
func (b *bench) bulk(ctx context.Context, o *original, org rig.Organization) (row, error) {
	move := func(status string) question {
		return post(org, "/v4/feedback/bulk-update", fmt.Sprintf(`{"fql": [{"Attribute":{"name":"wave","$eq":"first"}}], "status": %q}`, status))
	}
	r := row{name: fmt.Sprintf("bulk status of %d", bulkSize), slug: "bulk", units: bulkSize, status: 200, clients: b.few(1)}
	var both call
	at := "todo"
	for _, status := range []string{"progress", "todo"} {
		var operation struct {
			ID    int64 `json:"operation_id"`
			Count int   `json:"feedback_count"`
		}
		part, err := o.capture(ctx, move(at), move(status), 200, func(answer []byte) map[string]source {
			if json.Unmarshal(answer, &operation) != nil || operation.Count != bulkSize {
				return map[string]source{"a bulk change of a thousand": kept}
			}
			return map[string]source{fmt.Sprint(operation.ID): kept}
		})
		if err != nil {
			return r, err
		}
		keep := slices.IndexFunc(part, func(t trip) bool { return strings.Contains(t.Statements[0].SQL, "INSERT INTO operation ") })
		if keep < 0 {
			return r, fmt.Errorf("a bulk change no longer begins with an operation")
		}
		part[keep].Statements[0].Kept = true
		both = append(both, part...)
		r.questions = append(r.questions, move(status))
		at = status
	}
	r.calls = []call{both}
	return r, nil
}
