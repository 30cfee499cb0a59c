package main

import "net/http"

// Main lets the test binary stand in for the program.
var Main = main

// Untraced is what a server without traces answers with.
func Untraced(h http.Handler) http.Handler { return (*traces)(nil).handler(h) }
