package analysis

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// votes are what a word says for each language, in the order of Languages; the last is for all others.
type votes [6]int

// The places in votes.
const (
	en = iota
	fr
	de
	es
	it
	other
)

// vote is what a word says that only one language has. Words shared by several say less for each.
const vote = 6

// ballots are the words that tell languages apart: the small words that no sentence goes without.
var ballots = sync.OnceValue(func() map[string]votes {
	words := map[string]map[int]bool{}
	put := func(w string, lang int) {
		if words[w] == nil {
			words[w] = map[int]bool{}
		}
		words[w][lang] = true
	}
	for i, lang := range Languages {
		for w := range vocabularies()[lang].stop {
			put(w, i)
			if bare := folded(w, lang); bare != w && len(bare) > 2 {
				put(bare, i)
			}
		}
	}
	v := newVocabulary("")
	if err := v.read("lexicon/other.txt"); err != nil {
		panic(err)
	}
	for w := range v.stop {
		if words[w] == nil {
			put(w, other)
		}
	}
	all := make(map[string]votes, len(words))
	for w, langs := range words {
		var v votes
		for lang := range langs {
			v[lang] = vote / len(langs)
		}
		all[w] = v
	}
	return all
})

// votersRead is how many words decide: more would not change it.
const votersRead = 200

// fewWords is how long a text may be for its judgements to tell its language: in a longer one the small words would have.
const fewWords = 20

// detect tells the language of the tokens.
func (r *reader) detect(fallback Language) Language {
	ballots := ballots()
	var sum votes
	latin, foreign := 0, 0
	for i := range r.tokens {
		t := &r.tokens[i]
		if t.kind != word {
			continue
		}
		if first(t.low) >= 0x250 {
			foreign++
			continue
		}
		if latin++; latin > votersRead {
			break
		}
		if v, found := ballots[t.low]; found {
			for lang, n := range v {
				sum[lang] += n
			}
		}
		if t.is(capital) && !t.is(shouted) && i > 0 && !isEnd(r.tokens[i-1].char) {
			sum[de]++ // its nouns have capitals
		}
		if t.is(accented) {
			letters(t.low, &sum)
		}
	}
	if foreign > latin {
		return ""
	}
	best, lead := leader(sum)
	if sum[best] >= vote && lead*3 >= sum[best] {
		return languageAt(best)
	}
	if fallback.Known() {
		return fallback
	}
	if latin <= fewWords {
		for i := range r.tokens {
			if t := &r.tokens[i]; t.kind == word && ballots[t.low] == (votes{}) {
				ending(t.low, &sum)
			}
		}
		r.judged(&sum)
	}
	if best, _ = leader(sum); sum[best] == 0 {
		return ""
	}
	return languageAt(best)
}

// leader returns who has the most, the first of several, and by how much.
func leader(sum votes) (best, lead int) {
	second := -1
	for lang := 1; lang < len(sum); lang++ {
		switch {
		case sum[lang] > sum[best]:
			best, second = lang, best
		case second < 0 || sum[lang] > sum[second]:
			second = lang
		}
	}
	return best, sum[best] - sum[second]
}

func languageAt(i int) Language {
	if i == other {
		return ""
	}
	return Languages[i]
}

// letters adds what the letters of a word say.
func letters(low string, sum *votes) {
	for _, c := range low {
		if c < utf8.RuneSelf {
			continue
		}
		switch c {
		case 'ß':
			sum[de] += 6
		case 'ä', 'ö', 'ü':
			sum[de] += 3
		case 'ñ':
			sum[es] += 6
		case 'á', 'í', 'ó', 'ú':
			sum[es] += 3
		case 'ç', 'ê', 'î', 'ô', 'û', 'œ', 'ë', 'â':
			sum[fr] += 4
		case 'é':
			sum[fr] += 3
			sum[es] += 2
			sum[it]++
		case 'è', 'à', 'ù':
			sum[fr] += 2
			sum[it] += 3
		case 'ì', 'ò':
			sum[it] += 5
		case 'ã', 'õ', 'å', 'ø', 'æ', 'ł', 'ą', 'ę', 'ś', 'ż', 'ź', 'ć', 'č', 'š', 'ž', 'ř', 'ě', 'ů', 'ı', 'ş', 'ğ', 'ă', 'ț', 'ș', 'ő', 'ű', 'đ', 'ý', 'ð', 'þ':
			sum[other] += 6
		}
	}
}

// endings are how words of a language like to end; the first that fits counts, one vote or two.
var endings = []struct {
	text string
	v    votes
}{
	{"zione", votes{it: 2}},
	{"zioni", votes{it: 2}},
	{"mente", votes{es: 1, it: 1}},
	{"keit", votes{de: 2}},
	{"heit", votes{de: 2}},
	{"lich", votes{de: 2}},
	{"tion", votes{en: 1, fr: 1}},
	{"ment", votes{fr: 1}},
	{"ción", votes{es: 2}},
	{"eaux", votes{fr: 2}},
	{"euse", votes{fr: 2}},
	{"ness", votes{en: 2}},
	{"sch", votes{de: 1}},
	{"ung", votes{de: 2}},
	{"ing", votes{en: 2}},
	{"eux", votes{fr: 2}},
	{"dad", votes{es: 2}},
	{"ght", votes{en: 2}},
	{"cht", votes{de: 2}},
	{"nte", votes{es: 1, it: 1}},
	{"os", votes{es: 1}},
	{"as", votes{es: 1}},
	{"ly", votes{en: 2}},
	{"ed", votes{en: 1}},
	{"en", votes{de: 1}},
	{"er", votes{de: 1, en: 1}},
	{"em", votes{de: 1}},
	{"ez", votes{fr: 1}},
	{"i", votes{it: 1}},
	{"o", votes{es: 1, it: 1}},
	{"a", votes{es: 1, it: 1}},
	{"é", votes{fr: 1}},
	{"y", votes{en: 1}},
}

// ending adds what the end of a word says.
func ending(low string, sum *votes) {
	if len(low) < 4 {
		return
	}
	for _, e := range endings {
		if strings.HasSuffix(low, e.text) {
			for lang, n := range e.v {
				sum[lang] += n
			}
			return
		}
	}
}

// judged adds how many words of a short text each language knows as a judgement.
func (r *reader) judged(sum *votes) {
	for i, lang := range Languages {
		v := vocabularies()[lang]
		r.fold(lang)
		r.known = v.look(r.tokens, r.known)
		for at := 0; at < len(r.tokens); {
			e, end := r.longest(v, at, len(r.tokens))
			if e == nil {
				at++
				continue
			}
			at = end
			sum[i] += vote / 2
		}
	}
}
