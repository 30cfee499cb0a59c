package fql

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// node is a JSON value that keeps the order of its members, so that a query reads back in the order it was written.
type node struct {
	scalar  any // string, json.Number, bool or nil, when it is neither list nor object
	list    []node
	members []member
	isList  bool
	isObj   bool
}

type member struct {
	name  string
	value node
}

// unreadable is JSON that is no query whatever stands in it. The text is the rest of a sentence about the filter.
type unreadable string

func (u unreadable) Error() string { return string(u) }

// maxDepth is more than the grammar can use; it keeps the reader's recursion small.
const maxDepth = 16

func readJSON(text string) (node, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	n, err := readNode(d, 0)
	if err == nil {
		end := d.InputOffset()
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return n, nil
		}
		return node{}, unreadable(fmt.Sprintf("ends at byte %d, but there is more text behind it", end))
	}
	if reason, ok := errors.AsType[unreadable](err); ok {
		return node{}, reason
	}
	return node{}, unreadable(fmt.Sprintf("is not valid JSON: it breaks off or goes wrong after byte %d; "+
		`a filter is an array of clauses such as [{"Status": {"$eq": "todo"}}]`, d.InputOffset()))
}

func readNode(d *json.Decoder, depth int) (node, error) {
	if depth > maxDepth {
		return node{}, unreadable("is nested too deeply; a filter is an array of clauses and of groups of clauses, and goes no deeper")
	}
	token, err := d.Token()
	if err != nil {
		return node{}, err
	}
	switch token {
	case json.Delim('['):
		n := node{isList: true}
		for d.More() {
			member, err := readNode(d, depth+1)
			if err != nil {
				return node{}, err
			}
			n.list = append(n.list, member)
		}
		_, err := d.Token()
		return n, err
	case json.Delim('{'):
		n := node{isObj: true}
		seen := map[string]bool{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return node{}, err
			}
			name, _ := key.(string)
			if seen[name] {
				return node{}, unreadable(fmt.Sprintf("gives %s twice in one object, at byte %d; give several values as a list, "+
					"and another condition as another clause", keyword(name), d.InputOffset()))
			}
			seen[name] = true
			value, err := readNode(d, depth+1)
			if err != nil {
				return node{}, err
			}
			n.members = append(n.members, member{name, value})
		}
		_, err := d.Token()
		return n, err
	}
	return node{scalar: token}, nil
}

// text is a string or a number as its text.
func (n node) text() (string, bool) {
	switch v := n.scalar.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// unlike says what a refused node is where numbers are wanted, without repeating it; misfit is what to call a number.
func (n node) unlike(misfit string) string {
	switch n.scalar.(type) {
	case string:
		return "a text that spells none"
	case json.Number:
		return misfit
	}
	return n.is()
}

// is says what a node is, for a sentence.
func (n node) is() string {
	switch {
	case n.isList:
		return "a list"
	case n.isObj:
		return "an object"
	}
	switch n.scalar.(type) {
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	}
	return "null"
}
