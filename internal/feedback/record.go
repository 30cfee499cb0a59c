// Package feedback keeps the records themselves: what a customer said, where it came from, what it was worth, and where
// its handling stands. Every change of a record writes what it changes of the tallies in the same statement.
package feedback

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
)

// Store reads and writes feedback.
type Store struct {
	db       *pgxpool.Pool
	reads    *pgxpool.Pool
	carriers *carrier.Store
	texts    *analysis.Store
	counts   turns
}

// NewStore returns a store on the database that asks carriers for their rules and has texts read. Filters run on reads, whose connections must plan
// every execution anew: a plan made for a common value is ruinous for a rare one.
func NewStore(db, reads *pgxpool.Pool, carriers *carrier.Store, texts *analysis.Store) *Store {
	return &Store{db: db, reads: reads, carriers: carriers, texts: texts, counts: turns{orgs: map[account.OrgID]chan struct{}{}}}
}

// Record is one feedback. Parts that were not asked for are nil.
type Record struct {
	ID           int64
	CarrierID    int64
	Fingerprint  string
	Source       Source
	Status       Status
	CreatedAt    time.Time
	CompletedAt  *time.Time
	Profile      carrier.Profile // 0: none
	Satisfaction *int16          // hundredths of a percent; nil: not measurable
	Attributes   []Attribute
	Items        []Item
	Owners       []Owner

	valueIDs []int64
}

// Item is one answer of a feedback.
type Item struct {
	ID         int64
	QuestionID int64
	Value      string
	Option     *carrier.Option
	Question   *carrier.Question // when asked for
	Topics     []string          // when texts are asked for: what it speaks of
	Spans      []Span            // likewise

	spans []span
}

// Attribute is a named list of values, in the order they were attached.
type Attribute struct {
	Name   string
	Label  string
	Values []Value
}

// Value is one value of an attribute. Two values are the same when their text is; IsNumber tells how the first was spelled.
type Value struct {
	Text     string
	IsNumber bool
}

// Owner is a user who looks after a feedback.
type Owner struct {
	ID    account.UserID
	Name  string
	Email string
}

// Parts are what to load beyond the record itself.
type Parts struct {
	Attributes bool
	Items      bool
	Questions  bool // of the items
	Texts      bool // what was read in the items
	Owners     bool
}

// Status is where the handling of a feedback stands. Any status may follow any other.
type Status int16

// The statuses, as stored.
const (
	Todo Status = iota + 1
	Progress
	Contacted
	Resolved
	Abandoned
)

var statusNames = [...]string{Todo: "todo", Progress: "progress", Contacted: "contacted", Resolved: "resolved", Abandoned: "abandoned"}

func (s Status) String() string { return statusNames[s] }

// ParseStatus reads a status by its name.
func ParseStatus(name string) (Status, bool) {
	for s, n := range statusNames {
		if n == name && n != "" {
			return Status(s), true
		}
	}
	return 0, false
}

// StatusNames lists the statuses in their order.
func StatusNames() []string { return statusNames[Todo:] }
