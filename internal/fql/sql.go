package fql

import "strings"

// SQL combines a query into one boolean expression. leaf renders a positive condition, binding its values; it is called once for each
// condition in order, so that the text depends on nothing but the query's shape and what leaf makes of it. An empty query is TRUE.
func (q Query) SQL(leaf func(Condition) (string, error)) (string, error) {
	if q.Everything() {
		return "TRUE", nil
	}
	groups := make([]string, len(q.Groups))
	for i, group := range q.Groups {
		parts := make([]string, len(group))
		for j, c := range group {
			positive := c
			positive.Negative = false
			text, err := leaf(positive)
			if err != nil {
				return "", err
			}
			if c.Negative {
				text = "(" + text + ")" + c.complement()
			}
			parts[j] = text
		}
		groups[i] = strings.Join(parts, " AND ")
	}
	if len(groups) == 1 {
		return groups[0], nil
	}
	return "((" + strings.Join(groups, ") OR (") + "))", nil
}

// complement makes a negative of a positive. What was not measured is neither, so NOT leaves it out; everywhere else a
// record without a value matches a negative.
func (c Condition) complement() string {
	if c.Op != Exists && (c.Field == Satisfaction || c.Field == Sentiment) {
		return " IS FALSE"
	}
	return " IS NOT TRUE"
}
