package webui

import "context"

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

// Print has the browser at path print a page, beside nobody.
func Print(ctx context.Context, path string, page []byte) ([]byte, error) {
	return newBrowser(path).print(ctx, page)
}

// MaxPrints is how many reports are printed at a time.
const MaxPrints = prints

// FileName is what a report is saved as.
var FileName = fileName

// Ticks are the marks of an axis.
var Ticks = ticks
