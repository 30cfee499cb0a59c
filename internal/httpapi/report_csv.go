package httpapi

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"earshot/internal/account"
	"earshot/internal/report"
)

func (s *Server) componentCSV(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "component")
	if err != nil {
		return err
	}
	how, err := readReading(r)
	if err != nil {
		return err
	}
	if how.Component, err = pathNumber(r, "component_id", "component"); err != nil {
		return err
	}
	_, figures, err := s.Reports.Figures(r.Context(), p, id, how)
	if err != nil {
		return err
	}
	table, err := writeTable(tableOf(figures.Parts[0]))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="report-%d-component-%d.csv"`, id, how.Component))
	h.Set("Content-Length", strconv.Itoa(len(table)))
	w.WriteHeader(http.StatusOK)
	_, err = w.Write(table)
	return err
}

// tableOf is a component as rows of cells, the names first.
func tableOf(p report.Part) [][]string {
	if p.Type == report.Verbatims {
		rows := [][]string{{"feedback_id", "created_at", "source", "nps_profile", "satisfaction_ratio", "sentiment_score", "sentiment_string", "question_id", "question", "text"}}
		for _, v := range p.Verbatims {
			rows = append(rows, verbatimRow(v))
		}
		return rows
	}
	rows := [][]string{{"about", "key", "label", "from", "to", "count", "metric", "value", "n", "fql", "n_fql"}}
	for _, f := range append(p.Figures[:len(p.Figures):len(p.Figures)], *p.Total) {
		var from, to, value string
		if f.About == report.OfStep {
			from, to = wireDay(f.From).String(), wireDay(f.To).String()
		}
		if f.Value != nil {
			value = strconv.FormatFloat(*f.Value, 'f', -1, 64)
		}
		rows = append(rows, []string{
			string(f.About), plainCell(f.Key), plainCell(f.Label), from, to, strconv.FormatInt(f.Count, 10), string(p.Metric), value,
			strconv.FormatInt(f.N, 10), optionalText(f.FQL), optionalText(f.NFQL),
		})
	}
	return rows
}

func verbatimRow(v report.Verbatim) []string {
	percent := func(hundredths *int16) string {
		if hundredths == nil {
			return ""
		}
		return strconv.FormatFloat(float64(*hundredths)/100, 'f', -1, 64)
	}
	return []string{
		strconv.FormatInt(v.FeedbackID, 10), v.CreatedAt.UTC().Format("2006-01-02T15:04:05.000000Z"), v.Source.String(),
		optionalText(profileName(v.Profile)), percent(v.Satisfaction), percent(v.Sentiment), optionalText(profileName(v.Feeling())),
		strconv.FormatInt(v.QuestionID, 10), plainCell(v.Question), plainCell(v.Text),
	}
}

func optionalText(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// plainCell keeps a spreadsheet from taking a text for a formula: what others wrote must not run on the machine of who opens the file. In
// some languages the wide forms of the signs count, too.
func plainCell(text string) string {
	if text != "" && strings.ContainsAny(text[:1], "=+-@\t\r\n") || strings.HasPrefix(text, "＝") || strings.HasPrefix(text, "＋") ||
		strings.HasPrefix(text, "－") || strings.HasPrefix(text, "＠") {
		return "'" + text
	}
	return text
}

// writeTable writes rows as RFC 4180 says, ends of lines included.
func writeTable(rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	err := w.WriteAll(rows)
	return b.Bytes(), err
}
