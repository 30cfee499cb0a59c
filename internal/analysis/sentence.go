package analysis

import "strings"

// Limits of the spans of a text.
const (
	MaxSpans  = 1000 // the last one runs to the end of the text
	MaxLength = 1000 // of a span in code points, unless it is the last of so many: a longer sentence is cut, at a space if there is one
)

// sentence is a range of tokens.
type sentence struct{ from, to int }

// sentences cuts the tokens. What holds neither a word, a number nor a symbol is no sentence.
func (r *reader) sentences(lang Language) []sentence {
	out := r.cut[:0]
	words := vocabularies()[lang]
	for i := 0; i < len(r.tokens); {
		i = r.bullet(i)
		from := i
		says := false
		for i < len(r.tokens) {
			next := r.cluster(i)
			for ; i < next; i++ {
				says = says || r.tokens[i].kind != mark
			}
			if i < len(r.tokens) && len(out) < MaxSpans-1 && (r.ends(i, from, words) || r.long(i, from)) {
				break
			}
		}
		if says {
			out = append(out, sentence{from, i})
		}
	}
	r.cut = out
	return out
}

// bullet skips what begins an item of a list.
func (r *reader) bullet(i int) int {
	if i >= len(r.tokens) || i > 0 && !r.tokens[i].is(broken) {
		return i
	}
	t := r.tokens[i]
	next := i + 1
	if t.kind == number && t.to-t.at <= 2 && next < len(r.tokens) && (r.tokens[next].char == '.' || r.tokens[next].char == ')') && !r.tokens[next].is(spaced) {
		next++
	} else if t.kind != mark || !strings.ContainsRune("-–—*•·‣▪●○>+", t.char) {
		return i
	}
	if next < len(r.tokens) && r.tokens[next].is(spaced) && !r.tokens[next].is(broken) {
		return next
	}
	return i
}

// maxClosing is how many marks and symbols may stand after the end of a sentence.
const maxClosing = 16

// cluster moves past a token and, after the end of a sentence, past all that closes it: "!!!", a quotation mark, a smile.
func (r *reader) cluster(i int) int {
	ended, limit, room := isEnd(r.tokens[i].char), i+maxClosing, r.tokens[i].at+maxWord
	for i++; i < len(r.tokens); i++ {
		t := &r.tokens[i]
		switch {
		case t.is(broken), i >= limit, t.to > room:
			return i
		case t.kind == symbol && (ended || r.tokens[i-1].kind == symbol):
		case t.kind == mark && ended && !t.is(spaced) && (isEnd(t.char) || isClosing(t.char)):
		case t.kind == mark && ended && isEnd(t.char) && r.tokens[i-1].char == t.char: // "! ! !"
		default:
			return i
		}
	}
	return i
}

// ends reports whether a sentence that began at from ends before token i.
func (r *reader) ends(i, from int, words *vocabulary) bool {
	next, last := &r.tokens[i], &r.tokens[i-1]
	if next.is(parted) {
		return true
	}
	if next.is(broken) {
		return last.char != ',' && (next.kind != word || next.is(capital) || isEnd(last.char) || last.char == ':' || last.char == ';' || last.kind == symbol)
	}
	// Go back over what closes to what ended it.
	k := i - 1
	quoted := false
	for k > from && k > i-maxClosing && (r.tokens[k].kind == symbol || r.tokens[k].kind == mark && isClosing(r.tokens[k].char)) {
		quoted = quoted || r.tokens[k].kind == mark
		k--
	}
	end := &r.tokens[k]
	if end.kind != mark {
		// A row of symbols ends a sentence when a new one clearly begins.
		return last.kind == symbol && next.is(capital) && next.is(spaced) && k < i-1 && !quoted && end.kind == word
	}
	switch end.char {
	case '。', '！', '？', '｡', '．', '؟', '۔', '।', '॥', '‼', '⁉':
		return true
	case '!', '?':
		if quoted && next.kind == word && !next.is(capital) {
			return false
		}
		return next.is(spaced) || next.is(capital) || next.kind != word && next.kind != mark
	case '…':
		return next.is(spaced) && next.is(capital)
	case '.':
		return r.pointEnds(k, next, words)
	}
	return false
}

// pointEnds reports whether a full stop ends a sentence: not in a row that trails off, after a short form, an initial or an
// ordinal number.
func (r *reader) pointEnds(k int, next *token, words *vocabulary) bool {
	if k == 0 {
		return next.is(spaced)
	}
	before := &r.tokens[k-1]
	if before.char == '.' && before.kind == mark {
		return next.is(spaced) && next.is(capital)
	}
	if !next.is(spaced) {
		return next.kind == word && next.is(capital) && !next.is(shouted) && next.to-next.at > 1 && before.kind == word && before.to-before.at > 2 && !before.is(capital)
	}
	if before.is(spaced) && r.tokens[k].is(spaced) {
		return true
	}
	switch before.kind {
	case word:
		if before.to-before.at == 1 && (before.is(capital) || k > 1 && r.tokens[k-2].char == '.' && !before.is(spaced)) {
			return false // an initial, or the end of "z.B."
		}
		if words.short[before.low] {
			return false
		}
		return !words.ending[before.low] || next.is(capital)
	case number:
		return words.lang != German || before.to-before.at > 2 || next.kind != word
	default:
		return true
	}
}

// long reports whether a sentence that began at from must be cut before token i: it would grow past the limit, or it is about to
// and there is a space to cut at.
func (r *reader) long(i, from int) bool {
	length := r.tokens[i].to - r.tokens[from].at
	return length > MaxLength-maxWord || length > MaxLength-4*maxWord && r.tokens[i].is(spaced)
}

// isEnd holds for what may end a sentence.
func isEnd(c rune) bool {
	switch c {
	case '.', '!', '?', '…', '。', '！', '？', '｡', '．', '؟', '۔', '।', '॥', '‼', '⁉':
		return true
	}
	return false
}

func isClosing(c rune) bool {
	switch c {
	case '"', '\'', '’', '”', '»', '›', ')', ']', '}', '」', '』', '）', '*', '“':
		return true
	}
	return false
}
