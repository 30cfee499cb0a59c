package feedback

import (
	"context"
	"errors"
	"fmt"

	"earshot/internal/account"
	"earshot/internal/fault"
)

// MaxMany is how many feedback CreateMany takes at once.
const MaxMany = 1_000

// Outcome is what became of one feedback of many.
type Outcome struct {
	Record Record // as Create returns it, when it was written
	// Refusal is why it was not: its fingerprint was taken (fault.FingerprintTaken), or it breaks a rule. Nil: it was written.
	Refusal *fault.Fault
}

// CreateMany writes up to MaxMany feedback and what they add to the tallies in one statement, and says of each, in the order given, what
// became of it. Each stands for itself: one that is refused, as Create refuses it, keeps no other from being written. Of
// several with one fingerprint the first is written. forms, unless nil, hold for each the mistakes that were noted already.
// After an error all of them may have been written or none: sent again with the same fingerprints, none is there twice.
func (s *Store) CreateMany(ctx context.Context, v account.View, all []New, forms []*fault.Form) ([]Outcome, error) {
	if len(all) > MaxMany {
		return nil, fmt.Errorf("create feedback: %d at once are too many", len(all))
	}
	outcomes := make([]Outcome, len(all))
	var (
		drafts []draft
		places []int // of the drafts among all
	)
	for i, n := range all {
		form := &fault.Form{}
		if forms != nil {
			form = forms[i]
		}
		if n.CarrierID == 0 && !form.Wrong("carrier_id") {
			form.Add("carrier_id", "is required")
		}
		d, err := s.draft(ctx, v, n, form)
		if refusal, ok := errors.AsType[*fault.Fault](err); ok {
			outcomes[i].Refusal = refusal
			continue
		}
		if err != nil {
			return nil, err
		}
		drafts, places = append(drafts, d), append(places, i)
	}
	if len(drafts) == 0 {
		return outcomes, nil
	}
	s.gathered.wrote(len(drafts))
	written, err := insert(ctx, s.db, v, drafts)
	if err != nil {
		return nil, fmt.Errorf("create feedback: %w", err)
	}
	var (
		taken       []draft
		takenPlaces []int
	)
	for i, rec := range written {
		if rec.ID == 0 {
			taken, takenPlaces = append(taken, drafts[i]), append(takenPlaces, places[i])
			continue
		}
		outcomes[places[i]].Record = rec
	}
	if len(taken) == 0 {
		return outcomes, nil
	}
	refusals, err := fingerprintsTaken(ctx, s.db, v, taken)
	if err != nil {
		return nil, err
	}
	for i, place := range takenPlaces {
		outcomes[place].Refusal = refusals[i]
	}
	return outcomes, nil
}
