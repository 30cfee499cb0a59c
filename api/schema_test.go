package api_test

import (
	"encoding/json"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Schemas of what clients send refuse nothing that the service accepts, and
// schemas of what it answers let nothing undocumented through.
func TestSchemas(t *testing.T) {
	t.Parallel()
	doc := load(t)
	for name, c := range map[string]struct {
		schema string
		accept []string
		refuse []string
	}{
		"new feedback": {
			schema: "NewFeedback",
			accept: []string{
				`{"carrier_id":453,"source":"email"}`,
				`{"carrier_id":" 453 ","source":"email","created_at":"","fingerprint":null,"attributes":null,"items":""}`,
				`{"carrier_id":453,"source":"email","attributes":[],"items":[],"unknown":{"field":true}}`,
				`{"carrier_id":453,"source":"email","attributes":[{"name":"a","value":"x"},{"name":"b","value":[1,"2"]},{"name":"c","value":[]}]}`,
				`{"carrier_id":453,"source":"email","items":[{"question_id":"1","value":9.5},{"question_id":2,"value":null},{"question_id":3,"value":"","option":"Staff","question_option_id":"4"}]}`,
			},
			refuse: []string{
				`[]`,
				`{}`,
				`{"carrier_id":"","source":"email"}`,
				`{"carrier_id":null,"source":"email"}`,
				`{"carrier_id":"x","source":"email"}`,
				`{"carrier_id":9007199254740992,"source":"email"}`,
				`{"carrier_id":453,"source":"fax"}`,
				`{"carrier_id":453,"source":"email","items":"none"}`,
				`{"carrier_id":453,"source":"email","items":[{"value":"9"}]}`,
				`{"carrier_id":453,"source":"email","items":[{"question_id":1,"value":true}]}`,
				`{"carrier_id":453,"source":"email","attributes":[{"name":"","value":"x"}]}`,
				`{"carrier_id":453,"source":"email","attributes":[{"name":"a","value":{"b":1}}]}`,
				`{"carrier_id":453,"source":"email","attributes":[{"name":"a","value":[["b"]]}]}`,
			},
		},
		"status": {
			schema: "FeedbackChange",
			accept: []string{`{}`, `{"status":"todo"}`, `{"status":""}`, `{"status":null}`},
			refuse: []string{`{"status":"done"}`, `{"status":1}`},
		},
		"filter": {
			schema: "BulkFeedbackChange",
			accept: []string{
				`{"status":"todo","fql":"[{\"Id\":{\"$in\":[1]}}]"}`,
				`{"status":"todo","fql":[{"Id":{"$in":[1],"$type":"and"}},[{"Status":{"$eq":"todo"}}]]}`,
			},
			refuse: []string{
				`{"status":"todo","fql":""}`,
				`{"status":"todo","fql":[]}`,
				`{"status":"todo","fql":[{}]}`,
				`{"status":"todo","fql":[[]]}`,
				`{"status":"todo","fql":["Id"]}`,
				`{"status":"todo"}`,
			},
		},
		"owners": {
			schema: "OwnersAttach",
			accept: []string{`{"emails":"a@example.org"}`, `{"emails":["a@example.org"]}`},
			refuse: []string{`{"emails":[]}`, `{"emails":""}`, `{}`},
		},
		"detach": {
			schema: "AttributesDetach",
			accept: []string{
				`{}`,
				`{"attributes":[{"name":"a"},{"name":"b","value":null},{"name":"c","value":[]},{"name":"d","value":""}]}`,
			},
			refuse: []string{`{"attributes":[{"value":"x"}]}`, `{"attributes":"a"}`},
		},
		"history": {
			schema: "HistoryPage",
			accept: []string{
				`{"data":[],"meta":{"total":0,"next_search_after":null}}`,
				`{"data":[{"id":1,"created_at":"2026-01-31T09:15:00.000000Z","field":"attribute","name":"a","before":null,"after":[7,"x"],"token_id":null,"user":null,"operation_id":null}],"meta":{"total":1,"next_search_after":1}}`,
				`{"data":[{"id":1,"created_at":"2026-01-31T09:15:00.000000Z","field":"owners","before":[],"after":[{"id":1,"name":"n","email":"e"}],"token_id":2,"user":{"id":1,"name":"n","email":"e"},"operation_id":3}],"meta":{"total":1,"next_search_after":1}}`,
			},
			refuse: []string{
				// A status has no name.
				`{"data":[{"id":1,"created_at":"2026-01-31T09:15:00.000000Z","field":"status","name":"a","before":"todo","after":"resolved","token_id":2,"user":null,"operation_id":null}],"meta":{"total":1,"next_search_after":1}}`,
				// A single value is no list.
				`{"data":[{"id":1,"created_at":"2026-01-31T09:15:00.000000Z","field":"attribute","name":"a","before":null,"after":[7],"token_id":2,"user":null,"operation_id":null}],"meta":{"total":1,"next_search_after":1}}`,
				// Nobody is the empty list.
				`{"data":[{"id":1,"created_at":"2026-01-31T09:15:00.000000Z","field":"owners","before":null,"after":[],"token_id":2,"user":null,"operation_id":null}],"meta":{"total":1,"next_search_after":1}}`,
			},
		},
		"feedback": {
			schema: "FeedbackWithRelations",
			accept: []string{
				`{"id":1,"carrier_id":2,"fingerprint":"f","source":"email","created_at":"2026-01-31T09:15:00.000000Z","completed_at":null,"nps_profile":null,"satisfaction_ratio":0.0,"attributes":[{"name":"a","label":"A","value":7}],"items":[{"question_id":3,"option":null,"value":"x","created_at":"2026-01-31T09:15:00.000000Z"}]}`,
			},
			refuse: []string{
				// The relations are missing.
				`{"id":1,"carrier_id":2,"fingerprint":"f","source":"email","created_at":"2026-01-31T09:15:00.000000Z","completed_at":null,"nps_profile":null,"satisfaction_ratio":0.0}`,
				// The status belongs to the retrieve answer.
				`{"id":1,"carrier_id":2,"fingerprint":"f","source":"email","created_at":"2026-01-31T09:15:00.000000Z","completed_at":null,"nps_profile":null,"satisfaction_ratio":0.0,"attributes":[],"items":[],"status":"todo"}`,
				// Whole seconds.
				`{"id":1,"carrier_id":2,"fingerprint":"f","source":"email","created_at":"2026-01-31T09:15:00Z","completed_at":null,"nps_profile":null,"satisfaction_ratio":0.0,"attributes":[],"items":[]}`,
				// A single value is no list.
				`{"id":1,"carrier_id":2,"fingerprint":"f","source":"email","created_at":"2026-01-31T09:15:00.000000Z","completed_at":null,"nps_profile":null,"satisfaction_ratio":0.0,"attributes":[{"name":"a","label":"A","value":[7]}],"items":[]}`,
				// An item id belongs to the retrieve answer.
				`{"id":1,"carrier_id":2,"fingerprint":"f","source":"email","created_at":"2026-01-31T09:15:00.000000Z","completed_at":null,"nps_profile":null,"satisfaction_ratio":0.0,"attributes":[],"items":[{"id":9,"question_id":3,"option":null,"value":"x","created_at":"2026-01-31T09:15:00.000000Z"}]}`,
			},
		},
		"feedback detail": {
			schema: "FeedbackDetail",
			accept: []string{
				`{"id":1,"carrier_id":2,"fingerprint":"f","source":{"name":"email","label":"E-mail"},"status":"todo","import":null,"created_at":"2026-01-31T09:15:00.000000Z","completed_at":null,"nps_profile":"neutral","satisfaction_ratio":66.67}`,
				`{"id":1,"carrier_id":2,"fingerprint":"f","source":{"name":"email","label":"E-mail"},"status":"todo","import":{"id":1,"uuid":"u","type":"csv","name":"n"},"created_at":"2026-01-31T09:15:00.000000Z","completed_at":null,"nps_profile":"neutral","satisfaction_ratio":66.67}`,
			},
			refuse: []string{
				`{"id":1,"carrier_id":2,"fingerprint":"f","source":"email","status":"todo","import":null,"created_at":"2026-01-31T09:15:00.000000Z","completed_at":null,"nps_profile":"neutral","satisfaction_ratio":66.67}`,
				`{"id":1,"carrier_id":2,"fingerprint":"f","source":{"name":"email","label":"E-mail"},"import":null,"created_at":"2026-01-31T09:15:00.000000Z","completed_at":null,"nps_profile":"neutral","satisfaction_ratio":66.67}`,
				`{"id":1,"carrier_id":2,"fingerprint":"f","source":{"name":"email","label":"E-mail"},"status":"todo","import":{"id":1},"created_at":"2026-01-31T09:15:00.000000Z","completed_at":null,"nps_profile":"neutral","satisfaction_ratio":66.67}`,
			},
		},
		"error": {
			schema: "Error",
			accept: []string{
				`{"type":"error","code":"internal","message":"m","request_id":"r"}`,
				`{"type":"error","code":"fingerprint_taken","message":"m","errors":{"fingerprint":["m"]},"feedback_id":7,"request_id":"r"}`,
			},
			refuse: []string{
				`{"type":"error","code":"internal","message":"m"}`,
				`{"type":"error","code":"other","message":"m","request_id":"r"}`,
				`{"type":"error","code":"internal","message":"m","request_id":"r","detail":"d"}`,
				`{"type":"error","code":"validation_failed","message":"m","errors":{"a":"m"},"request_id":"r"}`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := doc.Components.Schemas[c.schema].Value
			for _, body := range c.accept {
				if err := visit(t, schema, body); err != nil {
					t.Errorf("%s refuses %s: %v", c.schema, body, err)
				}
			}
			for _, body := range c.refuse {
				if visit(t, schema, body) == nil {
					t.Errorf("%s accepts %s", c.schema, body)
				}
			}
		})
	}
}

func visit(t *testing.T, schema *openapi3.Schema, body string) error {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		t.Fatal(err)
	}
	return schema.VisitJSON(value, openapi3.EnableJSONSchema2020())
}
