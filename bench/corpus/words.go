package corpus

import (
	"math/rand/v2"
	"strings"
)

// The words that are searched for. Texts have them by design, and fragments never.
const (
	CommonWord = "delivery"     // in 30 % of the texts
	RareWord   = "refrigerator" // in a few, see rareEvery
)

// fragments is how many pieces texts are put together from, three to a text; a power of two.
const fragments = 4096

// vocabulary is roughly ordered by how often a word is used.
var vocabulary = strings.Fields(`
the and was to a i very it of in for my with not is on that they but have at so had service me you good great be this
were as time order staff all product we when would from are always helpful friendly quality after again there get no
really easy never price day which been quick team will only one more than just got store website could call customer
up by out two their back what some money well still experience because phone too first even need also late work people
long days made how told email nothing better new who excellent please week support arrived everything fast about bought
an over going problem poor thank wait waiting any without little another asked before now recommend then happy best
shop minutes help slow much bad same card answer refund account used years other received package polite its cheap old
box broken second nice being found worth should return clear parking issue simple went did paid item until lovely full
clean warm cold expensive window manager payment house wrong small order checkout instructions app value away through
twice several reply perfect missing while hour room morning both quite kitchen colour size tried different agent online
open kind garden person line rude packaging professional evening explained contract installed invoice branch courier
damaged queue reliable efficient password unable surprised disappointed satisfied updated technician appointment welcome
knowledge information communication confirmation replacement immediately cancelled subscription unfortunately guarantee
patient careful solved ordered available discount voucher brilliant terrible charming noisy comfortable attentive prompt
sorted labelled leaking heating battery screen cable engine filter handle bottle printer carpet mirror blanket pillow
bicycle jacket trousers saucepan cupboard wardrobe mattress lantern hammer drill ladder varnish plaster curtain doorbell
`)

// sentences returns fragments of about six words each. They are the same every time.
func sentences() []string {
	r := rand.New(rand.NewPCG(20, 26))
	zipf := rand.NewZipf(r, 1.1, 8, uint64(len(vocabulary)-1))
	out := make([]string, fragments)
	for i := range out {
		words := make([]string, 4+r.IntN(5))
		for j := range words {
			words[j] = vocabulary[zipf.Uint64()]
		}
		out[i] = strings.Join(words, " ")
	}
	return out
}
