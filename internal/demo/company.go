package demo

import (
	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/feedback"
)

// country is where a customer lives and what they speak; mood is how much better or worse they judge than others.
type country struct {
	code, language string
	mood           float64
	cities         []string // each with a shop
}

var countries = []weighted[country]{
	{country{"FR", "fr", -0.02, []string{"Paris", "Lyon", "Lille", "Bordeaux", "Nantes"}}, 30},
	{country{"DE", "de", 0.01, []string{"Berlin", "Hamburg", "München", "Köln"}}, 22},
	{country{"GB", "en", 0.02, []string{"London", "Manchester", "Bristol"}}, 16},
	{country{"ES", "es", 0.03, []string{"Madrid", "Barcelona", "Valencia"}}, 13},
	{country{"IT", "it", 0.01, []string{"Milano", "Roma", "Torino"}}, 11},
	{country{"BE", "fr", 0, []string{"Bruxelles"}}, 3},
	{country{"AT", "de", 0.02, []string{"Wien"}}, 3},
	{country{"IE", "en", 0.03, []string{"Dublin"}}, 2},
}

// product is what was bought. Its name stands without an article in every language.
type product struct {
	name, sort string
	mood       float64
}

var products = []weighted[product]{
	{product{"Varde", "desk", 0.03}, 14},
	{product{"Lumo", "lamp", 0.06}, 16},
	{product{"Solenne", "sofa", -0.03}, 9},
	{product{"Tavola", "table", 0.02}, 11},
	{product{"Brisa", "fan", -0.08}, 7},
	{product{"Kelda", "kettle", 0.01}, 13},
	{product{"Noro", "shelf", -0.05}, 12},
	{product{"Alba", "bed linen", 0.07}, 10},
	{product{"Fjord", "armchair", 0.04}, 8},
}

var plans = []weighted[string]{{"Basic", 60}, {"Plus", 30}, {"Family", 10}}

// topic is what somebody talks about; the phrases are filed under it.
type topic string

const (
	delivery  topic = "delivery"
	quality   topic = "quality"
	price     topic = "price"
	staff     topic = "staff"
	app       topic = "app"
	refund    topic = "refund"
	shop      topic = "shop"
	website   topic = "website"
	packaging topic = "packaging"
	service   topic = "service"
)

// touchpoint is where customers are asked, or speak up.
type touchpoint struct {
	carrier carrier.New
	channel []weighted[string]
	sources []weighted[string]
	topics  []weighted[topic]
	volume  float64    // how much of all feedback comes from here
	week    [7]float64 // by weekday, Sunday first
	hours   [24]float64
	mood    float64
	writes  float64 // how often a text comes with the scores
	ordered float64 // how often an order number does
	extreme bool    // those who are neither happy nor angry stay away
}

// Numbers of the questions: a client in the field has its own, and these are ours.
const (
	orderNPS, orderRating, orderChoice, orderText         = 1011, 1012, 1013, 1014
	shopSmiley, shopTable, shopText                       = 1021, 1022, 1023
	appRating, appText                                    = 1031, 1032
	reviewRating, reviewText                              = 1041, 1042
	serviceReason, serviceEase, serviceSmiley, serviceNPS = 1051, 1052, 1053, 1054
	serviceText                                           = 1055
	planNPS, planValue, planText                          = 1061, 1062, 1063
)

var (
	atHome = [24]float64{2, 1, 0.5, 0.3, 0.3, 0.6, 2, 4, 5, 5, 5, 5, 6, 6, 5, 5, 5, 6, 8, 10, 11, 10, 7, 4}
	inShop = [24]float64{9: 2, 10: 6, 11: 8, 12: 8, 13: 7, 14: 8, 15: 9, 16: 10, 17: 11, 18: 9, 19: 4}
	atDesk = [24]float64{7: 1, 8: 8, 9: 11, 10: 11, 11: 10, 12: 6, 13: 8, 14: 9, 15: 9, 16: 8, 17: 6, 18: 3, 19: 1}
)

var touchpoints = []touchpoint{
	{
		carrier: carrier.New{ID: 101, Name: "Order survey", Questions: []carrier.NewQuestion{
			{ID: orderNPS, Name: "How likely are you to recommend us?", Type: carrier.NPS, Required: true},
			{ID: orderRating, Name: "How satisfied are you with your order?", Type: carrier.Rating, Max: 5, Required: true},
			{ID: orderChoice, Name: "What mattered most to you?", Type: carrier.Choice, Options: []string{"Delivery", "Quality", "Price", "Website", "Packaging"}},
			{ID: orderText, Name: "Tell us more", Type: carrier.Textarea},
		}},
		channel: []weighted[string]{{"web", 70}, {"app", 30}},
		sources: []weighted[string]{{"survey", 50}, {"email", 30}, {"sms", 15}, {"hubspot", 5}},
		topics:  []weighted[topic]{{delivery, 32}, {quality, 28}, {price, 14}, {website, 14}, {packaging, 12}},
		volume:  36, week: [7]float64{0.8, 1.15, 1.1, 1.05, 1, 0.95, 0.9}, hours: atHome, writes: 0.55, ordered: 0.75,
	},
	{
		carrier: carrier.New{ID: 102, Name: "Shop visit", Questions: []carrier.NewQuestion{
			{ID: shopSmiley, Name: "How was your visit?", Type: carrier.Smiley, Required: true},
			{ID: shopTable, Name: "How were", Type: carrier.RatingsTable, Options: []string{"Staff", "Waiting time", "Tidiness", "Choice"}},
			{ID: shopText, Name: "Anything you want to tell us?", Type: carrier.Text},
		}},
		channel: []weighted[string]{{"shop", 1}},
		sources: []weighted[string]{{"feedback_box", 40}, {"survey", 25}, {"facetoface", 20}, {"sms", 15}},
		topics:  []weighted[topic]{{staff, 45}, {shop, 40}, {price, 8}, {quality, 7}},
		volume:  21, week: [7]float64{0.08, 0.8, 0.8, 0.9, 1, 1.3, 2}, hours: inShop, mood: 0.05, writes: 0.35, ordered: 0.05,
	},
	{
		carrier: carrier.New{ID: 103, Name: "App reviews", Questions: []carrier.NewQuestion{
			{ID: appRating, Name: "Stars", Type: carrier.Rating, Max: 5, Required: true},
			{ID: appText, Name: "Review", Type: carrier.Textarea, Required: true},
		}},
		channel: []weighted[string]{{"app", 1}},
		sources: []weighted[string]{{"review", 1}},
		topics:  []weighted[topic]{{app, 80}, {delivery, 12}, {price, 8}},
		volume:  8, week: [7]float64{1.2, 0.95, 0.95, 0.95, 0.95, 0.95, 1.15}, hours: atHome, writes: 1, extreme: true,
	},
	{
		carrier: carrier.New{ID: 104, Name: "Public reviews", Questions: []carrier.NewQuestion{
			{ID: reviewRating, Name: "Stars", Type: carrier.Rating, Max: 5, Required: true},
			{ID: reviewText, Name: "Review", Type: carrier.Textarea, Required: true},
		}},
		channel: []weighted[string]{{"web", 60}, {"shop", 30}, {"app", 10}},
		sources: []weighted[string]{{"trustpilot", 42}, {"google_review", 32}, {"amazon_reviews", 12}, {"facebook", 10}, {"instagram", 4}},
		topics:  []weighted[topic]{{delivery, 28}, {quality, 26}, {service, 16}, {price, 12}, {shop, 10}, {staff, 8}},
		volume:  15, week: [7]float64{1.15, 1.05, 1, 0.95, 0.95, 0.9, 1}, hours: atHome, mood: -0.04, writes: 0.97, extreme: true,
	},
	{
		carrier: carrier.New{ID: 105, Name: "Customer service", Questions: []carrier.NewQuestion{
			{ID: serviceReason, Name: "Why did you contact us?", Type: carrier.Choice, Required: true, Options: []string{"Delivery", "Refund", "Product", "App", "Price", "Other"}},
			{ID: serviceEase, Name: "How easy was it to get help?", Type: carrier.CES},
			{ID: serviceSmiley, Name: "How was our answer?", Type: carrier.Smiley},
			{ID: serviceNPS, Name: "How likely are you to recommend us?", Type: carrier.NPS},
			{ID: serviceText, Name: "What happened?", Type: carrier.Textarea},
		}},
		channel: []weighted[string]{{"web", 70}, {"app", 30}},
		sources: []weighted[string]{{"call_center", 34}, {"chat", 26}, {"email", 20}, {"whatsapp", 12}, {"easiware", 5}, {"letter", 3}},
		topics:  []weighted[topic]{{service, 34}, {delivery, 24}, {refund, 22}, {quality, 10}, {app, 6}, {price, 4}},
		volume:  14, week: [7]float64{0.15, 1.5, 1.25, 1.15, 1.1, 1.1, 0.45}, hours: atDesk, mood: -0.14, writes: 0.7, ordered: 0.5,
	},
	{
		carrier: carrier.New{ID: 106, Name: "Membership", Questions: []carrier.NewQuestion{
			{ID: planNPS, Name: "How likely are you to recommend your plan?", Type: carrier.NPS, Required: true},
			{ID: planValue, Name: "How good is it for the money?", Type: carrier.Slider, Max: 10},
			{ID: planText, Name: "What would make it better?", Type: carrier.Text},
		}},
		channel: []weighted[string]{{"web", 60}, {"app", 40}},
		sources: []weighted[string]{{"email", 60}, {"hubspot", 25}, {"survey", 15}},
		topics:  []weighted[topic]{{price, 45}, {delivery, 25}, {app, 15}, {service, 15}},
		volume:  6, week: [7]float64{0.7, 1.2, 1.2, 1.1, 1, 0.95, 0.8}, hours: atHome, writes: 0.4,
	},
}

// Carriers are what the records belong to, with numbers of their own.
func Carriers() []carrier.New {
	all := make([]carrier.New, len(touchpoints))
	for i, p := range touchpoints {
		all[i] = p.carrier
	}
	return all
}

// Users are the people who look after the records: one for each language, one who sees only the shop in Lyon, and an admin, who owns nothing.
func Users() []account.User {
	return []account.User{
		{Email: "grace.hughes@example.com", Name: "Grace Hughes", Role: account.Editor},
		{Email: "ines.moreau@example.com", Name: "Inès Moreau", Role: account.Editor},
		{Email: "jonas.weber@example.com", Name: "Jonas Weber", Role: account.Editor},
		{Email: "marta.ruiz@example.com", Name: "Marta Ruiz", Role: account.Editor},
		{Email: "luca.ferri@example.com", Name: "Luca Ferri", Role: account.Editor},
		{Email: "lyon@example.com", Name: "Shop in Lyon", Role: account.RestrictedViewer},
		{Email: "nadia.keller@example.com", Name: "Nadia Keller", Role: account.Admin},
	}
}

// The places of Users.
var editors = map[string]int{"en": 0, "fr": 1, "de": 2, "es": 3, "it": 4}

const lyon = 5

// channels of sources that have one of their own.
var channels = map[string]string{"call_center": "phone", "whatsapp": "phone", "letter": "post"}

// arrive draws where a situation's feedback comes from.
func (g *generator) arrive(s *situation) {
	name := draw(g.random, s.point.sources)
	source, ok := feedback.ParseSource(name)
	if !ok {
		panic("no such source: " + name)
	}
	s.source = source
	if channel, ok := channels[name]; ok {
		s.channel = channel
	}
}
