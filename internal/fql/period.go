package fql

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

const instantLayout = "2006-01-02T15:04:05.999999999Z"

var periodNames = []string{
	"date_today", "date_last_day",
	"date_current_week", "date_current_month", "date_current_quarter", "date_current_year",
	"date_last_week", "date_last_month", "date_last_quarter", "date_last_year",
	"date_last_7_days", "date_last_30_days", "date_last_90_days", "date_last_12_months", "date_all",
}

// Range is a stretch of time, From included and To not. A zero end is open.
type Range struct{ From, To time.Time }

// Ranges returns the stretches of time in which a positive condition on a time holds, seen at now by clocks in zone. Times are kept
// in microseconds, so an end that is included is one microsecond before To. $exists is the open stretch.
func (c Condition) Ranges(now time.Time, zone *time.Location) []Range {
	if c.Op == Exists {
		return []Range{{}}
	}
	ranges := make([]Range, len(c.Values))
	for i, v := range c.Values {
		ranges[i] = v.span(now, zone)
	}
	switch c.Op {
	case Above:
		return []Range{{From: ranges[0].To}}
	case AtLeast:
		return []Range{{From: ranges[0].From}}
	case Below:
		return []Range{{To: ranges[0].From}}
	case AtMost:
		return []Range{{To: ranges[0].To}}
	case Between:
		return []Range{{From: ranges[0].From, To: ranges[1].To}}
	default:
		if len(ranges) > MaxRanges {
			return merge(ranges)
		}
		return ranges
	}
}

// MaxRanges is how many stretches of time a list may mean before those that touch are put together. A longer list is mostly a calendar.
const MaxRanges = 366

// merge puts stretches that touch or overlap together and leaves out the empty ones.
func merge(ranges []Range) []Range {
	slices.SortFunc(ranges, func(a, b Range) int { return a.From.Compare(b.From) })
	var merged []Range
	for _, r := range ranges {
		if !r.To.IsZero() && !r.From.Before(r.To) {
			continue
		}
		last := len(merged) - 1
		switch {
		case last < 0 || !merged[last].To.IsZero() && merged[last].To.Before(r.From):
			merged = append(merged, r)
		case !merged[last].To.IsZero() && (r.To.IsZero() || r.To.After(merged[last].To)):
			merged[last].To = r.To
		}
	}
	return merged
}

// dawn is before anything that was ever stored. Times before it count as dawn: the first instant of the year 1 is what time.Time calls
// zero, which here is an open end, and some hours before it PostgreSQL's calendar has another year.
var dawn = time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC)

// span is the stretch of time that a value names: a whole day, a period, or the microsecond of an instant.
func (v Value) span(now time.Time, zone *time.Location) Range {
	r := v.stretch(now, zone)
	if v.kind == periodValue {
		return r
	}
	for _, end := range []*time.Time{&r.From, &r.To} {
		if end.Before(dawn) {
			*end = dawn
		}
	}
	return r
}

func (v Value) stretch(now time.Time, zone *time.Location) Range {
	switch v.kind {
	case dateValue:
		t, _ := time.Parse(time.DateOnly, v.Text)
		return days(t.Year(), t.Month(), t.Day(), 1, zone)
	case periodValue:
		return period(v.Text, now, zone)
	default:
		t, _ := time.Parse(instantLayout, v.Text)
		// What lies between two microseconds is equal to none of them; it has a first and a last one around it.
		from := t.Truncate(time.Microsecond)
		if from.Equal(t) {
			return Range{from, from.Add(time.Microsecond)}
		}
		next := from.Add(time.Microsecond)
		return Range{next, next}
	}
}

// days is n days from a date on, as the zone's calendar has them: a day may have 23 or 25 hours.
func days(year int, month time.Month, day, n int, zone *time.Location) Range {
	return Range{midnight(year, month, day, zone), midnight(year, month, day+n, zone)}
}

// midnight is the first instant of a day. Where clocks jump over midnight, Date would answer with an hour of the day before.
func midnight(year int, month time.Month, day int, zone *time.Location) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	want := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if t.Day() != want.Day() {
		_, end := t.ZoneBounds()
		t = end
	}
	return t.UTC()
}

func period(name string, now time.Time, zone *time.Location) Range {
	local := now.In(zone)
	y, m, d := local.Date()
	if n, ok := strings.CutPrefix(name, "date_last_"); ok {
		if count, ok := strings.CutSuffix(n, "_days"); ok {
			days, _ := strconv.Atoi(count)
			return Range{midnight(y, m, d-days+1, zone), until(now)}
		}
	}
	monday := d - (int(local.Weekday())+6)%7
	quarter := m - (m-1)%3
	switch name {
	case "date_today":
		return days(y, m, d, 1, zone)
	case "date_last_day":
		return days(y, m, d-1, 1, zone)
	case "date_current_week":
		return days(y, m, monday, 7, zone)
	case "date_last_week":
		return days(y, m, monday-7, 7, zone)
	case "date_current_month":
		return Range{midnight(y, m, 1, zone), midnight(y, m+1, 1, zone)}
	case "date_last_month":
		return Range{midnight(y, m-1, 1, zone), midnight(y, m, 1, zone)}
	case "date_current_quarter":
		return Range{midnight(y, quarter, 1, zone), midnight(y, quarter+3, 1, zone)}
	case "date_last_quarter":
		return Range{midnight(y, quarter-3, 1, zone), midnight(y, quarter, 1, zone)}
	case "date_current_year":
		return Range{midnight(y, 1, 1, zone), midnight(y+1, 1, 1, zone)}
	case "date_last_year":
		return Range{midnight(y-1, 1, 1, zone), midnight(y, 1, 1, zone)}
	case "date_last_12_months":
		return Range{midnight(y, m-12, d, zone), until(now)}
	}
	return Range{} // date_all
}

// until is the end of a stretch that includes now.
func until(now time.Time) time.Time {
	return now.UTC().Truncate(time.Microsecond).Add(time.Microsecond)
}

// Midnight reports whether a time is where a day begins in the zone; an open end is.
func Midnight(t time.Time, zone *time.Location) bool {
	return t.IsZero() || LastMidnight(t, zone).Equal(t)
}

// LastMidnight is where the day of a time begins; an open end stays open.
func LastMidnight(t time.Time, zone *time.Location) time.Time {
	if t.IsZero() {
		return t
	}
	y, m, d := t.In(zone).Date()
	return midnight(y, m, d, zone)
}

// NextMidnight is the first time at or after t where a day begins; an open end stays open.
func NextMidnight(t time.Time, zone *time.Location) time.Time {
	if Midnight(t, zone) {
		return t
	}
	y, m, d := t.In(zone).Date()
	return midnight(y, m, d+1, zone)
}
