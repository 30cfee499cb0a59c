package fqltest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A selector is a field of the language: what a record holds for it and how that is compared.
type selector struct {
	name      string
	aliases   []string
	operators []string
	needs     string // "name" or "id", beside the operators or beside the selector
	measured  bool   // negative operators leave out records without a value
	accepts   func(operator string, o operand) bool
	held      func(c clause, r Record) []value
	equal     func(v value, o operand, at clock) bool
	order     func(v value, o operand, at clock) (int, bool) // false: takes no part
}

var (
	equality = []string{"$eq", "$ne", "$in", "$nin"}
	ordering = []string{"$gt", "$gte", "$lt", "$lte", "$btw"}
	likeness = []string{"$like", "$nlike"}
	presence = []string{"$exists"}

	ordered  = slices.Concat(equality, ordering, presence)
	named    = slices.Concat(equality, presence)
	worded   = slices.Concat(equality, likeness, presence)
	anything = slices.Concat(equality, ordering, likeness, presence)
)

var topicIDs = &selector{
	name: "Topic id", operators: equality,
	accepts: wholeNumber, held: heldTopicIDs, equal: sameNumber, order: byNumber,
}

var selectors = []*selector{
	{
		name: "Id", operators: ordered, accepts: wholeNumber, equal: sameNumber, order: byNumber,
		held: func(_ clause, r Record) []value { return []value{{number: integer(r.ID)}} },
	},
	{
		name: "Form", aliases: []string{"Carrier", "CarrierId", "carrier_id"},
		operators: ordered, accepts: wholeNumber, equal: sameNumber, order: byNumber,
		held: func(_ clause, r Record) []value { return []value{{number: integer(r.Carrier)}} },
	},
	{
		name: "Team", operators: ordered, accepts: wholeNumber, equal: sameNumber, order: byNumber,
		held: func(_ clause, r Record) []value { return []value{{number: integer(r.Team)}} },
	},
	{
		name: "TimePeriod", aliases: []string{"created_at"},
		operators: ordered, accepts: moment, equal: sameMoment, order: byMoment,
		held: func(_ clause, r Record) []value { return heldTime(&r.CreatedAt) },
	},
	{
		name: "CompletedAt", aliases: []string{"completed_at"},
		operators: ordered, accepts: moment, equal: sameMoment, order: byMoment,
		held: func(_ clause, r Record) []value { return heldTime(r.CompletedAt) },
	},
	{
		name: "Source", operators: named, accepts: text, equal: sameName,
		held: func(_ clause, r Record) []value { return heldText(r.Source) },
	},
	{
		name: "Status", operators: named, accepts: text, equal: sameName,
		held: func(_ clause, r Record) []value { return heldText(r.Status) },
	},
	{
		name: "Nps", aliases: []string{"nps_profile"}, operators: named, accepts: profile, equal: sameProfile,
		held: func(_ clause, r Record) []value { return heldText(r.Nps) },
	},
	{
		name: "Satisfaction", aliases: []string{"satisfaction_ratio"}, measured: true,
		operators: ordered, accepts: percentage, equal: sameNumber, order: byNumber,
		held: func(_ clause, r Record) []value { return heldScore(r.Satisfaction) },
	},
	{
		name: "Sentiment", measured: true,
		operators: ordered, accepts: feeling, equal: sameFeeling, order: byNumber,
		held: func(_ clause, r Record) []value { return heldScore(r.Sentiment) },
	},
	{
		name: "Attribute", needs: "name",
		operators: anything, accepts: textOrNumber, held: heldAttribute, equal: sameText, order: byNumber,
	},
	{
		name: "attribute_values", needs: "name",
		operators: anything, accepts: textOrNumber, held: heldAttribute, equal: sameText, order: byNumber,
	},
	{
		name: "Topic", aliases: []string{"topics"}, operators: worded, accepts: text, equal: sameText,
		held: func(_ clause, r Record) []value {
			var values []value
			for _, t := range r.Topics {
				values = append(values, value{text: t.Name})
			}
			return values
		},
	},
	topicIDs,
	{
		name: "Question", needs: "id",
		operators: anything, accepts: textOrNumber, held: heldAnswers, equal: sameAnswer, order: byNumber,
	},
	{name: "Text", operators: worded, accepts: text, held: heldTexts, equal: sameText},
	{
		name: "Owner", operators: worded, accepts: text, equal: sameName,
		held: func(_ clause, r Record) []value { return heldText(r.Owners...) },
	},
	{
		name: "Fingerprint", operators: worded, accepts: text, equal: sameText,
		held: func(_ clause, r Record) []value { return heldText(r.Fingerprint) },
	},
}

// Selectors returns the operators each selector allows. The keys are canonical names; "attribute_values" and
// "Topic id" are the other ways to speak of attributes and topics.
func Selectors() map[string][]string {
	all := make(map[string][]string, len(selectors))
	for _, s := range selectors {
		all[s.name] = slices.Clone(s.operators)
	}
	return all
}

// Coverage returns the pairs "Selector $operator" the query uses, in order and each once, with the names of
// Selectors. It returns nil for a query that is not valid.
func Coverage(query string) []string {
	groups, err := parse(query)
	if err != nil {
		return nil
	}
	pairs := map[string]bool{}
	for _, g := range groups {
		for _, c := range g {
			for _, op := range c.operators {
				pairs[c.selector.name+" "+op.name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(pairs))
}

// byName knows every spelling of the selectors, bared.
var byName = func() map[string]*selector {
	known := map[string]*selector{}
	for _, s := range selectors {
		for _, name := range s.names() {
			known[bare(name)] = s
		}
	}
	return known
}()

func find(key string) (*selector, error) {
	s, ok := byName[bare(key)]
	if !ok {
		return nil, fmt.Errorf("no selector %q", key)
	}
	return s, nil
}

// names are the ways to write the selector. Topic ids stand under Topic.
func (s *selector) names() []string {
	if s == topicIDs {
		return nil
	}
	return append([]string{s.name}, s.aliases...)
}

func bare(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

func heldTime(t *time.Time) []value {
	if t == nil {
		return nil
	}
	return []value{{time: *t}}
}

func heldText(texts ...string) []value {
	var values []value
	for _, t := range texts {
		if t != "" {
			values = append(values, value{text: t})
		}
	}
	return values
}

func heldScore(score *int) []value {
	if score == nil {
		return nil
	}
	return []value{{number: hundredths(*score)}}
}

// heldAttribute keeps empty values: unlike an empty answer, one was given.
func heldAttribute(c clause, r Record) []value {
	var values []value
	for _, a := range r.Attributes {
		if a.Name != c.name {
			continue
		}
		for _, text := range a.Values {
			values = append(values, value{text: text, number: parseNumber(text)})
		}
	}
	return values
}

func heldTopicIDs(_ clause, r Record) []value {
	var values []value
	for _, t := range r.Topics {
		values = append(values, value{number: integer(t.ID)})
	}
	return values
}

func heldAnswers(c clause, r Record) []value {
	var values []value
	for _, a := range r.Answers {
		if order, _ := compare(integer(a.Question), c.id); order != 0 || a.Value == "" {
			continue
		}
		v := value{text: a.Value, kind: a.Type}
		n := parseNumber(a.Value)
		if a.Type == "number" || scored(a.Type) && whole(n) {
			v.number = n
		}
		values = append(values, v)
	}
	return values
}

func heldTexts(_ clause, r Record) []value {
	var values []value
	for _, a := range r.Answers {
		if a.Type == "text" || a.Type == "textarea" {
			values = append(values, heldText(a.Value)...)
		}
	}
	return values
}

func scored(kind string) bool {
	return slices.Contains([]string{"nps", "smiley", "rating", "slider", "ces", "ratings_table"}, kind)
}
