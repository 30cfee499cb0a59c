package httpapi

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/feedback"
)

// include is what a request asks to see beside the record.
type include struct {
	items, question, topics, spans, attributes, owners bool
}

var includeNames = []string{"items", "items.topics", "items.question", "items.spans", "attributes", "owners"}

func readInclude(in input) include {
	names := in.list("include")
	for _, name := range names {
		if !slices.Contains(includeNames, name) {
			in.wrong("include", "must be among %s", strings.Join(includeNames, ", "))
			break
		}
	}
	has := func(name string) bool { return slices.Contains(names, name) }
	inc := include{
		question: has("items.question"), topics: has("items.topics"), spans: has("items.spans"),
		attributes: has("attributes"), owners: has("owners"),
	}
	inc.items = has("items") || inc.question || inc.topics || inc.spans
	return inc
}

func (i include) parts() feedback.Parts {
	return feedback.Parts{Items: i.items, Questions: i.question, Texts: i.topics || i.spans, Attributes: i.attributes, Owners: i.owners}
}

// feedbackSummary is a feedback in list, create and update answers.
type feedbackSummary struct {
	ID                int64           `json:"id"`
	CarrierID         int64           `json:"carrier_id"`
	Fingerprint       string          `json:"fingerprint"`
	Source            string          `json:"source"`
	CreatedAt         stamp           `json:"created_at"`
	CompletedAt       *stamp          `json:"completed_at"`
	NPSProfile        *string         `json:"nps_profile"`
	SatisfactionRatio ratio           `json:"satisfaction_ratio"`
	Attributes        []wireAttribute `json:"attributes,omitzero"`
	Items             []itemSummary   `json:"items,omitzero"`
	Owners            []wireOwner     `json:"owners,omitzero"`
}

type itemSummary struct {
	QuestionID int64     `json:"question_id"`
	Option     *struct{} `json:"option"` // null in these answers, whatever was answered
	Value      string    `json:"value"`
	CreatedAt  stamp     `json:"created_at"`
	itemExtras
}

// itemExtras are the relations of an item, each there when asked for.
type itemExtras struct {
	Question *wireQuestion `json:"question,omitempty"`
	Topics   []string      `json:"topics,omitzero"`
	Spans    []wireSpan    `json:"spans,omitzero"`
}

// wireSpan is a sentence of a text; offset and length count code points.
type wireSpan struct {
	StartOffset     int      `json:"start_offset"`
	Length          int      `json:"length"`
	Text            string   `json:"text"`
	SentimentScore  int      `json:"sentiment_score"`
	SentimentString string   `json:"sentiment_string"`
	Topics          []string `json:"topics"`
}

func extras(item feedback.Item, inc include) itemExtras {
	var e itemExtras
	if q := item.Question; q != nil {
		e.Question = &wireQuestion{Name: q.Name, Order: q.Position, Type: q.Type, Required: zeroOrOne(q.Required)}
	}
	if inc.topics {
		e.Topics = item.Topics
	}
	if inc.spans {
		e.Spans = make([]wireSpan, len(item.Spans))
	}
	for i := range e.Spans {
		s := item.Spans[i]
		e.Spans[i] = wireSpan{s.Start, s.Length, s.Text, s.Score, analysis.Label(s.Score), s.Topics}
	}
	return e
}

// feedbackDetail is a feedback in the retrieve answer.
type feedbackDetail struct {
	ID                int64           `json:"id"`
	CarrierID         int64           `json:"carrier_id"`
	Fingerprint       string          `json:"fingerprint"`
	Source            wireSource      `json:"source"`
	Import            *struct{}       `json:"import"`
	CreatedAt         stamp           `json:"created_at"`
	CompletedAt       *stamp          `json:"completed_at"`
	NPSProfile        *string         `json:"nps_profile"`
	SatisfactionRatio ratio           `json:"satisfaction_ratio"`
	Status            string          `json:"status"`
	Attributes        []wireAttribute `json:"attributes,omitzero"`
	Items             []itemDetail    `json:"items,omitzero"`
	Owners            []wireOwner     `json:"owners,omitzero"`
}

type itemDetail struct {
	ID               int64       `json:"id"`
	FeedbackID       int64       `json:"feedback_id"`
	QuestionID       int64       `json:"question_id"`
	QuestionOptionID *int64      `json:"question_option_id"`
	Option           *wireOption `json:"option"`
	Value            string      `json:"value"`
	CreatedAt        stamp       `json:"created_at"`
	itemExtras
}

type wireSource struct {
	Name  string `json:"name"`
	Label string `json:"label"`
}

type wireAttribute struct {
	Name  string     `json:"name"`
	Label string     `json:"label"`
	Value wireValues `json:"value"`
}

type wireOption struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

type wireQuestion struct {
	Name     string       `json:"name"`
	Order    int          `json:"order"`
	Type     carrier.Type `json:"type"`
	Required int          `json:"required"`
}

type wireOwner struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

// wireSummary shows every part the record was loaded with, and of its items what was asked for.
func wireSummary(rec feedback.Record, inc include) feedbackSummary {
	out := feedbackSummary{
		ID: rec.ID, CarrierID: rec.CarrierID, Fingerprint: rec.Fingerprint, Source: rec.Source.String(),
		CreatedAt: stamp(rec.CreatedAt), CompletedAt: optionalStamp(rec.CompletedAt),
		NPSProfile: profileName(rec.Profile), SatisfactionRatio: ratio{rec.Satisfaction},
		Attributes: wireAttributes(rec.Attributes), Owners: wireOwners(rec.Owners),
	}
	if rec.Items != nil {
		out.Items = make([]itemSummary, len(rec.Items))
	}
	for i, item := range rec.Items {
		out.Items[i] = itemSummary{
			QuestionID: item.QuestionID, Value: item.Value, CreatedAt: out.CreatedAt, itemExtras: extras(item, inc),
		}
	}
	return out
}

func wireDetail(rec feedback.Record, inc include) feedbackDetail {
	out := feedbackDetail{
		ID: rec.ID, CarrierID: rec.CarrierID, Fingerprint: rec.Fingerprint,
		Source:    wireSource{Name: rec.Source.String(), Label: rec.Source.Label()},
		CreatedAt: stamp(rec.CreatedAt), CompletedAt: optionalStamp(rec.CompletedAt),
		NPSProfile: profileName(rec.Profile), SatisfactionRatio: ratio{rec.Satisfaction}, Status: rec.Status.String(),
		Attributes: wireAttributes(rec.Attributes), Owners: wireOwners(rec.Owners),
	}
	if rec.Items != nil {
		out.Items = make([]itemDetail, len(rec.Items))
	}
	for i, item := range rec.Items {
		detail := itemDetail{
			ID: item.ID, FeedbackID: rec.ID, QuestionID: item.QuestionID, Value: item.Value, CreatedAt: out.CreatedAt,
			itemExtras: extras(item, inc),
		}
		if o := item.Option; o != nil {
			detail.QuestionOptionID, detail.Option = &o.ID, &wireOption{ID: o.ID, Name: o.Name}
		}
		out.Items[i] = detail
	}
	return out
}

func wireAttributes(attributes []feedback.Attribute) []wireAttribute {
	if attributes == nil {
		return nil
	}
	out := make([]wireAttribute, len(attributes))
	for i, a := range attributes {
		out[i] = wireAttribute{Name: a.Name, Label: a.Label, Value: a.Values}
	}
	return out
}

func wireOwners(owners []feedback.Owner) []wireOwner {
	if owners == nil {
		return nil
	}
	out := make([]wireOwner, len(owners))
	for i, o := range owners {
		out[i] = wireOwner{ID: int64(o.ID), Name: o.Name, Email: o.Email}
	}
	return out
}

// wireValues prints one value as itself, several as a list, each spelled as it was first stored.
type wireValues []feedback.Value

func (v wireValues) MarshalJSON() ([]byte, error) {
	all := make([]any, len(v))
	for i, value := range v {
		if all[i] = value.Text; value.IsNumber {
			all[i] = json.Number(value.Text)
		}
	}
	if len(all) == 1 {
		return encode(all[0])
	}
	return encode(all)
}

// stamp prints a time in UTC with six decimals.
type stamp time.Time

func (s stamp) MarshalJSON() ([]byte, error) {
	return time.Time(s).UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000000Z"`), nil
}

func optionalStamp(t *time.Time) *stamp {
	if t == nil {
		return nil
	}
	s := stamp(*t)
	return &s
}

// ratio prints hundredths of a percent with a decimal part, always: 70.0, 66.67. What could not be measured is 0.0.
type ratio struct{ hundredths *int16 }

func (r ratio) MarshalJSON() ([]byte, error) {
	n := 0
	if r.hundredths != nil {
		n = int(*r.hundredths)
	}
	text := strconv.FormatFloat(float64(n)/100, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return []byte(text), nil
}

func profileName(p carrier.Profile) *string {
	names := map[carrier.Profile]string{carrier.Negative: "negative", carrier.Neutral: "neutral", carrier.Positive: "positive"}
	if name, ok := names[p]; ok {
		return &name
	}
	return nil
}

func zeroOrOne(b bool) int {
	if b {
		return 1
	}
	return 0
}
