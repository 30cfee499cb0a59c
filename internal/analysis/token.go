package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is.
type kind uint8

const (
	word    kind = iota
	number       // digits, with the points, commas and slashes inside them
	address      // of a page or a mailbox
	symbol       // an emoji or emoticon
	mark         // one character of punctuation, or anything else
)

// flag is something to know of a token.
type flag uint8

const (
	spaced    flag = 1 << iota // white space stands before it
	broken                     // a line break does
	parted                     // an empty line does
	capital                    // begins with a capital letter
	shouted                    // is written in capitals, two at least
	accented                   // has letters beyond ASCII
	elongated                  // has a letter three times in a row
	most                       // is a superlative
)

// token is a piece of a text.
type token struct {
	start, end int // bytes
	at, to     int // code points
	kind       kind
	flags      flag
	char       rune // of a mark; of a symbol without what varies it
	lowAt      int  // where low begins in the reader's buffer, plus one
	low        string
	text       string // what a word is looked up by
	stem       string
}

func (t *token) is(f flag) bool { return t.flags&f != 0 }

// maxWord is the longest word in code points, so that a text without any spaces has places to be cut at.
const maxWord = 64

// scan cuts a text into tokens and notes its words in lower case.
func (r *reader) scan(text string) {
	r.tokens, r.low = r.tokens[:0], r.low[:0]
	s := scanner{text: text}
	searched := 0 // up to here there is no address
	for {
		t := token{flags: s.space()}
		c, size := s.peek()
		if size == 0 {
			break
		}
		t.start, t.at = s.pos, s.at
		n := 0
		if s.pos >= searched && (isLetter(c) || isDigit(c)) {
			n, searched = addressAt(text, s.pos)
		}
		switch {
		case n > 0:
			t.kind = address
			s.take(n)
		case isLetter(c):
			r.scanWord(&s, &t)
		case isDigit(c):
			t.kind = number
			s.digits()
			t.low = text[t.start:s.pos]
		case isHyphen(c) && s.joins(t.flags):
			s.skip(size)
			continue
		default:
			s.symbol(&t)
		}
		t.end, t.to = s.pos, s.at
		r.tokens = append(r.tokens, t)
	}
	all, end := string(r.low), len(r.low)
	for i := len(r.tokens) - 1; i >= 0; i-- {
		if t := &r.tokens[i]; t.lowAt > 0 {
			t.low = all[t.lowAt-1 : end]
			end = t.lowAt - 1
		}
	}
}

// scanWord takes a word. An apostrophe ends it, as in "l'app", unless what follows is an English ending: "don't" becomes
// "dont", as many write it, and "it's" becomes "it".
func (r *reader) scanWord(s *scanner, t *token) {
	low, from := len(r.low), s.pos
	upper, lower, run := 0, 0, 0
	var last rune
	for n := 0; ; n++ {
		c, size := s.peek()
		if n >= maxWord && !extends(c) && !joinsNext(last) {
			break
		}
		if n > 0 && isApostrophe(c) {
			keep, bytes := contraction(s.text[s.pos+size:])
			if bytes > 0 || isLetter(first(s.text[s.pos+size:])) {
				r.lower(t, low, s.text[from:s.pos])
				r.low = append(r.low, keep...)
				s.take(size + bytes)
			}
			break
		}
		if !isLetter(c) && (n == 0 || !isDigit(c) && !extends(c)) {
			break
		}
		switch {
		case c >= utf8.RuneSelf:
			t.flags |= accented
			fallthrough
		default:
			l := unicode.ToLower(c)
			if l != c {
				upper++
				if n == 0 {
					t.flags |= capital
				}
			} else if isLetter(c) {
				lower++
			}
			run = repeated(run, l, last)
			if run >= 3 {
				t.flags |= elongated
			}
			last = l
		}
		s.skip(size)
	}
	if upper > 1 && lower == 0 {
		t.flags |= shouted
	}
	if t.lowAt > 0 {
		return
	}
	if upper == 0 {
		t.low = s.text[from:s.pos]
		return
	}
	r.lower(t, low, s.text[from:s.pos])
}

// lower notes a word in lower case.
func (r *reader) lower(t *token, at int, text string) {
	t.lowAt = at + 1
	for _, c := range text {
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			r.low = append(r.low, byte(c))
			continue
		}
		r.low = utf8.AppendRune(r.low, unicode.ToLower(c))
	}
}

func repeated(run int, c, last rune) int {
	if c == last {
		return run + 1
	}
	return 1
}

// contraction reads what follows an apostrophe in English and, of these, German: what of it belongs to the word, and
// how many bytes it takes.
func contraction(rest string) (keep string, bytes int) {
	n := 0
	for n < len(rest) && n < 3 && isASCIILetter(rest[n]) {
		n++
	}
	if n == 3 || n < len(rest) && isLetter(first(rest[n:])) {
		return "", 0
	}
	switch strings.ToLower(rest[:n]) {
	case "t":
		return "t", n
	case "s", "re", "ve", "ll", "d", "m":
		return "", n
	}
	return "", 0
}

// addressAt returns how many bytes the address takes that begins here, zero for none, and where the next may begin.
func addressAt(text string, pos int) (bytes, next int) {
	next = pos
	at, slashes := false, false
	for next < len(text) {
		c := text[next]
		if c <= ' ' || c == 0xC2 && strings.HasPrefix(text[next:], "\u00A0") {
			break
		}
		at = at || c == '@'
		slashes = slashes || c == '/'
		next++
	}
	if !at && !slashes && text[pos]|0x20 != 'w' {
		return 0, next
	}
	piece := strings.TrimRight(text[pos:next], ".,;:!?)]}>'\"»”’…")
	for _, scheme := range []string{"http://", "https://", "ftp://", "www."} {
		if len(piece) > len(scheme) && strings.EqualFold(piece[:len(scheme)], scheme) {
			return len(piece), next
		}
	}
	name, host, found := strings.Cut(piece, "@")
	if found && strings.Contains(host, ".") && strings.IndexFunc(name, notInMailbox) < 0 && strings.IndexFunc(host, notInMailbox) < 0 {
		return len(piece), next
	}
	return 0, next
}

func notInMailbox(c rune) bool {
	return !isDigit(c) && !isLetter(c) && !strings.ContainsRune("._%+-", c)
}

func first(s string) rune {
	c, _ := utf8.DecodeRuneInString(s)
	return c
}

func isLetter(c rune) bool {
	if c < utf8.RuneSelf {
		return c >= 0 && isASCIILetter(byte(c))
	}
	return c != utf8.RuneError && unicode.IsLetter(c)
}

func isASCIILetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

func isDigit(c rune) bool { return '0' <= c && c <= '9' || c >= utf8.RuneSelf && unicode.IsDigit(c) }

func isApostrophe(c rune) bool { return c == '\'' || c == '’' || c == 'ʼ' || c == '´' || c == '`' }

func isHyphen(c rune) bool { return c == '-' || c == '‐' || c == '‑' || c == '\u00AD' }
