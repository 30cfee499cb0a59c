package demo

import (
	"math"
	"time"

	"earshot/internal/feedback"
)

// event is something that happened to the company. It makes more people speak up, about it, and worse or better.
type event struct {
	topic        topic
	begins, ends float64           // days before the end
	extra        map[int64]float64 // how many more speak up at a carrier, as a part of the usual number
	mood         float64
	// share is how many of those it concerns talk about it without having come for it.
	share    float64
	concerns func(*situation) bool
	// shape makes whoever came for it one of those it concerns.
	shape func(*generator, *situation)
	// strength is how it wears off, or grows, over its time from 0 to 1.
	strength func(x float64) float64
}

func steady(float64) float64 { return 1 }

// events are the five incidents, and what became of one.
var events = []event{
	{ // The drivers of the largest carrier in France stop working.
		topic: "strike", begins: 240, ends: 222, mood: -0.45, share: 0.5,
		extra:    map[int64]float64{101: 0.7, 104: 1.2, 105: 1.6},
		concerns: func(s *situation) bool { return s.code == "FR" && s.topic == delivery },
		shape: func(g *generator, s *situation) {
			s.country, s.city = countries[0].what, pick(g.random, countries[0].what.cities)
		},
		strength: func(x float64) float64 { return math.Min(1, 0.4+3*x) },
	},
	{ // A release of the app that crashes, mended nine days later.
		topic: "crash", begins: 128, ends: 119, mood: -0.6, share: 0.75,
		extra:    map[int64]float64{103: 5, 104: 0.15, 105: 0.4},
		concerns: func(s *situation) bool { return s.topic == app },
		shape:    func(*generator, *situation) {},
		strength: func(x float64) float64 { return math.Max(0.25, 1-0.8*x) },
	},
	{ // Prices and plans become a fifth more expensive.
		topic: "increase", begins: 420, ends: 290, mood: -0.3, share: 0.45,
		extra:    map[int64]float64{101: 0.12, 104: 0.25, 105: 0.2, 106: 1.2},
		concerns: func(s *situation) bool { return s.topic == price },
		shape:    func(g *generator, s *situation) { s.plan = pick(g.random, []string{"Plus", "Plus", "Family"}) },
		strength: func(x float64) float64 { return math.Exp(-3 * x) },
	},
	{ // A new system in accounting pays nothing back for weeks.
		topic: "delay", begins: 640, ends: 596, mood: -0.45, share: 0.7,
		extra:    map[int64]float64{104: 0.3, 105: 0.9},
		concerns: func(s *situation) bool { return s.topic == refund },
		shape:    func(*generator, *situation) {},
		strength: func(x float64) float64 { return math.Sin(math.Pi * math.Min(1, x+0.1)) },
	},
	{ // The shop in Lyon is rebuilt while it stays open,
		topic: "works", begins: 345, ends: 317, mood: -0.35, share: 0.6,
		extra:    map[int64]float64{102: 0.25, 104: 0.05},
		concerns: inLyon, shape: toLyon, strength: steady,
	},
	{ // and is better than before.
		topic: "renewed", begins: 316, ends: 0, mood: 0.16, share: 0.45,
		concerns: inLyon, shape: toLyon, strength: steady,
	},
}

func inLyon(s *situation) bool { return s.shop && s.city == "Lyon" }

func toLyon(_ *generator, s *situation) { s.country, s.city, s.shop = countries[0].what, "Lyon", true }

// at is how strong an event is on a day; 0 when it is not.
func (e event) at(day float64) float64 {
	if day > e.begins || day < e.ends {
		return 0
	}
	return e.strength((e.begins - day) / (e.begins - e.ends))
}

// volume is how much is said at a touchpoint on a day that begins then.
func (g *generator) volume(day time.Time, p *touchpoint) float64 {
	v := p.volume * p.week[day.Weekday()] * season(day)
	ago := g.day(day)
	v *= 1.6 - 0.6*ago/(years*365) // the company grows
	extra := 1.0
	for _, e := range events {
		extra += e.extra[p.carrier.ID] * e.at(ago)
	}
	return v * extra * math.Min(1, g.until.Sub(day).Hours()/24) // the last day may not be over
}

// season is the time of the year: Christmas and the weeks before it, Black Friday, the sales of January, the quiet of August.
func season(day time.Time) float64 {
	switch month, d := day.Month(), day.Day(); {
	case month == time.November && day.Weekday() == time.Friday && d > 22 && d < 30:
		return 2.1
	case month == time.November && d > 15:
		return 1.25
	case month == time.December && d < 24:
		return 1.35 + 0.04*float64(d)
	case month == time.December && d < 27:
		return 0.5
	case month == time.January && d < 20:
		return 1.2
	case month == time.August:
		return 0.72
	}
	return 1
}

// rush is when parcels are many and drivers few.
func rush(day time.Time) bool { return day.Month() == time.December && day.Day() < 27 }

// within is a time on a day when people are at a touchpoint, before the end.
func (g *generator) within(day time.Time, p *touchpoint) time.Time {
	hours := make([]weighted[int], 24)
	for h, weight := range p.hours {
		hours[h] = weighted[int]{h, weight}
	}
	for range 20 {
		at := day.Add(time.Duration(draw(g.random, hours))*time.Hour + time.Duration(g.random.IntN(3600))*time.Second)
		if at.Before(g.until) {
			return at
		}
	}
	return day // it has only just begun
}

// situation is who speaks, about what, and how they feel.
type situation struct {
	country
	moment
	source  feedback.Source
	product product
	second  *product // bought together with the first
	plan    string
	channel string
	city    string
	shop    bool // it is about a shop
	topic   topic
	event   *event
	mood    float64 // 0 to 1
	days    float64 // before the end
	version string
}

// situation draws one.
func (g *generator) situation(m moment) *situation {
	s := &situation{
		moment: m, country: draw(g.random, countries), product: draw(g.random, products), plan: draw(g.random, plans),
		channel: draw(g.random, m.point.channel), topic: draw(g.random, m.point.topics), days: g.day(m.at),
	}
	g.arrive(s)
	s.city, s.version = pick(g.random, s.cities), version(s.days)
	s.shop = s.channel == "shop"
	if (s.topic == shop || s.topic == staff) && !s.shop {
		s.channel, s.shop = "shop", true
	}
	if m.at.Month() == time.January && m.point.carrier.ID == 105 && g.chance(0.3) {
		s.topic = refund // what was given at Christmas and did not fit
	}
	if m.point.carrier.ID == 106 && s.plan == "Basic" {
		s.plan = "Plus" // members only
	}
	if g.chance(0.12) {
		if other := draw(g.random, products); other.name != s.product.name {
			s.second = &other
		}
	}
	g.involve(s)
	g.feel(s)
	return s
}

// involve makes some of those who speak during an event speak about it: those who came for it, and some of those it concerns.
func (g *generator) involve(s *situation) {
	for i := range events {
		e := &events[i]
		strength := e.at(s.days)
		if strength == 0 {
			continue
		}
		came := e.extra[s.point.carrier.ID] * strength
		if came > 0 && g.chance(came/(1+came)) {
			e.shape(g, s)
			s.event = e
			return
		}
		if e.concerns(s) && g.chance(e.share*strength) {
			s.event = e
			return
		}
	}
}

// feel is what all of it makes of somebody's mood.
func (g *generator) feel(s *situation) {
	mood := 0.71 + s.point.mood + s.country.mood + 0.05*(1-s.days/(years*365))
	switch s.topic {
	case quality, website, packaging:
		mood += s.product.mood
	case staff:
		mood += 0.06
	case delivery:
		if rush(s.at) {
			mood -= 0.12
		}
	case refund, service:
		mood -= 0.05
	default:
	}
	if s.shop && s.at.Weekday() == time.Saturday {
		mood -= 0.05 // the queues
	}
	if g.chance(0.07) { // once in a while everything goes wrong
		mood -= 0.35
	}
	spread := 0.21
	if s.event != nil {
		mood += s.event.mood * (0.6 + 0.4*s.event.at(s.days))
		spread = 0.14
	}
	mood += spread * g.random.NormFloat64()
	if s.point.extreme && s.event == nil { // who is lukewarm writes no review
		mood = 0.55 + (mood-0.55)*1.9
	}
	s.mood = math.Min(1, math.Max(0, mood))
}

// releases are the app's versions with the days before the end they came out; 4.0.0 is the one that crashes.
var releases = []struct {
	day  float64
	name string
}{
	{math.Inf(1), "2.9.0"},
	{1000, "3.0.0"},
	{910, "3.1.0"},
	{830, "3.2.0"},
	{740, "3.3.0"},
	{655, "3.4.0"},
	{560, "3.5.0"},
	{480, "3.6.0"},
	{390, "3.7.0"},
	{300, "3.8.0"},
	{205, "3.9.0"},
	{128, "4.0.0"},
	{119, "4.0.1"},
	{70, "4.1.0"},
	{21, "4.2.0"},
}

// version is the newest on a day.
func version(day float64) string {
	var name string
	for _, r := range releases {
		if r.day >= day {
			name = r.name
		}
	}
	return name
}
