package analysis_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"earshot/internal/analysis"
)

var update = flag.Bool("update", false, "write testdata/golden.txt anew")

const goldenPath = "testdata/golden.txt"

// results prints all that was read in the texts of dev.
func results(t *testing.T, topics *analysis.Catalogue) string {
	t.Helper()
	var b strings.Builder
	for _, language := range languages {
		for _, row := range readLabelled(t, language, "dev") {
			for _, lang := range []analysis.Language{"", analysis.Language(language)} {
				fmt.Fprintf(&b, "%+v\n", analysis.Read(row.text, lang, topics))
			}
		}
	}
	return b.String()
}

// The same texts give the same results on every machine, until Version is raised: what was stored with one version may be
// compared with what is read now.
func TestResultsAreThoseOfTheirVersion(t *testing.T) {
	t.Parallel()
	got := fmt.Sprintf("version %d\nsha256 %x\n", analysis.Version, sha256.Sum256([]byte(results(t, starter(t)))))
	if *update {
		if err := os.WriteFile(goldenPath, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenPath)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("results changed: raise Version, run go test ./internal/analysis -run Version -update, and make eval-text\ngot\n%swant\n%s", got, want)
	}
}

// Many may read at once, and each gets what one alone would.
func TestReadingAtOnce(t *testing.T) {
	t.Parallel()
	topics := starter(t)
	want := results(t, topics)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := results(t, topics); got != want {
				t.Error("results differ")
			}
		})
	}
	wg.Wait()
}

// Four times the text takes about four times as long, whatever it is made of: one answer must not hold a server up.
func TestReadingIsLinear(t *testing.T) {
	t.Parallel()
	topics := starter(t)
	texts := map[string]string{
		"prose":        answers[analysis.German] + " ",
		"no ends":      strings.TrimSuffix(answers[analysis.English], ".") + " ",
		"short":        "No. ",
		"brackets":     "))))",
		"quotes":       `"''"`,
		"stops":        "....",
		"exclamations": "!!!!",
		"letters":      "aaaa",
		"marks":        "e\u0301\u0301\u0301",
		"denials":      "no or good not or bad ",
		"gaps":         "cant thank you cant praise ",
		"emoji":        "😡😡😊😊",
		"addresses":    "a@b.c http://x.y ",
		"at signs":     "@@@@a@",
		"slashes":      "a/b/c/d/",
		"hyphens":      "a-b-c-d-",
		"apostrophes":  "a'b'c'd'",
		"numbers":      "1,2.3/4:5 ",
		"lines":        "- a\n* b\n",
		"Chinese":      "漢字假名",
		"invalid":      "\xff\xfe\xfd\xfc",
		"commas":       "good, bad, ",
	}
	// One after the other: side by side they would slow each other down.
	for name, unit := range texts {
		short, long := strings.Repeat(unit, 16_000/len(unit)), strings.Repeat(unit, 64_000/len(unit))
		if !linear(short, long, topics) {
			t.Errorf("%s: not linear", name)
		}
	}
}

// linear compares what a text and one four times as long take of the processor. What others do on the machine is felt even there: what is
// quick in any case, or linear once in five times, is.
func linear(short, long string, topics *analysis.Catalogue) bool {
	for range 5 {
		a, b := cheapest(short, topics), cheapest(long, topics)
		if b < 20*time.Millisecond || b < 8*a {
			return true
		}
	}
	return false
}

// cheapest is the least processor time that reading a text takes this thread, of three times.
func cheapest(text string, topics *analysis.Catalogue) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	best := time.Hour
	for range 3 {
		begin := threadTime()
		analysis.Read(text, "en", topics)
		best = min(best, threadTime()-begin)
	}
	return best
}

func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD, which package syscall does not name
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
