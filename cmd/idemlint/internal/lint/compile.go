package lint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Uncompiled returns the packages that the patterns name, and their tests, that do not compile when some files have
// another content, each with the first error. The files themselves stay as they are. What is compiled is kept in the
// build cache.
func (l Linter) Uncompiled(ctx context.Context, patterns []string, contents map[string][]byte) (map[string]string, error) {
	dir, err := os.MkdirTemp("", "idemlint")
	if err != nil {
		return nil, fmt.Errorf("making a directory for changed files: %w", err)
	}
	defer os.RemoveAll(dir)
	overlay, names, err := writeOverlay(dir, contents)
	if err != nil {
		return nil, fmt.Errorf("writing the changed files for the compiler: %w", err)
	}
	args := append([]string{"list", "-e", "-test", "-export", "-json=ImportPath,Error", "-overlay=" + overlay}, l.BuildFlags...)
	cmd := exec.CommandContext(ctx, "go", append(append(args, "--"), patterns...)...)
	cmd.Dir = l.Dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("compiling: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("compiling: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	failed, err := compileErrors(out)
	for pkg, text := range failed {
		failed[pkg] = l.original(text, names)
	}
	return failed, err
}

// original names the file of an error as it is without the overlay, relative to Dir as the go command does.
func (l Linter) original(text string, names map[string]string) string {
	for file, name := range names {
		if rel, err := filepath.Rel(l.Dir, name); err == nil {
			name = rel
		}
		text = strings.ReplaceAll(text, file, name)
	}
	return text
}

// Foreign returns a function that tells files that belong to others: those of the module cache, of Go itself, and of
// vendor directories.
func (l Linter) Foreign(ctx context.Context) (func(name string) bool, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOROOT")
	cmd.Dir = l.Dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("asking the go command for its directories: %w", err)
	}
	trees := strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' || r == '\r' })
	return func(name string) bool {
		return within(name, trees) || strings.Contains(filepath.ToSlash(name), "/vendor/")
	}, nil
}

// Gone returns which of the import paths name no package any more.
func (l Linter) Gone(ctx context.Context, paths []string) (map[string]bool, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	args := append([]string{"list", "-e", "-find", "-f", "{{if not .Dir}}{{.ImportPath}}{{end}}"}, l.BuildFlags...)
	cmd := exec.CommandContext(ctx, "go", append(append(args, "--"), paths...)...)
	cmd.Dir = l.Dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("asking the go command which packages there are: %w", err)
	}
	gone := make(map[string]bool)
	for path := range strings.FieldsSeq(string(out)) {
		gone[path] = true
	}
	return gone, nil
}

// writeOverlay writes contents into dir, and the file that tells the go command which files they stand for; names are
// these by those that were written.
func writeOverlay(dir string, contents map[string][]byte) (overlay string, names map[string]string, err error) {
	var o struct{ Replace map[string]string }
	o.Replace, names = make(map[string]string), make(map[string]string)
	for name, data := range contents {
		file := filepath.Join(dir, fmt.Sprintf("%d.go", len(o.Replace)))
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return "", nil, err
		}
		o.Replace[name], names[file] = file, name
	}
	data, err := json.Marshal(o)
	if err != nil {
		return "", nil, err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, names, os.WriteFile(overlay, data, 0o600)
}

// compileErrors reads what go list says: the packages that have an error, with its first line.
func compileErrors(list []byte) (map[string]string, error) {
	failed := make(map[string]string)
	for dec := json.NewDecoder(bytes.NewReader(list)); ; {
		var p struct {
			ImportPath string
			Error      *struct{ Err string }
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return failed, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading what go list says: %w", err)
		}
		if p.Error == nil {
			continue
		}
		failed[p.ImportPath] = strings.TrimSpace(p.Error.Err)
		for line := range strings.Lines(p.Error.Err) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# ") {
				failed[p.ImportPath] = line
				break
			}
		}
	}
}
