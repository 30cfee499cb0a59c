// Package fqltest says what a filter query means without a database: Match judges one feedback by reading
// the query's JSON text, Random invents queries, and tests compare the answers with those of package fql. It
// shares no code with that package, so that a misreading there is not repeated here.
package fqltest

import "time"

// Record is a feedback as the filter language sees it.
type Record struct {
	ID           int64
	CreatedAt    time.Time
	CompletedAt  *time.Time
	Carrier      int64
	Team         int64
	Source       string
	Status       string
	Nps          string // "" without a profile
	Satisfaction *int   // in hundredths of a percent, nil when not measured
	Sentiment    *int   // in hundredths, nil when not measured
	Attributes   []Attribute
	Topics       []Topic
	Answers      []Answer
	Owners       []string // e-mail addresses
	Fingerprint  string
}

// Attribute is a name with the texts of its values.
type Attribute struct {
	Name   string
	Values []string
}

// Topic is what a text was found to speak of.
type Topic struct {
	ID   int64
	Name string
}

// Answer is what was said to a question. Type is the question's: nps, smiley, rating, slider, ces,
// ratings_table, choice, multiple_choice, textarea, text, date or number. One with an empty Value counts as
// not given.
type Answer struct {
	Question int64
	Type     string
	Value    string
}

// Match reports whether the query selects the record. Periods end at now, and days are days of the zone. The
// error says that the query is not valid.
func Match(query string, r Record, now time.Time, zone *time.Location) (bool, error) {
	groups, err := parse(query)
	if err != nil {
		return false, err
	}
	at := clock{now.In(zone), zone}
	either := false
	for _, g := range groups {
		for _, c := range g {
			either = either || c.or
		}
	}
	for _, g := range groups {
		if g.matches(r, at) == either {
			return either, nil
		}
	}
	return !either, nil
}

func (g group) matches(r Record, at clock) bool {
	for _, c := range g {
		values := c.selector.held(c, r)
		for _, op := range c.operators {
			if !op.matches(c.selector, values, at) {
				return false
			}
		}
	}
	return true
}
