package lint

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// module finds what the modules of the analysed packages hold beside them. dirs are the packages' directories.
func module(dirs []string) (rules.Module, error) {
	m := rules.Module{Read: os.ReadFile}
	analysed := make(map[string]bool)
	roots := make(map[string]bool)
	for _, dir := range dirs {
		analysed[dir] = true
		if root, ok := moduleRoot(dir); ok {
			roots[root] = true
		}
	}
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		err := moduleFiles(root, func(path string) error {
			switch {
			case strings.HasSuffix(path, ".sql"):
				m.SQL = append(m.SQL, path)
			case !strings.HasSuffix(path, "_test.go") && !analysed[filepath.Dir(path)]:
				m.Rest = append(m.Rest, path)
			}
			return nil
		})
		if err != nil {
			return m, fmt.Errorf("looking for .sql files in the module at %s: %w", root, err)
		}
	}
	slices.Sort(m.SQL)
	slices.Sort(m.Rest)
	return m, nil
}

// moduleFiles calls visit for each .go and .sql file of the module at root.
func moduleFiles(root string, visit func(path string) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if path != root && (skipped(d.Name()) || isModule(path)) {
				return fs.SkipDir
			}
		case strings.HasSuffix(path, ".sql"), strings.HasSuffix(path, ".go"):
			return visit(path)
		}
		return nil
	})
}

// skipped tells directories that the go command passes over, and those of other people's files.
func skipped(name string) bool {
	switch name {
	case "testdata", "vendor", "node_modules":
		return true
	}
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func isModule(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil && !info.IsDir()
}

// moduleRoot is the nearest directory with a go.mod, from dir up.
func moduleRoot(dir string) (string, bool) {
	for {
		if isModule(dir) {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}
