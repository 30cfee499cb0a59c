package feedback_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/fql/fqltest"
	"earshot/internal/pg/pgtest"
)

// Every query that is accepted is answered: no statement it becomes is one the database refuses, for anybody, in either order, whatever
// the values. EARSHOT_QUERIES sets how many are tried.
func TestRandomQueriesRun(t *testing.T) {
	t.Parallel()
	queries := 300
	if n, err := strconv.Atoi(os.Getenv("EARSHOT_QUERIES")); err == nil {
		queries = n
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	db := pgtest.DB(t)
	carriers := carrier.NewStore(db)
	store := feedback.NewStore(db, db, carriers, analysis.NewStore(db))
	whole := organization(t, db)
	w := small(t, db, store, carriers, whole)
	views := []account.View{whole, whole, whole, restricted(t, db, whole)}
	replace := replacer{r, false}
	for i := range queries {
		text := fqltest.Random(r, w)
		q := query(t, text)
		if r.IntN(3) == 0 { // as odd as values get
			q = query(t, replace.query(q.String()))
		}
		page := feedback.Page{Size: 1 + r.IntN(10), Ascending: i%2 == 0}
		if r.IntN(3) == 0 {
			page.After = new(r.Int64())
		}
		records, total, err := store.List(t.Context(), views[r.IntN(len(views))], q, page)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, q, err)
		}
		if int64(len(records)) > total || len(records) > page.Size {
			t.Errorf("seed %d: %s: %d records on a page of %d, %d in all", seed, q, len(records), page.Size, total)
		}
		if r.IntN(10) == 0 {
			if e, err := store.Explain(t.Context(), whole, q); err != nil || e.EstimatedRows < 0 || e.EstimatedCost <= 0 {
				t.Fatalf("seed %d: explain %s: %+v, %v", seed, q, e, err)
			}
		}
	}
}

// small fills an organization with a few records that have questions of every type, attributes, topics and owners.
func small(t *testing.T, db *pgxpool.Pool, store *feedback.Store, carriers *carrier.Store, v account.View) fqltest.World {
	t.Helper()
	w := spoken()
	w.Now = time.Now()
	var questions []carrier.NewQuestion
	for i, q := range []carrier.NewQuestion{
		{Type: carrier.NPS},
		{Type: carrier.Slider, Max: 10},
		{Type: carrier.Smiley},
		{Type: carrier.Rating},
		{Type: carrier.CES},
		{Type: carrier.RatingsTable, Options: []string{"Staff", "Food"}},
		{Type: carrier.Choice, Options: []string{"Price", "7"}},
		{Type: carrier.MultipleChoice, Options: []string{"Red", "Green"}},
		{Type: carrier.Textarea},
		{Type: carrier.Text},
		{Type: carrier.Date},
		{Type: carrier.Number},
	} {
		q.Name = fmt.Sprintf("Question %d", i)
		questions = append(questions, q)
	}
	made, err := carriers.Create(t.Context(), v, carrier.New{Name: "Survey", Questions: questions})
	if err != nil {
		t.Fatal(err)
	}
	values := []string{"9", "10", "1", "5", "7", "4", "Price", "Red", "Too late, refund!", "Très bien", "2026-01-31", "-1.50"}
	w.Questions = nil
	for i, q := range made.Questions {
		w.Questions = append(w.Questions, fqltest.Question{ID: q.ID, Type: string(q.Type), Values: []string{values[i]}})
	}
	w.IDs = nil
	for i := range 12 {
		n := feedback.New{
			CarrierID: made.ID, Source: feedback.Source(1 + i), CreatedAt: new(w.Now.AddDate(0, -i, i)), Fingerprint: fmt.Sprintf("order-%d", i),
			Attributes: []feedback.Attribute{{Name: "city", Values: []feedback.Value{{Text: "Lyon"}, {Text: strconv.Itoa(i), IsNumber: true}}}},
		}
		for k, q := range made.Questions {
			if (i+k)%3 == 0 {
				continue
			}
			item := carrier.Item{QuestionID: q.ID, Value: values[k]}
			if q.Type == carrier.RatingsTable {
				item.OptionID = q.Options[0].ID
			}
			n.Items = append(n.Items, item)
		}
		rec, err := store.Create(t.Context(), v, n, &fault.Form{})
		if err != nil {
			t.Fatal(err)
		}
		w.IDs = append(w.IDs, rec.ID)
	}
	for _, sql := range []string{
		`INSERT INTO topic (organization_id, name) VALUES ($1, 'Delivery')`,
		`UPDATE feedback SET sentiment = 4000, topic_ids = (SELECT array_agg(id) FROM topic WHERE organization_id = $1) WHERE organization_id = $1 AND id % 2 = 0`,
	} {
		if _, err := db.Exec(t.Context(), sql, v.Org()); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// restricted is what a restricted viewer who owns some of the records sees.
func restricted(t *testing.T, db *pgxpool.Pool, v account.View) account.View {
	t.Helper()
	accounts := account.NewStore(db)
	u, err := accounts.OpenUser(t.Context(), v, account.User{Email: "jane@example.com", Name: "Jane", Role: account.RestrictedViewer})
	if err != nil {
		t.Fatal(err)
	}
	_, token, err := accounts.IssueToken(t.Context(), v, account.NewToken{UserID: &u.ID})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `INSERT INTO feedback_owner (organization_id, feedback_id, user_id)
		SELECT organization_id, id, $2 FROM feedback WHERE organization_id = $1 AND id % 3 = 0`, v.Org(), u.ID); err != nil {
		t.Fatal(err)
	}
	p, err := accounts.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return p.View()
}
