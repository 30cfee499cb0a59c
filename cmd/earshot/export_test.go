package main

// Main lets the test binary stand in for the program.
var Main = main
