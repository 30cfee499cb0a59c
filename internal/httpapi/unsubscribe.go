package httpapi

import (
	"crypto/sha256"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"earshot/internal/fault"
)

// A person, or a mailbox provider for them, unsubscribes by sending this one field (RFC 8058); so does the button of the page.
const (
	unsubscribePath  = "/unsubscribe/"
	unsubscribeField = "List-Unsubscribe"
	oneClick         = "One-Click"
)

// pagePaths are where people look: what is refused there is said as a page.
var pagePaths = []string{unsubscribePath, sharedPath}

func isPage(path string) bool {
	return slices.ContainsFunc(pagePaths, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// How often one link is followed, and how often one client address tries links that nobody signed. All links together have no limit:
// behind a proxy, or at a mailbox provider, many people share an address, and not to let them go is no choice.
const (
	linkRate, linkBurst   = 1, 30
	guessRate, guessBurst = 1, 30
)

// showUnsubscribe shows what a link is about. It changes nothing: mail scanners follow links before their reader does.
func (s *Server) showUnsubscribe(w http.ResponseWriter, r *http.Request) error {
	return s.follow(w, r, func(token string) error {
		link, err := s.OptOuts.Follow(r.Context(), token)
		if err != nil {
			return err
		}
		return s.ShowUnsubscribe(w, link)
	})
}

func (s *Server) unsubscribe(w http.ResponseWriter, r *http.Request) error {
	return s.follow(w, r, func(token string) error {
		var form fault.Form
		in, err := s.readBody(w, r, &form)
		if err != nil {
			return err
		}
		if in.text(unsubscribeField, maxName) != oneClick {
			in.wrong(unsubscribeField, "must be %s", oneClick)
			return form.Err()
		}
		link, err := s.OptOuts.Unsubscribe(r.Context(), token)
		if err != nil {
			return err
		}
		return s.ShowUnsubscribe(w, link)
	})
}

// follow runs a call with the token of a link, within the limits of that link and of whoever guesses.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, call func(token string) error) error {
	token := r.PathValue("token")
	if err := s.links.take(w.Header(), sha256.Sum256([]byte(token)), time.Now()); err != nil {
		return err
	}
	err := s.work(w.(*exchange), r, func() error { return call(token) })
	if fault.Is(err, fault.NotFound) {
		if tooMany := s.guesses.take(w.Header(), clientAddress(r), time.Now()); tooMany != nil {
			return tooMany
		}
	}
	return err
}

// clientAddress is where a request comes from; of IPv6 the part that a customer is given as a whole.
func clientAddress(r *http.Request) netip.Prefix {
	a, _ := netip.ParseAddrPort(r.RemoteAddr)
	bits := 32
	if a.Addr().Is6() && !a.Addr().Is4In6() {
		bits = 64
	}
	p, _ := a.Addr().Unmap().Prefix(bits)
	return p
}
