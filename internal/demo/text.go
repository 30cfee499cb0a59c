package demo

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed phrases/*.txt
var phraseFiles embed.FS

// phrases are clauses by language and by what stands in brackets above them, such as "delivery +".
var phrases = readPhrases()

func readPhrases() map[string]map[string][]string {
	all := map[string]map[string][]string{}
	for language := range editors {
		text, err := phraseFiles.ReadFile("phrases/" + language + ".txt")
		if err != nil {
			panic(err)
		}
		filed, heading := map[string][]string{}, ""
		for line := range strings.Lines(string(text)) {
			switch line = strings.TrimSpace(line); {
			case line == "" || line[0] == '#':
			case line[0] == '[':
				heading = strings.Trim(line, "[]")
			default:
				filed[heading] = append(filed[heading], line)
			}
		}
		all[language] = filed
	}
	return all
}

// The moods of texts: what is written goes with the scores beside it.
const (
	glad  = "+"
	mixed = "0"
	angry = "-"
)

func tone(mood float64) string {
	switch {
	case mood >= 0.68:
		return glad
	case mood <= 0.42:
		return angry
	}
	return mixed
}

// text is what somebody writes: a word to begin with perhaps, one or two things that were good or bad, and a last word.
func (g *generator) text(s *situation) string {
	t := tone(s.mood)
	var sentences []string
	if g.chance(0.35) {
		sentences = append(sentences, g.clause(s, "open "+t))
	}
	if len(sentences) == 0 || g.chance(0.9) {
		sentences = append(sentences, g.matter(s, t)...)
	}
	if closing := map[string]float64{glad: 0.3, mixed: 0.25, angry: 0.45}[t]; g.chance(closing) {
		sentences = append(sentences, g.clause(s, "close "+t))
	}
	return g.written(sentences, t)
}

// matter is what it is about, in one sentence or two.
func (g *generator) matter(s *situation, t string) []string {
	if t == mixed { // what was bad about it, and what was good about something else
		bad, good := g.about(s, angry), g.clause(s, heading(g.another(s), glad))
		if g.chance(0.5) {
			return []string{bad + ", " + g.clause(s, "but") + " " + good}
		}
		return []string{good + ", " + g.clause(s, "but") + " " + bad}
	}
	first := g.about(s, t)
	if !g.chance(0.5) {
		return []string{first}
	}
	second := g.clause(s, heading(g.another(s), t))
	if g.chance(0.5) {
		return []string{first + " " + g.clause(s, "and") + " " + second}
	}
	return []string{first, second}
}

// about is a clause on the event somebody speaks of, or on their topic.
func (g *generator) about(s *situation, t string) string {
	if s.event != nil {
		if h := heading(s.event.topic, t); len(phrases[s.language][h]) > 0 {
			return g.clause(s, h)
		}
	}
	return g.clause(s, heading(s.subject(), t))
}

func heading(t topic, tone string) string { return string(t) + " " + tone }

// another is a second thing to speak of, at the same touchpoint.
func (g *generator) another(s *situation) topic {
	for range 4 {
		t := draw(g.random, s.point.topics)
		if t != s.subject() && (t != shop && t != staff || s.shop) {
			return t
		}
	}
	return s.subject()
}

// clause is one of those under a heading, filled in.
func (g *generator) clause(s *situation, heading string) string {
	filed := phrases[s.language][heading]
	if len(filed) == 0 {
		panic(fmt.Sprintf("no phrases for %q in %s", heading, s.language))
	}
	clause := pick(g.random, filed)
	if !strings.Contains(clause, "{") {
		return clause
	}
	days := 2 + g.random.IntN(2)
	if !strings.HasSuffix(heading, glad) {
		days = 4 + g.random.IntN(20)
	}
	return strings.NewReplacer("{product}", s.product.name, "{city}", s.city, "{version}", s.version,
		"{days}", strconv.Itoa(days), "{minutes}", strconv.Itoa(15+5*g.random.IntN(8))).Replace(clause)
}

// written puts sentences down as people do: mostly with capitals and full stops, sometimes with neither.
func (g *generator) written(sentences []string, t string) string {
	careless := g.chance(0.12)
	var b strings.Builder
	for i, sentence := range sentences {
		if i > 0 {
			b.WriteByte(' ')
		}
		if careless {
			b.WriteString(sentence)
			if i < len(sentences)-1 {
				b.WriteByte(',')
			}
			continue
		}
		first, size := utf8.DecodeRuneInString(sentence)
		b.WriteRune(unicode.ToUpper(first))
		b.WriteString(sentence[size:])
		end := "."
		if t != mixed && g.chance(0.2) {
			end = "!"
		}
		b.WriteString(end)
	}
	if g.chance(0.05) {
		b.WriteString(map[string]string{glad: " 😊", mixed: " 🤷", angry: " 😡"}[t])
	}
	return b.String()
}
