package demo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"earshot/internal/feedback"
)

const many = 40_000

// story is told once for all tests about it.
var story = sync.OnceValue(func() []feedback.New { return records(1, until, many) })

// between keeps records of so many days before the end.
func between(from, to float64) func(feedback.New) bool {
	return func(r feedback.New) bool {
		days := until.Sub(*r.CreatedAt).Hours() / 24
		return days <= from && days > to
	}
}

func both(a, b func(feedback.New) bool) func(feedback.New) bool {
	return func(r feedback.New) bool { return a(r) && b(r) }
}

func count(all []feedback.New, which func(feedback.New) bool) float64 {
	n := 0.0
	for _, r := range all {
		if which(r) {
			n++
		}
	}
	return n
}

// The company is one that could be: five languages, many sources, more at Christmas and on Saturdays in shops, growth, most of it
// pleased, what is old settled.
func TestStoryIsPlausible(t *testing.T) {
	t.Parallel()
	all := story()
	languages, sources, carriers, shops := map[string]int{}, map[feedback.Source]int{}, map[int64]int{}, map[string]int{}
	weekdays, months := map[time.Weekday]float64{}, map[time.Month]float64{}
	for _, r := range all {
		languages[attribute(r, "language")]++
		sources[r.Source]++
		carriers[r.CarrierID]++
		shops[attribute(r, "shop")]++
		months[r.CreatedAt.Month()]++
		if r.CarrierID == 102 {
			weekdays[r.CreatedAt.Weekday()]++
		}
	}
	if len(languages) != 5 || len(sources) < 15 || len(carriers) != 6 || len(shops) < 15 {
		t.Errorf("%d languages, %d sources, %d carriers, %d shops", len(languages), len(sources), len(carriers), len(shops))
	}
	for language, n := range languages {
		if n < many/12 {
			t.Errorf("%d records in %s", n, language)
		}
	}
	if december := months[time.December] / months[time.October]; december < 1.3 {
		t.Errorf("December has %.2f of October", december)
	}
	if august := months[time.August] / months[time.July]; august > 0.85 {
		t.Errorf("August has %.2f of July", august)
	}
	if weekdays[time.Saturday] < 1.7*weekdays[time.Tuesday] || weekdays[time.Sunday] > 0.2*weekdays[time.Tuesday] {
		t.Errorf("visits of shops: %v", weekdays)
	}
	if growth := count(all, between(365, 0)) / count(all, between(1095, 730)); growth < 1.15 || growth > 1.8 {
		t.Errorf("the last year has %.2f of the first", growth)
	}
	if nps, n := mean(all, 1011, func(feedback.New) bool { return true }); nps < 6.5 || nps > 8.5 || n < many/5 {
		t.Errorf("the mean of %d NPS answers is %.2f", n, nps)
	}
	old := between(1100, 180)
	resolved := func(r feedback.New) bool { return r.Status == feedback.Resolved }
	todo := func(r feedback.New) bool { return r.Status == feedback.Todo }
	if share := count(all, both(old, resolved)) / count(all, old); share < 0.85 {
		t.Errorf("%.2f of the old ones are resolved", share)
	}
	if share := count(all, both(between(4, 0), todo)) / count(all, between(4, 0)); share < 0.6 {
		t.Errorf("%.2f of the newest are to do", share)
	}
	if owned := count(all, func(r feedback.New) bool { return len(r.Owners) > 0 }) / many; owned < 0.08 || owned > 0.4 {
		t.Errorf("%.2f have an owner", owned)
	}
}

// Each incident can be seen: in its time, where it happened, and not elsewhere.
func TestIncidentsShow(t *testing.T) {
	t.Parallel()
	all := story()
	in := func(carrier int64) func(feedback.New) bool {
		return func(r feedback.New) bool { return r.CarrierID == carrier }
	}
	with := func(name, value string) func(feedback.New) bool {
		return func(r feedback.New) bool { return attribute(r, name) == value }
	}
	perDay := func(from, to float64, which func(feedback.New) bool) float64 {
		return count(all, both(between(from, to), which)) / (from - to)
	}

	// The strike: orders of France, not of Germany.
	before, _ := mean(all, 1011, both(between(300, 241), with("country", "FR")))
	during, _ := mean(all, 1011, both(between(240, 222), with("country", "FR")))
	elsewhere, _ := mean(all, 1011, both(between(240, 222), with("country", "DE")))
	if during > before-1 || elsewhere < before-0.6 {
		t.Errorf("strike: NPS %.1f before, %.1f during, %.1f elsewhere", before, during, elsewhere)
	}

	// The crashing release: many more reviews, far worse, until the next version.
	before, _ = mean(all, 1031, between(200, 129))
	during, _ = mean(all, 1031, between(127, 120))
	after, _ := mean(all, 1031, between(110, 40))
	flood := perDay(128, 120, in(103)) / perDay(200, 130, in(103))
	if during > before-1.2 || after < before-0.4 || flood < 3 {
		t.Errorf("crash: %.1f stars before, %.1f during, %.1f after, %.1f times as many", before, during, after, flood)
	}
	bad, n := mean(all, 1031, with("app_version", "4.0.0"))
	if mended, _ := mean(all, 1031, with("app_version", "4.0.1")); n < 50 || bad > mended-1.2 {
		t.Errorf("version 4.0.0 has %.1f stars of %d, 4.0.1 %.1f", bad, n, mended)
	}

	// The price increase: members are hit, and get over it.
	before, _ = mean(all, 1061, between(560, 421))
	during, _ = mean(all, 1061, between(420, 385))
	after, _ = mean(all, 1061, between(280, 100))
	if during > before-0.8 || after < before-0.5 {
		t.Errorf("increase: %.1f before, %.1f during, %.1f after", before, during, after)
	}

	// The refund delay: why people call.
	refunds := func(r feedback.New) bool { return answer(r, 1051) == "Refund" }
	if during, before := perDay(636, 600, refunds), perDay(580, 500, refunds); during < 2*before {
		t.Errorf("delay: %.2f calls a day during, %.2f later", during, before)
	}

	// The works in Lyon: worse for four weeks, then better than ever; Lille is as always.
	before, _ = mean(all, 1021, both(between(700, 346), with("shop", "Lyon")))
	during, _ = mean(all, 1021, both(between(345, 317), with("shop", "Lyon")))
	after, _ = mean(all, 1021, both(between(316, 0), with("shop", "Lyon")))
	lille, _ := mean(all, 1021, both(between(345, 317), with("shop", "Lille")))
	if during > before-0.5 || after < before+0.15 || lille < before-0.4 {
		t.Errorf("works: %.2f before, %.2f during, %.2f after; Lille %.2f", before, during, after, lille)
	}
}

// Texts go with the scores beside them, and hardly two are alike.
func TestTextsSayWhatTheScoresSay(t *testing.T) {
	t.Parallel()
	good, bad := clauses(t, "+"), clauses(t, "-")
	texts := map[string]bool{}
	var praised, blamed, praiseOfBad, blameOfGood float64
	for i, r := range story() {
		for question, text := range map[int64]int64{1011: 1014, 1031: 1032, 1041: 1042, 1061: 1063} {
			score, err := strconv.ParseFloat(answer(r, question), 64)
			written := answer(r, text)
			if err != nil || written == "" {
				continue
			}
			texts[written] = true
			if i%8 > 0 { // looking at all of them takes long
				continue
			}
			if question == 1031 || question == 1041 {
				score = (score - 1) * 2.5 // stars as one to ten
			}
			language := attribute(r, "language")
			switch {
			case score >= 9:
				praised++
				if bad[language].MatchString(written) {
					blameOfGood++
				}
			case score <= 3:
				blamed++
				if good[language].MatchString(written) {
					praiseOfBad++
				}
			}
			if strings.ContainsAny(written, "{}[]") || strings.TrimSpace(written) != written {
				t.Fatalf("the text %q", written)
			}
		}
	}
	if praised < 500 || blamed < 100 || blameOfGood > 0.03*praised || praiseOfBad > 0.03*blamed {
		t.Errorf("%.0f of %.0f who praise complain, %.0f of %.0f who complain praise", blameOfGood, praised, praiseOfBad, blamed)
	}
	if len(texts) < 8_000 {
		t.Errorf("%d texts", len(texts))
	}
	t.Logf("%d different texts", len(texts))
}

// clauses matches what stands under the headings of a tone, by language.
func clauses(t *testing.T, tone string) map[string]*regexp.Regexp {
	t.Helper()
	files, err := filepath.Glob("phrases/*.txt")
	if err != nil || len(files) != 5 {
		t.Fatal(files, err)
	}
	all := map[string]*regexp.Regexp{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var patterns []string
		filed := false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "["):
				filed = strings.HasSuffix(line, " "+tone+"]")
			case filed && line != "":
				patterns = append(patterns, regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(line), `\S+`))
			}
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = regexp.MustCompile(`(?i)(?:^|[ .,!])(?:` + strings.Join(patterns, "|") + `)(?:$|[ .,!])`)
	}
	return all
}

// Every language has something to say under every heading.
func TestPhrasesAreTheSameInEveryLanguage(t *testing.T) {
	t.Parallel()
	headings := map[string]map[string]int{}
	files, _ := filepath.Glob("phrases/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		heading := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			switch {
			case line == "" || strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "["):
				heading = line
				if headings[heading] == nil {
					headings[heading] = map[string]int{}
				}
			default:
				headings[heading][file]++
				for _, name := range regexp.MustCompile(`\{[a-z]*\}?`).FindAllString(line, -1) {
					if !strings.Contains("{product} {city} {days} {minutes} {version}", name) || !strings.HasSuffix(name, "}") {
						t.Errorf("%s: %s", file, line)
					}
				}
			}
		}
	}
	for heading, filled := range headings {
		if len(filled) != len(files) {
			t.Errorf("%s is in %d of %d languages", heading, len(filled), len(files))
		}
		for file, n := range filled {
			if n < 4 && heading != "[and]" && heading != "[but]" {
				t.Errorf("%s: %d under %s", file, n, heading)
			}
		}
	}
	if len(headings) < 30 {
		t.Errorf("%d headings", len(headings))
	}
}
