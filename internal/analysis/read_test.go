package analysis_test

import (
	"slices"
	"strings"
	"testing"

	"earshot/internal/analysis"
)

// Answers of about 120 characters, as people write them.
var answers = map[analysis.Language]string{
	analysis.English: "The delivery was two weeks late and nobody answered my mails, but the lady on the phone was very helpful and sorted it.",
	analysis.French:  "La livraison est arrivée avec deux semaines de retard et personne ne répondait, mais la dame au téléphone a été adorable.",
	analysis.German:  "Die Lieferung kam zwei Wochen zu spät und niemand hat geantwortet, aber die Dame am Telefon war wirklich hilfsbereit.",
	analysis.Spanish: "El pedido llegó con dos semanas de retraso y nadie contestaba, pero la señora del teléfono fue muy amable y lo resolvió.",
	analysis.Italian: "La consegna è arrivata con due settimane di ritardo e nessuno rispondeva, ma la signora al telefono è stata gentilissima.",
}

// read reads a text and checks what holds for every result.
func read(tb testing.TB, text string, lang analysis.Language) analysis.Result {
	tb.Helper()
	res := analysis.Read(text, lang, nil)
	checkResult(tb, text, res)
	return res
}

// checkResult checks what is promised of every text: spans in order that do not overlap, each the stretch of the text it says, in
// code points, trimmed, and a score that is their mean.
func checkResult(tb testing.TB, text string, res analysis.Result) {
	tb.Helper()
	points := make([]int, 0, len(text)+1) // where each code point begins
	for i := range text {
		points = append(points, i)
	}
	points = append(points, len(text))
	end, sum, length := 0, 0, 0
	for i, s := range res.Spans {
		if s.Start < end || s.Length <= 0 || s.Start+s.Length >= len(points) {
			tb.Fatalf("span %d: %d+%d after %d in a text of %d code points", i, s.Start, s.Length, end, len(points)-1)
		}
		if want := text[points[s.Start]:points[s.Start+s.Length]]; s.Text != want {
			tb.Fatalf("span %d: %q is not the stretch %q", i, s.Text, want)
		}
		if s.Text != strings.TrimSpace(s.Text) {
			tb.Fatalf("span %d: white space around %q", i, s.Text)
		}
		if s.Score < 0 || s.Score > 100 {
			tb.Fatalf("span %d: score %d", i, s.Score)
		}
		if !slices.IsSorted(s.Topics) || len(slices.Compact(slices.Clone(s.Topics))) != len(s.Topics) {
			tb.Fatalf("span %d: topics %v", i, s.Topics)
		}
		end = s.Start + s.Length
		sum += s.Score * s.Length
		length += s.Length
	}
	if len(res.Spans) > analysis.MaxSpans {
		tb.Fatalf("%d spans", len(res.Spans))
	}
	if res.Measured != (len(res.Spans) > 0) {
		tb.Fatalf("measured: %v with %d spans", res.Measured, len(res.Spans))
	}
	if res.Measured && res.Score != (2*sum+length)/(2*length) {
		tb.Fatalf("score %d is not the mean of %d/%d", res.Score, sum, length)
	}
}
