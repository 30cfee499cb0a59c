package fqltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// A group is a member of the query: clauses that must all match.
type group []clause

// A clause is one selector with its operators.
type clause struct {
	selector  *selector
	name      string   // of the attribute
	id        *big.Rat // of the question
	operators []operator
	or        bool
}

type operator struct {
	name     string
	operands []operand
	exists   bool // what $exists asks for
}

// An operand is a string or a number of the query.
type operand struct {
	text   string // of a number: as spelled
	quoted bool
	number *big.Rat // nil when the text spells none
}

type object = map[string]any

func parse(query string) ([]group, error) {
	decoder := json.NewDecoder(strings.NewReader(query))
	decoder.UseNumber()
	var members []any
	if err := decoder.Decode(&members); err != nil {
		return nil, fmt.Errorf("read query: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the query")
	}
	if members == nil {
		return nil, errors.New("a query is an array")
	}
	groups := make([]group, 0, len(members))
	for i, m := range members {
		objects, ok := m.([]any)
		if !ok {
			objects = []any{m}
		}
		g, err := parseGroup(objects)
		if err != nil {
			return nil, fmt.Errorf("member %d: %w", i, err)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

func parseGroup(objects []any) (group, error) {
	if len(objects) == 0 {
		return nil, errors.New("an empty group")
	}
	var g group
	for _, o := range objects {
		fields, ok := o.(object)
		if !ok {
			return nil, errors.New("a clause is an object")
		}
		clauses, err := parseObject(fields)
		if err != nil {
			return nil, err
		}
		g = append(g, clauses...)
	}
	return g, nil
}

// parseObject reads the selectors of one object. The scalars beside them are the attribute's name and the
// question's id; "id" with an object is the selector Id.
func parseObject(fields object) ([]clause, error) {
	var clauses []clause
	beside := object{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		body, ok := fields[key].(object)
		if ok {
			c, err := parseClause(key, body)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			clauses = append(clauses, c)
			continue
		}
		if key != "name" && key != "id" {
			return nil, fmt.Errorf("%s: not an object", key)
		}
		beside[key] = fields[key]
	}
	if len(clauses) == 0 {
		return nil, errors.New("an object without a selector")
	}
	for i := range clauses {
		if err := clauses[i].qualify(beside); err != nil {
			return nil, err
		}
	}
	return clauses, nil
}

// parseClause reads what stands under one selector, wherever the operators are.
func parseClause(key string, body object) (clause, error) {
	s, err := find(key)
	if err != nil {
		return clause{}, err
	}
	c := clause{selector: s}
	outer, inner := object{}, body
	switch s.name {
	case "attribute_values":
		attribute, _ := body["attribute"].(object)
		name, _ := attribute["name"].(object)
		outer["name"] = name["$eq"]
		inner, err = unwrap(body, "value", "attribute")
	case "Topic":
		if body["id"] != nil {
			c.selector = topicIDs
			inner, err = unwrap(body, "id")
		}
	case "Attribute", "Question":
		key := s.needs
		if body[key] != nil {
			outer[key] = body[key]
			inner = maps.Clone(body)
			delete(inner, key)
		}
	}
	if err != nil {
		return clause{}, err
	}
	if len(outer) > 0 {
		if err := c.qualify(outer); err != nil {
			return clause{}, err
		}
	}
	if err := c.readType(body); err != nil {
		return clause{}, err
	}
	if err := c.readType(inner); err != nil {
		return clause{}, err
	}
	return c, c.readOperators(inner)
}

// unwrap returns the operators kept one level down. Only the other keys named and $type may stand beside them.
func unwrap(body object, key string, others ...string) (object, error) {
	for k := range body {
		if k != key && k != "$type" && !slices.Contains(others, k) {
			return nil, fmt.Errorf("%s has no place here", k)
		}
	}
	inner, ok := body[key].(object)
	if !ok {
		return nil, fmt.Errorf("%s: not an object", key)
	}
	return inner, nil
}

func (c *clause) readType(body object) error {
	switch body["$type"] {
	case nil, "and":
	case "or":
		c.or = true
	default:
		return errors.New("$type is and or or")
	}
	return nil
}

// qualify sets the attribute's name or the question's id unless the clause has it already.
func (c *clause) qualify(given object) error {
	switch {
	case c.selector.needs == "name" && c.name == "":
		c.name, _ = given["name"].(string)
		if c.name == "" {
			return errors.New("an attribute needs its name")
		}
	case c.selector.needs == "id" && c.id == nil:
		id, err := parseOperand(given["id"])
		if err != nil || !whole(id.number) {
			return errors.New("a question needs its id")
		}
		c.id = id.number
	}
	return nil
}

func (c *clause) readOperators(body object) error {
	for _, key := range slices.Sorted(maps.Keys(body)) {
		if key == "$type" {
			continue
		}
		if !slices.Contains(c.selector.operators, key) {
			return fmt.Errorf("no operator %s for %s", key, c.selector.name)
		}
		op, err := c.parseOperator(key, body[key])
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		c.operators = append(c.operators, op)
	}
	if len(c.operators) == 0 {
		return errors.New("a clause without an operator")
	}
	return nil
}

func (c *clause) parseOperator(name string, given any) (operator, error) {
	op := operator{name: name}
	list, isList := given.([]any)
	switch name {
	case "$exists":
		exists, ok := given.(bool)
		if !ok {
			return op, errors.New("not true or false")
		}
		op.exists = exists
		return op, nil
	case "$btw":
		if len(list) != 2 {
			return op, errors.New("not two values")
		}
	case "$gt", "$gte", "$lt", "$lte":
		if isList {
			return op, errors.New("one value, not a list")
		}
	}
	if !isList {
		list = []any{given}
	}
	for _, v := range list {
		o, err := parseOperand(v)
		if err != nil {
			return op, err
		}
		if isLike(name) && o.text == "" {
			return op, errors.New("an empty text")
		}
		if !c.selector.accepts(name, o) {
			return op, fmt.Errorf("%q is no value for %s", o.text, c.selector.name)
		}
		op.operands = append(op.operands, o)
	}
	return op, nil
}

func parseOperand(given any) (operand, error) {
	switch v := given.(type) {
	case string:
		return operand{v, true, parseNumber(v)}, nil
	case json.Number:
		return operand{v.String(), false, parseNumber(v.String())}, nil
	default:
		return operand{}, errors.New("neither a text nor a number")
	}
}

func isLike(operator string) bool { return operator == "$like" || operator == "$nlike" }
