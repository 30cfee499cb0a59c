package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/account"
)

// list asks for a page with a filter.
func (c *client) list(filter, more string) answer {
	c.t.Helper()
	return c.get("/v4/feedback?fql=" + url.QueryEscape(filter) + more)
}

func (a answer) ids() []string {
	a.t.Helper()
	ids := []string{}
	rows, _ := a.want(http.StatusOK).at("data").([]any)
	for _, row := range rows {
		object, _ := row.(map[string]any)
		ids = append(ids, fmt.Sprint(object["id"]))
	}
	return ids
}

// A list is walked by the id of the last record, in either order, without missing or repeating one; the total is of all matches.
func TestListWalks(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	var all []string
	for i := range 23 {
		all = append(all, c.create(fmt.Sprintf(`{"carrier_id":1,"source":"email","created_at":"2020-01-%02dT00:00:00Z"}`, 28-i)).id())
	}
	walk := func(order string) []string {
		var seen []string
		after := ""
		for {
			a := c.get("/v4/feedback?per_page=5&order="+order+after).want(http.StatusOK).is("meta.total", "23")
			ids := a.ids()
			if len(ids) == 0 {
				a.is("meta.next_search_after", "null")
				return seen
			}
			a.is("meta.next_search_after", ids[len(ids)-1])
			seen = append(seen, ids...)
			after = "&search_after=" + ids[len(ids)-1]
		}
	}
	if diff := cmp.Diff(all, walk("asc")); diff != "" {
		t.Errorf("ascending (-want +got):\n%s", diff)
	}
	down := walk("DESC")
	for i := range down {
		if down[i] != all[len(all)-1-i] {
			t.Fatalf("descending is not the reverse: %v", down)
		}
	}
	if n := len(c.get("/v4/feedback").ids()); n != 10 {
		t.Errorf("a page has %d records by default", n)
	}
	if n := len(c.get("/v4/feedback?per_page=500&order=&search_after=&fql=").ids()); n != 23 {
		t.Errorf("a large page has %d records", n)
	}
	c.get("/v4/feedback?search_after=0").is("data", "[]").is("meta.total", "23")
	c.get("/v4/feedback?order=asc&search_after=9007199254740991").is("data", "[]")
	c.get("/v4/feedback?per_page=0&order=up&search_after=-1&include=nothing").
		refused(422, "validation_failed", "per_page", "order", "search_after", "include")
	c.get("/v4/feedback?per_page=x&fql={}").refused(422, "validation_failed", "per_page", "fql")
	newClient(t).get("/v4/feedback").is("data", "[]").is("meta", `{"total":0,"next_search_after":null}`)
}

// Records of a list have the shape of lists, and relations only when asked for.
func TestListIncludes(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	created := c.create(`{"carrier_id":1,"source":"email","attributes":[{"name":"a","value":[1,"x"]}],"items":[{"question_id":4,"value":"hello"}]}`)
	second := c.create(`{"carrier_id":1,"source":"sms"}`)
	a := c.get("/v4/feedback?include[]=items&include[]=attributes")
	a.is("data.1", created.body).is("data.0", second.body)
	if bare := c.get("/v4/feedback"); strings.Contains(bare.body, `"items"`) || strings.Contains(bare.body, `"attributes"`) || strings.Contains(bare.body, "status") {
		t.Errorf("relations or status without asking: %s", bare.body)
	}
	full := c.get("/v4/feedback?include=items.question,items.topics,items.spans,owners")
	full.is("data.1.items.0", fmt.Sprintf(`{"question_id":4,"option":null,"value":"hello","created_at":%q,
		"question":{"name":"Question 4","order":1,"type":"text","required":0},"topics":[],"spans":[{"start_offset":0,"length":5,"text":"hello","sentiment_score":50,"sentiment_string":"neutral","topics":[]}]}`, created.at("created_at")))
	full.is("data.0.owners", "[]")
}

// A wrong filter is refused with its own code, naming the clause and what would be right.
func TestListRefusesWrongFilters(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for filter, part := range map[string]string{
		`[{"Statuss":{"$eq":"todo"}}]`:       "did you mean Status?",
		`[{"Status":{"$eq":"done"}}]`:        "todo, progress",
		`[{"Status":{"$gt":"todo"}}]`:        "it takes $eq",
		`[{}]`:                               "clause 1",
		`[[]]`:                               "the group is empty",
		`[{"Attribute":{"$eq":"x"}}]`:        "the name of the attribute is missing",
		`{"Status":{"$eq":"todo"}}`:          "must be an array",
		`nonsense`:                           "not valid JSON",
		`[{"Id":{"$eq":1}},{"Status":{}}]`:   "clause 2 (Status)",
		`[{"Text":{"$like":""}}]`:            "at least one character",
		`[{"Id":{"$eq":1,"$type":"maybe"}}]`: `$type must be`,
	} {
		a := c.list(filter, "").refused(422, "invalid_fql", "fql")
		if message := fmt.Sprint(a.at("message")); !strings.Contains(message, part) {
			t.Errorf("%s: %q does not say %q", filter, message, part)
		}
	}
}

// Deleting removes the oldest matches up to the limit, really; the fingerprint stays reserved and the tallies follow.
func TestDelete(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	var ids []string
	for i := range 5 {
		ids = append(ids, c.create(fmt.Sprintf(`{"carrier_id":1,"source":"email","fingerprint":"f%d","attributes":[{"name":"a","value":%d}],
			"items":[{"question_id":1,"value":"secret"}]}`, i, i)).id())
	}
	other := newClient(t)
	other.create(`{"carrier_id":1,"source":"email"}`).want(http.StatusCreated)
	filter := `[{"Source":{"$eq":"email"}}]`
	c.json(http.MethodDelete, "/v4/feedback", map[string]any{"fql": filter, "limit": 2}).want(http.StatusOK).
		is("type", `"success"`).is("meta", `{"total_matching":5,"deleted":2,"remaining":3}`)
	if diff := cmp.Diff([]string{ids[4], ids[3], ids[2]}, c.get("/v4/feedback").ids()); diff != "" {
		t.Errorf("the oldest go first (-want +got):\n%s", diff)
	}
	c.get("/v4/feedback/"+ids[0]).refused(404, "not_found")
	c.create(`{"carrier_id":1,"source":"email","fingerprint":"f0"}`).refused(409, "fingerprint_taken", "fingerprint").is("feedback_id", "null")
	c.send(http.MethodDelete, "/v4/feedback?limit=1&fql="+url.QueryEscape(filter), "", "").is("meta", `{"total_matching":3,"deleted":1,"remaining":2}`)
	c.form(http.MethodDelete, "/v4/feedback", "fql="+filter).is("meta", `{"total_matching":2,"deleted":2,"remaining":0}`)
	c.form(http.MethodDelete, "/v4/feedback", "fql="+filter).is("meta", `{"total_matching":0,"deleted":0,"remaining":0}`)
	c.verifyTallies()
	other.get("/v4/feedback").is("meta.total", "1")
	var left int
	if err := c.server.db.QueryRow(t.Context(), `SELECT count(*) FROM feedback_content WHERE organization_id = $1`, c.view.Org()).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d contents are left, %v", left, err)
	}
	for _, empty := range []string{``, `[]`, `null`, ` `} {
		c.json(http.MethodDelete, "/v4/feedback", map[string]any{"fql": empty}).refused(422, "validation_failed", "fql")
	}
	c.json(http.MethodDelete, "/v4/feedback", `{"fql":[]}`).refused(422, "validation_failed", "fql")
	c.json(http.MethodDelete, "/v4/feedback", `{}`).refused(422, "validation_failed", "fql")
	c.json(http.MethodDelete, "/v4/feedback", `{"fql":[{}]}`).refused(422, "invalid_fql", "fql")
	c.json(http.MethodDelete, "/v4/feedback?limit=5", `{"fql":`+filter+`,"limit":6}`).refused(422, "validation_failed", "limit")
	c.json(http.MethodDelete, "/v4/feedback", `{"fql":`+filter+`,"limit":0}`).refused(422, "validation_failed", "limit")
}

// Explaining gives the canonical form, the sentence, the exact count and the way it is obtained.
func TestExplain(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.create(`{"carrier_id":1,"source":"email","attributes":[{"name":"city","value":"Lyon"}],"items":[{"question_id":1,"value":"Très bien"}]}`).want(http.StatusCreated)
	for filter, want := range map[string][3]string{
		`[]`:                                           {`[]`, "All feedback.", "tallies"},
		`[{"status":{"$in":["TODO"]}}]`:                {`[{"Status":{"$eq":"todo","$type":"and"}}]`, "Feedback where the status is todo.", "tallies"},
		`[{"created_at":{"$eq":"today"}}]`:             {`[{"TimePeriod":{"$eq":"date_today","$type":"and"}}]`, "Feedback where it was created today.", "tallies"},
		`[{"created_at":{"$eq":"last_7_days"}}]`:       {`[{"TimePeriod":{"$eq":"date_last_7_days","$type":"and"}}]`, "Feedback where it was created in the last 7 days.", "tallies_and_edges"},
		`[{"Attribute":{"$eq":"Lyon"},"name":"city"}]`: {`[{"Attribute":{"name":"city","$eq":"Lyon","$type":"and"}}]`, `Feedback where the attribute "city" is "Lyon".`, "value_count"},
		`[{"Text":{"$like":"TRÈS"}}]`:                  {`[{"Text":{"$like":"TRÈS","$type":"and"}}]`, `Feedback where a text answer contains "TRÈS".`, "count"},
	} {
		a := c.json(http.MethodPost, "/v4/fql/explain", map[string]any{"fql": filter}).want(http.StatusOK)
		a.is("fql", fmt.Sprintf("%q", want[0])).is("sentence", fmt.Sprintf("%q", want[1])).is("total_from", fmt.Sprintf("%q", want[2])).is("count", "1")
	}
	c.json(http.MethodPost, "/v4/fql/explain", `{"fql":[{"Id":{"$eq":1}}]}`).want(http.StatusOK).is("total_from", `"count"`)
	c.form(http.MethodPost, "/v4/fql/explain", `fql=[{"Idd":{"$eq":1}}]`).refused(422, "invalid_fql", "fql")
}

// A restricted viewer lists, counts and explains only what they own.
func TestListForRestrictedViewer(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	user, token := c.user("mine@example.com", account.RestrictedViewer)
	mine := c.create(`{"carrier_id":1,"source":"email"}`).id()
	c.create(`{"carrier_id":1,"source":"email"}`).want(http.StatusCreated)
	if _, err := c.server.db.Exec(t.Context(), `INSERT INTO feedback_owner (organization_id, feedback_id, user_id) VALUES ($1, $2, $3)`,
		c.view.Org(), mine, user.ID); err != nil {
		t.Fatal(err)
	}
	for _, filter := range []string{`[]`, `[{"Status":{"$eq":"todo"}}]`, `[{"Owner":{"$ne":"x@example.com"}}]`, `[{"Id":{"$gt":0}},{"Status":{"$eq":"todo","$type":"or"}}]`} {
		a := c.as(token).list(filter, "").is("meta.total", "1")
		if diff := cmp.Diff([]string{mine}, a.ids()); diff != "" {
			t.Error(diff)
		}
		c.as(token).json(http.MethodPost, "/v4/fql/explain", map[string]any{"fql": filter}).is("count", "1")
	}
}
