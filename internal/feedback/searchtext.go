package feedback

import (
	"strconv"
	"strings"

	"earshot/internal/carrier"
	"earshot/internal/fql"
)

// The text answers of a feedback are searched in one column: before each stands a mark, the number of its question in letters nobody
// types, and a second mark. So a search never runs from one answer into the next nor finds a question's number, and one
// question's answer can be told from another's. pg_trgm passes over all of these letters.
const (
	answerMark = "\x1e"
	textMark   = "\x1f"
)

// searchText is what is searched of these answers; nil when there is none.
func searchText(texts []carrier.Answer) *string {
	if len(texts) == 0 {
		return nil
	}
	var b strings.Builder
	for _, a := range texts {
		b.WriteString(answerMark + questionMark(a.QuestionID) + textMark + searched(a.Value))
	}
	return new(b.String())
}

// questionMark spells a number with the letters 1 to 8.
func questionMark(id int64) string {
	return strings.Map(func(r rune) rune { return r - '0' + 1 }, strconv.FormatInt(id, 8))
}

// searched is a text as it is searched, or searched for: in lower case, without the letters that are marks.
func searched(text string) string {
	return strings.Map(func(r rune) rune {
		if r <= 8 || r == 0x1e || r == 0x1f {
			return ' '
		}
		return r
	}, fql.Fold(text))
}

// containing is the LIKE pattern of what contains a text.
func containing(text string) string { return "%" + escapeLike(text) + "%" }

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func escapeLike(text string) string { return likeEscaper.Replace(text) }
