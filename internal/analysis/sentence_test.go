package analysis_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"earshot/internal/analysis"
)

// Where sentences end, and where they only seem to.
func TestSentences(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		lang analysis.Language
		text string
		want []string
	}{
		"full stops":              {"en", "It came late. It was broken. Never again", []string{"It came late.", "It was broken.", "Never again"}},
		"lower case after a stop": {"en", "great staff. will come again.", []string{"great staff.", "will come again."}},
		"no space after a stop":   {"en", "The food was cold.Nobody cared", []string{"The food was cold.", "Nobody cared"}},
		"titles":                  {"en", "I saw Dr. Hill and Mrs. Moss. Both were kind.", []string{"I saw Dr. Hill and Mrs. Moss.", "Both were kind."}},
		"initials":                {"en", "J. R. Hartley helped me. Thanks.", []string{"J. R. Hartley helped me.", "Thanks."}},
		"etc. inside and at the end": {"en", "Towels, soap etc. were missing. No shampoo etc. The bed was fine.", []string{
			"Towels, soap etc. were missing.", "No shampoo etc.", "The bed was fine.",
		}},
		"German short forms": {"de", "Die Lieferung kam z.B. am Montag, ca. 14 Uhr. Danach nichts mehr.", []string{"Die Lieferung kam z.B. am Montag, ca. 14 Uhr.", "Danach nichts mehr."}},
		"German ordinals":    {"de", "Am 3. März bestellt, am 24. April da. Zu spät.", []string{"Am 3. März bestellt, am 24. April da.", "Zu spät."}},
		"French titles":      {"fr", "M. Dupont et Mme. Morel sont venus. Merci.", []string{"M. Dupont et Mme. Morel sont venus.", "Merci."}},
		"Spanish short forms": {"es", "El Sr. García, p. ej., fue amable. ¿Y ahora? ¡Qué bien!", []string{
			"El Sr. García, p. ej., fue amable.", "¿Y ahora?", "¡Qué bien!",
		}},
		"Italian titles":        {"it", "Il Sig. Rossi e il Dott. Bianchi sono bravi. Grazie.", []string{"Il Sig. Rossi e il Dott. Bianchi sono bravi.", "Grazie."}},
		"numbers":               {"en", "I paid 9.99 and waited 1.5 hours. Version 2.4 crashed.", []string{"I paid 9.99 and waited 1.5 hours.", "Version 2.4 crashed."}},
		"ellipsis going on":     {"en", "Well... it works, sort of... but slowly. Fine.", []string{"Well... it works, sort of... but slowly.", "Fine."}},
		"ellipsis ending":       {"en", "I waited and waited… Nobody came...", []string{"I waited and waited…", "Nobody came..."}},
		"addresses":             {"en", "See www.example.com/help.html or https://example.org/a?b=c. Write to j.doe@example.co.uk. Bye.", []string{"See www.example.com/help.html or https://example.org/a?b=c.", "Write to j.doe@example.co.uk.", "Bye."}},
		"several marks":         {"en", "What?! Again!!! Really???", []string{"What?!", "Again!!!", "Really???"}},
		"quotation":             {"en", `He said "No way." Then he left. "Sorry?" she asked.`, []string{`He said "No way."`, "Then he left.", `"Sorry?" she asked.`}},
		"emoji after the end":   {"en", "Cold food. 😡😡 Nice view! 😊", []string{"Cold food. 😡😡", "Nice view! 😊"}},
		"emoji between":         {"en", "Loved it 😍 Will be back", []string{"Loved it 😍", "Will be back"}},
		"lines that run on":     {"en", "The delivery was late\nand the box was wet.\n\nStill no refund", []string{"The delivery was late\nand the box was wet.", "Still no refund"}},
		"lines that begin anew": {"en", "Friendly staff\nClean rooms\r\nBad parking", []string{"Friendly staff", "Clean rooms", "Bad parking"}},
		"a list":                {"en", "Good:\n- the food\n* the view\n• the price\n1. service\n2) staff", []string{"Good:", "the food", "the view", "the price", "service", "staff"}},
		"Japanese":              {"", "料理は美味しかった。でも遅い！また来ます？はい", []string{"料理は美味しかった。", "でも遅い！", "また来ます？", "はい"}},
		"Hindi":                 {"", "खाना अच्छा था। सेवा धीमी थी।", []string{"खाना अच्छा था।", "सेवा धीमी थी।"}},
		"white space around":    {"en", " \t\n Nice \u00a0 ", []string{"Nice"}},
		"a smile after dots":    {"en", "... 😊", []string{"... 😊"}},
		"nothing but marks":     {"en", "--- ... !!! ,,,", nil},
		"nothing":               {"en", "", nil},
		"white space only":      {"en", " \n\t\u2003 ", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range read(t, c.text, c.lang).Spans {
				got = append(got, s.Text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// Offsets count code points, also after emoji and in texts that are not UTF-8, where a bad byte counts as one.
func TestOffsetsAreCodePoints(t *testing.T) {
	t.Parallel()
	res := read(t, "Ça va 👩‍👩‍👧! Très bien.", "fr")
	if len(res.Spans) != 2 || res.Spans[0].Length != 12 || res.Spans[1].Start != 13 {
		t.Errorf("got %+v", res.Spans)
	}
	res = read(t, "a\xff b. \xfe\xfeC", "en")
	if len(res.Spans) != 2 || res.Spans[1].Start != 6 || res.Spans[1].Text != "\xfe\xfeC" {
		t.Errorf("got %+v", res.Spans)
	}
}

// A text without any end is cut: at a space where there is one, and never inside what is one character to the eye.
func TestLongStretchesAreCut(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"words":     strings.Repeat("word and ", 1000),
		"no spaces": strings.Repeat("漢", 5000),
		"one word":  strings.Repeat("a", 5000),
		"Thai":      strings.Repeat("กำลัง", 1000),
		"accents":   strings.Repeat("e\u0301", 3000),
		"families":  strings.Repeat("👩‍👩‍👧", 1000),
		"flags":     strings.Repeat("🇫🇷", 2000),
		"Indic":     strings.Repeat("क्ष", 2000),
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := read(t, text, "")
			if len(res.Spans) < 2 {
				t.Fatalf("%d spans", len(res.Spans))
			}
			for _, s := range res.Spans {
				if s.Length > analysis.MaxLength {
					t.Fatalf("a span of %d code points", s.Length)
				}
				first, _ := utf8.DecodeRuneInString(s.Text)
				if first == '\u0301' || first == '\u200d' || first == '\u0e33' || first == '\u0e31' || first == '\u094d' {
					t.Fatalf("a span begins with %U", first)
				}
			}
		})
	}
}

// Past the thousandth span the rest of the text is one.
func TestSpansAreLimited(t *testing.T) {
	t.Parallel()
	res := read(t, strings.Repeat("No. Yes! ", 2000), "en")
	if len(res.Spans) != analysis.MaxSpans {
		t.Fatalf("%d spans", len(res.Spans))
	}
	last := res.Spans[len(res.Spans)-1]
	if last.Start+last.Length != 2000*9-1 {
		t.Errorf("the last span ends at %d", last.Start+last.Length)
	}
}
