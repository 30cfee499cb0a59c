package analysis

import (
	"unicode"
	"unicode/utf8"
)

// A word is looked up in lower case and without accents, which many people leave out. German is the exception: "schön" and
// "schon" are two words, and who has no umlauts writes "schoen", so there the vowels are written out.

// plain are the letters of Latin-1 and Latin Extended-A without their marks, from U+00C0 on; a space stands for letters that are
// written with two, or are none.
const plain = "aaaaaa ceeeeiiiidnooooo ouuuuy  aaaaaa ceeeeiiiidnooooo ouuuuy y" +
	"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii  jjkkklllllllllln" +
	"nnnnnnnnoooooo  rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"

// appendFolded appends a word in lower case as it is looked up in a language.
func appendFolded(b []byte, low string, lang Language) []byte {
	if lang == Italian && (low == "è" || low == "né") {
		return append(b, low...) // "is" and "nor", where "e" and "ne" are other words
	}
	for _, r := range low {
		switch {
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		case lang == German && (r == 'ä' || r == 'ö' || r == 'ü'):
			b = append(b, plain[r-0xC0], 'e')
		case lang == German && r == '\u0308' && len(b) > 0: // a loose diaeresis
			b = append(b, 'e')
		case r == 'ß':
			b = append(b, "ss"...)
		case r == 'œ':
			b = append(b, "oe"...)
		case r == 'æ':
			b = append(b, "ae"...)
		case r >= 0xC0 && int(r) < 0xC0+len(plain) && plain[r-0xC0] != ' ':
			b = append(b, plain[r-0xC0])
		case unicode.Is(unicode.Mn, r):
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

// fold gives every word the spelling that it is looked up by.
func (r *reader) fold(lang Language) {
	r.bent = r.bent[:0]
	type place struct{ token, from, to int }
	var places [64]place
	bent := places[:0]
	for i := range r.tokens {
		t := &r.tokens[i]
		t.text = t.low
		if t.kind != word {
			continue
		}
		if t.flags&(accented|elongated) == 0 {
			t.setStem(lang)
			continue
		}
		from := len(r.bent)
		r.bent = appendFolded(r.bent, t.low, lang)
		if t.flags&elongated != 0 {
			r.bent = shorten(r.bent, from)
		}
		bent = append(bent, place{i, from, len(r.bent)})
	}
	if len(bent) == 0 {
		return
	}
	all := string(r.bent)
	for _, p := range bent {
		t := &r.tokens[p.token]
		t.text = all[p.from:p.to]
		t.setStem(lang)
	}
}

func (t *token) setStem(lang Language) {
	short, superlative := stem(t.text, lang)
	t.stem = short
	t.flags &^= most
	if superlative {
		t.flags |= most
	}
}

// shorten leaves at most two of a letter that is repeated, from an index on: "sooooo" becomes "soo". Whether that was one or two is
// settled when the word is looked up.
func shorten(b []byte, from int) []byte {
	n := from
	for i := from; i < len(b); i++ {
		if n-from >= 2 && b[n-1] == b[i] && b[n-2] == b[i] {
			continue
		}
		b[n] = b[i]
		n++
	}
	return b[:n]
}

// single leaves one of every letter that is repeated, for words that were lengthened or mistyped.
func single(b []byte, word string) []byte {
	for i := range len(word) {
		if i == 0 || word[i] != word[i-1] {
			b = append(b, word[i])
		}
	}
	return b
}

// folded is a word or phrase of a list as it is looked up.
func folded(s string, lang Language) string {
	low := make([]rune, 0, len(s))
	for _, r := range s {
		low = append(low, unicode.ToLower(r))
	}
	return string(appendFolded(nil, string(low), lang))
}
