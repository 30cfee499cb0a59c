package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"earshot/internal/carrier"
)

// retype gives a question another type or top and waits until its answers are scored again.
func (c *client) retype(question int64, change string) {
	c.t.Helper()
	operation := c.json(http.MethodPut, fmt.Sprintf("%s%d", questionsPath, question), change).want(http.StatusOK).number("operation_id")
	c.settle()
	c.work(operation)
	c.get("/v4/operations/"+operation).is("kind", `"rescore"`).is("state", `"done"`)
	c.sound()
}

// A client brings its own questions, which are texts until somebody gives them their type: then the answers there are count as if it had been so
// from the beginning.
func TestAnswersAreScoredAgainWhenTheirQuestionGetsItsType(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	answers := map[string]string{}
	// As texts, only the word says something: nothing good, nothing bad.
	for value, satisfaction := range map[string]string{"10": "0.0", "7": "0.0", "3": "0.0", "eleven": "50.0", "": "0.0", " 9 ": "0.0"} {
		answers[value] = c.json(http.MethodPost, "/v4/feedback", map[string]any{
			"carrier_id": 1, "source": "email", "items": []map[string]any{{"question_id": 12, "value": value}},
			"attributes": []map[string]any{{"name": "city", "value": "Lyon"}},
		}).want(http.StatusCreated).is("nps_profile", "null").is("satisfaction_ratio", satisfaction).id()
	}
	c.retype(12, `{"type":"nps"}`)
	for value, want := range map[string][2]string{
		"10": {`"positive"`, "100.0"}, "7": {`"neutral"`, "70.0"}, "3": {`"negative"`, "30.0"}, "eleven": {"null", "0.0"}, "": {"null", "0.0"}, " 9 ": {`"positive"`, "90.0"},
	} {
		c.get("/v4/feedback/"+answers[value]+"?include[]=items").want(http.StatusOK).is("nps_profile", want[0]).is("satisfaction_ratio", want[1]).
			is("items.0.value", fmt.Sprintf("%q", value))
	}
	for fql, want := range map[string]string{
		`[{"Nps":{"$eq":"positive"}}]`: "2", `[{"Nps":{"$exists":false}}]`: "2", `[{"Question":{"id":12,"$eq":10}}]`: "1", `[{"Question":{"id":12,"$gte":7}}]`: "3",
		`[{"Text":{"$like":"eleven"}}]`: "0", `[{"Satisfaction":{"$gt":60}}]`: "3", `[{"Attribute":{"name":"city","$eq":"Lyon"}},{"Nps":{"$eq":"negative"}}]`: "1",
	} {
		c.get("/v4/feedback?fql="+fql).want(http.StatusOK).is("meta.total", want)
	}
	// And back again: nothing was lost.
	c.retype(12, `{"type":"text"}`)
	c.get(`/v4/feedback?fql=[{"Nps":{"$exists":true}}]`).is("meta.total", "0")
	c.get(`/v4/feedback?fql=[{"Text":{"$like":"eleven"}}]`).is("meta.total", "1")
}

func TestAnswersAreScoredAgainWithAnotherTop(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	made := c.carrier(carrier.NewQuestion{Type: carrier.Rating, Max: 5})
	question := made.Questions[0].ID
	id := c.json(http.MethodPost, "/v4/feedback", map[string]any{
		"carrier_id": made.ID, "source": "email", "items": []map[string]any{{"question_id": question, "value": "4"}},
	}).want(http.StatusCreated).is("satisfaction_ratio", "80.0").id()
	c.retype(question, `{"max":10}`)
	c.get("/v4/feedback/"+id).is("satisfaction_ratio", "40.0")
	c.retype(question, `{"max":3}`)
	c.get("/v4/feedback/"+id).is("satisfaction_ratio", "0.0")
	c.retype(question, `{"max":4}`)
	c.get("/v4/feedback/"+id).is("satisfaction_ratio", "100.0")
}

// Texts become options where they name one, and options that were answered come back with their type.
func TestAnswersBecomeOptionsAndTextsAgain(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	send := func(value string) string {
		return c.json(http.MethodPost, "/v4/feedback", map[string]any{
			"carrier_id": 1, "source": "email", "items": []map[string]any{{"question_id": 12, "value": value}},
		}).want(http.StatusCreated).id()
	}
	yes, perhaps := send("Yes"), send("Perhaps")
	c.retype(12, `{"type":"choice","options":["Yes","No"]}`)
	c.get("/v4/feedback/"+yes+"?include[]=items").is("items.0.option.name", `"Yes"`).is("items.0.value", `"Yes"`)
	c.get("/v4/feedback/"+perhaps+"?include[]=items").is("items.0.option", "null").is("items.0.value", `"Perhaps"`)
	c.get(`/v4/feedback?fql=[{"Question":{"id":12,"$eq":"Yes"}}]`).is("meta.total", "1")
	c.get(`/v4/feedback?fql=[{"Question":{"id":12,"$exists":true}}]`).is("meta.total", "2")
	c.retype(12, `{"type":"textarea"}`)
	c.get("/v4/feedback/"+yes+"?include[]=items").is("items.0.option", "null").is("items.0.value", `"Yes"`)
	c.get(`/v4/feedback?fql=[{"Text":{"$like":"yes"}}]`).is("meta.total", "1")
	c.retype(12, `{"type":"multiple_choice","options":["Yes","Perhaps"]}`)
	c.get(`/v4/feedback?fql=[{"Question":{"id":12,"$eq":"Perhaps"}}]`).is("meta.total", "1")
}
