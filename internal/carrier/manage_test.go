package carrier_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/pg/pgtest"
)

// Every edit tells the other processes, in the transaction that makes it true, and one that is refused tells nobody.
func TestEditsAreAnnounced(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t) // other tests edit carriers as well
	db := open(t, url)
	store, v := carrier.NewStore(db), organizationIn(t, db)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing was left open on it
	if _, err := conn.Exec(ctx, `LISTEN `+carrier.Channel); err != nil {
		t.Fatal(err)
	}
	heard := func() (n int) {
		t.Helper()
		if _, err := db.Exec(ctx, `SELECT pg_notify($1, 'that was all')`, carrier.Channel); err != nil {
			t.Fatal(err)
		}
		for {
			got, err := conn.WaitForNotification(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if got.Payload != "" {
				return n
			}
			n++
		}
	}
	text := func(id int64) carrier.NewQuestion {
		return carrier.NewQuestion{ID: id, Name: "Q", Type: carrier.Text}
	}
	for _, step := range []struct {
		name    string
		refused bool
		do      func(*fault.Form) error
	}{
		{"create", false, func(form *fault.Form) error {
			_, err := store.CreateWith(ctx, v, carrier.New{ID: 1, Name: "One"}, form)
			return err
		}},
		{"create again", true, func(form *fault.Form) error {
			_, err := store.CreateWith(ctx, v, carrier.New{ID: 1, Name: "One"}, form)
			return err
		}},
		{"edit", false, func(form *fault.Form) error {
			_, err := store.Edit(ctx, v, 1, carrier.Change{Archived: new(true)}, form)
			return err
		}},
		{"add question", false, func(form *fault.Form) error {
			_, err := store.AddQuestion(ctx, v, 1, text(11), form)
			return err
		}},
		{"edit question", false, func(form *fault.Form) error {
			_, err := store.EditQuestion(ctx, v, 11, carrier.QuestionChange{Type: carrier.NPS}, form, nobody)
			return err
		}},
		{"edit question wrongly", true, func(form *fault.Form) error {
			_, err := store.EditQuestion(ctx, v, 11, carrier.QuestionChange{Type: "stars"}, form, nobody)
			return err
		}},
		{"require", false, func(*fault.Form) error { return store.Require(ctx, v, 11, true) }},
		{"delete question", false, func(*fault.Form) error { return store.DeleteQuestion(ctx, v, 11) }},
		{"delete", false, func(*fault.Form) error { return store.Delete(ctx, v, 1) }},
		{"delete again", true, func(*fault.Form) error { return store.Delete(ctx, v, 1) }},
	} {
		if err := step.do(&fault.Form{}); (err != nil) != step.refused {
			t.Fatalf("%s: %v", step.name, err)
		}
		if n := heard(); (n == 1) == step.refused || n > 1 {
			t.Errorf("%s: announced %d times", step.name, n)
		}
	}
}

// nobody has answered yet, so nothing needs another worth.
func nobody(pgx.Tx, carrier.Question) error { return nil }

// What is archived or brought back is felt at once where it was done, although the rules were in use a moment before.
func TestArchivingWorksAtOnce(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	c := create(t, store, v, carrier.New{Name: "Survey", Questions: []carrier.NewQuestion{
		{Name: "Choice", Type: carrier.Choice, Options: []string{"Yes", "No"}},
	}})
	q := c.Questions[0]
	items := []carrier.Item{{QuestionID: q.ID, Value: "No"}}
	blame := func() []string {
		t.Helper()
		var form fault.Form
		rules(t, store, v, c.ID, items...).Check(items, &form)
		return blamed(t, form.Err())
	}
	edit := func(change carrier.QuestionChange) {
		t.Helper()
		if _, err := store.EditQuestion(t.Context(), v, q.ID, change, &fault.Form{}, nobody); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if got := blame(); len(got) != 0 {
			t.Errorf("refused at %v", got)
		}
		edit(carrier.QuestionChange{Options: []carrier.OptionChange{{Name: "Yes"}}})
		if got := blame(); len(got) != 1 || got[0] != "items.0.value" {
			t.Errorf("without the option: %v", got)
		}
		edit(carrier.QuestionChange{Options: []carrier.OptionChange{{Name: "Yes"}, {Name: "No"}}, Archived: new(true)})
		if got := blame(); len(got) != 1 || got[0] != "items.0.question_id" {
			t.Errorf("archived: %v", got)
		}
		edit(carrier.QuestionChange{Archived: new(false)})
	}
}

// Clients who bring questions while their carrier is deleted succeed: it is registered anew. Nothing fails for want of the other half.
func TestDeleteAgainstRegistration(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	together(t, 12, func(i int) error {
		for n := range 5 {
			if i%3 == 0 {
				if err := store.Delete(t.Context(), v, 453); err != nil && !fault.Is(err, fault.NotFound) {
					return err
				}
				continue
			}
			items := texts(int64(100*i+n+1), 7)
			var form fault.Form
			r, err := store.Rules(t.Context(), v, 453, items, &form)
			if err == nil {
				_, err = store.Register(t.Context(), v, r, items)
			}
			if err = errors.Join(err, form.Err()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Edits of one carrier's questions at the same time all take place, and leave one order without gaps.
func TestQuestionsMovedByManyAtOnce(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	c := create(t, store, v, carrier.New{Name: "Survey"})
	together(t, 8, func(i int) error {
		var form fault.Form
		q, err := store.AddQuestion(t.Context(), v, c.ID, carrier.NewQuestion{Name: "Q", Type: carrier.Text, Order: 1}, &form)
		if err != nil {
			return err
		}
		_, err = store.EditQuestion(t.Context(), v, q.ID, carrier.QuestionChange{Order: 1 + i}, &form, nobody)
		return err
	})
	c, err := store.ByID(t.Context(), v, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range c.Questions {
		if q.Position != i+1 {
			t.Errorf("question %d stands at %d", i+1, q.Position)
		}
	}
	if len(c.Questions) != 8 {
		t.Errorf("%d questions", len(c.Questions))
	}
}

// Of those who bring the same number at the same time one succeeds, and the others are told that it is taken.
func TestSameNumberFromManyAtOnce(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	var mu sync.Mutex
	made := map[string]int{}
	one := create(t, store, v, carrier.New{Name: "One"})
	together(t, 8, func(i int) error {
		n := carrier.New{ID: 453, Name: "Same"}
		if i%2 == 0 {
			n = carrier.New{Name: "Another", Questions: []carrier.NewQuestion{{ID: 11, Name: "Q", Type: carrier.Text}}}
		}
		_, err := store.Create(t.Context(), v, n)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			made[n.Name]++
		} else if !fault.Is(err, fault.ValidationFailed) {
			return err
		}
		return nil
	})
	if made["Same"] != 1 || made["Another"] != 1 {
		t.Errorf("made %v", made)
	}
	_, err := store.AddQuestion(t.Context(), v, one.ID, carrier.NewQuestion{ID: 11, Name: "Q", Type: carrier.Text}, &fault.Form{})
	wantFields(t, err, "id")
	if all := list(t, store, v); len(all) != 3 {
		t.Errorf("%d carriers", len(all))
	}
}

// Another organization's carriers and questions are answered exactly as ones that never were, and stay as they are.
func TestEditsOfAnotherOrganizationAreUnknown(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	other := organization(t)
	c := create(t, store, other, carrier.New{Name: "Theirs", Questions: []carrier.NewQuestion{{Name: "Q", Type: carrier.Text}}})
	before, err := store.ByID(t.Context(), other, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func(account.View, int64, int64) error{
		"read": func(v account.View, carrier, _ int64) error {
			_, err := store.ByID(t.Context(), v, carrier)
			return err
		},
		"edit": func(v account.View, id, _ int64) error {
			_, err := store.Edit(t.Context(), v, id, carrier.Change{Name: "Mine"}, &fault.Form{})
			return err
		},
		"delete": func(v account.View, id, _ int64) error { return store.Delete(t.Context(), v, id) },
		"add": func(v account.View, id, _ int64) error {
			_, err := store.AddQuestion(t.Context(), v, id, carrier.NewQuestion{Name: "Q", Type: carrier.Text}, &fault.Form{})
			return err
		},
		"edit question": func(v account.View, _, id int64) error {
			_, err := store.EditQuestion(t.Context(), v, id, carrier.QuestionChange{Name: "Mine"}, &fault.Form{}, nobody)
			return err
		},
		"delete question": func(v account.View, _, id int64) error { return store.DeleteQuestion(t.Context(), v, id) },
	} {
		foreign, never := do(v, c.ID, c.Questions[0].ID), do(v, 1<<50, 1<<50)
		wantFault(t, foreign, fault.NotFound)
		wantFault(t, never, fault.NotFound)
		if foreign != nil && never != nil && foreign.Error() != never.Error() {
			t.Errorf("%s: %q and %q differ", name, foreign, never)
		}
	}
	after, err := store.ByID(t.Context(), other, c.ID)
	if err != nil || after.Name != before.Name || len(after.Questions) != 1 || after.Questions[0].Name != "Q" {
		t.Errorf("it became %+v, %v", after, err)
	}
}

// Clients who bring questions while others of their carrier are edited wait a moment, and the two never wait for each other.
func TestRegistrationAgainstEdits(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	c := create(t, store, v, carrier.New{Name: "Survey", Questions: []carrier.NewQuestion{{Name: "Q", Type: carrier.Text}}})
	together(t, 6, func(i int) error {
		for n := range 5 {
			if i%2 == 1 {
				if err := meet(t, store, v, c.ID, texts(int64(100*i+n+1))); err != nil {
					return err
				}
				continue
			}
			if _, err := store.EditQuestion(t.Context(), v, c.Questions[0].ID, carrier.QuestionChange{Order: 1 + n}, &fault.Form{}, nobody); err != nil {
				return err
			}
		}
		return nil
	})
}
