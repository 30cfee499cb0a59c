package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"earshot/internal/fault"
)

// A fault is told by its code through any wrapping, and by nothing else.
func TestIsGoesByTheCode(t *testing.T) {
	t.Parallel()
	missing := fault.Missing("report")
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"itself":       {missing, true},
		"wrapped":      {fmt.Errorf("edit question: %w", missing), true},
		"joined":       {errors.Join(errors.New("other"), missing), true},
		"another code": {fault.New(fault.Forbidden, "No."), false},
		"another sort": {errors.New("not_found"), false},
		"none":         {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fault.Is(c.err, fault.NotFound); got != c.want {
				t.Errorf("Is(%v) = %v", c.err, got)
			}
		})
	}
}

// A fault reads as its code and its sentence.
func TestFaultReadsAsCodeAndSentence(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"forbidden: Role viewer may not write.": fault.New(fault.Forbidden, "Role %s may not write.", "viewer"),
		"not_found: There is no such report.":   fault.Missing("report"),
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

// A form without mistakes is no error: nil, not a nil fault.
func TestFormWithoutMistakesIsNoError(t *testing.T) {
	t.Parallel()
	var form fault.Form
	if err := form.Err(); err != nil {
		t.Errorf("got %v", err)
	}
	if form.Wrong("name") || form.Wrong("") {
		t.Error("a field is wrong")
	}
}

// One refusal names every mistake; its sentence tells the first and how many other fields there are.
func TestFormNamesEveryMistake(t *testing.T) {
	t.Parallel()
	type mistake struct{ path, sentence string }
	for name, c := range map[string]struct {
		mistakes []mistake
		want     fault.Fault
	}{
		"one": {
			[]mistake{{"items.0.value", "must be a number"}},
			fault.Fault{
				Message: "The field items.0.value must be a number.",
				Fields:  map[string][]string{"items.0.value": {"must be a number"}},
			},
		},
		"one field twice": {
			[]mistake{{"name", "is required"}, {"name", "must be text"}},
			fault.Fault{
				Message: "The field name is required.",
				Fields:  map[string][]string{"name": {"is required", "must be text"}},
			},
		},
		"two fields": {
			[]mistake{{"name", "is required"}, {"email", "is required"}},
			fault.Fault{
				Message: "The field name is required. 1 more field is not valid either.",
				Fields:  map[string][]string{"name": {"is required"}, "email": {"is required"}},
			},
		},
		"three fields": {
			[]mistake{{"c", "is wrong"}, {"a", "is wrong"}, {"b", "is wrong"}, {"a", "is very wrong"}},
			fault.Fault{
				Message: "The field c is wrong. 2 more fields are not valid either.",
				Fields:  map[string][]string{"c": {"is wrong"}, "a": {"is wrong", "is very wrong"}, "b": {"is wrong"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var form fault.Form
			for _, m := range c.mistakes {
				form.Add(m.path, "%s", m.sentence)
			}
			for _, m := range c.mistakes {
				if !form.Wrong(m.path) {
					t.Errorf("%s is not wrong", m.path)
				}
			}
			if form.Wrong("other") {
				t.Error("other is wrong")
			}
			got, ok := errors.AsType[*fault.Fault](form.Err())
			if !ok {
				t.Fatal("no fault")
			}
			c.want.Code = fault.ValidationFailed
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Errorf("fault (-want +got):\n%s", diff)
			}
		})
	}
}

// A fault that was handed out stays as it is when the form goes on collecting.
func TestFormErrIsFinal(t *testing.T) {
	t.Parallel()
	var form fault.Form
	form.Add("a", "is wrong")
	first, ok := errors.AsType[*fault.Fault](form.Err())
	if !ok {
		t.Fatal("no fault")
	}
	form.Add("a", "is very wrong")
	form.Add("b", "is wrong")
	if diff := cmp.Diff(map[string][]string{"a": {"is wrong"}}, first.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}
