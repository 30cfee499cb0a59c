package analysis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits of a catalogue.
const (
	MaxTopics        = 500
	MaxKeywords      = 500 // of one topic, exclusions included
	MaxKeywordLength = 100 // code points
)

// Topic is something that people write about, known by the words they use for it.
//
// A keyword is a word or phrase. It is found in any case, with or without accents and in whatever number or gender; "deliver*" finds
// what begins so, "*versand" what ends so. With the code of a language and a colon before it, as in "fr:livraison", it counts in
// that language only. A sentence in which an exclusion is found does not have the topic.
type Topic struct {
	ID         int64
	Name       string
	Keywords   []string
	Exclusions []string
}

// key is what no two topics of a catalogue have in common: the name, in whatever case.
func (t Topic) key() string { return strings.ToLower(strings.TrimSpace(t.Name)) }

// Catalogue finds topics. It does not change and may be used by many at once. A nil Catalogue finds none.
type Catalogue struct {
	ids    []int64
	byLang map[Language]*phrases
}

// Compile prepares topics to be found. It refuses topics without an id, a name or a keyword, the same id or name twice, keywords without
// a word in them, and what goes past the limits; the error names every mistake.
func Compile(topics []Topic) (*Catalogue, error) {
	c := newCatalogue()
	var wrong []error
	if len(topics) > MaxTopics {
		wrong = append(wrong, fmt.Errorf("there are %d topics, at most %d are allowed", len(topics), MaxTopics))
	}
	ids, names := map[int64]bool{}, map[string]bool{}
	for i, t := range topics {
		name := t.key()
		switch {
		case name == "":
			wrong = append(wrong, fmt.Errorf("topic %d has no name", i+1))
		case names[name]:
			wrong = append(wrong, fmt.Errorf("topic %q is there twice", t.Name))
		}
		switch {
		case t.ID <= 0:
			wrong = append(wrong, fmt.Errorf("topic %q has no id", t.Name))
		case ids[t.ID]:
			wrong = append(wrong, fmt.Errorf("topic %q has the id of another", t.Name))
		}
		names[name], ids[t.ID] = true, true
		if err := c.add(t); err != nil {
			wrong = append(wrong, err)
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return c, nil
}

func newCatalogue() *Catalogue {
	c := &Catalogue{byLang: map[Language]*phrases{"": newPhrases("")}}
	for _, lang := range Languages {
		c.byLang[lang] = newPhrases(lang)
	}
	return c
}

// add takes the words of one topic. Its value is twice its place, and one more for an exclusion.
func (c *Catalogue) add(t Topic) error {
	if len(t.Keywords) == 0 {
		return fmt.Errorf("topic %q has no keywords", t.Name)
	}
	if n := len(t.Keywords) + len(t.Exclusions); n > MaxKeywords {
		return fmt.Errorf("topic %q has %d keywords and exclusions, at most %d are allowed", t.Name, n, MaxKeywords)
	}
	value := int32(2 * len(c.ids))
	c.ids = append(c.ids, t.ID)
	var wrong []error
	for i, k := range slices.Concat(t.Keywords, t.Exclusions) {
		v := value
		if i >= len(t.Keywords) {
			v++
		}
		if err := c.keyword(k, v); err != nil {
			wrong = append(wrong, fmt.Errorf("topic %q: %w", t.Name, err))
		}
	}
	return errors.Join(wrong...)
}

// plainly takes out what means something in our own lists only.
var plainly = strings.NewReplacer("=", " ", "%", " ", "|", " ", "..", " ")

func (c *Catalogue) keyword(keyword string, value int32) error {
	if n := codePoints(keyword); n > MaxKeywordLength {
		return fmt.Errorf("a keyword has %d characters, at most %d are allowed", n, MaxKeywordLength)
	}
	keyword = plainly.Replace(keyword)
	if code, rest, found := strings.Cut(keyword, ":"); found && Language(strings.TrimSpace(code)).Known() {
		return c.byLang[Language(strings.TrimSpace(code))].add(rest, value)
	}
	for _, p := range c.byLang {
		if err := p.add(keyword, value); err != nil {
			return err
		}
	}
	return nil
}

// look finds the terms of a text's words.
func (c *Catalogue) look(r *reader, lang Language) {
	if c != nil {
		r.topic = c.byLang[lang].look(r.tokens, r.topic)
	}
}

// in returns the topics of a sentence, ascending, or nil.
func (c *Catalogue) in(r *reader, lang Language, s sentence) []int64 {
	if c == nil {
		return nil
	}
	r.matches = r.matches[:0]
	for i := s.from; i < s.to; i++ {
		r.matches = c.byLang[lang].at(r.topic, i, s.to, r.matches)
	}
	if len(r.matches) == 0 {
		return nil
	}
	r.mentioned = slices.Grow(r.mentioned[:0], 2*len(c.ids))[:2*len(c.ids)]
	clear(r.mentioned)
	for _, m := range r.matches {
		r.mentioned[m.value] = true
	}
	var found []int64
	for i, id := range c.ids {
		if r.mentioned[2*i] && !r.mentioned[2*i+1] {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	return found
}
