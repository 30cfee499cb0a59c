package fqltest

import (
	"slices"
	"strings"
	"time"
)

// What a selector accepts.

func wholeNumber(_ string, o operand) bool { return whole(o.number) }

func text(_ string, o operand) bool { return o.quoted }

func textOrNumber(operator string, o operand) bool {
	return !slices.Contains(ordering, operator) || o.number != nil
}

func percentage(_ string, o operand) bool {
	return o.number != nil && o.number.Cmp(integer(0)) >= 0 && o.number.Cmp(integer(100)) <= 0
}

func feeling(operator string, o operand) bool {
	return percentage(operator, o) || slices.Contains(equality, operator) && slices.Contains(profiles, strings.ToLower(o.text))
}

func profile(_ string, o operand) bool {
	return o.quoted && slices.Contains(profiles, canonicalProfile(o.text))
}

func moment(operator string, o operand) bool {
	anywhen := clock{time.Unix(0, 0).UTC(), time.UTC}
	if _, ok := anywhen.period(o.text); ok {
		return o.quoted && (operator == "$eq" || operator == "$in")
	}
	_, ok := anywhen.span(o.text)
	return o.quoted && ok
}

var profiles = []string{"positive", "neutral", "negative"}

func canonicalProfile(name string) string {
	switch name = strings.ToLower(name); name {
	case "promoter":
		return "positive"
	case "passive":
		return "neutral"
	case "detractor":
		return "negative"
	default:
		return name
	}
}

// How a value compares with an operand.

func byNumber(v value, o operand, _ clock) (int, bool) { return compare(v.number, o.number) }

func sameNumber(v value, o operand, _ clock) bool {
	order, ok := compare(v.number, o.number)
	return ok && order == 0
}

func sameText(v value, o operand, _ clock) bool { return v.text == o.text }

func sameName(v value, o operand, _ clock) bool {
	return strings.ToLower(v.text) == strings.ToLower(o.text) //nolint:staticcheck // EqualFold folds more than case
}

func sameProfile(v value, o operand, _ clock) bool {
	return canonicalProfile(v.text) == canonicalProfile(o.text)
}

// sameFeeling puts the border scores 40 and 60 into the lower label.
func sameFeeling(v value, o operand, at clock) bool {
	label := "positive"
	switch {
	case v.number.Cmp(integer(40)) <= 0:
		label = "negative"
	case v.number.Cmp(integer(60)) <= 0:
		label = "neutral"
	}
	return strings.ToLower(o.text) == label || sameNumber(v, o, at)
}

// sameAnswer compares scores as numbers and everything else, plain numbers too, as text.
func sameAnswer(v value, o operand, at clock) bool {
	if scored(v.kind) {
		return sameNumber(v, o, at)
	}
	return sameText(v, o, at)
}

func sameMoment(v value, o operand, at clock) bool {
	s, ok := at.period(o.text)
	if !ok {
		s, _ = at.span(o.text)
	}
	return s.order(v.time) == 0
}

func byMoment(v value, o operand, at clock) (int, bool) {
	s, ok := at.span(o.text)
	return s.order(v.time), ok
}
