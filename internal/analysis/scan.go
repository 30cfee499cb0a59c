package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanner walks over a text and counts bytes and code points.
type scanner struct {
	text string
	pos  int
	at   int
}

// peek returns what comes next and its size in bytes, zero at the end.
func (s *scanner) peek() (rune, int) {
	if s.pos >= len(s.text) {
		return -1, 0
	}
	if c := s.text[s.pos]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(s.text[s.pos:])
}

// skip moves over one code point.
func (s *scanner) skip(size int) {
	s.pos += size
	s.at++
}

// take moves over a number of bytes.
func (s *scanner) take(bytes int) {
	s.at += utf8.RuneCountInString(s.text[s.pos : s.pos+bytes])
	s.pos += bytes
}

// space moves over white space and says what there was of it.
func (s *scanner) space() (f flag) {
	lines := 0
	for {
		c, size := s.peek()
		if size == 0 || c > ' ' && c < utf8.RuneSelf || !isSpace(c) {
			break
		}
		f |= spaced
		if c == '\n' || c == '\u2028' || c == '\u2029' || c == '\r' && !strings.HasPrefix(s.text[s.pos+1:], "\n") {
			lines++
		}
		s.skip(size)
	}
	if lines > 0 {
		f |= broken
	}
	if lines > 1 {
		f |= parted
	}
	return f
}

// isSpace holds for white space, and for marks of no width that take part in nothing.
func isSpace(c rune) bool { return unicode.IsSpace(c) || c == '\u200B' || c == '\uFEFF' }

// digits moves over a number: digits, and single marks between two of them.
func (s *scanner) digits() {
	for {
		c, size := s.peek()
		if !isDigit(c) {
			if size != 1 || !strings.ContainsRune(".,:/'", c) || !isDigit(first(s.text[s.pos+1:])) {
				return
			}
		}
		s.skip(size)
	}
}

// joins reports whether the hyphen that comes next stands between two words, or two parts of one.
func (s *scanner) joins(before flag) bool {
	if before&spaced != 0 || s.pos == 0 {
		return false
	}
	_, size := s.peek()
	last, _ := utf8.DecodeLastRuneInString(s.text[:s.pos])
	next := first(s.text[s.pos+size:])
	return isLetter(next) && (isLetter(last) || isDigit(last) || extends(last))
}

// symbol takes an emoji with all that belongs to it, an emoticon, or one mark.
func (s *scanner) symbol(t *token) {
	c, size := s.peek()
	t.kind, t.char = mark, c
	if n, char := emoticonAt(s.text[s.pos:]); n > 0 && (s.pos == 0 || !isDigit(rune(s.text[s.pos-1]))) {
		t.kind, t.char = symbol, char
		s.take(n)
		return
	}
	if isEmoji(c) {
		t.kind = symbol
	}
	s.skip(size)
	for flags := isFlag(c); ; {
		next, size := s.peek()
		switch {
		case size == 0:
			return
		case flags && isFlag(next): // two letters are one flag
			flags = false
		case extends(next):
		case t.kind == symbol && joinsNext(lastRune(s.text[:s.pos])):
		default:
			return
		}
		s.skip(size)
	}
}

func lastRune(s string) rune {
	c, _ := utf8.DecodeLastRuneInString(s)
	return c
}

// extends reports whether a code point belongs to the one before it: accents, vowel signs, joiners, variants, skin tones.
func extends(c rune) bool {
	switch {
	case c < 0x300:
		return false
	case unicode.In(c, unicode.Mn, unicode.Me, unicode.Mc):
		return true
	case c == '\u200C', c == '\u200D', c == 0x0E33, c == 0x0EB3: // joiners; Thai and Lao AM
		return true
	case 0x1160 <= c && c <= 0x11FF: // Hangul vowels and finals
		return true
	default:
		return 0x1F3FB <= c && c <= 0x1F3FF || 0xE0020 <= c && c <= 0xE007F
	}
}

// joinsNext reports whether the code point after this one belongs to it: the joiner, and the marks that tie Indic consonants.
func joinsNext(c rune) bool {
	return c == '\u200D' || 0x900 <= c && c <= 0xDFF && c&0x7F == 0x4D
}

func isFlag(c rune) bool { return 0x1F1E6 <= c && c <= 0x1F1FF }

// isEmoji holds for the blocks that emoji are taken from.
func isEmoji(c rune) bool {
	return 0x1F000 <= c && c <= 0x1FAFF || 0x2600 <= c && c <= 0x27BF || 0x2B00 <= c && c <= 0x2BFF || c == '‼' || c == '⁉' || c == '™'
}

// emoticons are faces made of marks, longest first, as the emoji that they stand for.
var emoticons = []struct {
	text string
	char rune
}{
	{":'-(", '😢'},
	{":-)", '🙂'},
	{":-(", '🙁'},
	{":-D", '😀'},
	{":-P", '😛'},
	{":-/", '😕'},
	{";-)", '😉'},
	{":'(", '😢'},
	{"^_^", '🙂'},
	{":)", '🙂'},
	{":(", '🙁'},
	{":D", '😀'},
	{":P", '😛'},
	{":/", '😕'},
	{":|", '😐'},
	{";)", '😉'},
	{"=)", '🙂'},
	{"=(", '🙁'},
	{"<3", '❤'},
	{"^^", '🙂'},
}

func emoticonAt(rest string) (bytes int, char rune) {
	if len(rest) < 2 || !strings.ContainsRune(":;=<^", rune(rest[0])) {
		return 0, 0
	}
	for _, e := range emoticons {
		if strings.HasPrefix(rest, e.text) {
			after := first(rest[len(e.text):])
			if isLetter(after) || isDigit(after) || after == '/' {
				return 0, 0
			}
			return len(e.text), e.char
		}
	}
	return 0, 0
}
