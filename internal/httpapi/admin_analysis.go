package httpapi

import (
	"net/http"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/fault"
	"earshot/internal/feedback"
)

const (
	defaultSuggestions = 20
	maxSuggestions     = 100
	maxLanguages       = 1_000 // carriers in one change
)

// wireAnalysis is what texts are read by.
type wireAnalysis struct {
	Version       int32                 `json:"version"`
	EngineVersion int                   `json:"engine_version"`
	Language      *analysis.Language    `json:"language"` // null: each text tells by itself
	Carriers      []wireCarrierLanguage `json:"carriers"`
	OperationID   int64                 `json:"operation_id,omitempty"` // what the change set going
}

type wireCarrierLanguage struct {
	CarrierID int64             `json:"carrier_id"`
	Language  analysis.Language `json:"language"`
}

func wireAnalysisOf(s analysis.Settings) wireAnalysis {
	out := wireAnalysis{
		Version: s.Version, EngineVersion: s.Engine, Language: optional(s.Language), Carriers: make([]wireCarrierLanguage, len(s.Carriers)),
	}
	for i, c := range s.Carriers {
		out.Carriers[i] = wireCarrierLanguage(c)
	}
	return out
}

func (s *Server) retrieveAnalysis(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	settings, err := s.Texts.Settings(r.Context(), p.View())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireAnalysisOf(settings))
}

func (s *Server) updateAnalysis(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	change := analysis.LanguageChange{Language: analysis.Language(in.text("language", maxName))}
	for _, c := range in.objects("carriers", maxLanguages) {
		c.require("carrier_id")
		c.require("language")
		change.Carriers = append(change.Carriers, analysis.CarrierLanguage{
			CarrierID: c.id("carrier_id"), Language: analysis.Language(c.text("language", maxName)),
		})
	}
	settings, operation, err := s.Operations.ChangeLanguages(r.Context(), p.View(), feedback.Caller(p), change, &form)
	if err != nil {
		return err
	}
	out := wireAnalysisOf(settings)
	out.OperationID = operation
	return writeJSON(w, http.StatusOK, out)
}

type wireReread struct {
	OperationID int64 `json:"operation_id"`
}

func (s *Server) rereadTexts(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	operation, err := s.Operations.Reanalyse(r.Context(), p.View(), feedback.Caller(p))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusAccepted, wireReread{operation})
}

type wireSuggestions struct {
	Data []wireSuggestion `json:"data"`
	Meta struct {
		Texts int `json:"texts"`
	} `json:"meta"`
}

type wireSuggestion struct {
	Phrase   string   `json:"phrase"`
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

func (s *Server) suggestTopics(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	limit := min(in.count("limit", defaultSuggestions), maxSuggestions)
	q, err := readFilter(in)
	if err != nil {
		return err
	}
	found, texts, err := s.Feedback.Suggest(r.Context(), p.View(), q, limit)
	if err != nil {
		return err
	}
	out := wireSuggestions{Data: make([]wireSuggestion, len(found))}
	out.Meta.Texts = texts
	for i, suggestion := range found {
		out.Data[i] = wireSuggestion(suggestion)
	}
	return writeJSON(w, http.StatusOK, out)
}
