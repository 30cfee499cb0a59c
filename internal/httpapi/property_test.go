package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The same request as JSON and as a bracket form gives the same result, up to the spelling of attribute values: forms know no numbers.
func TestJSONAndFormAgree(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	rapid.Check(t, func(rt *rapid.T) {
		request := drawRequest(rt)
		asJSON := c.json(http.MethodPost, "/v4/feedback", request)
		asForm := c.form(http.MethodPost, "/v4/feedback", formFields("", request)...)
		if asJSON.status != asForm.status {
			rt.Fatalf("JSON %d %s\nform %d %s\nrequest %v", asJSON.status, asJSON.body, asForm.status, asForm.body, request)
		}
		if diff := cmp.Diff(comparable(asJSON), comparable(asForm)); diff != "" {
			rt.Fatalf("request %v: (-json +form)\n%s", request, diff)
		}
	})
}

// drawRequest makes create requests, good and bad, without fingerprints: sent twice, the second would be taken.
func drawRequest(rt *rapid.T) map[string]any {
	text := rapid.OneOf(rapid.SampledFrom([]string{"a", "é", "x y", "1", "01", "1.50", "&=[]%+", "\"", " "}), rapid.StringN(1, 10, 30))
	scalar := rapid.OneOf(rapid.Map(text, func(s string) any { return s }), rapid.Map(rapid.IntRange(-5, 1_000_000), func(n int) any { return n }))
	value := rapid.OneOf(scalar, rapid.Map(rapid.SliceOfN(scalar, 1, 4), func(s []any) any { return s }), rapid.Just[any]([]any{}))
	attribute := rapid.Custom(func(rt *rapid.T) any {
		return map[string]any{"name": rapid.SampledFrom([]string{"a", "b", "c d", "é"}).Draw(rt, "name"), "value": value.Draw(rt, "value")}
	})
	item := rapid.Custom(func(rt *rapid.T) any {
		return map[string]any{"question_id": rapid.IntRange(0, 6).Draw(rt, "question"), "value": scalar.Draw(rt, "value")}
	})
	request := map[string]any{
		"carrier_id": rapid.SampledFrom([]any{1, "2", 3, 3, 3, -1, "x"}).Draw(rt, "carrier"),
		"source":     rapid.SampledFrom([]any{"email", "survey", "csv", "fax"}).Draw(rt, "source"),
		"created_at": rapid.SampledFrom([]any{"01/31/2026 09:15:00", "2026-01-31T09:15:00Z", "never"}).Draw(rt, "created_at"),
	}
	if n := rapid.IntRange(0, 4).Draw(rt, "attributes"); n > 0 {
		request["attributes"] = rapid.SliceOfN(attribute, n, n).Draw(rt, "attribute")
	}
	if n := rapid.IntRange(0, 4).Draw(rt, "items"); n > 0 {
		request["items"] = rapid.SliceOfN(item, n, n).Draw(rt, "item")
	}
	return request
}

// formFields spells a tree as bracketed fields.
func formFields(name string, tree any) []string {
	switch v := tree.(type) {
	case map[string]any:
		var fields []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner := key
			if name != "" {
				inner = name + "[" + key + "]"
			}
			fields = append(fields, formFields(inner, v[key])...)
		}
		return fields
	case []any:
		if len(v) == 0 {
			return []string{name + "[]="}
		}
		var fields []string
		for i, member := range v {
			fields = append(fields, formFields(fmt.Sprintf("%s[%d]", name, i), member)...)
		}
		return fields
	}
	return []string{fmt.Sprintf("%s=%v", name, tree)}
}

// comparable is an answer without what differs by nature: id, fingerprint, request id, and the type of attribute values.
func comparable(a answer) any {
	tree, _ := a.value().(map[string]any)
	for _, name := range []string{"id", "fingerprint", "request_id"} {
		delete(tree, name)
	}
	attributes, _ := tree["attributes"].([]any)
	for _, attribute := range attributes {
		object, _ := attribute.(map[string]any)
		object["value"] = asText(object["value"])
	}
	return tree
}

func asText(v any) any {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case []any:
		texts := make([]any, len(v))
		for i := range v {
			texts[i] = asText(v[i])
		}
		return texts
	}
	return v
}

// Whatever is sent to create is answered: no panic, no 5xx.
func FuzzCreate(f *testing.F) {
	for _, seed := range [][2]string{
		{"application/json", `{"carrier_id":1,"source":"email","items":[{"question_id":1,"value":"x"}],"attributes":[{"name":"a","value":[1,"b"]}]}`},
		{"application/json", `{"carrier_id":1000001,"source":"survey","created_at":"01/31/2026 09:15:00","fingerprint":"f","items":[{"question_id":1000001,"value":9}]}`},
		{"application/json", `{"carrier_id":1,"source":"email","attributes":[{"name":"a","value":1e-300},{"name":"\ud800","value":"\u0000"}]}`},
		{"application/x-www-form-urlencoded", "carrier_id=1&source=email&items[][question_id]=3&attributes[0][name]=a&attributes[0][value][]="},
		{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"carrier_id\"\r\n\r\n1\r\n--b--\r\n"},
		{"", "carrier_id=1&source=sms&fingerprint=%F0%9F%98%80"},
		{"text/plain", "x"},
	} {
		f.Add(seed[0], seed[1])
	}
	c := newClient(f)
	f.Fuzz(func(t *testing.T, contentType, body string) {
		mine := *c
		mine.t = t
		if strings.ContainsAny(contentType, "\r\n") {
			t.Skip("no header can hold this")
		}
		if a := mine.send(http.MethodPost, "/v4/feedback", contentType, body); a.status >= 500 {
			t.Errorf("%d %s: %s", a.status, a.body, c.server.log)
		}
	})
}
