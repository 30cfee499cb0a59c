package demo

import (
	"slices"
	"time"
)

// Incident is where to look for one of the events.
type Incident struct {
	Begins, Ends time.Time
	Carrier      int64
	Rating, Text int64 // the questions that tell of it
}

// Crash is the release of the app that crashed, in a story that ends then.
func Crash(until time.Time) Incident {
	e := events[slices.IndexFunc(events, func(e event) bool { return e.topic == "crash" })]
	ago := func(days float64) time.Time { return until.Add(-time.Duration(days*24) * time.Hour) }
	return Incident{Begins: ago(e.begins), Ends: ago(e.ends), Carrier: 103, Rating: appRating, Text: appText}
}
