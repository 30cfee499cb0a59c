package operation

// Step lets tests stop between two stretches of records.
var Step = (*Store).step

// CutSmall makes chunks so small that a few records fill several.
func (s *Store) CutSmall(n int) { s.chunk = n }
