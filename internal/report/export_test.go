package report

// ExpirySQL is when something ends that lasts a lifetime from a time on.
var ExpirySQL = expirySQL

// Interval is how long a lifetime lasts.
func Interval(lifetime string) string { return lifetimes[lifetime] }

// Size is a group as far as hiding goes.
type Size = size

// NewSize is a group of n feedback that stands for some groups.
func NewSize(n, parts int64, rest bool) Size { return size{n, parts, rest} }

func (s size) N() int64     { return s.n }
func (s size) Parts() int64 { return s.parts }
func (s size) Rest() bool   { return s.rest }

// Hide says which groups must not be told apart.
var Hide = hide
