package demo_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/demo"
	"earshot/internal/feedback"
)

var (
	until  = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	owners = []account.UserID{11, 12, 13, 14, 15, 16, 17}
)

func records(seed uint64, until time.Time, count int) []feedback.New {
	return slices.Collect(demo.Records(demo.Options{Seed: seed, Until: until, Count: count, Owners: owners}))
}

func hash(t *testing.T, all []feedback.New) string {
	t.Helper()
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(all); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// The same seed, end and number give the same records to the letter; another of any of them gives others.
func TestRecordsAreDeterministic(t *testing.T) {
	t.Parallel()
	first := hash(t, records(1, until, 3000))
	for range 3 {
		if again := hash(t, records(1, until, 3000)); again != first {
			t.Fatalf("%s, then %s", first, again)
		}
	}
	for name, other := range map[string][]feedback.New{
		"seed": records(2, until, 3000), "end": records(1, until.AddDate(0, 0, 1), 3000), "number": records(1, until, 2999),
	} {
		if hash(t, other) == first {
			t.Errorf("another %s changes nothing", name)
		}
	}
	// The zone an end is given in is no difference.
	if hash(t, records(1, until.In(time.FixedZone("", 5*3600)), 3000)) != first {
		t.Error("another zone changes something")
	}
}

// There are as many as asked for, in the order of their times, within three years that end where they should, in the middle of a day too.
func TestRecordsFillTheirTime(t *testing.T) {
	t.Parallel()
	for _, end := range []time.Time{until, until.Add(7*time.Hour + 23*time.Minute), until.Add(time.Minute)} {
		for _, count := range []int{0, 1, 2, 7, 500, 5_000} {
			all := records(3, end, count)
			if len(all) != count {
				t.Errorf("%d records, want %d", len(all), count)
			}
			if !slices.IsSortedFunc(all, func(a, b feedback.New) int { return a.CreatedAt.Compare(*b.CreatedAt) }) {
				t.Errorf("%d records are not in order", count)
			}
			for _, r := range all {
				if r.CreatedAt.Before(end.AddDate(-3, 0, 0)) || !r.CreatedAt.Before(end) {
					t.Fatalf("a record of %v, until %v", r.CreatedAt, end)
				}
			}
			if count == 5_000 && all[count-1].CreatedAt.Before(end.Add(-48*time.Hour)) {
				t.Errorf("the last record is of %v", all[count-1].CreatedAt)
			}
		}
	}
	stopped := 0
	for range demo.Records(demo.Options{Seed: 1, Until: until, Count: 100}) {
		if stopped++; stopped == 5 {
			break
		}
	}
	if stopped != 5 {
		t.Errorf("stopped after %d", stopped)
	}
}

// Fingerprints and order numbers are never used twice; attributes are named once; whoever owns is one of those given.
func TestRecordsAreWellFormed(t *testing.T) {
	t.Parallel()
	fingerprints, orders := map[string]bool{}, map[string]bool{}
	questions := map[int64]carrier.NewQuestion{}
	for _, c := range demo.Carriers() {
		for _, q := range c.Questions {
			questions[q.ID] = q
		}
	}
	asked := map[carrier.Type]int{}
	for _, r := range records(1, until, 10_000) {
		if fingerprints[r.Fingerprint] {
			t.Fatalf("the fingerprint %s comes twice", r.Fingerprint)
		}
		fingerprints[r.Fingerprint] = true
		names := map[string]bool{}
		for _, a := range r.Attributes {
			if names[a.Name] || len(a.Values) == 0 {
				t.Fatalf("the attributes %v", r.Attributes)
			}
			names[a.Name] = true
			if a.Name == "order_number" {
				if orders[a.Values[0].Text] {
					t.Fatalf("the order %s comes twice", a.Values[0].Text)
				}
				orders[a.Values[0].Text] = true
			}
		}
		for _, owner := range r.Owners {
			if !slices.Contains(owners, owner) {
				t.Fatalf("the owners %v", r.Owners)
			}
		}
		for _, item := range r.Items {
			q, ok := questions[item.QuestionID]
			if !ok || item.Value == "" || (q.Type == carrier.RatingsTable) != (item.Option != "") {
				t.Fatalf("the answer %+v", item)
			}
			asked[q.Type]++
		}
	}
	for _, sort := range []carrier.Type{carrier.NPS, carrier.Rating, carrier.RatingsTable, carrier.Choice, carrier.Smiley, carrier.Text, carrier.Textarea} {
		if asked[sort] < 200 {
			t.Errorf("%d answers of type %s", asked[sort], sort)
		}
	}
	if n := len(orders); n < 2_000 || n > 6_000 {
		t.Errorf("%d order numbers", n)
	}
	// Without users nobody owns anything.
	for r := range demo.Records(demo.Options{Seed: 1, Until: until, Count: 2000}) {
		if r.Owners != nil {
			t.Fatalf("the owners %v", r.Owners)
		}
	}
}

// attribute is the first value of an attribute, or nothing.
func attribute(r feedback.New, name string) string {
	for _, a := range r.Attributes {
		if a.Name == name {
			return a.Values[0].Text
		}
	}
	return ""
}

// answer is the answer to a question, or nothing.
func answer(r feedback.New, question int64) string {
	for _, i := range r.Items {
		if i.QuestionID == question {
			return i.Value
		}
	}
	return ""
}

// mean is the mean answer to a question, and how many there are.
func mean(all []feedback.New, question int64, which func(feedback.New) bool) (float64, int) {
	sum, n := 0, 0
	for _, r := range all {
		if value, err := strconv.Atoi(answer(r, question)); err == nil && which(r) {
			sum += value
			n++
		}
	}
	return float64(sum) / float64(max(1, n)), n
}
