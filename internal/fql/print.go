package fql

import (
	"bytes"
	"encoding/json"
)

// String is the query in canonical form: one operator a clause, canonical names, $eq for one value and $in for several. Parsing it
// gives the same query back, unless what it spells out makes it longer than MaxLength.
func (q Query) String() string {
	var b bytes.Buffer
	b.WriteByte('[')
	groups := q.Groups
	if !q.Any && len(groups) == 1 {
		q.printGroup(&b, groups[0])
		groups = nil
	}
	for i, group := range groups {
		if i > 0 {
			b.WriteByte(',')
		}
		if len(group) > 1 {
			b.WriteByte('[')
		}
		q.printGroup(&b, group)
		if len(group) > 1 {
			b.WriteByte(']')
		}
	}
	b.WriteByte(']')
	return b.String()
}

func (q Query) printGroup(b *bytes.Buffer, group []Condition) {
	for i, c := range group {
		if i > 0 {
			b.WriteByte(',')
		}
		c.print(b, q.Any)
	}
}

func (c Condition) print(b *bytes.Buffer, or bool) {
	sel := selectorOf(c.Field)
	b.WriteString(`{` + quoteJSON(sel.name) + `:{`)
	switch c.Field {
	case Attribute:
		b.WriteString(`"name":` + quoteJSON(c.Name) + `,`)
	case Question:
		b.WriteString(`"id":` + Value{Text: itoa(c.Question), kind: numberValue}.json() + `,`)
	case TopicID:
		b.WriteString(`"id":{`)
	default:
	}
	b.WriteString(`"` + c.operator() + `":`)
	c.printValues(b)
	if c.Field == TopicID {
		b.WriteByte('}')
	}
	if or {
		b.WriteString(`,"$type":"or"}}`)
	} else {
		b.WriteString(`,"$type":"and"}}`)
	}
}

// operator is the canonical spelling of a condition's comparison.
func (c Condition) operator() string {
	switch c.Op {
	case In:
		switch {
		case len(c.Values) == 1 && c.Negative:
			return "$ne"
		case len(c.Values) == 1:
			return "$eq"
		case c.Negative:
			return "$nin"
		}
		return "$in"
	case Like:
		if c.Negative {
			return "$nlike"
		}
		return "$like"
	case Above:
		return "$gt"
	case AtLeast:
		return "$gte"
	case Below:
		return "$lt"
	case AtMost:
		return "$lte"
	case Between:
		return "$btw"
	default:
		return "$exists"
	}
}

func (c Condition) printValues(b *bytes.Buffer) {
	if c.Op == Exists {
		if c.Negative {
			b.WriteString("false")
		} else {
			b.WriteString("true")
		}
		return
	}
	if len(c.Values) == 1 {
		b.WriteString(c.Values[0].json())
		return
	}
	b.WriteByte('[')
	for i, v := range c.Values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(v.json())
	}
	b.WriteByte(']')
}

func (v Value) json() string {
	if v.kind == numberValue {
		return v.Text
	}
	return quoteJSON(v.Text)
}

func quoteJSON(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always encodes
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
