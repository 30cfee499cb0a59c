package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql"
)

func (s *Server) attachAttributes(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	return s.changeAttributes(w, r, p, feedback.Attach, "The values were attached.")
}

func (s *Server) syncAttributes(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	return s.changeAttributes(w, r, p, feedback.Sync, "The attributes have the values given.")
}

func (s *Server) detachAttributes(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	return s.changeAttributes(w, r, p, feedback.Detach, "The values were detached.")
}

func (s *Server) changeAttributes(w http.ResponseWriter, r *http.Request, p account.Principal, verb feedback.Verb, message string) error {
	id, err := pathID(r, "feedback")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	change := readChange(in, verb)
	if err := s.mistakes(r, p, id, &form); err != nil {
		return err
	}
	if err := s.Feedback.Change(r.Context(), p.View(), feedback.Caller(p), change, id); err != nil {
		return err
	}
	return done(w, message)
}

// mistakes returns what is wrong with a request about one feedback. That there is no such feedback comes before all that is wrong with fields.
func (s *Server) mistakes(r *http.Request, p account.Principal, id int64, form *fault.Form) error {
	err := form.Err()
	if err == nil {
		return nil
	}
	if _, missing := s.Feedback.ByID(r.Context(), p.View(), id, feedback.Parts{}); missing != nil {
		return missing
	}
	return err
}

// readChange reads what an attribute call is to do, to one feedback or to many: attributes must be given, and not as an empty list.
func readChange(in input, verb feedback.Verb) feedback.Change {
	in.require("attributes")
	if list, ok := in.values["attributes"].([]any); ok && len(list) == 0 {
		in.wrong("attributes", "must have at least one element")
	}
	return feedback.Change{Verb: verb, Attributes: readAttributes(in, verb)}
}

// readAttributes reads the attribute objects that create and every attribute call takes. Elements of one name are merged, a value given twice counts
// once. An element without a value stands for the whole attribute when it is detached, whatever else is said of it.
func readAttributes(in input, verb feedback.Verb) []feedback.Attribute {
	var attributes []feedback.Attribute
	var whole []string
	for _, element := range in.objects("attributes", maxAttributes) {
		name := strings.TrimSpace(element.text("name", maxName))
		if name == "" && !element.form.Wrong(element.path+"name") {
			element.wrong("name", "is required")
		}
		at := slices.IndexFunc(attributes, func(a feedback.Attribute) bool { return a.Name == name })
		if at < 0 {
			at = len(attributes)
			attributes = append(attributes, feedback.Attribute{Name: name})
		}
		given := readValues(element, verb)
		if len(given) == 0 {
			whole = append(whole, name)
		}
		values := &attributes[at].Values
		for _, v := range given {
			same := func(o feedback.Value) bool { return o.Text == v.Text }
			if !slices.ContainsFunc(*values, same) {
				*values = append(*values, v)
			}
		}
		if len(*values) > maxValues {
			element.wrong("value", "must not have more than %d values", maxValues)
		}
	}
	for i := range attributes {
		if verb == feedback.Detach && slices.Contains(whole, attributes[i].Name) {
			attributes[i].Values = nil
		}
	}
	return attributes
}

// readValues reads a single value or a list of them. The empty text is a value; null is none, and one that only detaching does without.
func readValues(in input, verb feedback.Verb) []feedback.Value {
	v := in.values["value"]
	if v == nil {
		if verb != feedback.Detach {
			in.wrong("value", "is required")
		}
		return nil
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	if len(list) > maxValues {
		in.wrong("value", "must not have more than %d values", maxValues)
		return nil
	}
	values := make([]feedback.Value, 0, len(list))
	for i, member := range list {
		path := "value"
		if isList {
			path = fmt.Sprintf("value.%d", i)
		}
		text, ok := scalar(member)
		_, isText := member.(string)
		switch {
		case !ok:
			in.wrong(path, "must be a text or a number")
		case utf8.RuneCountInString(text) > maxValueLength:
			in.wrong(path, "must not be longer than %d characters", maxValueLength)
		case !isText && !fql.IsNumber(text):
			in.wrong(path, "is a number too large or too small to keep")
		default:
			values = append(values, feedback.Value{Text: text, IsNumber: !isText})
		}
	}
	return values
}
