package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// shows expects the attributes of a feedback, as pairs of name and value in their order, in the retrieve answer and in the list.
func (c *client) shows(id, want string) {
	c.t.Helper()
	retrieved := c.get("/v4/feedback/" + id + "?include[]=attributes").want(http.StatusOK)
	listed := c.list(`[{"Id":{"$eq":`+id+`}}]`, "&include[]=attributes").want(http.StatusOK)
	for _, attributes := range []any{retrieved.at("attributes"), listed.at("data.0.attributes")} {
		pairs := []any{}
		list, _ := attributes.([]any)
		for _, member := range list {
			a, _ := member.(map[string]any)
			if a["label"] != a["name"] {
				c.t.Errorf("the label is %v", a["label"])
			}
			pairs = append(pairs, []any{a["name"], a["value"]})
		}
		b, err := json.Marshal(map[string]any{"pairs": pairs})
		if err != nil {
			c.t.Fatal(err)
		}
		answer{t: c.t, body: string(b)}.is("pairs", want)
	}
}

// events is the number of changes in a feedback's history.
func (c *client) events(id string) string {
	c.t.Helper()
	return fmt.Sprint(c.get("/v4/feedback/" + id + "/history").want(http.StatusOK).at("meta.total"))
}

// attributed makes a feedback with attributes: city Lyon, size 7, XL and 1.50, in this order.
func (c *client) attributed() string {
	c.t.Helper()
	return c.create(`{"carrier_id":1,"source":"email","attributes":[{"name":"city","value":"Lyon"},{"name":"size","value":[7,"XL",1.50]}]}`).
		want(http.StatusCreated).id()
}

var verbs = map[string][2]string{
	"attach": {http.MethodPost, "/attributes/attach"},
	"sync":   {http.MethodPut, "/attributes/sync"},
	"detach": {http.MethodDelete, "/attributes/detach"},
}

// Attach adds, sync replaces name by name, detach removes values or whole attributes; what is said twice is said once, values and attributes keep
// their order and spelling, and doing it again changes nothing. JSON and form mean the same.
func TestAttributesOfOneFeedback(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for name, test := range map[string]struct {
		verb, body string
		form       []string // where a form can say it, too
		want       string
		events     string
	}{
		"attach another value": {
			"attach", `{"attributes":[{"name":"city","value":"Paris"}]}`,
			[]string{"attributes[0][name]=city", "attributes[0][value]=Paris"},
			`[["city",["Lyon","Paris"]],["size",[7,"XL",1.50]]]`, "1",
		},
		"attach several to several": {
			"attach", `{"attributes":[{"name":"city","value":["Paris","Lyon","Nice"]},{"name":"plan","value":["gold"]}]}`,
			[]string{"attributes[0][name]=city", "attributes[0][value][]=Paris", "attributes[0][value][]=Lyon", "attributes[0][value][]=Nice", "attributes[1][name]=plan", "attributes[1][value][]=gold"},
			`[["city",["Lyon","Paris","Nice"]],["size",[7,"XL",1.50]],["plan","gold"]]`, "2",
		},
		"attach what is there, in another spelling": {
			"attach", `{"attributes":[{"name":" size ","value":["7","XL","1.50"]}]}`,
			[]string{"attributes[0][name]= size ", "attributes[0][value][0]=7", "attributes[0][value][1]=XL", "attributes[0][value][2]=1.50"},
			`[["city","Lyon"],["size",[7,"XL",1.50]]]`, "0",
		},
		"attach merged elements": {
			"attach", `{"attributes":[{"name":"a","value":"1"},{"name":"b","value":"2"},{"name":"a","value":["3","1"]},{"name":"c","value":[]}]}`, nil,
			`[["city","Lyon"],["size",[7,"XL",1.50]],["a",["1","3"]],["b","2"]]`, "2",
		},
		"attach an empty list": {
			"attach", `{"attributes":[{"name":"city","value":[]},{"name":"new","value":[]}]}`,
			[]string{"attributes[0][name]=city", "attributes[0][value][]="},
			`[["city","Lyon"],["size",[7,"XL",1.50]]]`, "0",
		},
		"attach the empty text": {
			"attach", `{"attributes":[{"name":"city","value":""}]}`,
			[]string{"attributes[0][name]=city", "attributes[0][value]="},
			`[["city",["Lyon",""]],["size",[7,"XL",1.50]]]`, "1",
		},
		"attach numbers as they are spelled": {
			"attach", `{"attributes":[{"name":"n","value":[1.0,1,1e2,-0,"1e2"]}]}`, nil,
			`[["city","Lyon"],["size",[7,"XL",1.50]],["n",[1.0,1,1e2,-0]]]`, "1",
		},
		"sync replaces and keeps the place": {
			"sync", `{"attributes":[{"name":"city","value":"Paris"}]}`,
			[]string{"attributes[0][name]=city", "attributes[0][value]=Paris"},
			`[["city","Paris"],["size",[7,"XL",1.50]]]`, "1",
		},
		"sync keeps what is listed, in its order": {
			"sync", `{"attributes":[{"name":"size","value":["S","1.50","7"]}]}`,
			[]string{"attributes[0][name]=size", "attributes[0][value][]=S", "attributes[0][value][]=1.50", "attributes[0][value][]=7"},
			`[["city","Lyon"],["size",[7,1.50,"S"]]]`, "1",
		},
		"sync with nothing clears": {
			"sync", `{"attributes":[{"name":"city","value":[]},{"name":"unheard of","value":[]}]}`,
			[]string{"attributes[0][name]=city", "attributes[0][value][]="},
			`[["size",[7,"XL",1.50]]]`, "1",
		},
		"sync merges what is said of a name": {
			"sync", `{"attributes":[{"name":"city","value":[]},{"name":"city","value":"Nice"},{"name":"plan","value":["gold"]}]}`, nil,
			`[["city","Nice"],["size",[7,"XL",1.50]],["plan","gold"]]`, "2",
		},
		"sync with the same": {
			"sync", `{"attributes":[{"name":"size","value":["XL",1.50,7]}]}`, nil,
			`[["city","Lyon"],["size",[7,"XL",1.50]]]`, "0",
		},
		"detach a value": {
			"detach", `{"attributes":[{"name":"size","value":"7"}]}`,
			[]string{"attributes[0][name]=size", "attributes[0][value]=7"},
			`[["city","Lyon"],["size",["XL",1.50]]]`, "1",
		},
		"detach the last value": {
			"detach", `{"attributes":[{"name":"city","value":["Lyon","Paris"]}]}`,
			[]string{"attributes[0][name]=city", "attributes[0][value][]=Lyon", "attributes[0][value][]=Paris"},
			`[["size",[7,"XL",1.50]]]`, "1",
		},
		"detach without value": {
			"detach", `{"attributes":[{"name":"size"}]}`, []string{"attributes[0][name]=size"}, `[["city","Lyon"]]`, "1",
		},
		"detach null": {"detach", `{"attributes":[{"name":"size","value":null}]}`, nil, `[["city","Lyon"]]`, "1"},
		"detach an empty list": {
			"detach", `{"attributes":[{"name":"size","value":[]}]}`, []string{"attributes[0][name]=size", "attributes[0][value][]="}, `[["city","Lyon"]]`, "1",
		},
		"detach the empty text": {
			"detach", `{"attributes":[{"name":"size","value":""}]}`,
			[]string{"attributes[0][name]=size", "attributes[0][value]="},
			`[["city","Lyon"],["size",[7,"XL",1.50]]]`, "0",
		},
		"detach: the whole attribute wins": {
			"detach", `{"attributes":[{"name":"size","value":"7"},{"name":"city","value":"Paris"},{"name":"size"}]}`, nil, `[["city","Lyon"]]`, "1",
		},
		"detach what is not there": {
			"detach", `{"attributes":[{"name":"unheard of"},{"name":"City"},{"name":"size","value":"8"}]}`, nil,
			`[["city","Lyon"],["size",[7,"XL",1.50]]]`, "0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := *c
			c.t = t
			method, path := verbs[test.verb][0], verbs[test.verb][1]
			id := c.attributed()
			for range 2 { // again changes nothing
				a := c.json(method, "/v4/feedback/"+id+path, test.body).want(http.StatusOK).is("type", `"success"`)
				if message, _ := a.at("message").(string); message == "" {
					t.Errorf("no message: %s", a.body)
				}
				c.shows(id, test.want)
				if got := c.events(id); got != test.events {
					t.Errorf("%s events, want %s", got, test.events)
				}
			}
			if test.form == nil {
				return
			}
			id = c.attributed()
			c.form(method, "/v4/feedback/"+id+path+"/", test.form...).want(http.StatusOK)
			c.shows(id, test.want)
			if method != http.MethodDelete {
				return
			}
			id = c.attributed()
			c.send(method, "/v4/feedback/"+id+path+"?"+encodeForm(test.form), "", "").want(http.StatusOK)
			c.shows(id, test.want)
		})
	}
}

// Wrong input is refused whole, with every mistake named, and changes nothing.
func TestAttributesRefuse(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.attributed()
	long := strings.Repeat("é", 256)
	for name, test := range map[string]struct {
		verbs, body string
		fields      []string
	}{
		"missing":             {"attach sync detach", `{}`, []string{"attributes"}},
		"null":                {"attach sync detach", `{"attributes":null}`, []string{"attributes"}},
		"empty text":          {"attach sync detach", `{"attributes":""}`, []string{"attributes"}},
		"empty":               {"attach sync detach", `{"attributes":[]}`, []string{"attributes"}},
		"no list":             {"attach sync detach", `{"attributes":{"name":"city","value":"x"}}`, []string{"attributes"}},
		"text":                {"attach sync detach", `{"attributes":"city"}`, []string{"attributes"}},
		"value missing":       {"attach sync", `{"attributes":[{"name":"city","value":"x"},{"name":"city"}]}`, []string{"attributes.1.value"}},
		"value null":          {"attach sync", `{"attributes":[{"name":"city","value":null}]}`, []string{"attributes.0.value"}},
		"name missing":        {"attach sync detach", `{"attributes":[{"value":"x"}]}`, []string{"attributes.0.name"}},
		"name blank":          {"attach sync detach", `{"attributes":[{"name":"  ","value":"x"}]}`, []string{"attributes.0.name"}},
		"name too long":       {"attach sync detach", `{"attributes":[{"name":"` + long + `","value":"x"}]}`, []string{"attributes.0.name"}},
		"value too long":      {"attach sync detach", `{"attributes":[{"name":"a","value":["x","` + strings.Repeat("é", 1001) + `"]}]}`, []string{"attributes.0.value.1"}},
		"boolean":             {"attach sync detach", `{"attributes":[{"name":"a","value":true}]}`, []string{"attributes.0.value"}},
		"object":              {"attach sync detach", `{"attributes":[{"name":"a","value":{"b":1}}]}`, []string{"attributes.0.value"}},
		"null in a list":      {"attach sync detach", `{"attributes":[{"name":"a","value":["b",null]}]}`, []string{"attributes.0.value.1"}},
		"list in a list":      {"attach sync detach", `{"attributes":[{"name":"a","value":[["b"]]}]}`, []string{"attributes.0.value.0"}},
		"number beyond reach": {"attach sync detach", `{"attributes":[{"name":"a","value":1e999}]}`, []string{"attributes.0.value"}},
		"too many attributes": {"attach sync detach", `{"attributes":[` + strings.Repeat(`{"name":"a","value":"x"},`, 100) + `{"name":"a","value":"x"}]}`, []string{"attributes"}},
		"too many values":     {"attach sync detach", `{"attributes":[{"name":"a","value":[` + strings.Repeat(`"x",`, 100) + `"x"]}]}`, []string{"attributes.0.value"}},
		"all at once":         {"attach sync", `{"attributes":[{"name":"","value":[]},{"name":"a","value":[false]},{"name":"b"}]}`, []string{"attributes.0.name", "attributes.1.value.0", "attributes.2.value"}},
	} {
		for verb := range strings.FieldsSeq(test.verbs) {
			a := c.json(verbs[verb][0], "/v4/feedback/"+id+verbs[verb][1], test.body)
			if a.refused(422, "validation_failed", test.fields...); t.Failed() {
				t.Fatalf("%s, %s", verb, name)
			}
		}
	}
	c.form(http.MethodPost, "/v4/feedback/"+id+"/attributes/attach", "attributes[]=").refused(422, "validation_failed", "attributes")
	c.shows(id, `[["city","Lyon"],["size",[7,"XL",1.50]]]`)
	if got := c.events(id); got != "0" {
		t.Errorf("%s events", got)
	}
}

// Values merged from elements of one name count together.
func TestAttributesAtTheirLimits(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	path := "/v4/feedback/" + c.attributed() + "/attributes/attach"
	c.json(http.MethodPost, path, `{"attributes":[{"name":"a","value":`+numbers(0, 60)+`},{"name":"a","value":`+numbers(50, 60)+`}]}`).
		refused(422, "validation_failed", "attributes.1.value")
	c.json(http.MethodPost, path, `{"attributes":[{"name":"a","value":`+numbers(0, 60)+`},{"name":"a","value":`+numbers(40, 60)+`}]}`).want(http.StatusOK)
	c.json(http.MethodPost, path, `{"attributes":[{"name":"`+strings.Repeat("é", 255)+`","value":"`+strings.Repeat("é", 1000)+`"}]}`).want(http.StatusOK)
}

// numbers is a list of n numbers.
func numbers(from, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(from + i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// The largest requests take their time, but not that of a plan that was made for small ones when there was next to nothing in the database: with such
// a plan each value would be compared with all others.
func TestTenThousandValues(t *testing.T) {
	t.Parallel()
	db, err := pg.Open(t.Context(), pg.Settings{URL: pgtest.New(t), MaxConns: 1, StatementTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	c := newServer(db).newClient(t)
	id := c.attributed()
	path := "/v4/feedback/" + id + "/attributes/"
	for i := range 10 {
		small := fmt.Sprintf(`{"carrier_id":1,"source":"email","attributes":[{"name":"a","value":%d}]}`, i)
		c.create(small).want(http.StatusCreated)
		for _, verb := range []string{"attach", "sync", "detach"} { // what is detached last is gone
			c.json(verbs[verb][0], "/v4/feedback/"+id+verbs[verb][1], small).want(http.StatusOK)
		}
	}
	large := func(from int) string {
		all := make([]string, 100)
		for i := range all {
			all[i] = fmt.Sprintf(`{"name":"name %d","value":%s}`, i, numbers(from+100*i, 100))
		}
		return `{"carrier_id":1,"source":"email","attributes":[` + strings.Join(all, ",") + `]}`
	}
	c.create(large(0)).want(http.StatusCreated)
	c.json(http.MethodPost, path+"attach", large(0)).want(http.StatusOK)
	c.json(http.MethodPost, path+"attach", large(10_000)).want(http.StatusOK)
	c.list(`[{"Attribute":{"name":"name 99","$eq":9999}}]`, "").is("meta.total", "2")
	c.json(http.MethodPut, path+"sync", large(10_000)).want(http.StatusOK)
	c.list(`[{"Attribute":{"name":"name 99","$eq":9999}}]`, "").is("meta.total", "1")
	c.json(http.MethodDelete, path+"detach", large(10_000)).want(http.StatusOK)
	c.shows(id, `[["city","Lyon"],["size",[7,"XL",1.50]]]`)
	c.verifyTallies()
}

// DELETE takes its input from the query or the body. The same in both is fine, something else is not.
func TestDetachReadsQueryAndBody(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.attributed()
	query := "/v4/feedback/" + id + "/attributes/detach?" + encodeForm([]string{"attributes[0][name]=size", "attributes[0][value]=7"})
	c.json(http.MethodDelete, query, `{"attributes":[{"name":"size","value":"XL"}]}`).refused(422, "validation_failed", "attributes")
	c.json(http.MethodDelete, query, `{"attributes":[]}`).refused(422, "validation_failed", "attributes")
	c.form(http.MethodDelete, query, "attributes[0][name]=size").refused(422, "validation_failed", "attributes")
	c.shows(id, `[["city","Lyon"],["size",[7,"XL",1.50]]]`)
	c.json(http.MethodDelete, query, `{"attributes":[{"name":"size","value":7}]}`).want(http.StatusOK)
	c.shows(id, `[["city","Lyon"],["size",["XL",1.50]]]`)
}

// An id of nothing is 404 whatever else is wrong with the request, and an empty one never means every feedback.
func TestAttributesOfNoFeedback(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.attributed()
	stranger := newClient(t)
	good := `{"attributes":[{"name":"never seen","value":"x"}],"fql":[{"Id":{"$gt":0}}]}`
	for verb, v := range verbs {
		for _, unknown := range []string{"9007199254740991", "0", "-1", "x", "1.0", "%31x"} {
			c.json(v[0], "/v4/feedback/"+unknown+v[1], good).refused(404, "not_found")
			c.json(v[0], "/v4/feedback/"+unknown+v[1], `{}`).refused(404, "not_found")
		}
		for _, empty := range []string{"/v4/feedback/" + v[1], "/v4//feedback/" + id + v[1], "/v4/feedback/" + id + "/" + v[1], "/v4/feedback/." + v[1], "/v4/feedback/x/.." + v[1]} {
			c.json(v[0], empty, good).refused(404, "not_found")
		}
		stranger.json(v[0], "/v4/feedback/"+id+v[1], good).refused(404, "not_found")
		c.json(v[0], "/v4/feedback/"+id+v[1], `{"attributes":`).refused(400, "bad_request")
		c.send(v[0], "/v4/feedback/"+id+v[1], "text/plain", good).refused(415, "unsupported_media_type")
		for _, method := range []string{http.MethodGet, http.MethodPatch} {
			if allow := c.json(method, "/v4/feedback/"+id+v[1], "").refused(405, "method_not_allowed").header.Get("Allow"); !strings.Contains(allow, v[0]) {
				t.Errorf("%s allows %q", verb, allow)
			}
		}
	}
	c.shows(id, `[["city","Lyon"],["size",[7,"XL",1.50]]]`)
	var names int
	err := c.server.db.QueryRow(t.Context(), `SELECT count(*) FROM attribute WHERE name = 'never seen' AND organization_id = ANY($1)`,
		[]int64{int64(c.view.Org()), int64(stranger.view.Org())}).Scan(&names)
	if err != nil || names != 0 {
		t.Errorf("%d names were registered by refused requests, %v", names, err)
	}
}

// A filter finds a feedback by what was attached a moment ago, and no longer by what was detached; totals are exact however they are obtained.
func TestAttributesAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ids := make([]string, 5)
	for i := range ids {
		ids[i] = c.create(fmt.Sprintf(`{"carrier_id":1,"source":"email","created_at":"2026-0%d-15T12:00:00Z","attributes":[{"name":"n","value":%d}]}`, i+1, i)).id()
	}
	filter := func(name, operator, value string) string {
		return fmt.Sprintf(`[{"Attribute":{"name":%q,%q:%s}}]`, name, operator, value)
	}
	total := func(f, want, way string) {
		t.Helper()
		c.list(f, "").is("meta.total", want)
		c.json(http.MethodPost, "/v4/fql/explain", map[string]any{"fql": f}).want(http.StatusOK).is("count", want).is("total_from", `"`+way+`"`)
	}
	for i, id := range ids[:3] {
		c.json(http.MethodPost, "/v4/feedback/"+id+"/attributes/attach", `{"attributes":[{"name":"campaign","value":"spring"},{"name":"n","value":77}]}`).want(http.StatusOK)
		total(filter("campaign", "$eq", `"spring"`), fmt.Sprint(i+1), "value_count")
	}
	total(filter("n", "$gt", "50"), "3", "value_count")
	total(filter("n", "$gt", "0"), "5", "count")
	total(filter("campaign", "$exists", "true"), "3", "value_count")
	c.json(http.MethodPut, "/v4/feedback/"+ids[0]+"/attributes/sync", `{"attributes":[{"name":"campaign","value":"autumn"},{"name":"n","value":[]}]}`).want(http.StatusOK)
	total(filter("campaign", "$eq", `"spring"`), "2", "value_count")
	total(filter("campaign", "$eq", `"autumn"`), "1", "value_count")
	total(filter("n", "$exists", "true"), "4", "value_count")
	c.send(http.MethodDelete, "/v4/feedback/"+ids[1]+"/attributes/detach?attributes[0][name]=campaign", "", "").want(http.StatusOK)
	total(filter("campaign", "$eq", `"spring"`), "1", "value_count")
	total(filter("campaign", "$exists", "true"), "2", "value_count")
	c.list(filter("campaign", "$exists", "false"), "").is("meta.total", "3")
	c.json(http.MethodDelete, "/v4/feedback", map[string]any{"fql": filter("campaign", "$exists", "true")}).want(http.StatusOK).is("meta.deleted", "2")
	total(filter("campaign", "$exists", "true"), "0", "value_count")
	c.verifyTallies()
	if got := c.get("/v4/feedback?fql=" + url.QueryEscape(filter("n", "$eq", "77"))).ids(); len(got) != 1 || got[0] != ids[1] {
		t.Errorf("found %v", got)
	}
}
