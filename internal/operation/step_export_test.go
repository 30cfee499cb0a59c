package operation

// Step lets tests stop between two stretches of records.
var Step = (*Store).step
