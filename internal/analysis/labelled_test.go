package analysis_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var split = flag.Bool("split", false, "write the halves, their hashes and the counts anew from all labelled rows")

const (
	labelledDir    = "testdata/sentiment"
	labelledHeader = "label\tphenomenon\tkind\ttext"
)

// The closed lists of the labelled set. README.md beside the files says what each means.
var (
	languages = []string{"en", "fr", "de", "es", "it"}
	halves    = []string{"dev", "heldout"}
	labels    = []string{"negative", "neutral", "positive"}
	phenomena = []string{
		"plain", "negation", "double_negation", "intensifier", "mixed", "sarcasm", "short", "question", "factual", "domain",
		"comparison", "wish", "emoji", "idiom",
	}
	kinds = []string{"review", "call", "survey", "mail", "app", "chat"}
)

// labelled is one row: a text with what people would say of it.
type labelled struct {
	label, phenomenon, kind, text string
}

func labelledPath(language, half string) string {
	return filepath.Join(labelledDir, language+"."+half+".tsv")
}

// readLabelled reads one half of one language. A half that is not there yet is empty while -split makes it.
func readLabelled(t *testing.T, language, half string) []labelled {
	t.Helper()
	b, err := os.ReadFile(labelledPath(language, half))
	if os.IsNotExist(err) && *split {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(string(b), "\n")
	if head != labelledHeader {
		t.Fatalf("%s.%s: the first line is not the header", language, half)
	}
	var rows []labelled
	for line := range strings.Lines(body) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 {
			t.Fatalf("%s.%s line %d: %d columns", language, half, len(rows)+2, len(f))
		}
		rows = append(rows, labelled{f[0], f[1], f[2], f[3]})
	}
	return rows
}

func formatLabelled(rows []labelled) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, labelledHeader)
	for _, r := range rows {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", r.label, r.phenomenon, r.kind, r.text)
	}
	return b.Bytes()
}

// halve deals the rows of each label, in the order of their texts' SHA-256, to dev and heldout in turn. Nobody chooses
// what is held out, and the order of a file says nothing about its labels.
func halve(rows []labelled) (dev, heldout []labelled) {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b labelled) int {
		x, y := sha256.Sum256([]byte(a.text)), sha256.Sum256([]byte(b.text))
		return cmp.Or(bytes.Compare(x[:], y[:]), cmp.Compare(a.text, b.text))
	})
	dealt := map[string]int{}
	for _, r := range rows {
		if dealt[r.label]%2 == 0 {
			dev = append(dev, r)
		} else {
			heldout = append(heldout, r)
		}
		dealt[r.label]++
	}
	return dev, heldout
}

func labelledSums(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, language := range languages {
		for _, half := range halves {
			content, err := os.ReadFile(labelledPath(language, half))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%x  %s.%s.tsv\n", sha256.Sum256(content), language, half)
		}
	}
	return b.Bytes()
}

// labelledCounts is the table of README.md.
func labelledCounts(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "| Language | Half | %s | all |\n|---|---|--:|--:|--:|--:|\n", strings.Join(labels, " | "))
	for _, language := range languages {
		for _, half := range halves {
			rows := readLabelled(t, language, half)
			fmt.Fprintf(&b, "| %s | %s |", language, half)
			for _, label := range labels {
				fmt.Fprintf(&b, " %d |", count(rows, func(r labelled) bool { return r.label == label }))
			}
			fmt.Fprintf(&b, " %d |\n", len(rows))
		}
	}
	fmt.Fprintf(&b, "\n| Phenomenon | %s |\n|---|--:|--:|--:|--:|--:|\n", strings.Join(languages, " | "))
	for _, phenomenon := range phenomena {
		fmt.Fprintf(&b, "| %s |", phenomenon)
		for _, language := range languages {
			rows := slices.Concat(readLabelled(t, language, "dev"), readLabelled(t, language, "heldout"))
			fmt.Fprintf(&b, " %d |", count(rows, func(r labelled) bool { return r.phenomenon == phenomenon }))
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

func count(rows []labelled, is func(labelled) bool) int {
	n := 0
	for _, r := range rows {
		if is(r) {
			n++
		}
	}
	return n
}

// The halves are what the rule makes of all rows together, to the byte; the hashes and the counts are those of the files.
// One test, because with -split it writes what it otherwise compares.
func TestLabelledSetIsAsItWasSplit(t *testing.T) {
	t.Parallel()
	for _, language := range languages {
		var got [2][]labelled
		for i, half := range halves {
			got[i] = readLabelled(t, language, half)
		}
		dev, heldout := halve(slices.Concat(got[:]...))
		hold(t, labelledPath(language, "dev"), formatLabelled(dev))
		hold(t, labelledPath(language, "heldout"), formatLabelled(heldout))
	}
	hold(t, filepath.Join(labelledDir, "SHA256SUMS"), labelledSums(t))

	path := filepath.Join(labelledDir, "README.md")
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- counts: begin -->\n", "<!-- counts: end -->\n"
	before, rest, found := strings.Cut(string(readme), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the counts", path)
	}
	hold(t, path, []byte(before+begin+labelledCounts(t)+end+after))
}

// hold compares a file with what it should be, or with -split makes it so.
func hold(t *testing.T, path string, want []byte) {
	t.Helper()
	if *split {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the labelled rows make it", path)
	}
}

// Each language has enough rows in either half to measure on, and every word beside a text is one that is explained. A
// failure names the line and not its text, which may be held out.
func TestLabelledRowsAreWellFormed(t *testing.T) {
	t.Parallel()
	if *split {
		t.Skip("the files are being written")
	}
	seen := map[string]string{}
	for _, language := range languages {
		total := 0
		for _, half := range halves {
			file := language + "." + half
			rows := readLabelled(t, language, half)
			total += len(rows)
			if len(rows) < 100 {
				t.Errorf("%s: %d rows, want at least 100", file, len(rows))
			}
			for i, r := range rows {
				at := fmt.Sprintf("%s line %d", file, i+2)
				if !slices.Contains(labels, r.label) || !slices.Contains(phenomena, r.phenomenon) || !slices.Contains(kinds, r.kind) {
					t.Errorf("%s: unknown label, phenomenon or kind", at)
				}
				if err := checkText(r.text); err != nil {
					t.Errorf("%s: %v", at, err)
				}
				if first := seen[r.text]; first != "" {
					t.Errorf("%s: the text of %s", at, first)
				}
				seen[r.text] = at
			}
		}
		if total < 200 {
			t.Errorf("%s: %d rows, want at least 200", language, total)
		}
	}
}

// checkText says what is wrong with a text. Whatever lies below U+0300 is in normal form C by itself, and so are
// symbols: a text whose letters all lie there, and which has no combining mark, is too. U+FE0F turns a symbol into an
// emoji and U+200D joins two; neither composes with anything.
func checkText(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("not UTF-8")
	}
	if text == "" || text != strings.Join(strings.Fields(text), " ") {
		return fmt.Errorf("empty, or spaces that are too many")
	}
	if n := utf8.RuneCountInString(text); n > 250 {
		return fmt.Errorf("%d characters, want at most 250", n)
	}
	for _, r := range text {
		switch {
		case r == '\uFE0F' || r == '\u200D':
		case unicode.IsControl(r), unicode.IsMark(r), unicode.IsLetter(r) && r >= 0x300:
			return fmt.Errorf("%U may not be in normal form C", r)
		}
	}
	return nil
}
