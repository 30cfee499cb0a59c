package analysis

import (
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// The word lists were written for this project. lexicon/README.md says how to read and change them.
//
//go:embed lexicon/*.txt
var lexiconFiles embed.FS

// role is what a word or phrase does in a sentence.
type role uint8

const (
	judgement  role = iota // says good or bad
	negation               // turns what follows: "not"
	echo                   // turns it only where nothing else does: the "nada" of "no ... nada"
	lead                   // announces a negation: the French "ne"
	paired                 // is one where it was announced, and a degree elsewhere: "plus"
	degree                 // strengthens or weakens what follows: "very", "a bit"
	contrast               // what follows weighs more: "but"
	concession             // what follows weighs less: "although"
	wish                   // asks for something: praise in it is none
	formerly               // speaks of better times: "used to be"
	excess                 // whatever follows is too much of it: "too"
	overmuch               // the same, of measures only: the German "zu"
	measure                // long, small, loud: good or bad only with a word before it
	solved                 // a fault that is over: "repaired"
	joint                  // "or": a negation reaches over it
	pause                  // "and", a comma: a negation ends here
	again                  // makes praise before it doubtful: "another"
)

var roles = map[string]role{
	"negation": negation, "echo": echo, "lead": lead, "paired": paired, "degree": degree, "contrast": contrast, "concession": concession, "wish": wish,
	"formerly": formerly, "excess": excess, "overmuch": overmuch, "measure": measure, "solved": solved, "joint": joint, "pause": pause, "again": again,
}

// entry is what is known of a word or phrase. Weights are in hundredths.
type entry struct {
	role    role
	weight  int  // of a judgement; of a degree, in percent
	negated int  // the weight under a negation
	verb    bool // a negation may also follow: "funktioniert nicht"
	firm    bool // is meant also in a question or a wish
	lone    bool // a negation that takes no part in others: "without"
	near    bool // of a concession: it is about the next few words
	named   bool // a quality by its name, which is no praise where blame stands beside it: "cleanliness leaves much to be desired"
	opener  bool // in praise that is none: "Great, another delay"
	alone   int  // what a degree weighs where it grades nothing: "super!"
}

// vocabulary is what is known of a language.
type vocabulary struct {
	*phrases
	entries []entry
	short   map[string]bool // short forms with a full stop that never ends a sentence
	ending  map[string]bool // short forms after which a sentence may end
	stop    map[string]bool // words that say nothing by themselves
}

// vocabularies reads the lists on first use. A mistake in them is a programmer's.
var vocabularies = sync.OnceValue(func() map[Language]*vocabulary {
	all := map[Language]*vocabulary{}
	for _, lang := range Languages {
		v := newVocabulary(lang)
		for _, name := range []string{".grammar.txt", ".words.txt", ".phrases.txt"} {
			if err := v.read("lexicon/" + string(lang) + name); err != nil {
				panic(err)
			}
		}
		all[lang] = v
	}
	// A text in another language has abbreviations and numbers all the same.
	other := newVocabulary("")
	for _, lang := range Languages {
		for form := range all[lang].short {
			other.short[form] = true
		}
	}
	all[""] = other
	return all
})

// Load reads the word lists now, some tenths of a second, rather than with the first text.
func Load() { ballots() }

func newVocabulary(lang Language) *vocabulary {
	return &vocabulary{phrases: newPhrases(lang), short: map[string]bool{}, ending: map[string]bool{}, stop: map[string]bool{}}
}

// read adds a list: sections in brackets, entries with commas between them, remarks in lines that begin with a hash sign.
func (v *vocabulary) read(name string) error {
	text, err := lexiconFiles.ReadFile(name)
	if err != nil {
		return err
	}
	var add func(string) error
	line := 0
	var wrong []error
	for l := range strings.Lines(string(text)) {
		line++
		if l = strings.TrimSpace(l); l == "" || l[0] == '#' {
			continue
		}
		if header, found := strings.CutPrefix(l, "["); found {
			if add, err = v.section(strings.TrimSuffix(header, "]")); err != nil {
				return fmt.Errorf("%s:%d: %w", name, line, err)
			}
			continue
		}
		for item := range strings.SplitSeq(l, ",") {
			if item = strings.TrimSpace(item); item == "" {
				continue
			}
			if err := add(item); err != nil {
				wrong = append(wrong, fmt.Errorf("%s:%d: %w", name, line, err))
			}
		}
	}
	return errors.Join(wrong...)
}

// section returns what is done with the entries below a header. The small words that judge nothing stand for themselves and not
// for what has their stem.
func (v *vocabulary) section(header string) (func(string) error, error) {
	fields := strings.Fields(header)
	if len(fields) == 0 {
		return nil, fmt.Errorf("an empty header")
	}
	switch fields[0] {
	case "stop":
		return collect(v.stop), nil
	case "short":
		return collect(v.short), nil
	case "ending":
		return collect(v.ending), nil
	case "number":
		return func(s string) error { v.numbers[folded(s, v.lang)] = true; return nil }, nil
	}
	e, err := parseEntry(fields)
	if err != nil {
		return nil, err
	}
	at := int32(len(v.entries))
	v.entries = append(v.entries, e)
	exact := e.role != judgement && e.role != measure && e.role != solved
	return func(pattern string) error {
		state, err := v.path(pattern, exact)
		if err != nil {
			return err
		}
		if found := v.states[state].values; len(found) > 0 {
			before := v.entries[found[0]]
			return fmt.Errorf("%q is there already, as %d of %d and now %d of %d", pattern, before.role, before.weight, e.role, e.weight)
		}
		v.states[state].values = []int32{at}
		return nil
	}, nil
}

func collect(into map[string]bool) func(string) error {
	return func(s string) error {
		into[strings.ToLower(s)] = true
		return nil
	}
}

// parseEntry reads a header: a role with its weight, or the weight of a judgement, and what else is to know.
func parseEntry(fields []string) (entry, error) {
	var e entry
	e.role = roles[fields[0]]
	turned := false
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		n, err := strconv.Atoi(f)
		switch {
		case err == nil && (e.role == degree || e.role == paired):
			e.weight = n
		case err == nil:
			e.weight = n * 100
		case f == "not" && i+1 < len(fields):
			i++
			if n, err = strconv.Atoi(fields[i]); err != nil {
				return e, fmt.Errorf("%q is no weight", fields[i])
			}
			e.negated, turned = n*100, true
		case f == "alone" && i+1 < len(fields):
			i++
			if n, err = strconv.Atoi(fields[i]); err != nil {
				return e, fmt.Errorf("%q is no weight", fields[i])
			}
			e.alone = n * 100
		case f == "verb":
			e.verb = true
		case f == "firm":
			e.firm = true
		case f == "lone":
			e.lone = true
		case f == "near":
			e.near = true
		case f == "named":
			e.named = true
		case f == "opener":
			e.opener = true
		case i == 0 && e.role != judgement:
		default:
			return e, fmt.Errorf("%q in a header", f)
		}
	}
	if !turned {
		e.negated = turn(e.weight)
	}
	return e, nil
}

// turn is the weight of a judgement under a negation: "not good" is bad, "not perfect" no worse, and "not bad" is less than good.
func turn(weight int) int {
	if weight > 0 {
		return -min(weight, 225)
	}
	return min(-weight*3/4, 200)
}

// codePoints counts without looking at what is invalid.
func codePoints(s string) int { return utf8.RuneCountInString(s) }
