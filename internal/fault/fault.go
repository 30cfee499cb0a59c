// Package fault holds the ways a request is refused. A fault is the caller's business: a stable code, a sentence a
// person understands and, where fields are to blame, which ones. Every other error is ours and is shown to nobody.
package fault

import (
	"errors"
	"fmt"
	"maps"
)

// Code names a sort of refusal. Codes are part of the interface: they never change their meaning.
type Code string

// The codes in use.
const (
	BadRequest       Code = "bad_request"
	Unauthenticated  Code = "unauthenticated"
	Forbidden        Code = "forbidden"
	NotFound         Code = "not_found"
	MethodNotAllowed Code = "method_not_allowed"
	FingerprintTaken Code = "fingerprint_taken"
	PayloadTooLarge  Code = "payload_too_large"
	UnsupportedMedia Code = "unsupported_media_type"
	ValidationFailed Code = "validation_failed"
	InvalidFQL       Code = "invalid_fql"
	QueryTooBroad    Code = "query_too_broad"
	SelectionChanged Code = "selection_changed"
	NotUndoable      Code = "operation_not_undoable"
	NotCancellable   Code = "operation_not_cancellable"
	RateLimited      Code = "rate_limited"
	Unavailable      Code = "unavailable"
	Internal         Code = "internal"
)

// Fault is a refusal.
type Fault struct {
	Code    Code
	Message string
	// Fields maps the dotted path of a field, as it was sent, to what is wrong with it.
	Fields map[string][]string
	// FeedbackID is the feedback that stands in the way, where there is one.
	FeedbackID int64
}

func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// New returns a fault with a sentence for the person who reads the answer.
func New(code Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Missing is the answer for what does not exist, and in the same words for what belongs to another organization.
func Missing(what string) *Fault {
	return New(NotFound, "There is no such %s.", what)
}

// Is reports whether err is a fault with this code.
func Is(err error, code Code) bool {
	f, ok := errors.AsType[*Fault](err)
	return ok && f.Code == code
}

// Form collects what is wrong with the fields of one request, so that all of it is said at once.
type Form struct {
	fields map[string][]string
	first  string
}

// Add notes a mistake in the field at a dotted path. The sentence must not repeat the value: it may be personal.
func (f *Form) Add(path, format string, args ...any) {
	if f.fields == nil {
		f.fields = map[string][]string{}
	}
	sentence := fmt.Sprintf(format, args...)
	f.fields[path] = append(f.fields[path], sentence)
	if f.first == "" {
		f.first = path + " " + sentence
	}
}

// Wrong reports whether a mistake was noted at path.
func (f *Form) Wrong(path string) bool { return len(f.fields[path]) > 0 }

// Err returns nil when nothing was noted, otherwise one fault that names every mistake.
func (f *Form) Err() error {
	if len(f.fields) == 0 {
		return nil
	}
	message := "The field " + f.first + "."
	if more := len(f.fields) - 1; more > 0 {
		message += fmt.Sprintf(" %d more %s not valid either.", more, plural(more, "field is", "fields are"))
	}
	return &Fault{Code: ValidationFailed, Message: message, Fields: maps.Clone(f.fields)}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
