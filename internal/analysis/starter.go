package analysis

import (
	_ "embed"
	"fmt"
	"strings"
)

// The starter catalogue was written for this project, like the word lists.
//
//go:embed topics.txt
var starterFile string

// Starter returns topics that most organizations need, with keywords in every language. Their ids count from 1.
func Starter() []Topic {
	var topics []Topic
	for line := range strings.Lines(starterFile) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if name, found := strings.CutPrefix(line, "["); found {
			topics = append(topics, Topic{ID: int64(len(topics) + 1), Name: strings.TrimSuffix(name, "]")})
			continue
		}
		code, words, found := strings.Cut(line, ":")
		if !found || len(topics) == 0 {
			panic(fmt.Sprintf("topics.txt: %q", line)) // a programmer's mistake
		}
		t := &topics[len(topics)-1]
		into := &t.Keywords
		if rest, without := strings.CutPrefix(code, "not "); without {
			code, into = rest, &t.Exclusions
		}
		for w := range strings.SplitSeq(words, ",") {
			*into = append(*into, code+":"+strings.TrimSpace(w))
		}
	}
	return topics
}
