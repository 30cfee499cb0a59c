package feedback

import (
	"context"
	"math/big"
	"slices"
	"unicode/utf8"

	"earshot/internal/account"
	"earshot/internal/analysis"
)

// span is a sentence of a text answer as it is stored: where it begins, how long it is, its score, and the ids of its topics.
// A list of numbers takes half the room of an object.
type span []int64

func (s span) start() int      { return int(s[0]) }
func (s span) length() int     { return int(s[1]) }
func (s span) score() int      { return int(s[2]) }
func (s span) topics() []int64 { return s[3:] }

func spans(r analysis.Result) []span {
	out := make([]span, len(r.Spans))
	for i, s := range r.Spans {
		out[i] = append(span{int64(s.Start), int64(s.Length), int64(s.Score)}, s.Topics...)
	}
	return out
}

// sum is what stored spans of one text add up to.
func sum(spans []span) analysis.Result {
	all := make([]analysis.Span, len(spans))
	for i, s := range spans {
		all[i] = analysis.Span{Start: s.start(), Length: s.length(), Score: s.score(), Topics: s.topics()}
	}
	return analysis.Sum("", all)
}

// read is what the texts of one feedback say in all.
type read struct {
	version  int32
	scores   int64 // of the texts that could be measured
	texts    int64
	topicIDs []int64 // ascending
}

func (r *read) add(text analysis.Result) {
	if !text.Measured {
		return
	}
	r.texts++
	r.scores += int64(text.Score)
	for _, id := range text.Topics {
		if at, found := slices.BinarySearch(r.topicIDs, id); !found {
			r.topicIDs = slices.Insert(r.topicIDs, at, id)
		}
	}
}

// mean is the mean score of the texts, nil without one.
func (r *read) mean() *big.Rat {
	if r.texts == 0 {
		return nil
	}
	return big.NewRat(r.scores, r.texts)
}

// sentiment is the mean score in hundredths, rounded half up; nil without a text.
func (r *read) sentiment() *int16 {
	if r.texts == 0 {
		return nil
	}
	return new(int16((200*r.scores + r.texts) / (2 * r.texts)))
}

// Span is a sentence of a text answer.
type Span struct {
	Start, Length int // in code points
	Text          string
	Score         int // 0 to 100
	Topics        []string
}

// addTexts gives items the names of their topics and their spans.
func (s *Store) addTexts(ctx context.Context, v account.View, page []Record) error {
	reader, err := s.texts.Reader(ctx, v)
	if err != nil {
		return err
	}
	for i := range page {
		for j := range page[i].Items {
			page[i].Items[j].describe(reader)
		}
	}
	return nil
}

// describe turns stored spans into what a person understands.
func (i *Item) describe(reader *analysis.Reader) {
	i.Topics, i.Spans = reader.Names(sum(i.spans).Topics), make([]Span, len(i.spans))
	text, at := i.Value, 0
	for n, s := range i.spans {
		text = skip(text, s.start()-at)
		rest := skip(text, s.length())
		i.Spans[n] = Span{
			Start: s.start(), Length: s.length(), Text: text[:len(text)-len(rest)], Score: s.score(), Topics: reader.Names(s.topics()),
		}
		text, at = rest, s.start()+s.length()
	}
}

// skip is a text without its first n code points.
func skip(text string, n int) string {
	for ; n > 0 && text != ""; n-- {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return text
}
