package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	main "earshot/cmd/earshot"
	"earshot/internal/account"
)

// TestMain makes this binary the program as well: under the name earshot, which it puts first in PATH, it runs main.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "earshot" {
		main.Main()
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "earshot-test")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is a temporary directory
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "earshot")); err != nil {
		panic(err)
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		panic(err)
	}
	return m.Run()
}

// program is an earshot command on a database, with no other setting from outside.
func program(t *testing.T, database string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("earshot", args...) //nolint:noctx // it is ended by a signal, in stop
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "EARSHOT_") && !strings.HasPrefix(v, "OTEL_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "EARSHOT_DATABASE_URL="+database, "GORACE="+promptExit)
	return cmd
}

// promptExit keeps the race detector from holding up a program that ends for a second, in which a cache may run out.
const promptExit = "atexit_sleep_ms=0"

// command runs an earshot command to its end and returns what it printed.
func command(t *testing.T, database string, args ...string) string {
	t.Helper()
	cmd := program(t, database, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("earshot %s: %v\n%s", args[0], err, stderr.String())
	}
	return string(out)
}

// start is what init prints, as far as these tests need it.
type start struct {
	OrganizationID account.OrgID    `json:"organization_id"`
	CarrierID      int64            `json:"carrier_id"`
	Questions      map[string]int64 `json:"questions"`
	Token          string           `json:"token"`
}

func initialize(t *testing.T, database string) start {
	t.Helper()
	var s start
	decode(t, command(t, database, "init", "--name", "Acme", "--json"), &s)
	return s
}

// issue creates a token and returns its id, for revoking, and its secret.
func issue(t *testing.T, database string) (id, secret string) {
	t.Helper()
	var token struct {
		ID    int64
		Token string
	}
	decode(t, command(t, database, "token", "create", "--org", "Acme", "--json"), &token)
	return fmt.Sprint(token.ID), token.Token
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("not the JSON expected: %v\n%s", err, text)
	}
}
