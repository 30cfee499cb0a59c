package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"earshot/internal/carrier"
)

// create posts a JSON body to the collection.
func (c *client) create(body string) answer {
	c.t.Helper()
	return c.json(http.MethodPost, "/v4/feedback", body)
}

// The created feedback comes back whole: every field of the interface, attributes and items always, source as a string,
// neither status nor import.
func TestCreateAnswersWithTheFeedback(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	want := `{"id": %s, "carrier_id": 453, "fingerprint": "order-1", "source": "trustpilot",
		"created_at": "2026-01-31T09:15:00.000000Z", "completed_at": "2026-01-31T09:15:00.000000Z",
		"nps_profile": null, "satisfaction_ratio": 65.0,
		"attributes": [{"name": "plan", "label": "plan", "value": "gold"}, {"name": "size", "label": "size", "value": [%s, "XL"]}],
		"items": [{"question_id": 12, "option": null, "value": "Très bien", "created_at": "2026-01-31T09:15:00.000000Z"},
		          {"question_id": 11, "option": null, "value": "9", "created_at": "2026-01-31T09:15:00.000000Z"}]}`
	a := c.create(`{"carrier_id": 453, "source": "trustpilot", "created_at": "01/31/2026 09:15:00", "fingerprint": "order-1",
		"attributes": [{"name": "plan", "value": "gold"}, {"name": "size", "value": [7, "XL"]}],
		"items": [{"question_id": 12, "value": "Très bien"}, {"question_id": 11, "value": 9}]}`).want(http.StatusCreated)
	a.matches(fmt.Sprintf(want, a.id(), "7"))
	if !strings.Contains(a.body, `"satisfaction_ratio":65.0`) {
		t.Errorf("the ratio has no decimal part: %s", a.body)
	}

	b := newClient(t).form(http.MethodPost, "/v4/feedback", "carrier_id=453", "source=trustpilot", "created_at=01/31/2026 09:15:00",
		"fingerprint=order-1", "attributes[0][name]=plan", "attributes[0][value]=gold", "attributes[1][name]=size",
		"attributes[1][value][]=7", "attributes[1][value][]=XL", "items[0][question_id]=12", "items[0][value]=Très bien",
		"items[1][question_id]=11", "items[1][value]=9").want(http.StatusCreated)
	b.matches(fmt.Sprintf(want, b.id(), `"7"`))
}

// matches expects the whole answer to be this JSON.
func (a answer) matches(want string) {
	a.t.Helper()
	wrapped := answer{t: a.t, body: `{"all":` + a.body + `}`}
	wrapped.is("all", want)
}

// Optional input that is empty or null counts as not given; carrier_id and source are required.
func TestCreateDefaults(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for name, body := range map[string]string{
		"least": `{"carrier_id":1,"source":"email"}`,
		"null":  `{"carrier_id":"1","source":"email","created_at":null,"fingerprint":null,"attributes":null,"items":null}`,
		"empty": `{"carrier_id":" 1 ","source":"email","created_at":"","fingerprint":"","attributes":[],"items":[]}`,
		"extra": `{"carrier_id":1,"source":"email","status":"resolved","unknown":{"a":[1]}}`,
	} {
		a := c.create(body).want(http.StatusCreated)
		if fp, _ := a.at("fingerprint").(string); len(fp) != 32 {
			t.Errorf("%s: no fingerprint was made: %s", name, a.body)
		}
		a.is("completed_at", "null").is("attributes", "[]").is("items", "[]")
		c.get("/v4/feedback/"+a.id()).want(http.StatusOK).is("status", `"todo"`)
	}
	c.create(`{}`).refused(422, "validation_failed", "carrier_id", "source")
	c.create(``).refused(422, "validation_failed", "carrier_id", "source")
	c.create(`{"carrier_id":"","source":null}`).refused(422, "validation_failed", "carrier_id", "source")
}

// Every source of the interface is taken, and no other.
func TestCreateKnowsTheSources(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for name := range strings.FieldsSeq(`trustpilot easiware bigquery email chat review google_review google_reviews_competitor csv
		facebook linkedin letter document glassdoor homeviews survey sms facetoface feedback_box whatsapp instagram call_center
		amazon_reviews hubspot`) {
		id := c.create(`{"carrier_id":1,"source":"`+name+`"}`).want(http.StatusCreated).is("source", `"`+name+`"`).id()
		c.get("/v4/feedback/"+id).is("source.name", `"`+name+`"`)
	}
	c.create(`{"carrier_id":1,"source":"fax"}`).refused(422, "validation_failed", "source")
}

// created_at is month/day/year in UTC, or ISO 8601 with a zone; refused only when impossible or out of range.
func TestCreateReadsTimes(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for in, out := range map[string]string{
		"12/31/2025 23:59:59":              "2025-12-31T23:59:59.000000Z",
		"02/29/2024 00:00:00":              "2024-02-29T00:00:00.000000Z",
		"2026-01-31T09:15:00Z":             "2026-01-31T09:15:00.000000Z",
		"2026-01-31T09:15:00.123456+05:30": "2026-01-31T03:45:00.123456Z",
		"2026-01-31T09:15:00.1234569Z":     "2026-01-31T09:15:00.123456Z",
		"01/01/1900 00:00:00":              "1900-01-01T00:00:00.000000Z",
		"12/31/9999 23:59:59":              "9999-12-31T23:59:59.000000Z",
	} {
		c.create(fmt.Sprintf(`{"carrier_id":1,"source":"email","created_at":%q}`, in)).want(http.StatusCreated).is("created_at", `"`+out+`"`)
	}
	for _, in := range []string{
		"31/12/2025 00:00:00", "02/29/2025 00:00:00", "12/31/2025", "2026-01-31T09:15:00", "yesterday", "12/31/1899 23:59:59",
		"1899-12-31T23:59:59Z", "12/31/2025 24:00:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00",
	} {
		c.create(fmt.Sprintf(`{"carrier_id":1,"source":"email","created_at":%q}`, in)).refused(422, "validation_failed", "created_at")
	}
}

// A fingerprint is unique within its carrier, named by the refusal while its feedback exists, and stays reserved after that.
// Other carriers and organizations have their own.
func TestCreateReservesFingerprints(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	body := `{"carrier_id":1,"source":"email","fingerprint":"abc"}`
	first := c.create(body).want(http.StatusCreated)
	second := c.create(body).refused(http.StatusConflict, "fingerprint_taken", "fingerprint")
	second.is("feedback_id", first.id())
	c.create(`{"carrier_id":2,"source":"email","fingerprint":"abc"}`).want(http.StatusCreated)
	c.create(`{"carrier_id":1,"source":"email","fingerprint":"ABC"}`).want(http.StatusCreated)
	newClient(t).create(body).want(http.StatusCreated)

	for _, table := range []string{"feedback_content WHERE feedback_id", "feedback WHERE id"} {
		if _, err := c.server.db.Exec(t.Context(), `DELETE FROM `+table+` = $1`, first.id()); err != nil {
			t.Fatal(err)
		}
	}
	c.create(body).refused(http.StatusConflict, "fingerprint_taken", "fingerprint").is("feedback_id", "null")
}

// Attribute names are trimmed and compared exactly, elements of one name merged; values are the same when their text is,
// and are printed as they were first spelled, in order.
func TestCreateAttachesAttributes(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, step := range []struct{ in, out string }{
		{`[{"name":" plan ","value":"gold"}]`, `[{"name":"plan","label":"plan","value":"gold"}]`},
		{
			`[{"name":"n","value":1.50},{"name":"Plan","value":"x"},{"name":"n","value":["2",1.50,"1.50"]}]`,
			`[{"name":"n","label":"n","value":[1.50,"2"]},{"name":"Plan","label":"Plan","value":"x"}]`,
		},
		{`[{"name":"n","value":["1.50",2,1.5]}]`, `[{"name":"n","label":"n","value":[1.50,"2",1.5]}]`},
		{`[{"name":"e","value":""}]`, `[{"name":"e","label":"e","value":""}]`},
		{`[{"name":"none","value":[]}]`, `[]`},
		{`[{"name":"big","value":[123456789012345678901234567890,-0,1e5]}]`, `[{"name":"big","label":"big","value":[123456789012345678901234567890,-0,1e5]}]`},
	} {
		a := c.create(`{"carrier_id":1,"source":"email","attributes":`+step.in+`}`).want(http.StatusCreated).is("attributes", step.out)
		c.get("/v4/feedback/"+a.id()+"?include=attributes").is("attributes", step.out)
	}
	for in, field := range map[string]string{
		`[{"value":"x"}]`:                    "attributes.0.name",
		`[{"name":"  ","value":"x"}]`:        "attributes.0.name",
		`[{"name":"a"}]`:                     "attributes.0.value",
		`[{"name":"a","value":null}]`:        "attributes.0.value",
		`[{"name":"a","value":true}]`:        "attributes.0.value",
		`[{"name":"a","value":{"b":1}}]`:     "attributes.0.value",
		`[{"name":"a","value":["x",["y"]]}]`: "attributes.0.value.1",
		`[{"name":"a","value":["x",null]}]`:  "attributes.0.value.1",
		`[{"name":"a","value":1e999}]`:       "attributes.0.value",
		`["plan"]`:                           "attributes.0",
		`{"name":"a","value":"b"}`:           "attributes",
		`[{"name":{"a":1},"value":"x"}]`:     "attributes.0.name",
		`"plan"`:                             "attributes",
		`[{"name":"ok","value":1},{"name":"a","value":"` + strings.Repeat("é", 1001) + `"}]`: "attributes.1.value",
		`[{"name":"` + strings.Repeat("é", 256) + `","value":1}]`:                            "attributes.0.name",
	} {
		a := c.create(`{"carrier_id":1,"source":"email","attributes":` + in + `}`)
		a.want(422)
		wrong, _ := a.at("errors").(map[string]any)
		if _, ok := wrong[field]; !ok {
			t.Errorf("%.60s: errors lack %s: %s", in, field, a.body)
		}
	}
	c.create(`{"carrier_id":1,"source":"email","attributes":[{"name":"` + strings.Repeat("é", 255) + `","value":"` +
		strings.Repeat("漢", 1000) + `"}]}`).want(http.StatusCreated)
}

// A create request has limits, and says which one was passed.
func TestCreateLimits(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	repeat := func(n int, one string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(one, "N", fmt.Sprint(i+1))
		}
		return strings.Join(all, ",")
	}
	for _, tc := range []struct {
		field   string
		atMost  string
		tooMuch string
	}{
		{"items", `"items":[` + repeat(100, `{"question_id":N,"value":"x"}`) + `]`, `"items":[` + repeat(101, `{"question_id":N,"value":"x"}`) + `]`},
		{"attributes", `"attributes":[` + repeat(100, `{"name":"aN","value":"x"}`) + `]`, `"attributes":[` + repeat(101, `{"name":"aN","value":"x"}`) + `]`},
		{"attributes.0.value", `"attributes":[{"name":"a","value":[` + repeat(100, `N`) + `]}]`, `"attributes":[{"name":"a","value":[` + repeat(101, `N`) + `]}]`},
		{"fingerprint", `"fingerprint":"` + strings.Repeat("é", 255) + `"`, `"fingerprint":"` + strings.Repeat("é", 256) + `"`},
		{"items.0.value", `"items":[{"question_id":1,"value":"` + strings.Repeat("é", 65535) + `"}]`, `"items":[{"question_id":1,"value":"` + strings.Repeat("é", 65536) + `"}]`},
	} {
		c.create(`{"carrier_id":1,"source":"email",` + tc.atMost + `}`).want(http.StatusCreated)
		c.create(`{"carrier_id":1,"source":"email",`+tc.tooMuch+`}`).refused(422, "validation_failed", tc.field)
	}
	c.create(`{"carrier_id":1,"source":"email","attributes":[{"name":"a","value":[`+repeat(60, `N`)+`]},{"name":"a","value":[`+repeat(60, `"bN"`)+`]}]}`).
		refused(422, "validation_failed", "attributes.1.value")
	for _, id := range []string{"0", "-1", "1.5", "9007199254740992", `"x"`, `"1e3"`, "true", "[1]", `{"a":1}`} {
		c.create(`{"carrier_id":`+id+`,"source":"email"}`).refused(422, "validation_failed", "carrier_id")
	}
	c.create(`{"carrier_id":9007199254740991,"source":"email"}`).want(http.StatusCreated).is("carrier_id", "9007199254740991")
}

// Items are read by their question's type, and all mistakes of a request come back at once.
func TestCreateScoresItems(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	made := c.carrier(
		carrier.NewQuestion{Type: carrier.NPS}, carrier.NewQuestion{Type: carrier.Slider, Max: 10},
		carrier.NewQuestion{Type: carrier.RatingsTable, Options: []string{"Staff", "Food"}},
		carrier.NewQuestion{Type: carrier.Choice, Options: []string{"Price", "Quality"}, Required: true},
		carrier.NewQuestion{Type: carrier.Text})
	q := func(n int) int64 { return made.Questions[n].ID }
	body := func(items string) string {
		return fmt.Sprintf(`{"carrier_id":%d,"source":"survey","items":[%s]}`, made.ID, items)
	}
	a := c.create(body(fmt.Sprintf(`{"question_id":%d,"value":6},{"question_id":%d,"value":"7"},{"question_id":%d,"value":4,"option":"Staff"},
		{"question_id":%d,"value":"Price"},{"question_id":%d,"value":""}`, q(0), q(1), q(2), q(3), q(4)))).want(http.StatusCreated)
	a.is("satisfaction_ratio", "70.0").is("nps_profile", `"negative"`).is("completed_at", "null").is("items.4.value", `""`)
	d := c.get("/v4/feedback/" + a.id() + "?include[]=items").want(http.StatusOK)
	d.is("items.2.option.name", `"Staff"`).is("items.3.option.name", `"Price"`).is("items.3.value", `"Price"`).is("items.0.option", "null")
	d.is("items.3.question_option_id", fmt.Sprint(made.Questions[3].Options[0].ID))

	c.create(body(fmt.Sprintf(`{"question_id":%d,"value":10},{"question_id":%d,"value":1},{"question_id":%d,"option":"Quality"}`, q(0), q(1), q(3)))).
		want(http.StatusCreated).is("satisfaction_ratio", "55.0").is("nps_profile", `"positive"`).
		is("items.2.value", `"Quality"`).is("completed_at", `"`+c.lastCreatedAt()+`"`)
	c.create(body(fmt.Sprintf(`{"question_id":%d,"value":7},{"question_id":%d,"value":5},{"question_id":%d,"value":8},{"question_id":%d,"value":"Food"}`, q(0), q(1), q(0), q(2)))).
		refused(422, "validation_failed", "items.2.question_id", "items.3.option", "items.3.value")
	c.create(`{"source":"nowhere","carrier_id":`+fmt.Sprint(made.ID)+`,"fingerprint":[],"items":[{"question_id":`+fmt.Sprint(q(0))+
		`,"value":11},{"value":"x"}]}`).refused(422, "validation_failed", "source", "fingerprint", "items.0.value", "items.1.question_id")
}

// lastCreatedAt is when the newest feedback of the organization was created, as the interface prints it.
func (c *client) lastCreatedAt() string {
	c.t.Helper()
	var text string
	err := c.server.db.QueryRow(c.t.Context(), `
		SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') FROM feedback
		WHERE organization_id = $1 ORDER BY id DESC LIMIT 1`, c.view.Org()).Scan(&text)
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// In a strict organization an unknown carrier or question is refused and not registered.
func TestCreateInStrictOrganization(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	known := c.carrier(carrier.NewQuestion{Type: carrier.Text})
	if err := c.server.Accounts.SetStrict(t.Context(), c.view, true); err != nil {
		t.Fatal(err)
	}
	c.create(`{"carrier_id":453,"source":"email","items":[{"question_id":1,"value":"x"}]}`).refused(422, "validation_failed", "carrier_id")
	c.create(fmt.Sprintf(`{"carrier_id":%d,"source":"email","items":[{"question_id":%d,"value":"x"},{"question_id":7,"value":"x"}]}`,
		known.ID, known.Questions[0].ID)).refused(422, "validation_failed", "items.1.question_id")
	c.create(fmt.Sprintf(`{"carrier_id":%d,"source":"email","items":[{"question_id":%d,"value":"x"}]}`, known.ID, known.Questions[0].ID)).
		want(http.StatusCreated)
	c.get("/v4/carriers").is("meta.total", "1")
}

// A request that is refused leaves nothing behind: no carrier, no question, no attribute.
func TestRefusedCreateLeavesNothing(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.create(`{"carrier_id":77,"source":"email","items":[{"question_id":5,"value":"x"},{"question_id":5,"value":"y"}],
		"attributes":[{"name":"new","value":"x"}]}`).refused(422, "validation_failed", "items.1.question_id")
	c.get("/v4/carriers").is("meta.total", "0")
	var n int
	if err := c.server.db.QueryRow(t.Context(), `SELECT count(*) FROM attribute WHERE organization_id = $1`, c.view.Org()).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d attributes, %v", n, err)
	}
}
