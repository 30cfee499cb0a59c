package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"earshot/internal/bracket"
)

const (
	defaultPerPage = 10
	maxPerPage     = 100
	maxPage        = 1_000_000_000 // past any end, and far from overflowing an offset
)

// pageRequest is which page of a list is asked for.
type pageRequest struct{ page, perPage int }

func (p pageRequest) offset() int { return (p.page - 1) * p.perPage }

// readPage reads page and limit; per_page is a synonym that limit beats.
func readPage(in input) pageRequest {
	size := "limit"
	if _, ok := in.given("limit"); !ok {
		size = "per_page"
	}
	return pageRequest{
		page:    min(in.count("page", 1), maxPage),
		perPage: min(in.count(size, defaultPerPage), maxPerPage),
	}
}

// pageEnvelope is a page-number list as clients of this interface expect it.
type pageEnvelope[T any] struct {
	Data  []T       `json:"data"`
	Links pageLinks `json:"links"`
	Meta  pageMeta  `json:"meta"`
}

type pageLinks struct {
	First string  `json:"first"`
	Last  string  `json:"last"`
	Prev  *string `json:"prev"`
	Next  *string `json:"next"`
}

type pageMeta struct {
	CurrentPage int        `json:"current_page"`
	From        int        `json:"from"`
	LastPage    int        `json:"last_page"`
	Links       []pageLink `json:"links"`
	Path        string     `json:"path"`
	PerPage     int        `json:"per_page"`
	To          int        `json:"to"`
	Total       int        `json:"total"`
}

type pageLink struct {
	URL    *string `json:"url"`
	Label  string  `json:"label"`
	Active bool    `json:"active"`
}

// paginate wraps a page of a list with the links around it. data holds the page, total counts the list.
func paginate[T any](s *Server, r *http.Request, p pageRequest, data []T, total int) pageEnvelope[T] {
	if data == nil {
		data = []T{}
	}
	last := max(1, (total+p.perPage-1)/p.perPage)
	path := s.BaseURL + r.URL.Path
	address := addresses(path, r.URL.RawQuery)
	e := pageEnvelope[T]{
		Data:  data,
		Links: pageLinks{First: address(1), Last: address(last)},
		Meta:  pageMeta{CurrentPage: p.page, LastPage: last, Path: path, PerPage: p.perPage, Total: total},
	}
	if len(data) > 0 {
		e.Meta.From, e.Meta.To = p.offset()+1, p.offset()+len(data)
	}
	if p.page > 1 {
		e.Links.Prev = new(address(p.page - 1))
	}
	if p.page < last {
		e.Links.Next = new(address(p.page + 1))
	}
	e.Meta.Links = append(e.Meta.Links, pageLink{URL: e.Links.Prev, Label: "&laquo; Previous"})
	for _, n := range window(p.page, last) {
		if n == 0 {
			e.Meta.Links = append(e.Meta.Links, pageLink{Label: "..."})
			continue
		}
		e.Meta.Links = append(e.Meta.Links, pageLink{URL: new(address(n)), Label: strconv.Itoa(n), Active: n == p.page})
	}
	e.Meta.Links = append(e.Meta.Links, pageLink{URL: e.Links.Next, Label: "Next &raquo;"})
	return e
}

// window lists the page numbers to show, 0 for a gap: all of a short list; of a long one the ends and three on each
// side of the current page, or ten where it is near an end.
func window(page, last int) []int {
	const side = 3
	const near = side + 4
	span := func(from, to int) []int {
		var n []int
		for i := from; i <= to; i++ {
			n = append(n, i)
		}
		return n
	}
	switch {
	case last < side*2+8:
		return span(1, last)
	case page <= near:
		return append(span(1, near+side), 0, last-1, last)
	case page > last-near:
		return append([]int{1, 2, 0}, span(last-(near+side-1), last)...)
	}
	return append(append([]int{1, 2, 0}, span(page-side, page+side)...), 0, last-1, last)
}

// addresses returns the address of any page of a list, keeping the other parameters of the query in their order.
func addresses(path, query string) func(page int) string {
	var kept strings.Builder
	pairs, _ := bracket.Parse(query) // it was read before
	for _, pair := range pairs {
		if pair.Key != "page" {
			kept.WriteString(escape(pair.Key) + "=" + escape(pair.Value) + "&")
		}
	}
	return func(page int) string { return path + "?" + kept.String() + "page=" + strconv.Itoa(page) }
}

// escape writes a space as %20, as clients of this interface find it in these addresses.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
