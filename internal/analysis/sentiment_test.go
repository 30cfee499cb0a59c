package analysis_test

import (
	"strings"
	"testing"

	"earshot/internal/analysis"
)

// The rules, each in every language that has it.
func TestRules(t *testing.T) {
	t.Parallel()
	rules := map[string]map[analysis.Language][2]string{ // the label and a text that has it
		"praise": {
			"en": {"positive", "The staff were friendly."}, "fr": {"positive", "Le personnel était aimable."}, "de": {"positive", "Das Personal war freundlich."},
			"es": {"positive", "El personal fue amable."}, "it": {"positive", "Il personale era gentile."},
		},
		"blame": {
			"en": {"negative", "The staff were rude."}, "fr": {"negative", "Le personnel était impoli."}, "de": {"negative", "Das Personal war unhöflich."},
			"es": {"negative", "El personal fue maleducado."}, "it": {"negative", "Il personale era maleducato."},
		},
		"praise denied": {
			"en": {"negative", "The staff were not friendly."}, "fr": {"negative", "Le personnel n'était pas aimable."}, "de": {"negative", "Das Personal war nicht freundlich."},
			"es": {"negative", "El personal no fue amable."}, "it": {"negative", "Il personale non era gentile."},
		},
		"blame denied": {
			"en": {"positive", "We had no problems at all."}, "fr": {"positive", "Nous n'avons eu aucun problème."}, "de": {"positive", "Wir hatten keine Probleme."},
			"es": {"positive", "No hemos tenido ningún problema."}, "it": {"positive", "Non abbiamo avuto nessun problema."},
		},
		"a verb between the two words of a denial": {
			"fr": {"negative", "Le colis ne correspond pas à la commande."},
		},
		"a word that only looks like a denial": {
			"fr": {"positive", "Le livreur est passé à l'heure."},
		},
		"praise understated": {
			"fr": {"positive", "Rien à redire."}, "de": {"positive", "Da gibt es nichts zu meckern."},
		},
		"blame understated": {
			"fr": {"negative", "La propreté laisse à désirer."}, "de": {"negative", "Die Sauberkeit lässt zu wünschen übrig."},
		},
		"a verb in two parts": {
			"de": {"negative", "Die Anwendung stürzt bei jedem Start ab."},
		},
		"a denial behind the verb": {
			"fr": {"negative", "Le chauffage marche pas."}, "de": {"negative", "Die Heizung funktioniert seit gestern nicht."},
		},
		"what should work and does not": {
			"en": {"negative", "The heating does not work."}, "fr": {"negative", "Le chauffage ne fonctionne plus."}, "de": {"negative", "Die Ware wurde nicht geliefert."},
			"es": {"negative", "La calefacción no funciona."}, "it": {"negative", "Il riscaldamento non funziona."},
		},
		"a denial denied": {
			"en": {"positive", "Never without a smile."}, "fr": {"positive", "Jamais un jour sans un sourire."}, "de": {"positive", "Kein Besuch ohne ein Lächeln."},
			"es": {"positive", "Nunca me voy sin una sonrisa."}, "it": {"positive", "Non passa giorno senza un sorriso."},
		},
		"what follows but": {
			"en": {"negative", "Nice rooms, but the breakfast was awful."}, "fr": {"negative", "Belles chambres, mais le petit-déjeuner était infect."},
			"de": {"negative", "Schöne Zimmer, aber das Frühstück war schlecht."}, "es": {"negative", "Habitaciones bonitas, pero el desayuno era malo."},
			"it": {"negative", "Belle camere, ma la colazione era pessima."},
		},
		"what follows although": {
			"en": {"positive", "Although it was noisy, we had a wonderful stay."}, "fr": {"positive", "Bien que ce soit bruyant, le séjour était merveilleux."},
			"de": {"positive", "Obwohl es laut war, hatten wir einen wunderbaren Aufenthalt."}, "es": {"positive", "Aunque era ruidoso, la estancia fue maravillosa."},
			"it": {"positive", "Anche se era rumoroso, il soggiorno è stato meraviglioso."},
		},
		"too much of anything": {
			"en": {"negative", "The course was too theoretical."}, "fr": {"negative", "Le cours était trop théorique."}, "de": {"negative", "Der Kurs war viel zu theoretisch."},
			"es": {"negative", "El curso fue demasiado teórico."}, "it": {"negative", "Il corso era troppo teorico."},
		},
		"a real question": {
			"en": {"neutral", "Is there a good car park nearby?"}, "fr": {"neutral", "Y a-t-il un bon parking à côté ?"}, "de": {"neutral", "Gibt es in der Nähe einen guten Parkplatz?"},
			"es": {"neutral", "¿Hay un buen aparcamiento cerca?"}, "it": {"neutral", "C'è un buon parcheggio vicino?"},
		},
		"a rhetorical question": {
			"en": {"negative", "Are you serious?"}, "fr": {"negative", "De qui se moque-t-on ?"}, "de": {"negative", "Ist das euer Ernst?"}, "es": {"negative", "¿Hasta cuándo?"}, "it": {"negative", "Ma scherziamo?"},
		},
		"a wish": {
			"en": {"neutral", "It would be nice to have a lift."}, "fr": {"neutral", "Ce serait bien d'avoir un ascenseur."}, "de": {"neutral", "Ein Aufzug wäre schön."},
			"es": {"neutral", "Estaría bien tener ascensor."}, "it": {"neutral", "Sarebbe bello avere un ascensore."},
		},
		"better times": {
			"en": {"negative", "It used to be great."}, "fr": {"negative", "Autrefois c'était excellent."}, "de": {"negative", "Früher war es hier gemütlich."},
			"es": {"negative", "Antes era estupendo."}, "it": {"negative", "Una volta era ottimo, non è più quello."},
		},
		"a fault that is over": {
			"en": {"positive", "The broken tap was repaired."}, "fr": {"positive", "La panne a été réparée."}, "de": {"positive", "Der Defekt wurde sofort behoben."},
			"es": {"positive", "Solucionaron la avería."}, "it": {"positive", "Hanno risolto il guasto."},
		},
		"praise that is none": {
			"en": {"negative", "Great, another delay."}, "fr": {"negative", "Bravo, encore un retard."}, "de": {"negative", "Na toll, schon wieder verspätet."},
			"es": {"negative", "Genial, otra avería."}, "it": {"negative", "Fantastico, un altro ritardo."},
		},
		"a fact": {
			"en": {"neutral", "We stayed for three nights in May."}, "fr": {"neutral", "Nous sommes restés trois nuits en mai."}, "de": {"neutral", "Wir waren drei Nächte im Mai da."},
			"es": {"neutral", "Estuvimos tres noches en mayo."}, "it": {"neutral", "Siamo rimasti tre notti a maggio."},
		},
		"no opinion": {
			"en": {"neutral", "No comment"}, "fr": {"neutral", "Sans opinion"}, "de": {"neutral", "Keine Angabe"}, "es": {"neutral", "Sin comentarios"}, "it": {"neutral", "Nessun commento"},
		},
		"a greeting": {
			"en": {"neutral", "Kind regards, J. Moss"}, "fr": {"neutral", "Cordialement, J. Moss"}, "de": {"neutral", "Mit freundlichen Grüßen, J. Moss"}, "es": {"neutral", "Un cordial saludo, J. Moss"}, "it": {"neutral", "Cordiali saluti, J. Moss"},
		},
		"a denying prefix that no list has": {
			"en": {"negative", "A frankly unmemorable evening."}, "de": {"negative", "Ein ganz unzweckmäßiger Aufbau."},
		},
	}
	for rule, texts := range rules {
		for lang, c := range texts {
			t.Run(rule+"/"+string(lang), func(t *testing.T) {
				t.Parallel()
				res := read(t, c[1], lang)
				if got := analysis.Label(res.Score); got != c[0] {
					t.Errorf("%q is %s (%d), want %s", c[1], got, res.Score, c[0])
				}
			})
		}
	}
}

// What moves a score without turning it: each text says more than the one before.
func TestDegrees(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		lang  analysis.Language
		texts []string
	}{
		"English praise":    {"en", []string{"fairly good", "good", "very good", "extremely good"}},
		"English blame":     {"en", []string{"extremely slow", "very slow", "slow"}},
		"French":            {"fr", []string{"assez bon", "bon", "très bon", "extrêmement bon"}},
		"German":            {"de", []string{"halbwegs freundlich", "freundlich", "sehr freundlich", "äußerst freundlich"}},
		"Spanish":           {"es", []string{"algo amable", "amable", "muy amable", "extremadamente amable"}},
		"Italian":           {"it", []string{"abbastanza gentile", "gentile", "molto gentile", "estremamente gentile"}},
		"superlatives":      {"it", []string{"caro", "buono", "buonissimo"}},
		"exclamation marks": {"en", []string{"Nice.", "Nice!", "Nice!!!"}},
		"capitals":          {"en", []string{"TERRIBLE food", "terrible food", "food"}},
		"lengthened":        {"en", []string{"baaaaad", "bad", "good", "goooood"}},
		"emoji":             {"en", []string{"fish 🤬", "fish 🙁", "fish", "fish 🙂", "fish 😍"}},
		"emoticons":         {"en", []string{"fish :-(", "fish", "fish :)"}},
		"ratings":           {"en", []string{"0/10", "4/10", "5/10", "8/10", "10/10"}},
		"stars":             {"en", []string{"1 star", "fish", "5 stars"}},
		"rows of stars":     {"fr", []string{"⭐⭐", "⭐⭐⭐", "⭐⭐⭐⭐⭐"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := -1
			for _, text := range c.texts {
				got := read(t, text, c.lang).Score
				if got <= last {
					t.Errorf("%q has %d, the one before %d", text, got, last)
				}
				last = got
			}
		})
	}
}

// Everyday words have their sign in every form they take. Lists are long, and a stem that two words share loses one of them.
func TestEverydayWords(t *testing.T) {
	t.Parallel()
	words := map[analysis.Language][2]string{
		"en": {
			"good better best nice great excellent perfect brilliant happy satisfied fast quick efficient pleasant friendly kind clean delicious tasty practical easy simple useful helpful professional competent welcoming thanks wonderful lovely amazing delighted punctual comfortable fantastic awesome reliable polite clear fresh recommend love loved beautiful superb impressed smooth super enjoyed appreciate improved praised",
			"bad worse worst terrible horrible awful slow expensive dirty broken disappointed disappointing rude unfriendly incompetent unacceptable shameful scam noisy late delay delayed complicated useless mediocre unbearable annoying aggressive faulty disaster rubbish boring poor wrong overpriced unreliable crash crashes confusing dreadful filthy uncomfortable ridiculous pathetic lousy hate hated frustrating ignored lied leaked cracked ruined wasted rejected",
		},
		"fr": {
			"bon bonne bons bonnes beau belle beaux belles bien excellent excellente excellents parfait parfaite parfaits super génial géniale content contente satisfait satisfaite satisfaits rapide rapides efficace efficaces agréable agréables sympa sympas gentil gentille gentils propre propres délicieux délicieuse pratique pratiques facile faciles utile utiles professionnel professionnelle professionnels compétent compétente compétents chaleureux chaleureuse accueillant accueillante souriant souriante merci magnifique impeccable ravi ravie top adorable adorables clair claire clairs fiable fiables ponctuel ponctuelle confortable joli jolie copieux fraîche meilleur meilleure formidable adoré aimé apprécié",
			"mauvais mauvaise mauvaises nul nulle nuls lent lente lents cher chère chers sale sales cassé cassée cassés déçu déçue déçus décevant décevante horrible horribles impoli impolie désagréable désagréables incompétent incompétente incompétents inadmissible scandaleux scandaleuse arnaque bruyant bruyante retard retards panne pannes compliqué compliquée compliqués inutile inutiles médiocre médiocres insupportable catastrophique honteux honteuse dommage énervant énervante agressif agressive défectueux défectueuse malpoli malpolie pire ridicule minable menti gâché raté bâclé",
		},
		"de": {
			"gut gute guten guter gutes gutem besser beste besten schön schöne schöner schönes schönen toll tolle toller tolles tollen super prima nett nette netter nettes freundlich freundliche freundlicher freundlichen hervorragend hervorragende hervorragender ausgezeichnet ausgezeichnete perfekt perfekte perfekter wunderbar wunderbare zufrieden zufriedene lecker leckere leckeres pünktlich pünktliche sauber saubere sauberes hilfsbereit hilfsbereite kompetent kompetente kompetenter schnell schnelle schneller angenehm angenehme bequem bequeme herzlich herzliche herzlicher ordentlich ordentliche spitze begeistert empfehlenswert danke dankbar großartig großartige liebevoll liebevolle zuverlässig zuverlässige fair faire praktisch praktische übersichtlich übersichtliche hilfreich hilfreiche höflich geduldig modern moderne gemütlich gemütliche ruhig frisch frische günstig günstige",
			"schlecht schlechte schlechter schlechtes schlechten mies miese furchtbar furchtbare furchtbarer schrecklich schreckliche schreckliches langsam langsame langsamer teuer teure teurer teures kaputt kaputte kaputter dreckig dreckige unfreundlich unfreundliche unfreundlicher unverschämt unverschämte enttäuscht enttäuschend enttäuschende nervig nervige unzufrieden ärgerlich ärgerliche chaotisch chaotische unhöflich unhöfliche arrogant arrogante inkompetent inkompetente defekt defekte beschädigt beschädigte falsch falsche falscher verspätet verspätete schmutzig schmutzige katastrophal katastrophale grauenhaft grauenhafte ekelhaft ekelhafte überteuert überteuerte lieblos lieblose unbequem unbequeme kompliziert komplizierte umständlich umständliche unzuverlässig unzuverlässige schade frech freche dreist dreiste billig billige gelogen betrogen verpasst",
		},
		"es": {
			"bueno buena buenos buen mejor bonito bonita excelente excelentes perfecto perfecta genial geniales contento contenta satisfecho satisfecha rápido rápida rápidos eficaz amable amables simpático simpática limpio limpia rico rica ricos delicioso deliciosa práctico práctica fácil fáciles útil útiles profesional profesionales competente cálido acogedor gracias magnífico maravilloso maravillosa encantado encantada puntual cómodo cómoda estupendo estupenda fantástico fantástica impecable recomendable atento atenta barato fiable serio bien gustó encantó recomiendo",
			"malo mala malos malas mal peor pésimo pésima lento lenta lentos caro caros caras sucio sucia sucios roto rota rotos decepcionado decepcionada decepcionante horrible antipático antipática maleducado maleducada incompetente vergonzoso vergonzosa estafa ruidoso ruidosa retraso retrasos avería complicado complicada inútil inútiles mediocre insoportable catastrófico molesto molesta agresivo defectuoso defectuosa grosero grosera desastre timo asqueroso asquerosa lamentable lamentables aburrido aburrida harto harta fatal engañaron empeoró",
		},
		"it": {
			"buono buona buoni buone buon migliore bello bella belli belle ottimo ottima ottimi eccellente perfetto perfetta geniale contento contenta soddisfatto soddisfatta veloce veloci rapido efficace gentile gentili simpatico simpatica pulito pulita delizioso squisito pratico facile facili utile utili professionale competente accogliente grazie magnifico meraviglioso meravigliosa entusiasta puntuale puntuali comodo comoda stupendo stupenda fantastico fantastica impeccabile cortese cortesi disponibile disponibili economico affidabile serio seria bravo brava bravi splendido bellissimo benissimo bene piaciuto consiglio",
			"cattivo cattiva cattivi pessimo pessima pessimi peggio lento lenta lenti caro cara sporco sporca sporchi rotto rotta rotti deluso delusa delusi deludente orribile antipatico maleducato maleducata maleducati incompetente vergognoso truffa rumoroso rumorosa ritardo ritardi guasto guasta complicato complicata inutile inutili mediocre insopportabile catastrofico scortese scortesi aggressivo difettoso difettosa disastro schifo schifoso noioso noiosa stufo stufa scadente scadenti male brutto brutta terribile assurdo rovinato truffati",
		},
	}
	for lang, lists := range words {
		for i, want := range []string{"positive", "negative"} {
			for _, w := range strings.Fields(lists[i]) {
				if got := read(t, w, lang).Score; analysis.Label(got) != want {
					t.Errorf("%s: %s is %d, want %s", lang, w, got, want)
				}
			}
		}
	}
}

// Words that name things and say nothing of them stay out of it.
func TestWordsThatJudgeNothing(t *testing.T) {
	t.Parallel()
	words := map[analysis.Language]string{
		"en": "account address afternoon bank bathroom branch bridge camera carpet contract daughter desk employee engine envelope flight garden glass hat hotel invoice jacket kitchen lamp letter milk month mother nurse office oven parcel passport platform printer question rain restaurant screen season shirt station street student ticket train umbrella version village water week window wine winter year",
		"fr": "adresse agence anniversaire avril banque bouton bureau café caisse cas chambre chemise coup cuisine devis dossier facture fille fils formulaire gare impression jardin lettre lundi maison marché mars matin médecin mois mur musique numéro papier pluie question rue salle semaine tasse téléphone train usine valise ville vol attention carte prix solde souris passé sèche-linge",
		"de": "Adresse Bahnhof Bank Brief Dame Fall Filiale Formular Garten Gericht Jahr Kaffee Kasse Küche Lehrer Mappe Monat Montag Mutter Nummer Papier Rechnung Regen Reise Schule Schwester Seite Straße Stuhl Tasse Termin Tochter Versicherung Wein Woche Zimmer schicken lesen schreiben offen geöffnet",
		"es": "agua banco billete calle camisa cara carta casa ciudad cocina cuenta dirección domingo enchufe factura habitación hermana hijo impresión jardín lluvia mano mañana mesa mes número oficina paquete pared plaza puerta ratón semana suelo teléfono tormenta tren ventana",
		"it": "albergo banca busta camera casa chiave cucina divano domenica fattura figlia finestra giardino impressione lettera marca mese modulo numero ordine pacco pianta piatto porta resto scarpa scuola sera serie settimana stazione strada tavolo telefono tenere treno ufficio viaggio zuppa leggere",
	}
	for lang, list := range words {
		for _, w := range strings.Fields(list) {
			if got := read(t, w, lang).Score; analysis.Label(got) != "neutral" {
				t.Errorf("%s: %s is %d", lang, w, got)
			}
		}
	}
}

// A sentence without a judgement leans towards its neighbours and stays neutral; a question does not.
func TestNeighboursLean(t *testing.T) {
	t.Parallel()
	res := read(t, "The wheel fell off after a week. I had ordered it in March. When is the shop open?", "en")
	var got []int
	for _, s := range res.Spans {
		got = append(got, s.Score)
	}
	if len(got) != 3 || got[0] > 40 || got[1] >= analysis.Neutral || analysis.Label(got[1]) != "neutral" || got[2] != analysis.Neutral {
		t.Errorf("got %v", got)
	}
}

// Labels begin and end where they are said to.
func TestLabel(t *testing.T) {
	t.Parallel()
	for score, want := range map[int]string{0: "negative", 40: "negative", 41: "neutral", 60: "neutral", 61: "positive", 100: "positive"} {
		if got := analysis.Label(score); got != want {
			t.Errorf("%d is %s, want %s", score, got, want)
		}
	}
}
