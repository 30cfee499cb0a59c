package analysis

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// Suggestion is a phrase that texts have in common and no topic covers.
type Suggestion struct {
	Phrase   string
	Count    int      // texts that have it
	Examples []string // sentences that have it, at most three, in the order of the texts
}

const (
	maxPhrase     = 3       // words
	minWord       = 3       // letters of a phrase of one word
	maxCandidates = 200_000 // phrases remembered; past it, those seen once are forgotten
	maxExamples   = 3
	maxExample    = 200 // code points
)

// Suggest returns at most limit phrases of one to three words, those first that the most texts have. A phrase neither begins nor ends
// with a word that says nothing, does not only judge, has no keyword of the catalogue in it, and is in two texts at least; a shorter one
// that mostly appears inside a longer gives way to it. Texts are read in lang, or each in its own when lang is zero. The same texts in
// the same order give the same suggestions.
func Suggest(texts iter.Seq[string], lang Language, topics *Catalogue, limit int) []Suggestion {
	c := collector{all: map[string]*candidate{}}
	for text := range texts {
		c.read(text, lang, topics)
	}
	return c.best(limit)
}

// candidate is a phrase that may be suggested, in all its forms.
type candidate struct {
	key      string
	words    int
	count    int
	text     int // the last text that had it
	forms    map[string]int
	examples []string
}

type collector struct {
	all   map[string]*candidate
	texts int
}

func (c *collector) read(text string, lang Language, topics *Catalogue) {
	r := readers.Get().(*reader)
	defer r.release()
	r.scan(text)
	if !lang.Known() {
		lang = r.detect("")
	}
	r.fold(lang)
	v := vocabularies()[lang]
	r.known = v.look(r.tokens, r.known)
	topics.look(r, lang)
	c.texts++
	for _, s := range r.sentences(lang) {
		example := excerpt(text[r.tokens[s.from].start:r.tokens[s.to-1].end])
		taken := topics.taken(r, lang, s)
		for i := s.from; i < s.to; i++ {
			for n := 1; n <= maxPhrase && i+n <= s.to; n++ {
				last := i + n - 1
				if r.tokens[last].kind != word || taken(last) {
					break
				}
				if r.offers(v, i, n) {
					c.note(r, text, lang, i, n, example)
				}
			}
		}
	}
	if len(c.all) > maxCandidates {
		for key, x := range c.all {
			if x.count == 1 {
				delete(c.all, key)
			}
		}
	}
}

// taken returns whether a token is part of a keyword.
func (c *Catalogue) taken(r *reader, lang Language, s sentence) func(int) bool {
	if c == nil {
		return func(int) bool { return false }
	}
	covered := make([]bool, s.to-s.from)
	for i := s.from; i < s.to; i++ {
		r.matches = c.byLang[lang].at(r.topic, i, s.to, r.matches[:0])
		for _, m := range r.matches {
			for j := i; j < m.end; j++ {
				covered[j-s.from] = true
			}
		}
	}
	return func(i int) bool { return covered[i-s.from] }
}

// offers reports whether n words from token i on may be a phrase.
func (r *reader) offers(v *vocabulary, i, n int) bool {
	if v.idle(&r.tokens[i]) || v.idle(&r.tokens[i+n-1]) {
		return false
	}
	for j := i; j < i+n; j++ {
		e, _ := r.longest(v, j, j+1)
		if (e == nil || e.role == judgement && e.weight == 0) && !v.idle(&r.tokens[j]) && codePoints(r.tokens[j].low) >= minWord {
			return true
		}
	}
	return false
}

// idle reports whether a word says nothing by itself.
func (v *vocabulary) idle(t *token) bool {
	return v.stop[t.low] || v.numbers[t.text] || codePoints(t.low) < 2
}

func (c *collector) note(r *reader, text string, lang Language, i, n int, example string) {
	var key strings.Builder
	key.WriteString(string(lang))
	for _, t := range r.tokens[i : i+n] {
		key.WriteString(" " + t.stem)
	}
	x := c.all[key.String()]
	if x == nil {
		x = &candidate{key: key.String(), words: n, forms: map[string]int{}}
		c.all[x.key] = x
	}
	if x.text == c.texts {
		return
	}
	x.text = c.texts
	x.count++
	x.forms[strings.ToLower(text[r.tokens[i].start:r.tokens[i+n-1].end])]++
	if len(x.examples) < maxExamples {
		x.examples = append(x.examples, example)
	}
}

// best ranks what was collected.
func (c *collector) best(limit int) []Suggestion {
	absorbed := map[string]bool{}
	for _, x := range c.all {
		if x.count < 2 {
			continue
		}
		for _, part := range x.parts() {
			if p := c.all[part]; p != nil && 2*x.count >= p.count {
				absorbed[part] = true
			}
		}
	}
	var ranked []*candidate
	for _, x := range c.all {
		if x.count >= 2 && !absorbed[x.key] {
			ranked = append(ranked, x)
		}
	}
	slices.SortFunc(ranked, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.words, a.words), cmp.Compare(a.key, b.key))
	})
	ranked = ranked[:min(len(ranked), max(limit, 0))]
	out := make([]Suggestion, len(ranked))
	for i, x := range ranked {
		out[i] = Suggestion{x.form(), x.count, x.examples}
	}
	return out
}

// parts are the keys of the shorter phrases in a phrase.
func (x *candidate) parts() []string {
	fields := strings.Split(x.key, " ") // the language, then the stems
	var parts []string
	for n := 1; n < x.words; n++ {
		for i := 1; i+n <= len(fields); i++ {
			parts = append(parts, fields[0]+" "+strings.Join(fields[i:i+n], " "))
		}
	}
	return parts
}

// form is the form most texts have, the first in the alphabet of several.
func (x *candidate) form() string {
	best := ""
	for f, n := range x.forms {
		if m := x.forms[best]; best == "" || n > m || n == m && f < best {
			best = f
		}
	}
	return best
}

// excerpt is a sentence, or its beginning.
func excerpt(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxExample {
			return s[:i] + "…"
		}
	}
	return s
}
