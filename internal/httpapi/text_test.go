package httpapi_test

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/operation"
	"earshot/internal/tally"
)

// topic adds a topic before there is any feedback.
func (c *client) topic(name string, keywords ...string) analysis.Topic {
	c.t.Helper()
	t, err := c.server.Texts.AddTopic(c.t.Context(), c.view, analysis.Topic{Name: name, Keywords: keywords}, &fault.Form{},
		func(pgx.Tx) error { return nil })
	if err != nil {
		c.t.Fatal(err)
	}
	return t
}

// A text is read when it arrives: a span for each sentence, offsets in code points, topics on the sentence that has them and on the item.
func TestTextsAreReadWhenTheyArrive(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.topic("Delivery", "deliver*")
	c.topic("Staff", "staff")
	created := c.create(`{"carrier_id": 1, "source": "email", "items": [{"question_id": 1, "value": "🚚 The delivery was terribly late. The staff were very friendly!"}]}`).want(http.StatusCreated)
	got := c.get("/v4/feedback/" + created.id() + "?include=items.topics,items.spans").want(http.StatusOK)
	got.is("items.0.topics", `["Delivery","Staff"]`)
	got.is("items.0.spans.0.start_offset", `0`)
	got.is("items.0.spans.0.length", `33`)
	got.is("items.0.spans.0.text", `"🚚 The delivery was terribly late."`)
	got.is("items.0.spans.0.sentiment_string", `"negative"`)
	got.is("items.0.spans.0.topics", `["Delivery"]`)
	got.is("items.0.spans.1.start_offset", `34`)
	got.is("items.0.spans.1.text", `"The staff were very friendly!"`)
	got.is("items.0.spans.1.sentiment_string", `"positive"`)
	got.is("items.0.spans.1.topics", `["Staff"]`)

	for filter, want := range map[string]int{
		`[{"Topic":{"$eq":"Delivery"}}]`:            1,
		`[{"Topic":{"$in":["Staff","Price"]}}]`:     1,
		`[{"Topic":{"$eq":"Price"}}]`:               0,
		`[{"Topic":{"$exists":false}}]`:             0,
		`[{"Sentiment":{"$exists":true}}]`:          1,
		`[{"Sentiment":{"$btw":[0,100]}}]`:          1,
		`[{"Sentiment":{"$eq":"negative"}}]`:        0,
		`[{"Sentiment":{"$nin":["neutral",47.5]}}]`: 0,
	} {
		c.get("/v4/feedback?fql="+escape(filter)).want(http.StatusOK).is("meta.total", fmt.Sprint(want))
	}
	c.verifyTallies()
}

// The mean of the scales and the mean of the texts are each half of the satisfaction; a number by itself is no text.
func TestSentimentEntersSatisfaction(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	car := c.carrier(carrier.NewQuestion{Type: carrier.Rating, Max: 10}, carrier.NewQuestion{Type: carrier.Textarea}, carrier.NewQuestion{Type: carrier.Text})
	create := func(rating, first, second string) answer {
		var items []string
		for i, value := range []string{rating, first, second} {
			if value != "" {
				items = append(items, fmt.Sprintf(`{"question_id":%d,"value":%q}`, car.Questions[i].ID, value))
			}
		}
		return c.create(fmt.Sprintf(`{"carrier_id":%d,"source":"email","items":[%s]}`, car.ID, strings.Join(items, ","))).want(http.StatusCreated)
	}
	score := func(a answer, item int) float64 {
		return c.get("/v4/feedback/" + a.id() + "?include=items.spans").score(item)
	}
	both := create("8", "Awful.", "Great service.")
	low, high := score(both, 1), score(both, 2)
	if low >= 40 || high <= 60 {
		t.Fatalf("scores %v and %v", low, high)
	}
	both.is("satisfaction_ratio", decimal((80+(low+high)/2)/2))
	create("", "Awful.", "").is("satisfaction_ratio", decimal(low))
	create("8", "", "").is("satisfaction_ratio", "80.0")
	create("8", "42", "").is("satisfaction_ratio", "80.0")
	create("", "42", "").is("satisfaction_ratio", "0.0")
}

// score is that of an item's first span.
func (a answer) score(item int) float64 {
	a.t.Helper()
	var n float64
	if _, err := fmt.Sscan(a.number(fmt.Sprintf("items.%d.spans.0.sentiment_score", item)), &n); err != nil {
		a.t.Fatal(err)
	}
	return n
}

// decimal prints a ratio as answers do.
func decimal(n float64) string {
	text := strconv.FormatFloat(math.Round(n*100)/100, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// A change of the catalogue reads feedback that is there again: its spans, topics, counts and version.
func TestAnotherCatalogueReadsFeedbackAgain(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	var ids []string
	for range 3 {
		ids = append(ids, c.create(`{"carrier_id": 1, "source": "email", "items": [{"question_id": 1, "value": "The parcel never came."}, {"question_id": 2, "value": "7"}]}`).want(http.StatusCreated).id())
	}
	c.get("/v4/feedback?fql="+escape(`[{"Topic":{"$exists":true}}]`)).is("meta.total", "0")
	by := feedback.By{}
	added, started, err := c.server.Operations.AddTopic(t.Context(), c.view, by, analysis.Topic{Name: "Delivery", Keywords: []string{"parcel"}}, &fault.Form{})
	if err != nil || started == 0 {
		t.Fatal(started, err)
	}
	// A second change before the first was felt is served by the same operation.
	if _, second, err := c.server.Operations.AddTopic(t.Context(), c.view, by, analysis.Topic{Name: "Price", Keywords: []string{"price"}}, &fault.Form{}); err != nil || second != started {
		t.Fatal(second, err)
	}
	if o := c.reread(started); o.State != operation.Done || o.Total != 3 || o.Changed != 3 {
		t.Fatalf("%+v", o)
	}
	c.get("/v4/feedback?fql="+escape(`[{"Topic":{"$eq":"Delivery"}}]`)).is("meta.total", "3")
	c.get("/v4/feedback/"+ids[0]+"?include=items.topics").is("items.0.topics", `["Delivery"]`).is("items.1.topics", `[]`)
	c.verifyTallies()

	// Another name is felt at once and reads nothing.
	if _, started, err = c.server.Operations.EditTopic(t.Context(), c.view, by, added.ID, analysis.TopicChange{Name: "Shipping"}, &fault.Form{}); err != nil || started != 0 {
		t.Fatal(started, err)
	}
	c.get("/v4/feedback/"+ids[0]+"?include=items.topics").is("items.0.topics", `["Shipping"]`)
	if started, err = c.server.Operations.DeleteTopic(t.Context(), c.view, by, added.ID); err != nil {
		t.Fatal(err)
	}
	c.get("/v4/feedback/"+ids[0]+"?include=items.topics").is("items.0.topics", `[]`)
	c.reread(started)
	c.get("/v4/feedback?fql="+escape(`[{"Topic":{"$exists":true}}]`)).is("meta.total", "0")
	var versions, current int
	err = c.server.db.QueryRow(t.Context(), `
		SELECT min(f.analysis_version), max(a.version) FROM feedback f JOIN analysis a USING (organization_id)
		WHERE organization_id = $1`, c.view.Org()).Scan(&versions, &current)
	if err != nil || versions != current {
		t.Errorf("read by version %d, now %d, %v", versions, current, err)
	}
	c.verifyTallies()
}

// reread does the work of an operation that would begin in a while.
func (c *client) reread(id int64) operation.Operation {
	c.t.Helper()
	_, err := c.server.db.Exec(c.t.Context(), `UPDATE operation SET selects_at = now() - interval '1 second' WHERE organization_id = $1 AND id = $2`, c.view.Org(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	for more := true; more; {
		if more, err = c.server.Operations.Work(c.t.Context(), c.view, id); err != nil {
			c.t.Fatal(err)
		}
	}
	o, err := c.server.Operations.ByID(c.t.Context(), c.view, id)
	if err != nil {
		c.t.Fatal(err)
	}
	return o
}

// Feedback from before there was any reading, and from before the rules were changed, is read when a process of this release looks.
func TestNewRulesReadFeedbackAgain(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.create(`{"carrier_id": 1, "source": "email", "items": [{"question_id": 1, "value": "I love it."}]}`).want(http.StatusCreated).id()
	c.exec(`UPDATE analysis SET engine = 0, version = 0, edits = edits + 1 WHERE organization_id = $1`)
	c.unread("I love it.")
	c.server.Texts.Forget()
	if err := c.server.Operations.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := c.get("/v4/operations").want(http.StatusOK).is("meta.total", "1").is("data.0.kind", `"reanalyse"`)
	if err := c.server.Operations.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.get("/v4/operations").is("meta.total", "1") // once is enough
	var started int64
	if _, err := fmt.Sscan(list.number("data.0.id"), &started); err != nil {
		t.Fatal(err)
	}
	c.reread(started)
	c.get("/v4/feedback/"+id+"?include=items.spans").is("items.0.spans.0.sentiment_string", `"positive"`)
	wrong, err := tally.NewStore(c.server.db).Verify(t.Context(), c.view)
	if err != nil || len(wrong) > 0 {
		t.Errorf("tallies: %v, %v", wrong, err)
	}
}

// unread makes feedback with this text what it was before there was any reading.
func (c *client) unread(text string) {
	c.t.Helper()
	c.exec(`UPDATE feedback SET sentiment = NULL, satisfaction = NULL, analysis_version = 0 WHERE organization_id = $1`)
	c.exec(`UPDATE feedback_content SET items = '[{"q":1,"v":"` + text + `","t":true}]' WHERE organization_id = $1`)
	if err := tally.NewStore(c.server.db).Rebuild(c.t.Context(), c.view); err != nil {
		c.t.Fatal(err)
	}
}

// exec runs a statement about the client's organization, $1.
func (c *client) exec(sql string) {
	c.t.Helper()
	if _, err := c.server.db.Exec(c.t.Context(), sql, c.view.Org()); err != nil {
		c.t.Fatal(err)
	}
}

// Texts are read in the language of their carrier, else of the organization, else in their own.
func TestLanguagesOfCarrierAndOrganization(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	// A word that is in several languages: nothing in English, good in German.
	const text = "toll"
	score := func(carrier int) float64 {
		id := c.create(fmt.Sprintf(`{"carrier_id": %d, "source": "email", "items": [{"question_id": %d, "value": %q}]}`, carrier, carrier, text)).want(http.StatusCreated).id()
		return c.get("/v4/feedback/" + id + "?include=items.spans").score(0)
	}
	change := func(change analysis.LanguageChange) int64 {
		t.Helper()
		_, started, err := c.server.Operations.ChangeLanguages(t.Context(), c.view, feedback.By{}, change, &fault.Form{})
		if err != nil {
			t.Fatal(err)
		}
		return started
	}
	score(1)
	score(2)
	change(analysis.LanguageChange{Language: analysis.English})
	if got := score(1); got != 50 {
		t.Errorf("in English %v", got)
	}
	change(analysis.LanguageChange{Carriers: []analysis.CarrierLanguage{{CarrierID: 2, Language: analysis.German}}})
	if english, german := score(1), score(2); english != 50 || german <= 60 {
		t.Errorf("in English %v, in German %v", english, german)
	}
	change(analysis.LanguageChange{Language: analysis.Off})
	unread := c.create(`{"carrier_id": 3, "source": "email", "items": [{"question_id": 3, "value": "Wonderful!"}]}`).want(http.StatusCreated)
	unread.is("satisfaction_ratio", "0.0")
	c.get("/v4/feedback/"+unread.id()+"?include=items.spans").is("items.0.spans", `[]`)
	change(analysis.LanguageChange{Language: analysis.English})
	if started := change(analysis.LanguageChange{Language: analysis.English}); started != 0 {
		t.Error("nothing changed, but texts are read again")
	}
	var form fault.Form
	_, _, err := c.server.Operations.ChangeLanguages(t.Context(), c.view, feedback.By{},
		analysis.LanguageChange{Language: "tlh", Carriers: []analysis.CarrierLanguage{{CarrierID: 77, Language: analysis.French}}}, &form)
	if !fault.Is(err, fault.ValidationFailed) || !form.Wrong("language") || !form.Wrong("carriers.0.carrier_id") {
		t.Errorf("refused with %v", err)
	}
}

// What a question's new type makes of old answers is read like a new one, and texts that were read are not read again.
func TestAnswersThatBecomeTextsAreRead(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.create(`{"carrier_id": 1, "source": "email", "items": [{"question_id": 5, "value": "wonderful"}]}`).want(http.StatusCreated).id()
	edit := func(to carrier.Type) {
		t.Helper()
		_, started, err := c.server.Operations.EditQuestion(t.Context(), c.view, feedback.By{}, 5, carrier.QuestionChange{Type: to}, &fault.Form{})
		if err != nil {
			t.Fatal(err)
		}
		c.reread(started)
	}
	edit(carrier.Number)
	c.get("/v4/feedback?fql="+escape(`[{"Sentiment":{"$exists":true}}]`)).is("meta.total", "0")
	edit(carrier.Text)
	c.get("/v4/feedback/"+id+"?include=items.spans").is("items.0.spans.0.sentiment_string", `"positive"`)
	c.verifyTallies()
}
