// Package analysis reads text: in which language it is, where its sentences begin and end, what it feels about what it speaks of,
// and which topics it mentions. It tells all of this from the words alone, inside the process, by rules and word lists of its own.
// It keeps those rules and words, and none of the text it is given.
//
// The same text gives the same result on every machine: there is no clock, no locale, no randomness and no floating point in it.
package analysis

// Version is raised whenever the same text may be read differently, so that what was read before can be read anew.
const Version = 1
