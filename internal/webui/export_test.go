package webui

// Phrases is what each language but English says, by the English of it.
func Phrases() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, t := range tongues[1:] {
		out[t.Tag] = t.phrases
	}
	return out
}

// Language is the one that is chosen for a header.
func Language(accept string) string { return tongueFor(accept).Tag }

// Ticks are the marks of an axis.
var Ticks = ticks
