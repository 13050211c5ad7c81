package rules_test

import (
	"testing"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

func TestTheNearestWordIsASlipOfTheFingerAway(t *testing.T) {
	candidates := []string{"dedupcheck", "offsetkey", "uuidv7", "X1", "X2", "R-KFK-IDEM-X1"}
	for _, tt := range []struct{ word, want string }{
		{"dedupchekc", "dedupcheck"},
		{"DedupCheck", "dedupcheck"},
		{"dedup-check", "dedupcheck"},
		{"uuidv4", "uuidv7"},
		{"x3", "X1"}, // the first of equals
		{"R-KFK-IDM-X1", "R-KFK-IDEM-X1"},
		{"security", ""},
		{"", ""},
	} {
		got, ok := rules.Nearest(tt.word, candidates)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("Nearest(%q) = %q, %v, want %q", tt.word, got, ok, tt.want)
		}
	}
}
