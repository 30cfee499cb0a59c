package feedback

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// New is a feedback to be. Attributes carry each name once. Without a fingerprint one is made; without a time it is now. One that comes with a
// past may have a status other than todo, and owners, who must be users of the organization.
type New struct {
	CarrierID   int64
	Source      Source
	CreatedAt   *time.Time
	Fingerprint string
	Attributes  []Attribute
	Items       []carrier.Item
	Status      Status // todo when zero
	Owners      []account.UserID
}

// Create writes a feedback and what it adds to the tallies, in one round trip when its attribute values are known.
// It refuses what the carrier's rules refuse, adding to the mistakes the form already holds, and a fingerprint that
// was ever used with this carrier. The record comes back with attributes and items.
func (s *Store) Create(ctx context.Context, v account.View, n New, form *fault.Form) (Record, error) {
	d, err := s.draft(ctx, v, n, form)
	if err != nil {
		return Record{}, err
	}
	rec, err := s.gathered.insert(ctx, v, d)
	return accepted(ctx, s.db, v, d, rec, err)
}

// draft is a feedback that passed its carrier's rules, ready to be written.
type draft struct {
	New
	result       carrier.Result
	satisfaction *int16
	items        []byte // as stored
	searchText   *string
	read
}

// storedItem is an item inside feedback_content.items.
type storedItem struct {
	Question int64  `json:"q"`
	Value    string `json:"v"`
	Option   int64  `json:"o,omitempty"`
	Text     bool   `json:"t,omitempty"`
	Spans    []span `json:"s,omitempty"`
}

func decodeItems(raw []byte) (items []storedItem, err error) {
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, fmt.Errorf("decode items: %w", err)
	}
	return items, nil
}

// writtenTexts are the texts among items.
func writtenTexts(items []storedItem) (texts []string) {
	for _, item := range items {
		if item.Text {
			texts = append(texts, item.Value)
		}
	}
	return texts
}

func (s *Store) draft(ctx context.Context, v account.View, n New, form *fault.Form) (draft, error) {
	// A request without a usable carrier is refused for that; the rules of carrier 0 have nothing to say.
	if n.CarrierID == 0 {
		return draft{}, form.Err()
	}
	rules, err := s.carriers.Rules(ctx, v, n.CarrierID, n.Items, form)
	if err != nil {
		return draft{}, err
	}
	if n.Status == 0 {
		n.Status = Todo
	}
	d := draft{New: n, result: rules.Check(n.Items, form)}
	// Nothing is registered for a request that is going to be refused.
	if err := form.Err(); err != nil {
		return draft{}, err
	}
	if !rules.Cover(n.Items) {
		if rules, err = s.carriers.Register(ctx, v, rules, n.Items); err != nil {
			return draft{}, err
		}
		d.result = rules.Check(n.Items, form)
		if err := form.Err(); err != nil {
			return draft{}, err
		}
	}
	if d.Fingerprint == "" {
		d.Fingerprint = newFingerprint()
	}
	reader, err := s.texts.Reader(ctx, v)
	if err != nil {
		return draft{}, err
	}
	return d, d.finish(reader, nil)
}

// finish works out what is stored of the answers. Texts that were read before, and need not be read again, have their spans in known.
func (d *draft) finish(reader *analysis.Reader, known []storedItem) error {
	stored := make([]storedItem, len(d.result.Answers))
	d.version = reader.Version
	for i, a := range d.result.Answers {
		stored[i] = storedItem{Question: a.QuestionID, Value: a.Value, Option: a.OptionID, Text: slices.Contains(d.result.Texts, a)}
		if !stored[i].Text {
			continue
		}
		if known != nil && known[i].Text {
			stored[i].Spans = known[i].Spans
			d.add(sum(known[i].Spans))
		} else {
			text := reader.Read(d.CarrierID, a.Value)
			stored[i].Spans = spans(text)
			d.add(text)
		}
	}
	d.satisfaction = carrier.Satisfaction(d.result.Scale, d.mean())
	var err error
	if d.items, err = json.Marshal(stored); err != nil {
		return fmt.Errorf("encode items: %w", err)
	}
	d.searchText = searchText(d.result.Texts)
	return nil
}

func newFingerprint() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// accepted is what becomes of one draft that was inserted: the record, or a refusal when its fingerprint was taken.
func accepted(ctx context.Context, q pg.Querier, v account.View, d draft, rec Record, err error) (Record, error) {
	if err != nil {
		return Record{}, fmt.Errorf("create feedback: %w", err)
	}
	if rec.ID != 0 {
		return rec, nil
	}
	refusals, err := fingerprintsTaken(ctx, q, v, []draft{d})
	if err != nil {
		return Record{}, err
	}
	return Record{}, refusals[0]
}

// fingerprintsTaken is the refusal of each draft, whose fingerprint is in use; it names the feedback that has it while that exists.
func fingerprintsTaken(ctx context.Context, q pg.Querier, v account.View, drafts []draft) ([]*fault.Fault, error) {
	carriers, sums := make([]int64, len(drafts)), make([][]byte, len(drafts))
	for i, d := range drafts {
		carriers[i], sums[i] = d.CarrierID, hash(d.Fingerprint)
	}
	rows, err := q.Query(ctx, `
		SELECT coalesce(f.id, 0)
		FROM unnest($2::bigint[], $3::bytea[]) WITH ORDINALITY AS t (carrier_id, fingerprint_sha256, n)
		LEFT JOIN fingerprint p ON p.organization_id = $1 AND p.carrier_id = t.carrier_id AND p.fingerprint_sha256 = t.fingerprint_sha256
		LEFT JOIN feedback f ON f.organization_id = $1 AND f.id = p.feedback_id
		ORDER BY t.n`, v.Org(), carriers, sums)
	if err != nil {
		return nil, fmt.Errorf("find feedback by fingerprint: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("find feedback by fingerprint: %w", err)
	}
	refusals := make([]*fault.Fault, len(ids))
	for i, id := range ids {
		refusals[i] = fault.New(fault.FingerprintTaken, "This fingerprint was already used for this carrier.")
		refusals[i].Fields = map[string][]string{"fingerprint": {"was already used for this carrier"}}
		refusals[i].FeedbackID = id
	}
	return refusals, nil
}

// record is what the caller sees of a draft once the database has added the rest.
func (d draft) record(firstItem int64) Record {
	rec := Record{
		CarrierID:    d.CarrierID,
		Fingerprint:  d.Fingerprint,
		Source:       d.Source,
		Status:       d.Status,
		Profile:      d.result.Profile,
		Satisfaction: d.satisfaction,
		Attributes:   []Attribute{},
		Items:        make([]Item, len(d.result.Answers)),
	}
	for i, a := range d.result.Answers {
		rec.Items[i] = Item{ID: firstItem + int64(i), QuestionID: a.QuestionID, Value: a.Value}
	}
	return rec
}

// folded is a value's text in lower case, nil where that is the text itself.
func (v Value) folded() *string {
	if f := fql.Fold(v.Text); f != v.Text {
		return &f
	}
	return nil
}

// number is a value's number for comparisons, as text for PostgreSQL to read; nil when it spells none.
func (v Value) number() *string {
	if !fql.IsNumber(v.Text) {
		return nil
	}
	return &v.Text
}
