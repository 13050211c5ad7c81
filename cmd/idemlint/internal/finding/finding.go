// Package finding is what the command knows of a diagnostic once the analyzers are done: where it stands, which
// rule it belongs to, and how it reads and writes x/tools' analysis JSON. It decides nothing about rules and
// prints nothing.
package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A Position is a place in a file, as go vet prints it. Line and Column count from 1, Column in bytes; 0 is
// unknown.
type Position struct {
	File   string
	Line   int
	Column int
}

// ParsePosition reads "file:line:column" or "file:line". What has no line is taken as a file name.
func ParsePosition(s string) Position {
	rest, last, ok := cutNumber(s)
	if !ok {
		return Position{File: s}
	}
	file, line, ok := cutNumber(rest)
	if !ok {
		return Position{File: rest, Line: last}
	}
	return Position{File: file, Line: line, Column: last}
}

// cutNumber splits ":number" off the end of s.
func cutNumber(s string) (rest string, n int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 1 {
		return s, 0, false
	}
	return s[:i], n, true
}

// String is the position as [ParsePosition] reads it.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return p.File + ":" + strconv.Itoa(p.Line)
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Compare orders positions by file, line and column.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// A Related is the other end of a finding: the effect, the sink, the commit, or a step on the way there.
type Related struct {
	Position Position
	End      Position
	Message  string
}

// A Fix is one suggested change, to be applied as a whole or not at all.
type Fix struct {
	Message string `json:"message"`
	Edits   []Edit `json:"edits"`
}

// An Edit replaces the bytes [Start, End) of a file by New.
type Edit struct {
	Filename string `json:"filename"`
	Start    int    `json:"start"`
	End      int    `json:"end"`
	New      string `json:"new"`
}

// A Finding is one diagnostic of one rule.
type Finding struct {
	Package  string // the package's id, such as "example.com/m/p [example.com/m/p.test]"
	Analyzer string
	Rule     string // rule id in full, or "idemlint" for a faulty directive
	Function string // the declaration it stands in, as [Functions] names it
	Position Position
	End      Position
	Message  string
	Related  []Related
	Fixes    []Fix
	URL      string // the rule's page
}

// Compare orders findings as they are shown: by file, line, column, rule, and what else tells them apart.
func (f Finding) Compare(g Finding) int {
	return cmp.Or(
		f.Position.Compare(g.Position),
		cmp.Compare(f.Rule, g.Rule),
		cmp.Compare(f.Message, g.Message),
		cmp.Compare(f.Analyzer, g.Analyzer),
		cmp.Compare(f.Package, g.Package),
	)
}

// Normalize sorts findings and drops those that repeat another's position, rule and message, as the variants of
// a package with and without its tests do. The first in order stays.
func Normalize(findings []Finding) []Finding {
	slices.SortFunc(findings, Finding.Compare)
	return slices.CompactFunc(findings, func(f, g Finding) bool {
		return f.Position == g.Position && f.Rule == g.Rule && f.Message == g.Message
	})
}
