package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/report"
)

// wireLink is a new link, the only answer that shows its token.
type wireLink struct {
	ID               int64  `json:"id"`
	Token            string `json:"token"`
	PublicLink       string `json:"public_link"`
	ExpiresAt        stamp  `json:"expires_at"`
	HideVerbatims    bool   `json:"hide_verbatims"`
	MinimumGroupSize int    `json:"minimum_group_size"`
	CreatedAt        stamp  `json:"created_at"`
	UpdatedAt        stamp  `json:"updated_at"`
}

// wireShare is a link as it is listed.
type wireShare struct {
	ID               int64  `json:"id"`
	State            string `json:"state"`
	ExpiresAt        stamp  `json:"expires_at"`
	RevokedAt        *stamp `json:"revoked_at"`
	Views            int64  `json:"views"`
	LastViewedAt     *stamp `json:"last_viewed_at"`
	HideVerbatims    bool   `json:"hide_verbatims"`
	MinimumGroupSize int    `json:"minimum_group_size"`
	CreatedAt        stamp  `json:"created_at"`
	UpdatedAt        stamp  `json:"updated_at"`
}

func wireShareOf(l report.Link) wireShare {
	return wireShare{
		ID: l.ID, State: l.State(time.Now()), ExpiresAt: stamp(l.ExpiresAt), RevokedAt: optionalStamp(l.RevokedAt),
		Views: l.Views, LastViewedAt: optionalStamp(l.ViewedAt), HideVerbatims: l.HideVerbatims, MinimumGroupSize: l.MinimumGroupSize,
		CreatedAt: stamp(l.CreatedAt), UpdatedAt: stamp(l.UpdatedAt),
	}
}

func (s *Server) shareReport(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "report")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	n := report.NewLink{Lifetime: in.oneOf("expiration", report.Lifetimes()), MinimumGroupSize: readGroupSize(in)}
	if hide := in.boolean("hide_verbatims"); hide != nil {
		n.HideVerbatims = *hide
	}
	if n.Lifetime == "" {
		n.Lifetime = report.DefaultLifetime
	}
	if err := form.Err(); err != nil {
		return err
	}
	link, token, err := s.Reports.Share(r.Context(), p, id, n)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, wireLink{
		ID: link.ID, Token: token, PublicLink: fmt.Sprintf("%s/report/%d/shareable?token=%s", s.BaseURL, id, token),
		ExpiresAt: stamp(link.ExpiresAt), HideVerbatims: link.HideVerbatims, MinimumGroupSize: link.MinimumGroupSize,
		CreatedAt: stamp(link.CreatedAt), UpdatedAt: stamp(link.UpdatedAt),
	})
}

func (s *Server) listShares(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "report")
	if err != nil {
		return err
	}
	var form fault.Form
	query, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	at := readPage(query)
	if err := form.Err(); err != nil {
		return err
	}
	links, total, err := s.Reports.Links(r.Context(), p, id, at.offset(), at.perPage)
	if err != nil {
		return err
	}
	return writePage(s, w, r, at, links, total, wireShareOf)
}

func (s *Server) revokeShare(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "link")
	if err != nil {
		return err
	}
	link, err := pathNumber(r, "share_id", "link")
	if err != nil {
		return err
	}
	if err := s.Reports.Revoke(r.Context(), p, id, link); err != nil {
		return err
	}
	return done(w, "The link was revoked.")
}

// readGroupSize reads how small a group may be to be shown; 0 and nothing are no limit.
func readGroupSize(in input) int {
	v, ok := in.given("minimum_group_size")
	if !ok {
		return 0
	}
	text, _ := scalar(v)
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > report.MaxGroupSize {
		in.wrong("minimum_group_size", "must be a whole number from 0 to %d", report.MaxGroupSize)
	}
	return n
}
