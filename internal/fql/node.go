package fql

import (
	"encoding/json"
	"errors"
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

var (
	errDeep  = errors.New("it is nested too deeply")
	errTwice = errors.New("a key is given twice in one object")
)

// maxDepth is more than the grammar can use; it keeps the reader's recursion small.
const maxDepth = 16

func readJSON(text string) (node, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	n, err := readNode(d, 0)
	if err != nil {
		return node{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return node{}, errors.New("something follows the array")
	}
	return n, nil
}

func readNode(d *json.Decoder, depth int) (node, error) {
	if depth > maxDepth {
		return node{}, errDeep
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
				return node{}, errTwice
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
