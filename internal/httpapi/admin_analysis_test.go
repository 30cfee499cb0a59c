package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const analysisPath = "/admin/v1/analysis"

// Languages are shown and changed, sent either way: what is given and nothing else. Texts follow, by the operation that is named.
func TestAnalysisLanguages(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	was := c.get(analysisPath).want(http.StatusOK).is("language", "null").is("carriers", "[]").is("engine_version", "1")
	// A word that is in several languages: nothing in English, good in German.
	one, two := c.text(1, "toll"), c.text(2, "toll")
	feels := func(id, want string) {
		t.Helper()
		c.get("/v4/feedback/"+id+"?include=items.spans").is("items.0.spans.0.sentiment_string", `"`+want+`"`)
	}
	english := c.json(http.MethodPut, analysisPath, `{"language":"en","carriers":[{"carrier_id":"2","language":"de"}]}`).want(http.StatusOK).
		is("language", `"en"`).is("carriers", `[{"carrier_id":2,"language":"de"}]`)
	if was.number("version") == english.number("version") {
		t.Errorf("the version is still %s", was.number("version"))
	}
	c.read(english.number("operation_id"))
	feels(one, "neutral")
	feels(two, "positive")
	c.get(analysisPath).is("version", english.number("version")).is("operation_id", "null")

	// What is not given, or is so already, stays and reads nothing again.
	for _, body := range []string{``, `{"language":null,"carriers":null}`, `{"language":"","carriers":""}`, `{"language":"en","carriers":[]}`, `{"carriers":[{"carrier_id":1,"language":"none"}]}`} {
		c.json(http.MethodPut, analysisPath, body).want(http.StatusOK).is("language", `"en"`).is("carriers.0.language", `"de"`).is("operation_id", "null")
	}
	form := c.form(http.MethodPut, analysisPath, "carriers[0][carrier_id]=1", "carriers[0][language]=de", "carriers[1][carrier_id]=2", "carriers[1][language]=none").want(http.StatusOK).
		is("language", `"en"`).is("carriers", `[{"carrier_id":1,"language":"de"}]`)
	c.read(form.number("operation_id"))
	feels(one, "positive")
	feels(two, "neutral")
	unread := c.json(http.MethodPut, analysisPath, `{"language":"off"}`).want(http.StatusOK).is("language", `"off"`)
	c.read(unread.number("operation_id"))
	feels(one, "positive")
	c.get("/v4/feedback/"+two+"?include=items.spans").is("items.0.spans", "[]").is("satisfaction_ratio", "0.0")
	c.get(topicsPath+"/suggestions").is("meta.texts", "1")
	c.json(http.MethodPut, analysisPath, `{"language":"none"}`).want(http.StatusOK).is("language", "null").is("carriers.0.carrier_id", "1")

	// The language of a carrier goes with it.
	empty := c.json(http.MethodPost, carriersPath, `{"name":"Empty"}`).id()
	c.json(http.MethodPut, analysisPath, `{"carriers":[{"carrier_id":`+empty+`,"language":"fr"}]}`).want(http.StatusOK).is("carriers.1.language", `"fr"`)
	c.send(http.MethodDelete, carriersPath+"/"+empty, "", "").want(http.StatusOK)
	c.get(analysisPath).is("carriers", `[{"carrier_id":1,"language":"de"}]`)
}

// Every mistake is named at once, under the place where it was sent, and nothing is changed.
func TestAnalysisRefuses(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	other.text(77, "Theirs.")
	c.text(1, "Ours.")
	for body, fields := range map[string]string{
		`{"language":"tlh"}`: "language", `{"language":"EN"}`: "language", `{"language":["en"]}`: "language", `{"language":7}`: "language",
		`{"carriers":"all"}`: "carriers", `{"carriers":{"1":"fr"}}`: "carriers",
		`{"language":"fr","carriers":[{"carrier_id":1,"language":"xx"},{"carrier_id":77,"language":"fr"},{"language":"fr"},{"carrier_id":1}]}`: "carriers.0.language carriers.1.carrier_id carriers.2.carrier_id carriers.3.language carriers.3.carrier_id",
		`{"carriers":[{"carrier_id":"x","language":{}}]}`: "carriers.0.carrier_id carriers.0.language",
	} {
		c.json(http.MethodPut, analysisPath, body).refused(422, "validation_failed", strings.Fields(fields)...)
	}
	c.form(http.MethodPut, analysisPath, "language=xx", "carriers[0][carrier_id]=77", "carriers[0][language]=fr").
		refused(422, "validation_failed", "language", "carriers.0.carrier_id")
	c.get(analysisPath).is("language", "null").is("carriers", "[]")
	c.get("/v4/operations").is("meta.total", "0")
}

// Texts that were written by a program of an earlier release are read when somebody asks for it.
func TestAnalysisReread(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.text(1, "I love it.")
	c.unread("I love it.")
	started := c.json(http.MethodPost, analysisPath+"/reread", "").want(http.StatusAccepted)
	c.form(http.MethodPost, analysisPath+"/reread").want(http.StatusAccepted).is("operation_id", started.number("operation_id")) // one is enough
	c.get("/v4/feedback/"+id+"?include=items.spans").is("items.0.spans", "[]")
	c.read(started.number("operation_id"))
	c.get("/v4/feedback/"+id+"?include=items.spans").is("items.0.spans.0.sentiment_string", `"positive"`)
}

// Suggestions are what the texts of the filter have in common and no topic covers, read in the language of their carrier.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	suggestions := topicsPath + "/suggestions"
	c.get(suggestions).want(http.StatusOK).is("data", "[]").is("meta.texts", "0")
	for _, text := range []string{"The charging cable broke.", "My charging cables are too short!", "charging cable again"} {
		c.text(1, text)
	}
	c.text(2, "Das Ladekabel ist kaputt.")
	c.text(2, "Ladekabel zu kurz")
	c.json(http.MethodPost, "/v4/feedback", `{"carrier_id":1,"source":"email","items":[{"question_id":1,"value":""}]}`).want(http.StatusCreated)
	c.json(http.MethodPost, "/v4/feedback", `{"carrier_id":1,"source":"email"}`).want(http.StatusCreated)
	c.get(suggestions).want(http.StatusOK).is("meta.texts", "5").
		is("data.0", `{"phrase":"charging cable","count":3,"examples":["charging cable again","My charging cables are too short!","The charging cable broke."]}`).
		is("data.1.phrase", `"ladekabel"`).is("data.2", "null")
	c.get(suggestions+"?limit=1&fql=").is("data.0.count", "3").is("data.1", "null")
	c.get(suggestions+"?fql="+escape(`[{"Form":{"$eq":2}}]`)).is("data.0.phrase", `"ladekabel"`).is("data.1", "null").is("meta.texts", "2")
	c.json(http.MethodPost, topicsPath, `{"name":"Cables","keywords":["charging cable"]}`).want(http.StatusCreated)
	c.get(suggestions).is("data.0.phrase", `"ladekabel"`).is("data.1", "null")
	newClient(t).get(suggestions).is("meta.texts", "0")

	c.get(suggestions+"?limit=0").refused(422, "validation_failed", "limit")
	c.get(suggestions+"?limit=x&fql=[{}]").refused(422, "validation_failed", "limit", "fql")
	c.get(suggestions+"?fql="+escape(`[{"Nothing":{"$eq":1}}]`)).refused(422, "invalid_fql", "fql")
	c.get(suggestions + "?limit=1000000").want(http.StatusOK)
}

// Suggestions come from the latest texts, and from no more than a request can read.
func TestSuggestionsHaveABound(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for range 10 {
		c.text(1, "An old kettle.")
	}
	for i := range 20 {
		c.text(1, fmt.Sprintf("The new kettle, number %d.", i))
	}
	// 64 kilobytes each: sixteen of them are all that is read.
	c.exec(`
		UPDATE feedback_content SET items = jsonb_set(items, '{0,v}', to_jsonb((items #>> '{0,v}') || repeat(' Lorem ipsum.', 5041))), search_text = repeat('x', 65536)
		WHERE organization_id = $1 AND search_text LIKE '%new%'`)
	a := c.get(topicsPath+"/suggestions?limit=100").want(http.StatusOK).is("meta.texts", "16")
	if strings.Contains(a.body, "old kettle") || !strings.Contains(a.body, `"phrase":"new kettle","count":16`) {
		t.Errorf("suggested %s", a.body)
	}
}
