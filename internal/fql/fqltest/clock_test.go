package fqltest_test

import (
	"fmt"
	"testing"
	"time"

	"earshot/internal/fql/fqltest"
)

// A period has a first and a last instant; the microseconds beside them lie outside.
func TestMatchPeriods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ start, end string }{
		// Whole days, up to the start of the next.
		"today":           {"2026-03-30T22:00:00Z", "2026-03-31T22:00:00Z"},
		"last_day":        {"2026-03-29T22:00:00Z", "2026-03-30T22:00:00Z"},
		"current_week":    {"2026-03-29T22:00:00Z", "2026-04-05T22:00:00Z"},
		"last_week":       {"2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"},
		"current_month":   {"2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"},
		"last_month":      {"2026-01-31T23:00:00Z", "2026-02-28T23:00:00Z"},
		"current_quarter": {"2025-12-31T23:00:00Z", "2026-03-31T22:00:00Z"},
		"last_quarter":    {"2025-09-30T22:00:00Z", "2025-12-31T23:00:00Z"},
		"current_year":    {"2025-12-31T23:00:00Z", "2026-12-31T23:00:00Z"},
		"last_year":       {"2024-12-31T23:00:00Z", "2025-12-31T23:00:00Z"},
		// Up to now and including it.
		"last_7_days":    {"2026-03-24T23:00:00Z", "2026-03-31T08:00:00.000001Z"},
		"last_30_days":   {"2026-03-01T23:00:00Z", "2026-03-31T08:00:00.000001Z"},
		"last_90_days":   {"2025-12-31T23:00:00Z", "2026-03-31T08:00:00.000001Z"},
		"last_12_months": {"2025-03-30T22:00:00Z", "2026-03-31T08:00:00.000001Z"},
	} {
		for _, spelling := range []string{name, "date_" + name, "DATE_" + name} {
			borders(t, fmt.Sprintf(`[{"TimePeriod":{"$eq":%q}}]`, spelling), now, berlin, instant(tt.start), instant(tt.end))
		}
	}
}

func TestMatchPeriodsOnSpecialDays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ period, now, start, end string }{
		"sunday ends the week":        {"current_week", "2026-03-29T12:00:00Z", "2026-03-23T00:00:00Z", "2026-03-30T00:00:00Z"},
		"monday begins it":            {"last_week", "2026-03-30T00:00:00Z", "2026-03-23T00:00:00Z", "2026-03-30T00:00:00Z"},
		"january looks back a year":   {"last_month", "2026-01-15T12:00:00Z", "2025-12-01T00:00:00Z", "2026-01-01T00:00:00Z"},
		"so does its quarter":         {"last_quarter", "2026-01-15T12:00:00Z", "2025-10-01T00:00:00Z", "2026-01-01T00:00:00Z"},
		"june belongs to the second":  {"current_quarter", "2026-06-30T12:00:00Z", "2026-04-01T00:00:00Z", "2026-07-01T00:00:00Z"},
		"no 29 February 2027":         {"last_12_months", "2028-02-29T12:00:00Z", "2027-03-01T00:00:00Z", "2028-02-29T12:00:00.000001Z"},
		"yesterday was in last month": {"last_day", "2026-03-01T12:00:00Z", "2026-02-28T00:00:00Z", "2026-03-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			borders(t, fmt.Sprintf(`[{"TimePeriod":{"$in":[%q]}}]`, tt.period), instant(tt.now), time.UTC, instant(tt.start), instant(tt.end))
		})
	}
}

// A day is what the zone's clocks call so: 23 or 25 hours where they change, wherever midnight is missing
// or comes twice.
func TestMatchDays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ zone, day, start, end string }{
		"winter":               {"Europe/Berlin", "2026-01-31", "2026-01-30T23:00:00Z", "2026-01-31T23:00:00Z"},
		"23 hours":             {"Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		"25 hours":             {"Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		"half an hour":         {"Asia/Kolkata", "2026-01-01", "2025-12-31T18:30:00Z", "2026-01-01T18:30:00Z"},
		"far east":             {"Pacific/Kiritimati", "2026-01-01", "2025-12-31T10:00:00Z", "2026-01-01T10:00:00Z"},
		"no midnight, west":    {"America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"},
		"the day before it":    {"America/Santiago", "2026-09-05", "2026-09-05T04:00:00Z", "2026-09-06T04:00:00Z"},
		"no midnight, east":    {"Asia/Beirut", "2025-03-30", "2025-03-29T22:00:00Z", "2025-03-30T21:00:00Z"},
		"midnight comes twice": {"Atlantic/Azores", "2026-10-25", "2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, query := range []string{`{"$eq":%q}`, `{"$in":[%q]}`, `{"$btw":[%[1]q,%[1]q]}`, `{"$gte":%[1]q,"$lte":%[1]q}`} {
				query = fmt.Sprintf(`[{"CompletedAt":`+query+`}]`, tt.day)
				borders(t, query, now, zone(tt.zone), instant(tt.start), instant(tt.end))
			}
		})
	}
}

// With every operator a date is the whole day. The instants are the last before it, its first, its last, and
// the first after it.
func TestMatchDateOperators(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][4]bool{
		`{"$eq":"2026-01-31"}`:                                            {false, true, true, false},
		`{"$ne":"2026-01-31"}`:                                            {true, false, false, true},
		`{"$in":"2026-01-31"}`:                                            {false, true, true, false},
		`{"$nin":["2026-01-31","2026-02-01"]}`:                            {true, false, false, false},
		`{"$gt":"2026-01-31"}`:                                            {false, false, false, true},
		`{"$gte":"2026-01-31"}`:                                           {false, true, true, true},
		`{"$lt":"2026-01-31"}`:                                            {true, false, false, false},
		`{"$lte":"2026-01-31"}`:                                           {true, true, true, false},
		`{"$btw":["2026-01-30","2026-01-31"]}`:                            {true, true, true, false},
		`{"$btw":["2026-01-31","2026-01-30"]}`:                            {false, false, false, false},
		`{"$btw":["2026-01-31","2026-01-31T00:00:00+01:00"]}`:             {false, true, false, false},
		`{"$in":["2026-01-30","2026-02-01T00:00:00+01:00"]}`:              {true, false, false, true},
		`{"$eq":["last_12_months"]}`:                                      {true, true, true, true},
		`{"$in":["today","2026-01-30"]}`:                                  {true, false, false, false},
		`{"$eq":"date_all"}`:                                              {true, true, true, true},
		`{"$in":[]}`:                                                      {false, false, false, false},
		`{"$nin":[]}`:                                                     {true, true, true, true},
		`{"$exists":true}`:                                                {true, true, true, true},
		`{"$gt":"2026-01-30T23:00:00Z"}`:                                  {false, false, true, true},
		`{"$gte":"2026-01-31T00:00:00+01:00"}`:                            {false, true, true, true},
		`{"$lt":"2026-01-30T23:00:00Z"}`:                                  {true, false, false, false},
		`{"$lte":"2026-01-30T23:00:00Z"}`:                                 {true, true, false, false},
		`{"$eq":"2026-01-30T18:00:00-05:00"}`:                             {false, true, false, false},
		`{"$ne":"2026-01-30T18:00:00-05:00"}`:                             {true, false, true, true},
		`{"$btw":["2026-01-30T23:00:00Z","2026-01-31T23:00:00Z"]}`:        {false, true, true, true},
		`{"$btw":["2026-01-30T23:00:00.000001Z","2026-01-31T23:00:00Z"]}`: {false, false, true, true},
	} {
		for i, created := range []string{
			"2026-01-30T22:59:59.999999Z", "2026-01-30T23:00:00Z", "2026-01-31T22:59:59.999999Z", "2026-01-31T23:00:00Z",
		} {
			r := fqltest.Record{CreatedAt: instant(created)}
			if got := match(t, `[{"TimePeriod":`+query+`}]`, r); got != want[i] {
				t.Errorf("%s of %s: %v", query, created, got)
			}
		}
	}
}

// A feedback that was never completed lies outside every time, all of it included.
func TestMatchNeverCompleted(t *testing.T) {
	t.Parallel()
	judge(t, map[string]judged{
		`[{"CompletedAt":{"$eq":"all"}}]`:           {true, false},
		`[{"CompletedAt":{"$lt":"2030-01-01"}}]`:    {true, false},
		`[{"CompletedAt":{"$ne":"2026-03-29"}}]`:    {false, true},
		`[{"CompletedAt":{"$nin":["2020-01-01"]}}]`: {true, true},
		`[{"CompletedAt":{"$exists":false}}]`:       {false, true},
	})
}

// borders checks that the query selects times from start to before end.
func borders(t *testing.T, query string, now time.Time, zone *time.Location, start, end time.Time) {
	t.Helper()
	for at, want := range map[time.Time]bool{
		start.Add(-time.Microsecond): false, start: true, end.Add(-time.Microsecond): true, end: false,
	} {
		got, err := fqltest.Match(query, fqltest.Record{CreatedAt: at, CompletedAt: &at}, now, zone)
		if err != nil || got != want {
			t.Errorf("%s at %s: %v, %v", query, at, got, err)
		}
	}
}
