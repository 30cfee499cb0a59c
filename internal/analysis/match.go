package analysis

import "strings"

// look finds the terms of every token.
func (p *phrases) look(tokens []token, into []terms) []terms {
	into = into[:0]
	for i := range tokens {
		into = append(into, p.lookUp(&tokens[i]))
	}
	return into
}

func (p *phrases) lookUp(t *token) (out terms) {
	if t.kind == number {
		n := 0
		if term, found := p.whole[t.low]; found {
			out[n] = term
			n++
		}
		out[n] = numberTerm
		return out
	}
	if t.kind != word {
		out[0] = markTerm
		if t.char == ',' {
			out[0] = commaTerm
		}
		return out
	}
	if len(t.text) > maxWord {
		return out
	}
	n := p.spellings(t.text, t.stem, &out)
	if n == 0 && len(t.text) >= minTypo || t.is(elongated) {
		n = p.forgiven(t, n, &out)
	}
	if p.numbers[t.text] && n < len(out) {
		out[n] = numberTerm
	}
	return out
}

// forgiven looks a word up as if its letters were single: it was lengthened, or mistyped.
func (p *phrases) forgiven(t *token, n int, out *terms) int {
	var buf [maxWord]byte
	key := t.text
	if letters := single(buf[:0], t.text); len(letters) < len(key) {
		key = string(letters)
	}
	if t.is(elongated) {
		short, _ := stem(key, p.lang)
		n = p.spellings(key, short, out)
	}
	if n == 0 {
		n = p.mistyped(key, out)
	}
	return n
}

// spellings looks a word up in every table and returns how many terms it found.
func (p *phrases) spellings(w, stem string, out *terms) (n int) {
	if term, found := p.whole[w]; found {
		out[n] = term
		n++
	}
	if term, found := p.stems[stem]; found {
		out[n] = term
		n++
	}
	if len(w) < 3 {
		return n
	}
	for _, x := range p.heads[threeBytes(w)] {
		if strings.HasPrefix(w, x.text) {
			out[n] = x.term
			n++
			break
		}
	}
	if len(p.tails) == 0 || len(stem) < 3 {
		return n
	}
	for _, x := range p.tails[threeBytes(stem[len(stem)-3:])] {
		if strings.HasSuffix(stem, x.text) {
			out[n] = x.term
			n++
			break
		}
	}
	return n
}

// mistyped looks up a word whose letters are all single.
func (p *phrases) mistyped(key string, out *terms) int {
	if len(key) < minTypo {
		return 0
	}
	short, _ := stem(key, p.lang)
	for _, candidate := range [...]string{key, short} {
		if term, found := p.typos[candidate]; found {
			out[0] = term
			return 1
		}
	}
	for _, x := range p.slips[threeBytes(key)] {
		if strings.HasPrefix(key, x.text) {
			out[0] = x.term
			return 1
		}
	}
	return 0
}

// at appends what is found from token i on, ending before limit.
func (p *phrases) at(known []terms, i, limit int, out []match) []match {
	if known[i][0] <= noTerm {
		return out
	}
	return p.walk(known, 0, i, limit, out)
}

// isMark reports whether a token is no word: no gap goes past it.
func isMark(t terms) bool { return t[0] == markTerm || t[0] == commaTerm }

func (p *phrases) walk(known []terms, from int32, i, limit int, out []match) []match {
	if i >= limit {
		return out
	}
	for _, term := range known[i] {
		if term <= noTerm {
			break
		}
		to := p.first[term]
		if from != 0 {
			to = p.next[step{from, term}]
		}
		if to == 0 {
			continue
		}
		at := &p.states[to]
		for _, v := range at.values {
			out = append(out, match{v, i + 1})
		}
		if at.leads {
			out = p.walk(known, to, i+1, limit, out)
		}
		if at.gap != 0 {
			for skipped := 0; skipped <= maxGap && i+1+skipped < limit && !isMark(known[i+1+skipped]); skipped++ {
				out = p.walk(known, at.gap, i+1+skipped, limit, out)
			}
		}
	}
	return out
}
