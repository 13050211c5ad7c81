package report_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/report"
)

func TestAFindingIsShownWithTheSourceThatCanBeRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.go")
	if err := os.WriteFile(file, []byte("one\r\n\tx := ä.b\r\n\r\nlast"), 0o644); err != nil {
		t.Fatal(err)
	}
	at := func(line, column int) finding.Position {
		return finding.Position{File: file, Line: line, Column: column}
	}
	for _, tt := range []struct {
		name       string
		start, end finding.Position
		want       string
	}{
		{"to its end", at(2, 7), at(2, 11), "a.go:2:7: m\n     2 | \tx := ä.b\n       | \t     ^~~\n"},
		{"with an end behind the line", at(4, 1), at(4, 90), "a.go:4:1: m\n     4 | last\n       | ^~~~\n"},
		{"with an end on another line", at(1, 2), at(2, 1), "a.go:1:2: m\n     1 | one\n       |  ^\n"},
		{"without an end", at(1, 1), finding.Position{}, "a.go:1:1: m\n     1 | one\n       | ^\n"},
		{"without a column", at(4, 0), at(4, 0), "a.go:4: m\n     4 | last\n"},
		{"at a column that is not there", at(4, 9), at(4, 9), "a.go:4:9: m\n     4 | last\n"},
		{"on an empty line", at(3, 1), at(3, 1), "a.go:3:1: m\n"},
		{"on a line that is not there", at(9, 1), at(9, 1), "a.go:9:1: m\n"},
		{"in a file that is gone", finding.Position{File: "/gone.go", Line: 1, Column: 1}, finding.Position{}, "/gone.go:1:1: m\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if err := report.Text(&out, &report.Report{Base: dir, Findings: []finding.Finding{{Position: tt.start, End: tt.end, Message: "m"}}}); err != nil {
				t.Fatal(err)
			}
			if out.String() != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", out.String(), tt.want)
			}
		})
	}
}

func TestColourIsPutAroundTextAndChangesNone(t *testing.T) {
	root, file := write(t, "a.go", "package a\n\tbad()\n")
	r := &report.Report{Base: root, Pages: pages(), Findings: []finding.Finding{
		{Analyzer: "one", Rule: "R-1", Message: "R-1: m", URL: "https://example.com", Position: finding.Position{File: file, Line: 2, Column: 2},
			End: finding.Position{File: file, Line: 2, Column: 5}, Related: []finding.Related{{Position: finding.Position{File: file, Line: 1}, Message: "there"}}},
		{Analyzer: "two", Rule: "R-2", Message: "R-2: n", Position: finding.Position{File: file, Line: 1, Column: 1}},
	}}
	text := func(color bool) string {
		var out strings.Builder
		r.Color = color
		if err := report.Text(&out, r); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	plain, colored := text(false), text(true)
	if strings.Contains(plain, "\x1b") {
		t.Errorf("plain text has escapes: %q", plain)
	}
	for _, want := range []string{"\x1b[1;31mR-1:\x1b[0m", "\x1b[1;33mR-2:\x1b[0m", "\x1b[32m^~~\x1b[0m"} {
		if !strings.Contains(colored, want) {
			t.Errorf("lacks %q: %q", want, colored)
		}
	}
	if stripped := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(colored, ""); stripped != plain {
		t.Errorf("without colour it is\n%s\nplain text is\n%s", stripped, plain)
	}
}
