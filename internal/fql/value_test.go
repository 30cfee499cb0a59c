package fql_test

import (
	"fmt"
	"testing"

	"earshot/internal/fql"
)

// A number is what JSON calls one, as far as a 64-bit float reaches.
func TestIsNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"0": true, "-0": true, "7": true, "-7": true, "1.50": true, "0.0": true, "-0.0e5": true, "0e-999": true, "1e5": true, "1E+5": true, "1e-5": true,
		"12345678901234567890": true, "1.7976931348623157e308": true, "5e-324": true, "0.1000000000000000055511151231257827": true,

		"": false, " ": false, " 1": false, "1 ": false, "1\n": false, "01": false, "-01": false, "+1": false, "1.": false, ".5": false, "-": false,
		"1e": false, "1e400": false, "-1e400": false, "1e-400": false, "0x10": false, "0b1": false, "1_000": false, "1,5": false, "Inf": false,
		"-Inf": false, "Infinity": false, "NaN": false, "١": false, "true": false, "null": false, `"1"`: false, "[1]": false, "{}": false, "1 2": false, "--1": false,
		"1\x00": false, "0e999": true, "0e1000": false, "0e-1000": false, "0e-99999999999999999999": false, "1e00000005": true,
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			t.Parallel()
			if got := fql.IsNumber(text); got != want {
				t.Errorf("IsNumber(%q) = %v", text, got)
			}
		})
	}
}
