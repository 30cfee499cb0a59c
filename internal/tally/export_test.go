package tally

// SetSlice makes the fold work in smaller transactions.
func (s *Store) SetSlice(n int) { s.slice = n }
