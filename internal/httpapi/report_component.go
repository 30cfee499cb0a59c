package httpapi

import (
	"net/http"
	"strings"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/report"
)

type wireComponent struct {
	ID      int64       `json:"id"`
	Type    report.Kind `json:"type"`
	Title   string      `json:"title"`
	FQL     *string     `json:"fql"`
	Options wireOptions `json:"options"`
}

// wireOptions holds what the type of a component takes, and nothing else.
type wireOptions struct {
	Metric     report.Metric `json:"metric,omitempty"`
	Interval   string        `json:"interval,omitempty"`
	By         string        `json:"by,omitempty"`
	QuestionID int64         `json:"question_id,omitempty"`
	Limit      int           `json:"limit,omitempty"`
}

func wireComponentOf(c report.Component) wireComponent {
	out := wireComponent{ID: c.ID, Type: c.Type, Title: c.Title, Options: wireOptions(c.Options)}
	if c.FQL != "" {
		out.FQL = &c.FQL
	}
	return out
}

// wireComponents is the whole list: it has no pages.
type wireComponents struct {
	Data []wireComponent `json:"data"`
}

func wireComponentsOf(components []report.Component) wireComponents {
	out := wireComponents{Data: make([]wireComponent, len(components))}
	for i, c := range components {
		out.Data[i] = wireComponentOf(c)
	}
	return out
}

func (s *Server) listComponents(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "report")
	if err != nil {
		return err
	}
	components, err := s.Reports.Components(r.Context(), p, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireComponentsOf(components))
}

func (s *Server) replaceComponents(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "report")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	components, err := readComponents(in)
	if err != nil {
		return err
	}
	written, err := s.Reports.SetComponents(r.Context(), p, id, components, &form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireComponentsOf(written))
}

// readComponents reads the list, which must be given: it replaces the one there is. A form says the empty list with components[]=.
func readComponents(in input) ([]report.Component, error) {
	in.require("components")
	if list, ok := in.values["components"].([]any); ok && len(list) == 1 && list[0] == "" {
		in.values["components"] = []any{}
	}
	objects := in.objects("components", report.MaxComponents)
	components := make([]report.Component, len(objects))
	for i, o := range objects {
		c := &components[i]
		c.ID, c.Type, c.Title = o.id("id"), report.Kind(o.text("type", maxName)), o.text("title", maxName)
		filter, err := keptText(o)
		if err != nil {
			return nil, err
		}
		c.FQL = filter
		options := o.object("options")
		c.Options = report.Options{
			Metric: report.Metric(options.text("metric", maxName)), Interval: options.text("interval", maxName),
			By: options.text("by", 2*maxName), QuestionID: options.id("question_id"), Limit: options.count("limit", 0),
		}
	}
	return components, nil
}

// keptText is fql as it is to be kept: a text as it was sent, an array as compact JSON.
func keptText(in input) (string, error) {
	v, given := in.given("fql")
	if !given {
		return "", nil
	}
	if text, ok := v.(string); ok {
		return text, nil
	}
	b, err := encode(v)
	return strings.TrimSuffix(string(b), "\n"), err
}

// object reads an object; what is not given is empty.
func (in input) object(name string) input {
	out := input{path: in.path + name + ".", form: in.form}
	v, ok := in.given(name)
	if !ok {
		return out
	}
	if list, isList := v.([]any); isList && len(list) == 0 {
		return out // how some languages write an empty object
	}
	if out.values, ok = v.(map[string]any); !ok {
		in.wrong(name, "must be an object")
	}
	return out
}
