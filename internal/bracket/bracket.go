// Package bracket reads bracketed form fields into the tree that encoding/json
// would have made of the same input: map[string]any, []any and, since forms
// know nothing else, string leaves. So a form and a JSON body go on to one and
// the same decoder.
//
//	carrier_id=7&tags[]=a&tags[]=b&attributes[0][name]=plan&attributes[0][value][]=
//
// is read as
//
//	{"carrier_id": "7", "tags": ["a", "b"], "attributes": [{"name": "plan", "value": []}]}
//
// # Keys
//
// A key is a name followed by any number of brackets. The name is not empty,
// and neither the name nor what stands in a bracket contains a bracket.
// A key of any other form (a[, a]b, a[b]c, [x]) is taken literally, as a plain
// name; a field with an empty key is ignored. Nothing else is done to keys:
// dots and spaces stay as they are.
//
// # Lists and objects
//
// An index is 0, or up to nine digits of which the first is not 0. Everything
// else in a bracket (007, -1, 1000000000) is a member's name. Empty brackets
// take the index after the largest so far in their container.
//
// A container with nothing but indices is a list in the order of the indices,
// closed up where some are missing; with any other name in it, it is an object,
// and its indices are names like the rest. The root is always an object.
//
// a[]= as the only entry of its container is the empty list, which a form could
// not say otherwise. A list of one empty string is written a[0]=.
//
// A field given twice has its last value. One given both as a value and as a
// container (a=1&a[]=2) is refused, because either reading would drop input.
//
// # Promises
//
// Time and memory grow with the size of the input, never with an index in it.
// No error repeats a value, which may be personal data, nor more than 64
// characters of a key. Invalid UTF-8 and NUL are passed through; checking the
// tree is the caller's business.
package bracket

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// MaxPairs is the largest number of fields that is read: enough for 100 items
	// and 100 attributes of several values. What needs more can come as JSON.
	MaxPairs = 1000

	// MaxDepth is the largest number of brackets in a key. It bounds the depth
	// of the tree, and with it the recursion of whoever walks it.
	MaxDepth = 8

	maxIndexDigits = 9  // an index fits an int of any size
	maxEcho        = 64 // characters of a key repeated in an error
)

var (
	// ErrTooManyPairs is returned, as it is, for more than MaxPairs fields.
	ErrTooManyPairs = fmt.Errorf("more than %d fields", MaxPairs)

	// ErrTooDeep is wrapped by the error for a key of more than MaxDepth brackets.
	ErrTooDeep = fmt.Errorf("more than %d brackets", MaxDepth)

	errTwoShapes = errors.New("given both as a value and as a list or object")
)

// Pair is one field of a form, decoded: a[]=x%20y has the key "a[]" and the
// value "x y".
type Pair struct{ Key, Value string }

// Parse splits a query string or an application/x-www-form-urlencoded body into
// its fields, in the order sent. A plus is a space, a semicolon is an ordinary
// character, a field without = has an empty value, and nothing between two & is
// no field. It refuses more than MaxPairs fields and unreadable
// percent-encoding, naming the place of the field (from 1) and no part of it.
func Parse(query string) ([]Pair, error) {
	var pairs []Pair
	for field := range strings.SplitSeq(query, "&") {
		if field == "" {
			continue
		}
		if len(pairs) == MaxPairs {
			return nil, ErrTooManyPairs
		}
		key, value, _ := strings.Cut(field, "=")
		key, keyErr := url.QueryUnescape(key)
		value, valueErr := url.QueryUnescape(value)
		if keyErr != nil || valueErr != nil {
			// The cause is left out: it quotes the bytes it could not read.
			return nil, fmt.Errorf("unreadable percent-encoding in field %d", len(pairs)+1)
		}
		pairs = append(pairs, Pair{key, value})
	}
	return pairs, nil
}

// Tree puts the fields together by the rules above; without fields it returns
// an empty map. It refuses more than MaxPairs fields, a key of more than
// MaxDepth brackets, and a key given both as a value and as a container.
func Tree(pairs []Pair) (map[string]any, error) {
	if len(pairs) > MaxPairs {
		return nil, ErrTooManyPairs
	}
	root := &node{members: map[string]*node{}}
	for _, p := range pairs {
		if p.Key == "" {
			continue
		}
		if err := root.put(p); err != nil {
			return nil, err
		}
	}
	return root.object(), nil
}

// A node is a leaf while members is nil, else a container.
type node struct {
	text     string
	appended bool // last written with empty brackets

	members map[string]*node
	next    int  // the index empty brackets take
	named   bool // some member is not an index

	index int // in its container, as long as that is a list
}

// put writes one field into the tree below n.
func (n *node) put(p Pair) error {
	path := split(p.Key)
	if len(path) > 1+MaxDepth {
		return fmt.Errorf("field %s: %w", echo(p.Key), ErrTooDeep)
	}
	end := -len("[]") // of the part in p.Key; the name has no brackets around it
	for i, part := range path {
		end += len(part) + len("[]")
		leaf := i == len(path)-1
		child, known := n.member(part)
		switch {
		case !known && !leaf:
			child.members = map[string]*node{}
		case leaf != (child.members == nil):
			return fmt.Errorf("field %s: %w", echo(p.Key[:end]), errTwoShapes)
		}
		n = child
	}
	n.text = p.Value
	return nil
}

// member finds the member that a bracket means, or makes it.
func (n *node) member(part string) (child *node, known bool) {
	index, isIndex := parseIndex(part)
	appended := part == ""
	if appended {
		index, isIndex = n.next, true
		part = strconv.Itoa(index)
	}
	if isIndex {
		n.next = max(n.next, index+1)
	} else {
		n.named = true
	}
	child, known = n.members[part]
	if !known {
		child = &node{index: index}
		n.members[part] = child
	}
	child.appended = appended
	return child, known
}

// value is what encoding/json would have returned for n.
func (n *node) value() any {
	switch {
	case n.members == nil:
		return n.text
	case n.named:
		return n.object()
	}
	nodes := slices.SortedFunc(maps.Values(n.members), func(a, b *node) int { return cmp.Compare(a.index, b.index) })
	if first := nodes[0]; len(nodes) == 1 && first.appended && first.members == nil && first.text == "" {
		return []any{}
	}
	list := make([]any, len(nodes))
	for i, m := range nodes {
		list[i] = m.value()
	}
	return list
}

func (n *node) object() map[string]any {
	object := make(map[string]any, len(n.members))
	for name, m := range n.members {
		object[name] = m.value()
	}
	return object
}

// split takes a key apart: the name, then what stands in each bracket. A key of
// another form comes back whole. Past MaxDepth it stops collecting, but reads
// on, because only the end tells whether the brackets are well formed.
func split(key string) []string {
	name, rest, _ := strings.Cut(key, "[")
	inside, closed := strings.CutSuffix(rest, "]")
	if !closed || name == "" || strings.Contains(name, "]") {
		return []string{key}
	}
	path := []string{name}
	for part := range strings.SplitSeq(inside, "][") {
		if strings.ContainsAny(part, "[]") {
			return []string{key}
		}
		if len(path) <= 1+MaxDepth {
			path = append(path, part)
		}
	}
	return path
}

// parseIndex accepts the one spelling each index has, so that two names never
// mean the same element.
func parseIndex(s string) (index int, ok bool) {
	if len(s) > maxIndexDigits {
		return 0, false
	}
	index, err := strconv.Atoi(s)
	return index, err == nil && index >= 0 && strconv.Itoa(index) == s
}

// echo quotes the beginning of a key for an error.
func echo(key string) string {
	n := 0
	for i := range key {
		if n == maxEcho {
			return strconv.Quote(key[:i]) + "…"
		}
		n++
	}
	return strconv.Quote(key)
}
