package fql_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"earshot/internal/fql"
	"earshot/internal/fql/fqltest"
)

// Whatever is given as a filter is either a query whose canonical form is the same query, or refused in words.
func FuzzParse(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	w := world()
	for range 60 {
		f.Add(fqltest.Random(r, w))
	}
	for _, seed := range []string{
		``, ` `, `[]`, `null`, `{}`, `[[]]`, `[{}]`, `[{"":{}}]`, `[{"Id":{"$eq":-0}}]`, `[{"Id":{"$eq":1e999999}}]`, `[{"Attribute":{"name":"a","$gt":0e-99999}}]`,
		`[{"Attribute":{"name":"\u0000","$eq":"\ud800"}}]`, `[{"name":"a","id":1,"Attribute":{"$like":["%","_"]},"Question":{"$btw":[1,"2"]}}]`,
		`[{"attribute_values":{"attribute":{"name":{"$eq":"a"}},"value":{"$nin":[1,"b",2.50]}}}]`, `[{"topics":{"id":{"$in":["1",2]},"$type":"or"}},[{"Text":{"$nlike":"x"}}]]`,
		`[{"TimePeriod":{"$in":["today","0001-01-01","9999-12-31T23:59:59.999999999Z","2026-01-31 09:15:00+14:00"]}}]`, `[{"Satisfaction":{"$btw":["0.005",1e2]}}]`,
		`[{"Sentiment":{"$eq":["positive",41,"50.5"]},"Nps":{"$ne":"PROMOTER"}}]`, `[{"Status":{"$eq":"todo","$EQ":"progress"}}]`, `[{"Id":{"$eq":1,"$eq":2}}]`,
	} {
		f.Add(seed)
	}
	now, zone := time.Date(2026, 1, 31, 9, 15, 0, 0, time.UTC), time.FixedZone("", 5*3600+1800)
	f.Fuzz(func(t *testing.T, text string) {
		q, err := language.Parse(text)
		if err != nil {
			checkMessage(t, text, err)
			return
		}
		readsBack(t, text, q)
		_ = q.Sentence()
		for _, c := range q.Conditions() {
			if c.Field == fql.CreatedAt || c.Field == fql.CompletedAt {
				_ = c.Ranges(now, zone)
			}
		}
	})
}
