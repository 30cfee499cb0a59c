package fqltest_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"earshot/internal/fql/fqltest"
)

// The clock of most tests: a Tuesday morning, two days after Berlin set its clocks forward.
var (
	berlin = zone("Europe/Berlin")
	now    = instant("2026-03-31T08:00:00Z")
)

// full has something everywhere; it was made in the first hour of a Sunday in Berlin, still Saturday in UTC.
var full = fqltest.Record{
	ID: 100, CreatedAt: instant("2026-03-28T23:30:00Z"), CompletedAt: new(instant("2026-03-28T23:30:00Z")),
	Carrier: 453, Team: 7, Source: "email", Status: "todo", Nps: "positive",
	Satisfaction: new(6667), Sentiment: new(4000),
	Attributes: []fqltest.Attribute{
		{Name: "city", Values: []string{"Paris", "Łódź 100%"}},
		{Name: "amount", Values: []string{"9.5", "12", "n/a", "007", "1e999"}},
		{Name: "size", Values: []string{"1.50"}},
		{Name: "note", Values: []string{""}},
		{Name: "gone", Values: nil},
	},
	Topics: []fqltest.Topic{{ID: 1, Name: "Price"}, {ID: 2, Name: "Staff_Manners"}},
	Answers: []fqltest.Answer{
		{Question: 11, Type: "nps", Value: "9"},
		{Question: 12, Type: "slider", Value: "7.0"},
		{Question: 13, Type: "choice", Value: "Red"},
		{Question: 14, Type: "multiple_choice", Value: "10"},
		{Question: 14, Type: "multiple_choice", Value: "Other"},
		{Question: 15, Type: "textarea", Value: "Great Service, 50% off. ÉTÉ"},
		{Question: 16, Type: "text", Value: ""},
		{Question: 17, Type: "number", Value: "10.50"},
		{Question: 18, Type: "date", Value: "2026-01-31"},
		{Question: 19, Type: "ratings_table", Value: "4"},
		{Question: 19, Type: "ratings_table", Value: "2"},
		{Question: 20, Type: "nps", Value: ""},
	},
	Owners: []string{"Ann@Example.com", "bob@example.com"}, Fingerprint: "Abc-1",
}

// bare has only what every feedback has.
var bare = fqltest.Record{
	ID: 101, CreatedAt: instant("2026-03-28T22:30:00Z"), Carrier: 454, Team: 8, Source: "widget", Status: "resolved",
	Fingerprint: "zzz",
}

// judged says whether a query selects full and whether it selects bare.
type judged struct{ full, bare bool }

func judge(t *testing.T, cases map[string]judged) {
	t.Helper()
	for query, want := range cases {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			got := judged{match(t, query, full), match(t, query, bare)}
			if got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// Members of a group and selectors of an object are ANDed; groups too, until one clause says or.
func TestMatchStructure(t *testing.T) {
	t.Parallel()
	judge(t, map[string]judged{
		`[]`: {true, true},
		`[{"Id":{"$eq":100}},{"Form":{"$eq":454}}]`:               {false, false},
		`[[{"Id":{"$eq":100}}],[{"Form":{"$eq":453}}]]`:           {true, false},
		`[{"Id":{"$eq":100}},{"Form":{"$eq":454,"$type":"or"}}]`:  {true, true},
		`[{"Id":{"$eq":100,"$type":"or"}},{"Form":{"$eq":454}}]`:  {true, true},
		`[{"Id":{"$eq":100,"$type":"and"}},{"Form":{"$eq":454}}]`: {false, false},
		// With one group there is nothing to choose from, and inside a group clauses stay ANDed.
		`[{"Id":{"$eq":100,"$type":"or"}}]`:                                             {true, false},
		`[[{"Id":{"$eq":100}},{"Form":{"$eq":454,"$type":"or"}}]]`:                      {false, false},
		`[[{"Id":{"$eq":100}},{"Form":{"$eq":453,"$type":"or"}}],{"Team":{"$eq":8}}]`:   {true, true},
		`[{"Id":{"$eq":100},"Form":{"$eq":454}}]`:                                       {false, false},
		`[{"Id":{"$eq":100},"Form":{"$eq":453}}]`:                                       {true, false},
		`[{"Id":{"$eq":100},"Form":{"$eq":454,"$type":"or"}},{"Id":{"$eq":101}}]`:       {false, true},
		`[{"Id":{"$gt":99,"$lt":101}}]`:                                                 {true, false},
		`[{"topics":{"id":{"$eq":1},"$type":"or"}},{"Id":{"$eq":101}}]`:                 {true, true},
		`[{"Attribute":{"$eq":"Paris","$type":"or"},"name":"city"},{"Id":{"$eq":101}}]`: {true, true},
		// Each operator is judged on its own: one value is above 10 and another below it.
		`[{"Attribute":{"name":"amount","$gt":10,"$lt":10}}]`: {true, false},
	})
}

// Names ignore case and underscores, and have aliases.
func TestMatchSelectorNames(t *testing.T) {
	t.Parallel()
	judge(t, map[string]judged{
		`[{"ID":{"$eq":100}}]`:                                                                 {true, false},
		`[{"id":{"$eq":100}}]`:                                                                 {true, false},
		`[{"Carrier":{"$eq":453}}]`:                                                            {true, false},
		`[{"carrier_id":{"$eq":453}}]`:                                                         {true, false},
		`[{"CARRIERID":{"$eq":453}}]`:                                                          {true, false},
		`[{"time_period":{"$eq":"2026-03-29"}}]`:                                               {true, false},
		`[{"CREATED_AT":{"$eq":"2026-03-28"}}]`:                                                {false, true},
		`[{"completedat":{"$exists":true}}]`:                                                   {true, false},
		`[{"nps_profile":{"$eq":"positive"}}]`:                                                 {true, false},
		`[{"satisfaction_ratio":{"$gt":50}}]`:                                                  {true, false},
		`[{"Topics":{"$eq":"Price"}}]`:                                                         {true, false},
		`[{"Question":{"$eq":9},"id":11}]`:                                                     {true, false},
		`[{"Question":{"$eq":9,"id":"11"},"id":{"$eq":100}}]`:                                  {true, false},
		`[{"Attribute":{"$eq":"Paris"},"name":"city"}]`:                                        {true, false},
		`[{"attribute":{"$eq":"Paris","name":"city"}}]`:                                        {true, false},
		`[{"Attribute":{"$eq":"Paris"},"name":"City"}]`:                                        {false, false},
		`[{"Team":{"$eq":7},"Attribute":{"$in":[]},"name":"note"}]`:                            {false, false},
		`[{"attribute_values":{"attribute":{"name":{"$eq":"city"}},"value":{"$eq":"Paris"}}}]`: {true, false},
		`[{"AttributeValues":{"attribute":{"name":{"$eq":"city"}},"value":{"$ne":"Paris"}}}]`:  {false, true},
	})
}

func TestMatchNumbers(t *testing.T) {
	t.Parallel()
	judge(t, map[string]judged{
		`[{"Id":{"$eq":"100"}}]`:          {true, false},
		`[{"Id":{"$ne":100}}]`:            {false, true},
		`[{"Id":{"$eq":[100,101]}}]`:      {true, true},
		`[{"Id":{"$ne":[100,101]}}]`:      {false, false},
		`[{"Id":{"$in":101}}]`:            {false, true},
		`[{"Id":{"$in":[]}}]`:             {false, false},
		`[{"Id":{"$nin":[]}}]`:            {true, true},
		`[{"Id":{"$eq":[]}}]`:             {false, false},
		`[{"Id":{"$ne":[]}}]`:             {true, true},
		`[{"Form":{"$gt":453}}]`:          {false, true},
		`[{"Form":{"$gte":"453"}}]`:       {true, true},
		`[{"Form":{"$lt":454}}]`:          {true, false},
		`[{"Team":{"$lte":7}}]`:           {true, false},
		`[{"Team":{"$btw":[7,8]}}]`:       {true, true},
		`[{"Team":{"$btw":[8,7]}}]`:       {false, false},
		`[{"Team":{"$exists":false}}]`:    {false, false},
		`[{"Topic":{"id":{"$eq":2}}}]`:    {true, false},
		`[{"Topic":{"id":{"$nin":[2]}}}]`: {false, true},
		`[{"Topic":{"id":{"$ne":[]}}}]`:   {true, true},
	})
}

// Scores that were not measured match no operator but $exists false, not even a negative one.
func TestMatchScores(t *testing.T) {
	t.Parallel()
	judge(t, map[string]judged{
		`[{"Satisfaction":{"$eq":66.67}}]`:                {true, false},
		`[{"Satisfaction":{"$eq":"66.670"}}]`:             {true, false},
		`[{"Satisfaction":{"$eq":66.671}}]`:               {false, false},
		`[{"Satisfaction":{"$ne":66.67}}]`:                {false, false},
		`[{"Satisfaction":{"$ne":50}}]`:                   {true, false},
		`[{"Satisfaction":{"$nin":[]}}]`:                  {true, false},
		`[{"Satisfaction":{"$gt":66.665}}]`:               {true, false},
		`[{"Satisfaction":{"$gt":66.67}}]`:                {false, false},
		`[{"Satisfaction":{"$gte":0}}]`:                   {true, false},
		`[{"Satisfaction":{"$lte":100}}]`:                 {true, false},
		`[{"Satisfaction":{"$btw":[66.67,66.67]}}]`:       {true, false},
		`[{"Satisfaction":{"$btw":[100,0]}}]`:             {false, false},
		`[{"Satisfaction":{"$exists":false}}]`:            {false, true},
		`[{"Sentiment":{"$eq":"negative"}}]`:              {true, false},
		`[{"Sentiment":{"$eq":"neutral"}}]`:               {false, false},
		`[{"Sentiment":{"$ne":"positive"}}]`:              {true, false},
		`[{"Sentiment":{"$ne":"negative"}}]`:              {false, false},
		`[{"Sentiment":{"$in":["positive",40]}}]`:         {true, false},
		`[{"Sentiment":{"$nin":["positive","neutral"]}}]`: {true, false},
		`[{"Sentiment":{"$lt":40.01}}]`:                   {true, false},
		`[{"Sentiment":{"$exists":true}}]`:                {true, false},
	})
}

// 40 is still negative and 60 still neutral.
func TestMatchSentimentBorders(t *testing.T) {
	t.Parallel()
	for score, want := range map[int]string{
		0: "negative", 4000: "negative", 4001: "neutral", 6000: "neutral", 6001: "positive", 10000: "positive",
	} {
		for _, label := range []string{"negative", "neutral", "positive"} {
			r := fqltest.Record{Sentiment: &score}
			if got := match(t, `[{"Sentiment":{"$eq":"`+label+`"}}]`, r); got != (label == want) {
				t.Errorf("%d %s: %v", score, label, got)
			}
		}
	}
}

func TestMatchNames(t *testing.T) {
	t.Parallel()
	judge(t, map[string]judged{
		`[{"Source":{"$eq":"EMail"}}]`:              {true, false},
		`[{"Source":{"$ne":"email"}}]`:              {false, true},
		`[{"Source":{"$in":["email","widget"]}}]`:   {true, true},
		`[{"Source":{"$nin":"WIDGET"}}]`:            {true, false},
		`[{"Status":{"$eq":["todo"]}}]`:             {true, false},
		`[{"Status":{"$exists":true}}]`:             {true, true},
		`[{"Nps":{"$eq":"Promoter"}}]`:              {true, false},
		`[{"Nps":{"$eq":"detractor"}}]`:             {false, false},
		`[{"Nps":{"$ne":"positive"}}]`:              {false, true},
		`[{"Nps":{"$nin":["passive","negative"]}}]`: {true, true},
		`[{"Nps":{"$exists":false}}]`:               {false, true},
		`[{"Owner":{"$eq":"ann@example.COM"}}]`:     {true, false},
		`[{"Owner":{"$ne":"bob@example.com"}}]`:     {false, true},
		`[{"Owner":{"$nin":["carl@example.com"]}}]`: {true, true},
		`[{"Owner":{"$like":"ANN@"}}]`:              {true, false},
		`[{"Owner":{"$nlike":["ann","carl"]}}]`:     {false, true},
		`[{"Owner":{"$exists":false}}]`:             {false, true},
		`[{"Fingerprint":{"$eq":"Abc-1"}}]`:         {true, false},
		`[{"Fingerprint":{"$eq":"abc-1"}}]`:         {false, false},
		`[{"Fingerprint":{"$like":["C-","y"]}}]`:    {true, false},
		`[{"Fingerprint":{"$exists":true}}]`:        {true, true},
		`[{"Topic":{"$eq":"price"}}]`:               {false, false},
		`[{"Topic":{"$like":"price"}}]`:             {true, false},
		`[{"Topic":{"$like":"staff%"}}]`:            {false, false},
		`[{"Topic":{"$like":"_m"}}]`:                {true, false},
		`[{"Topic":{"$like":"p_ice"}}]`:             {false, false},
		`[{"Topic":{"$ne":"Price"}}]`:               {false, true},
		`[{"Topic":{"$exists":true}}]`:              {true, false},
	})
}

func match(t *testing.T, query string, r fqltest.Record) bool {
	t.Helper()
	got, err := fqltest.Match(query, r, now, berlin)
	if err != nil {
		t.Errorf("%s: %v", query, err)
	}
	return got
}

func instant(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func zone(name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return z
}
