package demo

import (
	"math"
	"strconv"
	"time"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/feedback"
)

// scale is a mood as a score from low to high, give or take a little.
func (g *generator) scale(mood float64, low, high int) string {
	at := float64(low) + (mood+0.04*g.random.NormFloat64())*float64(high-low)
	return strconv.Itoa(min(high, max(low, int(math.Round(at)))))
}

// nps is a mood from 0 to 10: people who are pleased give a nine or a ten.
func (g *generator) nps(mood float64) string {
	return g.scale(math.Min(1, mood*1.13), 0, 10)
}

// answers are what somebody answers at their touchpoint. Questions that may be left out sometimes are.
func (g *generator) answers(s *situation) []carrier.Item {
	var items []carrier.Item
	answer := func(question int64, value string) {
		items = append(items, carrier.Item{QuestionID: question, Value: value})
	}
	text := int64(0)
	switch s.point.carrier.ID {
	case 101:
		answer(orderNPS, g.nps(s.mood))
		answer(orderRating, g.scale(s.mood, 1, 5))
		if g.chance(0.85) {
			answer(orderChoice, orderChoices[s.subject()])
		}
		text = orderText
	case 102:
		answer(shopSmiley, g.scale(s.mood, 1, 5))
		if g.chance(0.7) {
			items = append(items, g.table(s)...)
		}
		text = shopText
	case 103:
		answer(appRating, g.scale(s.mood, 1, 5))
		text = appText
	case 104:
		answer(reviewRating, g.scale(s.mood, 1, 5))
		text = reviewText
	case 105:
		answer(serviceReason, serviceReasons[s.subject()])
		if g.chance(0.6) {
			answer(serviceEase, g.scale(s.mood, 1, 7))
		}
		answer(serviceSmiley, g.scale(s.mood, 1, 5))
		if g.chance(0.4) {
			answer(serviceNPS, g.nps(s.mood))
		}
		text = serviceText
	case 106:
		answer(planNPS, g.nps(s.mood))
		if g.chance(0.9) {
			answer(planValue, g.scale(s.mood, 1, 10))
		}
		text = planText
	}
	writes := s.point.writes
	if s.event != nil {
		writes = math.Min(1, writes+0.3)
	}
	if g.chance(writes) {
		answer(text, g.text(s))
	}
	return items
}

// What the questions that name a subject offer for it.
var (
	orderChoices = map[topic]string{
		delivery: "Delivery", quality: "Quality", price: "Price", website: "Website", packaging: "Packaging", app: "Website", refund: "Price",
		service: "Delivery", staff: "Quality", shop: "Quality",
	}
	serviceReasons = map[topic]string{
		delivery: "Delivery", refund: "Refund", quality: "Product", app: "App", price: "Price", service: "Other", website: "Other",
		packaging: "Product", staff: "Other", shop: "Other",
	}
)

// subjects are the usual topics behind the events.
var subjects = map[topic]topic{"strike": delivery, "crash": app, "increase": price, "delay": refund, "works": shop, "renewed": shop}

// subject is what somebody talks about, whatever the reason.
func (s *situation) subject() topic {
	if s.event != nil {
		return subjects[s.event.topic]
	}
	return s.topic
}

// table rates what a shop is made of: queues are long on Saturdays, and where there are works it is not tidy.
func (g *generator) table(s *situation) []carrier.Item {
	var items []carrier.Item
	for row, shift := range []float64{0.08, -0.1, 0, 0.03} {
		mood := s.mood + shift
		name := s.point.carrier.Questions[1].Options[row]
		switch {
		case name == "Waiting time" && s.at.Weekday() == time.Saturday:
			mood -= 0.15
		case name == "Tidiness" && s.event != nil && s.event.topic == "works":
			mood -= 0.25
		case name == "Tidiness" && s.event != nil && s.event.topic == "renewed":
			mood += 0.15
		case name == "Staff" && s.topic == staff:
			mood = s.mood
		}
		items = append(items, carrier.Item{QuestionID: shopTable, Option: name, Value: g.scale(math.Max(0, mood), 1, 5)})
	}
	return items
}

// attributes are what the company knows of somebody. Order numbers are never used twice.
func (g *generator) attributes(n int, s *situation) []feedback.Attribute {
	var all []feedback.Attribute
	add := func(name string, values ...string) {
		a := feedback.Attribute{Name: name}
		for _, v := range values {
			a.Values = append(a.Values, feedback.Value{Text: v})
		}
		all = append(all, a)
	}
	add("country", s.code)
	add("language", s.language)
	add("channel", s.channel)
	if s.shop {
		add("shop", s.city)
	}
	bought := []string{s.product.name + " " + s.product.sort}
	if s.second != nil {
		bought = append(bought, s.second.name+" "+s.second.sort)
	}
	if s.point.carrier.ID != 103 && s.point.carrier.ID != 106 {
		add("product", bought...)
	}
	if g.chance(0.8) || s.point.carrier.ID == 106 {
		add("plan", s.plan)
	}
	if s.channel == "app" {
		add("app_version", s.version)
	}
	if g.chance(s.point.ordered) {
		add("order_number", "A-"+strconv.Itoa(1_000_000+n*8+g.random.IntN(8)))
		if s.shop {
			return all
		}
		late := 2 + g.random.IntN(4)
		if s.subject() == delivery && s.mood < 0.45 {
			late += 4 + g.random.IntN(10)
		}
		all = append(all, feedback.Attribute{Name: "delivery_days", Values: []feedback.Value{{Text: strconv.Itoa(late), IsNumber: true}}})
	}
	return all
}

// status is where the handling stands: what is old is settled, the angry are called first, and some are never reached.
func (g *generator) status(s *situation) feedback.Status {
	upset := s.mood < 0.42
	switch {
	case s.days > 90:
		return draw(g.random, []weighted[feedback.Status]{{feedback.Resolved, 90}, {feedback.Abandoned, 8}, {feedback.Contacted, 1}, {feedback.Todo, 1}})
	case s.days > 21 && upset:
		return draw(g.random, []weighted[feedback.Status]{
			{feedback.Resolved, 62}, {feedback.Contacted, 18}, {feedback.Progress, 8}, {feedback.Abandoned, 9}, {feedback.Todo, 3},
		})
	case s.days > 21:
		return draw(g.random, []weighted[feedback.Status]{{feedback.Resolved, 78}, {feedback.Abandoned, 6}, {feedback.Progress, 4}, {feedback.Todo, 12}})
	case s.days > 4 && upset:
		return draw(g.random, []weighted[feedback.Status]{{feedback.Contacted, 34}, {feedback.Progress, 30}, {feedback.Resolved, 20}, {feedback.Todo, 16}})
	case s.days > 4:
		return draw(g.random, []weighted[feedback.Status]{{feedback.Resolved, 30}, {feedback.Progress, 10}, {feedback.Todo, 60}})
	case upset:
		return draw(g.random, []weighted[feedback.Status]{{feedback.Todo, 55}, {feedback.Progress, 35}, {feedback.Contacted, 10}})
	}
	return draw(g.random, []weighted[feedback.Status]{{feedback.Todo, 92}, {feedback.Progress, 8}})
}

// owners look after the angry ones, each in their language; the shop in Lyon looks after its own.
func (g *generator) owners(s *situation) []account.UserID {
	if len(g.Owners) <= lyon {
		return nil
	}
	var all []account.UserID
	if g.chance(0.06) || s.mood < 0.42 && g.chance(0.45) {
		all = append(all, g.Owners[editors[s.language]])
	}
	if inLyon(s) && g.chance(0.5) {
		all = append(all, g.Owners[lyon])
	}
	return all
}
