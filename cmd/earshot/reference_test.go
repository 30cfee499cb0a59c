package main_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page says what the program says of itself.
func TestConfigurationPageIsCurrent(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), command(t, "", "reference")); diff != "" {
		t.Errorf("docs/configuration.md is not what earshot reference prints; make docs writes it anew (-page +printed):\n%s", diff)
	}
}
