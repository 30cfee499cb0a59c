package analysis

// judge scores the sentences of a text.
func (r *reader) judge(lang Language, sentences []sentence) {
	v := vocabularies()[lang]
	r.known = v.look(r.tokens, r.known)
	r.scores = r.scores[:0]
	for _, s := range sentences {
		r.find(v, s)
		r.scores = append(r.scores, score(r.weigh(s)))
	}
	r.lean(sentences)
}

// weigh adds up what a sentence says, in hundredths: below zero it is bad.
func (r *reader) weigh(s sentence) int {
	if len(r.findings) == 0 {
		return 0
	}
	asked := r.asks(s)
	for i := range r.findings {
		r.exceed(i, s)
	}
	for i := range r.findings {
		switch f := &r.findings[i]; f.role {
		case measure:
			f.role = judgement
			r.turnAndGrade(i)
		case judgement, solved:
			r.turnAndGrade(i)
		default:
		}
	}
	if !asked {
		r.unspent()
	}
	r.mock(s)
	firm, loose := r.sum()
	if asked {
		loose = loose * questioned(loose) / 100
	}
	total := firm + loose
	if n := r.exclaims(s); n > 0 && !asked {
		total += total * 10 * n / 100
	}
	return total
}

// questioned is how much of a judgement is meant in a question, in percent.
func questioned(loose int) int {
	if loose > 0 {
		return 35
	}
	return 50
}

// asks reports whether a sentence ends in a question mark.
func (r *reader) asks(s sentence) bool {
	for i := s.to - 1; i >= s.from; i-- {
		t := &r.tokens[i]
		if t.kind == mark && (t.char == '?' || t.char == '？') {
			return true
		}
		if t.kind != mark && t.kind != symbol {
			return false
		}
	}
	return false
}

// exclaims counts the exclamation marks of a sentence, up to three.
func (r *reader) exclaims(s sentence) (n int) {
	for i := s.to - 1; i >= s.from && n < 3; i-- {
		if c := r.tokens[i].char; c == '!' || c == '！' {
			n++
		}
	}
	return n
}

// exceed weighs "too long": a measure, or whatever follows a word that means too much, unless that is praise.
func (r *reader) exceed(i int, s sentence) {
	f := &r.findings[i]
	if f.role != excess && f.role != overmuch {
		return
	}
	if i+1 < len(r.findings) && r.findings[i+1].from == f.to {
		next := &r.findings[i+1]
		switch {
		case next.role == measure:
			next.role, next.value, next.negated = judgement, -200, 50
		case next.role == judgement && next.weight < 0:
			next.value = min(next.value-50, -200)
		case next.role == judgement && next.weight == 0 && f.role == excess:
			next.value, next.negated = -200, 50
		}
		return
	}
	if f.role == excess && f.to < s.to && r.tokens[f.to].kind == word {
		f.role, f.value, f.negated = judgement, -200, 50
	}
}

// mock turns praise at the beginning that is followed by nothing but blame: "Great, another delay".
func (r *reader) mock(s sentence) {
	f := &r.findings[0]
	if !f.opener || f.value <= 0 || f.from != s.from || f.to >= s.to {
		return
	}
	if f.to == f.from+1 && r.tokens[f.to].kind != mark {
		return // "Great food": no more than praise
	}
	rest := 0
	for _, n := range r.findings[1:] {
		switch {
		case n.role == contrast, n.role == solved, n.role == judgement && n.value > 0:
			return
		case n.role == again:
			rest -= 100
		}
		rest += n.value
	}
	if rest <= -150 {
		f.value = -f.value
	}
}
