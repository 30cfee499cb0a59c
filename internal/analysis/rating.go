package analysis

import "slices"

// fewForRating is in how short a sentence "3/10" is taken for a rating; in longer ones it may be a date.
const fewForRating = 8 // tokens

// dated are words after which two numbers are a date.
var dated = []string{"am", "au", "al", "by", "bis", "dal", "del", "desde", "du", "el", "from", "il", "le", "on", "seit", "since", "the", "to", "until", "vom", "zum"}

// rating weighs "9/10": a number out of five, ten, twenty or a hundred that is not in the middle. Full marks and none at all are
// clear by themselves.
func (r *reader) rating(s sentence, i int) int {
	t := &r.tokens[i]
	if t.kind != number || i > s.from && slices.Contains(dated, r.tokens[i-1].low) {
		return 0
	}
	n, of := fraction(t.low)
	if of != 5 && of != 10 && of != 20 && of != 100 || n > of {
		return 0
	}
	if n != 0 && n != of && s.to-s.from > fewForRating {
		return 0
	}
	switch percent := n * 100 / of; {
	case percent >= 90:
		return 400
	case percent >= 75:
		return 250
	case percent <= 20:
		return -400
	case percent <= 45:
		return -250
	default:
		return 0
	}
}

// fraction reads "n/of"; of is zero for anything else.
func fraction(text string) (n, of int) {
	slash := false
	for _, c := range text {
		switch {
		case c == '/' && !slash:
			slash = true
		case c < '0' || c > '9' || n > 100 || of > 100:
			return 0, 0
		case slash:
			of = of*10 + int(c-'0')
		default:
			n = n*10 + int(c-'0')
		}
	}
	return n, of
}
