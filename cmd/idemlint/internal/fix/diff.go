package fix

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/aymanbagabas/go-udiff"
)

// Diff writes the plan as unified diffs, which patch -p1 applies in the directory base. Nothing is written to the
// files.
func (p *Plan) Diff(w io.Writer, base string) error {
	for _, f := range p.Files {
		name := f.Name
		if rel, err := filepath.Rel(base, name); err == nil {
			name = rel
		}
		name = filepath.ToSlash(name)
		if _, err := io.WriteString(w, udiff.Unified("a/"+name, "b/"+name, string(f.Before), string(f.After))); err != nil {
			return fmt.Errorf("writing the diff: %w", err)
		}
	}
	return nil
}
