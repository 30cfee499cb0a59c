package report

// ExpirySQL is when something ends that lasts a lifetime from a time on.
var ExpirySQL = expirySQL

// Interval is how long a lifetime lasts.
func Interval(lifetime string) string { return lifetimes[lifetime] }
