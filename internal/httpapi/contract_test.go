package httpapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"earshot/api"
	"earshot/internal/bracket"
)

var document = sync.OnceValue(func() *openapi3.T {
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		panic(err)
	}
	return doc
})

// checkContract holds a call against openapi.yaml: an answer has a documented status and shape, and a request that was
// accepted is one the document allows. (A request the document allows may still break a rule it cannot express.)
func checkContract(t testing.TB, r *http.Request, body string, a answer) {
	t.Helper()
	route, params := called(r)
	isPage := strings.HasPrefix(r.URL.Path, "/unsubscribe/") || strings.HasPrefix(r.URL.Path, "/report/")
	if isPage && (route == nil || a.status == http.StatusMethodNotAllowed) {
		if a.status < 400 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			t.Errorf("answered %d and no page: %s", a.status, a.body)
		}
		return
	}
	if route == nil || a.status == http.StatusMethodNotAllowed {
		checkError(t, a)
		return
	}
	in := &openapi3filter.RequestValidationInput{
		Request: documented(t, r, body), PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, SkipSettingDefaults: true,
		},
	}
	if route.Operation.Extensions["x-stream"] == true { // of which each line is accepted or not
		checkLines(t, a)
	} else if err := openapi3filter.ValidateRequest(t.Context(), in); err != nil && a.status < 400 {
		t.Errorf("openapi.yaml does not allow this request, which was answered %d: %v", a.status, err)
	}
	if documented := route.Operation.Responses.Status(http.StatusOK); documented != nil && documented.Value.Content["text/html"] != nil {
		checkPage(t, route, a)
		return
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.status, Header: a.header, Options: in.Options,
		Body: io.NopCloser(strings.NewReader(a.body)),
	}
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		if err := openapi3filter.ValidateResponse(t.Context(), out); err != nil {
			t.Errorf("openapi.yaml does not describe this answer of %s %s: %v\n%s", r.Method, route.Path, err, a.body)
		}
	}
	if a.status >= 400 {
		checkError(t, a)
	}
}

// checkLines holds each line of an answer against the document.
func checkLines(t testing.TB, a answer) {
	t.Helper()
	if a.status != http.StatusOK {
		return
	}
	if got := a.header.Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("the lines are %s", got)
	}
	for line := range strings.Lines(a.body) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("no JSON: %s", line)
		}
		if err := document().Components.Schemas["BatchResult"].Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("openapi.yaml does not describe this line: %v\n%s", err, line)
		}
	}
}

// checkPage holds an answer to a person against the document: the status is listed, and refusals are pages, too.
func checkPage(t testing.TB, route *routers.Route, a answer) {
	t.Helper()
	if route.Operation.Responses.Status(a.status) == nil {
		t.Errorf("openapi.yaml does not describe the status %d of %s", a.status, route.Path)
	}
	if a.status >= 400 && !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
		t.Errorf("the refusal is no page: %s", a.body)
	}
}

// checkError holds a refusal that belongs to no operation against the one error body.
func checkError(t testing.TB, a answer) {
	t.Helper()
	if a.status < 400 {
		t.Errorf("an undocumented path was answered %d", a.status)
		return
	}
	if a.body == "" {
		return // HEAD
	}
	schema := document().Components.Schemas["Error"].Value
	var v any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Errorf("the refusal is no JSON: %s", a.body)
		return
	}
	if err := schema.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
		t.Errorf("openapi.yaml does not describe this refusal: %v\n%s", err, a.body)
	}
	if a.header.Get("X-Request-Id") == "" || !strings.Contains(a.body, a.header.Get("X-Request-Id")) {
		t.Errorf("the refusal lacks the request id: %s", a.body)
	}
}

// called finds what the document calls this request, and the parameters in its path.
func called(r *http.Request) (*routers.Route, map[string]string) {
	steps := strings.Split(strings.TrimSuffix(r.URL.Path, "/"), "/")
	var found *routers.Route
	var foundParams map[string]string
	for path, item := range document().Paths.Map() {
		method := r.Method
		if method == http.MethodHead { // GET without its body
			method = http.MethodGet
		}
		op := item.GetOperation(method)
		pattern := strings.Split(path, "/")
		if op == nil || len(pattern) != len(steps) {
			continue
		}
		params := map[string]string{}
		matches := true
		for i := range pattern {
			if name, ok := strings.CutPrefix(pattern[i], "{"); ok {
				params[strings.TrimSuffix(name, "}")] = steps[i]
			} else if pattern[i] != steps[i] {
				matches = false
			}
		}
		if matches && (found == nil || len(params) < len(foundParams)) {
			found = &routers.Route{Spec: document(), Path: path, PathItem: item, Method: r.Method, Operation: op}
			foundParams = params
		}
	}
	return found, foundParams
}

// documented is the request as the document speaks of it: a form becomes the JSON it stands for, because the validator
// knows no brackets.
func documented(t testing.TB, r *http.Request, body string) *http.Request {
	t.Helper()
	clone := r.Clone(t.Context())
	media, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var pairs []bracket.Pair
	switch {
	case strings.TrimSpace(body) == "":
		clone.Body, clone.ContentLength = http.NoBody, 0
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return clone
		}
		body = "{}"
	case media == "application/x-www-form-urlencoded", media == "" && !strings.HasPrefix(strings.TrimSpace(body), "{"):
		pairs, _ = bracket.Parse(body)
	case media == "multipart/form-data":
		parts := multipart.NewReader(strings.NewReader(body), params["boundary"])
		for part, err := parts.NextPart(); err == nil; part, err = parts.NextPart() {
			value, _ := io.ReadAll(part)
			pairs = append(pairs, bracket.Pair{Key: part.FormName(), Value: string(value)})
		}
	}
	if pairs != nil {
		tree, err := bracket.Tree(pairs)
		if err == nil {
			b, _ := json.Marshal(tree)
			body = string(b)
		}
	}
	clone.Header.Set("Content-Type", "application/json")
	clone.Body = io.NopCloser(bytes.NewReader([]byte(body)))
	return clone
}
