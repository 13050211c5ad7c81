package report

import (
	"os"
	"strings"
	"unicode/utf8"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

// byteOrderMark may stand at the begin of a file. The go command skips it but counts its bytes.
const byteOrderMark = "\uFEFF"

// sources are the lines of files that were read; nil for a file that could not be.
type sources map[string][]string

func (s sources) lines(file string) []string {
	lines, ok := s[file]
	if !ok {
		if data, err := os.ReadFile(file); err == nil {
			lines = strings.Split(string(data), "\n")
		}
		s[file] = lines
	}
	return lines
}

func (s sources) line(p finding.Position) (string, bool) {
	lines := s.lines(p.File)
	if p.Line < 1 || p.Line > len(lines) {
		return "", false
	}
	return strings.TrimRight(lines[p.Line-1], "\r"), true
}

// column is a position's column in code points, from 1; 0 when it is not known. What is no UTF-8 counts a byte for one.
func (s sources) column(p finding.Position) int {
	line, ok := s.line(p)
	if !ok || p.Column < 1 || p.Column > len(line)+1 {
		return 0
	}
	before := line[:p.Column-1]
	if p.Line == 1 {
		before = strings.TrimPrefix(before, byteOrderMark)
	}
	return utf8.RuneCountInString(before) + 1
}

// at is the position of a byte of a file; its line is 0 when the file does not reach there.
func (s sources) at(file string, offset int) finding.Position {
	for i, line := range s.lines(file) {
		if offset <= len(line) {
			return finding.Position{File: file, Line: i + 1, Column: offset + 1}
		}
		offset -= len(line) + 1
	}
	return finding.Position{File: file}
}

// ends tells whether a finding ends behind its begin, in the same file.
func ends(f finding.Finding) bool {
	return f.End.File == f.Position.File && f.Position.Column > 0 && f.End.Column > 0 && f.Position.Compare(f.End) < 0
}
