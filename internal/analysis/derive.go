package analysis

import "strings"

// Many words that judge are made of others, and no list has them all: "un" and "dis" turn what they are put before, and "less" says
// what is missing. A word that no list has is taken apart here, in the hope of a part that one has.

// denials are what turns a word it is put before.
var denials = map[Language][]string{
	English: {"un", "in", "im", "dis", "mis"},
	French:  {"in", "im", "ir", "il", "des", "mal", "me"},
	German:  {"un", "miss"},
	Spanish: {"in", "im", "des", "mal"},
	Italian: {"in", "im", "dis", "s", "mal"},
}

// wanting are endings that say, together with a denial, what cannot be done or is not so.
var wanting = map[Language][]string{
	English: {"able", "ible"},
	French:  {"able", "ables", "ible", "ibles"},
	German:  {"bar", "lich", "ig", "sam", "haft", "isch", "iert"},
	Spanish: {"able", "ables", "ible", "ibles"},
	Italian: {"abile", "abili", "ibile", "ibili"},
}

// minDenied is how long what follows a denial must be.
const minDenied = 4

// derived reports whether a word that is in no list is a denial of one that is praise, or of anything that could be done.
func (v *vocabulary) derived(t *token) bool {
	for _, prefix := range denials[v.lang] {
		rest, found := strings.CutPrefix(t.text, prefix)
		if !found || len(rest) < minDenied {
			continue
		}
		short, _ := stem(rest, v.lang)
		if term, found := v.stems[short]; found && v.praises(term) {
			return true
		}
		if len(prefix) > 2 || prefix == "s" || v.lang == German && strings.HasPrefix(rest, "ter") {
			continue // "unterhaltsam" is no denial
		}
		for _, suffix := range wanting[v.lang] {
			if strings.HasSuffix(rest, suffix) || strings.HasSuffix(short, suffix) {
				return true
			}
		}
	}
	return false
}

// praises reports whether a term by itself is praise that is more than a hint.
func (v *vocabulary) praises(term int32) bool {
	for _, value := range v.states[v.first[term]].values {
		if e := &v.entries[value]; e.role == judgement && e.weight >= 200 {
			return true
		}
	}
	return false
}

// opposite is what a derived word says.
var opposite = entry{role: judgement, weight: -200, negated: turn(-200)}
