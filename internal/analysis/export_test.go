package analysis

// Plain scores a text by adding up the weights of the words that it knows, and of phrases too if told so, and does nothing
// else: what the rules are measured against.
func Plain(text string, lang Language, phrases bool) int {
	r := readers.Get().(*reader)
	defer r.release()
	r.scan(text)
	r.fold(lang)
	v := vocabularies()[lang]
	r.known = v.look(r.tokens, r.known)
	sum := 0
	for i := 0; i < len(r.tokens); {
		limit := i + 1
		if phrases {
			limit = len(r.tokens)
		}
		e, end := r.longest(v, i, limit)
		if e == nil {
			i++
			continue
		}
		switch e.role {
		case judgement, measure, solved:
			sum += e.weight
		case degree:
			sum += e.alone
		default:
		}
		i = end
	}
	return score(sum)
}
