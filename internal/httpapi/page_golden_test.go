package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
)

// likeLaravel holds a list with numbered pages against testdata/pages.txt, whole links and meta. The list is empty at first; grow adds
// records until it has as many as it is told. The address must have other parameters already, which the links keep.
func likeLaravel(t *testing.T, c *client, path, query string, grow func(from, to int)) {
	t.Helper()
	golden, err := os.ReadFile("testdata/pages.txt")
	if err != nil {
		t.Fatal(err)
	}
	have, cases := 0, 0
	for line := range strings.Lines(string(golden)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		results, err := strconv.Atoi(f[0])
		if err != nil {
			t.Fatal(line)
		}
		if results > have {
			grow(have, results)
			have = results
		}
		g := goldenPage{path: baseURL + path, query: query, fields: f}
		a := c.get(path + "?page=" + f[1] + "&" + query).want(http.StatusOK)
		a.is("links", g.links()).is("meta", g.meta())
		if rows, _ := a.at("data").([]any); len(rows) != g.rows() {
			t.Errorf("%s results, page %s: %d rows, want %d", f[0], f[1], len(rows), g.rows())
		}
		if t.Failed() {
			t.Fatalf("%s results, page %s", f[0], f[1])
		}
		cases++
	}
	if cases != 23 {
		t.Errorf("%d cases were read", cases)
	}
}

// goldenPage is a line of the golden: results, page, from, to, first, last, prev, next, labels.
type goldenPage struct {
	path, query string
	fields      []string
}

// url is the address of a page as JSON, null for -.
func (g goldenPage) url(page string) string {
	if page == "-" {
		return "null"
	}
	b, _ := json.Marshal(g.path + "?" + g.query + "&page=" + page)
	return string(b)
}

func (g goldenPage) links() string {
	f := g.fields
	return fmt.Sprintf(`{"first":%s,"last":%s,"prev":%s,"next":%s}`, g.url(f[4]), g.url(f[5]), g.url(f[6]), g.url(f[7]))
}

func (g goldenPage) meta() string {
	f := g.fields
	links := []string{fmt.Sprintf(`{"url":%s,"label":"&laquo; Previous","active":false}`, g.url(f[6]))}
	for _, label := range f[8:] {
		number, active := strings.CutPrefix(label, "[")
		number = strings.TrimSuffix(number, "]")
		url := g.url(number)
		if number == "..." {
			url = "null"
		}
		links = append(links, fmt.Sprintf(`{"url":%s,"label":"%s","active":%v}`, url, number, active))
	}
	links = append(links, fmt.Sprintf(`{"url":%s,"label":"Next &raquo;","active":false}`, g.url(f[7])))
	return fmt.Sprintf(`{"current_page":%s,"from":%s,"last_page":%s,"links":[%s],"path":%q,"per_page":10,"to":%s,"total":%s}`,
		f[1], f[2], f[5], strings.Join(links, ","), g.path, f[3], f[0])
}

func (g goldenPage) rows() int {
	from, _ := strconv.Atoi(g.fields[2])
	to, _ := strconv.Atoi(g.fields[3])
	if from == 0 {
		return 0
	}
	return to - from + 1
}
