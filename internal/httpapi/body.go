package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"earshot/internal/bracket"
	"earshot/internal/fault"
)

// readBody reads a request's body, whatever its sort, into the tree that encoding/json makes of an object. A DELETE may
// give its input in the query as well. An empty body is an empty object.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, form *fault.Form) (input, error) {
	tree, err := s.bodyTree(w, r)
	if err != nil {
		return input{}, err
	}
	in := input{values: tree, form: form}
	if r.Method != http.MethodDelete {
		return in, nil
	}
	query, err := readQuery(r, form)
	if err != nil {
		return input{}, err
	}
	for name, value := range query.values {
		_, inBody := in.given(name)
		_, inQuery := query.given(name)
		if inBody && inQuery && !reflect.DeepEqual(spelled(tree[name]), value) {
			form.Add(name, "is given differently in the query and in the body")
		}
		if inQuery || !inBody {
			in.values[name] = value
		}
	}
	return in, nil
}

// spelled is a tree with every number as its text, as a form would give it.
func spelled(tree any) any {
	switch v := tree.(type) {
	case json.Number:
		return v.String()
	case []any:
		list := make([]any, len(v))
		for i, member := range v {
			list[i] = spelled(member)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			object[name] = spelled(member)
		}
		return object
	}
	return tree
}

// readQuery reads a query string into the same tree.
func readQuery(r *http.Request, form *fault.Form) (input, error) {
	pairs, err := bracket.Parse(r.URL.RawQuery)
	if err != nil {
		return input{}, malformed("query", err)
	}
	tree, err := treeOf(pairs, "query")
	return input{values: tree, form: form}, err
}

// fetchBody reads a request's body from the client to its end and puts it back for the handler. Routes that read have none that matters.
func (s *Server) fetchBody(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	body, err := s.wholeBody(w, r)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err
}

func (s *Server) wholeBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	limit := s.BodyLimit
	if x, ok := w.(*exchange); ok { // some routes take more
		limit = x.limit
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, fault.New(fault.PayloadTooLarge, "The body is larger than %d bytes.", limit)
	}
	if err != nil {
		return nil, fault.New(fault.BadRequest, "The body could not be read to its end.")
	}
	return body, nil
}

func (s *Server) bodyTree(w http.ResponseWriter, r *http.Request) (map[string]any, error) {
	body, err := s.wholeBody(w, r)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return map[string]any{}, nil
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, fault.New(fault.UnsupportedMedia, "Compressed bodies are not accepted here.")
	}
	media, params, err := contentType(r, body)
	switch {
	case err != nil:
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		return jsonTree(body, "body")
	case media == "application/x-www-form-urlencoded":
		pairs, err := bracket.Parse(string(body))
		if err != nil {
			return nil, malformed("body", err)
		}
		return treeOf(pairs, "body")
	case media == "multipart/form-data":
		pairs, err := multipartPairs(body, params["boundary"])
		if err != nil {
			return nil, err
		}
		return treeOf(pairs, "body")
	}
	return nil, fault.New(fault.UnsupportedMedia,
		"The body must be application/json, application/x-www-form-urlencoded or multipart/form-data.")
}

// contentType is the body's media type; without the header, a body that starts like JSON is JSON and any other a form.
func contentType(r *http.Request, body []byte) (string, map[string]string, error) {
	header := r.Header.Get("Content-Type")
	if header != "" {
		return mime.ParseMediaType(header)
	}
	if b := bytes.TrimSpace(body)[0]; b == '{' || b == '[' {
		return "application/json", nil, nil
	}
	return "application/x-www-form-urlencoded", nil, nil
}

func jsonTree(body []byte, what string) (map[string]any, error) {
	if !utf8.Valid(body) {
		return nil, fault.New(fault.BadRequest, "The %s is not valid UTF-8.", what)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // so that 1.50 stays 1.50
	var tree map[string]any
	err := d.Decode(&tree)
	if _, notObject := errors.AsType[*json.UnmarshalTypeError](err); notObject || err == nil && tree == nil {
		return nil, fault.New(fault.BadRequest, "The %s must be a JSON object.", what)
	}
	if err == nil {
		// Something behind the object is as wrong as something missing from it.
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return tree, checkText(tree, what)
		}
	}
	return nil, fault.New(fault.BadRequest, "The %s is not valid JSON: it breaks off or goes wrong at byte %d.", what, d.InputOffset())
}

func treeOf(pairs []bracket.Pair, where string) (map[string]any, error) {
	tree, err := bracket.Tree(pairs)
	if err != nil {
		return nil, malformed(where, err)
	}
	return tree, checkText(tree, where)
}

func malformed(where string, err error) error {
	return fault.New(fault.BadRequest, "The %s cannot be read: %v.", where, err)
}

func multipartPairs(body []byte, boundary string) ([]bracket.Pair, error) {
	unreadable := fault.New(fault.BadRequest, "The multipart body cannot be read.")
	// Without its boundary a body has no parts, which is not the same as a form without fields.
	if boundary == "" || !bytes.Contains(body, []byte("--"+boundary)) {
		return nil, unreadable
	}
	reader := multipart.NewReader(bytes.NewReader(body), boundary)
	var pairs []bracket.Pair
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return pairs, nil
		}
		if err != nil {
			return nil, unreadable
		}
		if part.FileName() != "" {
			return nil, fault.New(fault.BadRequest, "Files are not accepted here.")
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, unreadable
		}
		pairs = append(pairs, bracket.Pair{Key: part.FormName(), Value: string(value)})
		if len(pairs) > bracket.MaxPairs {
			return nil, malformed("body", bracket.ErrTooManyPairs)
		}
	}
}

// checkText refuses what PostgreSQL cannot store, anywhere in the input: NUL, and bytes that are no UTF-8.
func checkText(tree any, where string) error {
	switch v := tree.(type) {
	case string:
		return checkString(v, where)
	case []any:
		for _, member := range v {
			if err := checkText(member, where); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, member := range v {
			if err := checkString(name, where); err != nil {
				return err
			}
			if err := checkText(member, where); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkString(s, where string) error {
	if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		return fault.New(fault.BadRequest, "The %s holds a NUL character or text that is not UTF-8.", where)
	}
	return nil
}
