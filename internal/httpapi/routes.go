package httpapi

import (
	"net/http"

	"earshot/internal/account"
)

// route is one operation. Exactly one of call and public is set: what is not public needs a token with the scope.
type route struct {
	pattern string
	scope   account.Scope
	bulk    bool  // touches many records
	stream  bool  // reads its body and answers as it goes, and takes its places itself
	body    int64 // largest body, where the usual one is too small
	call    func(*Server, http.ResponseWriter, *http.Request, account.Principal) error
	public  func(*Server, http.ResponseWriter, *http.Request) error
}

// routes is the whole interface, in the order of its documentation.
var routes = []route{
	{pattern: "GET /v4/feedback", scope: account.FeedbackRead, call: (*Server).listFeedback},
	{pattern: "POST /v4/feedback", scope: account.FeedbackWrite, call: (*Server).createFeedback},
	{pattern: "POST /v4/feedback/batch", scope: account.FeedbackWrite, bulk: true, stream: true, call: (*Server).createBatch},
	{pattern: "GET /v4/feedback/{id}", scope: account.FeedbackRead, call: (*Server).retrieveFeedback},
	{pattern: "PUT /v4/feedback/{id}", scope: account.FeedbackWrite, call: (*Server).updateFeedback},
	{pattern: "DELETE /v4/feedback", scope: account.FeedbackWrite, bulk: true, call: (*Server).deleteFeedback},
	{pattern: "POST /v4/feedback/bulk-update", scope: account.FeedbackWrite, bulk: true, call: (*Server).bulkUpdateFeedback},
	{pattern: "POST /v4/feedback/{id}/attributes/attach", scope: account.FeedbackWrite, call: (*Server).attachAttributes},
	{pattern: "PUT /v4/feedback/{id}/attributes/sync", scope: account.FeedbackWrite, call: (*Server).syncAttributes},
	{pattern: "DELETE /v4/feedback/{id}/attributes/detach", scope: account.FeedbackWrite, call: (*Server).detachAttributes},
	{pattern: "POST /v4/feedback/attributes/attach", scope: account.FeedbackWrite, bulk: true, call: (*Server).bulkAttachAttributes},
	{pattern: "PUT /v4/feedback/attributes/sync", scope: account.FeedbackWrite, bulk: true, call: (*Server).bulkSyncAttributes},
	{pattern: "DELETE /v4/feedback/attributes/detach", scope: account.FeedbackWrite, bulk: true, call: (*Server).bulkDetachAttributes},
	{pattern: "POST /v4/feedback/{id}/attach/owner", scope: account.FeedbackWrite, call: (*Server).attachOwners},
	{pattern: "POST /v4/feedback/{id}/detach/owner", scope: account.FeedbackWrite, call: (*Server).detachOwner},
	{pattern: "GET /v4/feedback/{id}/history", scope: account.FeedbackRead, call: (*Server).listHistory},
	{pattern: "GET /v4/operations", scope: account.FeedbackRead, call: (*Server).listOperations},
	{pattern: "GET /v4/operations/{id}", scope: account.FeedbackRead, call: (*Server).retrieveOperation},
	{pattern: "POST /v4/operations/{id}/cancel", scope: account.FeedbackWrite, call: (*Server).cancelOperation},
	{pattern: "POST /v4/operations/{id}/undo", scope: account.FeedbackWrite, bulk: true, call: (*Server).undoOperation},
	{pattern: "POST /v4/fql/explain", scope: account.FeedbackRead, call: (*Server).explainFQL},
	{pattern: "GET /v4/carriers", scope: account.FeedbackRead, call: (*Server).listCarriers},
	{pattern: "GET /v4/topics", scope: account.FeedbackRead, call: (*Server).listTopics},

	{pattern: "GET /v3/push-unsubscribes", scope: account.PushRead, call: (*Server).listOptOuts},
	{pattern: "POST /v3/push-unsubscribes", scope: account.PushWrite, call: (*Server).addOptOut},
	{pattern: "DELETE /v3/push-unsubscribes", scope: account.PushWrite, call: (*Server).removeOptOut},
	{pattern: "POST /v3/push-unsubscribes/check", scope: account.PushRead, body: targetsBody, call: (*Server).checkOptOuts},
	{pattern: "POST /v3/push-unsubscribes/bulk", scope: account.PushWrite, bulk: true, body: targetsBody, call: (*Server).addOptOuts},
	{pattern: "POST /v3/push-unsubscribes/links", scope: account.PushWrite, call: (*Server).linkOptOuts},

	{pattern: "GET /admin/v1/organization", scope: account.AdminScope, call: (*Server).retrieveOrganization},
	{pattern: "PUT /admin/v1/organization", scope: account.AdminScope, call: (*Server).updateOrganization},
	{pattern: "GET /admin/v1/teams", scope: account.AdminScope, call: (*Server).listTeams},
	{pattern: "POST /admin/v1/teams", scope: account.AdminScope, call: (*Server).createTeam},
	{pattern: "GET /admin/v1/teams/{id}", scope: account.AdminScope, call: (*Server).retrieveTeam},
	{pattern: "PUT /admin/v1/teams/{id}", scope: account.AdminScope, call: (*Server).updateTeam},
	{pattern: "DELETE /admin/v1/teams/{id}", scope: account.AdminScope, call: (*Server).deleteTeam},
	{pattern: "GET /admin/v1/users", scope: account.AdminScope, call: (*Server).listUsers},
	{pattern: "POST /admin/v1/users", scope: account.AdminScope, call: (*Server).createUser},
	{pattern: "GET /admin/v1/users/{id}", scope: account.AdminScope, call: (*Server).retrieveUser},
	{pattern: "PUT /admin/v1/users/{id}", scope: account.AdminScope, call: (*Server).updateUser},
	{pattern: "DELETE /admin/v1/users/{id}", scope: account.AdminScope, call: (*Server).deleteUser},
	{pattern: "GET /admin/v1/tokens", scope: account.AdminScope, call: (*Server).listTokens},
	{pattern: "POST /admin/v1/tokens", scope: account.AdminScope, call: (*Server).createToken},
	{pattern: "GET /admin/v1/tokens/{id}", scope: account.AdminScope, call: (*Server).retrieveToken},
	{pattern: "DELETE /admin/v1/tokens/{id}", scope: account.AdminScope, call: (*Server).revokeToken},
	{pattern: "GET /admin/v1/carriers", scope: account.AdminScope, call: (*Server).listManagedCarriers},
	{pattern: "POST /admin/v1/carriers", scope: account.AdminScope, call: (*Server).createCarrier},
	{pattern: "GET /admin/v1/carriers/{id}", scope: account.AdminScope, call: (*Server).retrieveCarrier},
	{pattern: "PUT /admin/v1/carriers/{id}", scope: account.AdminScope, call: (*Server).updateCarrier},
	{pattern: "DELETE /admin/v1/carriers/{id}", scope: account.AdminScope, call: (*Server).deleteCarrier},
	{pattern: "GET /admin/v1/carriers/{id}/questions", scope: account.AdminScope, call: (*Server).listQuestions},
	{pattern: "POST /admin/v1/carriers/{id}/questions", scope: account.AdminScope, call: (*Server).createQuestion},
	{pattern: "GET /admin/v1/questions/{id}", scope: account.AdminScope, call: (*Server).retrieveQuestion},
	{pattern: "PUT /admin/v1/questions/{id}", scope: account.AdminScope, call: (*Server).updateQuestion},
	{pattern: "DELETE /admin/v1/questions/{id}", scope: account.AdminScope, call: (*Server).deleteQuestion},
	{pattern: "GET /admin/v1/topics", scope: account.AdminScope, call: (*Server).listTopics},
	{pattern: "POST /admin/v1/topics", scope: account.AdminScope, call: (*Server).createTopic},
	{pattern: "POST /admin/v1/topics/starter", scope: account.AdminScope, call: (*Server).addStarterTopics},
	{pattern: "GET /admin/v1/topics/suggestions", scope: account.AdminScope, bulk: true, call: (*Server).suggestTopics},
	{pattern: "GET /admin/v1/topics/{id}", scope: account.AdminScope, call: (*Server).retrieveTopic},
	{pattern: "PUT /admin/v1/topics/{id}", scope: account.AdminScope, call: (*Server).updateTopic},
	{pattern: "DELETE /admin/v1/topics/{id}", scope: account.AdminScope, call: (*Server).deleteTopic},
	{pattern: "GET /admin/v1/analysis", scope: account.AdminScope, call: (*Server).retrieveAnalysis},
	{pattern: "PUT /admin/v1/analysis", scope: account.AdminScope, call: (*Server).updateAnalysis},
	{pattern: "POST /admin/v1/analysis/reread", scope: account.AdminScope, call: (*Server).rereadTexts},

	{pattern: "GET /v3/reports", scope: account.ReportsRead, call: (*Server).listReports},
	{pattern: "POST /v3/reports", scope: account.ReportsWrite, call: (*Server).createReport},
	{pattern: "GET /v3/reports/{id}", scope: account.ReportsRead, call: (*Server).retrieveReport},
	{pattern: "PUT /v3/reports/{id}", scope: account.ReportsWrite, call: (*Server).updateReport},
	{pattern: "DELETE /v3/reports/{id}", scope: account.ReportsWrite, call: (*Server).deleteReport},
	{pattern: "POST /v3/reports/{id}/share", scope: account.ReportsWrite, call: (*Server).shareReport},
	{pattern: "GET /v3/reports/{id}/shares", scope: account.ReportsRead, call: (*Server).listShares},
	{pattern: "DELETE /v3/reports/{id}/shares/{share_id}", scope: account.ReportsWrite, call: (*Server).revokeShare},
	{pattern: "GET /v3/reports/{id}/components", scope: account.ReportsRead, call: (*Server).listComponents},
	{pattern: "PUT /v3/reports/{id}/components", scope: account.ReportsWrite, call: (*Server).replaceComponents},
	{pattern: "GET /v3/reports/{id}/data", scope: account.ReportsRead, call: (*Server).reportData},
	{pattern: "GET /v3/reports/{id}/components/{component_id}/data.csv", scope: account.ReportsRead, call: (*Server).componentCSV},

	{pattern: "GET /report/{id}/shareable", public: (*Server).showShared},
	{pattern: "GET /report/{id}/shareable.pdf", public: (*Server).printShared},
	{pattern: "GET /assets/report.css", public: (*Server).page},
	{pattern: "GET /unsubscribe/{token}", public: (*Server).showUnsubscribe},
	{pattern: "POST /unsubscribe/{token}", public: (*Server).unsubscribe},
	{pattern: "GET /assets/page.css", public: (*Server).page},

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
