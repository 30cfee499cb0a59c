package fql

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Error says which clause of a query is wrong, how, and what would be right. It repeats names, never values: they may be personal.
type Error struct {
	Clause  string // such as "clause 2" or "clause 2.1"; empty when the whole is at fault
	Problem string // a sentence without its full stop
}

func (e *Error) Error() string {
	if e.Clause == "" {
		return "The filter " + e.Problem
	}
	return "In " + e.Clause + " of the filter, " + e.Problem
}

// Parse reads a query. An empty text, null and [] match everything; whatever is wrong comes back as an *Error.
func (l Language) Parse(text string) (Query, error) {
	if len(text) > MaxLength {
		return Query{}, refuse("is longer than %d bytes", MaxLength)
	}
	if strings.TrimSpace(text) == "" {
		return Query{}, nil
	}
	if !utf8.ValidString(text) {
		return Query{}, refuse("is not valid UTF-8")
	}
	root, err := readJSON(text)
	switch {
	case err != nil:
		return Query{}, refuse("%v", err)
	case !root.isList && !root.isObj && root.scalar == nil:
		return Query{}, nil
	case root.isObj:
		return Query{}, refuse("must be an array of clauses, not an object; put it into brackets")
	case !root.isList:
		return Query{}, refuse("must be an array of clauses such as [{\"Status\": {\"$eq\": \"todo\"}}], not %s", root.is())
	}
	p := &parser{language: l}
	var groups [][]Condition
	for i, m := range root.list {
		group, err := p.member(fmt.Sprintf("clause %d", i+1), m)
		if err != nil {
			return Query{}, err
		}
		groups = append(groups, group)
	}
	if p.conditions > MaxConditions {
		return Query{}, refuse("has %d conditions; at most %d are accepted", p.conditions, MaxConditions)
	}
	if !p.any && len(groups) > 0 {
		groups = [][]Condition{slices.Concat(groups...)}
	}
	// One group alone means the same either way.
	return Query{Any: p.any && len(groups) > 1, Groups: groups}, nil
}

func refuse(format string, args ...any) error { return &Error{Problem: fmt.Sprintf(format, args...)} }

type parser struct {
	language   Language
	any        bool
	conditions int
}

// member reads a clause, or a group of them.
func (p *parser) member(at string, n node) ([]Condition, error) {
	if n.isObj {
		return p.object(at, n)
	}
	if !n.isList {
		return nil, wrong(at, "there must be a clause (an object) or a group (an array of clauses), not %s", n.is())
	}
	if len(n.list) == 0 {
		return nil, wrong(at, "the group is empty; leave it out, or put a clause into it")
	}
	var group []Condition
	for i, m := range n.list {
		where := fmt.Sprintf("%s.%d", at, i+1)
		if !m.isObj {
			return nil, wrong(where, "there must be a clause (an object), not %s", m.is())
		}
		conditions, err := p.object(where, m)
		if err != nil {
			return nil, err
		}
		group = append(group, conditions...)
	}
	return group, nil
}

// object reads one or more selectors. The name of an attribute or the id of a question may stand beside its selector.
func (p *parser) object(at string, n node) ([]Condition, error) {
	beside := map[string]node{}
	var clauses []member
	for _, m := range n.members {
		if key := strings.ToLower(m.name); (key == "name" || key == "id") && !m.value.isObj && len(n.members) > 1 {
			beside[key] = m.value
			continue
		}
		clauses = append(clauses, m)
	}
	if len(clauses) == 0 {
		return nil, wrong(at, "the clause is empty; it needs a selector with an operator, such as {\"Status\": {\"$eq\": \"todo\"}}")
	}
	var group []Condition
	used := map[string]bool{}
	for _, m := range clauses {
		conditions, took, err := p.clause(at, m, beside)
		if err != nil {
			return nil, err
		}
		used[took] = true
		group = append(group, conditions...)
	}
	// What nobody took was meant for something: leaving it out would match more than was asked for.
	if _, given := beside["name"]; given && !used["name"] {
		return nil, wrong(at, "the key name is for an Attribute that has no name inside, and there is none")
	}
	if _, given := beside["id"]; given && !used["id"] {
		return nil, wrong(at, "the key id is for a Question that has no id inside, and there is none; the id of feedback is asked for as in {\"Id\": {\"$eq\": 453}}")
	}
	return group, nil
}

// clause reads a selector and its operators; took says which of those beside it the selector took, if any.
func (p *parser) clause(at string, m member, beside map[string]node) (conditions []Condition, took string, err error) {
	sel, ok := findSelector(m.name)
	if !ok {
		return nil, "", wrong(at, "%s is no selector%s; the selectors are %s", quote(m.name), didYouMean(m.name, selectorNames()), strings.Join(canonicalNames(), ", "))
	}
	if !m.value.isObj {
		return nil, "", wrong(at, "%s needs an object with an operator, such as {%q: %s}, not %s", sel.name, sel.name, p.language.example(sel), m.value.is())
	}
	at += " (" + sel.name + ")"
	body, c := m.value.members, Condition{Field: sel.field}
	if normal(m.name) == "attributevalues" {
		if body, c.Name, err = attributeValues(at, body); err != nil {
			return nil, "", err
		}
	}
	ops, inside, err := c.parts(at, &sel, body)
	if err != nil {
		return nil, "", err
	}
	if took, err = c.take(at, inside, beside); err != nil {
		return nil, "", err
	}
	for _, o := range ops {
		if isType(o) {
			if err := p.readType(at, o.value); err != nil {
				return nil, "", err
			}
			continue
		}
		full, err := p.operator(at, sel, c, o)
		if err != nil {
			return nil, "", err
		}
		conditions = append(conditions, full)
	}
	if len(conditions) == 0 {
		return nil, "", wrong(at, "there is no operator; %s takes %s", sel.spoken(), strings.Join(sel.ops, ", "))
	}
	p.conditions += len(conditions)
	return conditions, took, nil
}

// parts tells the operators of a clause, and $type, from what names its attribute or question. Topics are meant by id when the operators
// stand within one.
func (c *Condition) parts(at string, sel *selector, body []member) (ops []member, inside map[string]node, err error) {
	inside = map[string]node{}
	for _, o := range body {
		key := strings.ToLower(o.name)
		switch {
		case key == "name" && c.Field == Attribute && c.Name == "", key == "id" && c.Field == Question:
			inside[key] = o.value
		case (key == "id" || key == "name") && sel.field == Topic:
			if err := alone(at, key, o.value, body); err != nil {
				return nil, nil, err
			}
			if key == "id" {
				*sel, c.Field = topicID, TopicID
			}
			ops = append(ops, o.value.members...)
		default:
			ops = append(ops, o)
		}
	}
	return ops, inside, nil
}

// alone refuses what would mix names and ids of topics in one clause.
func alone(at, key string, n node, body []member) error {
	if !n.isObj {
		return wrong(at, "%s needs an object with an operator, such as {\"Topic\": {\"id\": {\"$eq\": 7}}}, not %s", key, n.is())
	}
	for _, m := range body {
		if !isType(m) && !strings.EqualFold(m.name, key) {
			return wrong(at, "%s stands alone in its clause; write another clause for what is beside it", key)
		}
	}
	return nil
}

func isType(m member) bool { return strings.EqualFold(m.name, "$type") }

// take gives an attribute its name and a question its id, from inside the clause or else from beside it; took is then the key.
func (c *Condition) take(at string, inside, beside map[string]node) (took string, err error) {
	find := func(key string) node {
		n, ok := inside[key]
		if !ok {
			n, took = beside[key], key
		}
		return n
	}
	switch c.Field {
	case Attribute:
		if c.Name == "" {
			c.Name, err = attributeName(at, find("name"), `{"Attribute": {"name": "city", "$eq": "Lyon"}}`)
		}
	case Question:
		text, _ := find("id").text()
		id, ok := readWhole(text)
		if !ok || id < 1 {
			err = wrong(at, "the id of the question is missing or no positive whole number; it is given as in {\"Question\": {\"id\": 12, \"$gte\": 9}}")
		}
		c.Question = id
	default:
	}
	return took, err
}

func attributeName(at string, n node, example string) (string, error) {
	text, _ := n.text()
	switch text = strings.TrimSpace(text); {
	case text == "":
		return "", wrong(at, "the name of the attribute is missing or no text; it is given as in %s", example)
	case strings.ContainsRune(text, 0):
		return "", wrong(at, "the name of the attribute has a NUL character, which no attribute has")
	}
	return text, nil
}

func (p *parser) readType(at string, n node) error {
	switch n.scalar {
	case "and":
	case "or":
		p.any = true
	default:
		return wrong(at, "$type must be \"and\" or \"or\"")
	}
	return nil
}

// attributeValues reads {"attribute": {"name": {"$eq": …}}, "value": {…}} into the operators and the name.
func attributeValues(at string, body []member) ([]member, string, error) {
	const good = `{"attribute_values": {"attribute": {"name": {"$eq": "city"}}, "value": {"$eq": "Lyon"}}}`
	var ops []member
	var attribute node
	for _, m := range body {
		switch strings.ToLower(m.name) {
		case "attribute":
			attribute = m.value
			for _, step := range []string{"name", "$eq"} {
				if len(attribute.members) > 1 {
					return nil, "", wrong(at, "attribute takes a name with $eq and nothing else, as in %s", good)
				}
				if len(attribute.members) == 1 && strings.EqualFold(attribute.members[0].name, step) {
					attribute = attribute.members[0].value
				}
			}
		case "value":
			if !m.value.isObj {
				return nil, "", wrong(at, "value needs an object with an operator, as in %s, not %s", good, m.value.is())
			}
			ops = append(ops, m.value.members...)
		case "$type":
			ops = append(ops, m)
		default:
			return nil, "", wrong(at, "attribute_values does not take %s; it takes attribute and value, as in %s", quote(m.name), good)
		}
	}
	name, err := attributeName(at, attribute, good)
	return ops, name, err
}

// operator reads one operator and its value into a condition.
func (p *parser) operator(at string, sel selector, c Condition, m member) (Condition, error) {
	op := strings.ToLower(m.name)
	if !slices.Contains(sel.ops, op) {
		return c, wrong(at, "%s does not take %s%s; it takes %s", sel.spoken(), quote(m.name), didYouMean(op, sel.ops), strings.Join(sel.ops, ", "))
	}
	list, isList := []node{m.value}, m.value.isList
	if isList {
		list = m.value.list
	}
	switch op {
	case "$exists":
		c.Op = Exists
		yes, ok := m.value.scalar.(bool)
		if !ok {
			return c, wrong(at, "$exists takes true or false, not %s", m.value.is())
		}
		c.Negative = !yes
		return c, nil
	case "$eq", "$in":
		c.Op = In
	case "$ne", "$nin":
		c.Op, c.Negative = In, true
	case "$like":
		c.Op = Like
	case "$nlike":
		c.Op, c.Negative = Like, true
	case "$btw":
		c.Op = Between
		if !isList || len(list) != 2 {
			return c, wrong(at, "$btw takes a list of two values, the lower and the upper end")
		}
	default:
		c.Op = map[string]Op{"$gt": Above, "$gte": AtLeast, "$lt": Below, "$lte": AtMost}[op]
		if isList {
			return c, wrong(at, "%s takes one value, not a list", op)
		}
	}
	c.Values = make([]Value, len(list))
	for i, n := range list {
		v, problem := p.language.readValue(sel, c.Op, op, n)
		if problem != "" {
			return c, wrong(at, "%s %s%s", op, problem, hint(sel, n, i, len(list)))
		}
		c.Values[i] = v
	}
	return c, nil
}

// hint says which value of a list was refused, and what to ask instead of comparing with null.
func hint(sel selector, n node, i, of int) string {
	switch {
	case n.is() == "null" && slices.Contains(sel.ops, "$exists"):
		return "; for what has no value there is {\"$exists\": false}"
	case of > 1:
		return fmt.Sprintf("; value %d of the list is at fault", i+1)
	}
	return ""
}
