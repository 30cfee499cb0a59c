package feedback

import "earshot/internal/account"

// The limits of gatherings.
const (
	MaxWrites   = maxWrites
	MaxGathered = maxGathered
)

// Gathered is how many creates of an organization wait to be written, and how many of those callers have left.
func (s *Store) Gathered(v account.View) (n, left int) {
	s.gathered.mu.Lock()
	defer s.gathered.mu.Unlock()
	q, ok := s.gathered.orgs[v.Org()]
	if !ok {
		return 0, 0
	}
	for _, b := range q.waiting {
		for _, m := range b.members {
			n++
			if m.left {
				left++
			}
		}
	}
	return n, left
}

// Writing is how many statements write creates of an organization.
func (s *Store) Writing(v account.View) int {
	s.gathered.mu.Lock()
	defer s.gathered.mu.Unlock()
	if q, ok := s.gathered.orgs[v.Org()]; ok {
		return q.writes
	}
	return 0
}
