package finding_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

func TestAnOffsetCountsBytesFromTheBeginOfTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(file, []byte("äb\n\ncd"), 0o644); err != nil {
		t.Fatal(err)
	}
	var offsets finding.Offsets
	for _, tt := range []struct {
		line, column int
		want         int // -1 is an error
	}{
		{1, 1, 0}, {1, 3, 2}, {1, 4, 3}, {1, 5, -1},
		{2, 1, 4}, {2, 2, -1},
		{3, 1, 5}, {3, 3, 7}, {3, 4, -1},
		{4, 1, -1}, {0, 1, -1}, {1, 0, -1},
	} {
		got, err := offsets.Of(finding.Position{File: file, Line: tt.line, Column: tt.column})
		if err != nil {
			got = -1
		}
		if got != tt.want {
			t.Errorf("%d:%d is at %d (%v), want %d", tt.line, tt.column, got, err, tt.want)
		}
	}
}
