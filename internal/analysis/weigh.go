package analysis

// clause is what lies between two pauses.
type clause struct {
	good, set, bad, firm     int // set phrases of praise are meant in a wish, too
	named                    int // of good, what only names a quality
	wished, former, conceded bool
	mended                   bool // a fault in it is over
}

func (c *clause) add(f *finding) {
	switch {
	case f.firm:
		c.firm += f.value
	case f.value >= 300 && f.to > f.from+1:
		c.set += f.value
	case f.value > 0:
		c.good += f.value
		if f.named {
			c.named += f.value
		}
	default:
		c.bad += f.value
	}
}

// value is what a clause comes to.
func (c *clause) value() int {
	good, bad := c.good, c.bad
	if c.mended {
		bad = 0
	}
	if bad < 0 {
		good -= c.named
	}
	if c.wished {
		good = good * 30 / 100
	}
	good += c.set
	if c.former && good+bad > 0 {
		good, bad = 0, -good-bad // it was good once: now it is not
	}
	if c.conceded {
		good, bad = good/3, bad/3
	}
	return good + bad
}

// sum adds the clauses up. What stands before "but" counts half, what follows more; what a repair has ended no longer counts.
func (r *reader) sum() (firm, loose int) {
	var c, last clause
	before, part, contrasted := 0, 0, false
	closeClause := func() {
		part += last.value()
		firm += last.firm
		last, c = c, clause{}
	}
	for i := range r.findings {
		f := &r.findings[i]
		switch f.role {
		case pause:
			if f.to == f.from+1 && r.tokens[f.from].kind == mark {
				closeClause()
			}
		case contrast:
			closeClause()
			closeClause()
			before, part = before+part, 0
			contrasted = true
			c.add(f)
		case concession:
			if f.near {
				r.lessen(i)
				break
			}
			if c.good+c.set != 0 || c.bad != 0 {
				closeClause()
			}
			c.conceded = true
		case wish:
			c.wished = true
			c.add(f)
		case formerly:
			c.former = c.former || !r.compared(f.from)
		case solved:
			if f.value > 0 {
				c.mended, last.bad = true, 0
			}
			c.add(f)
		default:
			c.add(f)
		}
	}
	closeClause()
	closeClause()
	if !contrasted {
		return firm, part
	}
	// The more the two sides differ, the more the second is meant.
	if before > 0 != (part > 0) && max(part, -part) >= 150 {
		before /= 2
	}
	return firm, before/2 + part*3/2
}

// lessen takes weight off the few words that "despite" governs where no comma ends them.
func (r *reader) lessen(i int) {
	for j := i + 1; j < len(r.findings) && r.findings[j].role != pause && r.findings[j].from-r.findings[i].to < behind; j++ {
		r.findings[j].value /= 3
	}
}

// compared reports whether a token follows "than": what is spoken of is then measured against it.
func (r *reader) compared(i int) bool {
	if i == 0 {
		return false
	}
	switch r.tokens[i-1].text {
	case "than", "que", "als", "wie", "di", "del", "della", "dell", "che", "to", "zur", "zu":
		return true
	}
	return false
}

// spread is how quickly scores leave the middle. One word of weight 2 just makes a sentence positive or negative; a hint of
// weight 1 does not, two of them do.
const spread = 420_000

// score maps a weight to 0 to 100.
func score(weight int) int {
	x := min(max(weight, -3000), 3000)
	root := squareRoot((x*x + spread) * 10_000)
	n := 2 * 5000 * x
	if n < 0 {
		return Neutral - (-n+root)/(2*root)
	}
	return Neutral + (n+root)/(2*root)
}

// squareRoot is the largest whole number whose square is not above n.
func squareRoot(n int) int {
	if n < 2 {
		return n
	}
	x := n
	for y := (x + 1) / 2; y < x; y = (x + n/x) / 2 {
		x = y
	}
	return x
}

// lean moves sentences without a judgement of their own towards the one before them, or else after them, that has one: they
// speak of the same. They stay neutral themselves, but do not hold the whole text back.
func (r *reader) lean(sentences []sentence) {
	own := 0
	for i := range sentences {
		if r.scores[i] != Neutral {
			own++
		}
	}
	if own == 0 || own == len(sentences) {
		return
	}
	towards := func(score int) int {
		switch Label(score) {
		case "negative":
			return 42
		case "positive":
			return 59
		}
		return Neutral
	}
	before, owned := Neutral, r.owned[:0]
	for i := range sentences {
		owned = append(owned, r.scores[i] != Neutral)
		if owned[i] {
			before = r.scores[i]
		} else if !r.asks(sentences[i]) {
			r.scores[i] = towards(before)
		}
	}
	after := Neutral
	for i := len(sentences) - 1; i >= 0; i-- {
		if owned[i] {
			after = r.scores[i]
		} else if r.scores[i] == Neutral && !r.asks(sentences[i]) {
			r.scores[i] = towards(after)
		}
	}
	r.owned = owned
}
