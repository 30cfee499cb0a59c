package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/carrier"
	"earshot/internal/pg/pgtest"
)

const questionsPath = "/admin/v1/questions/"

// ask adds a question to carrier 1, which is made on first use, and returns its id.
func (c *client) ask(body string) answer {
	c.t.Helper()
	if c.get(carriersPath+"/1").status == http.StatusNotFound {
		c.json(http.MethodPost, carriersPath, `{"id":1,"name":"One"}`).want(http.StatusCreated)
	}
	return c.json(http.MethodPost, carriersPath+"/1/questions", body)
}

// reply sends feedback that answers one question.
func (c *client) reply(question, rest string) answer {
	c.t.Helper()
	return c.create(`{"carrier_id":1,"source":"email","items":[{"question_id":` + question + `,` + rest + `}]}`)
}

// A question is added, shown, listed, changed and deleted, sent either way.
func TestAdminQuestions(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	nps := c.ask(`{"id":11,"name":"Recommend?","type":"nps","required":true}`).want(http.StatusCreated).
		is("id", "11").is("carrier_id", "1").is("order", "1").is("required", "1").is("options", "[]")
	choice := c.form(http.MethodPost, carriersPath+"/1/questions", "name=Why?", "type=choice", "options[]=Price", "options[1][name]=Quality").
		want(http.StatusCreated).is("order", "2").is("required", "0").is("options.1.name", `"Quality"`)
	c.get(questionsPath + "11").want(http.StatusOK).matches(nps.body)
	c.get(carriersPath+"/1/questions").want(http.StatusOK).is("data.0", nps.body).is("data.1", choice.body).is("meta.total", "2")
	c.get(carriersPath+"/1/questions?limit=1&page=2").is("data.0", choice.body).is("meta.from", "2")
	c.get(carriersPath+"/1/questions?limit=1&page=9").is("data", "[]")
	c.json(http.MethodPut, questionsPath+"11", `{"name":" Really? ","required":false}`).want(http.StatusOK).
		is("name", `"Really?"`).is("required", "0").is("type", `"nps"`).is("order", "1")
	c.form(http.MethodPut, questionsPath+"11", "required=1", "name=", "type=", "max=", "order=", "options=", "archived=").want(http.StatusOK).
		is("name", `"Really?"`).is("required", "1")
	c.json(http.MethodPut, questionsPath+"11", ``).want(http.StatusOK).is("required", "1")
	c.send(http.MethodDelete, questionsPath+"11", "", "").want(http.StatusOK).is("type", `"success"`)
	c.get(questionsPath+"11").refused(404, "not_found")
	c.get(questionsPath+choice.id()).is("order", "1")
}

// Every mistake in a question is named at once, and nothing changes.
func TestAdminQuestionsRefuse(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.ask(`{"id":11,"name":"Stars","type":"rating"}`).want(http.StatusCreated)
	for body, fields := range map[string]string{
		`{}`: "name type",
		`{"id":11,"name":" ","type":"stars","max":1,"required":"x","order":0,"options":"a"}`:   "id name type required order options",
		`{"name":"Q","type":"rating","max":1}`:                                                 "max",
		`{"name":"Q","type":"rating","max":"ten"}`:                                             "max",
		`{"name":"Q","type":"slider","max":99999}`:                                             "max",
		`{"name":"Q","type":"text","options":["a"]}`:                                           "options",
		`{"name":"Q","type":"choice","options":[]}`:                                            "options",
		`{"name":"` + strings.Repeat("x", 1001) + `","type":"text"}`:                           "name",
		`{"name":"Q","type":"choice","options":["` + strings.Repeat("x", 256) + `"]}`:          "options.0",
		`{"name":"Q","type":"choice","options":[{"name":"` + strings.Repeat("x", 256) + `"}]}`: "options.0.name options.0",
		`{"name":"Q","type":"choice","options":[` + strings.Repeat(`"x",`, 500) + `"y"]}`:      "options",
	} {
		c.ask(body).refused(422, "validation_failed", strings.Fields(fields)...)
	}
	for body, fields := range map[string]string{
		`{"name":" ","type":"stars","required":2,"archived":"x","order":-1,"options":"a"}`: "name type required archived order options",
		`{"max":101}`:                    "max",
		`{"max":0}`:                      "max",
		`{"options":["a"]}`:              "options",
		`{"type":"choice"}`:              "options",
		`{"type":"choice","options":[]}`: "options",
		`{"type":"choice","options":["a",{"id":1,"name":"b"},{"id":"x"},"a"]}`: "options.1 options.2 options.2.id options.3",
	} {
		c.json(http.MethodPut, questionsPath+"11", body).refused(422, "validation_failed", strings.Fields(fields)...)
	}
	c.get(carriersPath+"/1/questions").is("meta.total", "1").is("data.0.type", `"rating"`).is("data.0.max", "5")
}

// A question is put at any place among those of its carrier, and the others close up.
func TestAdminQuestionsMove(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	order := func(want string) {
		t.Helper()
		got := ""
		a := c.get(carriersPath + "/1/questions?limit=100")
		for i := 0; a.at(fmt.Sprintf("data.%d", i)) != nil; i++ {
			a.is(fmt.Sprintf("data.%d.order", i), fmt.Sprint(i+1))
			got += fmt.Sprint(a.at(fmt.Sprintf("data.%d.name", i)))
		}
		if got != want {
			t.Errorf("the order is %s, want %s", got, want)
		}
	}
	ids := map[string]string{}
	for i, name := range []string{"A", "B", "C", "D"} {
		ids[name] = c.ask(fmt.Sprintf(`{"id":%d,"name":%q,"type":"text"}`, 90-i, name)).want(http.StatusCreated).id()
	}
	order("ABCD")
	move := func(name, to, want string) {
		t.Helper()
		c.json(http.MethodPut, questionsPath+ids[name], `{"order":`+to+`}`).want(http.StatusOK)
		order(want)
	}
	move("D", "1", "DABC")
	move("D", "3", "ABDC")
	move("D", "3", "ABDC")
	move("A", "99", "BDCA")
	move("C", "2", "BCDA")
	ids["E"] = c.ask(`{"name":"E","type":"text","order":2}`).want(http.StatusCreated).is("order", "2").id()
	order("BECDA")
	// One that feedback registers comes last.
	c.reply("5", `"value":"new"`).want(http.StatusCreated)
	order("BECDAQuestion 5")
	c.send(http.MethodDelete, questionsPath+ids["C"], "", "").want(http.StatusOK)
	order("BEDAQuestion 5")
	// The questions of another carrier stay where they are.
	elsewhere := c.carrier(carrier.NewQuestion{Type: carrier.Text}, carrier.NewQuestion{Type: carrier.Text})
	move("A", "1", "ABEDQuestion 5")
	c.get(questionsPath+fmt.Sprint(elsewhere.Questions[1].ID)).is("order", "2")
}

// Options are renamed, moved, added, archived and brought back; they keep their ids, and so what was answered.
func TestAdminQuestionOptions(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	made := c.ask(`{"name":"Why?","type":"choice","options":["A","B","C"]}`).want(http.StatusCreated)
	a, b, third := fmt.Sprint(made.at("options.0.id")), fmt.Sprint(made.at("options.1.id")), fmt.Sprint(made.at("options.2.id"))
	old := c.reply(made.id(), `"value":"B"`).want(http.StatusCreated).id()
	options := func(body, want string) answer {
		t.Helper()
		got := c.json(http.MethodPut, questionsPath+made.id(), `{"options":`+body+`}`).want(http.StatusOK)
		text := ""
		for i := 0; got.at(fmt.Sprintf("options.%d", i)) != nil; i++ {
			mark := ""
			if got.at(fmt.Sprintf("options.%d.archived_at", i)) != nil {
				mark = "-"
			}
			text += fmt.Sprintf("%s%v ", mark, got.at(fmt.Sprintf("options.%d.name", i)))
		}
		if strings.TrimSpace(text) != want {
			t.Errorf("the options are %s, want %s", text, want)
		}
		return got
	}
	// Swapped names, one moved, one added, one left out.
	options(`[{"id":`+third+`,"name":"A"},{"id":`+a+`,"name":"C"},"D"]`, "A C D -B").is("options.0.id", third).is("options.1.id", a).is("options.3.id", b)
	c.reply(made.id(), `"value":"B"`).refused(422, "validation_failed", "items.0.value")
	c.reply(made.id(), `"question_option_id":`+b).refused(422, "validation_failed", "items.0.question_option_id")
	refusal := c.reply(made.id(), `"value":"E"`).refused(422, "validation_failed", "items.0.value")
	if !strings.Contains(refusal.body, `\"A\", \"C\", \"D\"`) || strings.Contains(refusal.body, `\"B\"`) {
		t.Errorf("it offers other options: %s", refusal.body)
	}
	c.reply(made.id(), `"question_option_id":`+third).want(http.StatusCreated).is("items.0.value", `"A"`)
	c.get("/v4/carriers").is("data.0.questions.0.options.2.name", `"D"`).is("data.0.questions.0.options.3", "null")
	// What was answered is still there to see and to find.
	c.get("/v4/feedback/"+old+"?include=items").is("items.0.option", `{"id":`+b+`,"name":"B"}`).is("items.0.value", `"B"`)
	c.get(`/v4/feedback?fql=[{"Question":{"$eq":"B"},"id":`+made.id()+`}]`).want(http.StatusOK).is("meta.total", "1")
	// By name it is the same option again, archived or not.
	options(`["B","A"]`, "B A -C -D").is("options.0.id", b).is("options.1.id", third)
	c.reply(made.id(), `"value":"B"`).want(http.StatusCreated)
	// An answer keeps its text when its option is renamed.
	options(`[{"id":`+b+`,"name":"Bee"},{"id":`+third+`}]`, "Bee A -C -D")
	c.get("/v4/feedback/"+old+"?include=items").is("items.0.option.name", `"Bee"`).is("items.0.value", `"B"`)
	c.get(`/v4/feedback?fql=[{"Question":{"$eq":"Bee"},"id":`+made.id()+`}]`).is("meta.total", "2")
	// A name that an option left out has cannot be taken; nor can an option be given twice.
	c.json(http.MethodPut, questionsPath+made.id(), `{"options":[{"id":`+b+`,"name":"D"},{"id":`+b+`}]}`).
		refused(422, "validation_failed", "options.0", "options.1")
	c.form(http.MethodPut, questionsPath+made.id(), "options[0][id]="+b, "options[1]=New").want(http.StatusOK).is("options.1.name", `"New"`)
}

// A new row of a ratings table is scored like those before it, and an archived one is not.
func TestAdminQuestionRows(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	made := c.ask(`{"name":"Table","type":"ratings_table","options":["Food","Staff"]}`).want(http.StatusCreated)
	c.json(http.MethodPut, questionsPath+made.id(), `{"options":["Staff","Place"]}`).want(http.StatusOK)
	c.reply(made.id(), `"option":"Place","value":"4"`).want(http.StatusCreated).is("satisfaction_ratio", "80.0")
	c.reply(made.id(), `"option":"Food","value":"4"`).refused(422, "validation_failed", "items.0.option")
	c.get(`/v4/feedback?fql=[{"Question":{"$gte":4},"id":`+made.id()+`}]`).want(http.StatusOK).is("meta.total", "1")
	if got := closedAnswers(t, c, made.id()); got["table"] != 15 {
		t.Errorf("closed answers %v", got)
	}
}

// closedAnswers counts the scores kept for a question: those of the scale, and those of a table's rows.
func closedAnswers(t *testing.T, c *client, question string) map[string]int {
	t.Helper()
	var scale, table int
	err := pgtest.DB(t).QueryRow(t.Context(), `
		SELECT count(*) FILTER (WHERE option_id IS NULL), count(*) FILTER (WHERE option_id IS NOT NULL)
		FROM question_score WHERE organization_id = $1 AND question_id = $2`, c.view.Org(), question).Scan(&scale, &table)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]int{"scale": scale, "table": table}
}

// Without answers a question can become any other: options and closed answers follow, and answers are read by the new rules.
func TestAdminQuestionWithoutAnswersChangesItsType(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.ask(`{"name":"Q","type":"text"}`).want(http.StatusCreated).id()
	for _, step := range []struct {
		body         string
		scale, table int
		options      string
		refused      string // a value that the new type does not take
	}{
		{`{"type":"nps"}`, 11, 0, "null", "11"},
		{`{"type":"rating"}`, 5, 0, "null", "6"},
		{`{"max":10}`, 10, 0, "null", "11"},
		{`{"type":"slider"}`, 10, 0, "null", "11"},
		{`{"max":3}`, 3, 0, "null", "4"},
		{`{"type":"choice","options":["A","B"]}`, 0, 0, `"A"`, "C"},
		{`{"type":"multiple_choice"}`, 0, 0, `"A"`, "C"},
		{`{"type":"ratings_table","options":["B","C"]}`, 0, 15, `"B"`, "x"},
		{`{"type":"ces"}`, 7, 0, "null", "8"},
		{`{"type":"smiley","max":9}`, 5, 0, "null", "6"},
		{`{"type":"choice","options":["A"]}`, 0, 0, `"A"`, "B"},
		{`{"type":"date"}`, 0, 0, "null", "x"},
		{`{"type":"number"}`, 0, 0, "null", "x"},
	} {
		c.json(http.MethodPut, questionsPath+id, step.body).want(http.StatusOK).is("options.0.name", step.options)
		if diff := cmp.Diff(map[string]int{"scale": step.scale, "table": step.table}, closedAnswers(t, c, id)); diff != "" {
			t.Errorf("%s: closed answers (-want +got)\n%s", step.body, diff)
		}
		rest := `"value":"` + step.refused + `"`
		if strings.Contains(step.body, "ratings_table") {
			rest += `,"option":"B"`
		}
		c.reply(id, rest).refused(422, "validation_failed", "items.0.value")
	}
	c.reply(id, `"value":"7"`).want(http.StatusCreated)
}

// A question with answers is not deleted; when the answers are gone, it is.
func TestAdminQuestionWithAnswers(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.ask(`{"name":"Stars","type":"rating","max":7}`).want(http.StatusCreated).id()
	c.reply(id, `"value":""`).want(http.StatusCreated)
	c.json(http.MethodPut, questionsPath+id, `{"max":6}`).want(http.StatusOK)
	c.reply(id, `"value":"6"`).want(http.StatusCreated).is("satisfaction_ratio", "100.0")
	c.json(http.MethodPut, questionsPath+id, `{"type":"stars","name":" "}`).refused(422, "validation_failed", "type", "name")
	c.get(questionsPath+id).is("type", `"rating"`).is("max", "6").is("name", `"Stars"`)
	c.json(http.MethodPut, questionsPath+id, `{"name":"Points","max":10,"type":"rating"}`).want(http.StatusOK).is("max", "10")
	c.reply(id, `"value":"9"`).want(http.StatusCreated).is("satisfaction_ratio", "90.0")
	c.get(`/v4/feedback?fql=[{"Question":{"$gte":6},"id":`+id+`}]`).want(http.StatusOK).is("meta.total", "2")
	a := c.send(http.MethodDelete, questionsPath+id, "", "").refused(422, "validation_failed")
	if !strings.Contains(a.body, "archive it instead") {
		t.Errorf("it does not say what to do: %s", a.body)
	}
	c.json(http.MethodDelete, "/v4/feedback", `{"fql":[{"Form":{"$eq":1}}]}`).want(http.StatusOK).is("meta.deleted", "3")
	c.send(http.MethodDelete, questionsPath+id, "", "").want(http.StatusOK)
}

// The same number in another organization has answers of its own.
func TestAdminQuestionAnswersAreOfTheOrganization(t *testing.T) {
	t.Parallel()
	c, other := newClient(t), newClient(t)
	for _, one := range []*client{c, other} {
		one.ask(`{"id":11,"name":"Q","type":"text"}`).want(http.StatusCreated)
	}
	other.reply("11", `"value":"fine"`).want(http.StatusCreated)
	c.send(http.MethodDelete, questionsPath+"11", "", "").want(http.StatusOK)
	other.send(http.MethodDelete, questionsPath+"11", "", "").refused(422, "validation_failed")
}

// An archived question takes no new answers, under no carrier, and is not required; old answers stay. Brought back, it is as before.
func TestAdminQuestionArchived(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.ask(`{"name":"Q","type":"text","required":true}`).want(http.StatusCreated).id()
	old := c.reply(id, `"value":"fine"`).want(http.StatusCreated).id()
	c.ask(`{"id":20,"name":"Other","type":"text"}`).want(http.StatusCreated)
	c.reply("20", `"value":"x"`).want(http.StatusCreated).is("completed_at", "null")
	a := c.json(http.MethodPut, questionsPath+id, `{"archived":true}`).want(http.StatusOK)
	if a.at("archived_at") == nil {
		t.Errorf("it is not archived: %s", a.body)
	}
	refusal := c.reply(id, `"value":"more"`).refused(422, "validation_failed", "items.0.question_id")
	if !strings.Contains(refusal.body, "is archived") {
		t.Errorf("it does not say why: %s", refusal.body)
	}
	c.reply(id, `"value":""`).refused(422, "validation_failed", "items.0.question_id")
	c.create(`{"carrier_id":2,"source":"email","items":[{"question_id":`+id+`,"value":"x"}]}`).refused(422, "validation_failed", "items.0.question_id")
	c.get(carriersPath+"/2").refused(404, "not_found") // a refusal registers nothing
	if c.reply("20", `"value":"x"`).want(http.StatusCreated).at("completed_at") == nil {
		t.Error("it is still required")
	}
	c.get("/v4/feedback/"+old+"?include=items.question").is("items.0.value", `"fine"`).is("items.0.question.name", `"Q"`)
	c.json(http.MethodPut, questionsPath+id, `{"archived":0}`).want(http.StatusOK).is("archived_at", "null").is("required", "1")
	c.reply(id, `"value":"more"`).want(http.StatusCreated)
}
