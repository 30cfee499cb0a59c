package analysis

import "strings"

// Stemming here is light: it takes off what number, gender and case put at the end of a word, and in English also the endings of
// verbs. It works on folded words and hardly ever does more than shorten them. What is derived further, the word lists
// catch by the beginnings of words.

// stem returns the stem of a folded word, and whether it was a superlative such as "buonissimo".
func stem(w string, lang Language) (string, bool) {
	switch lang {
	case English:
		return stemEnglish(w), false
	case French:
		return stemFrench(w), false
	case German:
		return stemGerman(w), false
	case Spanish:
		return stemSpanish(w)
	case Italian:
		return stemItalian(w)
	case Off:
	}
	return w, false
}

// cut takes the suffix off when at least keep bytes are left.
func cut(w, suffix string, keep int) (string, bool) {
	if len(w) >= len(suffix)+keep && strings.HasSuffix(w, suffix) {
		return w[:len(w)-len(suffix)], true
	}
	return w, false
}

// cutAny takes off the first suffix that fits.
func cutAny(w string, keep int, suffixes ...string) (string, bool) {
	for _, s := range suffixes {
		if short, ok := cut(w, s, keep); ok {
			return short, true
		}
	}
	return w, false
}

func stemEnglish(w string) string {
	if len(w) < 4 {
		return w
	}
	if short, ok := cut(w, "ies", 3); ok {
		return short + "y"
	}
	if _, ok := cutAny(w, 2, "sses", "shes", "ches", "xes", "zes"); ok {
		w = w[:len(w)-2]
	} else if w[len(w)-1] == 's' && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is") {
		w = w[:len(w)-1]
	}
	if short, ok := cutAny(w, 3, "ing", "ed"); ok && strings.ContainsAny(short, "aeiouy") {
		w = undouble(short)
	}
	w, _ = cut(w, "e", 3)
	return w
}

// undouble turns "stopp" into "stop"; "fall", "miss" and "stuff" are left.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeioulsfz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

func stemFrench(w string) string {
	if len(w) < 4 || w == "plus" { // which is not "plu"
		return w
	}
	if short, ok := cutAny(w, 4, "ement", "ment"); ok {
		w = short
	}
	w, _ = cutAny(w, 3, "s", "x")
	// What is left of "heureux", "heureuse" and of "actif", "active" is the same.
	if strings.HasSuffix(w, "euse") || strings.HasSuffix(w, "ive") {
		return w[:len(w)-2]
	}
	if short, ok := cut(w, "f", 4); ok {
		return short
	}
	w, _ = cutAny(w, 3, "ee", "e")
	switch w {
	case "pass", "cass", "sonn", "sall", "goutt": // "passé" is not "pas", nor "salle" "sale"
		return w
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] {
		w = w[:n-1]
	}
	return w
}

func stemGerman(w string) string {
	if short, ok := cutAny(w, 3, "ern", "em", "en", "er", "es", "e"); ok {
		w = short
	} else if short, ok := cutAny(w, 5, "n", "s"); ok {
		w = short
	}
	if short, ok := cut(w, "est", 5); ok {
		return short
	}
	w, _ = cutAny(w, 4, "em", "en", "er", "st")
	return w
}

func stemSpanish(w string) (string, bool) {
	if short, ok := cut(w, "mente", 4); ok {
		w = short
	}
	w, _ = cut(w, "s", 3)
	w, _ = cutAny(w, 3, "a", "o", "e")
	return superlative(w, "isim")
}

func stemItalian(w string) (string, bool) {
	if short, ok := cut(w, "mente", 4); ok {
		w = short
	}
	w, _ = cutAny(w, 3, "a", "o", "e", "i")
	w, _ = cut(w, "i", 3)
	w, _ = cut(w, "h", 3)
	return superlative(w, "issim")
}

func superlative(w, suffix string) (string, bool) {
	short, ok := cut(w, suffix, 3)
	if ok {
		short, _ = cut(short, "h", 3)
	}
	return short, ok
}
