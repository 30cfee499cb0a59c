package webui_test

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"earshot/internal/fault"
	"earshot/internal/report"
	"earshot/internal/webui"
)

// chromium finds the browser of this machine.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium: .ci/tools chromium")
	return ""
}

// A report comes as a PDF of A4 pages, named for the report, under the same headers as its page.
func TestPrintedReport(t *testing.T) {
	t.Parallel()
	pages := webui.NewPages("https://feedback.example.com", chromium(t))
	w := httptest.NewRecorder()
	if err := pages.PrintedReport(w, reader("fr"), "Acme", report.Report{ID: 7, Name: "Été / Hiver"}, everything()); err != nil {
		t.Fatal(err)
	}
	pdf := w.Body.String()
	boxes := regexp.MustCompile(`/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]`).FindAllString(pdf, -1)
	if w.Code != http.StatusOK || !strings.HasPrefix(pdf, "%PDF-") || len(boxes) < 1 || len(boxes) > 4 {
		t.Fatalf("status %d, %d bytes, %d pages", w.Code, len(pdf), len(boxes))
	}
	for _, box := range boxes {
		if !regexp.MustCompile(`0 0 59[45][\d.]* 84[12]`).MatchString(box) {
			t.Errorf("a page of %s", box)
		}
	}
	if !strings.Contains(pdf, "/Lang (fr)") { // it is tagged, so a screen reader finds its way there, too
		t.Error("the language is not told")
	}
	for name, want := range headers {
		if name == "Content-Type" {
			want = "application/pdf"
		}
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	kind, parameters, err := mime.ParseMediaType(w.Header().Get("Content-Disposition"))
	if err != nil || kind != "attachment" || parameters["filename"] != "Été Hiver.pdf" {
		t.Errorf("%v: %s %v", err, kind, parameters)
	}
}

// Without a browser the address of the file is a page that says how to get one, and no page leads there.
func TestReportWithoutPrinter(t *testing.T) {
	t.Parallel()
	pages := webui.NewPages("https://feedback.example.com/earshot", "")
	w := httptest.NewRecorder()
	if err := pages.PrintedReport(w, reader("de"), "Acme", report.Report{ID: 7, Name: "R"}, everything()); err != nil {
		t.Fatal(err)
	}
	if w.Code != http.StatusNotFound {
		t.Errorf("status %d", w.Code)
	}
	has(t, w.Body.String(), "Diesen Bericht gibt es nicht als PDF", "drucken")
	link := func(chromium string) string {
		w := httptest.NewRecorder()
		if err := webui.NewPages("https://feedback.example.com/earshot", chromium).Report(w, reader(""), "Acme", report.Report{ID: 7}, everything()); err != nil {
			t.Fatal(err)
		}
		return strings.Join(regexp.MustCompile(`<a [^>]*href="([^"]*)"`).FindStringSubmatch(w.Body.String()), " ")
	}
	if got := link(""); got != "" {
		t.Errorf("without a browser: %s", got)
	}
	if got := link("/usr/bin/chromium"); !strings.HasSuffix(got, ` /earshot/report/7/shareable.pdf?token=abc-_def`) {
		t.Errorf("with one: %s", got)
	}
}

// What is printed asks nobody for anything, not even this machine.
func TestPrintingAsksNobody(t *testing.T) {
	t.Parallel()
	path := chromium(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // of a test
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 10)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				close(asked)
				return
			}
			asked <- c.RemoteAddr().String()
			_ = c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	page := fmt.Sprintf(`<img src="http://127.0.0.1:%[1]s/a.png"><img src="http://localhost:%[1]s/b.png">
		<iframe src="http://127.0.0.1:%[1]s/"></iframe><script>fetch("http://127.0.0.1:%[1]s/c")</script>Hello`, port)
	pdf, err := webui.Print(t.Context(), path, []byte(page))
	if err != nil || !strings.HasPrefix(string(pdf), "%PDF-") {
		t.Errorf("%v: %d bytes", err, len(pdf))
	}
	_ = listener.Close()
	for who := range asked {
		t.Errorf("asked from %s", who)
	}
}

// Whether it is done or given up, printing leaves no file and no process behind.
func TestPrintingLeavesNothing(t *testing.T) { //nolint:paralleltest // it sets where temporary files go
	path := chromium(t)
	dir, err := os.MkdirTemp("", "left") //nolint:usetesting // t.TempDir has a name too long for the sockets of Chromium
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	// A program that never ends, and neither does the one that it starts.
	begun := filepath.Join(t.TempDir(), "begun")
	stuck := recorder(t, `sh -c 'echo >`+begun+`; while :; do sleep 0.1; done' "$out" & wait`)
	t.Setenv("TMPDIR", dir)
	clean := func(when string) {
		t.Helper()
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("%s: %v, left %v", when, err, left)
		}
		for range 100 { // who was killed has a moment to go
			if left := running(dir); left == "" {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("%s: there still runs %s", when, running(dir))
	}
	if _, err := webui.Print(t.Context(), path, []byte("<p>Hello")); err != nil {
		t.Error(err)
	}
	clean("done")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for {
			if _, err := os.Stat(begun); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := webui.Print(ctx, stuck, []byte("<p>Hello")); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	clean("given up")
}

// running is a process that has a text in its command line.
func running(text string) string {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), text) {
			return file + " " + strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return ""
}

// recorder is a program that does what a script says instead of printing.
func recorder(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recorder")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nfor a; do case $a in --print-to-pdf=*) out=${a#*=};; esac; done\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// The browser is told what to print by a file that nobody else may read; its command line says nothing of the page, and its environment
// has nothing of ours, where the password of the database is.
func TestPrintingTellsNothing(t *testing.T) { //nolint:paralleltest // it sets a variable
	t.Setenv("EARSHOT_DATABASE_URL", "postgres://secret")
	path := recorder(t, `{ env; echo "$@"; stat -c '%a %n' "$(dirname "$out")" "$(dirname "$out")/report.html"; } >"$out"`)
	told, err := webui.Print(t.Context(), path, []byte("<p>confidential"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(told)
	if strings.Contains(text, "secret") || strings.Contains(text, "confidential") || strings.Contains(text, "token") {
		t.Errorf("it is told\n%s", text)
	}
	if !regexp.MustCompile(`(?m)^700 \S+\n600 \S+/report\.html$`).MatchString(text) || !strings.Contains(text, "--user-data-dir=") {
		t.Errorf("others may read it\n%s", text)
	}
}

// Only so many are printed at a time; one more is refused at once, and the next has a place when one is done.
func TestPrintingIsBounded(t *testing.T) {
	t.Parallel()
	gate := filepath.Join(t.TempDir(), "gate")
	pages := webui.NewPages("https://feedback.example.com", recorder(t, `echo begun >>`+gate+`.log; while [ ! -e `+gate+` ]; do sleep 0.02; done; echo done >"$out"`))
	print := func() error {
		return pages.PrintedReport(httptest.NewRecorder(), reader(""), "Acme", report.Report{Name: "R"}, everything())
	}
	var wg sync.WaitGroup
	for range webui.MaxPrints {
		wg.Go(func() {
			if err := print(); err != nil {
				t.Error(err)
			}
		})
	}
	for begun := 0; begun < webui.MaxPrints; time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(gate + ".log")
		begun = strings.Count(string(text), "begun")
	}
	if err := print(); !fault.Is(err, fault.Unavailable) {
		t.Errorf("one more: %v", err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if err := print(); err != nil {
		t.Errorf("the next: %v", err)
	}
}

// A file is named for its report on every system.
func TestFileNames(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Spring":                      "Spring.pdf",
		`a/b\c:d*e?f"g<h>i|j`:         "a b c d e f g h i j.pdf",
		"../../etc/passwd":            "etc passwd.pdf",
		"  Ventes\r\nété 2026\u202e ": "Ventes été 2026.pdf",
		"...":                         "report.pdf",
		"":                            "report.pdf",
		"顧客の声":                        "顧客の声.pdf",
		strings.Repeat("ö", 300):      strings.Repeat("ö", 60) + ".pdf",
	} {
		if got := webui.FileName(title); got != want {
			t.Errorf("%q is saved as %q, want %q", title, got, want)
		}
	}
}
