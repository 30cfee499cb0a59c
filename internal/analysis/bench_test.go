package analysis_test

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"earshot/internal/analysis"
)

var speed = flag.Bool("speed", false, "measure and write the figures into docs/text-analysis.md")

func BenchmarkRead(b *testing.B) {
	topics := starter(b)
	for _, lang := range analysis.Languages {
		b.Run(string(lang), func(b *testing.B) { benchmarkRead(b, lang, topics) })
	}
}

func benchmarkRead(b *testing.B, lang analysis.Language, topics *analysis.Catalogue) {
	analysis.Read(answers[lang], "", topics)
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		analysis.Read(answers[lang], "", topics)
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// The speed that the document claims. No rule is guarded here: this prints and writes.
func TestSpeed(t *testing.T) {
	t.Parallel()
	if !*speed {
		t.Skip("run by make bench-text")
	}
	topics := starter(t)
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s, %d processors, version %d of the analysis.\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), analysis.Version)
	fmt.Fprintln(&b, "| Language | processor time | allocations | memory |\n|---|--:|--:|--:|")
	for _, lang := range analysis.Languages {
		r := testing.Benchmark(func(b *testing.B) { benchmarkRead(b, lang, topics) })
		fmt.Fprintf(&b, "| %s | %.1f µs | %d | %d B |\n", lang, r.Extra["cpu-ns/op"]/1000, r.AllocsPerOp(), r.AllocedBytesPerOp())
	}
	fmt.Print(b.String())
	replaceSection(t, evaluationDoc, "speed", b.String())
}

// processorTime is what this process has used. On a machine that is busy with other things the clock says less.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkReadLong(b *testing.B) {
	topics := starter(b)
	text := strings.Repeat(answers[analysis.German]+" ", 65_535/120)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		analysis.Read(text, "", topics)
	}
}
