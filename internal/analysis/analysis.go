package analysis

import (
	"slices"
	"strings"
	"sync"
)

// Language is a language whose words are known, by its ISO 639-1 code. The zero Language stands for every other one.
type Language string

// The languages that are read.
const (
	English Language = "en"
	French  Language = "fr"
	German  Language = "de"
	Spanish Language = "es"
	Italian Language = "it"
)

// Languages are all of them, in the order in which ties are broken.
var Languages = []Language{English, French, German, Spanish, Italian}

// Known reports whether the words of the language are known.
func (l Language) Known() bool { return slices.Contains(Languages, l) }

// Neutral is the score of what carries no judgement.
const Neutral = 50

// Label is the word for a score from 0 to 100: negative to 40, neutral to 60, positive above.
func Label(score int) string {
	switch {
	case score <= 40:
		return "negative"
	case score <= 60:
		return "neutral"
	default:
		return "positive"
	}
}

// Result is what was read in one text.
type Result struct {
	Language Language // what it was read in; zero when that is none of ours
	Spans    []Span   // in the order of the text, never overlapping
	Score    int      // mean of the spans' scores, weighted by their lengths
	Measured bool     // false when there was nothing to read: Score says nothing then
	Topics   []int64  // of all spans, ascending
}

// Span is a sentence of a text, without the white space around it.
type Span struct {
	Start, Length int // in code points; an invalid byte counts as one
	Text          string
	Score         int     // 0 to 100
	Topics        []int64 // ascending
}

// Read reads a text in a language, or in the one that Detect finds when lang is zero. A text in none of the languages is cut
// into spans all the same; only emoji and ratings such as 9/10 move their scores from Neutral, and only keywords that belong to no
// language find their topics. Topics may be nil.
func Read(text string, lang Language, topics *Catalogue) Result {
	r := readers.Get().(*reader)
	defer r.release()
	r.scan(text)
	if !lang.Known() {
		lang = r.detect("")
	}
	r.fold(lang)
	sentences := r.sentences(lang)
	if len(sentences) == 0 || !r.says(text) {
		return Result{Language: lang}
	}
	r.judge(lang, sentences)
	spans := make([]Span, len(sentences))
	topics.look(r, lang)
	for i, s := range sentences {
		first, last := r.tokens[s.from], r.tokens[s.to-1]
		spans[i] = Span{
			Start:  first.at,
			Length: last.to - first.at,
			Text:   text[first.start:last.end],
			Score:  r.scores[i],
			Topics: topics.in(r, lang, s),
		}
	}
	return Sum(lang, spans)
}

// says reports whether there is anything to judge in a text: numbers and punctuation say nothing, unless they are a rating such as 9/10.
func (r *reader) says(text string) bool {
	return slices.ContainsFunc(r.tokens, func(t token) bool {
		return t.kind != mark && (t.kind != number || strings.Contains(text[t.start:t.end], "/"))
	})
}

// Sum is the result that spans add up to.
func Sum(lang Language, spans []Span) Result {
	res := Result{Language: lang, Spans: spans, Measured: len(spans) > 0}
	sum, length := 0, 0
	for _, s := range spans {
		for _, id := range s.Topics {
			if at, found := slices.BinarySearch(res.Topics, id); !found {
				res.Topics = slices.Insert(res.Topics, at, id)
			}
		}
		sum += s.Score * s.Length
		length += s.Length
	}
	if length > 0 {
		res.Score = (2*sum + length) / (2 * length)
	}
	return res
}

// Detect tells the language of a text by its small words and its letters. A text that shows too little of them is taken for the
// fallback, or without one for the language in which most of its words are known to carry a judgement. Zero when nothing speaks
// for any of the languages.
func Detect(text string, fallback Language) Language {
	r := readers.Get().(*reader)
	defer r.release()
	r.scan(text)
	return r.detect(fallback)
}

// reader holds what reading one text takes. Readers are used again, so that reading allocates little more than its result.
type reader struct {
	tokens []token
	low    []byte // the words in lower case, one after the other
	bent   []byte // the words that are spelled differently when folded
	known  []terms
	topic  []terms
	judging
	mentioned []bool // by topic, and one more for its exclusions
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// keptTokens is how long a text may be for its reader to be used again: a rare long one must not hold its memory for ever.
const keptTokens = 4096

func (r *reader) release() {
	if cap(r.tokens) <= keptTokens {
		clear(r.tokens) // they point into the text
		readers.Put(r)
	}
}
