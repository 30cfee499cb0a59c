// Package fql is the filter language: it reads a query, refuses what is not one and says why, prints it in one canonical form and
// in English, and combines what its caller renders into SQL. It knows no table and no column, and no value ever becomes
// part of a statement's text.
//
// A query is a JSON array of clauses and groups of clauses:
//
//	[{"Status": {"$in": ["todo", "progress"]}}, {"Attribute": {"name": "city", "$like": "lyon"}}]
package fql

import "slices"

// Limits of a query.
const (
	MaxLength     = 64 << 10 // bytes of its text
	MaxConditions = 200
)

// Field is what a condition looks at.
type Field int

// The fields, named by their selectors.
const (
	ID Field = iota
	CreatedAt
	CompletedAt
	Carrier
	Source
	Status
	NPS
	Satisfaction
	Attribute // Condition.Name says which
	Topic     // by name
	TopicID   // by id
	Sentiment
	Question // Condition.Question says which
	Text
	Owner
	Fingerprint
	Team
)

// Op is how a condition compares.
type Op int

// The comparisons. $ne, $nin and $nlike are the negatives of In and Like.
const (
	In      Op = iota // one of Values; none of no values
	Like              // contains one of Values, ignoring case
	Above             // > Values[0]
	AtLeast           // >=
	Below             // <
	AtMost            // <=
	Between           // from Values[0] to Values[1], both included
	Exists            // has any value; no Values
)

// Condition is one comparison. A Negative one holds where its positive does not, records without a value included;
// of satisfaction and sentiment only what was measured.
type Condition struct {
	Field    Field
	Name     string // of the attribute
	Question int64
	Op       Op
	Negative bool
	Values   []Value
}

// Value is something to compare with, in its canonical spelling.
type Value struct {
	Text string
	kind kind
}

// kind is how a value is spelled in JSON.
type kind int

const (
	textValue kind = iota
	numberValue
	periodValue
	dateValue
	instantValue
)

// Query is a parsed filter. The zero Query matches everything.
type Query struct {
	// Any says that one group suffices; otherwise all must hold, and there is one group at most.
	Any    bool
	Groups [][]Condition
}

// Everything reports whether the query filters nothing.
func (q Query) Everything() bool { return len(q.Groups) == 0 }

// Conditions returns every condition, in order.
func (q Query) Conditions() []Condition { return slices.Concat(q.Groups...) }

// Language is what differs between the users of the language: the names that exist.
type Language struct {
	Sources, Statuses []string
}

// sort is what the values of a field are.
type sort int

const (
	whole   sort = iota // whole numbers
	moment              // times, days, periods
	name                // one of a list
	percent             // 0 to 100
	mood                // 0 to 100, or a label
	free                // texts and numbers
	words               // texts
)

// selector is how a field is called and what it takes.
type selector struct {
	field Field
	name  string
	alias []string // further names, without case and underscores
	sort  sort
	ops   []string
}

var (
	equality   = []string{"$eq", "$ne", "$in", "$nin"}
	comparison = []string{"$gt", "$gte", "$lt", "$lte", "$btw"}
	likeness   = []string{"$like", "$nlike"}
	presence   = []string{"$exists"}
)

var selectors = []selector{
	{ID, "Id", nil, whole, slices.Concat(equality, comparison, presence)},
	{CreatedAt, "TimePeriod", []string{"createdat"}, moment, slices.Concat(equality, comparison, presence)},
	{CompletedAt, "CompletedAt", nil, moment, slices.Concat(equality, comparison, presence)},
	{Carrier, "Form", []string{"carrier", "carrierid"}, whole, slices.Concat(equality, comparison, presence)},
	{Source, "Source", nil, name, slices.Concat(equality, presence)},
	{Status, "Status", nil, name, slices.Concat(equality, presence)},
	{NPS, "Nps", []string{"npsprofile"}, name, slices.Concat(equality, presence)},
	{Satisfaction, "Satisfaction", []string{"satisfactionratio"}, percent, slices.Concat(equality, comparison, presence)},
	{Attribute, "Attribute", []string{"attributevalues"}, free, slices.Concat(equality, likeness, comparison, presence)},
	{Topic, "Topic", []string{"topics"}, words, slices.Concat(equality, likeness, presence)},
	{Sentiment, "Sentiment", nil, mood, slices.Concat(equality, comparison, presence)},
	{Question, "Question", nil, free, slices.Concat(equality, likeness, comparison, presence)},
	{Text, "Text", nil, words, slices.Concat(equality, likeness, presence)},
	{Owner, "Owner", nil, words, slices.Concat(equality, likeness, presence)},
	{Fingerprint, "Fingerprint", nil, words, slices.Concat(equality, likeness, presence)},
	{Team, "Team", nil, whole, slices.Concat(equality, comparison, presence)},
}

// topicID is what Topic and topics mean with an id inside.
var topicID = selector{TopicID, "Topic", nil, whole, equality}

func selectorOf(f Field) selector {
	if f == TopicID {
		return topicID
	}
	return selectors[slices.IndexFunc(selectors, func(s selector) bool { return s.field == f })]
}
