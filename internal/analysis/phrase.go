package analysis

import (
	"fmt"
	"slices"
	"strings"
)

// phrases finds words and phrases in a text. A pattern is words with spaces between them. A word matches whatever has its stem;
// "=word" only itself, "word*" what begins so, "*word" what ends so. "%" stands for a number, ".." for up to three words, "|" for a
// comma.
//
// It is a trie over terms: every word of a text is looked up once, for the terms that it may stand for, and a walk goes from
// there.
type phrases struct {
	lang    Language
	whole   map[string]int32
	stems   map[string]int32
	heads   affixes
	tails   affixes
	typos   map[string]int32 // long words with all letters single, for those mistyped or lengthened
	slips   affixes          // and beginnings
	numbers map[string]bool  // the words for numbers
	terms   int32
	first   []int32 // by term: the state that it leads to from the beginning
	next    map[step]int32
	states  []state
}

// state is a place in the trie.
type state struct {
	values []int32 // what is found here
	gap    int32   // the state after "..", zero for none
	leads  bool    // something follows
}

type step struct{ state, term int32 }

// affixes are beginnings or endings of words, under their outermost three bytes, the longest first.
type affixes map[uint32][]affix

type affix struct {
	text string
	term int32
}

// terms are what one word of a text may stand for, the nearest first.
type terms [5]int32

// The terms that are no words.
const (
	markTerm int32 = iota - 1 // punctuation: no phrase goes past it
	noTerm                    // a word that is in no phrase
	numberTerm
	commaTerm
	firstTerm
)

// maxGap is how many words ".." stands for at most.
const maxGap = 3

// match is a value found, and the token after it.
type match struct {
	value int32
	end   int
}

func newPhrases(lang Language) *phrases {
	return &phrases{
		lang:  lang,
		whole: map[string]int32{}, stems: map[string]int32{}, typos: map[string]int32{}, numbers: map[string]bool{},
		heads: affixes{}, tails: affixes{}, slips: affixes{},
		terms:  firstTerm,
		first:  make([]int32, firstTerm),
		next:   map[step]int32{},
		states: make([]state, 1),
	}
}

// add lets a pattern find a value, besides what it finds already. It refuses a pattern without words.
func (p *phrases) add(pattern string, value int32) error {
	state, err := p.path(pattern, false)
	if err != nil {
		return err
	}
	if at := &p.states[state]; !slices.Contains(at.values, value) {
		at.values = append(at.values, value)
	}
	return nil
}

// path makes the states of a pattern and returns the last. In an exact one every word stands for itself.
func (p *phrases) path(pattern string, exact bool) (int32, error) {
	state, words, open := int32(0), 0, false
	for _, element := range strings.Fields(pattern) {
		switch element {
		case "%":
			state = p.follow(state, numberTerm)
			words, open = words+1, false
			continue
		case "|":
			state = p.follow(state, commaTerm)
			continue
		case "..":
			if words == 0 || open {
				return 0, fmt.Errorf("%q has a gap without a word before it", pattern)
			}
			if p.states[state].gap == 0 {
				p.states[state].gap = p.newState()
			}
			state, open = p.states[state].gap, true
			continue
		}
		parts := splitWords(element)
		if exact && !strings.ContainsAny(element, "*=") {
			element = "=" + element
		}
		for i, part := range parts {
			term, err := p.term(part, element, i == 0, i == len(parts)-1)
			if err != nil {
				return 0, err
			}
			state = p.follow(state, term)
			words, open = words+1, false
		}
	}
	if words == 0 || open {
		return 0, fmt.Errorf("%q has no word to find", pattern)
	}
	return state, nil
}

// splitWords cuts an element of a pattern as a text would be cut, and returns its words in lower case.
func splitWords(element string) []string {
	r := readers.Get().(*reader)
	defer r.release()
	r.scan(strings.Trim(element, "=*"))
	var words []string
	for _, t := range r.tokens {
		if t.kind == word || t.kind == number {
			words = append(words, t.low)
		}
	}
	return words
}

// term is the number of one word of a pattern.
func (p *phrases) term(low, element string, isFirst, isLast bool) (int32, error) {
	text := folded(low, p.lang)
	switch {
	case isLast && strings.HasSuffix(element, "*"), isFirst && strings.HasPrefix(element, "*"):
		if len(text) < 3 {
			return 0, fmt.Errorf("%q needs three letters beside the star", element)
		}
		if strings.HasPrefix(element, "*") {
			short, _ := stem(text, p.lang)
			return p.tails.put(short, short[len(short)-3:], p.fresh), nil
		}
		term := p.heads.put(text, text, p.fresh)
		if key := string(single(nil, text)); len(key) >= minTypo {
			p.slips.put(key, key, func() int32 { return term })
		}
		return term, nil
	case strings.HasPrefix(element, "="), isDigit(first(text)):
		return p.named(p.whole, text), nil
	}
	text, _ = stem(text, p.lang)
	term := p.named(p.stems, text)
	if len(text) >= minTypo {
		p.typos[string(single(nil, text))] = term
	}
	return term, nil
}

// minTypo is how long a word must be for its doubled letters to be forgiven: in short ones they tell words apart.
const minTypo = 6

func (p *phrases) named(table map[string]int32, text string) int32 {
	term, found := table[text]
	if !found {
		term = p.fresh()
		table[text] = term
	}
	return term
}

// put returns the term of an affix, a new one if need be.
func (a affixes) put(text, outer string, fresh func() int32) int32 {
	key := threeBytes(outer)
	for _, x := range a[key] {
		if x.text == text {
			return x.term
		}
	}
	x := affix{text, fresh()}
	at, _ := slices.BinarySearchFunc(a[key], x, func(a, b affix) int { return len(b.text) - len(a.text) })
	a[key] = slices.Insert(a[key], at, x)
	return x.term
}

func threeBytes(s string) uint32 { return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 }

// fresh returns a term that is not used yet.
func (p *phrases) fresh() int32 {
	p.first = append(p.first, 0)
	p.terms++
	return p.terms - 1
}

func (p *phrases) newState() int32 {
	p.states = append(p.states, state{})
	return int32(len(p.states) - 1)
}

// follow returns the state after a term, a new one if need be.
func (p *phrases) follow(from, term int32) int32 {
	if from == 0 {
		if p.first[term] == 0 {
			p.first[term] = p.newState()
		}
		return p.first[term]
	}
	next, found := p.next[step{from, term}]
	if !found {
		next = p.newState()
		p.next[step{from, term}] = next
		p.states[from].leads = true
	}
	return next
}
