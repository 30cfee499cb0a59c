package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Processor is the processor time that the server has used since it was started, those of its processes included that have ended. Beside wall
// clock it tells what something costs also on a machine that has other things to do.
func (s *Server) Processor() (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(s.data, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return processor(first)
}

// Processor is the processor time that the process has used, and all that it started.
func (s *Process) Processor() (time.Duration, error) {
	return processor(strconv.Itoa(s.cmd.Process.Pid))
}

// processor adds up a process, its children, and those of its children that have ended.
func processor(first string) (time.Duration, error) {
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var ticks int64
	for _, path := range all {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The name, in brackets, may hold anything.
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 15 {
			return 0, fmt.Errorf("%s is not understood", path)
		}
		switch parent := fields[1]; {
		case path == "/proc/"+first+"/stat":
			ticks += number(fields[11]) + number(fields[12]) + number(fields[13]) + number(fields[14]) // with the children that have ended
		case parent == first:
			ticks += number(fields[11]) + number(fields[12])
		}
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// ticksPerSecond is what Linux counts processor time in, on every architecture.
const ticksPerSecond = 100

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
