package feedback

// Source is the kind of place a feedback came from.
type Source int16

// sources are numbered by their place here, which is what is stored: append, never reorder.
var sources = [...]struct{ name, label string }{
	1:  {"trustpilot", "Trustpilot"},
	2:  {"easiware", "Easiware"},
	3:  {"bigquery", "BigQuery"},
	4:  {"email", "E-mail"},
	5:  {"chat", "Chat"},
	6:  {"review", "Review"},
	7:  {"google_review", "Google review"},
	8:  {"google_reviews_competitor", "Google reviews (competitor)"},
	9:  {"csv", "CSV"},
	10: {"facebook", "Facebook"},
	11: {"linkedin", "LinkedIn"},
	12: {"letter", "Letter"},
	13: {"document", "Document"},
	14: {"glassdoor", "Glassdoor"},
	15: {"homeviews", "HomeViews"},
	16: {"survey", "Survey"},
	17: {"sms", "SMS"},
	18: {"facetoface", "Face to face"},
	19: {"feedback_box", "Feedback box"},
	20: {"whatsapp", "WhatsApp"},
	21: {"instagram", "Instagram"},
	22: {"call_center", "Call center"},
	23: {"amazon_reviews", "Amazon reviews"},
	24: {"hubspot", "HubSpot"},
}

// String is the name of the kind in the interface.
func (s Source) String() string { return sources[s].name }

// Label is the name of the kind for people.
func (s Source) Label() string { return sources[s].label }

// ParseSource reads a kind by its name.
func ParseSource(name string) (Source, bool) {
	for s := range sources {
		if s > 0 && sources[s].name == name {
			return Source(s), true
		}
	}
	return 0, false
}

// SourceNames lists the kinds in the order of the interface.
func SourceNames() []string {
	names := make([]string, 0, len(sources)-1)
	for _, s := range sources[1:] {
		names = append(names, s.name)
	}
	return names
}
