package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"earshot/internal/carrier"
)

const carriersPath = "/admin/v1/carriers"

// A carrier is made with its questions, shown, listed, changed and deleted, sent either way.
func TestAdminCarriers(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	main := fmt.Sprint(c.get(organizationPath).at("main_team_id"))
	team := c.json(http.MethodPost, teamsPath, `{"name":"North"}`).id()
	survey := c.json(http.MethodPost, carriersPath, `{"id":453,"name":" Survey ","team_id":`+team+`,"questions":[
		{"id":11,"name":" Recommend? ","type":"nps","required":true},
		{"name":"Why?","type":"choice","options":["Price",{"name":"Quality"}],"max":9,"order":1},
		{"id":"12","name":"Stars","type":"rating"},{"name":"Slide","type":"slider","max":"10","required":"0"}]}`).want(http.StatusCreated)
	survey.is("id", "453").is("name", `"Survey"`).is("team_id", team).is("archived_at", "null").
		is("questions.0", `{"id":11,"carrier_id":453,"name":"Recommend?","order":1,"type":"nps","required":1,"max":null,"archived_at":null,"options":[]}`).
		is("questions.1.options.0.name", `"Price"`).is("questions.1.options.1.name", `"Quality"`).is("questions.1.options.1.archived_at", "null").
		is("questions.1.max", "null").is("questions.1.order", "2").is("questions.2.max", "5").is("questions.3.max", "10").is("questions.3.required", "0")
	plain := c.form(http.MethodPost, carriersPath, "name=Plain", "questions[0][name]=Table", "questions[0][type]=ratings_table",
		"questions[0][options][]=Food", "questions[0][options][]=Staff", "questions[0][required]=1").want(http.StatusCreated).
		is("team_id", main).is("questions.0.required", "1").is("questions.0.options.1.name", `"Staff"`)
	c.get(carriersPath + "/453").want(http.StatusOK).matches(survey.body)
	c.get(carriersPath+"?limit=1").want(http.StatusOK).is("data.0", survey.body).is("meta.total", "2")
	c.get(carriersPath+"?per_page=1&page=2").is("data.0", plain.body)

	// What was made is what feedback is held against.
	c.create(`{"carrier_id":453,"source":"email","items":[{"question_id":11,"value":"11"}]}`).refused(422, "validation_failed", "items.0.value")

	c.json(http.MethodPut, carriersPath+"/453", `{"name":"Renamed"}`).want(http.StatusOK).is("name", `"Renamed"`).is("team_id", team).is("archived_at", "null")
	archived := c.form(http.MethodPut, carriersPath+"/453", "archived=1", "team_id="+main, "name=").want(http.StatusOK).is("name", `"Renamed"`).is("team_id", main)
	if archived.at("archived_at") == nil {
		t.Errorf("it is not archived: %s", archived.body)
	}
	c.json(http.MethodPut, carriersPath+"/453", `{"archived":true}`).is("archived_at", fmt.Sprintf("%q", archived.at("archived_at")))
	c.json(http.MethodPut, carriersPath+"/453", `{}`).is("archived_at", fmt.Sprintf("%q", archived.at("archived_at")))
	c.json(http.MethodPut, carriersPath+"/453", `{"archived":"false"}`).is("archived_at", "null")
	c.send(http.MethodDelete, carriersPath+"/453", "", "").want(http.StatusOK).is("type", `"success"`)
	c.get(carriersPath+"/453").refused(404, "not_found")
	c.get("/admin/v1/questions/11").refused(404, "not_found")
	// Its numbers are free again.
	c.json(http.MethodPost, carriersPath, `{"id":453,"name":"Again","questions":[{"id":11,"name":"Q","type":"text"}]}`).want(http.StatusCreated)
}

// Every mistake in a carrier and its questions is named at once, and nothing is made.
func TestAdminCarriersRefuse(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	foreign := other.json(http.MethodPost, teamsPath, `{"name":"Theirs"}`).id()
	c.json(http.MethodPost, carriersPath, `{"id":5,"name":"Five","questions":[{"id":50,"name":"Q","type":"text"}]}`).want(http.StatusCreated)
	for body, fields := range map[string]string{
		`{}`:           "name",
		`{"name":" "}`: "name",
		`{"name":["x"],"id":"x","team_id":-1,"questions":{}}`:                                                                            "name id team_id questions",
		`{"name":"A","id":5,"team_id":` + foreign + `}`:                                                                                  "id team_id",
		`{"name":"` + strings.Repeat("x", 256) + `"}`:                                                                                    "name",
		`{"name":"A","questions":["x"]}`:                                                                                                 "questions.0 questions.0.name questions.0.type",
		`{"id":5,"questions":[{"id":50,"name":"Q","type":"text"}]}`:                                                                      "id name questions.0.id",
		`{"name":"A","questions":[{"id":7,"name":"Q","type":"text"},{"id":"7","name":"Q","type":"text"}]}`:                               "questions.1.id",
		`{"name":"A","questions":[{"type":"stars"},{"name":"Q","type":"choice"},{"name":"Q","type":"rating","max":101,"required":"x"}]}`: "questions.0.name questions.0.type questions.1.options questions.2.max questions.2.required",
		`{"name":"A","questions":[{"name":"Q","type":"choice","options":["a",{"id":9,"name":"b"},"a",{}]}]}`:                             "questions.0.options.1.id questions.0.options.2 questions.0.options.3",
		`{"name":"A","questions":[{"name":"Q","type":"choice","options":"a,b"}]}`:                                                        "questions.0.options",
		`{"name":"A","questions":[{"name":"Q","type":"choice","options":["a",true,["x"]]}]}`:                                             "questions.0.options.1 questions.0.options.2",
	} {
		c.json(http.MethodPost, carriersPath, body).refused(422, "validation_failed", strings.Fields(fields)...)
	}
	for body, fields := range map[string]string{
		`{"name":" ","team_id":` + foreign + `,"archived":"x"}`: "name team_id archived",
		`{"name":[],"team_id":"x"}`:                             "name team_id",
	} {
		c.json(http.MethodPut, carriersPath+"/5", body).refused(422, "validation_failed", strings.Fields(fields)...)
	}
	c.get(carriersPath).is("meta.total", "1").is("data.0.name", `"Five"`)
	// Numbers are an organization's own.
	other.json(http.MethodPost, carriersPath, `{"id":5,"name":"Five","questions":[{"id":50,"name":"Q","type":"text"}]}`).want(http.StatusCreated)
}

// A carrier with feedback stays; archived it takes more all the same. Once its feedback is gone, it can go.
func TestAdminCarrierWithFeedbackStays(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.create(`{"carrier_id":7,"source":"email","items":[{"question_id":70,"value":"fine"}]}`).want(http.StatusCreated)
	a := c.send(http.MethodDelete, carriersPath+"/7", "", "").refused(422, "validation_failed")
	if !strings.Contains(a.body, "archive it instead") {
		t.Errorf("it does not say what to do: %s", a.body)
	}
	c.json(http.MethodPut, carriersPath+"/7", `{"archived":true}`).want(http.StatusOK)
	c.create(`{"carrier_id":7,"source":"email","items":[{"question_id":70,"value":"more"}]}`).want(http.StatusCreated)
	c.get("/v4/carriers").is("data.0.id", "7")
	c.json(http.MethodDelete, "/v4/feedback", `{"fql":[{"Form":{"$eq":7}}]}`).want(http.StatusOK).is("meta.deleted", "2")
	c.send(http.MethodDelete, carriersPath+"/7", "", "").want(http.StatusOK)
	// Feedback that still comes finds it registered anew.
	c.create(`{"carrier_id":7,"source":"email","items":[{"question_id":70,"value":"fine"}]}`).want(http.StatusCreated)
	c.get(carriersPath+"/7").is("name", `"Carrier 7"`).is("archived_at", "null")
}

// A carrier whose question was answered under another carrier stays, too: those answers would lose their question.
func TestAdminCarrierAnsweredElsewhereStays(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	made := c.carrier(carrier.NewQuestion{Type: carrier.NPS}, carrier.NewQuestion{Type: carrier.Text})
	id, question := fmt.Sprint(made.ID), made.Questions[0].ID
	c.create(fmt.Sprintf(`{"carrier_id":1,"source":"email","items":[{"question_id":%d,"value":"9"}]}`, question)).want(http.StatusCreated)
	c.send(http.MethodDelete, carriersPath+"/"+id, "", "").refused(422, "validation_failed")
	c.json(http.MethodDelete, "/v4/feedback", `{"fql":[{"Form":{"$eq":1}}]}`).want(http.StatusOK)
	c.send(http.MethodDelete, carriersPath+"/"+id, "", "").want(http.StatusOK)
}
