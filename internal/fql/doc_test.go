package fql_test

import (
	"os"
	"strings"
	"testing"
)

// The examples of docs/fql.md are queries, and read as the page says; those that are said to be refused are, in those words.
func TestDocumentedExamples(t *testing.T) {
	t.Parallel()
	const path = "../../docs/fql.md"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	good, read, refused := 0, 0, 0
	lines := strings.Split(string(b), "\n")
	for i := 0; i < len(lines); i++ {
		fence, ok := strings.CutPrefix(lines[i], "```")
		if !ok {
			continue
		}
		start := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			continue
		}
		block, next := strings.Join(lines[start:min(i, len(lines))], "\n"), ""
		for _, line := range lines[min(i+1, len(lines)):] {
			if next = line; line != "" {
				break
			}
		}
		q, err := language.Parse(block)
		sentence, reads := strings.CutPrefix(next, "Reads: ")
		message, isRefused := strings.CutPrefix(next, "Refused: ")
		switch {
		case fence == "json":
			if good++; err != nil {
				t.Errorf("%s:%d: %v", path, start, err)
			}
			if reads {
				read++
				if got := q.Sentence(); got != sentence {
					t.Errorf("%s:%d: it reads %s", path, start, got)
				}
			}
		case fence == "text" && isRefused:
			if refused++; err == nil || err.Error() != message {
				t.Errorf("%s:%d: %v", path, start, err)
			}
		}
	}
	if good < 30 || read < good || refused < 5 {
		t.Errorf("the page has %d examples, %d with their sentence, and %d mistakes", good, read, refused)
	}
}
