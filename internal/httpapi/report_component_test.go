package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"earshot/internal/carrier"
)

// components sets what a report shows.
func (c *client) components(report answer, list string) answer {
	c.t.Helper()
	return c.json(http.MethodPut, report.path()+"/components", `{"components":`+list+`}`)
}

// A component gets the defaults of its type and a title that fits, takes what its type takes and nothing else, and reads back the same.
func TestReportComponents(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	car := c.carrier(carrier.NewQuestion{Type: carrier.NPS}, carrier.NewQuestion{Type: carrier.Choice, Options: []string{"a", "b"}},
		carrier.NewQuestion{Type: carrier.Textarea})
	scale, choice, text := car.Questions[0].ID, car.Questions[1].ID, car.Questions[2].ID
	r := c.report(`{}`)
	c.get(r.path()+"/components").want(http.StatusOK).is("data", "[]")
	for sent, want := range map[string]string{
		`{"type":"kpi","options":{"metric":"nps","limit":5,"by":"source","interval":"day"}}`: `"type":"kpi","title":"NPS","fql":null,"options":{"metric":"nps"}`,
		`{"type":"trend"}`: `"type":"trend","title":"Feedback by month","fql":null,"options":{"metric":"count","interval":"month"}`,
		`{"type":"trend","title":" T ","options":{"metric":"satisfaction","interval":"day"}}`: `"type":"trend","title":"T","fql":null,"options":{"metric":"satisfaction","interval":"day"}`,
		`{"type":"breakdown","fql":"[ ]","options":{"by":"source","limit":"7"}}`:              `"type":"breakdown","title":"Feedback by source","fql":"[ ]","options":{"by":"source","metric":"count","limit":7}`,
		`{"type":"breakdown","options":{"by":"attribute: city ","metric":"nps"}}`:             `"type":"breakdown","title":"NPS by city","fql":null,"options":{"by":"attribute:city","metric":"nps","limit":10}`,
		fmt.Sprintf(`{"type":"breakdown","options":{"by":"question:%d"}}`, choice):            fmt.Sprintf(`"type":"breakdown","title":"Question 1","fql":null,"options":{"by":"question:%d","metric":"count","limit":10}`, choice),
		fmt.Sprintf(`{"type":"distribution","options":{"question_id":"%d"}}`, scale):          fmt.Sprintf(`"type":"distribution","title":"Question 0","fql":null,"options":{"question_id":%d}`, scale),
		`{"type":"topics","options":[],"title":null,"id":null,"fql":null}`:                    `"type":"topics","title":"Topics","fql":null,"options":{"metric":"sentiment","limit":10}`,
		`{"type":"verbatims","fql":[{"Nps":{"$eq":"negative"}}],"options":{"limit":100}}`:     `"type":"verbatims","title":"Latest comments","fql":"[{\"Nps\":{\"$eq\":\"negative\"}}]","options":{"limit":100}`,
		fmt.Sprintf(`{"type":"verbatims","options":{"question_id":%d}}`, text):                fmt.Sprintf(`"type":"verbatims","title":"Latest comments","fql":null,"options":{"question_id":%d,"limit":10}`, text),
	} {
		a := c.components(r, "["+sent+"]").want(http.StatusOK)
		a.is("data", fmt.Sprintf(`[{"id":%v,%s}]`, a.at("data.0.id"), want))
		c.get(r.path()+"/components").want(http.StatusOK).is("data", fmt.Sprintf(`[{"id":%v,%s}]`, a.at("data.0.id"), want))
	}
	c.form(http.MethodPut, r.path()+"/components", "components[0][type]=kpi", "components[0][options][metric]=count",
		"components[1][type]=breakdown", "components[1][options][by]=status", "components[1][options][limit]=3").want(http.StatusOK).
		is("data.0.title", `"Feedback"`).is("data.1.options", `{"by":"status","metric":"count","limit":3}`)
	c.form(http.MethodPut, r.path()+"/components", "components[]=").want(http.StatusOK).is("data", "[]")
}

// A list replaces the one there was: components that are named keep their ids, in the new order, and the report counts as changed exactly
// when the list is another.
func TestReportComponentsReplace(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	r := c.report(`{}`)
	const kpi, trend = `"type":"kpi","options":{"metric":"nps"}`, `"type":"trend"`
	first := c.components(r, `[{`+kpi+`},{`+trend+`}]`).want(http.StatusOK)
	one, two := fmt.Sprint(first.at("data.0.id")), fmt.Sprint(first.at("data.1.id"))
	moved := c.get(r.path())
	if moved.at("updated_at") == r.at("updated_at") {
		t.Error("the report does not count as changed")
	}
	same := c.components(r, `[{"id":`+one+`,`+kpi+`},{"id":"`+two+`",`+trend+`}]`).want(http.StatusOK)
	if same.body != first.body || c.get(r.path()).body != moved.body {
		t.Errorf("the same list changed something: %s", same.body)
	}
	swapped := c.components(r, `[{"id":`+two+`,`+trend+`},{`+trend+`},{"id":`+one+`,`+kpi+`,"title":"Score"}]`).want(http.StatusOK).
		is("data.0.id", two).is("data.2.id", one).is("data.2.title", `"Score"`)
	if added := fmt.Sprint(swapped.at("data.1.id")); added == one || added == two {
		t.Errorf("a new component has the id of another: %s", swapped.body)
	}
	if c.get(r.path()).at("updated_at") == moved.at("updated_at") {
		t.Error("the report does not count as changed")
	}
	c.components(r, `[]`).want(http.StatusOK).is("data", "[]")
	c.components(r, `[{"id":`+one+`,`+kpi+`}]`).refused(422, "validation_failed", "components.0.id")
}

// Every mistake is named at its place, and then nothing is written.
func TestReportComponentsRefuse(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	car := c.carrier(carrier.NewQuestion{Type: carrier.NPS}, carrier.NewQuestion{Type: carrier.Choice, Options: []string{"a"}})
	scale, choice := car.Questions[0].ID, car.Questions[1].ID
	foreign := other.carrier(carrier.NewQuestion{Type: carrier.NPS}).Questions[0].ID
	r, sibling := c.report(`{}`), c.report(`{}`)
	c.components(r, `[{"type":"trend"}]`).want(http.StatusOK)
	elsewhere := fmt.Sprint(c.components(sibling, `[{"type":"trend"}]`).want(http.StatusOK).at("data.0.id"))
	was := c.get(r.path() + "/components").body
	refused := func(list string, fields ...string) {
		t.Helper()
		for i, f := range fields {
			fields[i] = "components." + f
		}
		c.components(r, list).refused(422, "validation_failed", fields...)
	}
	refused(`[{"type":"kpi"},{"type":"gauge","title":"`+strings.Repeat("x", 256)+`","fql":[{}]},{"options":{"metric":"nps"}}]`,
		"0.options.metric", "1.type", "1.title", "1.fql", "2.type")
	refused(`[{"type":"trend","options":{"metric":"sum","interval":"hour"}},{"type":"topics","options":{"limit":0}},{"type":"verbatims","options":{"limit":101}}]`,
		"0.options.metric", "0.options.interval", "1.options.limit", "2.options.limit")
	refused(`[{"type":"kpi","options":"nps"},{"type":"kpi","options":{"metric":["nps"]}},7]`, "0.options", "0.options.metric", "1.options.metric", "2", "2.type")
	for _, by := range []string{"", "city", "attribute:", "attribute:  ", "question:", "question:0", "question:01", "question:x", "question:-1", "Source", "question:9007199254740991", fmt.Sprint("question:", scale), fmt.Sprint("question:", foreign)} {
		refused(fmt.Sprintf(`[{"type":"breakdown","options":{"by":%q}}]`, by), "0.options.by")
	}
	for _, question := range []string{`null`, `"x"`, `0`, `9007199254740991`, fmt.Sprint(choice), fmt.Sprint(foreign)} {
		refused(`[{"type":"distribution","options":{"question_id":`+question+`}}]`, "0.options.question_id")
	}
	refused(fmt.Sprintf(`[{"type":"verbatims","options":{"question_id":%d}}]`, choice), "0.options.question_id")
	refused(`[{"id":`+elsewhere+`,"type":"trend"},{"id":9007199254740991,"type":"trend"},{"id":"x","type":"trend"}]`, "0.id", "1.id", "2.id")
	mine := fmt.Sprint(c.get(r.path() + "/components").at("data.0.id"))
	refused(`[{"id":`+mine+`,"type":"trend"},{"id":`+mine+`,"type":"trend"}]`, "1.id")
	many := strings.TrimSuffix(strings.Repeat(`{"type":"trend"},`, 51), ",")
	c.components(r, "["+many+"]").refused(422, "validation_failed", "components")
	c.json(http.MethodPut, r.path()+"/components", `{}`).refused(422, "validation_failed", "components")
	c.json(http.MethodPut, r.path()+"/components", `{"components":{"a":1}}`).refused(422, "validation_failed", "components")
	if now := c.get(r.path() + "/components").body; now != was {
		t.Errorf("something was written: %s", now)
	}
	c.components(r, "["+strings.TrimSuffix(many, `,{"type":"trend"}`)+"]").want(http.StatusOK)
}

// Two filters that are too long together are refused wherever they meet: in the list, in the report, and in a copy.
func TestReportFiltersTooLongTogether(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	groups := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`{"Id":{"$eq":1,"$type":"or"}},`, n), ",") + "]"
	}
	r := c.report(`{"type":"master","fql":` + groups(10) + `}`)
	part := `[{"type":"trend"},{"type":"trend","fql":` + groups(11) + `}]`
	c.components(r, part).refused(422, "validation_failed", "components.1.fql")
	c.json(http.MethodPut, r.path(), `{"fql":`+groups(9)+`}`).want(http.StatusOK)
	c.components(r, part).want(http.StatusOK)
	c.json(http.MethodPut, r.path(), `{"fql":`+groups(10)+`}`).refused(422, "validation_failed", "fql")
	c.json(http.MethodPost, reportsPath, `{"master_id":`+r.id()+`,"fql":`+groups(10)+`}`).refused(422, "validation_failed", "fql")
	c.report(`{"master_id":` + r.id() + `,"fql":` + groups(5) + `}`)
}

// A prefilled report has the standard components, a blank one none, and a clone those of its master with ids of their own.
func TestReportStandardComponents(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.get(c.report(`{"format":"blank"}`).path()+"/components").is("data", "[]")
	standard := c.get(c.form(http.MethodPost, reportsPath, "format=prefilled", "type=master").want(http.StatusCreated).path() + "/components").want(http.StatusOK)
	for i, want := range []string{
		`"title":"Feedback","type":"kpi","options":{"metric":"count"}`,
		`"title":"NPS","type":"kpi","options":{"metric":"nps"}`,
		`"title":"Satisfaction","type":"kpi","options":{"metric":"satisfaction"}`,
		`"title":"Completion","type":"kpi","options":{"metric":"completion"}`,
		`"title":"Sentiment","type":"kpi","options":{"metric":"sentiment"}`,
		`"title":"Feedback by month","type":"trend","options":{"metric":"count","interval":"month"}`,
		`"title":"NPS by month","type":"trend","options":{"metric":"nps","interval":"month"}`,
		`"title":"Feedback by source","type":"breakdown","options":{"metric":"count","by":"source","limit":10}`,
		`"title":"Feedback by status","type":"breakdown","options":{"metric":"count","by":"status","limit":10}`,
		`"title":"Feedback by NPS profile","type":"breakdown","options":{"metric":"count","by":"nps","limit":10}`,
		`"title":"Topics","type":"topics","options":{"metric":"satisfaction","limit":10}`,
		`"title":"Latest comments","type":"verbatims","options":{"limit":10}`,
	} {
		standard.is(fmt.Sprint("data.", i), fmt.Sprintf(`{"id":%v,"fql":null,%s}`, standard.at(fmt.Sprintf("data.%d.id", i)), want))
	}
	master := c.report(`{"type":"master"}`)
	list := c.components(master, `[{"type":"trend","title":"B","fql":" []"},{"type":"kpi","title":"A","options":{"metric":"nps"}}]`).want(http.StatusOK)
	clone := c.report(`{"format":"prefilled","master_id":` + master.id() + `}`)
	copied := c.get(clone.path()+"/components").is("data.0.title", `"B"`).is("data.0.fql", `" []"`).is("data.1.title", `"A"`).is("data.2", "null")
	if copied.at("data.0.id") == list.at("data.0.id") {
		t.Error("a copy has the id of what it was copied from")
	}
	c.components(clone, `[]`).want(http.StatusOK)
	c.get(master.path()+"/components").is("data.1.title", `"A"`)
}
