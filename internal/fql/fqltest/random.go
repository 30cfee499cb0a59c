package fqltest

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// World is what Random may speak of, so that queries hit something. A field left empty is spoken of with
// values that hit nothing, Sources and Statuses not at all beyond $exists; Zone must be set.
type World struct {
	IDs, Carriers, Teams      []int64
	Times                     []time.Time // of creation and completion
	Sources, Statuses         []string
	Satisfactions, Sentiments []int // in hundredths
	Attributes                []Attribute
	Topics                    []Topic
	Questions                 []Question
	Owners, Fingerprints      []string
	Words                     []string // of texts, to be found within them
	Now                       time.Time
	Zone                      *time.Location
}

// Question is one a query may ask about, with some of the answers given to it.
type Question struct {
	ID     int64
	Type   string
	Values []string
}

// Random returns a valid query as JSON text, most often of one to four clauses. The same state of r and the
// same world give the same query.
func Random(r *rand.Rand, w World) string {
	g := generator{r, w}
	if g.oneIn(50) {
		return "[]"
	}
	var drafts []*draft
	groups := make([][][]*draft, pick(g, 1, 1, 1, 2, 2, 3))
	for i := range groups {
		groups[i] = make([][]*draft, pick(g, 1, 1, 1, 1, 2))
		for j := range groups[i] {
			groups[i][j] = g.object()
			drafts = append(drafts, groups[i][j]...)
		}
	}
	kinds := []string{"", "", "and"}
	if g.oneIn(3) {
		kinds = append(kinds, "or")
		pick(g, drafts...).kind = "or"
	}
	for _, d := range drafts {
		if d.kind == "" {
			d.kind = pick(g, kinds...)
		}
	}
	members := make([]string, len(groups))
	for i, objects := range groups {
		rendered := make([]string, len(objects))
		for j, o := range objects {
			rendered[j] = g.render(o)
		}
		members[i] = strings.Join(rendered, ",")
		if len(objects) > 1 || g.oneIn(2) {
			members[i] = "[" + members[i] + "]"
		}
	}
	return "[" + strings.Join(members, pick(g, ",", ", ", " ,\n")) + "]"
}

type generator struct {
	*rand.Rand
	world World
}

// A draft is a clause before it is written.
type draft struct {
	selector  *selector
	given     string // the attribute's name or the question's id, as JSON
	beside    bool   // that stands beside the selector, not under it
	operators []string
	kind      string // of $type
}

// object drafts the clauses of one object, each with another selector.
func (g generator) object() []*draft {
	var drafts []*draft
	n := pick(g, 1, 1, 1, 1, 1, 1, 1, 2, 3)
	for len(drafts) < n {
		s := pick(g, selectors...)
		if !slices.ContainsFunc(drafts, func(d *draft) bool { return clash(d.selector.name, s.name) }) {
			drafts = append(drafts, g.clause(s))
		}
	}
	return drafts
}

// clash tells selectors that cannot share an object: their keys would be the same, or one's key the other's
// id.
func clash(a, b string) bool {
	first := func(s string) string { return strings.Fields(s)[0] }
	return first(a) == first(b) || a == "Id" && b == "Question" || a == "Question" && b == "Id"
}

func (g generator) clause(s *selector) *draft {
	d := &draft{selector: s, beside: g.oneIn(2)}
	var operand func(operator string) drawn
	switch s.needs {
	case "name":
		a := g.attribute()
		d.given = quote(a.Name)
		operand = func(operator string) drawn { return g.attributeValue(a, operator) }
	case "id":
		q := g.question()
		d.given = g.whole(q.ID).json
		operand = func(operator string) drawn { return g.answer(q, operator) }
	default:
		operand = g.operands(s.name)
	}
	operators := s.operators
	if s.name == "Source" && len(g.world.Sources) == 0 || s.name == "Status" && len(g.world.Statuses) == 0 {
		operators = presence
	}
	n := min(len(operators), pick(g, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3))
	for _, i := range g.Perm(len(operators))[:n] {
		operator := operators[i]
		d.operators = append(d.operators, pair(operator, g.value(operator, operand)))
	}
	return d
}

// value writes what an operator is given, in each of the forms it allows.
func (g generator) value(operator string, operand func(operator string) drawn) string {
	switch operator {
	case "$exists":
		return pick(g, "true", "false")
	case "$gt", "$gte", "$lt", "$lte":
		return operand(operator).json
	case "$btw":
		a, b := operand(operator), operand(operator)
		if a.rank > b.rank && !g.oneIn(8) {
			a, b = b, a
		}
		return "[" + a.json + "," + b.json + "]"
	}
	if operator == "$eq" || operator == "$ne" {
		if !g.oneIn(5) {
			return operand(operator).json
		}
	} else if g.oneIn(5) {
		return operand(operator).json
	}
	list := make([]string, pick(g, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4))
	for i := range list {
		list[i] = operand(operator).json
	}
	return "[" + strings.Join(list, pick(g, ",", ", ")) + "]"
}

// render writes an object with its keys in any order.
func (g generator) render(drafts []*draft) string {
	var pairs []string
	for _, d := range drafts {
		var body []string
		if d.kind != "" {
			body = append(body, pair("$type", quote(d.kind)))
		}
		switch d.selector.name {
		case "Topic id":
			body = append(body, pair("id", g.braces(d.operators)))
		case "attribute_values":
			body = append(body, pair("attribute", `{"name":{"$eq":`+d.given+`}}`), pair("value", g.braces(d.operators)))
		case "Attribute", "Question":
			body = append(body, d.operators...)
			if d.beside {
				pairs = append(pairs, pair(d.selector.needs, d.given))
			} else {
				body = append(body, pair(d.selector.needs, d.given))
			}
		default:
			body = append(body, d.operators...)
		}
		pairs = append(pairs, pair(g.spell(d.selector), g.braces(body)))
	}
	return g.braces(pairs)
}

func (g generator) braces(pairs []string) string {
	g.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	return "{" + strings.Join(pairs, pick(g, ",", ", ")) + "}"
}

// spell writes a selector's name in one of the ways that mean the same.
func (g generator) spell(s *selector) string {
	if s == topicIDs {
		s, _ = find("Topic")
	}
	name := pick(g, s.names()...)
	switch g.IntN(6) {
	case 0:
		return strings.ToLower(name)
	case 1:
		return strings.ToUpper(name)
	case 2:
		i := g.IntN(len(name))
		return name[:i] + "_" + name[i:]
	case 3:
		return strings.ReplaceAll(name, "_", "")
	default:
		return name
	}
}

func (g generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

func pair(key, json string) string { return quote(key) + ":" + json }

func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings are always JSON
	}
	return string(b)
}
