package reading_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/analysis/provider"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/pg/pgtest"
	"earshot/internal/reading"
	"earshot/internal/tally"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// desk is an organization whose texts a model reads, and the model.
type desk struct {
	t        *testing.T
	db       *pgxpool.Pool
	view     account.View
	texts    *analysis.Store
	records  *feedback.Store
	readings *reading.Store

	mu     sync.Mutex
	asked  []string
	status int // that the model answers with, when it is not 200
	says   func(text string) string
}

// sentence is the answer of a model that takes every text for one sentence with this score, about these topics.
func sentence(score int, topics ...string) func(string) string {
	return func(text string) string {
		span := map[string]any{"start": 0, "length": len([]rune(text)), "text": text, "score": score, "topics": append([]string{}, topics...)}
		b, err := json.Marshal(map[string]any{"spans": []any{span}})
		if err != nil {
			panic(err)
		}
		return string(b)
	}
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	db := pgtest.DB(t)
	org, err := account.NewStore(db).OpenOrganization(t.Context(), fmt.Sprintf("%s %d", t.Name(), time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, db: db, view: account.Whole(org.ID), texts: analysis.NewStore(db), says: sentence(90)}
	d.records = feedback.NewStore(db, db, carrier.NewStore(db), d.texts)
	model := httptest.NewServer(http.HandlerFunc(d.model))
	t.Cleanup(model.Close)
	p, err := provider.New(provider.Config{URL: model.URL, Model: "test", Backoff: time.Millisecond, PerMinute: 60_000})
	if err != nil {
		t.Fatal(err)
	}
	if d.readings, err = reading.NewStore(db, d.texts, d.records, p, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.texts.Reader(t.Context(), d.view); err != nil { // the organization is known
		t.Fatal(err)
	}
	d.sweep()
	return d
}

// model answers as a chat endpoint does.
func (d *desk) model(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var request struct{ Messages []struct{ Content string } }
	var given struct{ Text string }
	if err := json.Unmarshal(body, &request); err == nil && len(request.Messages) == 2 {
		_ = json.Unmarshal([]byte(request.Messages[1].Content), &given)
	}
	d.mu.Lock()
	d.asked = append(d.asked, given.Text)
	status, says := d.status, d.says
	d.mu.Unlock()
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{
		map[string]any{"finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": says(given.Text)}},
	}})
}

func (d *desk) sweep() {
	d.t.Helper()
	if err := d.readings.Sweep(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) create(texts ...string) int64 {
	d.t.Helper()
	n := feedback.New{CarrierID: 1, Source: 1}
	for i, text := range texts {
		n.Items = append(n.Items, carrier.Item{QuestionID: int64(i + 1), Value: text})
	}
	rec, err := d.records.Create(d.t.Context(), d.view, n, &fault.Form{})
	if err != nil {
		d.t.Fatal(err)
	}
	return rec.ID
}

func (d *desk) work() error {
	d.t.Helper()
	more, err := d.readings.Work(d.t.Context(), d.view)
	if more {
		d.t.Error("there is more to read")
	}
	return err
}

// stored is what is kept of a record: the sentiment in hundredths, and whether its version is a provider's.
func (d *desk) stored(id int64) (sentiment int, provided bool) {
	d.t.Helper()
	err := d.db.QueryRow(d.t.Context(), `
		SELECT coalesce(sentiment, -1), analysis_version % 2 = 1 FROM feedback WHERE organization_id = $1 AND id = $2`, d.view.Org(), id).Scan(&sentiment, &provided)
	if err != nil {
		d.t.Fatal(err)
	}
	return sentiment, provided
}

func (d *desk) verify() {
	d.t.Helper()
	wrong, err := tally.NewStore(d.db).Verify(d.t.Context(), d.view)
	if err != nil || len(wrong) > 0 {
		d.t.Errorf("tallies: %v, %v", wrong, err)
	}
}

// What a provider reads takes the place of what our rules read: sentiment, topics, satisfaction, tallies, version.
func TestProviderReadsWhatArrives(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	topic, err := d.texts.AddTopic(t.Context(), d.view, analysis.Topic{Name: "Delivery", Keywords: []string{"parcel"}}, &fault.Form{}, func(pgx.Tx) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	d.says = sentence(90, "Delivery")
	first, second := d.create("Meh."), d.create("Bad.", "7", "Awful.")
	if before, provided := d.stored(second); before >= 5000 || provided {
		t.Fatalf("our rules say %d", before)
	}
	if err := d.work(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{first, second} {
		if got, provided := d.stored(id); got != 9000 || !provided {
			t.Errorf("feedback %d has %d, by a provider: %v", id, got, provided)
		}
	}
	rec, err := d.records.ByID(t.Context(), d.view, second, feedback.Parts{Items: true, Texts: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := rec.Items[0].Spans; *rec.Satisfaction != 9000 || len(got) != 1 || got[0].Text != "Bad." || got[0].Topics[0] != topic.Name {
		t.Errorf("satisfaction %d, spans %+v", *rec.Satisfaction, got)
	}
	d.verify()
	if asked := len(d.asked); asked != 4 || d.work() != nil || len(d.asked) != asked {
		t.Errorf("asked %q", d.asked)
	}
}

// What was there before the provider is not sent to it.
func TestProviderReadsNothingFromBefore(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.create("Read me.")
	if _, err := d.db.Exec(t.Context(), `DELETE FROM analysis_provider WHERE organization_id = $1`, d.view.Org()); err != nil {
		t.Fatal(err)
	}
	d.sweep()
	if err := d.work(); err != nil || len(d.asked) != 0 {
		t.Errorf("asked %q, %v", d.asked, err)
	}
}

// An answer that cannot be used leaves what our rules read, and the next feedback is read.
func TestUnusableAnswersChangeNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.says = func(text string) string {
		if strings.Contains(text, "first") {
			return `{"spans":[{"start":0,"length":99,"text":"I made this up","score":5,"topics":[]}]}`
		}
		return sentence(90)(text)
	}
	first := d.create("The first one is great.")
	before, _ := d.stored(first)
	second := d.create("The second one.")
	if err := d.work(); err != nil {
		t.Fatal(err)
	}
	if after, provided := d.stored(first); after != before || provided {
		t.Errorf("was %d, is %d, by a provider: %v", before, after, provided)
	}
	if after, provided := d.stored(second); after != 9000 || !provided {
		t.Errorf("the second has %d, by a provider: %v", after, provided)
	}
	d.verify()
}

// A provider that is away is asked again later; nothing is passed over.
func TestProviderThatIsAwayIsAskedAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.status = http.StatusServiceUnavailable
	id := d.create("Fine.")
	if d.work() == nil {
		t.Error("nothing was wrong")
	}
	if _, provided := d.stored(id); provided {
		t.Error("somebody read it")
	}
	d.status = 0
	if err := d.work(); err != nil {
		t.Fatal(err)
	}
	if got, provided := d.stored(id); got != 9000 || !provided {
		t.Errorf("%d, by a provider: %v", got, provided)
	}
}

// What was read again, or deleted, while the provider was reading is left alone.
func TestProviderComesTooLate(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	again, gone := d.create("Read again."), d.create("Gone.")
	d.says = func(text string) string {
		for _, sql := range map[bool][]string{
			true:  {`UPDATE feedback SET analysis_version = analysis_version + 2, sentiment = 1234 WHERE organization_id = $1 AND id = $2`},
			false: {`DELETE FROM feedback WHERE organization_id = $1 AND id = $2`, `DELETE FROM feedback_content WHERE organization_id = $1 AND feedback_id = $2`},
		}[text == "Read again."] {
			id := gone
			if text == "Read again." {
				id = again
			}
			if _, err := d.db.Exec(t.Context(), sql, d.view.Org(), id); err != nil {
				t.Error(err)
			}
		}
		return sentence(90)(text)
	}
	if err := d.work(); err != nil {
		t.Fatal(err)
	}
	if got, provided := d.stored(again); got != 1234 || provided {
		t.Errorf("%d, by a provider: %v", got, provided)
	}
}

// Where texts are not to be read, nobody is sent them.
func TestTextsThatAreNotToBeReadStay(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	_, err := d.texts.ChangeLanguages(t.Context(), d.view, analysis.LanguageChange{Language: analysis.Off}, &fault.Form{}, func(pgx.Tx) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	id := d.create("Private.")
	if err := d.work(); err != nil || len(d.asked) != 0 {
		t.Errorf("asked %q, %v", d.asked, err)
	}
	if got, provided := d.stored(id); got != -1 || provided {
		t.Errorf("%d, by a provider: %v", got, provided)
	}
}

// There is one job for an organization with something to read, none for one without, and another only when its lease is over.
func TestOneJobAtATime(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	jobs := func() (n int) {
		d.sweep()
		err := d.db.QueryRow(t.Context(), `
			SELECT count(*) FROM river_job WHERE kind = 'reading' AND queue = 'reading' AND (args->>'organization_id')::bigint = $1`, d.view.Org()).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := jobs(); n != 0 {
		t.Errorf("%d jobs for nothing", n)
	}
	d.create("Hello.")
	if n := jobs() + jobs(); n != 2 {
		t.Errorf("%d jobs in two rounds, want the one twice", n)
	}
	if _, err := d.db.Exec(t.Context(), `UPDATE analysis_provider SET lease_until = now() - interval '1 second' WHERE organization_id = $1`, d.view.Org()); err != nil {
		t.Fatal(err)
	}
	if n := jobs(); n != 2 {
		t.Errorf("%d jobs after the lease", n)
	}
}
