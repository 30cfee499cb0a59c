package httpapi_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"earshot/internal/carrier"
	"earshot/internal/fql"
)

// list of n texts, made by f, as JSON.
func jsonList(n int, f func(i int) string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = f(i)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// padded is a good query of exactly n bytes.
func padded(n int) string {
	const head, tail = `[{"Text":{"$like":"`, `"}}]`
	return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
}

type hostileQuery struct {
	query  string
	status int
}

// hostile are queries made to be slow, to break the parser or to be misread, with the status each is answered with.
func hostile() map[string]hostileQuery {
	all := heavyQueries()
	maps.Copy(all, oddQueries())
	return all
}

// heavyQueries are large.
func heavyQueries() map[string]hostileQuery {
	same := func(clause string) func(int) string { return func(int) string { return clause } }
	days := func(i int) string {
		return strconv.Quote(time.Date(2020, 1, 1+2*i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
	}
	texts := func(i int) string { return fmt.Sprintf(`"text %d"`, i) }
	numbers := func(i int) string { return strconv.Itoa(i) }
	return map[string]hostileQuery{
		"64 KiB":                      {padded(fql.MaxLength), 200},
		"more than 64 KiB":            {padded(fql.MaxLength + 1), 422},
		"64 KiB of blanks":            {strings.Repeat(" ", fql.MaxLength-2) + "[]", 200},
		"200 conditions":              {jsonList(200, same(`{"Attribute":{"name":"city","$ne":"Lyon"}}`)), 200},
		"200 groups":                  {jsonList(200, func(i int) string { return fmt.Sprintf(`{"Id":{"$eq":%d,"$type":"or"}}`, i) }), 200},
		"201 conditions":              {jsonList(201, same(`{"Id":{"$gt":0}}`)), 422},
		"200 kinds of conditions":     {jsonList(12, same(`{"Id":{"$gt":0,"$ne":5},"Text":{"$nlike":"q","$ne":"z"},"Owner":{"$ne":"a","$nlike":"b"},"Fingerprint":{"$ne":"x","$nlike":"yy"},"Topic":{"$ne":"t","$nlike":"uu"},"Team":{"$gt":0},"TimePeriod":{"$gt":"1999-01-01"},"CompletedAt":{"$ne":"1999-01-01"},"Sentiment":{"$exists":false},"Status":{"$exists":true},"Source":{"$exists":true}}`)), 200},
		"5,000 ids":                   {`[{"Id":{"$in":` + jsonList(5_000, numbers) + `}}]`, 200},
		"5,000 values":                {`[{"Attribute":{"name":"city","$nin":` + jsonList(5_000, numbers) + `}}]`, 200},
		"5,000 names":                 {`[{"Status":{"$in":` + jsonList(5_000, same(`"todo"`)) + `}}]`, 200},
		"5,000 percentages":           {`[{"Sentiment":{"$in":` + jsonList(5_000, func(i int) string { return strconv.Itoa(i % 101) }) + `}}]`, 200},
		"1,000 parts of texts":        {`[{"Text":{"$like":` + jsonList(1_000, texts) + `}}]`, 200},
		"1,000 texts":                 {`[{"Text":{"$nin":` + jsonList(1_000, texts) + `}}]`, 200},
		"4,000 owners":                {`[{"Owner":{"$like":` + jsonList(4_000, texts) + `}}]`, 200},
		"4,000 fingerprints":          {`[{"Fingerprint":{"$in":` + jsonList(4_000, texts) + `}}]`, 200},
		"1,000 parts of fingerprints": {`[{"Fingerprint":{"$like":` + jsonList(1_000, texts) + `}}]`, 200},
		"5,000 days":                  {`[{"TimePeriod":{"$in":` + jsonList(4_900, days) + `}}]`, 422},
		"5,000 other days":            {`[{"CompletedAt":{"$nin":` + jsonList(4_900, days) + `}}]`, 422},
		"10,000 times everything":     {`[{"TimePeriod":{"$in":` + jsonList(10_000, same(`"all"`)) + `}}]`, 200},
		"10,000 days and a source":    {`[{"TimePeriod":{"$in":` + jsonList(8_000, same(`"today"`)) + `}},{"Source":{"$eq":"email"}}]`, 200},
		"200 texts of one character":  {jsonList(200, same(`{"Text":{"$like":"e"}}`)), 200},
		"200 texts, none of them":     {jsonList(200, same(`{"Text":{"$nlike":"q"}}`)), 200},
		"200 texts, any of them":      {jsonList(200, same(`{"Text":{"$like":"q","$type":"or"}}`)), 200},
		"200 owners":                  {jsonList(200, same(`{"Owner":{"$exists":true}}`)), 200},
		"200 fingerprints":            {jsonList(200, same(`{"Fingerprint":{"$eq":"x"}}`)), 200},
		"200 parts of values":         {jsonList(200, same(`{"Attribute":{"name":"city","$like":"o"}}`)), 200},
	}
}

// oddQueries are small, and strange.
func oddQueries() map[string]hostileQuery {
	return map[string]hostileQuery{
		"brackets":                    {strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), 422},
		"open brackets":               {strings.Repeat("[", 10_000), 422},
		"braces":                      {`[` + strings.Repeat(`{"Id":`, 10_000), 422},
		"an escaped NUL":              {`[{"Text":{"$like":"a\u0000b"}}]`, 422},
		"an escaped NUL in a name":    {`[{"Attribute":{"name":"a\u0000b","$eq":1}}]`, 422},
		"an escaped NUL in a name, 2": {`[{"attribute_values":{"attribute":{"name":{"$eq":"a\u0000b"}},"value":{"$exists":true}}}]`, 422},
		"an escaped NUL in a key":     {`[{"Status\u0000":{"$eq":"todo"}}]`, 422},
		"a NUL":                       {"[{\"Text\":{\"$like\":\"a\x00b\"}}]", 400},
		"bytes that are no text":      {"[{\"Text\":{\"$like\":\"\xff\xfe\"}}]", 400},
		"half of a pair":              {`[{"Text":{"$like":"\ud800"}},{"Owner":{"$eq":"\udfff"}},{"Attribute":{"name":"\udc00\ud800","$eq":"\ud800"}}]`, 200},
		"a number beyond all":         {`[{"Attribute":{"name":"city","$gt":1e999999}}]`, 422},
		"a number beyond all, equal":  {`[{"Attribute":{"name":"city","$eq":1e999999}},{"Question":{"id":1,"$ne":-1e999999}}]`, 200},
		"an id beyond all":            {`[{"Id":{"$eq":1e999999}}]`, 422},
		"a percentage beyond all":     {`[{"Satisfaction":{"$gt":1e999999}}]`, 422},
		"a small percentage":          {`[{"Satisfaction":{"$gt":1e-300,"$ne":0e-999}},{"Sentiment":{"$nin":[1e-99,"positive"]}}]`, 200},
		"a zero of many decimals":     {`[{"Attribute":{"name":"city","$gt":0e-99999}}]`, 422},
		"a zero of few decimals":      {`[{"Attribute":{"name":"city","$btw":[0e-999,-0e999]}}]`, 200},
		"400 digits":                  {`[{"Id":{"$lt":` + strings.Repeat("9", 400) + `}}]`, 422},
		"60 digits":                   {`[{"Id":{"$lt":` + strings.Repeat("9", 60) + `,"$gt":-` + strings.Repeat("9", 60) + `,"$nin":[` + strings.Repeat("9", 60) + `]}}]`, 200},
		"400 decimals":                {`[{"Attribute":{"name":"city","$lt":0.` + strings.Repeat("9", 400) + `}},{"Satisfaction":{"$gte":33.` + strings.Repeat("3", 400) + `}}]`, 200},
		"20,000 decimals":             {`[{"Attribute":{"name":"city","$lt":1.` + strings.Repeat("9", 20_000) + `}}]`, 422},
		"20,000 digits, equal":        {`[{"Attribute":{"name":"city","$eq":` + strings.Repeat("9", 20_000) + `}}]`, 200},
		"wildcards":                   {`[{"Text":{"$like":["%","_","\\","\\%","%%%%%%%%%%%%%%%%%%%%","a%b_c\\"]}},{"Owner":{"$nlike":"%@%"}},{"Attribute":{"name":"%","$like":"_%"}}]`, 200},
		"regular expressions":         {`[{"Text":{"$like":["(a+)+$","^(.*)*$",".*","[[:alpha:]]","(","\\d{1,9999}","(?i)"]}},{"Fingerprint":{"$like":"(a|a)*b"}},{"Topic":{"$like":"["}}]`, 200},
		"statements":                  {`[{"Text":{"$like":"'; DROP TABLE feedback; --"}},{"Attribute":{"name":"$1) OR (1=1","$eq":"'||pg_sleep(9)||'"}},{"Owner":{"$eq":"\") OR TRUE --"}}]`, 200},
		"keys twice":                  {`[{"Id":{"$eq":1,"$eq":2}}]`, 422},
		"selectors twice":             {`[{"Id":{"$eq":1},"Id":{"$eq":2}}]`, 422},
		"upside down":                 {`[{"Id":{"$btw":[9,1]}},{"Satisfaction":{"$btw":[90,10]}},{"Attribute":{"name":"city","$btw":[5,-5]}},{"Question":{"id":1,"$btw":[5,-5]}}]`, 200},
		"days upside down":            {`[{"TimePeriod":{"$btw":["2026-02-01","2026-01-01"]}}]`, 200},
		"times upside down":           {`[{"TimePeriod":{"$btw":["2026-02-01T01:00:00Z","2026-01-01T01:00:00Z"]}},{"Status":{"$eq":"todo"}}]`, 200},
	}
}

// Hostile queries are answered within a second or refused, and never break anything.
func TestHostileQueries(t *testing.T) { //nolint:paralleltest // it is timed, and others would be timed with it
	w := smallWorld(t, "America/Santiago")
	for name, c := range hostile() { //nolint:paralleltest // they are timed
		t.Run(name, func(t *testing.T) {
			least := time.Hour
			for range 5 { // the machine may be busy with something else
				start := time.Now()
				a := w.quietly(t).list(c.query, "")
				least = min(least, time.Since(start))
				if a.status != c.status {
					t.Fatalf("status %d, want %d: %.300s", a.status, c.status, a.body)
				}
				if least < time.Second {
					return
				}
			}
			t.Errorf("it took %v", least)
		})
	}
}

// Times at the ends of the calendar are answered, with every operator, in zones on both sides of Greenwich, and mean what they say.
func TestTimesAtTheEndsOfTheCalendar(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "America/Santiago", "Asia/Kolkata"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			w := smallWorld(t, zone)
			all := len(w.records)
			first := []string{"0001-01-01", "0001-01-01T00:00:00Z", "0001-01-02T03:04:05.678901+14:00", "0001-12-31"}
			last := []string{"9999-12-31", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999999Z"}
			for i, day := range append(first, last...) {
				before, after := 0, all
				if i >= len(first) {
					before, after = all, 0
				}
				for operators, want := range map[string]int{
					`"$eq":%q`: 0, `"$ne":%q`: all, `"$in":[%q]`: 0, `"$nin":[%q]`: all, `"$gt":%q`: after, `"$gte":%q`: after, `"$lt":%q`: before, `"$lte":%q`: before,
					`"$btw":[%q,"9999-12-31"]`: after, `"$btw":["0001-01-01",%q]`: before, `"$btw":["9999-12-31",%q]`: 0, `"$btw":[%q,"0001-01-01"]`: 0,
				} {
					for _, rest := range []string{``, `,{"Status":{"$exists":true}}`, `,{"Id":{"$gt":0}}`} {
						query := fmt.Sprintf(`[{"TimePeriod":{`+operators+`}}`, day) + rest + `]`
						a := w.quietly(t).list(query, "")
						if a.status != http.StatusOK {
							t.Errorf("%s: %d %s", query, a.status, a.body)
						} else if got := fmt.Sprint(a.at("meta.total")); got != strconv.Itoa(want) || min(want, 10) != len(a.ids()) {
							t.Errorf("%s: total %s and %d records, want %d", query, got, len(a.ids()), want)
						}
					}
				}
			}
		})
	}
}

// smallWorld is an organization with a few records of every kind.
func smallWorld(t *testing.T, zone string) *world {
	t.Helper()
	return newWorld(t, newServer(newClient(t).server.db), rand.New(rand.NewPCG(1, 1)), zone, 30)
}

// quietly is the client of a world for one test.
func (w *world) quietly(t testing.TB) *client {
	mine := *w.client
	mine.t = t
	return &mine
}

// The ways to send a filter mean the same: text in the query, brackets in the query, text, array and form in a body.
func TestFilterIsSentInManyWays(t *testing.T) {
	t.Parallel()
	w := smallWorld(t, "UTC")
	c := w.quietly(t)
	const filter = `[{"Status":{"$in":["todo","progress"]}},{"Id":{"$gt":1}}]`
	want := c.list(filter, "").want(http.StatusOK).at("meta.total")
	brackets := "fql[0][Status][$in][]=todo&fql[0][Status][$in][]=progress&fql[1][Id][$gt]=1"
	if got := c.get("/v4/feedback?" + brackets).want(http.StatusOK).at("meta.total"); got != want {
		t.Errorf("brackets: %v, not %v", got, want)
	}
	for name, a := range map[string]answer{
		"text":     c.json(http.MethodPost, "/v4/fql/explain", map[string]any{"fql": filter}),
		"array":    c.json(http.MethodPost, "/v4/fql/explain", `{"fql":`+filter+`}`),
		"form":     c.form(http.MethodPost, "/v4/fql/explain", "fql="+filter),
		"brackets": c.form(http.MethodPost, "/v4/fql/explain", strings.Split(brackets, "&")...),
	} {
		if got := a.want(http.StatusOK).at("count"); got != want {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
	}
}

// The length of a filter is that of its text, however it is sent.
func TestLengthOfAnArray(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	filter := `[{"Text":{"$like":"` + strings.Repeat("<", 20_000) + `"}}]`
	c.list(filter, "").want(http.StatusOK)
	c.json(http.MethodPost, "/v4/fql/explain", `{"fql":`+filter+`}`).want(http.StatusOK)
}

// What counts as a number can be kept and compared as one: zeros with large exponents and endless decimals do not.
func TestNumbersNobodyCanCompare(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	made := c.carrier(carrier.NewQuestion{Type: carrier.Number})
	attribute := `{"carrier_id":1,"source":"email","attributes":[{"name":"n","value":%s}]}`
	c.create(fmt.Sprintf(attribute, `"0e-20000"`)).want(http.StatusCreated)
	c.create(fmt.Sprintf(attribute, `0e-999`)).want(http.StatusCreated)
	c.create(fmt.Sprintf(attribute, `0e-20000`)).refused(422, "validation_failed", "attributes.0.value")
	answer := `{"carrier_id":%d,"source":"email","items":[{"question_id":%d,"value":%s}]}`
	c.create(fmt.Sprintf(answer, made.ID, made.Questions[0].ID, `"0e-999"`)).want(http.StatusCreated)
	c.create(fmt.Sprintf(answer, made.ID, made.Questions[0].ID, `"1.`+strings.Repeat("9", 20_000)+`"`)).refused(422, "validation_failed", "items.0.value")
	c.list(fmt.Sprintf(`[{"Question":{"id":%d,"$lt":1}}]`, made.Questions[0].ID), "").is("meta.total", "1")
	c.list(`[{"Attribute":{"name":"n","$lt":1}}]`, "").is("meta.total", "1")
}
