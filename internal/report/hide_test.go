package report_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"earshot/internal/report"
)

// seen is all that a reader gets of some groups: the total, which groups are empty, which are hidden, and the others' numbers. Of a
// component that is not shown at all it is the total.
func seen(groups []int64, least int64) (text string, hidden []bool) {
	var total int64
	sizes := make([]report.Size, len(groups))
	for i, n := range groups {
		total += n
		sizes[i] = report.NewSize(n, 1, false)
	}
	hidden, whole := report.Hide(sizes, least)
	if whole {
		for i := range hidden {
			hidden[i] = true
		}
		return fmt.Sprint("total ", total), hidden
	}
	text = fmt.Sprint("total ", total, ":")
	for i, n := range groups {
		if hidden[i] {
			text += " ?"
		} else {
			text += fmt.Sprint(" ", n)
		}
	}
	return text, hidden
}

// Whoever knows the rule, the total, which groups are hidden and every number that is shown, can tell the number of no hidden group:
// for each there are at least two that lead to the same page. Every combination of up to five groups is tried.
func TestHiddenGroupsCannotBeTold(t *testing.T) {
	t.Parallel()
	for least := int64(3); least <= 6; least++ {
		for groups := 1; groups <= 5; groups++ {
			most := 2*least + 1
			if groups == 5 {
				most = least + 2
			}
			t.Run(fmt.Sprintf("%d groups, at least %d", groups, least), func(t *testing.T) {
				t.Parallel()
				possible := map[string][]map[int64]bool{}
				first := map[string][]int64{}
				each(groups, most, func(counts []int64) {
					text, hidden := seen(counts, least)
					if possible[text] == nil {
						possible[text], first[text] = make([]map[int64]bool, groups), slices.Clone(counts)
					}
					for i, n := range counts {
						if !hidden[i] {
							if n > 0 && n < least {
								t.Fatalf("%v: %d is shown", counts, n)
							}
							continue
						}
						if possible[text][i] == nil {
							possible[text][i] = map[int64]bool{}
						}
						possible[text][i][n] = true
					}
				})
				checkAmbiguous(t, possible, first, least, most)
			})
		}
	}
}

func checkAmbiguous(t *testing.T, possible map[string][]map[int64]bool, first map[string][]int64, least, most int64) {
	t.Helper()
	hidden := 0
	for text, groups := range possible {
		var total int64
		for _, n := range first[text] {
			total += n
		}
		if total < least { // such a page is not shown at all
			continue
		}
		for i, numbers := range groups {
			if numbers == nil {
				continue
			}
			hidden++
			// Near the largest number tried, other possibilities lie outside.
			if len(numbers) < 2 && !slices.ContainsFunc(first[text], func(n int64) bool { return n >= most-1 }) {
				t.Errorf("%s: group %d can only be %v, as in %v", text, i, numbers, first[text])
			}
		}
	}
	if hidden == 0 && len(possible) > 100 {
		t.Error("nothing was ever hidden")
	}
}

// each calls do with every list of numbers from 0 to most.
func each(length int, most int64, do func([]int64)) {
	counts := make([]int64, length)
	for {
		do(counts)
		i := 0
		for ; i < length && counts[i] == most; i++ {
			counts[i] = 0
		}
		if i == length {
			return
		}
		counts[i]++
	}
}

// However many groups there are, and whatever is shown together anyway: no small number is shown, what is hidden is several groups
// with enough feedback, and no more than needed is hidden.
func TestHideRandomGroups(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100_000 {
		least := int64(r.IntN(20))
		sizes := make([]report.Size, r.IntN(12))
		var total, smallest, groups int64
		for i := range sizes {
			n := int64(r.IntN(int(3*least) + 3))
			sizes[i] = report.NewSize(n, 1, false)
			total += n
		}
		if r.IntN(2) == 0 {
			parts := int64(1 + r.IntN(3))
			n := parts + int64(r.IntN(int(3*least)+3))
			sizes = append(sizes, report.NewSize(n, parts, true))
			total += n
		}
		hidden, whole := report.Hide(sizes, least)
		var n int64
		var small bool
		for i, s := range sizes {
			small = small || s.N() > 0 && s.N() < least
			switch {
			case !hidden[i] && s.N() > 0:
				if s.N() < least || s.Rest() {
					t.Fatalf("seed %d: %v of %v, at least %d: a group is shown", seed, hidden, sizes, least)
				}
				if smallest == 0 || s.N() < smallest {
					smallest = s.N()
				}
			case hidden[i]:
				n, groups = n+s.N(), groups+s.Parts()
			}
		}
		if !small && !slices.ContainsFunc(sizes, func(s report.Size) bool { return s.Rest() }) && (n > 0 || whole) {
			t.Fatalf("seed %d: %v of %v, at least %d: nothing had to be hidden", seed, hidden, sizes, least)
		}
		if !whole && n > 0 && (n < least || groups < 2 && n < least || small && groups < 2) {
			t.Fatalf("seed %d: %v of %v, at least %d: what is hidden can be told", seed, hidden, sizes, least)
		}
		if whole && total == 0 {
			t.Fatalf("seed %d: nothing is hidden of nothing", seed)
		}
	}
}
