package feedback

// MaxCounts is how many turns an organization has here.
var MaxCounts = maxCounts
