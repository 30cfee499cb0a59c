package httpapi

import (
	"net/http"

	"earshot/internal/account"
)

// route is one operation. Exactly one of call and public is set: what is not public needs a token with the scope.
type route struct {
	pattern string
	scope   account.Scope
	bulk    bool // touches every match of a filter
	call    func(*Server, http.ResponseWriter, *http.Request, account.Principal) error
	public  func(*Server, http.ResponseWriter, *http.Request) error
}

// routes is the whole interface, in the order of its documentation.
var routes = []route{
	{pattern: "GET /v4/feedback", scope: account.FeedbackRead, call: (*Server).listFeedback},
	{pattern: "POST /v4/feedback", scope: account.FeedbackWrite, call: (*Server).createFeedback},
	{pattern: "GET /v4/feedback/{id}", scope: account.FeedbackRead, call: (*Server).retrieveFeedback},
	{pattern: "PUT /v4/feedback/{id}", scope: account.FeedbackWrite, call: (*Server).updateFeedback},
	{pattern: "DELETE /v4/feedback", scope: account.FeedbackWrite, bulk: true, call: (*Server).deleteFeedback},
	{pattern: "POST /v4/fql/explain", scope: account.FeedbackRead, call: (*Server).explainFQL},
	{pattern: "GET /v4/carriers", scope: account.FeedbackRead, call: (*Server).listCarriers},

	{pattern: "GET /healthz", public: (*Server).health},
	{pattern: "GET /readyz", public: (*Server).ready},
	{pattern: "GET /openapi.yaml", public: (*Server).page},
	{pattern: "GET /docs", public: (*Server).page},
	{pattern: "GET /docs/docs.css", public: (*Server).page},
	{pattern: "GET /docs/docs.js", public: (*Server).page},
	{pattern: "GET /docs/redoc.standalone.js", public: (*Server).page},
}

// page hands a request to the pages, which answer for themselves.
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	s.Pages.ServeHTTP(w, r)
	return nil
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	if err := s.Ready(r.Context()); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}
