package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"earshot/internal/account"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// Logs, and the bodies of failures of ours, never hold a token, an e-mail address or an answer's text. Canaries are planted in every
// place a request has, then things are broken in several ways.
func TestSecretsStayOutOfLogsAndFailures(t *testing.T) {
	t.Parallel()
	db, err := pg.Open(t.Context(), pg.Settings{URL: pgtest.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s := newServer(db)
	c := s.newClient(t)
	_, theirs := c.user("canary-mail@example.com", account.RestrictedViewer)
	canaries := []string{c.token, theirs, "canary-mail@example.com", "canary answer text", "canary-value", "canary-query", "canary-key", "canary-agent"}

	full := `{"carrier_id":1,"source":"email","fingerprint":"canary-value","attributes":[{"name":"mail","value":"canary-mail@example.com"}],
		"items":[{"question_id":1,"value":"canary answer text"}]}`
	var failures []answer
	attempt := func(c *client) {
		id := "1"
		calls := []answer{
			c.create(full),
			c.create(strings.ReplaceAll(full, "canary-value", "canary-value 2")),
			c.with("Idempotency-Key", "canary-key").create(full),
			c.create(`{"carrier_id":"canary-value","source":"canary-mail@example.com","items":[{"question_id":"canary answer text"}]}`),
			c.create(`{"carrier_id":1,"source":"email","created_at":"canary answer text"`),
			c.get("/v4/feedback/" + id + "?include=items,attributes,owners&canary-query=canary-mail@example.com"),
			c.get("/v4/feedback/canary-mail@example.com"),
			c.get("/canary-mail@example.com?token=" + c.token),
			c.json(http.MethodPut, "/v4/feedback/"+id, `{"status":"resolved"}`),
			c.json(http.MethodPut, "/v4/feedback/"+id, `{"status":"canary answer text"}`),
			c.json(http.MethodPost, "/v4/feedback/"+id+"/attributes/attach", `{"attributes":[{"name":"canary-value","value":["canary answer text","canary-mail@example.com"]}]}`),
			c.send(http.MethodDelete, "/v4/feedback/"+id+"/attributes/detach?attributes[0][name]=canary-query&attributes[0][value]=canary-mail@example.com", "", ""),
			c.json(http.MethodPost, "/v4/feedback/"+id+"/attach/owner", `{"emails":["canary-mail@example.com"]}`),
			c.json(http.MethodPost, "/v4/feedback/"+id+"/detach/owner", `{"email":"canary-value-canary-mail@example.com"}`),
			c.get("/v4/feedback/" + id + "/history"),
			c.get("/v4/carriers"),
			c.send("CANARY-VALUE", "/v4/carriers", "canary-value/canary-value", "canary answer text"),
			c.get("/readyz"),
		}
		for _, a := range calls {
			if a.status >= 500 {
				failures = append(failures, a)
			}
		}
	}
	hidden := c.with("User-Agent", "canary-agent").with("X-Request-Id", "canary-value").with("Referer", "https://canary-query.example")
	attempt(hidden)
	attempt(hidden.as(theirs))
	for _, broken := range []string{
		`ALTER TABLE feedback_content ADD CONSTRAINT too_short CHECK (length(items::text) < 5) NOT VALID`,
		`ALTER TABLE feedback_content DROP CONSTRAINT too_short`,
		`DELETE FROM feedback_content`,
		`CREATE UNIQUE INDEX one_of_each ON feedback_content (organization_id, (items -> 0 ->> 'v'))`,
		`ALTER TABLE attribute_value ALTER COLUMN text TYPE varchar(3) USING 'x'`,
		`ALTER TABLE feedback RENAME COLUMN satisfaction TO happiness`,
		`DROP INDEX one_of_each; ALTER TABLE feedback_content ALTER COLUMN items TYPE int USING 0`,
		`ALTER TABLE token RENAME TO tokens`,
	} {
		if _, err := db.Exec(t.Context(), broken); err != nil {
			t.Fatal(broken, err)
		}
		s.Accounts.ForgetTokens()
		s.Carriers.Forget()
		db.Reset()
		attempt(hidden.with("X-Step", fmt.Sprint(broken)))
	}
	s.Ready = func(context.Context) error { panic("canary answer text") }
	attempt(hidden)
	db.Close()
	attempt(hidden)

	if len(failures) < 10 {
		t.Errorf("only %d failures were provoked", len(failures))
	}
	log := s.log.String()
	if strings.Count(log, `"msg":"request"`) < 100 || !strings.Contains(log, `"msg":"failed"`) || !strings.Contains(log, `"msg":"panic"`) {
		t.Errorf("the log does not show what happened: %.2000s", log)
	}
	for _, canary := range canaries {
		if strings.Contains(strings.ToLower(log), strings.ToLower(canary)) {
			at := strings.Index(strings.ToLower(log), strings.ToLower(canary))
			t.Errorf("the log holds %q: …%s…", canary, log[max(0, at-200):min(len(log), at+100)])
		}
		for _, a := range failures {
			if strings.Contains(a.body, canary) {
				t.Errorf("a failure shows %q: %s", canary, a.body)
			}
		}
	}
}
