package analysis_test

import (
	"fmt"
	"slices"
	"testing"

	"earshot/internal/analysis"
)

// Whatever is read, nothing breaks: spans keep their promises, topics are known ones, and the same text reads the same twice.
func FuzzRead(f *testing.F) {
	for lang, text := range answers {
		f.Add(text, string(lang))
	}
	for _, text := range []string{
		"", " ", "\xff", "a\xff\xfe. b", "e\u0301", "\u0301", "\u200d", "👩‍👩‍👧 ok", "🇫🇷🇩🇪", "...", "!?!?", "((((", "1.2.3", "1/0", "99999999999999999999/10",
		"- a\n- b\r\n\r\n* c", "www.", "http://", "a@b", "@", "don't", "l'", "'", "''a'", "x'y'z", "ß", "İ", "ǅ", "漢字。かな！", "ไทย", "क्ष", "\u00ad-", "…", "a\u2028b",
		"no no no good or bad", "too too too", "ne pas", "sin ningún", "zu teuer", "9/10", "⭐⭐⭐⭐⭐", "GREAT!!!", "sooooooo", ":-) :( <3",
	} {
		f.Add(text, "")
	}
	topics := starter(f)
	f.Fuzz(func(t *testing.T, text, lang string) {
		res := analysis.Read(text, analysis.Language(lang), topics)
		checkResult(t, text, res)
		if l := analysis.Language(lang); l.Known() && res.Language != l {
			t.Fatalf("%q was read as %q", lang, res.Language)
		}
		var union []int64
		for _, s := range res.Spans {
			union = append(union, s.Topics...)
		}
		slices.Sort(union)
		if !slices.Equal(slices.Compact(union), res.Topics) {
			t.Fatalf("topics %v of %v", res.Topics, union)
		}
		if again := analysis.Read(text, analysis.Language(lang), topics); fmt.Sprint(again) != fmt.Sprint(res) {
			t.Fatalf("first %v, then %v", res, again)
		}
		analysis.Suggest(slices.Values([]string{text, text}), analysis.Language(lang), topics, 3)
	})
}

// Whatever keywords are given, they are compiled or refused, and what was compiled can be looked for.
func FuzzCompile(f *testing.F) {
	for _, k := range []string{"price", "fr:prix", "opening hours", "deliver*", "*versand", "=exact", "% euro", "a .. b", "..", "| x", "*", "=*", "de:", ":", "\xff", "a*b", "漢字*", "l'app"} {
		f.Add(k, "price of delivery, opening hours", "en")
	}
	f.Fuzz(func(t *testing.T, keyword, text, lang string) {
		c, err := analysis.Compile([]analysis.Topic{{ID: 1, Name: "Topic", Keywords: []string{keyword}}})
		if err != nil {
			if c != nil || err.Error() == "" {
				t.Fatalf("%v with %v", c, err)
			}
			return
		}
		checkResult(t, text, analysis.Read(text, analysis.Language(lang), c))
	})
}
