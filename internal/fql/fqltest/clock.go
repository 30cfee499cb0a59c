package fqltest

import (
	"strings"
	"time"
)

// A clock knows the present and whose days are meant.
type clock struct {
	now  time.Time
	zone *time.Location
}

// A span is a stretch of time. It ends before its end, unless closed; the endless one holds every time.
type span struct {
	start, end time.Time
	closed     bool
	endless    bool
}

// order is -1 for a time before the span, 0 for one inside and 1 for one after it.
func (s span) order(t time.Time) int {
	switch {
	case s.endless:
		return 0
	case t.Before(s.start):
		return -1
	case t.Before(s.end), s.closed && t.Equal(s.end):
		return 0
	default:
		return 1
	}
}

// span reads a date, which is a whole day, or an ISO time, which is an instant.
func (c clock) span(text string) (span, bool) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return c.days(day, day.AddDate(0, 0, 1)), true
	}
	t, err := time.Parse(time.RFC3339, text)
	return span{start: t, end: t, closed: true}, err == nil
}

// period reads the name of a period. Dates are kept as midnights of UTC, where days can be counted without
// minding the hours.
func (c clock) period(name string) (span, bool) {
	year, month, day := c.now.Date()
	date := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	today := date(year, month, day)
	monday := today.AddDate(0, 0, -((int(today.Weekday()) + 6) % 7))
	quarter := month - (month-1)%3
	upToNow := func(first time.Time) span {
		return span{start: startOfDay(first, c.zone), end: c.now, closed: true}
	}
	var s span
	switch strings.TrimPrefix(strings.ToLower(name), "date_") {
	case "today":
		s = c.days(today, today.AddDate(0, 0, 1))
	case "last_day":
		s = c.days(today.AddDate(0, 0, -1), today)
	case "current_week":
		s = c.days(monday, monday.AddDate(0, 0, 7))
	case "last_week":
		s = c.days(monday.AddDate(0, 0, -7), monday)
	case "current_month":
		s = c.days(date(year, month, 1), date(year, month+1, 1))
	case "last_month":
		s = c.days(date(year, month-1, 1), date(year, month, 1))
	case "current_quarter":
		s = c.days(date(year, quarter, 1), date(year, quarter+3, 1))
	case "last_quarter":
		s = c.days(date(year, quarter-3, 1), date(year, quarter, 1))
	case "current_year":
		s = c.days(date(year, 1, 1), date(year+1, 1, 1))
	case "last_year":
		s = c.days(date(year-1, 1, 1), date(year, 1, 1))
	case "last_7_days":
		s = upToNow(today.AddDate(0, 0, -6))
	case "last_30_days":
		s = upToNow(today.AddDate(0, 0, -29))
	case "last_90_days":
		s = upToNow(today.AddDate(0, 0, -89))
	case "last_12_months":
		s = upToNow(today.AddDate(0, -12, 0))
	case "all":
		s = span{endless: true}
	default:
		return span{}, false
	}
	return s, true
}

// days is the span from the start of the first date to the start of the second.
func (c clock) days(first, next time.Time) span {
	return span{start: startOfDay(first, c.zone), end: startOfDay(next, c.zone)}
}

// startOfDay returns the first instant at which the zone's clocks show the date or a later one. time.Date
// would not do: where clocks jump from midnight to one o'clock it may answer with the evening before, and
// where midnight comes twice with either.
func startOfDay(date time.Time, zone *time.Location) time.Time {
	t := date.Add(-15 * time.Hour).In(zone) // nowhere is it later than in UTC+15
	for {
		_, offset := t.Zone()
		midnight := date.Add(-time.Duration(offset) * time.Second)
		_, end := t.ZoneBounds()
		switch {
		case midnight.Before(t):
			return t
		case end.IsZero() || midnight.Before(end):
			return midnight
		}
		t = end
	}
}
