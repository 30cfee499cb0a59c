package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/report"
)

type wireReport struct {
	ID        int64           `json:"id"`
	UserID    *account.UserID `json:"user_id"`
	TeamID    int64           `json:"team_id"`
	SegmentID *int64          `json:"segment_id"` // the interface has it, and nothing that would set it
	Name      string          `json:"name"`
	Type      report.Type     `json:"type"`
	Status    string          `json:"status"`
	FQL       string          `json:"fql"`
	Color     *string         `json:"color"`
	CreatedAt stamp           `json:"created_at"`
	UpdatedAt stamp           `json:"updated_at"`
}

func wireReportOf(r report.Report) wireReport {
	return wireReport{
		ID: r.ID, UserID: r.UserID, TeamID: r.TeamID, Name: r.Name, Type: r.Type, Status: r.Status, FQL: r.FQL, Color: r.Color,
		CreatedAt: stamp(r.CreatedAt), UpdatedAt: stamp(r.UpdatedAt),
	}
}

func (s *Server) listReports(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	query, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	at := readPage(query)
	fields := query.filter("name", "user_id", "team_id")
	filter := report.Filter{Name: fields.text("name", maxName), UserIDs: fields.ids("user_id"), TeamIDs: fields.ids("team_id")}
	sorts := readSort(query)
	if err := form.Err(); err != nil {
		return err
	}
	reports, total, err := s.Reports.List(r.Context(), p, filter, sorts, at.offset(), at.perPage)
	if err != nil {
		return err
	}
	return writePage(s, w, r, at, reports, total, wireReportOf)
}

func (s *Server) createReport(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, body, err := s.readKept(w, r, &form)
	if err != nil {
		return err
	}
	n := report.New{
		UserID: account.UserID(in.id("user_id")), TeamID: in.id("team_id"), MasterID: in.id("master_id"), Name: in.text("name", maxName),
		Type: report.Type(in.oneOf("type", report.Types())), Color: readColor(in),
	}
	n.Prefilled = in.oneOf("format", []string{"blank", "prefilled"}) == "prefilled"
	if n.FQL, err = keptFilter(in, body); err != nil {
		return err
	}
	made, err := s.Reports.Create(r.Context(), p, n, &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, wireReportOf(made))
}

func (s *Server) retrieveReport(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "report")
	if err != nil {
		return err
	}
	found, err := s.Reports.ByID(r.Context(), p, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireReportOf(found))
}

func (s *Server) updateReport(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "report")
	if err != nil {
		return err
	}
	var form fault.Form
	in, body, err := s.readKept(w, r, &form)
	if err != nil {
		return err
	}
	c := report.Change{
		UserID: account.UserID(in.id("user_id")), TeamID: in.id("team_id"), Name: in.text("name", maxName),
		Type: report.Type(in.oneOf("type", report.Types())), Status: in.oneOf("status", report.Statuses()), Color: readColor(in),
	}
	if c.FQL, err = keptFilter(in, body); err != nil {
		return err
	}
	changed, err := s.Reports.Change(r.Context(), p, id, c, &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireReportOf(changed))
}

func (s *Server) deleteReport(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "report")
	if err != nil {
		return err
	}
	if err := s.Reports.Delete(r.Context(), p, id); err != nil {
		return err
	}
	return done(w, "The report and its links were deleted.")
}

func readColor(in input) string { return in.oneOf("color", append(report.Colors(), report.NoColor)) }

// ids reads whole numbers, several of them separated by commas.
func (in input) ids(name string) []int64 {
	var ids []int64
	for _, text := range in.list(name) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			in.wrong(name, "must be whole numbers, separated by commas")
			return nil
		}
		ids = append(ids, n)
	}
	return ids
}

// readSort reads sort=name,-created_at.
func readSort(in input) []report.Sort {
	var sorts []report.Sort
	for _, text := range in.list("sort") {
		by, descending := strings.CutPrefix(text, "-")
		if !slices.Contains(report.Sorts(), by) {
			in.wrong("sort", "must be by %s, with a minus in front to turn the direction round", strings.Join(report.Sorts(), ", "))
			return nil
		}
		sorts = append(sorts, report.Sort{By: by, Descending: descending})
	}
	return sorts
}

// readKept is readBody that gives back the bytes as well.
func (s *Server) readKept(w http.ResponseWriter, r *http.Request, form *fault.Form) (input, []byte, error) {
	body, err := s.wholeBody(w, r)
	if err != nil {
		return input{}, nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	in, err := s.readBody(w, r, form)
	return in, body, err
}

// keptFilter reads fql as it is to be kept: a text byte for byte, an array as compact JSON with its keys in the order they were sent.
// It asks for the mistakes of the whole request, as readFilter does. "" is not given.
func keptFilter(in input, body []byte) (string, error) {
	v, given := in.given("fql")
	if !given {
		return "", in.form.Err()
	}
	text, isText := v.(string)
	if !isText {
		var err error
		if text, err = compact(v, body); err != nil {
			return "", err
		}
	}
	_, wrong := feedback.Filters.Parse(text)
	return text, filterErr(in, wrong)
}

// compact is the fql of a body as compact JSON. A tree has forgotten the order of keys; the body has it, unless it was a form.
func compact(tree any, body []byte) (string, error) {
	var fields map[string]json.RawMessage
	var b bytes.Buffer
	if json.Unmarshal(body, &fields) == nil && json.Compact(&b, fields["fql"]) == nil {
		return b.String(), nil
	}
	text, err := encode(tree)
	return strings.TrimSuffix(string(text), "\n"), err
}
