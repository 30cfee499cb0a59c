// Package analysis reads text: what a comment says is told from its words alone, inside the process. It keeps the rules
// and words that this takes, and none of the text it is given.
package analysis
