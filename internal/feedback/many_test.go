package feedback_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg/pgtest"
)

// Of many feedback each stands for itself: written, refused for its fingerprint, or refused by a rule, in the order given, and the tallies
// count what was written.
func TestCreateManySaysWhatBecameOfEach(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	carriers := carrier.NewStore(db)
	store, v := feedback.NewStore(db, db, carriers, analysis.NewStore(db)), organization(t, db)
	made, err := carriers.Create(t.Context(), v, carrier.New{Name: "Survey", Questions: []carrier.NewQuestion{{Name: "Recommend?", Type: carrier.NPS}}})
	if err != nil {
		t.Fatal(err)
	}
	nps := made.Questions[0].ID
	one := func(fingerprint, value string) feedback.New {
		return feedback.New{
			CarrierID: made.ID, Source: 16, Fingerprint: fingerprint, Items: []carrier.Item{{QuestionID: nps, Value: value}},
			Attributes: []feedback.Attribute{{Name: "shop", Values: []feedback.Value{{Text: "Lyon"}}}},
		}
	}
	var form fault.Form
	first, err := store.Create(t.Context(), v, one("there", "9"), &form)
	if err != nil {
		t.Fatal(err)
	}
	noted := &fault.Form{}
	noted.Add("created_at", "must be a time")
	outcomes, err := store.CreateMany(t.Context(), v, []feedback.New{
		one("a", "10"), one("there", "1"), one("b", "11"), one("c", "3"), one("a", "0"), {Source: 16}, one("d", "12"), one("", "7"), {CarrierID: 99, Source: 4},
	}, []*fault.Form{{}, {}, {}, {}, {}, {}, noted, {}, {}})
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		code   fault.Code
		fields []string
	}{
		{},
		{fault.FingerprintTaken, []string{"fingerprint"}},
		{fault.ValidationFailed, []string{"items.0.value"}},
		{},
		{fault.FingerprintTaken, []string{"fingerprint"}},
		{fault.ValidationFailed, []string{"carrier_id"}},
		{fault.ValidationFailed, []string{"created_at", "items.0.value"}},
		{},
		{},
	}
	var last int64
	for i, o := range outcomes {
		if (o.Refusal == nil) != (want[i].code == "") || (o.Refusal == nil) != (o.Record.ID > last) {
			t.Fatalf("%d: %+v", i, o)
		}
		if o.Refusal == nil {
			last = o.Record.ID
			continue
		}
		if o.Refusal.Code != want[i].code || len(o.Refusal.Fields) != len(want[i].fields) {
			t.Errorf("%d: %+v", i, o.Refusal)
		}
		for _, field := range want[i].fields {
			if len(o.Refusal.Fields[field]) == 0 {
				t.Errorf("%d: %s is not at fault: %+v", i, field, o.Refusal)
			}
		}
	}
	if outcomes[1].Refusal.FeedbackID != first.ID || outcomes[4].Refusal.FeedbackID != outcomes[0].Record.ID {
		t.Errorf("the feedback in the way: %+v %+v", outcomes[1].Refusal, outcomes[4].Refusal)
	}
	records, total, err := store.List(t.Context(), v, query(t, `[]`), feedback.Page{Size: 100})
	if err != nil || total != 5 || len(records) != 5 {
		t.Errorf("%d of %d, %v", len(records), total, err)
	}
	exact(t, pgtest.DB(t), v)
	if again, err := store.CreateMany(t.Context(), v, nil, nil); err != nil || len(again) != 0 {
		t.Errorf("none: %v %v", again, err)
	}
	if _, err := store.CreateMany(t.Context(), v, make([]feedback.New, feedback.MaxMany+1), nil); err == nil {
		t.Error("too many were taken")
	}
}

// What comes with a past has its status, its owners and its time from the start, and counts so.
func TestCreateManyWithAPast(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	store, v := feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db)), organization(t, db)
	var owners []account.UserID
	for i := range 2 {
		u, err := account.NewStore(db).OpenUser(t.Context(), v, account.User{Email: fmt.Sprintf("u%d@example.com", i), Name: "U", Role: account.Editor})
		if err != nil {
			t.Fatal(err)
		}
		owners = append(owners, u.ID)
	}
	at := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	outcomes, err := store.CreateMany(t.Context(), v, []feedback.New{
		{CarrierID: 1, Source: 4, CreatedAt: &at, Status: feedback.Resolved, Owners: owners},
		{CarrierID: 1, Source: 4, Status: feedback.Abandoned},
		{CarrierID: 1, Source: 4, Owners: []account.UserID{owners[1], owners[1]}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		status feedback.Status
		owners []account.UserID
	}{{feedback.Resolved, owners}, {feedback.Abandoned, nil}, {feedback.Todo, owners[1:]}} {
		rec, err := store.ByID(t.Context(), v, outcomes[i].Record.ID, feedback.Parts{Owners: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []account.UserID
		for _, o := range rec.Owners {
			got = append(got, o.ID)
		}
		slices.Sort(got)
		if rec.Status != want.status || outcomes[i].Record.Status != want.status || !slices.Equal(got, want.owners) {
			t.Errorf("%d: %s %v", i, rec.Status, got)
		}
	}
	if !outcomes[0].Record.CreatedAt.Equal(at) {
		t.Errorf("created at %v", outcomes[0].Record.CreatedAt)
	}
	for filter, want := range map[string]int64{`[{"Status":{"$eq":"resolved"}}]`: 1, `[{"Status":{"$eq":"todo"}}]`: 1, `[{"Owner":{"$eq":"u1@example.com"}}]`: 2} {
		if _, total, err := store.List(t.Context(), v, query(t, filter), feedback.Page{Size: 10}); err != nil || total != want {
			t.Errorf("%s: %d, %v", filter, total, err)
		}
	}
	exact(t, pgtest.DB(t), v)
	// An owner of nobody's leaves nothing behind.
	if _, err := store.CreateMany(t.Context(), v, []feedback.New{{CarrierID: 1, Source: 4, Owners: []account.UserID{1 << 40}}}, nil); err == nil {
		t.Error("an unknown owner was taken")
	}
	if _, total, err := store.List(t.Context(), v, query(t, `[]`), feedback.Page{Size: 10}); err != nil || total != 3 {
		t.Errorf("%d are left, %v", total, err)
	}
}

// Statements of a thousand, with the same fingerprints and the same new attribute values in opposite orders, do not wait for each other
// in a circle, and each feedback is written once.
func TestCreateManyTogether(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	store, v := feedback.NewStore(db, db, carrier.NewStore(db), analysis.NewStore(db)), organization(t, db)
	const size = 300
	for round := range 3 {
		forward := make([]feedback.New, size)
		for i := range forward {
			name := fmt.Sprintf("round %d, %d", round, i)
			forward[i] = feedback.New{
				CarrierID: 1, Source: 4, Fingerprint: name,
				Attributes: []feedback.Attribute{{Name: "order", Values: []feedback.Value{{Text: name}}}},
			}
		}
		backward := slices.Clone(forward)
		slices.Reverse(backward)
		var wg sync.WaitGroup
		var written [2]int
		for i, all := range [][]feedback.New{forward, backward} {
			wg.Go(func() {
				outcomes, err := store.CreateMany(t.Context(), v, all, nil)
				if err != nil {
					t.Error(err)
				}
				for _, o := range outcomes {
					if o.Refusal == nil {
						written[i]++
					}
				}
			})
		}
		wg.Wait()
		if written[0]+written[1] != size {
			t.Errorf("round %d: written %v", round, written)
		}
	}
	exact(t, pgtest.DB(t), v)
}
