package report

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

// Text writes findings for people: the place and the message, the source line with the place marked, the related
// places and the rule's page, with an empty line between findings. Paths are relative to base where that is
// shorter. A source line that cannot be read is left out.
func Text(w io.Writer, base string, findings []finding.Finding) error {
	out := bufio.NewWriter(w)
	source := make(sources)
	for i, f := range findings {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s: %s\n", Place(base, f.Position), f.Message)
		source.quote(out, f)
		for _, r := range f.Related {
			fmt.Fprintf(out, "    %s: %s\n", Place(base, r.Position), r.Message)
		}
		if f.URL != "" {
			fmt.Fprintf(out, "    %s\n", f.URL)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the findings: %w", err)
	}
	return nil
}

// sources are the lines of files that were read; nil for a file that could not be.
type sources map[string][]string

func (s sources) line(p finding.Position) (string, bool) {
	lines, ok := s[p.File]
	if !ok {
		if data, err := os.ReadFile(p.File); err == nil {
			lines = strings.Split(string(data), "\n")
		}
		s[p.File] = lines
	}
	if p.Line < 1 || p.Line > len(lines) {
		return "", false
	}
	return strings.TrimRight(lines[p.Line-1], "\r"), true
}

// quote writes the line that a finding stands on, and below it a caret under its column; the mark goes on to the
// finding's end where that is on the same line.
func (s sources) quote(out io.Writer, f finding.Finding) {
	line, ok := s.line(f.Position)
	if !ok || strings.TrimSpace(line) == "" {
		return
	}
	gutter := fmt.Sprintf("%6d | ", f.Position.Line)
	fmt.Fprintf(out, "%s%s\n", gutter, line)
	start := f.Position.Column - 1
	if start < 0 || start > len(line) {
		return
	}
	mark := "^"
	if f.End.File == f.Position.File && f.End.Line == f.Position.Line && f.End.Column > f.Position.Column {
		end := min(f.End.Column-1, len(line))
		mark += strings.Repeat("~", max(0, utf8.RuneCountInString(line[start:end])-1))
	}
	fmt.Fprintf(out, "%s| %s%s\n", strings.Repeat(" ", len(gutter)-2), blank(line[:start]), mark)
}

// blank is text as wide as s: a tab stays, since its width is the terminal's to choose.
func blank(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, s)
}
