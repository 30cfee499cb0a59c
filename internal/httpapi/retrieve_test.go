package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"earshot/internal/account"
	"earshot/internal/carrier"
)

// The retrieve answer has the other shape: source is an object, status and import are there, relations only when asked for.
func TestRetrieveShape(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	made := c.carrier(carrier.NewQuestion{Type: carrier.NPS, Required: true}, carrier.NewQuestion{Type: carrier.Choice, Options: []string{"Price"}})
	nps, choice := made.Questions[0], made.Questions[1]
	id := c.create(fmt.Sprintf(`{"carrier_id":%d,"source":"google_review","fingerprint":"g-1","created_at":"2026-01-31T09:15:00Z",
		"attributes":[{"name":"shop","value":"Lyon"}],
		"items":[{"question_id":%d,"value":8},{"question_id":%d,"value":"Price"}]}`, made.ID, nps.ID, choice.ID)).want(http.StatusCreated).id()

	bare := c.get("/v4/feedback/" + id).want(http.StatusOK)
	base := fmt.Sprintf(`"id":%s,"carrier_id":%d,"fingerprint":"g-1","source":{"name":"google_review","label":"Google review"},"import":null,
		"created_at":"2026-01-31T09:15:00.000000Z","completed_at":"2026-01-31T09:15:00.000000Z","nps_profile":"neutral",
		"satisfaction_ratio":80.0,"status":"todo"`, id, made.ID)
	bare.matches(`{` + base + `}`)

	first := bare.itemIDs(c, id)
	item := func(n int, question int64, value, option, extra string) string {
		return fmt.Sprintf(`{"id":%s,"feedback_id":%s,"question_id":%d,%s,"value":"%s","created_at":"2026-01-31T09:15:00.000000Z"%s}`,
			first[n], id, question, option, value, extra)
	}
	none := `"question_option_id":null,"option":null`
	price := fmt.Sprintf(`"question_option_id":%d,"option":{"id":%d,"name":"Price"}`, choice.Options[0].ID, choice.Options[0].ID)
	all := func(extra func(n int) string) string {
		return `[` + item(0, nps.ID, "8", none, extra(0)) + `,` + item(1, choice.ID, "Price", price, extra(1)) + `]`
	}
	nothing := func(int) string { return "" }
	for query, want := range map[string]string{
		"include[]=items":                      `{` + base + `,"items":` + all(nothing) + `}`,
		"include[]=attributes":                 `{` + base + `,"attributes":[{"name":"shop","label":"shop","value":"Lyon"}]}`,
		"include=attributes,items":             `{` + base + `,"attributes":[{"name":"shop","label":"shop","value":"Lyon"}],"items":` + all(nothing) + `}`,
		"include[]=items.topics":               `{` + base + `,"items":` + all(func(int) string { return `,"topics":[]` }) + `}`,
		"include[]=items.spans&include[]=":     `{` + base + `,"items":` + all(func(int) string { return `,"spans":[]` }) + `}`,
		"include[]=items.question":             `{` + base + `,"items":` + all(func(n int) string { return questionJSON(made.Questions[n]) }) + `}`,
		"include[0]=owners":                    `{` + base + `,"owners":[]}`,
		"include[]=":                           `{` + base + `}`,
		"include=":                             `{` + base + `}`,
		"include%5B%5D=attributes&unknown[x]=": `{` + base + `,"attributes":[{"name":"shop","label":"shop","value":"Lyon"}]}`,
	} {
		a := c.get("/v4/feedback/" + id + "?" + query).want(http.StatusOK)
		a.matches(want)
	}
	c.get("/v4/feedback/"+id+"?include[]=everything").refused(422, "validation_failed", "include")
	c.get("/v4/feedback/"+id+"?include=items,owner").refused(422, "validation_failed", "include")
	c.get("/v4/feedback/"+id+"?include=%zz").refused(400, "bad_request")
	c.get("/v4/feedback/"+id+"?include=%00").refused(400, "bad_request")
	c.get("/v4/feedback/"+id+"?include=%ff").refused(400, "bad_request")
}

func (a answer) itemIDs(c *client, id string) []string {
	a.t.Helper()
	full := c.get("/v4/feedback/" + id + "?include[]=items")
	return []string{fmt.Sprint(full.at("items.0.id")), fmt.Sprint(full.at("items.1.id"))}
}

func questionJSON(q carrier.Question) string {
	required := 0
	if q.Required {
		required = 1
	}
	return fmt.Sprintf(`,"question":{"name":%q,"order":%d,"type":%q,"required":%d}`, q.Name, q.Position, q.Type, required)
}

// A restricted viewer sees the feedback they own and no other; owners are shown when asked for.
func TestRetrieveForRestrictedViewer(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	user, token := c.user("Someone@Example.com", account.RestrictedViewer)
	mine := c.create(`{"carrier_id":1,"source":"email"}`).id()
	other := c.create(`{"carrier_id":1,"source":"email"}`).id()
	_, err := c.server.db.Exec(t.Context(), `INSERT INTO feedback_owner (organization_id, feedback_id, user_id) VALUES ($1, $2, $3)`,
		c.view.Org(), mine, user.ID)
	if err != nil {
		t.Fatal(err)
	}
	c.as(token).get("/v4/feedback/"+mine+"?include=owners").want(http.StatusOK).
		is("owners", fmt.Sprintf(`[{"id":%d,"name":"Somebody","email":"Someone@Example.com"}]`, user.ID))
	c.as(token).get("/v4/feedback/"+other).refused(404, "not_found")
	c.get("/v4/feedback/" + other).want(http.StatusOK)
}

// PUT sets any status after any other, and answers with the feedback in the shape of lists. Nothing given changes nothing.
func TestUpdateStatus(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	created := c.create(`{"carrier_id":1,"source":"email","attributes":[{"name":"a","value":1}],"items":[{"question_id":1,"value":"x"}]}`)
	path := "/v4/feedback/" + created.id()
	for _, status := range []string{"progress", "contacted", "resolved", "abandoned", "todo", "abandoned", "abandoned"} {
		c.json(http.MethodPut, path, `{"status":"`+status+`"}`).want(http.StatusOK).matches(created.body)
		c.get(path).is("status", `"`+status+`"`)
	}
	c.form(http.MethodPut, path+"/", "status=resolved").want(http.StatusOK).matches(created.body)
	for _, body := range []string{``, `{}`, `{"status":null}`, `{"status":""}`, `{"stat":"todo"}`} {
		c.json(http.MethodPut, path, body).want(http.StatusOK).matches(created.body)
	}
	c.get(path).is("status", `"resolved"`)
	for _, body := range []string{`{"status":"Todo"}`, `{"status":"done"}`, `{"status":["todo"]}`, `{"status":true}`} {
		c.json(http.MethodPut, path, body).refused(422, "validation_failed", "status")
	}
	c.json(http.MethodPut, "/v4/feedback/9007199254740991", `{"status":"todo"}`).refused(404, "not_found")
}

// Every change adds to the tallies what it changes: the deltas of an organization sum to its feedback at any moment.
func TestTalliesFollowEveryChange(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	made := c.carrier(carrier.NewQuestion{Type: carrier.NPS})
	var ids []string
	for i := range 11 {
		ids = append(ids, c.create(fmt.Sprintf(`{"carrier_id":%d,"source":"email","created_at":"2026-0%d-28T23:30:00Z","attributes":[{"name":"n","value":[%d,"x"]}],
			"items":[{"question_id":%d,"value":%d}]}`, made.ID, i%3+1, i%2, made.Questions[0].ID, i)).want(http.StatusCreated).id())
	}
	ids = append(ids, c.create(`{"carrier_id":3,"source":"sms"}`).want(http.StatusCreated).id())
	for i, id := range ids {
		c.json(http.MethodPut, "/v4/feedback/"+id, `{"status":"`+[]string{"todo", "resolved", "progress"}[i%3]+`"}`).want(http.StatusOK)
	}
	c.json(http.MethodPut, "/v4/feedback/"+ids[1], `{"status":"todo"}`).want(http.StatusOK)
	c.verifyTallies()
}

// verifyTallies compares the deltas with a recount of the records, per dimension and per dictionary id.
func (c *client) verifyTallies() {
	c.t.Helper()
	for what, sql := range map[string]string{
		"records": `
			SELECT count(*) FROM (
				SELECT carrier_id, day, source, status, nps, sum(n), sum(sat_n), sum(sat_sum), sum(completed_n), sum(sentiment_n), sum(sentiment_sum)
				FROM feedback_delta WHERE organization_id = $1 GROUP BY 1, 2, 3, 4, 5 HAVING sum(n) <> 0
			EXCEPT ALL
				SELECT carrier_id, (created_at AT TIME ZONE 'UTC')::date, source, status, coalesce(nps_profile, 0), count(*), count(satisfaction),
				       coalesce(sum(satisfaction), 0), count(completed_at), count(sentiment), coalesce(sum(sentiment), 0)
				FROM feedback WHERE organization_id = $1 GROUP BY 1, 2, 3, 4, 5) AS d`,
		"values": `
			SELECT count(*) FROM (
				SELECT v, date_trunc('month', day), nps, sum(value_n), sum(value_sat_n), sum(value_sat_sum)
				FROM feedback_delta, unnest(value_ids) AS v WHERE organization_id = $1 GROUP BY 1, 2, 3 HAVING sum(value_n) <> 0
			EXCEPT ALL
				SELECT v, date_trunc('month', day), coalesce(nps_profile, 0), count(*), count(satisfaction), coalesce(sum(satisfaction), 0)
				FROM feedback, unnest(attribute_value_ids || topic_ids || answer_ids) AS v WHERE organization_id = $1 GROUP BY 1, 2, 3) AS d`,
		"totals": `
			SELECT abs((SELECT coalesce(sum(n), 0) FROM feedback_delta WHERE organization_id = $1) - (SELECT count(*) FROM feedback WHERE organization_id = $1))`,
	} {
		var wrong int
		if err := c.server.db.QueryRow(c.t.Context(), sql, c.view.Org()).Scan(&wrong); err != nil {
			c.t.Fatal(err)
		}
		if wrong != 0 {
			c.t.Errorf("tallies of %s differ from the records in %d places", what, wrong)
		}
	}
}
