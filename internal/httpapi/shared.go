package httpapi

import (
	"crypto/sha256"
	"net/http"
	"time"

	"earshot/internal/fault"
	"earshot/internal/report"
)

const sharedPath = "/report/"

// How often one shared report is opened: a meeting may do it all at once.
const sharedRate, sharedBurst = 5, 100

// showShared shows a report to whoever has a link to it.
func (s *Server) showShared(w http.ResponseWriter, r *http.Request) error {
	return s.openShared(w, r, s.ShowReport)
}

// printShared is the same as a file.
func (s *Server) printShared(w http.ResponseWriter, r *http.Request) error {
	return s.openShared(w, r, s.PrintReport)
}

// openShared opens a link. Nobody signs in here: the organization is the one the link belongs to.
func (s *Server) openShared(w http.ResponseWriter, r *http.Request, draw Draw) error {
	x := w.(*exchange)
	token := r.URL.Query().Get("token")
	if err := s.opened.take(w.Header(), sha256.Sum256([]byte(token)), time.Now()); err != nil {
		return err
	}
	err := s.work(x, r, func() error { return s.drawShared(x, r, token, draw) })
	if fault.Is(err, fault.NotFound) {
		if tooMany := s.guesses.take(w.Header(), clientAddress(r), time.Now()); tooMany != nil {
			return tooMany
		}
	}
	return err
}

func (s *Server) drawShared(x *exchange, r *http.Request, token string, draw Draw) error {
	id, err := pathID(r, "report")
	if err != nil {
		return err
	}
	found, outcome, err := s.Reports.ByToken(r.Context(), id, token)
	switch {
	case err != nil:
		return err
	case outcome == report.Gone:
		return fault.New(fault.Gone, "This link is no longer valid.")
	case outcome == report.Unknown:
		return fault.Missing("report")
	}
	x.org = found.View.Org()
	org, err := s.Accounts.Organization(r.Context(), found.View)
	if err != nil {
		return err
	}
	figures, err := s.Reports.FiguresOf(r.Context(), found.View, found.Report, found.Link.Reading())
	if fault.Is(err, fault.QueryTooBroad) { // whoever looks at it cannot ask for less
		return fault.New(fault.Unavailable, "The figures of this report take too long to count.")
	}
	if err != nil {
		return err
	}
	x.Header().Set("Vary", "Accept-Language")
	return draw(x, r, org.Name, found.Report, figures)
}
