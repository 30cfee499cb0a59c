package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/httpapi"
)

// The pages shown are those that clients of this interface expect: all of a short list, the ends and the neighbours of a long one.
func TestPageWindow(t *testing.T) {
	t.Parallel()
	span := func(from, to int) []int {
		var n []int
		for i := from; i <= to; i++ {
			n = append(n, i)
		}
		return n
	}
	for name, tc := range map[string]struct {
		page, last int
		want       []int
	}{
		"one page":             {1, 1, []int{1}},
		"all of thirteen":      {7, 13, span(1, 13)},
		"beginning":            {1, 14, append(span(1, 10), 0, 13, 14)},
		"end of beginning":     {7, 100, append(span(1, 10), 0, 99, 100)},
		"middle begins":        {8, 100, []int{1, 2, 0, 5, 6, 7, 8, 9, 10, 11, 0, 99, 100}},
		"middle":               {50, 100, []int{1, 2, 0, 47, 48, 49, 50, 51, 52, 53, 0, 99, 100}},
		"middle ends":          {93, 100, []int{1, 2, 0, 90, 91, 92, 93, 94, 95, 96, 0, 99, 100}},
		"end":                  {94, 100, append([]int{1, 2, 0}, span(91, 100)...)},
		"last":                 {100, 100, append([]int{1, 2, 0}, span(91, 100)...)},
		"past the end":         {500, 100, append([]int{1, 2, 0}, span(91, 100)...)},
		"past a short end":     {9, 3, []int{1, 2, 3}},
		"between both borders": {7, 14, append(span(1, 10), 0, 13, 14)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, httpapi.Window(tc.page, tc.last)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A page-number list has data, links and meta to the letter, keeps the other parameters, and its addresses begin with the
// base URL whatever the Host header says.
func TestPageEnvelope(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.get("/v4/carriers").want(http.StatusOK).matches(`{"data":[],
		"links":{"first":"` + baseURL + `/v4/carriers?page=1","last":"` + baseURL + `/v4/carriers?page=1","prev":null,"next":null},
		"meta":{"current_page":1,"from":0,"last_page":1,"links":[{"url":null,"label":"&laquo; Previous","active":false},
			{"url":"` + baseURL + `/v4/carriers?page=1","label":"1","active":true},{"url":null,"label":"Next &raquo;","active":false}],
			"path":"` + baseURL + `/v4/carriers","per_page":10,"to":0,"total":0}}`)
	for i := range 25 {
		c.create(fmt.Sprintf(`{"carrier_id":%d,"source":"email","items":[{"question_id":%d,"value":"x"}]}`, 100+i, i+1)).want(http.StatusCreated)
	}
	u := func(page int) string {
		return fmt.Sprintf(`"%s/v4/carriers?filter%%5Bname%%5D=a%%20b&limit=10&page=%d"`, baseURL, page)
	}
	a := c.with("Host", "evil.example").get("/v4/carriers?filter[name]=a%20b&page=2&limit=10").want(http.StatusOK)
	a.is("links", `{"first":`+u(1)+`,"last":`+u(3)+`,"prev":`+u(1)+`,"next":`+u(3)+`}`)
	a.is("meta", `{"current_page":2,"from":11,"last_page":3,"links":[{"url":`+u(1)+`,"label":"&laquo; Previous","active":false},
		{"url":`+u(1)+`,"label":"1","active":false},{"url":`+u(2)+`,"label":"2","active":true},{"url":`+u(3)+`,"label":"3","active":false},
		{"url":`+u(3)+`,"label":"Next &raquo;","active":false}],"path":"`+baseURL+`/v4/carriers","per_page":10,"to":20,"total":25}`)
	a.is("data.0.id", "110").is("data.0.questions.0.id", "11").is("data.9.id", "119")

	last := c.get("/v4/carriers?page=3").is("meta.from", "21").is("meta.to", "25").is("links.next", "null")
	if rows, _ := last.at("data").([]any); len(rows) != 5 {
		t.Errorf("the last page has %d rows", len(rows))
	}
	c.get("/v4/carriers?page=4").want(http.StatusOK).is("data", "[]").is("meta.from", "0").is("meta.to", "0").is("meta.current_page", "4")
	c.get("/v4/carriers?page=99999999999").want(http.StatusOK).is("data", "[]")
	c.get("/v4/carriers?limit=1000&per_page=3").is("meta.per_page", "100")
	c.get("/v4/carriers?per_page=3").is("meta.per_page", "3").is("meta.last_page", "9")
	c.get("/v4/carriers?page=&limit=").is("meta.per_page", "10").is("meta.current_page", "1")
	c.get("/v4/carriers?page=0").refused(422, "validation_failed", "page")
	c.get("/v4/carriers?page=-1&limit=x").refused(422, "validation_failed", "page", "limit")
	c.get("/v4/carriers?limit=0").refused(422, "validation_failed", "limit")
	c.get("/v4/carriers?page[]=1").refused(422, "validation_failed", "page")
}
