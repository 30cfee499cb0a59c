package httpapi

import (
	"fmt"
	"net/http"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/fault"
	"earshot/internal/feedback"
)

type wireTopic struct {
	ID          int64    `json:"id"`
	Name        string   `json:"name"`
	Keywords    []string `json:"keywords"`
	Exclusions  []string `json:"exclusions"`
	OperationID int64    `json:"operation_id,omitempty"` // what the change set going
}

func wireTopicOf(t analysis.Topic) wireTopic {
	return wireTopic{ID: t.ID, Name: t.Name, Keywords: t.Keywords, Exclusions: t.Exclusions}
}

func (s *Server) listTopics(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	query, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	at := readPage(query)
	if err := form.Err(); err != nil {
		return err
	}
	topics, err := s.Texts.Topics(r.Context(), p.View())
	if err != nil {
		return err
	}
	// They are few, and read together.
	total := len(topics)
	page := topics[min(at.offset(), total):min(at.offset()+at.perPage, total)]
	return writePage(s, w, r, at, page, total, wireTopicOf)
}

func (s *Server) createTopic(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	t := analysis.Topic{Name: in.text("name", maxName)}
	if words := in.words("keywords"); words != nil {
		t.Keywords = *words
	}
	if words := in.words("exclusions"); words != nil {
		t.Exclusions = *words
	}
	t, operation, err := s.Operations.AddTopic(r.Context(), p.View(), feedback.Caller(p), t, &form)
	if err != nil {
		return err
	}
	out := wireTopicOf(t)
	out.OperationID = operation
	return writeJSON(w, http.StatusCreated, out)
}

func (s *Server) retrieveTopic(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "topic")
	if err != nil {
		return err
	}
	t, err := s.Texts.Topic(r.Context(), p.View(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireTopicOf(t))
}

func (s *Server) updateTopic(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "topic")
	if err != nil {
		return err
	}
	var form fault.Form
	in, err := s.readBody(w, r, &form)
	if err != nil {
		return err
	}
	t, operation, err := s.Operations.EditTopic(r.Context(), p.View(), feedback.Caller(p), id, analysis.TopicChange{
		Name: in.text("name", maxName), Keywords: in.words("keywords"), Exclusions: in.words("exclusions"),
	}, &form)
	if err != nil {
		return err
	}
	out := wireTopicOf(t)
	out.OperationID = operation
	return writeJSON(w, http.StatusOK, out)
}

// wireTopicRemoval says that a topic is gone, and what takes it from feedback.
type wireTopicRemoval struct {
	wireSuccess
	OperationID int64 `json:"operation_id"`
}

func (s *Server) deleteTopic(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	id, err := pathID(r, "topic")
	if err != nil {
		return err
	}
	operation, err := s.Operations.DeleteTopic(r.Context(), p.View(), feedback.Caller(p), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wireTopicRemoval{wireSuccess{"success", "The topic was deleted."}, operation})
}

// wireStarter are the topics that were added from the starter catalogue.
type wireStarter struct {
	Data        []wireTopic `json:"data"`
	OperationID int64       `json:"operation_id,omitempty"`
}

func (s *Server) addStarterTopics(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	added, operation, err := s.Operations.AddStarter(r.Context(), p.View(), feedback.Caller(p))
	if err != nil {
		return err
	}
	out := wireStarter{Data: make([]wireTopic, len(added)), OperationID: operation}
	for i, t := range added {
		out.Data[i] = wireTopicOf(t)
	}
	return writeJSON(w, http.StatusOK, out)
}

// words reads a list of texts, or one text; nil when it is not given. A comma is part of a text, and an empty text keeps its place.
func (in input) words(name string) *[]string {
	v, ok := in.given(name)
	if !ok {
		return nil
	}
	if _, isObject := v.(map[string]any); isObject {
		in.wrong(name, "must be a list of texts")
		return nil
	}
	members, isList := v.([]any)
	if !isList {
		members = []any{v}
	}
	words := make([]string, len(members))
	for i, member := range members {
		if words[i], ok = scalar(member); !ok {
			in.wrong(fmt.Sprintf("%s.%d", name, i), "must be a text")
		}
	}
	return &words
}
