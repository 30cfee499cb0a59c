package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"earshot/api"
)

// The document is valid OpenAPI 3.1 and its examples keep to their schemas.
func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	if err := load(t).Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Every operation can be found, named and grouped; what is not served yet says so.
func TestOperationsAreDescribed(t *testing.T) {
	t.Parallel()
	doc := load(t)
	seen := map[string]string{}
	eachOperation(doc, func(name string, op *openapi3.Operation) {
		if op.OperationID == "" || op.Summary == "" {
			t.Errorf("%s: operationId and summary are required", name)
		}
		if first, ok := seen[op.OperationID]; ok {
			t.Errorf("%s: operationId %s is taken by %s", name, op.OperationID, first)
		}
		seen[op.OperationID] = name
		if len(op.Tags) == 0 {
			t.Errorf("%s: no tag", name)
		}
		for _, tag := range op.Tags {
			if doc.Tags.Get(tag) == nil {
				t.Errorf("%s: tag %q is not described", name, tag)
			}
		}
		if status, ok := op.Extensions["x-status"]; ok && status != "planned" {
			t.Errorf("%s: x-status is %v; planned is the only one", name, status)
		}
	})
}

// An operation that needs a token names its scope, in a word for programs and
// in the text; a public one has none.
func TestOperationsNameTheirScope(t *testing.T) {
	t.Parallel()
	scopes := map[any]bool{
		"feedback:read": true, "feedback:write": true,
		"reports:read": true, "reports:write": true,
		"push:read": true, "push:write": true,
		"admin": true,
	}
	eachOperation(load(t), func(name string, op *openapi3.Operation) {
		scope, ok := op.Extensions["x-scope"]
		switch {
		case public(op):
			if ok {
				t.Errorf("%s: is public and has a scope", name)
			}
		case !scopes[scope]:
			t.Errorf("%s: unknown scope %v", name, scope)
		case !strings.Contains(op.Description, fmt.Sprintf("Needs the scope `%v`.", scope)):
			t.Errorf("%s: the description does not name the scope %v", name, scope)
		}
	})
}

// Whatever an operation can refuse with is listed, whether it is served yet or not.
func TestOperationsListTheirRefusals(t *testing.T) {
	t.Parallel()
	doc := load(t)
	eachOperation(doc, func(name string, op *openapi3.Operation) {
		if public(op) {
			return
		}
		want := []string{"400", "401", "403", "429", "500", "503"}
		if strings.Contains(name, "{id}") {
			want = append(want, "404")
		}
		if op.RequestBody != nil {
			want = append(want, "413", "415")
		}
		if (op.RequestBody != nil || len(op.Parameters) > 0) && !streams(op) {
			want = append(want, "422")
		}
		for _, status := range want {
			if op.Responses.Value(status) == nil {
				t.Errorf("%s: %s is not listed", name, status)
			}
		}
	})
}

// streams says whether an operation takes and answers lines, each of which is refused by itself.
func streams(op *openapi3.Operation) bool { return op.Extensions["x-stream"] == true }

// A body comes as JSON or as either kind of form, always with the same fields.
func TestBodiesComeInThreeForms(t *testing.T) {
	t.Parallel()
	eachOperation(load(t), func(name string, op *openapi3.Operation) {
		if op.RequestBody == nil || streams(op) {
			return
		}
		content := op.RequestBody.Value.Content
		want := content["application/json"].Schema.Ref
		for _, form := range []string{"application/x-www-form-urlencoded", "multipart/form-data"} {
			if content[form] == nil || content[form].Schema.Ref != want || want == "" {
				t.Errorf("%s: %s does not share the schema %q", name, form, want)
			}
		}
	})
}

// Every error code is explained, to readers of the schema and of the introduction.
func TestErrorCodesAreExplained(t *testing.T) {
	t.Parallel()
	doc := load(t)
	schema := doc.Components.Schemas["Error"].Value
	for _, code := range schema.Properties["code"].Value.Enum {
		row := fmt.Sprintf("| `%v` |", code)
		if !strings.Contains(schema.Description, row) || !strings.Contains(doc.Info.Description, row) {
			t.Errorf("code %v is not explained", code)
		}
	}
}

// No component is left over, but for the answer to a wrong method: it belongs
// to a path, and OpenAPI has no place for it there.
func TestComponentsAreUsed(t *testing.T) {
	t.Parallel()
	c := load(t).Components
	var refs []string
	for name := range c.Schemas {
		refs = append(refs, "schemas/"+name)
	}
	for name := range c.Responses {
		refs = append(refs, "responses/"+name)
	}
	for name := range c.Parameters {
		refs = append(refs, "parameters/"+name)
	}
	for name := range c.Examples {
		refs = append(refs, "examples/"+name)
	}
	for name := range c.Headers {
		refs = append(refs, "headers/"+name)
	}
	for _, ref := range refs {
		used := strings.Contains(string(api.OpenAPI), "'#/components/"+ref+"'")
		if used == (ref == "responses/MethodNotAllowed") {
			t.Errorf("%s: used is %v", ref, used)
		}
	}
}

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func eachOperation(doc *openapi3.T, check func(name string, op *openapi3.Operation)) {
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			check(method+" "+path, op)
		}
	}
}

// public reports whether an operation needs no token.
func public(op *openapi3.Operation) bool {
	return op.Security != nil && len(*op.Security) == 0
}
