package fqltest

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A value is one of those a record holds for a selector.
type value struct {
	text   string
	number *big.Rat // nil takes no part in comparing numbers
	time   time.Time
	kind   string // the question's type
}

// matches judges one operator on its own: a positive one needs a value that matches, a negative one is its
// complement, but for scores only among the records that were measured.
func (op operator) matches(s *selector, values []value, at clock) bool {
	switch op.name {
	case "$exists":
		return (len(values) > 0) == op.exists
	case "$ne", "$nin", "$nlike":
		if s.measured && len(values) == 0 {
			return false
		}
		positive := operator{name: map[string]string{"$ne": "$eq", "$nin": "$in", "$nlike": "$like"}[op.name], operands: op.operands}
		return !positive.matches(s, values, at)
	}
	for _, v := range values {
		if op.holds(s, v, at) {
			return true
		}
	}
	return false
}

// holds judges a positive operator for one value.
func (op operator) holds(s *selector, v value, at clock) bool {
	any := func(matches func(operand) bool) bool {
		for _, o := range op.operands {
			if matches(o) {
				return true
			}
		}
		return false
	}
	switch op.name {
	case "$eq", "$in":
		return any(func(o operand) bool { return s.equal(v, o, at) })
	case "$like":
		return any(func(o operand) bool { return strings.Contains(strings.ToLower(v.text), strings.ToLower(o.text)) })
	}
	first, ok := s.order(v, op.operands[0], at)
	if !ok {
		return false
	}
	switch op.name {
	case "$gt":
		return first > 0
	case "$gte":
		return first >= 0
	case "$lt":
		return first < 0
	case "$lte":
		return first <= 0
	case "$btw":
		second, ok := s.order(v, op.operands[1], at)
		return ok && first >= 0 && second <= 0
	default:
		panic("fqltest: operator " + op.name)
	}
}

var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// parseNumber returns nil unless the text is a number in the grammar of JSON that float64 can hold. Numbers
// are kept exactly, so that 66.67 is the 6667 hundredths that are stored.
func parseNumber(text string) *big.Rat {
	if !decimal.MatchString(text) {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	n := new(big.Rat)
	if f == 0 {
		return n // 0e999999999 is not written out
	}
	if _, ok := n.SetString(text); !ok {
		return nil
	}
	return n
}

func integer(i int64) *big.Rat { return big.NewRat(i, 1) }

func hundredths(h int) *big.Rat { return big.NewRat(int64(h), 100) }

func whole(n *big.Rat) bool { return n != nil && n.IsInt() }

// compare says where the first lies from the second, and false if one of them is no number.
func compare(a, b *big.Rat) (int, bool) {
	if a == nil || b == nil {
		return 0, false
	}
	return a.Cmp(b), true
}
