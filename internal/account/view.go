// Package account keeps organizations, their teams and users, and the tokens that programs present. It decides who
// is calling and what they may see: every other package takes that as a View or a Principal, and cannot make one.
package account

import "slices"

// OrgID identifies an organization.
type OrgID int64

// UserID identifies a user within an organization.
type UserID int64

// View is whose data a statement may touch: one organization and, for a restricted viewer, only the feedback they own.
// Its zero value belongs to no organization and finds nothing.
type View struct {
	org   OrgID
	owner UserID
}

// Whole is the view of an organization's own work: operator commands and background jobs.
func Whole(org OrgID) View { return View{org: org} }

// Org is the organization seen.
func (v View) Org() OrgID { return v.org }

// Owner is the user whose feedback alone is seen, and whether the view is narrowed to one.
func (v View) Owner() (UserID, bool) { return v.owner, v.owner != 0 }

// Role is what a user may do. A token that belongs to a user is narrowed by the user's role.
type Role string

// The roles.
const (
	Admin            Role = "admin"
	Editor           Role = "editor"
	Viewer           Role = "viewer"
	RestrictedViewer Role = "restricted_viewer"
)

// Roles lists every role.
func Roles() []Role { return []Role{Admin, Editor, Viewer, RestrictedViewer} }

// Scope is one thing a token was issued for.
type Scope string

// The scopes.
const (
	FeedbackRead  Scope = "feedback:read"
	FeedbackWrite Scope = "feedback:write"
	ReportsRead   Scope = "reports:read"
	ReportsWrite  Scope = "reports:write"
	PushRead      Scope = "push:read"
	PushWrite     Scope = "push:write"
	AdminScope    Scope = "admin"
)

// Scopes lists every scope.
func Scopes() []Scope {
	return []Scope{FeedbackRead, FeedbackWrite, ReportsRead, ReportsWrite, PushRead, PushWrite, AdminScope}
}

// allows says what a role leaves of a scope.
func (r Role) allows(s Scope) bool {
	switch r {
	case Admin:
		return true
	case Editor:
		return s != AdminScope
	case Viewer, RestrictedViewer:
		return s == FeedbackRead || s == ReportsRead || s == PushRead
	}
	return false
}

// Principal is who is calling: a token, and the user it belongs to if any.
type Principal struct {
	TokenID int64
	UserID  UserID // 0 for a token of the organization
	Role    Role   // empty for a token of the organization
	scopes  []Scope
	view    View
}

// Operator is an operator at the command line, who may what a token of the organization with every scope may.
func Operator(org OrgID) Principal { return Principal{scopes: Scopes(), view: Whole(org)} }

// View is what the caller may see.
func (p Principal) View() View { return p.view }

// May reports whether the token carries the scope and the user's role leaves it.
func (p Principal) May(s Scope) bool {
	return slices.Contains(p.scopes, s) && (p.UserID == 0 || p.Role.allows(s))
}
