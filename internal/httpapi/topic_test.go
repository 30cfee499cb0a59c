package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"earshot/internal/account"
)

const topicsPath = "/admin/v1/topics"

// text creates a feedback with one text and returns its id.
func (c *client) text(carrier int, value string) string {
	c.t.Helper()
	return c.json(http.MethodPost, "/v4/feedback", map[string]any{
		"carrier_id": carrier, "source": "email", "items": []map[string]any{{"question_id": carrier, "value": value}},
	}).want(http.StatusCreated).id()
}

// read does the work of an operation that has texts read again.
func (c *client) read(operation string) {
	c.t.Helper()
	c.settle()
	c.work(operation)
	c.get("/v4/operations/"+operation).want(http.StatusOK).is("kind", `"reanalyse"`).is("state", `"done"`)
	c.sound()
}

// A topic is made, shown, listed, changed and deleted, sent either way; what texts are there follows, by the operation that is named.
func TestTopics(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.text(1, "The parcel came late.")
	about := func(want string) {
		t.Helper()
		c.get("/v4/feedback/"+id+"?include=items.topics").is("items.0.topics", want)
	}
	parcel := c.json(http.MethodPost, topicsPath, `{"name":" Parcels ","keywords":["parcel"," parcel ","",7],"exclusions":null}`).want(http.StatusCreated).
		is("name", `"Parcels"`).is("keywords", `["parcel","7"]`).is("exclusions", `[]`)
	staff := c.form(http.MethodPost, topicsPath, "name=Staff", "keywords[]=staff", "keywords[]=cashier, till", "exclusions[0]=staff canteen").want(http.StatusCreated).
		is("keywords", `["staff","cashier, till"]`).is("exclusions", `["staff canteen"]`).is("operation_id", parcel.number("operation_id"))
	about("[]")
	c.read(parcel.number("operation_id"))
	about(`["Parcels"]`)

	shown := fmt.Sprintf(`{"id":%s,"name":"Parcels","keywords":["parcel","7"],"exclusions":[]}`, parcel.id())
	c.get(topicsPath + "/" + parcel.id()).want(http.StatusOK).matches(shown)
	for _, path := range []string{topicsPath, "/v4/topics"} {
		c.get(path+"?limit=1").want(http.StatusOK).is("data", "["+shown+"]").is("meta.total", "2").is("meta.last_page", "2")
		c.get(path+"?per_page=1&page=2").is("data.0.name", `"Staff"`).is("meta.from", "2")
		c.get(path+"?page=3").want(http.StatusOK).is("data", "[]")
	}

	// Another name is felt at once, other words when texts were read again.
	c.json(http.MethodPut, topicsPath+"/"+parcel.id(), `{"name":"Post","keywords":null,"exclusions":""}`).want(http.StatusOK).
		is("keywords", `["parcel","7"]`).is("operation_id", "null")
	about(`["Post"]`)
	changed := c.form(http.MethodPut, topicsPath+"/"+parcel.id(), "exclusions=late").want(http.StatusOK).is("name", `"Post"`).is("exclusions", `["late"]`)
	c.read(changed.number("operation_id"))
	about("[]")
	changed = c.form(http.MethodPut, topicsPath+"/"+parcel.id(), "exclusions[]=").want(http.StatusOK).is("exclusions", "[]")
	c.read(changed.number("operation_id"))
	about(`["Post"]`)
	c.json(http.MethodPut, topicsPath+"/"+parcel.id(), `{}`).want(http.StatusOK).is("operation_id", "null")

	gone := c.send(http.MethodDelete, topicsPath+"/"+parcel.id(), "", "").want(http.StatusOK).is("type", `"success"`)
	about("[]")
	c.get("/v4/feedback?fql="+escape(`[{"Topic":{"$exists":true}}]`)).is("meta.total", "1")
	c.read(gone.number("operation_id"))
	c.get("/v4/feedback?fql="+escape(`[{"Topic":{"$exists":true}}]`)).is("meta.total", "0")
	c.send(http.MethodDelete, topicsPath+"/"+parcel.id(), "", "").refused(404, "not_found")
	c.json(http.MethodPut, topicsPath+"/"+parcel.id(), `{"name":""}`).refused(404, "not_found")
	c.get(topicsPath).is("meta.total", "1").is("data.0.id", staff.id())
}

// Every mistake is named at once, under the place where it was sent, and leaves nothing behind.
func TestTopicsRefuse(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	other := c.json(http.MethodPost, topicsPath, `{"name":"Zoé","keywords":["zoé"]}`).want(http.StatusCreated).id()
	long := strings.Repeat("x", 101)
	for body, fields := range map[string]string{
		`{}`: "name keywords", `{"name":" ","keywords":[]}`: "name keywords", `{"name":["x"],"keywords":{"a":"b"}}`: "name keywords",
		`{"name":"X","keywords":""}`: "keywords", `{"name":"X","keywords":[""," "]}`: "keywords",
		`{"name":" zOÉ ","keywords":["x"]}`:                          "name",
		`{"name":"` + strings.Repeat("é", 256) + `","keywords":"x"}`: "name",
		`{"name":"X","keywords":["x","",{},null,true]}`:              "keywords.2 keywords.3 keywords.4",
		`{"name":"X","keywords":[{}]}`:                               "keywords.0",
		`{"name":"X","keywords":true,"exclusions":{}}`:               "keywords.0 exclusions",
		// Neither a word, nor one that can be found.
		`{"name":"","keywords":["x","","*","fr:"," … ","` + long + `"],"exclusions":["?","` + long[1:] + `"]}`: "name keywords.2 keywords.3 keywords.4 keywords.5 exclusions.0",
	} {
		c.json(http.MethodPost, topicsPath, body).refused(422, "validation_failed", strings.Fields(fields)...)
	}
	for body, fields := range map[string]string{
		`{"name":" "}`: "name", `{"keywords":[]}`: "keywords", `{"keywords":[" "]}`: "keywords", `{"exclusions":["*"]}`: "exclusions.0", `{"keywords":[[]]}`: "keywords.0",
	} {
		c.json(http.MethodPut, topicsPath+"/"+other, body).refused(422, "validation_failed", strings.Fields(fields)...)
	}
	c.form(http.MethodPost, topicsPath, "name=X", "keywords[0]=*").refused(422, "validation_failed", "keywords.0")
	c.json(http.MethodPost, topicsPath, `[]`).refused(400, "bad_request")
	c.json(http.MethodPost, topicsPath, "{\"name\":\"a\\u0000b\",\"keywords\":\"x\"}").refused(400, "bad_request")
	c.get("/v4/topics?page=0&limit=x").refused(422, "validation_failed", "page", "limit")
	c.get(topicsPath).is("meta.total", "1")
	c.json(http.MethodPut, topicsPath+"/"+other, `{"name":"ZOÉ"}`).want(http.StatusOK)
	// Two organizations may speak of the same.
	newClient(t).json(http.MethodPost, topicsPath, `{"name":"Zoé","keywords":["zoé"]}`).want(http.StatusCreated)
}

// A topic has 500 keywords and exclusions at most, an organization 500 topics; neither is taken on by however many more.
func TestTopicLimits(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	words := func(from, n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("word%d", from+i)
		}
		return list
	}
	full := c.json(http.MethodPost, topicsPath, map[string]any{"name": "Full", "keywords": words(0, 400), "exclusions": words(400, 100)}).want(http.StatusCreated).id()
	for _, tooMany := range []map[string]any{
		{"name": "X", "keywords": words(0, 401), "exclusions": words(401, 100)}, {"name": "X", "keywords": words(0, 501)}, {"name": "X", "keywords": words(0, 60_000)},
	} {
		c.json(http.MethodPost, topicsPath, tooMany).refused(422, "validation_failed", "keywords")
	}
	c.json(http.MethodPut, topicsPath+"/"+full, map[string]any{"exclusions": words(400, 101)}).refused(422, "validation_failed", "keywords")
	c.json(http.MethodPut, topicsPath+"/"+full, map[string]any{"exclusions": append(words(400, 100), words(400, 100)...)}).want(http.StatusOK).is("operation_id", "null")

	c.exec(`INSERT INTO topic (organization_id, name, keywords) SELECT $1, 'Topic ' || n, ARRAY['word' || n] FROM generate_series(1, 498) AS n`)
	c.json(http.MethodPost, topicsPath, `{"name":"The last","keywords":"last"}`).want(http.StatusCreated)
	c.json(http.MethodPost, topicsPath, `{"name":"One more","keywords":"more"}`).refused(422, "validation_failed", "name")
	c.json(http.MethodPut, topicsPath+"/"+full, `{"name":"Fuller"}`).want(http.StatusOK)
	c.json(http.MethodPost, topicsPath+"/starter", "").want(http.StatusOK).is("data", "[]").is("operation_id", "null")
	c.get("/v4/topics?limit=100&page=5").is("meta.total", "500").is("meta.to", "500")
	// As many are still looked for.
	id := c.text(1, "word498 at last")
	c.get("/v4/feedback/"+id+"?include=items.topics").is("items.0.topics", `["Topic 498","The last"]`)
}

// Keywords find what begins or ends so, and with the code of a language only texts that are in it.
func TestKeywordsFindWhatTheySay(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for name, keyword := range map[string]string{"Begins": "deliver*", "Ends": "*versand", "French": "fr:livraison", "Phrase": "opening hours", "Accents": "qualite"} {
		c.form(http.MethodPost, topicsPath, "name="+name, "keywords="+keyword).want(http.StatusCreated)
	}
	for text, want := range map[string]string{
		"The DELIVERIES are always on time":                     `["Begins"]`,
		"They do not redeliver anything on Sundays":             `[]`,
		"Der Expressversand war leider sehr teuer":              `["Ends"]`,
		"Die Versandkosten sind leider sehr hoch":               `[]`,
		"La livraison était en retard et le colis abîmé":        `["French"]`,
		"The livraison was late and the parcel was damaged":     `[]`,
		"Your opening hour is not what the sign says":           `["Phrase"]`,
		"The opening of the shop took hours":                    `[]`,
		"La qualité est vraiment décevante et le prix est haut": `["Accents"]`,
	} {
		c.get("/v4/feedback/"+c.text(1, text)+"?include=items.topics").is("items.0.topics", want)
	}
}

// The starter catalogue brings the topics whose names are not in use, once.
func TestStarterCatalogue(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.json(http.MethodPost, topicsPath, `{"name":"delivery","keywords":["drone"]}`).want(http.StatusCreated)
	added := c.json(http.MethodPost, topicsPath+"/starter", "").want(http.StatusOK)
	if strings.Contains(added.body, `"name":"Delivery"`) || !strings.Contains(added.body, `"name":"Price"`) {
		t.Errorf("added %s", added.body)
	}
	total := c.get("/v4/topics").number("meta.total")
	if n := len(added.at("data").([]any)); fmt.Sprint(n+1) != total || n < 20 {
		t.Errorf("%d were added, there are %s", n, total)
	}
	c.form(http.MethodPost, topicsPath+"/starter").want(http.StatusOK).is("data", "[]").is("operation_id", "null")
	price := c.get("/v4/feedback/" + c.text(1, "Far too expensive for what it is.") + "?include=items.topics").want(http.StatusOK)
	price.is("items.0.topics", `["Price"]`)
	c.send(http.MethodDelete, topicsPath+"/"+added.number("data.0.id"), "", "").want(http.StatusOK)
	c.form(http.MethodPost, topicsPath+"/starter").want(http.StatusOK).is("data.0.name", fmt.Sprintf("%q", added.at("data.0.name"))).is("data.1", "null")
}

// An organization neither sees nor finds the topics of another, however alike they are.
func TestTopicsStayApart(t *testing.T) {
	t.Parallel()
	mine := newClient(t)
	theirs := mine.server.newClient(t)
	foreign := theirs.json(http.MethodPost, topicsPath, `{"name":"Delivery","keywords":["parcel"]}`).want(http.StatusCreated).id()
	id := mine.text(1, "The parcel never came.")
	mine.get("/v4/topics").is("data", "[]")
	mine.get("/v4/feedback/"+id+"?include=items.topics").is("items.0.topics", "[]")
	mine.get("/v4/feedback?fql="+escape(`[{"Topic":{"$eq":"Delivery"}}]`)).is("meta.total", "0")
	mine.json(http.MethodPut, topicsPath+"/"+foreign, `{"name":"Mine"}`).refused(404, "not_found")
	mine.send(http.MethodDelete, topicsPath+"/"+foreign, "", "").refused(404, "not_found")
	theirs.get(topicsPath+"/"+foreign).want(http.StatusOK).is("name", `"Delivery"`)
	theirs.get("/v4/operations").is("meta.total", "1")
	mine.get("/v4/operations").is("meta.total", "0")
}

// Whoever reads feedback may know what it is read for; only admins decide that.
func TestReadersListTopics(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, role := range []account.Role{account.RestrictedViewer, account.Viewer, account.Editor} {
		_, token := c.user(string(role)+"@example.com", role)
		c.as(token).get("/v4/topics").want(http.StatusOK)
		c.as(token).get(topicsPath).refused(403, "forbidden")
		c.as(token).json(http.MethodPost, topicsPath, `{"name":"X","keywords":["x"]}`).refused(403, "forbidden")
		c.as(token).get(topicsPath+"/suggestions").refused(403, "forbidden")
		c.as(token).json(http.MethodPut, "/admin/v1/analysis", `{"language":"fr"}`).refused(403, "forbidden")
	}
	c.get("/v4/topics").is("meta.total", "0")
}
