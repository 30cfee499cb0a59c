package corpus

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
)

// What an organization has, however many feedback.
const (
	Carriers = 20
	cities   = 100
	topics   = 24
	orders   = "order_number" // a value of its own for every feedback
	Plan     = "plan"
	city     = "city"
)

// Plans are the values of Plan; the first three are had by 0.01 %, 1 % and 30 % of the feedback, the others share the rest.
var Plans = []string{"founder", "enterprise", "plus", "free", "basic", "pro", "team"}

// The closed answers of a feedback are one of so many combinations, each a list of what may be answered to one question. A repeated
// answer is the more frequent for it, an empty one was not given.
var (
	scores  = strings.Split(",,0,2,4,5,6,6,7,7,8,8,9,9,10,10", ",")
	ratings = strings.Split(",1,2,3,4,4,5,5", ",")
	choices = []string{"Price", "Quality", "Staff", "Speed"}
)

// combinations is a power of two: a template is chosen by bits of a hash.
var combinations = len(scores) * len(ratings) * len(choices)

// scaffold holds what feedback are made from. It is dropped when they are.
const scaffold = `
CREATE SCHEMA bench;
CREATE TABLE bench.organization (
    n int, organization_id bigint, size bigint, since float8, step float8, templates int, rare_every bigint,
    order_attribute bigint, first_order bigint, plan_attribute bigint, first_plan bigint, city_attribute bigint, first_city bigint, first_topic bigint);
CREATE TABLE bench.template (
    key int, carrier_id bigint, answer_ids bigint[], completed boolean, nps_profile smallint, satisfaction smallint,
    items jsonb, text_question bigint, text_presence bigint, text_mark text);
CREATE TABLE bench.fragment (n int, text text);`

// prepare makes the organizations with carriers and attributes, as the product does it, and the templates of their feedback.
func prepare(ctx context.Context, db *pgxpool.Pool, sizes []sized) ([]account.View, error) {
	if _, err := db.Exec(ctx, scaffold); err != nil {
		return nil, err
	}
	var views []account.View
	byPlace := map[string]sized{}
	for n, s := range sizes {
		org, err := account.NewStore(db).OpenOrganization(ctx, s.name)
		if err != nil {
			return nil, err
		}
		v := account.Whole(org.ID)
		if err := addTemplates(ctx, db, v, n); err != nil {
			return nil, err
		}
		if err := addAttributes(ctx, db, v, n, s.size); err != nil {
			return nil, err
		}
		views = append(views, v)
		byPlace[s.name] = s
	}
	pieces := sentences()
	_, err := db.CopyFrom(ctx, pgx.Identifier{"bench", "fragment"}, []string{"n", "text"},
		pgx.CopyFromSlice(len(pieces), func(i int) ([]any, error) { return []any{i, pieces[i]}, nil }))
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(ctx, recordView(byPlace[NameSmall].size, byPlace[NameLarge].size, byPlace[NameTiny].size)+`;
		ANALYZE bench.organization, bench.template, bench.fragment`)
	return views, err
}

// addTemplates makes the carriers of an organization and every combination of closed answers to their questions, worth what the
// product says they are.
func addTemplates(ctx context.Context, db *pgxpool.Pool, v account.View, n int) error {
	store := carrier.NewStore(db)
	var rows [][]any
	for i := range Carriers {
		c, err := store.Create(ctx, v, carrier.New{Name: fmt.Sprintf("Survey %02d", i+1), Questions: []carrier.NewQuestion{
			{Name: "Would you recommend us?", Type: carrier.NPS},
			{Name: "How was it?", Type: carrier.Rating, Max: 5},
			{Name: "What mattered most?", Type: carrier.Choice, Options: choices},
			{Name: "Anything else?", Type: carrier.Textarea},
		}})
		if err != nil {
			return err
		}
		var form fault.Form
		rules, err := store.Rules(ctx, v, c.ID, nil, &form)
		if err != nil {
			return err
		}
		text := c.Questions[3]
		for k := range combinations {
			res := rules.Check(closedAnswers(c, k), &form)
			var profile *carrier.Profile
			if res.Profile != 0 {
				profile = &res.Profile
			}
			items, err := json.Marshal(stored(res.Answers))
			if err != nil {
				return err
			}
			rows = append(rows, []any{
				(n*Carriers+i)*combinations + k, c.ID, res.AnswerIDs, res.Completed, profile, carrier.Satisfaction(res.Scale, nil),
				string(items), text.ID, text.PresenceID, QuestionMark(text.ID),
			})
		}
		if err := form.Err(); err != nil {
			return err
		}
	}
	_, err := db.CopyFrom(ctx, pgx.Identifier{"bench", "template"}, []string{
		"key", "carrier_id", "answer_ids", "completed", "nps_profile", "satisfaction",
		"items", "text_question", "text_presence", "text_mark",
	}, pgx.CopyFromRows(rows))
	return err
}

// closedAnswers is the k-th combination.
func closedAnswers(c carrier.Carrier, k int) []carrier.Item {
	var items []carrier.Item
	for i, values := range [][]string{scores, ratings, choices} {
		value := values[k%len(values)]
		k /= len(values)
		if value != "" {
			items = append(items, carrier.Item{QuestionID: c.Questions[i].ID, Value: value})
		}
	}
	return items
}

// storedItem is an item as the feedback room stores it.
type storedItem struct {
	Question int64  `json:"q"`
	Value    string `json:"v"`
	Option   int64  `json:"o,omitempty"`
}

func stored(answers []carrier.Answer) []storedItem {
	items := make([]storedItem, len(answers))
	for i, a := range answers {
		items[i] = storedItem{a.QuestionID, a.Value, a.OptionID}
	}
	return items
}

// QuestionMark is how the feedback room spells a question's number before its answer in search_text.
func QuestionMark(id int64) string {
	return strings.Map(func(r rune) rune { return r - '0' + 1 }, strconv.FormatInt(id, 8))
}

// addAttributes adds the dictionary of an organization, topics included, but for the order numbers, for which it sets ids aside.
func addAttributes(ctx context.Context, db *pgxpool.Pool, v account.View, n, size int) error {
	names := make([]string, cities)
	for i := range names {
		names[i] = fmt.Sprintf("City %03d", i+1)
	}
	texts := size / textEvery
	row := []any{n, v.Org(), size, n * Carriers * combinations, texts / max(2, texts/20_000)}
	for _, a := range []struct {
		name   string
		values []string
		room   int
	}{{orders, nil, size + 1}, {Plan, Plans, len(Plans)}, {city, names, cities}} {
		var id, first int64
		err := db.QueryRow(ctx, `
			INSERT INTO attribute (organization_id, name, label, rolled_up) VALUES ($1, $2, $2, $3) RETURNING id`,
			v.Org(), a.name, a.name != orders).Scan(&id)
		if err != nil {
			return err
		}
		err = db.QueryRow(ctx, `SELECT setval('dictionary_id', nextval('dictionary_id') + $1) - $1`, a.room).Scan(&first)
		if err != nil {
			return err
		}
		_, err = db.Exec(ctx, `
			INSERT INTO attribute_value (organization_id, id, attribute_id, text, folded, text_sha256, is_number)
			SELECT $1, $2 + u.n - 1, $3, u.text, nullif(lower(u.text), u.text), sha256(convert_to(u.text, 'UTF8')), false
			FROM unnest($4::text[]) WITH ORDINALITY AS u (text, n)`, v.Org(), first, id, a.values)
		if err != nil {
			return err
		}
		row = append(row, id, first)
	}
	_, err := db.Exec(ctx, `
		WITH added AS (
			INSERT INTO topic (organization_id, name) SELECT $2, 'Topic ' || n FROM generate_series(1, $12::int) AS n ORDER BY n RETURNING id
		)
		INSERT INTO bench.organization
		SELECT $1, $2, $3::bigint, extract(epoch FROM now()) - 1095 * 86400, 1095 * 86400::float8 / $3::bigint,
		       $4, $5, $6, $7, $8, $9, $10, $11, (SELECT min(id) FROM added)`, append(row, topics)...)
	return err
}
