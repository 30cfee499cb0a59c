package webui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"earshot/internal/report"
)

// tongue is how a reader is used to seeing words, numbers and dates.
type tongue struct {
	Tag     string // for the lang attribute
	decimal string
	group   string
	fewest  int    // digits from which a number is grouped
	percent string // between a number and its sign
	day     string // day, month, year
	month   string // month, year
	month3  string // the same, short
	day3    string // day and month, short
	quarter string // quarter, year
	months  [12]string
	short   [12]string
	phrases map[string]string // by what is said in English
}

const (
	space  = "\u00a0" // keeps what it joins on one line
	narrow = "\u202f"
	minus  = "\u2212"
)

var tongues = []*tongue{
	{
		Tag: "en", decimal: ".", group: ",", fewest: 4, percent: "",
		day: "%d %s %d", month: "%s %d", month3: "%s %d", day3: "%d %s", quarter: "Q%d %d",
		months: [12]string{
			"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
		},
		short: [12]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"},
	},
	{
		Tag: "fr", decimal: ",", group: narrow, fewest: 4, percent: narrow,
		day: "%d %s %d", month: "%s %d", month3: "%s %d", day3: "%d %s", quarter: "T%d %d",
		months: [12]string{
			"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre",
		},
		short:   [12]string{"janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."},
		phrases: french,
	},
	{
		Tag: "de", decimal: ",", group: ".", fewest: 4, percent: space,
		day: "%d. %s %d", month: "%s %d", month3: "%s %d", day3: "%d. %s", quarter: "Q%d %d",
		months: [12]string{
			"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember",
		},
		short:   [12]string{"Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."},
		phrases: german,
	},
	{
		Tag: "es", decimal: ",", group: ".", fewest: 5, percent: space,
		day: "%d de %s de %d", month: "%s de %d", month3: "%s %d", day3: "%d %s", quarter: "T%d %d",
		months: [12]string{
			"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre",
		},
		short:   [12]string{"ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"},
		phrases: spanish,
	},
	{
		Tag: "it", decimal: ",", group: ".", fewest: 4, percent: "",
		day: "%d %s %d", month: "%s %d", month3: "%s %d", day3: "%d %s", quarter: "T%d %d",
		months: [12]string{
			"gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre",
		},
		short:   [12]string{"gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"},
		phrases: italian,
	},
}

// tongueFor is the one that a reader likes best of those there are, and English where there is none.
func tongueFor(accept string) *tongue {
	best, liked := tongues[0], 0.0
	for i, part := range strings.Split(accept, ",") {
		if i == 20 { // nobody speaks more
			break
		}
		name, rest, _ := strings.Cut(strings.TrimSpace(part), ";")
		q := 1.0
		if text, ok := strings.CutPrefix(strings.TrimSpace(rest), "q="); ok {
			var err error
			if q, err = strconv.ParseFloat(text, 64); err != nil || !(q >= 0 && q <= 1) {
				continue
			}
		}
		primary, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(name)), "-")
		for _, t := range tongues {
			if t.Tag == primary && q > liked {
				best, liked = t, q
			}
		}
	}
	return best
}

// Say says a phrase; one that it does not know, in English.
func (t *tongue) Say(phrase string, args ...any) string {
	if own, ok := t.phrases[phrase]; ok {
		phrase = own
	}
	if len(args) == 0 {
		return phrase
	}
	return fmt.Sprintf(phrase, args...)
}

// number writes a number with some decimals, halves away from zero as figures are rounded.
func (t *tongue) number(v float64, decimals int) string {
	scale := math.Pow10(decimals)
	text := strconv.FormatFloat(math.Round(math.Abs(v)*scale)/scale, 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	if len(whole) >= t.fewest {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + t.group + whole[i:]
		}
	}
	if fraction != "" {
		whole += t.decimal + fraction
	}
	if v < 0 && strings.Trim(text, "0.") != "" {
		whole = minus + whole
	}
	return whole
}

func (t *tongue) count(n int64) string { return t.number(float64(n), 0) }

func (t *tongue) percentage(v float64, decimals int) string {
	return t.number(v, decimals) + t.percent + "%"
}

// share is a part of a whole in percent; of nothing it is nothing.
func (t *tongue) share(n, of int64) string {
	if of == 0 {
		return ""
	}
	return t.percentage(100*float64(n)/float64(of), 1)
}

// value writes what was measured in its unit; what was counted has no decimals.
func (t *tongue) value(m report.Metric, v float64, decimals int) string {
	switch m {
	case report.Satisfaction, report.Completion, report.Sentiment:
		return t.percentage(v, decimals)
	case report.NPS:
		text := t.number(v, decimals)
		if v > 0 && strings.Trim(text, "0.,") != "" {
			text = "+" + text
		}
		return text
	default:
		return t.number(v, 0)
	}
}

func (t *tongue) date(d time.Time) string {
	return fmt.Sprintf(t.day, d.Day(), t.months[d.Month()-1], d.Year())
}

func (t *tongue) moment(at time.Time, zone *time.Location) string {
	at = at.In(zone)
	return t.date(at) + ", " + at.Format("15:04 MST")
}

// step names a step of a trend, short where it stands on an axis.
func (t *tongue) step(interval string, from, to time.Time, short bool) string {
	switch interval {
	case "day", "week":
		switch {
		case short:
			return fmt.Sprintf(t.day3, from.Day(), t.short[from.Month()-1])
		case interval == "week":
			return t.Say("Week of %s", t.date(from))
		}
		return t.date(from)
	case "month":
		if short {
			return fmt.Sprintf(t.month3, t.short[from.Month()-1], from.Year())
		}
		return fmt.Sprintf(t.month, t.months[from.Month()-1], from.Year())
	case "quarter":
		return fmt.Sprintf(t.quarter, (int(from.Month())+2)/3, from.Year())
	case "year":
		return strconv.Itoa(from.Year())
	}
	return strconv.Itoa(from.Year()) + "–" + strconv.Itoa(to.Year())
}
