package feedback

import (
	"time"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// Meaning is what the names of a query were found to mean, without asking a database.
type Meaning struct {
	Sets      [][]int64 // for each condition
	Questions map[int64]carrier.Question
	Now       time.Time
	Zone      *time.Location
}

// Statements are the texts of what List asks for a query: the look-ups, the page of many and of few, and the total, whose way is told.
func Statements(v account.View, q fql.Query, r Meaning, p Page) (texts []string, way string, err error) {
	f := &filter{view: v, query: q, now: r.Now, zone: r.Zone, sets: r.Sets, questions: r.Questions}
	for _, c := range q.Conditions() {
		var args pg.Args
		text, err := lookup(c, v, &args)
		if err != nil {
			return nil, "", err
		}
		texts = append(texts, text)
	}
	for _, few := range []bool{false, true} {
		var args pg.Args
		page, err := f.pageSQL(p, few, &args)
		if err != nil {
			return nil, "", err
		}
		texts = append(texts, page)
	}
	total, err := f.total()
	return append(texts, total.sql), total.way, err
}
