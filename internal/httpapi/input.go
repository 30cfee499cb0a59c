package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"earshot/internal/fault"
)

// maxID is the largest whole number that every JSON reader keeps exact.
const maxID = 1<<53 - 1

// input is one object of a request, a body or a query alike, with the mistakes found so far. Each reader notes what is
// wrong under the path of the field and returns a zero value, so that a handler reads everything and asks for the mistakes once.
type input struct {
	values map[string]any
	path   string // of this object within the request, ending in a dot; empty for the whole
	form   *fault.Form
}

// wrong notes a mistake in a field of this object.
func (in input) wrong(name, format string, args ...any) {
	in.form.Add(in.path+name, format, args...)
}

// given returns a field; null and the empty string count as not given.
func (in input) given(name string) (any, bool) {
	v, ok := in.values[name]
	return v, ok && v != nil && v != ""
}

// require notes that a field is missing.
func (in input) require(name string) {
	if _, ok := in.given(name); !ok {
		in.wrong(name, "is required")
	}
}

// text reads a text of at most longest characters; a number counts as its text.
func (in input) text(name string, longest int) string {
	v, ok := in.given(name)
	if !ok {
		return ""
	}
	s, ok := scalar(v)
	if !ok {
		in.wrong(name, "must be a text")
		return ""
	}
	if utf8.RuneCountInString(s) > longest {
		in.wrong(name, "must not be longer than %d characters", longest)
		return ""
	}
	return s
}

// id reads a positive whole number that JSON keeps exact, as a number or as its text.
func (in input) id(name string) int64 {
	v, ok := in.given(name)
	if !ok {
		return 0
	}
	s, _ := scalar(v)
	n, ok := positive(strings.TrimSpace(s))
	if !ok {
		in.wrong(name, "must be a whole number from 1 to %d", int64(maxID))
	}
	return n
}

// count reads a positive whole number, or returns what holds when none is given. One beyond reason counts as the largest.
func (in input) count(name string, otherwise int) int {
	v, ok := in.given(name)
	if !ok {
		return otherwise
	}
	s, _ := scalar(v)
	s = strings.TrimSpace(s)
	n, err := strconv.ParseUint(s, 10, 31)
	if errors.Is(err, strconv.ErrRange) {
		return math.MaxInt32
	}
	if err != nil || n == 0 {
		in.wrong(name, "must be a whole number from 1")
		return otherwise
	}
	return int(n)
}

// cursor reads a whole number from 0 on, if there is one. One beyond any id is as good as the largest.
func (in input) cursor(name string) *int64 {
	v, ok := in.given(name)
	if !ok {
		return nil
	}
	s, _ := scalar(v)
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 63)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		in.wrong(name, "must be a whole number from 0")
		return nil
	}
	return new(int64(min(n, math.MaxInt64)))
}

// objects reads a list of at most most objects.
func (in input) objects(name string, most int) []input {
	v, ok := in.given(name)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		in.wrong(name, "must be a list of objects")
		return nil
	}
	if len(list) > most {
		in.wrong(name, "must not have more than %d elements", most)
		return nil
	}
	objects := make([]input, 0, len(list))
	for i, member := range list {
		values, ok := member.(map[string]any)
		if !ok {
			in.wrong(fmt.Sprintf("%s.%d", name, i), "must be an object")
		}
		objects = append(objects, input{values: values, path: in.path + name + "." + strconv.Itoa(i) + ".", form: in.form})
	}
	return objects
}

// list reads a list of texts: a list, one text, or one text with commas.
func (in input) list(name string) []string {
	v, ok := in.given(name)
	if !ok {
		return nil
	}
	members, isList := v.([]any)
	if !isList {
		members = []any{v}
	}
	var texts []string
	for i, member := range members {
		s, ok := scalar(member)
		if !ok {
			in.wrong(fmt.Sprintf("%s.%d", name, i), "must be a text")
			continue
		}
		for piece := range strings.SplitSeq(s, ",") {
			if piece = strings.TrimSpace(piece); piece != "" {
				texts = append(texts, piece)
			}
		}
	}
	return texts
}

// scalar is the text of a text or number.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

func positive(text string) (int64, bool) {
	if text == "" || text[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxID {
		return 0, false
	}
	return n, true
}

// oneOf reads one of a list of names; "" is not given.
func (in input) oneOf(name string, names []string) string {
	text := in.text(name, maxName)
	if text == "" || slices.Contains(names, text) {
		return text
	}
	in.wrong(name, "must be one of %s", strings.Join(names, ", "))
	return ""
}

// pathID is the id in a path. One that is no positive whole number is the id of nothing.
func pathID(r *http.Request, what string) (int64, error) { return pathNumber(r, "id", what) }

// pathNumber is an id in a path by the name of its place there.
func pathNumber(r *http.Request, name, what string) (int64, error) {
	n, ok := positive(r.PathValue(name))
	if !ok {
		return 0, fault.Missing(what)
	}
	return n, nil
}
