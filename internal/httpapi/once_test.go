package httpapi_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"earshot/internal/account"
)

// The same key and body get the first answer back, byte for byte, whatever has become of the feedback; another body is refused.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	keyed := c.with("Idempotency-Key", "order 4711")
	body := `{"carrier_id":1,"source":"email","fingerprint":"once","attributes":[{"name":"a","value":1}]}`
	first := keyed.create(body).want(http.StatusCreated)
	if again := keyed.create(body).want(http.StatusCreated); again.body != first.body {
		t.Errorf("another answer: %s, first %s", again.body, first.body)
	}
	if again := keyed.create(`{"source":"email", "carrier_id":1,"fingerprint":"once","attributes":[{"name":"a","value":1}]}`).want(http.StatusCreated); again.body != first.body {
		t.Errorf("the same object in another order: %s", again.body)
	}
	keyed.create(`{"carrier_id":1,"source":"sms","fingerprint":"once"}`).refused(422, "validation_failed", "Idempotency-Key")
	c.with("Idempotency-Key", "order 4712").create(body).refused(409, "fingerprint_taken", "fingerprint")

	// What was accepted stays answered, even after the rules have changed and the feedback is gone.
	if err := c.server.Accounts.SetStrict(t.Context(), c.view, true); err != nil {
		t.Fatal(err)
	}
	if _, err := c.server.db.Exec(t.Context(), `DELETE FROM feedback WHERE organization_id = $1`, c.view.Org()); err != nil {
		t.Fatal(err)
	}
	if again := keyed.create(body).want(http.StatusCreated); again.body != first.body {
		t.Errorf("another answer: %s", again.body)
	}
}

// A key belongs to its token, lasts a day, has a length, and is not used up by a request that failed.
func TestIdempotencyKeyScope(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	keyed := c.with("Idempotency-Key", "k")
	body := `{"carrier_id":1,"source":"email"}`
	keyed.create(`{"carrier_id":1}`).refused(422, "validation_failed", "source")
	first := keyed.create(body).want(http.StatusCreated)
	if other := keyed.as(c.issue(account.NewToken{})).create(body).want(http.StatusCreated); other.id() == first.id() {
		t.Error("another token got the first one's answer")
	}
	if other := newClient(t).with("Idempotency-Key", "k").create(body).want(http.StatusCreated); other.id() == first.id() {
		t.Error("another organization got the first one's answer")
	}
	age := func(interval string) {
		if _, err := c.server.db.Exec(t.Context(), `UPDATE idempotency SET created_at = now() - $2::interval WHERE organization_id = $1`,
			c.view.Org(), interval); err != nil {
			t.Fatal(err)
		}
	}
	age("23 hours 59 minutes")
	keyed.create(body).want(http.StatusCreated).is("id", first.id())
	age("24 hours 1 minute")
	if late := keyed.create(body).want(http.StatusCreated); late.id() == first.id() {
		t.Error("a key still holds after a day")
	}
	var left int
	if err := c.server.db.QueryRow(t.Context(), `SELECT count(*) FROM idempotency WHERE organization_id = $1`, c.view.Org()).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d keys are left, %v: old ones are swept up by use", left, err)
	}
	c.with("Idempotency-Key", strings.Repeat("é", 255)).create(body).want(http.StatusCreated)
	c.with("Idempotency-Key", strings.Repeat("é", 256)).create(body).refused(422, "validation_failed", "Idempotency-Key")
	c.with("Idempotency-Key", "").create(body).refused(422, "validation_failed", "Idempotency-Key")
	var stored []byte
	if err := c.server.db.QueryRow(t.Context(), `SELECT key_sha256 FROM idempotency WHERE organization_id = $1 LIMIT 1`, c.view.Org()).Scan(&stored); err != nil || len(stored) != sha256.Size {
		t.Errorf("the key is stored as %q, %v", stored, err)
	}
}

// together runs n calls at the same time and counts the answers by status.
func together(n int, call func(i int) answer) map[int][]answer {
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := make(chan struct{})
	byStatus := map[int][]answer{}
	for i := range n {
		wg.Go(func() {
			<-start
			a := call(i)
			mu.Lock()
			defer mu.Unlock()
			byStatus[a.status] = append(byStatus[a.status], a)
		})
	}
	close(start)
	wg.Wait()
	return byStatus
}

// One fingerprint from 50 clients at once is created once and refused 49 times, naming the one.
func TestSameFingerprintAtOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	got := together(50, func(int) answer { return c.create(`{"carrier_id":9,"source":"email","fingerprint":"f"}`) })
	if len(got[201]) != 1 || len(got[409]) != 49 {
		t.Fatalf("%d created, %d refused", len(got[201]), len(got[409]))
	}
	for _, a := range got[409] {
		a.is("feedback_id", got[201][0].id())
	}
	c.verifyTallies()
}

// One new attribute value from 50 clients at once is one entry of the dictionary, and all 50 are created.
func TestSameNewValueAtOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	got := together(50, func(i int) answer {
		// Opposite orders would deadlock if the dictionary were not written in one order.
		a, b := `{"name":"shop","value":"Lyon"}`, `{"name":"brand","value":["A","B"]}`
		if i%2 == 1 {
			a, b = `{"name":"brand","value":["B","A"]}`, `{"name":"shop","value":"Lyon"}`
		}
		return c.create(`{"carrier_id":9,"source":"email","items":[{"question_id":3,"value":"x"}],"attributes":[` + a + `,` + b + `]}`)
	})
	if len(got[201]) != 50 {
		t.Fatalf("%d created of 50: %v", len(got[201]), got)
	}
	for sql, want := range map[string]int{
		`SELECT count(*) FROM attribute WHERE organization_id = $1`:       2,
		`SELECT count(*) FROM attribute_value WHERE organization_id = $1`: 3,
		`SELECT count(*) FROM carrier WHERE organization_id = $1`:         1,
		`SELECT count(*) FROM question WHERE organization_id = $1`:        1,
	} {
		var n int
		if err := c.server.db.QueryRow(t.Context(), sql, c.view.Org()).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d, want %d, %v", sql, n, want, err)
		}
	}
	c.verifyTallies()
}

// One idempotency key from 20 clients at once makes one feedback, and all of them get its answer.
func TestSameKeyAtOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t).with("Idempotency-Key", "at once")
	got := together(20, func(int) answer { return c.create(`{"carrier_id":9,"source":"email"}`) })
	if len(got[201]) != 20 {
		t.Fatalf("%d created of 20", len(got[201]))
	}
	for _, a := range got[201] {
		if a.body != got[201][0].body {
			t.Fatalf("two answers: %s %s", a.body, got[201][0].body)
		}
	}
}

// Status changes of one feedback from many clients at once leave the tallies exact.
func TestStatusAtOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.create(`{"carrier_id":9,"source":"email"}`).id()
	states := []string{"todo", "progress", "contacted", "resolved", "abandoned"}
	got := together(50, func(i int) answer {
		return c.json(http.MethodPut, "/v4/feedback/"+id, fmt.Sprintf(`{"status":%q}`, states[i%5]))
	})
	if len(got[200]) != 50 {
		t.Fatalf("%d changed of 50", len(got[200]))
	}
	c.verifyTallies()
}
