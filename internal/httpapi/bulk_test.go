package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"earshot/internal/account"
	"earshot/internal/tally"
)

// feed creates n feedback of a carrier and returns their ids.
func (c *client) feed(n, carrier int) []string {
	c.t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = c.json(http.MethodPost, "/v4/feedback", fmt.Sprintf(`{"carrier_id":%d,"source":"email"}`, carrier)).want(http.StatusCreated).id()
	}
	return ids
}

// work does what workers do: it goes on with an operation until it has ended.
func (c *client) work(operation string) {
	c.t.Helper()
	var id int64
	if _, err := fmt.Sscan(operation, &id); err != nil {
		c.t.Fatal(err)
	}
	for more := true; more; {
		var err error
		if more, err = c.server.Operations.Work(c.t.Context(), c.view, id); err != nil {
			c.t.Fatal(err)
		}
	}
}

// settle lets operations that wait for old rules to be forgotten begin.
func (c *client) settle() {
	c.t.Helper()
	_, err := c.server.db.Exec(c.t.Context(), `UPDATE operation SET selects_at = now() WHERE organization_id = $1 AND selects_at IS NOT NULL`, c.view.Org())
	if err != nil {
		c.t.Fatal(err)
	}
	c.server.Carriers.Forget()
}

// sound fails the test when the tallies differ from a count.
func (c *client) sound() {
	c.t.Helper()
	drifts, err := tally.NewStore(c.server.db).Verify(c.t.Context(), c.view)
	if err != nil || len(drifts) > 0 {
		c.t.Errorf("%v, drifts %+v", err, drifts)
	}
}

const (
	ofCarrier1 = `[{"Form":{"$in":[1],"$type":"and"}}]`
	resolve1   = `{"fql":"[{\"Form\":{\"$in\":[1],\"$type\":\"and\"}}]","status":"resolved"}`
)

func TestBulkUpdateSetsTheStatusOfEveryMatch(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*client) answer{
		"json": func(c *client) answer { return c.json(http.MethodPost, "/v4/feedback/bulk-update", resolve1) },
		"json array": func(c *client) answer {
			return c.json(http.MethodPost, "/v4/feedback/bulk-update", `{"fql":`+ofCarrier1+`,"status":"resolved"}`)
		},
		"form": func(c *client) answer {
			return c.form(http.MethodPost, "/v4/feedback/bulk-update", "fql="+ofCarrier1, "status=resolved")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			mine, others := c.feed(3, 1), c.feed(2, 2)
			a := call(c).want(http.StatusOK).is("type", `"success"`).is("feedback_count", "3").is("async", "null")
			for _, id := range mine {
				c.get("/v4/feedback/"+id).is("status", `"resolved"`)
			}
			for _, id := range others {
				c.get("/v4/feedback/"+id).is("status", `"todo"`)
			}
			c.get(`/v4/feedback?fql=[{"Status":{"$eq":"resolved"}}]`).is("meta.total", "3")
			c.get("/v4/operations/"+a.number("operation_id")).want(http.StatusOK).
				is("kind", `"status"`).is("status", `"resolved"`).is("state", `"done"`).is("total", "3").is("done", "3").is("changed", "3").
				is("sentence", `"Feedback where the carrier is 1."`)
			// All matches count, changed or not.
			call(c).want(http.StatusOK).is("feedback_count", "3")
			c.json(http.MethodPost, "/v4/feedback/bulk-update", `{"fql":[{"Form":{"$in":[9]}}],"status":"todo"}`).want(http.StatusOK).is("feedback_count", "0")
		})
	}
}

func TestBulkCallsRefuseWhatTheyCannotMean(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.feed(1, 1)
	const bulk, attach = "/v4/feedback/bulk-update", "/v4/feedback/attributes/attach"
	c.json(http.MethodPost, bulk, `{}`).refused(http.StatusUnprocessableEntity, "validation_failed", "fql", "status")
	c.json(http.MethodPost, bulk, `{"fql":"[]","status":"todo"}`).refused(http.StatusUnprocessableEntity, "validation_failed", "fql")
	c.json(http.MethodPost, bulk, `{"fql":"","status":"todo"}`).refused(http.StatusUnprocessableEntity, "validation_failed", "fql")
	c.json(http.MethodPost, bulk, `{"fql":[{}],"status":"todo"}`).refused(http.StatusUnprocessableEntity, "invalid_fql", "fql")
	c.json(http.MethodPost, bulk, `{"fql":[{"Form":{"$in":[1]}}],"status":"done"}`).refused(http.StatusUnprocessableEntity, "validation_failed", "status")
	c.json(http.MethodPost, bulk, `{"fql":[{"Form":{"$in":[1]}}],"status":"todo","dry_run":"maybe"}`).refused(http.StatusUnprocessableEntity, "validation_failed", "dry_run")
	c.json(http.MethodPost, bulk, `{"fql":[{"Form":{"$in":[1]}}],"status":"todo","expected_count":"many"}`).refused(http.StatusUnprocessableEntity, "validation_failed", "expected_count")
	c.json(http.MethodPost, attach, `{"fql":[{"Form":{"$in":[1]}}]}`).refused(http.StatusUnprocessableEntity, "validation_failed", "attributes")
	c.json(http.MethodPost, attach, `{"fql":[{"Form":{"$in":[1]}}],"attributes":[]}`).refused(http.StatusUnprocessableEntity, "validation_failed", "attributes")
	c.json(http.MethodPost, attach, `{"attributes":[{"name":"a","value":1}]}`).refused(http.StatusUnprocessableEntity, "validation_failed", "fql")
}

func TestDryRunCountsAndSamplesAndChangesNothing(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ids := c.feed(12, 1)
	sample := "[" + strings.Join(ids[:10], ",") + "]"
	fql := `"fql":[{"Form":{"$in":[1]}}],"dry_run":true`
	for path, a := range map[string]answer{
		"bulk-update": c.json(http.MethodPost, "/v4/feedback/bulk-update", `{`+fql+`,"status":"resolved"}`),
		"attach":      c.json(http.MethodPost, "/v4/feedback/attributes/attach", `{`+fql+`,"attributes":[{"name":"a","value":1}]}`),
		"sync":        c.form(http.MethodPut, "/v4/feedback/attributes/sync", "fql="+ofCarrier1, "dry_run=1", "attributes[0][name]=a", "attributes[0][value]=1"),
		"detach":      c.json(http.MethodDelete, "/v4/feedback/attributes/detach", `{`+fql+`,"attributes":[{"name":"a","value":1}]}`),
	} {
		t.Log(path)
		a.want(http.StatusOK).is("feedback_count", "12").is("dry_run", "true").is("sample_ids", sample).is("operation_id", "null")
	}
	c.json(http.MethodDelete, "/v4/feedback", `{`+fql+`}`).want(http.StatusOK).is("dry_run", "true").is("sample_ids", sample).
		is("meta", `{"total_matching":12,"deleted":0,"remaining":12}`)
	c.form(http.MethodDelete, `/v4/feedback?dry_run=true&fql=[{"Form":{"$in":[1]}}]`).want(http.StatusOK).is("dry_run", "true")
	c.get("/v4/operations").is("meta.total", "0")
	c.get(`/v4/feedback?fql=[{"Status":{"$eq":"todo"}},{"Attribute":{"name":"a","$exists":false}}]`).is("meta.total", "12")
}

func TestExpectedCountGuardsEveryBulkCall(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.feed(3, 1)
	fql := `"fql":[{"Form":{"$in":[1]}}]`
	calls := map[string]func(expected string) answer{
		"bulk-update": func(n string) answer {
			return c.json(http.MethodPost, "/v4/feedback/bulk-update", `{`+fql+`,"status":"resolved","expected_count":`+n+`}`)
		},
		"attach": func(n string) answer {
			return c.json(http.MethodPost, "/v4/feedback/attributes/attach", `{`+fql+`,"attributes":[{"name":"a","value":1}],"expected_count":`+n+`}`)
		},
		"dry run": func(n string) answer {
			return c.json(http.MethodPost, "/v4/feedback/bulk-update", `{`+fql+`,"status":"todo","dry_run":true,"expected_count":`+n+`}`)
		},
	}
	for name, call := range calls {
		t.Log(name)
		for _, wrong := range []string{"2", "4", "0", `"2"`} {
			call(wrong).refused(http.StatusConflict, "selection_changed")
		}
	}
	c.json(http.MethodDelete, "/v4/feedback", `{`+fql+`,"expected_count":2}`).refused(http.StatusConflict, "selection_changed")
	c.get("/v4/feedback").is("meta.total", "3")
	c.get(`/v4/feedback?fql=[{"Status":{"$eq":"todo"}},{"Attribute":{"name":"a","$exists":false}}]`).is("meta.total", "3")
	for _, call := range calls {
		call("3").want(http.StatusOK).is("feedback_count", "3")
	}
	c.json(http.MethodDelete, "/v4/feedback", `{`+fql+`,"expected_count":3}`).want(http.StatusOK).is("meta.deleted", "3")
}

// Above the threshold, which the tests set to 100, a bulk update is answered at once and done by workers; a change of attributes is waited for.
func TestLargeSelectionsGoOnInTheBackground(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.fill(150)
	a := c.json(http.MethodPost, "/v4/feedback/bulk-update", resolve1).want(http.StatusAccepted).is("feedback_count", "150").is("async", "true").is("type", "null")
	id := a.number("operation_id")
	c.get("/v4/operations/"+id).is("state", `"running"`).is("done", "0").is("undoable_until", "null")
	c.get("/v4/operations?state=running").is("data.0.id", id).is("meta.total", "1")
	c.json(http.MethodPost, "/v4/operations/"+id+"/undo", "").refused(http.StatusConflict, "operation_not_undoable")
	c.work(id)
	c.get("/v4/operations/"+id).is("state", `"done"`).is("done", "150").is("changed", "150")
	c.json(http.MethodPost, "/v4/operations/"+id+"/cancel", "").refused(http.StatusConflict, "operation_not_cancellable")

	// Nobody works on this one in time.
	attach := `{"fql":[{"Form":{"$in":[1]}}],"attributes":[{"name":"a","value":[1,"x"]}]}`
	late := c.json(http.MethodPost, "/v4/feedback/attributes/attach", attach).want(http.StatusAccepted).is("feedback_count", "150").is("async", "true")
	cancelled := c.json(http.MethodPost, "/v4/operations/"+late.number("operation_id")+"/cancel", "").want(http.StatusOK).is("state", `"cancelled"`)
	c.json(http.MethodPost, "/v4/operations/"+cancelled.id()+"/cancel", "").want(http.StatusOK)

	// On this one somebody does.
	done := make(chan answer)
	go func() { done <- c.json(http.MethodPost, "/v4/feedback/attributes/attach", attach) }()
	for c.get("/v4/operations?state=running").number("meta.total") == "0" {
		continue
	}
	c.work(c.get("/v4/operations?state=running").number("data.0.id"))
	(<-done).want(http.StatusOK).is("feedback_count", "150").is("async", "null")
	c.get(`/v4/feedback?per_page=1&include[]=attributes&fql=[{"Attribute":{"name":"a","$eq":"x"}}]`).is("meta.total", "150").
		is("data.0.attributes", `[{"name":"a","label":"a","value":[1,"x"]}]`)
}

// fill writes feedback of carrier 1 faster than one by one.
func (c *client) fill(n int) {
	c.t.Helper()
	_, err := c.server.db.Exec(c.t.Context(), `
		WITH written AS (
			INSERT INTO feedback (organization_id, id, created_at, carrier_id, day, source, status, attribute_value_ids, answer_ids)
			SELECT $1, nextval('feedback_id'), now(), 1, (now() AT TIME ZONE 'UTC')::date, 4, 1, '{}', '{}' FROM generate_series(1, $2)
			RETURNING id, day
		), content AS (
			INSERT INTO feedback_content (organization_id, feedback_id, first_item_id, fingerprint, items)
			SELECT $1, id, 1, id, '[]' FROM written
		)
		INSERT INTO feedback_delta (organization_id, carrier_id, day, source, status, nps, n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum)
		SELECT $1, 1, day, 4, 1, 0, count(*), 0, 0, 0, 0, 0 FROM written GROUP BY day`, c.view.Org(), n)
	if err != nil {
		c.t.Fatal(err)
	}
}

func TestUndoTakesBackWhatWasNotChangedAgain(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ids := c.feed(5, 1)
	id := c.json(http.MethodPost, "/v4/feedback/bulk-update", resolve1).want(http.StatusOK).number("operation_id")
	c.json(http.MethodPut, "/v4/feedback/"+ids[2], `{"status":"contacted"}`).want(http.StatusOK)
	undo := c.json(http.MethodPost, "/v4/operations/"+id+"/undo", "").want(http.StatusOK).is("kind", `"undo"`).is("undoes", id).
		is("changed", "4").is("skipped", "1").is("state", `"done"`)
	c.get("/v4/operations/"+undo.id()).is("skipped_ids", "["+ids[2]+"]")
	c.get("/v4/operations/"+id).is("undone_by", undo.id()).is("undoable_until", "null")
	c.json(http.MethodPost, "/v4/operations/"+id+"/undo", "").refused(http.StatusConflict, "operation_not_undoable")
	for i, feedback := range ids {
		want := `"todo"`
		if i == 2 {
			want = `"contacted"`
		}
		c.get("/v4/feedback/"+feedback).is("status", want)
	}
	// An undo can itself be undone.
	c.json(http.MethodPost, "/v4/operations/"+undo.id()+"/undo", "").want(http.StatusOK).is("changed", "4")
	c.get(`/v4/feedback?fql=[{"Status":{"$eq":"resolved"}}]`).is("meta.total", "4")
}

func TestOperationsAreListedNewestFirstWithWhoStartedThem(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.feed(1, 1)
	user, token := c.user("ada@example.com", account.Editor)
	first := c.json(http.MethodPost, "/v4/feedback/bulk-update", resolve1).number("operation_id")
	second := c.as(token).json(http.MethodPost, "/v4/feedback/bulk-update", resolve1).number("operation_id")
	c.get("/v4/operations").want(http.StatusOK).is("meta", `{"total":2,"next_search_after":`+first+`}`).
		is("data.0.id", second).is("data.0.user_id", fmt.Sprint(user.ID)).is("data.0.user_email", `"ada@example.com"`).
		is("data.1.id", first).is("data.1.user_id", "null")
	c.get("/v4/operations?per_page=1&search_after="+second).is("data.0.id", first)
	c.get("/v4/operations?search_after="+first).is("data", "[]").is("meta.next_search_after", "null")
	c.get("/v4/operations?state=lost").refused(http.StatusUnprocessableEntity, "validation_failed", "state")
	// Operations tell of feedback that a restricted viewer must not see.
	_, restricted := c.user("eve@example.com", account.RestrictedViewer)
	c.as(restricted).get("/v4/operations").want(http.StatusOK).is("data", "[]").is("meta.total", "0")
	c.as(restricted).get("/v4/operations/"+first).refused(http.StatusNotFound, "not_found")
}

// Each bulk call does to every match what the single call does to one, sent either way; what does not match is left alone.
func TestBulkAttributesChangeEveryMatch(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(c *client, method, verb string, attributes ...string) answer{
		"json": func(c *client, method, verb string, attributes ...string) answer {
			return c.json(method, "/v4/feedback/attributes/"+verb, `{"fql":`+ofCarrier1+`,"attributes":[`+attributes[0]+`]}`)
		},
		"form": func(c *client, method, verb string, attributes ...string) answer {
			return c.form(method, "/v4/feedback/attributes/"+verb, append(attributes[1:], "fql="+ofCarrier1)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			mine, other := c.feed(3, 1), c.feed(1, 2)[0]
			shows := func(want string) {
				t.Helper()
				for _, id := range mine {
					c.get("/v4/feedback/"+id+"?include[]=attributes").is("attributes", want)
				}
				c.get("/v4/feedback/"+other+"?include[]=attributes").is("attributes", `[]`)
			}
			call(c, http.MethodPost, "attach", `{"name":"city","value":["Lyon","Nice"]},{"name":"shop","value":"north"}`,
				"attributes[0][name]=city", "attributes[0][value][]=Lyon", "attributes[0][value][]=Nice", "attributes[1][name]=shop", "attributes[1][value]=north").
				want(http.StatusOK).is("feedback_count", "3").is("async", "null")
			shows(`[{"name":"city","label":"city","value":["Lyon","Nice"]},{"name":"shop","label":"shop","value":"north"}]`)
			call(c, http.MethodPut, "sync", `{"name":"city","value":["Nice","Paris"]}`,
				"attributes[0][name]=city", "attributes[0][value][]=Nice", "attributes[0][value][]=Paris").want(http.StatusOK).is("feedback_count", "3")
			shows(`[{"name":"city","label":"city","value":["Nice","Paris"]},{"name":"shop","label":"shop","value":"north"}]`)
			call(c, http.MethodDelete, "detach", `{"name":"city","value":"Nice"},{"name":"shop"}`,
				"attributes[0][name]=city", "attributes[0][value]=Nice", "attributes[1][name]=shop").want(http.StatusOK).is("feedback_count", "3")
			shows(`[{"name":"city","label":"city","value":"Paris"}]`)
			// A name that does not exist: nothing is detached, and the matches count all the same.
			call(c, http.MethodDelete, "detach", `{"name":"nowhere"}`, "attributes[0][name]=nowhere").want(http.StatusOK).is("feedback_count", "3")
			call(c, http.MethodPut, "sync", `{"name":"city","value":[]}`, "attributes[0][name]=city", "attributes[0][value][]=").want(http.StatusOK)
			shows(`[]`)
			c.get(`/v4/feedback?fql=[{"Attribute":{"name":"city","$exists":true}}]`).is("meta.total", "0")
			c.sound()
		})
	}
}
