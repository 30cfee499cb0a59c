package analysis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"earshot/internal/analysis"
)

func compile(tb testing.TB, topics ...analysis.Topic) *analysis.Catalogue {
	tb.Helper()
	c, err := analysis.Compile(topics)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func starter(tb testing.TB) *analysis.Catalogue {
	tb.Helper()
	c, err := analysis.Compile(analysis.Starter())
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// A keyword is found in any case, with or without accents, in another number or gender, and as the phrase it is.
func TestTopicsAreFound(t *testing.T) {
	t.Parallel()
	c := compile(t,
		analysis.Topic{ID: 7, Name: "Delivery", Keywords: []string{"en:delivery", "fr:livraison", "de:liefer*", "es:envío", "it:consegna", "de:*versand", "parcel"}},
		analysis.Topic{ID: 3, Name: "Opening hours", Keywords: []string{"opening hours", "fr:heures d'ouverture", "de:Öffnungszeiten"}},
		analysis.Topic{ID: 9, Name: "Cotton", Keywords: []string{"100 % cotton"}},
		analysis.Topic{ID: 5, Name: "Room", Keywords: []string{"fr:chambre", "it:camera", "room"}, Exclusions: []string{"waiting room", "fr:chambre de commerce"}},
	)
	cases := map[string]struct {
		lang analysis.Language
		text string
		want []int64
	}{
		"plural":                     {"en", "Two deliveries went wrong", []int64{7}},
		"capitals":                   {"en", "THE DELIVERY", []int64{7}},
		"accents left out":           {"es", "el envio fue caro", []int64{7}},
		"umlauts written out":        {"de", "andere Oeffnungszeiten", []int64{3}},
		"a beginning":                {"de", "Der Lieferant war nett", []int64{7}},
		"an ending":                  {"de", "Der Expressversand war teuer", []int64{7}},
		"a phrase":                   {"en", "longer opening hours", []int64{3}},
		"a phrase with elision":      {"fr", "les heures d'ouverture", []int64{3}},
		"parts of a phrase":          {"en", "opening the box took hours", nil},
		"a phrase across a comma":    {"en", "opening, hours", nil},
		"inside another word":        {"en", "mushrooms", nil},
		"two topics":                 {"en", "The room was ready for our parcel", []int64{5, 7}},
		"an exclusion":               {"en", "The waiting room is small", nil},
		"another exclusion":          {"fr", "la chambre de commerce", nil},
		"a keyword of no language":   {"", "parcel 包裹", []int64{7}},
		"a keyword of another":       {"en", "livraison", nil},
		"nothing":                    {"en", "Thank you", nil},
		"no mark that means more":    {"en", "It was 100 200 cotton", nil},
		"an exclusion in a sentence": {"en", "The waiting room was full and my room was cold", nil},
	}
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := analysis.Read(x.text, x.lang, c)
			checkResult(t, x.text, res)
			if !slices.Equal(res.Topics, x.want) {
				t.Errorf("got %v, want %v", res.Topics, x.want)
			}
		})
	}
}

// A span carries its own topics, and the text those of all spans.
func TestTopicsBySpan(t *testing.T) {
	t.Parallel()
	c := compile(t, analysis.Topic{ID: 2, Name: "Food", Keywords: []string{"food"}}, analysis.Topic{ID: 1, Name: "Room", Keywords: []string{"room"}, Exclusions: []string{"room service"}})
	res := analysis.Read("The food was cold. Our room was nice. Room service had good food.", "en", c)
	var got []string
	for _, s := range res.Spans {
		got = append(got, fmt.Sprint(s.Topics))
	}
	if want := []string{"[2]", "[1]", "[2]"}; !slices.Equal(got, want) || fmt.Sprint(res.Topics) != "[1 2]" {
		t.Errorf("got %v and %v", got, res.Topics)
	}
}

// What cannot be found, or is not to be, is refused in words that name the topic.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	many := make([]analysis.Topic, analysis.MaxTopics+1)
	for i := range many {
		many[i] = analysis.Topic{ID: int64(i + 1), Name: fmt.Sprint("topic ", i), Keywords: []string{"word"}}
	}
	cases := map[string]struct {
		topics []analysis.Topic
		want   []string
	}{
		"no name":           {[]analysis.Topic{{ID: 1, Keywords: []string{"a"}}}, []string{"topic 1 has no name"}},
		"no id":             {[]analysis.Topic{{Name: "Price", Keywords: []string{"price"}}}, []string{`topic "Price" has no id`}},
		"no keywords":       {[]analysis.Topic{{ID: 1, Name: "Price"}}, []string{`topic "Price" has no keywords`}},
		"an empty keyword":  {[]analysis.Topic{{ID: 1, Name: "Price", Keywords: []string{"price", " "}}}, []string{`topic "Price": " " has no word to find`}},
		"marks only":        {[]analysis.Topic{{ID: 1, Name: "Price", Keywords: []string{"€€€"}}}, []string{"has no word to find"}},
		"a short beginning": {[]analysis.Topic{{ID: 1, Name: "Price", Keywords: []string{"pr*"}}}, []string{`"pr*" needs three letters`}},
		"a bad exclusion":   {[]analysis.Topic{{ID: 1, Name: "Price", Keywords: []string{"price"}, Exclusions: []string{"!"}}}, []string{`"!" has no word to find`}},
		"a long keyword":    {[]analysis.Topic{{ID: 1, Name: "Price", Keywords: []string{strings.Repeat("é", 101)}}}, []string{"101 characters, at most 100"}},
		"too many keywords": {[]analysis.Topic{{ID: 1, Name: "Price", Keywords: slices.Repeat([]string{"price"}, analysis.MaxKeywords+1)}}, []string{"501 keywords"}},
		"too many topics":   {many, []string{"501 topics, at most 500"}},
		"the same twice": {
			[]analysis.Topic{{ID: 1, Name: "Price", Keywords: []string{"price"}}, {ID: 1, Name: "price ", Keywords: []string{"cost"}}},
			[]string{`topic "price " is there twice`, `topic "price " has the id of another`},
		},
		"marks of our lists": {[]analysis.Topic{{ID: 1, Name: "Price", Keywords: []string{"% .. | ="}}}, []string{"has no word to find"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			catalogue, err := analysis.Compile(c.topics)
			if err == nil || catalogue != nil {
				t.Fatal("it was compiled")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

// The starter catalogue compiles, has every topic in every language, and finds the obvious.
func TestStarter(t *testing.T) {
	t.Parallel()
	c := starter(t)
	names := map[int64]string{}
	for _, topic := range analysis.Starter() {
		names[topic.ID] = topic.Name
		for _, lang := range analysis.Languages {
			if !slices.ContainsFunc(topic.Keywords, func(k string) bool { return strings.HasPrefix(k, string(lang)+":") }) {
				t.Errorf("%s has no keywords in %s", topic.Name, lang)
			}
		}
	}
	for text, want := range map[string]string{
		"The parcel arrived two weeks late":             "Delivery",
		"Bien trop cher pour ce que c'est":              "Price",
		"Die Mitarbeiterin am Empfang war unfreundlich": "Staff",
		"Una hora de cola en la caja":                   "Waiting time",
		"L'app si blocca sempre":                        "App",
		"Die Toiletten waren schmutzig":                 "Cleanliness",
		"Mon remboursement n'est pas arrivé":            "Returns and refunds",
		"Vorrei disdire il contratto":                   "Contract",
		"The breakfast was delicious":                   "Food and drink",
		"No me siento segura, da miedo el aparcamiento": "Safety",
	} {
		var got []string
		for _, id := range analysis.Read(text, "", c).Topics {
			got = append(got, names[id])
		}
		if !slices.Contains(got, want) {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
}

// A phrase that many texts have and no topic covers is suggested, in the form most of them use, with sentences to show it.
func TestSuggest(t *testing.T) {
	t.Parallel()
	texts := []string{
		"The charging cable broke. Nice box.", "My charging cables are too short!", "charging cable again", "I like the charging cable",
		"The box was wet.", "Wet box, broken lid.", "The delivery was late.", "Delivery late again.", "Thanks a lot!", "Thanks!",
	}
	c := compile(t, analysis.Topic{ID: 1, Name: "Delivery", Keywords: []string{"delivery"}})
	got := analysis.Suggest(slices.Values(texts), "en", c, 10)
	if len(got) == 0 || got[0].Phrase != "charging cable" || got[0].Count != 4 {
		t.Fatalf("got %+v", got)
	}
	if want := []string{"The charging cable broke.", "My charging cables are too short!", "charging cable again"}; !slices.Equal(got[0].Examples, want) {
		t.Errorf("examples %q", got[0].Examples)
	}
	var phrases []string
	for _, s := range got {
		phrases = append(phrases, s.Phrase)
	}
	for _, not := range []string{"cable", "charging", "delivery", "thanks", "the", "late"} {
		if slices.Contains(phrases, not) {
			t.Errorf("%q was suggested in %q", not, phrases)
		}
	}
	if !slices.Contains(phrases, "box") {
		t.Errorf("no box in %q", phrases)
	}
	if again := analysis.Suggest(slices.Values(texts), "en", c, 10); fmt.Sprint(again) != fmt.Sprint(got) {
		t.Errorf("another time: %v", again)
	}
	if few := analysis.Suggest(slices.Values(texts), "", c, 1); len(few) != 1 || few[0].Phrase != "charging cable" {
		t.Errorf("one: %v", few)
	}
	if none := analysis.Suggest(slices.Values([]string(nil)), "", nil, 10); len(none) != 0 {
		t.Errorf("of nothing: %v", none)
	}
}
