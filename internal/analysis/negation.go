package analysis

// reach is how many words a negation may lie before what it turns; behind is how many after a verb.
const (
	reach  = 6
	behind = 4
)

// turnAndGrade applies what stands around a judgement: negations turn it, degrees strengthen or weaken it.
func (r *reader) turnAndGrade(i int) {
	f := &r.findings[i]
	if f.symbol {
		return
	}
	turns := 0
	if !f.closed {
		turns = r.negations(i)
	}
	if turns%2 == 1 {
		f.value = f.negated
	}
	percent := 100
	for j := i - 1; j >= 0 && r.findings[j].role == degree && r.findings[j+1].from == r.findings[j].to; j-- {
		percent = percent * r.findings[j].weight / 100
	}
	if percent < 100 && f.value < 0 {
		percent = (percent + 3*100) / 4 // people who complain "a bit" complain
	}
	if turns > 0 {
		percent = min(percent, 100) // "not very good" is no worse than "not good"
	}
	if r.tokens[f.from].is(shouted) {
		percent += 20
	}
	if r.tokens[f.from].is(elongated) {
		percent += 15
	}
	if f.to == f.from+1 && r.tokens[f.from].is(most) {
		percent += 30
	}
	f.value = f.value * min(percent, 200) / 100
}

// denial counts negations. Several of them may be one: "no ... ningún", "non ... mai".
type denial struct{ core, lone, echoes int }

func (d *denial) count(n *finding) {
	switch {
	case n.lone:
		d.lone++
		d.echoes = 0 // "sin ningún" is one
	case n.role == negation:
		d.core++
	default:
		d.echoes++
	}
	n.spent = true
}

func (d *denial) turns() int {
	if d.core == 0 && d.echoes > 0 {
		return 1 + d.lone
	}
	return d.core + d.lone
}

// negations counts what turns a finding: before it, up to a pause or another judgement, and after it if it is a verb.
func (r *reader) negations(i int) int {
	var d denial
	r.before(i, &d)
	if r.findings[i].verb || d == (denial{}) && r.led(i) {
		r.after(i, &d)
	}
	return d.turns()
}

// led reports whether what announces a negation stands right before a finding, which must be a verb then: "ne correspond pas".
func (r *reader) led(i int) bool {
	return i > 0 && r.findings[i-1].role == lead && r.findings[i].from-r.findings[i-1].to <= 2
}

func (r *reader) before(i int, d *denial) {
	f := &r.findings[i]
	joined, at := false, f.from
	for j := i - 1; j >= 0; j-- {
		n := &r.findings[j]
		if at-n.to > reach || f.from-n.to > 4*reach {
			return
		}
		switch n.role {
		case negation, echo:
			d.count(n)
			at = n.from
		case joint:
			joined = true
		case pause, contrast, concession:
			return
		case judgement, solved:
			// What weighs nothing by itself shares its negation with its neighbour only: "does not work well".
			shares := n.role == judgement && n.weight == 0 && at-n.to <= 1
			if !shares && !joined {
				return
			}
			joined = false
		default:
		}
	}
}

func (r *reader) after(i int, d *denial) {
	f := &r.findings[i]
	for j := i + 1; j < len(r.findings) && r.findings[j].from-f.to <= behind; j++ {
		switch n := &r.findings[j]; n.role {
		case negation, echo:
			if n.verb {
				d.count(n)
			}
		case pause, contrast, concession:
			return
		default:
		}
	}
}

// unspent lets a negation that turned nothing count a little: people deny what they miss.
func (r *reader) unspent() {
	left := 2
	for i := range r.findings {
		f := &r.findings[i]
		if (f.role == negation || f.role == echo) && !f.spent && f.value == 0 && left > 0 {
			f.value = -50
			left--
		}
	}
}
