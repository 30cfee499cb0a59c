package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// progress shows how far something is: a bar that is drawn over itself on a terminal, a line for every tenth of the way elsewhere.
type progress struct {
	w        io.Writer
	terminal bool
	tenth    int64 // last one told
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, tenth: -1}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

const barWidth = 30

// show draws how many of all are done, with a note behind it.
func (p *progress) show(done, all int64, note string) {
	tenth := int64(10)
	if all > 0 {
		tenth = done * 10 / all
	}
	figures := fmt.Sprintf("%3d%%  %d of %d  %s", tenth*10, done, all, note)
	if p.terminal {
		full := int(tenth * barWidth / 10)
		if all > 0 {
			full = int(done * barWidth / all)
			figures = fmt.Sprintf("%3d%%  %d of %d  %s", done*100/all, done, all, note)
		}
		fmt.Fprintf(p.w, "\r\x1b[K%s%s  %s", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), figures)
		return
	}
	if tenth != p.tenth {
		p.tenth = tenth
		fmt.Fprintln(p.w, figures)
	}
}

// end leaves the bar's line.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprintln(p.w)
	}
}
