package analysis_test

import (
	"testing"

	"earshot/internal/analysis"
)

// The language is told from small words and letters, also where accents are missing; what is none of ours is nobody's.
func TestDetect(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text     string
		fallback analysis.Language
		want     analysis.Language
	}{
		"English":                           {"The parcel has not arrived and nobody answers my mails.", "", "en"},
		"French":                            {"Le colis n'est pas arrivé et personne ne répond à mes messages.", "", "fr"},
		"German":                            {"Das Paket ist nicht angekommen und niemand antwortet auf meine Mails.", "", "de"},
		"Spanish":                           {"El paquete no ha llegado y nadie contesta a mis mensajes.", "", "es"},
		"Italian":                           {"Il pacco non è arrivato e nessuno risponde ai miei messaggi.", "", "it"},
		"French without accents":            {"tres decu de la livraison, le colis etait ouvert", "", "fr"},
		"German without umlauts":            {"fuer den preis koennte es besser sein", "", "de"},
		"Spanish without accents":           {"muy mala atencion, nunca mas vuelvo a ese sitio", "", "es"},
		"capitals":                          {"ICH BIN SEHR ZUFRIEDEN", "", "de"},
		"a word that judges":                {"Enttäuschend", "", "de"},
		"two words that judge":              {"prezzi esagerati", "", "it"},
		"the text over the fallback":        {"Ich bin mit der Beratung sehr zufrieden.", "fr", "de"},
		"the fallback for what says little": {"Super!", "fr", "fr"},
		"a number with a fallback":          {"10", "es", "es"},
		"a number":                          {"10", "", ""},
		"nothing":                           {"", "", ""},
		"Portuguese":                        {"Não gostei do atendimento, vocês são muito lentos e a comida estava fria.", "", ""},
		"Dutch":                             {"Het pakket is niet aangekomen en niemand geeft antwoord op mijn vragen.", "", ""},
		"Polish":                            {"Paczka nie dotarła i nikt nie odpowiada na moje wiadomości.", "", ""},
		"Swedish":                           {"Paketet har inte kommit och ingen svarar på mina frågor.", "", ""},
		"Turkish":                           {"Kargo hâlâ gelmedi ve kimse cevap vermiyor, çok kötü bir hizmet.", "", ""},
		"Russian":                           {"Посылка не пришла, и никто не отвечает.", "", ""},
		"Japanese":                          {"荷物が届きません。", "", ""},
		"an unknown fallback":               {"10", "xx", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := analysis.Detect(c.text, c.fallback); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Without a language Read finds it, and an unknown one counts as none.
func TestReadFindsTheLanguage(t *testing.T) {
	t.Parallel()
	for lang, text := range answers {
		if got := read(t, text, "").Language; got != lang {
			t.Errorf("%s was read as %q", lang, got)
		}
		if got := read(t, text, "pt").Language; got != lang {
			t.Errorf("%s, called pt, was read as %q", lang, got)
		}
	}
}

// A number by itself is an answer to some other question than how it was: it counts neither for nor against.
func TestNumbersAloneSayNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"9", "12345", "-3.5", "12 34", "...", "?!", "(7)"} {
		if res := read(t, text, ""); res.Measured || len(res.Spans) > 0 {
			t.Errorf("%q: %+v", text, res)
		}
	}
	for _, text := range []string{"9/10", "5/10", "7 stars", "9 👍", ":("} {
		if res := read(t, text, "en"); !res.Measured {
			t.Errorf("%q: nothing was read", text)
		}
	}
}

// What is in no language of ours is neutral, except for signs that everybody reads.
func TestOtherLanguagesAreNeutral(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"料理はひどかった。二度と行きません。":                         "neutral",
		"Não gostei do atendimento, foi muito ruim.": "neutral",
		"料理 😡😡":      "negative",
		"最高 10/10":   "positive",
		"Очень 👍 ❤️": "positive",
	}
	for text, want := range cases {
		res := read(t, text, "")
		if res.Language != "" || !res.Measured || analysis.Label(res.Score) != want {
			t.Errorf("%q: %q, %d, want %s", text, res.Language, res.Score, want)
		}
	}
}
