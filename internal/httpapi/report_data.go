package httpapi

import (
	"net/http"
	"time"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/report"
)

// wireFigures is a report with its figures.
type wireFigures struct {
	ReportID    int64      `json:"report_id"`
	Name        string     `json:"name"`
	FQL         string     `json:"fql"`
	Sentence    string     `json:"sentence"`
	TimeZone    string     `json:"time_zone"`
	GeneratedAt stamp      `json:"generated_at"`
	Components  []wirePart `json:"components"`
}

type wirePart struct {
	ID        int64          `json:"id"`
	Type      report.Kind    `json:"type"`
	Title     string         `json:"title"`
	Metric    report.Metric  `json:"metric,omitempty"`
	Interval  string         `json:"interval,omitempty"`
	FQL       *string        `json:"fql"`
	Sentence  string         `json:"sentence"`
	Total     *wireFigure    `json:"total"`
	Figures   []wireFigure   `json:"figures"`
	Verbatims []wireVerbatim `json:"verbatims,omitzero"`
}

type wireFigure struct {
	About report.Subject `json:"about"`
	Key   string         `json:"key"`
	Label string         `json:"label"`
	From  *wireDay       `json:"from,omitempty"`
	To    *wireDay       `json:"to,omitempty"`
	Count int64          `json:"count"`
	FQL   *string        `json:"fql"`
	Value *float64       `json:"value"`
	N     int64          `json:"n"`
	NFQL  *string        `json:"n_fql"`
}

// wireDay is a day without a time.
type wireDay time.Time

// MarshalJSON writes the day.
func (d wireDay) MarshalJSON() ([]byte, error) { return []byte(`"` + d.String() + `"`), nil }

func (d wireDay) String() string { return time.Time(d).Format(time.DateOnly) }

type wireVerbatim struct {
	FeedbackID        int64   `json:"feedback_id"`
	CreatedAt         stamp   `json:"created_at"`
	Source            string  `json:"source"`
	NPSProfile        *string `json:"nps_profile"`
	SatisfactionRatio *ratio  `json:"satisfaction_ratio"`
	SentimentScore    *ratio  `json:"sentiment_score"`
	SentimentString   *string `json:"sentiment_string"`
	QuestionID        int64   `json:"question_id"`
	Question          string  `json:"question"`
	Text              string  `json:"text"`
}

func wirePartOf(p report.Part) wirePart {
	out := wirePart{
		ID: p.ID, Type: p.Type, Title: p.Title, Interval: p.Interval, FQL: p.Query, Sentence: p.Sentence,
		Figures: make([]wireFigure, len(p.Figures)),
	}
	for i, f := range p.Figures {
		out.Figures[i] = wireFigureOf(f)
	}
	if p.Type == report.Verbatims {
		out.Verbatims = make([]wireVerbatim, len(p.Verbatims))
		for i, v := range p.Verbatims {
			out.Verbatims[i] = wireVerbatimOf(v)
		}
		return out
	}
	out.Metric, out.Total = p.Metric, new(wireFigureOf(*p.Total))
	return out
}

func wireFigureOf(f report.Figure) wireFigure {
	out := wireFigure{About: f.About, Key: f.Key, Label: f.Label, Count: f.Count, FQL: f.FQL, Value: f.Value, N: f.N, NFQL: f.NFQL}
	if f.About == report.OfStep {
		out.From, out.To = new(wireDay(f.From)), new(wireDay(f.To))
	}
	return out
}

func wireVerbatimOf(v report.Verbatim) wireVerbatim {
	out := wireVerbatim{
		FeedbackID: v.FeedbackID, CreatedAt: stamp(v.CreatedAt), Source: v.Source.String(),
		NPSProfile: profileName(v.Profile), SentimentString: profileName(v.Feeling()),
		QuestionID: v.QuestionID, Question: v.Question, Text: v.Text,
	}
	if v.Satisfaction != nil {
		out.SatisfactionRatio = &ratio{v.Satisfaction}
	}
	if v.Sentiment != nil {
		out.SentimentScore = &ratio{v.Sentiment}
	}
	return out
}

func (s *Server) reportData(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "report")
	if err != nil {
		return err
	}
	how, err := readReading(r)
	if err != nil {
		return err
	}
	found, figures, err := s.Reports.Figures(r.Context(), p, id, how)
	if err != nil {
		return err
	}
	out := wireFigures{
		ReportID: found.ID, Name: found.Name, FQL: figures.FQL, Sentence: figures.Sentence, TimeZone: figures.Zone.String(),
		GeneratedAt: stamp(figures.At), Components: make([]wirePart, len(figures.Parts)),
	}
	for i, part := range figures.Parts {
		out.Components[i] = wirePartOf(part)
	}
	return writeJSON(w, http.StatusOK, out)
}

// readReading reads a filter that narrows a report down.
func readReading(r *http.Request) (report.Reading, error) {
	var form fault.Form
	query, err := readQuery(r, &form)
	if err != nil {
		return report.Reading{}, err
	}
	q, err := readFilter(query)
	return report.Reading{Within: q}, err
}
