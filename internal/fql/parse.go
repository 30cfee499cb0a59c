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
	case err == errDeep || err == errTwice: //nolint:errorlint // ours, never wrapped
		return Query{}, refuse("cannot be read: %v", err)
	case err != nil:
		return Query{}, refuse("is not valid JSON; it is an array of clauses such as [{\"Status\": {\"$eq\": \"todo\"}}]")
	case !root.isList && !root.isObj && root.scalar == nil:
		return Query{}, nil
	case !root.isList:
		return Query{}, refuse("must be an array of clauses, not %s", root.is())
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
	used := false
	for _, m := range clauses {
		conditions, took, err := p.clause(at, m, beside)
		if err != nil {
			return nil, err
		}
		used = used || took
		group = append(group, conditions...)
	}
	if len(beside) > 0 && !used {
		return nil, wrong(at, "name and id belong to Attribute and Question, which are not there")
	}
	return group, nil
}

// clause reads a selector and its operators; took says that it took what stood beside it.
func (p *parser) clause(at string, m member, beside map[string]node) (conditions []Condition, took bool, err error) {
	sel, ok := findSelector(m.name)
	if !ok {
		return nil, false, wrong(at, "%s is no selector%s; the selectors are %s", quote(m.name), didYouMean(m.name, selectorNames()), strings.Join(canonicalNames(), ", "))
	}
	if !m.value.isObj {
		return nil, false, wrong(at, "%s needs an object with an operator, such as {%q: %s}, not %s", sel.name, sel.name, example(sel), m.value.is())
	}
	at += " (" + sel.name + ")"
	body, c := m.value.members, Condition{Field: sel.field}
	if normal(m.name) == "attributevalues" {
		if body, c.Name, err = attributeValues(at, body); err != nil {
			return nil, false, err
		}
	}
	var ops []member
	for _, o := range body {
		key := strings.ToLower(o.name)
		switch {
		case key == "$type":
			if err := p.readType(at, o.value); err != nil {
				return nil, false, err
			}
		case key == "name" && sel.field == Attribute && c.Name == "":
			beside = map[string]node{"name": o.value}
		case key == "id" && sel.field == Question:
			beside = map[string]node{"id": o.value}
		case (key == "id" || key == "name") && sel.field == Topic && o.value.isObj:
			if key == "id" {
				sel, c.Field = topicID, TopicID
			}
			ops = append(ops, o.value.members...)
		default:
			ops = append(ops, o)
		}
	}
	took, err = c.take(at, beside)
	if err != nil {
		return nil, false, err
	}
	for _, o := range ops {
		if strings.EqualFold(o.name, "$type") {
			if err := p.readType(at, o.value); err != nil {
				return nil, false, err
			}
			continue
		}
		full, err := p.operator(at, sel, c, o)
		if err != nil {
			return nil, false, err
		}
		conditions = append(conditions, full)
	}
	if len(conditions) == 0 {
		return nil, false, wrong(at, "there is no operator; %s takes %s", sel.name, strings.Join(sel.ops, ", "))
	}
	p.conditions += len(conditions)
	return conditions, took, nil
}

// take gives an attribute its name and a question its id.
func (c *Condition) take(at string, beside map[string]node) (bool, error) {
	switch c.Field {
	case Attribute:
		if c.Name != "" {
			return false, nil
		}
		text, ok := beside["name"].text()
		if c.Name = strings.TrimSpace(text); !ok || c.Name == "" {
			return false, wrong(at, "the name of the attribute is missing: {\"Attribute\": {\"name\": \"city\", \"$eq\": \"Lyon\"}}")
		}
		return true, nil
	case Question:
		text, _ := beside["id"].text()
		id, ok := readWhole(text)
		if !ok || id < 1 {
			return false, wrong(at, "the id of the question is missing: {\"Question\": {\"id\": 12, \"$gte\": 9}}")
		}
		c.Question = id
		return true, nil
	default:
		return false, nil
	}
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
	var ops []member
	var attribute string
	for _, m := range body {
		switch strings.ToLower(m.name) {
		case "attribute":
			n := m.value
			for _, step := range []string{"name", "$eq"} {
				if i := slices.IndexFunc(n.members, func(m member) bool { return strings.EqualFold(m.name, step) }); i >= 0 {
					n = n.members[i].value
				}
			}
			text, _ := n.text()
			attribute = strings.TrimSpace(text)
		case "value":
			ops = append(ops, m.value.members...)
		case "$type":
			ops = append(ops, m)
		default:
			return nil, "", wrong(at, "%s is not known here; attribute_values takes attribute and value", quote(m.name))
		}
	}
	if attribute == "" {
		return nil, "", wrong(at, "the name of the attribute is missing: {\"attribute_values\": {\"attribute\": {\"name\": {\"$eq\": \"city\"}}, \"value\": {\"$eq\": \"Lyon\"}}}")
	}
	return ops, attribute, nil
}

// operator reads one operator and its value into a condition.
func (p *parser) operator(at string, sel selector, c Condition, m member) (Condition, error) {
	op := strings.ToLower(m.name)
	if !slices.Contains(sel.ops, op) {
		return c, wrong(at, "%s does not take %s%s; it takes %s", sel.name, quote(m.name), didYouMean(op, sel.ops), strings.Join(sel.ops, ", "))
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
			return c, wrong(at, "%s %s", op, problem)
		}
		c.Values[i] = v
	}
	return c, nil
}
