// Package api holds the description of the HTTP interface: every operation,
// what it takes, what it answers and how it refuses, with examples. It is
// written by hand and is the contract: the server hands it out as it stands,
// and the tests of the server hold every answer against it.
package api

import _ "embed"

// OpenAPI is the description as an OpenAPI 3.1 document in YAML. Nobody may
// change the bytes.
//
//go:embed openapi.yaml
var OpenAPI []byte
