package carrier_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// pair is a carrier with two optional questions.
func pair(t *testing.T, store *carrier.Store, v account.View) carrier.Carrier {
	t.Helper()
	return create(t, store, v, carrier.New{Name: "Survey", Questions: []carrier.NewQuestion{
		{Name: "Answered", Type: carrier.Text}, {Name: "Left out", Type: carrier.Text},
	}})
}

// completes reports whether feedback that answers the first of two questions is complete.
func completes(t *testing.T, store *carrier.Store, v account.View, c carrier.Carrier) bool {
	t.Helper()
	items := texts(c.Questions[0].ID)
	var form fault.Form
	return rules(t, store, v, c.ID, items...).Check(items, &form).Completed
}

func require(t *testing.T, store *carrier.Store, v account.View, c carrier.Carrier, required bool) {
	t.Helper()
	if err := store.Require(t.Context(), v, c.Questions[1].ID, required); err != nil {
		t.Fatal(err)
	}
}

// An edit is felt at once where it was made, in both directions.
func TestRequireWorksAtOnce(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	c := pair(t, store, v)
	for _, required := range []bool{false, true, true, false} {
		require(t, store, v, c, required)
		if completes(t, store, v, c) == required {
			t.Errorf("required %v is not felt", required)
		}
	}
}

// A question of another organization is answered exactly as one that never was, and stays as it is.
func TestRequireOfAnotherOrganizationIsUnknown(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	other := organization(t)
	c := pair(t, store, other)
	unknown := store.Require(t.Context(), v, 1<<50, true)
	wantFault(t, unknown, fault.NotFound)
	foreign := store.Require(t.Context(), v, c.Questions[1].ID, true)
	wantFault(t, foreign, fault.NotFound)
	if foreign.Error() != unknown.Error() {
		t.Errorf("%q and %q differ", foreign, unknown)
	}
	if !completes(t, store, other, c) {
		t.Error("the other organization's question is required now")
	}
}

// Another process that listens is told, and forgets what it remembers.
func TestRequireIsHeardByAListeningProcess(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t) // other tests edit questions as well
	here, there := open(t, url), open(t, url)
	store, other, v := carrier.NewStore(here), carrier.NewStore(there), organizationIn(t, here)
	c := pair(t, store, v)
	ctx, cancel := context.WithCancel(t.Context())
	ready, told, done := make(chan struct{}, 10), make(chan struct{}, 10), make(chan struct{})
	go func() {
		defer close(done)
		pg.Listen(ctx, there, slog.New(slog.DiscardHandler), func() { ready <- struct{}{} }, map[string]func(string){
			carrier.Channel: func(string) {
				other.Forget()
				told <- struct{}{}
			},
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	deadline := time.After(patience)
	select {
	case <-ready:
	case <-deadline:
		t.Fatal("the process does not listen")
	}
	if !completes(t, other, v, c) {
		t.Fatal("the question is required already")
	}
	require(t, store, v, c, true)
	select {
	case <-told:
	case <-deadline:
		t.Fatal("the process was not told")
	}
	if completes(t, other, v, c) {
		t.Error("the process was told and still remembers")
	}
}

// A process that hears nothing remembers for a second at most.
func TestRequireIsFeltWithinASecond(t *testing.T) {
	t.Parallel()
	store, v := setUp(t)
	c := pair(t, store, v)
	other := carrier.NewStore(open(t, pgtest.URL(t)))
	if !completes(t, other, v, c) {
		t.Fatal("the question is required already")
	}
	require(t, store, v, c, true)
	edited := time.Now()
	for tick := time.Tick(5 * time.Millisecond); ; <-tick {
		before := time.Now()
		if !completes(t, other, v, c) {
			return
		}
		if late := before.Sub(edited); late > time.Second {
			t.Fatalf("not felt %v after the edit", late)
		}
	}
}
