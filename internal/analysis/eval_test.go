package analysis_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"earshot/internal/analysis"
)

var (
	eval    = flag.Bool("eval", false, "measure on the labelled set, print the figures and write them into docs/text-analysis.md")
	devOnly = flag.Bool("dev", false, "with -eval: measure on dev only, list what is told wrong there, and write nothing")
)

const evaluationDoc = "../../docs/text-analysis.md"

// confusion counts what was told, by what was labelled.
type confusion [3][3]int

func (c *confusion) add(was, told string) { c[slices.Index(labels, was)][slices.Index(labels, told)]++ }

func (c *confusion) total() (n, right int) {
	for i := range c {
		for j := range c[i] {
			n += c[i][j]
		}
		right += c[i][i]
	}
	return n, right
}

func (c *confusion) accuracy() float64 {
	n, right := c.total()
	return 100 * float64(right) / float64(n)
}

// interval is Wilson's, at 95 %.
func (c *confusion) interval() (low, high float64) {
	const z = 1.959964
	n, right := c.total()
	p, m := float64(right)/float64(n), float64(n)
	centre, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return 100 * (centre - half) / (1 + z*z/m), 100 * (centre + half) / (1 + z*z/m)
}

// macroF1 is the mean of the three labels' F1.
func (c *confusion) macroF1() float64 {
	sum := 0.0
	for i := range c {
		both := 0
		for j := range c {
			both += c[j][i] + c[i][j]
		}
		if both > 0 {
			sum += 2 * float64(c[i][i]) / float64(both)
		}
	}
	return sum / 3
}

// measured is what one half of one language gave.
type measured struct {
	rules, phrases, words, unknown confusion // with every rule; lists alone; single words alone; language to be found
	found                          int       // texts whose language was found
}

func measure(t *testing.T, language, half string) (m measured) {
	t.Helper()
	lang := analysis.Language(language)
	for _, row := range readLabelled(t, language, half) {
		told := analysis.Label(analysis.Read(row.text, lang, nil).Score)
		m.rules.add(row.label, told)
		m.phrases.add(row.label, analysis.Label(analysis.Plain(row.text, lang, true)))
		m.words.add(row.label, analysis.Label(analysis.Plain(row.text, lang, false)))
		res := analysis.Read(row.text, "", nil)
		m.unknown.add(row.label, analysis.Label(res.Score))
		if res.Language == lang {
			m.found++
		}
		if *devOnly && half == "dev" && told != row.label {
			fmt.Printf("%s: %s told as %s: %s\n", language, row.label, told, row.text)
		}
	}
	return m
}

// How often the label of a text is told right. No rule is guarded here: this prints, and with both halves writes the document.
func TestEvaluation(t *testing.T) {
	t.Parallel()
	if !*eval {
		t.Skip("run by make eval-text")
	}
	var table, confusions strings.Builder
	fmt.Fprintln(&table, "| Language | Half | texts | right | 95 % interval | macro F1 | lists only | words only | language found | right when it must be found |")
	fmt.Fprintln(&table, "|---|---|--:|--:|---|--:|--:|--:|--:|--:|")
	fmt.Fprintln(&confusions, "| Language | Label | told negative | told neutral | told positive |\n|---|---|--:|--:|--:|")
	for _, language := range languages {
		for _, half := range halves {
			if *devOnly && half != "dev" {
				continue
			}
			m := measure(t, language, half)
			n, _ := m.rules.total()
			low, high := m.rules.interval()
			fmt.Fprintf(&table, "| %s | %s | %d | %.1f %% | %.1f–%.1f %% | %.3f | %.1f %% | %.1f %% | %.1f %% | %.1f %% |\n", language, half, n, m.rules.accuracy(), low, high,
				m.rules.macroF1(), m.phrases.accuracy(), m.words.accuracy(), 100*float64(m.found)/float64(n), m.unknown.accuracy())
			if half != "heldout" {
				continue
			}
			for i, label := range labels {
				c := m.rules[i]
				fmt.Fprintf(&confusions, "| %s | %s | %d | %d | %d |\n", language, label, c[0], c[1], c[2])
			}
		}
	}
	out := fmt.Sprintf("%s, measured by `make eval-text`.\n\n%s\nHeld-out texts, by what they were labelled and what was told:\n\n%s", measuredAs(t), table.String(), confusions.String())
	fmt.Print(out)
	if !*devOnly {
		replaceSection(t, evaluationDoc, "evaluation", out)
	}
}

// measuredAs names what was measured: the version, and the results it gives, as far as the golden file tells them apart.
func measuredAs(t *testing.T) string {
	t.Helper()
	golden, err := os.ReadFile(goldenPath)
	if err != nil {
		t.Fatal(err)
	}
	_, sum, _ := strings.Cut(string(golden), "sha256 ")
	return fmt.Sprintf("Version %d of the analysis with results %.12s", analysis.Version, sum)
}

// The figures in the document are those of what is there now, not of what was there when they looked better.
func TestDocumentedFiguresAreOfTheseResults(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(evaluationDoc)
	if err != nil {
		t.Fatal(err)
	}
	if want := measuredAs(t); !strings.Contains(string(b), want) {
		t.Errorf("docs/text-analysis.md does not say %q: run make eval-text", want)
	}
}

// replaceSection writes what stands between the marks of a section anew.
func replaceSection(t *testing.T, path, name, text string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
	before, rest, found := strings.Cut(string(b), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no section %s", path, name)
	}
	if err := os.WriteFile(path, []byte(before+begin+text+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
