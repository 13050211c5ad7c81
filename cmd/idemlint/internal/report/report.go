// Package report renders findings, one file a format. It finds nothing out by itself, but for the source line that
// a finding stands on.
package report

import (
	"path/filepath"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

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
