package webui

import (
	"net/http"
	"strings"
	"unicode"

	"earshot/internal/optout"
)

// Unsubscribe is the page behind a signed link: a button, or that it has been pressed.
func (p *Pages) Unsubscribe(w http.ResponseWriter, l optout.Link) error {
	return show(w, http.StatusOK, p.unsubscribe, l)
}

const hidden = "•••"

// mask shows enough of a target for its owner to know it and too little for anybody else: j•••@example.com, +•••89.
func mask(target string) string {
	// Letters that print nothing could turn the sentence around.
	target = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, target)
	if at := strings.LastIndex(target, "@"); at >= 0 {
		return begin(target[:at]) + hidden + target[at:]
	}
	runes := []rune(target)
	if len(runes) < 8 {
		return begin(target) + hidden
	}
	return begin(target) + hidden + string(runes[len(runes)-2:])
}

// begin is the first letter of a text of several.
func begin(text string) string {
	if runes := []rune(text); len(runes) > 1 {
		return string(runes[0])
	}
	return ""
}
