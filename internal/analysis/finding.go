package analysis

// finding is a word, phrase or mark of a sentence that has a part in its judgement.
type finding struct {
	entry
	from, to int  // tokens
	value    int  // what it weighs here
	spent    bool // a negation that turned something
	closed   bool // begins with a negation of its own: no other turns it
	symbol   bool
}

// judging is what judging a text takes.
type judging struct {
	cut      []sentence
	findings []finding
	scores   []int
	matches  []match
	owned    []bool
}

var comma = entry{role: pause}

// find collects the findings of a sentence, in order. Where several phrases begin with a word, the longest counts.
func (r *reader) find(v *vocabulary, s sentence) {
	r.findings = r.findings[:0]
	for i := s.from; i < s.to; {
		f, found := r.findAt(v, s, i)
		i = f.to
		if !found {
			continue
		}
		switch f.role {
		case degree:
		case paired:
			f.role, f.verb = degree, false
			if r.announced(f.from) {
				f.role, f.verb = negation, true
			}
		default:
			f.value = f.weight
		}
		r.findings = append(r.findings, f)
	}
	for i := range r.findings {
		if f := &r.findings[i]; f.role == degree && f.alone != 0 && !r.grades(i) {
			f.role, f.weight, f.value, f.negated = judgement, f.alone, f.alone, turn(f.alone)
		}
	}
}

// findAt returns what begins at a token, and whether it has a part in the judgement.
func (r *reader) findAt(v *vocabulary, s sentence, i int) (f finding, found bool) {
	t := &r.tokens[i]
	f = finding{from: i, to: i + 1}
	switch t.kind {
	case symbol:
		for f.to < s.to && r.tokens[f.to].kind == symbol && r.tokens[f.to].char == t.char {
			f.to++
		}
		f.symbol = true
		f.entry = entry{weight: emojiWeight(t.char, f.to-i), firm: true}
		if i == s.from && f.to == s.to {
			f.weight *= 2 // all that was said
		}
		return f, f.weight != 0
	case mark:
		f.entry = comma
		return f, isPause(t.char) && (t.char != '-' || t.is(spaced))
	default:
	}
	if e, end := r.longest(v, i, s.to); e != nil {
		f.entry, f.to = *e, end
		f.closed = end > i+1 && r.denies(v, i)
		return f, true
	}
	if w := r.rating(s, i); w != 0 {
		f.entry = entry{weight: w, firm: true}
		return f, true
	}
	f.entry = opposite
	return f, r.known[i][0] == noTerm && v.derived(t)
}

// denies reports whether a token by itself is a negation.
func (r *reader) denies(v *vocabulary, i int) bool {
	e, _ := r.longest(v, i, i+1)
	return e != nil && (e.role == negation || e.role == echo)
}

// grades reports whether something to be graded follows a degree at once.
func (r *reader) grades(i int) bool {
	if i+1 >= len(r.findings) || r.findings[i+1].from != r.findings[i].to {
		return false
	}
	switch next := &r.findings[i+1]; next.role {
	case judgement:
		return next.weight != 0 && !next.symbol
	case degree, measure, solved:
		return true
	default:
		return false
	}
}

// pairing is how far apart the two words of a negation may be.
const pairing = 5

// announced reports whether the first word of a negation was found shortly before a token, with no pause between.
func (r *reader) announced(at int) bool {
	for i := len(r.findings) - 1; i >= 0 && at-r.findings[i].to <= pairing; i-- {
		switch r.findings[i].role {
		case lead:
			return true
		case pause, contrast:
			return false
		default:
		}
	}
	return false
}

// longest returns the longest entry that begins at a token, nil for none, and the token after it.
func (r *reader) longest(v *vocabulary, i, limit int) (*entry, int) {
	r.matches = v.at(r.known, i, limit, r.matches[:0])
	var best *entry
	end := 0
	for _, m := range r.matches {
		if m.end > end {
			best, end = &v.entries[m.value], m.end
		}
	}
	return best, end
}

func isPause(c rune) bool {
	switch c {
	case ',', ';', ':', '(', ')', '-', '–', '—', '/', '"', '.', '!', '?', '…', '、', '，', '；':
		return true
	}
	return false
}
