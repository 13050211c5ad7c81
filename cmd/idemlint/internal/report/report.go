// Package report renders findings, one file a format. It finds nothing out by itself, but for the source lines that
// findings stand on.
package report

import (
	"cmp"
	"io"
	"path/filepath"
	"slices"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// A Report is what a run came to, and what the formats need beside it.
type Report struct {
	Findings []finding.Finding // in the order in which they are shown
	Problems []Problem         // what could not be analysed
	Broken   []finding.Failure // the analyzers that gave up on a package
	Pages    []rules.Page      // what there is to say about the analyzers

	// Base is the directory that people see paths relative to, and Root the one that machines do: the root of the
	// repository. Both are absolute.
	Base, Root string

	Version string // idemlint's
	Color   bool   // text may be coloured
}

// A Problem is a package that was not analysed, or not by all analyzers.
type Problem struct {
	Position finding.Position // where, if known
	Message  string
}

// A Format is one way to render a report.
type Format struct {
	Name  string
	Write func(io.Writer, *Report) error
}

// Formats are all formats; the first is the default.
func Formats() []Format {
	return []Format{
		{"text", Text},
		{"json", JSON},
		{"sarif", SARIF},
		{"github", GitHub},
		{"html", HTML},
	}
}

// JSON writes x/tools' analysis JSON.
func JSON(w io.Writer, r *Report) error { return finding.WriteJSON(w, r.Findings, r.Broken) }

// page is what there is to say about the analyzer of a finding.
func (r *Report) page(f finding.Finding) rules.Page {
	for _, p := range r.Pages {
		if p.Analyzer == f.Analyzer {
			return p
		}
	}
	return rules.Page{Analyzer: f.Analyzer, Rule: f.Rule, Title: f.Rule, Severity: warning, URL: f.URL}
}

// The severities, worst first.
const (
	failure = "error"
	warning = "warning"
	note    = "note"
)

var severities = []string{failure, warning, note}

// bySeverity is the findings with the worst first; of equals the order stays.
func (r *Report) bySeverity() []finding.Finding {
	sorted := slices.Clone(r.Findings)
	rank := func(f finding.Finding) int { return slices.Index(severities, r.page(f).Severity) }
	slices.SortStableFunc(sorted, func(f, g finding.Finding) int { return cmp.Compare(rank(f), rank(g)) })
	return sorted
}

// Place is a position for people: its file relative to base where that is shorter.
func Place(base string, p finding.Position) string {
	p.File = shortPath(base, p.File)
	return p.String()
}

// shortPath is the shorter of a path as it is and relative to base, as the go command shortens paths.
func shortPath(base, path string) string {
	if base == "" || !filepath.IsAbs(path) {
		return path
	}
	rel, err := filepath.Rel(base, path)
	if err != nil || len(rel) >= len(path) {
		return path
	}
	return rel
}

// below is a path relative to root, with slashes; ok is false when it is not in it.
func below(root, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}
