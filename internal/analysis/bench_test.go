package analysis_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"earshot/internal/analysis"
)

func BenchmarkRead(b *testing.B) {
	topics := starter(b)
	for _, lang := range analysis.Languages {
		b.Run(string(lang), func(b *testing.B) {
			analysis.Read(answers[lang], "", topics)
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				analysis.Read(answers[lang], "", topics)
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
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
