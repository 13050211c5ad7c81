// Package changes tells which lines of a work tree differ from a revision of its git repository. It knows no finding.
package changes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNoRepository is returned outside of git.
var ErrNoRepository = errors.New("no git repository")

// Lines are the lines that are new or changed, by file. The zero value is none.
type Lines struct {
	files map[string][]span // a nil list is the whole file
}

// A span is lines from first, and before end.
type span struct{ first, end int }

// Has tells whether a line of a file is new or changed. The name is absolute; directories that are symbolic links are
// followed.
func (l *Lines) Has(name string, line int) bool {
	spans, ok := l.files[resolved(name)]
	if !ok {
		return false
	}
	if spans == nil {
		return true
	}
	for _, s := range spans {
		if s.first <= line && line < s.end {
			return true
		}
	}
	return false
}

// Since returns the lines of the work tree around dir that a revision does not have, committed or not. All lines of
// files that git does not track are among them, but for files that it ignores. A moved file is told by its content, as
// git diff does.
func Since(ctx context.Context, dir, rev string) (*Lines, error) {
	g := git{ctx: ctx, dir: dir}
	top, err := g.run("rev-parse", "--show-toplevel")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("no git command in PATH: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w around %s: %w", ErrNoRepository, dir, err)
	}
	g.dir = strings.TrimRight(string(top), "\r\n")
	hash, err := g.run("rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("git knows no revision %q; a shallow clone lacks older ones: git fetch --unshallow", rev)
	}
	diff, err := g.run("-c", "core.quotePath=true", "diff", "--unified=0", "--find-renames", "--no-color", "--no-ext-diff", "--no-textconv",
		"--no-relative", "--ignore-submodules", "--src-prefix=a/", "--dst-prefix=b/", strings.TrimSpace(string(hash)), "--")
	if err != nil {
		return nil, fmt.Errorf("comparing with %s: %w", rev, err)
	}
	lines := &Lines{files: make(map[string][]span)}
	if err := lines.read(g.dir, diff); err != nil {
		return nil, fmt.Errorf("comparing with %s: %w", rev, err)
	}
	untracked, err := g.run("ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, fmt.Errorf("listing files that git does not track: %w", err)
	}
	for name := range strings.SplitSeq(string(untracked), "\x00") {
		if name != "" {
			lines.files[resolved(filepath.Join(g.dir, filepath.FromSlash(name)))] = nil
		}
	}
	return lines, nil
}

type git struct {
	ctx context.Context
	dir string
}

// run returns what git prints. Its error has what git says of it.
func (g git) run(args ...string) ([]byte, error) {
	cmd := exec.CommandContext(g.ctx, "git", args...)
	cmd.Dir = g.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if g.ctx.Err() != nil {
		return nil, context.Cause(g.ctx)
	}
	if said := strings.TrimSpace(stderr.String()); err != nil && said != "" {
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	return out, err
}

// read takes the new sides of a diff's hunks, which has no lines of context.
func (l *Lines) read(top string, diff []byte) error {
	file, left := "", 0
	for line := range strings.Lines(string(diff)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case left > 0 && (strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+")):
			left-- // the text of a hunk, whatever it looks like
		case strings.HasPrefix(line, "+++ "):
			name, err := unquote(strings.TrimPrefix(line, "+++ "))
			if err != nil {
				return err
			}
			if file = ""; strings.HasPrefix(name, "b/") {
				file = resolved(filepath.Join(top, filepath.FromSlash(name[2:])))
			}
		case strings.HasPrefix(line, "@@ "):
			gone, came, err := hunk(line)
			if err != nil {
				return err
			}
			left = gone.end - gone.first + came.end - came.first
			if file != "" && came.end > came.first {
				l.files[file] = append(l.files[file], came)
			}
		}
	}
	return nil
}

// unquote is a file's name in a diff: in quotes with escapes when there is something odd about it, with a tab behind it
// when there are spaces in it.
func unquote(name string) (string, error) {
	name = strings.TrimSuffix(name, "\t")
	if !strings.HasPrefix(name, `"`) {
		return name, nil
	}
	plain, err := strconv.Unquote(name)
	if err != nil {
		return "", fmt.Errorf("reading the file name %s of a diff: %w", name, err)
	}
	return plain, nil
}

// hunk reads "@@ -1,2 +3,4 @@".
func hunk(line string) (gone, came span, err error) {
	fields := strings.Fields(line)
	if len(fields) >= 3 {
		var ok1, ok2 bool
		gone, ok1 = side(fields[1], "-")
		came, ok2 = side(fields[2], "+")
		if ok1 && ok2 {
			return gone, came, nil
		}
	}
	return span{}, span{}, fmt.Errorf("reading the hunk %q of a diff", line)
}

func side(field, sign string) (span, bool) {
	rest, ok := strings.CutPrefix(field, sign)
	first, count, many := strings.Cut(rest, ",")
	from, err := strconv.Atoi(first)
	n := 1
	if many && err == nil {
		n, err = strconv.Atoi(count)
	}
	return span{from, from + n}, ok && err == nil && from >= 0 && n >= 0
}

// resolved is a name without symbolic links among its directories, as git names files.
func resolved(name string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		return filepath.Join(dir, filepath.Base(name))
	}
	return filepath.Clean(name)
}
