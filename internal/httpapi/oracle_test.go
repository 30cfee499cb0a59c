package httpapi_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql/fqltest"
	"earshot/internal/pg"
	"earshot/internal/pg/pgtest"
)

// world is an organization with random records, and what the oracle knows of them.
type world struct {
	*client
	speaks  fqltest.World
	records []fqltest.Record
}

var (
	someWords  = []string{"Parcel", "late", "Très", "bien", "100%", "under_score", "back\\slash", "İstanbul", "straße", "ÉTÉ", "(a|b)*", "refund", "x"}
	someCities = []string{"Lyon", "lyon", "Paris", "7", "7.0", "12", "-3.5", "1e2", "", "São Paulo", "50%"}
)

// newWorld fills an organization. Records lie around the borders of days and periods, away from this very minute.
func newWorld(t *testing.T, s *server, r *rand.Rand, zone string, size int) *world {
	t.Helper()
	c := s.newClient(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := s.db.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`UPDATE organization SET time_zone = $2 WHERE id = $1`, c.view.Org(), zone)
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{client: c, speaks: fqltest.World{Zone: location, Now: time.Now(), Sources: feedback.SourceNames()[:6], Statuses: feedback.StatusNames(), Words: someWords}}
	made := w.questions()
	team := w.secondTeam(exec)
	var owners []account.User
	for i := range 4 {
		u, _ := c.user(fmt.Sprintf("Owner%d@Example.com", i), account.Viewer)
		owners = append(owners, u)
		w.speaks.Owners = append(w.speaks.Owners, u.Email)
	}
	topics := w.topics(exec)
	w.speaks.Attributes = []fqltest.Attribute{{Name: "city", Values: someCities}, {Name: "unique"}, {Name: "absent"}}
	for i := range size {
		w.add(t, r, made, i, owners, topics, exec)
	}
	for i := range w.records {
		w.records[i].Team = w.teamOf(w.records[i].Carrier, made.ID, team)
	}
	return w
}

func (w *world) questions() carrier.Carrier {
	made := w.carrier(
		carrier.NewQuestion{Type: carrier.NPS}, carrier.NewQuestion{Type: carrier.Slider, Max: 10},
		carrier.NewQuestion{Type: carrier.RatingsTable, Options: []string{"Staff", "Food"}},
		carrier.NewQuestion{Type: carrier.Choice, Options: []string{"Price", "Quality", "7"}},
		carrier.NewQuestion{Type: carrier.MultipleChoice, Options: []string{"Red", "Green", "été"}},
		carrier.NewQuestion{Type: carrier.Textarea}, carrier.NewQuestion{Type: carrier.Text}, carrier.NewQuestion{Type: carrier.Date},
		carrier.NewQuestion{Type: carrier.Number}, carrier.NewQuestion{Type: carrier.Smiley}, carrier.NewQuestion{Type: carrier.Rating, Max: 3},
		carrier.NewQuestion{Type: carrier.CES})
	values := [][]string{
		{"0", "6", "7", "9", "10"},
		{"1", "5", "10"},
		{"1", "4", "5"},
		{"Price", "Quality", "7"},
		{"Red", "Green", "été"},
		someWords, someWords,
		{"2026-01-31", "2025-12-24"},
		{"3", "-2.5", "1e3", "3.0"},
		{"1", "5"},
		{"1", "3"},
		{"1", "7"},
	}
	for i, q := range made.Questions {
		w.speaks.Questions = append(w.speaks.Questions, fqltest.Question{ID: q.ID, Type: string(q.Type), Values: values[i]})
	}
	return made
}

// secondTeam gives a few carriers to another team.
func (w *world) secondTeam(exec func(string, ...any)) int64 {
	w.t.Helper()
	var team, main int64
	if err := w.server.db.QueryRow(w.t.Context(), `INSERT INTO team (organization_id, name) VALUES ($1, 'Second') RETURNING id`, w.view.Org()).Scan(&team); err != nil {
		w.t.Fatal(err)
	}
	if err := w.server.db.QueryRow(w.t.Context(), `SELECT id FROM team WHERE organization_id = $1 AND main`, w.view.Org()).Scan(&main); err != nil {
		w.t.Fatal(err)
	}
	for _, id := range []int64{11, 12} {
		exec(`INSERT INTO carrier (organization_id, id, team_id, name) VALUES ($1, $2, $3, 'Carrier')`, w.view.Org(), id, team)
	}
	w.speaks.Teams = []int64{main, team}
	return team
}

func (w *world) teamOf(id, _, second int64) int64 {
	if id == 11 || id == 12 {
		return second
	}
	return w.speaks.Teams[0]
}

func (w *world) topics(exec func(string, ...any)) []fqltest.Topic {
	w.t.Helper()
	for _, name := range []string{"Delivery", "delivery", "Price_100%", "Staff"} {
		var id int64
		if err := w.server.db.QueryRow(w.t.Context(), `INSERT INTO topic (organization_id, name) VALUES ($1, $2) RETURNING id`, w.view.Org(), name).Scan(&id); err != nil {
			w.t.Fatal(err)
		}
		w.speaks.Topics = append(w.speaks.Topics, fqltest.Topic{ID: id, Name: name})
	}
	return w.speaks.Topics
}

// moment is a random time: now and then exactly where a day begins or ends.
func (w *world) moment(r *rand.Rand) time.Time {
	day := w.speaks.Now.In(w.speaks.Zone).AddDate(0, 0, -r.IntN(500)+3)
	y, m, d := day.Date()
	at := time.Date(y, m, d, 0, 0, 0, 0, w.speaks.Zone)
	switch r.IntN(4) {
	case 0:
	case 1:
		at = at.Add(-time.Microsecond)
	default:
		at = at.Add(time.Duration(r.Int64N(int64(24 * time.Hour)))).Truncate(time.Microsecond)
	}
	if gap := at.Sub(w.speaks.Now).Abs(); gap < time.Hour {
		at = at.Add(-2 * time.Hour)
	}
	return at.UTC()
}

// add creates one record through the store and tells the oracle of it.
func (w *world) add(t *testing.T, r *rand.Rand, made carrier.Carrier, i int, owners []account.User, topics []fqltest.Topic, exec func(string, ...any)) {
	t.Helper()
	at := w.moment(r)
	source := feedback.Source(1 + r.IntN(6))
	n := feedback.New{CarrierID: []int64{made.ID, 11, 12, 13}[r.IntN(4)], Source: source, CreatedAt: &at, Fingerprint: fmt.Sprintf("Print_%d%%", i)}
	rec := fqltest.Record{CreatedAt: at, Carrier: n.CarrierID, Source: source.String(), Status: "todo", Fingerprint: n.Fingerprint}
	if r.IntN(3) > 0 {
		values := pick(r, someCities, 1+r.IntN(3))
		n.Attributes = append(n.Attributes, attribute("city", values))
		rec.Attributes = append(rec.Attributes, fqltest.Attribute{Name: "city", Values: values})
	}
	if r.IntN(2) > 0 {
		values := []string{strconv.Itoa(i)}
		n.Attributes = append(n.Attributes, attribute("unique", values))
		rec.Attributes = append(rec.Attributes, fqltest.Attribute{Name: "unique", Values: values})
	}
	for k, q := range made.Questions {
		if r.IntN(3) > 0 {
			continue
		}
		asked := w.speaks.Questions[k]
		count := 1
		if q.Type == carrier.MultipleChoice {
			count = 1 + r.IntN(2)
		}
		for _, value := range pick(r, asked.Values, count) {
			item := carrier.Item{QuestionID: q.ID, Value: value}
			if q.Type == carrier.RatingsTable {
				item.OptionID = q.Options[r.IntN(2)].ID
			}
			if r.IntN(12) == 0 && q.Type != carrier.MultipleChoice {
				item.Value = ""
			} else if q.Type == carrier.Textarea || q.Type == carrier.Text {
				item.Value = strings.Join(pick(r, someWords, 1+r.IntN(4)), " ")
			}
			n.Items = append(n.Items, item)
			rec.Answers = append(rec.Answers, fqltest.Answer{Question: q.ID, Type: asked.Type, Value: item.Value})
		}
	}
	created, err := w.server.Feedback.Create(t.Context(), w.view, n, &fault.Form{})
	if err != nil {
		t.Fatal(err)
	}
	rec.ID, rec.CompletedAt = created.ID, created.CompletedAt
	rec.Nps = map[carrier.Profile]string{carrier.Negative: "negative", carrier.Neutral: "neutral", carrier.Positive: "positive"}[created.Profile]
	if created.Satisfaction != nil {
		rec.Satisfaction = new(int(*created.Satisfaction))
	}
	w.decorate(t, r, &rec, owners, topics, exec)
	w.records = append(w.records, rec)
	w.speaks.IDs = append(w.speaks.IDs, rec.ID)
	w.speaks.Carriers = append(w.speaks.Carriers, rec.Carrier)
	w.speaks.Times = append(w.speaks.Times, rec.CreatedAt)
	w.speaks.Fingerprints = append(w.speaks.Fingerprints, rec.Fingerprint)
	if rec.Satisfaction != nil {
		w.speaks.Satisfactions = append(w.speaks.Satisfactions, *rec.Satisfaction)
	}
}

// decorate gives a record what other rooms write: status, sentiment, topics, owners.
func (w *world) decorate(t *testing.T, r *rand.Rand, rec *fqltest.Record, owners []account.User, topics []fqltest.Topic, exec func(string, ...any)) {
	t.Helper()
	if r.IntN(2) > 0 {
		rec.Status = feedback.StatusNames()[r.IntN(5)]
		status, _ := feedback.ParseStatus(rec.Status)
		if _, err := w.server.Feedback.SetStatus(t.Context(), w.view, feedback.By{}, rec.ID, status); err != nil {
			t.Fatal(err)
		}
	}
	if r.IntN(2) > 0 {
		rec.Sentiment = new([]int{0, 4000, 4001, 5000, 6000, 6001, 10000}[r.IntN(7)])
		w.speaks.Sentiments = append(w.speaks.Sentiments, *rec.Sentiment)
	}
	// Whatever was read in the text: the oracle is to know values on both sides of every edge.
	exec(`UPDATE feedback SET sentiment = $3 WHERE organization_id = $1 AND id = $2`, w.view.Org(), rec.ID, rec.Sentiment)
	if r.IntN(2) > 0 {
		rec.Topics = pick(r, topics, 1+r.IntN(2))
		ids := make([]int64, len(rec.Topics))
		for i, topic := range rec.Topics {
			ids[i] = topic.ID
		}
		exec(`UPDATE feedback SET topic_ids = $3 WHERE organization_id = $1 AND id = $2`, w.view.Org(), rec.ID, ids)
	}
	if r.IntN(3) > 0 {
		for _, u := range pick(r, owners, 1+r.IntN(2)) {
			rec.Owners = append(rec.Owners, u.Email)
			exec(`INSERT INTO feedback_owner (organization_id, feedback_id, user_id) VALUES ($1, $2, $3)`, w.view.Org(), rec.ID, u.ID)
		}
	}
}

func attribute(name string, texts []string) feedback.Attribute {
	a := feedback.Attribute{Name: name}
	for _, text := range texts {
		a.Values = append(a.Values, feedback.Value{Text: text})
	}
	return a
}

// pick takes n different ones.
func pick[T any](r *rand.Rand, from []T, n int) []T {
	var out []T
	for _, i := range r.Perm(len(from))[:min(n, len(from))] {
		out = append(out, from[i])
	}
	return out
}

// Random queries over random records find exactly what the oracle finds, and count it. EARSHOT_ORACLE sets how many queries are tried.
func TestListAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	queries, size := 400, 150
	if n, err := strconv.Atoi(os.Getenv("EARSHOT_ORACLE")); err == nil {
		queries, size = n, 700
	}
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("EARSHOT_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("seed %d (EARSHOT_SEED), %d queries (EARSHOT_ORACLE)", seed, queries)
	r := rand.New(rand.NewPCG(seed, 1))
	db, err := pg.Open(t.Context(), pg.Settings{URL: pgtest.URL(t), MaxConns: 4, StatementTimeout: time.Minute, CustomPlans: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s := newServer(db)
	var worlds []*world
	for _, zone := range []string{"UTC", "America/Santiago", "Asia/Kolkata"} {
		worlds = append(worlds, newWorld(t, s, r, zone, size))
	}
	reached, matched := map[string]bool{}, 0
	for i := range queries {
		w := worlds[r.IntN(len(worlds))]
		query := fqltest.Random(r, w.speaks)
		for _, pair := range fqltest.Coverage(query) {
			reached[pair] = true
		}
		want := []int64{}
		for _, rec := range w.records {
			ok, err := fqltest.Match(query, rec, w.speaks.Now, w.speaks.Zone)
			if err != nil {
				t.Fatalf("the oracle refuses %s: %v", query, err)
			}
			if ok {
				want = append(want, rec.ID)
			}
		}
		matched += min(1, len(want))
		w.compare(t, query, want, i%20 == 0)
		if t.Failed() {
			t.Fatalf("query %d in %s", i, w.speaks.Zone)
		}
	}
	t.Logf("%d of %d queries matched something", matched, queries)
	for selector, ops := range fqltest.Selectors() {
		for _, op := range ops {
			if queries >= 20_000 && !reached[selector+" "+op] {
				t.Errorf("%s %s was never tried", selector, op)
			}
		}
	}
}

// compare walks the whole list through the store, and for a sample over HTTP.
func (w *world) compare(t *testing.T, query string, want []int64, overHTTP bool) {
	t.Helper()
	q, err := feedback.Filters.Parse(query)
	if err != nil {
		t.Fatalf("refused %s: %v", query, err)
	}
	if again, err := feedback.Filters.Parse(q.String()); err != nil || cmp.Diff(q.String(), again.String()) != "" {
		t.Errorf("%s is printed as %s, which reads as %s, %v", query, q, again, err)
	}
	page, total, err := w.server.Feedback.List(t.Context(), w.view, q, feedback.Page{Size: len(w.records) + 1, Ascending: true})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	got := []int64{}
	for _, rec := range page {
		got = append(got, rec.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" || total != int64(len(want)) {
		t.Errorf("%s\n%s\ntotal %d, want %d (-oracle +list)\n%s", query, q.Sentence(), total, len(want), diff)
	}
	if !overHTTP {
		return
	}
	other := *w.client
	other.t = t
	slices.Reverse(want)
	a := other.list(query, "&per_page=100").is("meta.total", strconv.Itoa(len(want)))
	for i, id := range a.ids() {
		if id != strconv.FormatInt(want[i], 10) {
			t.Errorf("%s over HTTP: %v", query, a.ids())
			break
		}
	}
}
