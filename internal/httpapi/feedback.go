package httpapi

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
)

// Limits of a create request.
const (
	maxItems       = 100
	maxAttributes  = 100
	maxValues      = 100 // of one attribute
	maxName        = 255 // an attribute's name, a fingerprint, an idempotency key
	maxValueLength = 1_000
	maxItemLength  = 65_535
)

func (s *Server) createFeedback(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	n := newFeedback(in)
	key, keyed := r.Header["Idempotency-Key"]
	if !keyed {
		rec, err := s.Feedback.Create(r.Context(), p.View(), n, &form)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusCreated, wireSummary(rec, include{}))
	}
	if key[0] == "" || utf8.RuneCountInString(key[0]) > maxName {
		form.Add("Idempotency-Key", "must have 1 to %d characters", maxName)
	}
	// The tree, not the bytes: a form sent again has another multipart boundary.
	request, err := encode(in.values)
	if err != nil {
		return err
	}
	body, err := s.Feedback.CreateOnce(r.Context(), p, key[0], sha256.Sum256(request), n, &form,
		func(rec feedback.Record) ([]byte, error) { return encode(wireSummary(rec, include{})) })
	if err != nil {
		return err
	}
	return writeBytes(w, http.StatusCreated, body)
}

func (s *Server) retrieveFeedback(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "feedback")
	if err != nil {
		return err
	}
	var form fault.Form
	query, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	inc := readInclude(query)
	if err := form.Err(); err != nil {
		return err
	}
	rec, err := s.Feedback.ByID(r.Context(), p.View(), id, inc.parts())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireDetail(rec, inc))
}

func (s *Server) updateFeedback(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "feedback")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	status, given := readStatus(in)
	if err := form.Err(); err != nil {
		return err
	}
	var rec feedback.Record
	if given {
		rec, err = s.Feedback.SetStatus(r.Context(), p.View(), feedback.Caller(p), id, status)
	} else {
		rec, err = s.Feedback.ByID(r.Context(), p.View(), id, feedback.Parts{Attributes: true, Items: true})
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireSummary(rec, include{}))
}

func newFeedback(in input) feedback.New {
	in.require("carrier_id")
	in.require("source")
	n := feedback.New{
		CarrierID:   in.id("carrier_id"),
		CreatedAt:   readTime(in, "created_at"),
		Fingerprint: in.text("fingerprint", maxName),
		Attributes:  readAttributes(in, feedback.Attach),
	}
	if name := in.text("source", maxName); name != "" {
		var ok bool
		if n.Source, ok = feedback.ParseSource(name); !ok {
			in.wrong("source", "must be one of %s", strings.Join(feedback.SourceNames(), ", "))
		}
	}
	for _, item := range in.objects("items", maxItems) {
		item.require("question_id")
		n.Items = append(n.Items, carrier.Item{
			QuestionID: item.id("question_id"),
			Value:      item.text("value", maxItemLength),
			OptionID:   item.id("question_option_id"),
			Option:     item.text("option", maxItemLength),
		})
	}
	return n
}

func readStatus(in input) (feedback.Status, bool) {
	name := in.text("status", maxName)
	if name == "" {
		return 0, false
	}
	status, ok := feedback.ParseStatus(name)
	if !ok {
		in.wrong("status", "must be one of %s", strings.Join(feedback.StatusNames(), ", "))
	}
	return status, true
}

// readTime reads a time as the interface writes it on input, in UTC, or as ISO 8601 with a zone.
func readTime(in input, name string) *time.Time {
	text := strings.TrimSpace(in.text(name, maxName))
	if text == "" {
		return nil
	}
	for _, layout := range []string{"01/02/2006 15:04:05", time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00"} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if t = t.UTC().Truncate(time.Microsecond); t.Year() < 1900 || t.Year() > 9999 {
			in.wrong(name, "must lie between the years 1900 and 9999")
			return nil
		}
		return &t
	}
	in.wrong(name, "must be a time such as 01/31/2026 09:15:00 (month/day/year, UTC) or 2026-01-31T09:15:00Z")
	return nil
}
