package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"earshot/internal/carrier"
)

// Limits of management requests.
const (
	maxEmail        = 320
	maxQuestionName = 1_000
	maxQuestions    = 100 // of one carrier, when it is created
	maxOptions      = 500 // of one question
)

// boolean reads yes or no as JSON, forms and numbers spell it; nil when it is not given.
func (in input) boolean(name string) *bool {
	v, ok := in.given(name)
	if !ok {
		return nil
	}
	if b, ok := v.(bool); ok {
		return &b
	}
	s, _ := scalar(v)
	switch s {
	case "true", "1":
		return new(true)
	case "false", "0":
		return new(false)
	}
	in.wrong(name, "must be true or false")
	return nil
}

// filter reads the fields of filter[…], which may be those named and no other.
func (in input) filter(names ...string) input {
	fields := input{path: in.path + "filter.", form: in.form}
	v, ok := in.given("filter")
	if !ok {
		return fields
	}
	if fields.values, ok = v.(map[string]any); !ok {
		in.wrong("filter", "must name a field, as in filter[%s]", names[0])
		return fields
	}
	for name := range fields.values {
		if !slices.Contains(names, name) {
			in.wrong("filter", "must be by %s", strings.Join(names, ", "))
			break
		}
	}
	return fields
}

// options reads a list of names, of objects with id and name, or of both. Nil is not given; the empty list is.
func (in input) options(name string) []carrier.OptionChange {
	v, ok := in.given(name)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		in.wrong(name, "must be a list of names, or of objects with id and name")
		return nil
	}
	if len(list) > maxOptions {
		in.wrong(name, "must not have more than %d elements", maxOptions)
		return nil
	}
	options := make([]carrier.OptionChange, len(list))
	for i, member := range list {
		field := fmt.Sprintf("%s.%d", name, i)
		if object, ok := member.(map[string]any); ok {
			o := input{values: object, path: in.path + field + ".", form: in.form}
			options[i] = carrier.OptionChange{ID: o.id("id"), Name: o.text("name", maxName)}
			continue
		}
		o := input{values: map[string]any{field: member}, path: in.path, form: in.form}
		options[i].Name = o.text(field, maxName)
	}
	return options
}

// writePage answers with one page of a list.
func writePage[T, W any](s *Server, w http.ResponseWriter, r *http.Request, at pageRequest, rows []T, total int, wire func(T) W) error {
	data := make([]W, len(rows))
	for i, row := range rows {
		data[i] = wire(row)
	}
	return writeJSON(w, http.StatusOK, paginate(s, r, at, data, total))
}

// wireSuccess says that something was done, where there is nothing to show.
type wireSuccess struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// done answers that a change was made, or that something is gone.
func done(w http.ResponseWriter, message string) error {
	return writeJSON(w, http.StatusOK, wireSuccess{Type: "success", Message: message})
}
