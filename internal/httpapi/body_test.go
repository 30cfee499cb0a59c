package httpapi_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/fault"
	"earshot/internal/httpapi"
)

// A body is JSON or a form, by its Content-Type or without one by how it begins; anything else is refused with the one error body.
func TestBodiesAreRead(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	form := "carrier_id=1&source=email"
	object := `{"carrier_id":1,"source":"email"}`
	var parts bytes.Buffer
	mw := multipart.NewWriter(&parts)
	for _, field := range [][2]string{{"carrier_id", "1"}, {"source", "email"}, {"items[0][question_id]", "3"}, {"items[0][value]", "a & b"}} {
		if err := mw.WriteField(field[0], field[1]); err != nil {
			t.Fatal(err)
		}
	}
	_ = mw.Close()
	for _, ok := range [][2]string{
		{"application/json", object},
		{"application/json; charset=utf-8", object},
		{"application/vnd.api+json", object},
		{"", "  \n" + object},
		{"", form},
		{"application/x-www-form-urlencoded", form},
		{"application/x-www-form-urlencoded; charset=UTF-8", form},
		{mw.FormDataContentType(), parts.String()},
	} {
		c.send(http.MethodPost, "/v4/feedback", ok[0], ok[1]).want(http.StatusCreated)
	}
	for _, empty := range []string{"", "text/plain", "application/json", "application/x-www-form-urlencoded", "multipart/form-data"} {
		c.send(http.MethodPost, "/v4/feedback", empty, "").refused(422, "validation_failed", "carrier_id", "source")
		c.send(http.MethodPost, "/v4/feedback", empty, " \n").refused(422, "validation_failed", "carrier_id", "source")
	}
	for _, media := range []string{"text/plain", "application/xml", "image/png", "nonsense/;;"} {
		c.send(http.MethodPost, "/v4/feedback", media, object).refused(415, "unsupported_media_type")
	}
	c.with("Content-Encoding", "gzip").send(http.MethodPost, "/v4/feedback", "application/json", object).refused(415, "unsupported_media_type")
	for _, bad := range [][2]string{
		{"application/json", `{"carrier_id":1`},
		{"application/json", `{"carrier_id":1}{}`},
		{"application/json", `[]`},
		{"application/json", `null`},
		{"application/json", `"text"`},
		{"application/json", `{carrier_id:1}`},
		{"application/json", "{\"carrier_id\":1,\"source\":\"email\",\"fingerprint\":\"\xff\"}"},
		{"application/json", `{"carrier_id":1,"source":"email","fingerprint":"a\u0000b"}`},
		{"application/json", `{"carrier_id":1,"source":"email","a\u0000b":1}`},
		{"application/json", strings.Repeat(`{"a":`, 20_000)},
		{"application/x-www-form-urlencoded", "carrier_id=%zz"},
		{"application/x-www-form-urlencoded", "carrier_id=1&source=email&fingerprint=%00"},
		{"application/x-www-form-urlencoded", "carrier_id=1&source=email&fingerprint=%ff"},
		{"application/x-www-form-urlencoded", "carrier_id=1&carrier_id[]=2"},
		{"application/x-www-form-urlencoded", strings.Repeat("a=1&", 1001)},
		{"application/x-www-form-urlencoded", "a" + strings.Repeat("[b]", 9) + "=1"},
		{"multipart/form-data", parts.String()},
		{"multipart/form-data; boundary=other", parts.String()},
	} {
		c.send(http.MethodPost, "/v4/feedback", bad[0], bad[1]).refused(400, "bad_request")
	}
	parts.Reset()
	mw = multipart.NewWriter(&parts)
	if _, err := mw.CreateFormFile("items", "a.csv"); err != nil {
		t.Fatal(err)
	}
	_ = mw.Close()
	c.send(http.MethodPost, "/v4/feedback", mw.FormDataContentType(), parts.String()).refused(400, "bad_request")
	large := `{"carrier_id":1,"source":"email","x":"` + strings.Repeat("x", 1<<20) + `"}`
	c.json(http.MethodPost, "/v4/feedback", large).refused(413, "payload_too_large")
	c.json(http.MethodPost, "/v4/feedback", `{"carrier_id":1,"source":"email","x":"`+strings.Repeat("x", 1<<20-100)+`"}`).want(http.StatusCreated)
}

// Of a key given twice the last one counts, and keys are compared exactly.
func TestJSONKeysAreExact(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.create(`{"Carrier_ID":5,"carrier_id":1,"carrier_id":2,"source":"email","SOURCE":"sms"}`).want(http.StatusCreated).
		is("carrier_id", "2").is("source", `"email"`)
}

// A DELETE takes its input from the query, from a body of any sort, or from both when they agree.
func TestDeleteInput(t *testing.T) {
	t.Parallel()
	s := newServer(nil).Server
	for name, tc := range map[string]struct {
		query, media, body string
		want               map[string]any
		code               fault.Code
	}{
		"query":            {query: "target=a%40b", want: map[string]any{"target": "a@b"}},
		"form body":        {media: "application/x-www-form-urlencoded", body: "fql=%5B%5D&limit=5", want: map[string]any{"fql": "[]", "limit": "5"}},
		"both agree":       {query: "limit=5&x=1", media: "application/json", body: `{"limit":5}`, want: map[string]any{"limit": "5", "x": "1"}},
		"lists agree":      {query: "a[]=1&a[]=2", media: "application/json", body: `{"a":[1,"2"]}`, want: map[string]any{"a": []any{"1", "2"}}},
		"both differ":      {query: "limit=5", media: "application/json", body: `{"limit":6}`, code: fault.ValidationFailed},
		"lists differ":     {query: "a[]=1", media: "application/json", body: `{"a":[1,2]}`, code: fault.ValidationFailed},
		"neither":          {want: map[string]any{}},
		"unreadable query": {query: "a=%zz", code: fault.BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/v4/feedback?"+tc.query, strings.NewReader(tc.body))
			r.Header.Set("Content-Type", tc.media)
			got, err := httpapi.ReadBody(s, httptest.NewRecorder(), r)
			if tc.code != "" {
				if !fault.Is(err, tc.code) {
					t.Fatalf("%v, want %s", err, tc.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
