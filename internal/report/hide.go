package report

import "earshot/internal/feedback"

// Links can ask for a minimum group size: a number below it could point at somebody. This file has the rules for what else must go, because
// it could be told from what stays. docs/reports.md says them for people.

// size is a group as far as hiding goes.
type size struct {
	n     int64 // feedback in it
	parts int64 // how many groups it stands for: more than one for what is shown together anyway
	rest  bool  // it is shown together with what is hidden, whatever its size
}

// leastOf is the smallest group that is shown under a minimum group size; 0 shows all. One is a group like any other, and of two each
// knows the other: two counts as three.
func leastOf(minimum int) int64 {
	switch minimum {
	case 0, 1:
		return 0
	case 2:
		return 3
	}
	return int64(minimum)
}

// hide says which groups must not be told apart: those of fewer feedback than least, and of the others the smallest ones until what is hidden
// cannot be told from its sum, which everybody can take from the total. whole says that nothing of the groups may be shown.
//
// What is hidden has to be several groups with least feedback together. If it were exactly one for each group, or one below least for
// each, whoever knows this rule would know them all; so that needs one group more, too. Groups of the same size go together, or the order of
// groups would tell them apart. Empty groups are no groups.
func hide(groups []size, least int64) (hidden []bool, whole bool) {
	hidden = make([]bool, len(groups))
	var n, parts int64
	take := func(i int) {
		hidden[i] = true
		n, parts = n+groups[i].n, parts+groups[i].parts
	}
	visible := 0
	for i, g := range groups {
		switch {
		case g.n == 0:
		case g.rest || g.n < least:
			take(i)
		default:
			visible++
		}
	}
	if parts == 0 || parts == 1 && n >= least { // nothing small, or a rest that is one large group
		return hidden, false
	}
	for parts < 2 || n < least || n == parts || n == parts*(least-1) {
		var next int64
		for i, g := range groups {
			if !hidden[i] && g.n > 0 && (next == 0 || g.n < next) {
				next = g.n
			}
		}
		if next == 0 {
			return hidden, true
		}
		for i, g := range groups {
			if !hidden[i] && g.n == next {
				take(i)
				visible--
			}
		}
	}
	return hidden, visible == 0
}

// enough reports whether a number tells of nobody: of none, or of at least as many as a link asks for.
func enough(n, least int64) bool { return n == 0 || n >= least }

// tellable reports whether a metric of some feedback may be shown. An average tells of the groups it is made of: a score of 99 of a hundred
// answers is one that was no promoter. So each of them has to be large enough, those without an answer included.
func tellable(s feedback.Sums, m Metric, least int64) bool {
	all := func(parts ...int64) bool {
		rest := s.N
		for _, n := range parts {
			if rest -= n; !enough(n, least) {
				return false
			}
		}
		return enough(rest, least)
	}
	switch m {
	case NPS:
		return all(s.Positive, s.Neutral, s.Negative)
	case Satisfaction:
		return all(s.SatisfactionN)
	case Completion:
		return all(s.CompletedN)
	case Sentiment:
		return all(s.SentimentN)
	default:
		return all()
	}
}
