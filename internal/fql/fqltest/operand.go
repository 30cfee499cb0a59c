package fqltest

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// drawn is an operand as JSON. The rank orders the two of $btw.
type drawn struct {
	json string
	rank float64
}

// odd texts trip up those who build patterns, fold case or split bytes.
var odd = []string{
	"%", "_", "%%", "a%", "_a", ".*", ".", `\`, `\%`, "[a-z]", "(", "*", "?", "^", "$", "|", "+", "'", "''", `"`,
	"--", ";", "é", "É", "ß", "ẞ", "İ", "ı", "Σ", "ς", "日本", "😀", "e\u0301", " ", "\n", "<b>", "nowhere", "0", "-1",
}

var periods = []string{
	"today", "last_day", "current_week", "current_month", "current_quarter", "current_year", "last_week", "last_month",
	"last_quarter", "last_year", "last_7_days", "last_30_days", "last_90_days", "last_12_months", "all",
}

// operands returns the source of operands for a selector that needs neither name nor id.
func (g generator) operands(selector string) func(operator string) drawn {
	w := g.world
	switch selector {
	case "Id":
		return func(string) drawn { return g.near(w.IDs) }
	case "Form":
		return func(string) drawn { return g.near(w.Carriers) }
	case "Team":
		return func(string) drawn { return g.near(w.Teams) }
	case "Topic id":
		var ids []int64
		for _, t := range w.Topics {
			ids = append(ids, t.ID)
		}
		return func(string) drawn { return g.near(ids) }
	case "TimePeriod", "CompletedAt":
		return g.moment
	case "Source":
		return func(string) drawn { return drawn{json: quote(g.recase(pick(g, w.Sources...)))} }
	case "Status":
		return func(string) drawn { return drawn{json: quote(g.recase(pick(g, w.Statuses...)))} }
	case "Nps":
		names := append([]string{"promoter", "passive", "detractor"}, profiles...)
		return func(string) drawn { return drawn{json: quote(g.recase(pick(g, names...)))} }
	case "Satisfaction":
		return func(string) drawn { return g.score(w.Satisfactions) }
	case "Sentiment":
		return g.feeling
	default:
		texts := g.texts(selector)
		return func(operator string) drawn { return g.text(texts, operator, selector == "Owner") }
	}
}

// texts are those a selector of free text may find; words come last.
func (g generator) texts(selector string) []string {
	var texts []string
	switch selector {
	case "Topic":
		for _, t := range g.world.Topics {
			texts = append(texts, t.Name)
		}
	case "Text":
		for _, q := range g.world.Questions {
			if q.Type == "text" || q.Type == "textarea" {
				texts = append(texts, q.Values...)
			}
		}
		texts = append(texts, g.world.Words...)
	case "Owner":
		texts = g.world.Owners
	case "Fingerprint":
		texts = g.world.Fingerprints
	default:
		panic("fqltest: no operands for " + selector)
	}
	return texts
}

// near is one of the numbers, or one beside it, or one far away.
func (g generator) near(numbers []int64) drawn {
	if len(numbers) == 0 || g.oneIn(12) {
		return g.whole(pick[int64](g, 0, -1, 1, 999_999_999, 1<<53-1))
	}
	return g.whole(pick(g, numbers...) + pick[int64](g, 0, 0, 0, 0, 1, -1))
}

func (g generator) whole(n int64) drawn { return g.number(strconv.FormatInt(n, 10)) }

// number writes a number as itself or as a string.
func (g generator) number(text string) drawn {
	rank, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	if g.oneIn(4) {
		text = quote(text)
	}
	return drawn{text, rank}
}

func (g generator) moment(operator string) drawn {
	if (operator == "$eq" || operator == "$in") && g.oneIn(2) {
		return drawn{json: quote(g.recase(pick(g, "", "date_") + pick(g, periods...)))}
	}
	t := g.world.Now
	if len(g.world.Times) > 0 && !g.oneIn(8) {
		t = pick(g, g.world.Times...)
	}
	t = t.In(g.world.Zone).Truncate(time.Microsecond) // finer than the database keeps
	format := "2006-01-02T15:04:05.999999Z07:00"
	if g.oneIn(3) {
		t = t.Add(pick(g, 0, 0, time.Microsecond, -time.Microsecond, time.Hour, -time.Hour))
		t = t.In(pick(g, time.UTC, g.world.Zone, time.FixedZone("", 19800)))
	} else {
		t = t.AddDate(0, 0, pick(g, 0, 0, 0, 1, -1, 7))
		format = time.DateOnly
	}
	return drawn{quote(t.Format(format)), float64(t.UnixMicro())}
}

// score writes hundredths with more or fewer decimals.
func (g generator) score(known []int) drawn {
	h := pick(g, 0, 4000, 4001, 5000, 6000, 6001, 6667, 10000, g.IntN(10001))
	if len(known) > 0 && !g.oneIn(3) {
		h = min(max(pick(g, known...)+pick(g, 0, 0, 0, 1, -1), 0), 10000)
	}
	exact := big.NewRat(int64(h), 100)
	switch {
	case h%100 == 0 && g.oneIn(2):
		return g.number(exact.FloatString(0))
	case h%10 == 0 && g.oneIn(2):
		return g.number(exact.FloatString(1))
	case h < 10000 && g.oneIn(12):
		return g.number(exact.FloatString(2) + "5") // between two that can be stored
	default:
		return g.number(exact.FloatString(2))
	}
}

func (g generator) feeling(operator string) drawn {
	if slices.Contains(equality, operator) && !g.oneIn(3) {
		return drawn{json: quote(pick(g, profiles...))}
	}
	return g.score(g.world.Sentiments)
}

func (g generator) attribute() Attribute {
	if len(g.world.Attributes) == 0 || g.oneIn(20) {
		return Attribute{Name: pick(g, "no such", "é", "%", "Name")}
	}
	return pick(g, g.world.Attributes...)
}

func (g generator) question() Question {
	if len(g.world.Questions) == 0 || g.oneIn(20) {
		return Question{ID: 999_999_999, Type: "text"}
	}
	return pick(g, g.world.Questions...)
}

func (g generator) attributeValue(a Attribute, operator string) drawn {
	if slices.Contains(ordering, operator) {
		return g.beside(a.Values)
	}
	return g.textOrNumber(a.Values, operator)
}

func (g generator) answer(q Question, operator string) drawn {
	switch {
	case slices.Contains(ordering, operator):
		return g.beside(q.Values)
	case scored(q.Type) && !isLike(operator) && g.oneIn(3):
		return g.number(strconv.Itoa(g.IntN(12)) + pick(g, "", "", ".0", ".5"))
	default:
		return g.textOrNumber(q.Values, operator)
	}
}

// textOrNumber writes a text that spells a number as one now and then.
func (g generator) textOrNumber(texts []string, operator string) drawn {
	if len(texts) > 0 && !isLike(operator) && g.oneIn(2) {
		if text := pick(g, texts...); parseNumber(text) != nil {
			return drawn{json: text}
		}
	}
	return g.text(texts, operator, false)
}

// beside is a number close to one that the texts spell.
func (g generator) beside(texts []string) drawn {
	if len(texts) > 0 && !g.oneIn(4) {
		if text := pick(g, texts...); parseNumber(text) != nil {
			if n, err := strconv.ParseInt(text, 10, 32); err == nil {
				return g.number(fmt.Sprint(n+pick[int64](g, 0, 0, 0, 1, -1)) + pick(g, "", "", "", ".5"))
			}
			return g.number(text)
		}
	}
	return g.number(pick(g, "0", "5", "7", "-3", "2.5", "10", "1e2", "12.50", "1000000"))
}

// text is one of the texts, whole for equality and a part of it for $like. Case varies where it does not
// matter, and now and then where it does.
func (g generator) text(texts []string, operator string, folded bool) drawn {
	text := pick(g, odd...)
	if len(texts) > 0 && !g.oneIn(8) {
		text = pick(g, texts...)
	}
	if isLike(operator) {
		return drawn{json: quote(g.recase(g.part(text)))}
	}
	if folded || g.oneIn(12) {
		text = g.recase(text)
	}
	return drawn{json: quote(text)}
}

// part is a stretch of the text, never empty, and now and then with a sign that patterns take for another.
func (g generator) part(text string) string {
	runes := []rune(text)
	if len(runes) == 0 {
		return pick(g, odd...)
	}
	start := g.IntN(len(runes))
	part := string(runes[start:min(len(runes), start+1+g.IntN(5))])
	if g.oneIn(10) {
		return pick(g, "%"+part, part+"%", part+"_", ".*"+part, part+`\`)
	}
	return part
}

func (g generator) recase(text string) string {
	switch g.IntN(4) {
	case 0:
		return strings.ToUpper(text)
	case 1:
		return strings.ToLower(text)
	default:
		return text
	}
}
