package webui

import (
	"bytes"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"strings"
	"unicode"

	"earshot/internal/report"
)

// PrintedReport is a shared report as a PDF; where nothing makes one, a page says how to get it all the same. It is fault.Unavailable
// while as many as may be are being made.
func (p *Pages) PrintedReport(w http.ResponseWriter, r *http.Request, organization string, shared report.Report, f report.Figures) error {
	t := tongueFor(r.Header.Get("Accept-Language"))
	if p.browser == nil {
		return show(w, http.StatusNotFound, p.refusal, refusal{
			T: t, Title: "There is no PDF of this report",
			Text: "This service makes no PDF files. Open the report and print it: every browser can save what it prints as a PDF.",
		})
	}
	page := newReportPage(t, organization, shared, f)
	page.Style = template.CSS(pageCSS) + template.CSS(reportCSS)
	var b bytes.Buffer
	if err := p.report.Execute(&b, page); err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	pdf, err := p.browser.print(r.Context(), b.Bytes())
	if err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(page.Title)}))
	return send(w, http.StatusOK, "application/pdf", pdf)
}

// fileName is a name that every system takes for a file, in any language.
func fileName(title string) string {
	name := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return ' '
		}
		return r
	}, title)
	name = strings.Trim(strings.Join(strings.Fields(name), " "), ". ")
	if runes := []rune(name); len(runes) > 60 { // of four bytes at most, so that it stays below what a file system takes
		name = strings.TrimSpace(string(runes[:60]))
	}
	if name == "" {
		name = "report"
	}
	return name + ".pdf"
}
