package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

// ErrNoModule is returned when there is no go.mod to load packages by.
var ErrNoModule = errors.New("no go.mod in the current directory or any above it: " +
	"run idemlint inside a module, or name one with -C dir")

// ErrNoPackages is returned when no package matches the patterns.
var ErrNoPackages = errors.New("no packages match")

const (
	notLoaded   = "does not load"
	notBuilt    = "does not build"
	notAnalysed = "was not analysed"
)

// diagnose finds out why go vet failed, and analyses what can be. go vet looks at no package at all when one of
// them does not load, so those are left out in a second run.
func (l Linter) diagnose(ctx context.Context, patterns []string, out vetOutput) (vetOutput, []Failure, error) {
	roots, err := l.load(ctx, patterns, out)
	if err != nil {
		return out, nil, err
	}
	failures, healthy := l.loadFailures(roots)
	if len(out.units) == 0 && len(failures) > 0 && len(healthy) == 0 {
		if err := l.checkModule(ctx); err != nil {
			return out, nil, err
		}
	}
	if len(out.units) == 0 && len(failures) > 0 && len(healthy) > 0 {
		if out, err = l.vet(ctx, healthy); err != nil {
			return out, nil, err
		}
	}
	failures = append(failures, l.buildFailures(out, roots, failures)...)
	if len(failures) == 0 && out.failed {
		return out, nil, fmt.Errorf("go vet failed: %s", out.text())
	}
	slices.SortFunc(failures, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Cause, b.Cause))
	})
	return out, failures, nil
}

// load resolves the patterns, without types. Where it fails, go vet's own words are better than its.
func (l Linter) load(ctx context.Context, patterns []string, out vetOutput) ([]*packages.Package, error) {
	roots, err := packages.Load(&packages.Config{
		Mode:       packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedForTest,
		Context:    ctx,
		Dir:        l.Dir,
		BuildFlags: l.BuildFlags,
		Tests:      true,
	}, patterns...)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("resolving %s: %w", strings.Join(patterns, " "), context.Cause(ctx))
	case err != nil || len(roots) == 0:
		if err := l.checkModule(ctx); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, fmt.Errorf("resolving %s: %s", strings.Join(patterns, " "), cmp.Or(out.text(), err.Error()))
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("%w %s", ErrNoPackages, strings.Join(patterns, " "))
	}
	return roots, nil
}

// checkModule returns ErrNoModule if the go command works without a go.mod or go.work.
func (l Linter) checkModule(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "env", "GOMOD", "GOWORK")
	cmd.Dir = l.Dir
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("asking the go command for its module: %w", err)
	}
	mod, work, _ := strings.Cut(string(out), "\n")
	if strings.TrimSpace(mod) == os.DevNull && strings.TrimSpace(work) == "" {
		return ErrNoModule
	}
	return nil
}

// loadFailures splits the packages into those that do not load, by themselves or by what they import, and the
// import paths of the others.
func (l Linter) loadFailures(roots []*packages.Package) (failures []Failure, healthy []string) {
	causes := make(map[*packages.Package]string)
	var cause func(p *packages.Package) string
	cause = func(p *packages.Package) string {
		if c, ok := causes[p]; ok {
			return c
		}
		causes[p] = "" // An import cycle ends here.
		c := ""
		if len(p.Errors) > 0 {
			c = listError(p.Errors[0])
		} else {
			for _, path := range slices.Sorted(maps.Keys(p.Imports)) {
				if c = cause(p.Imports[path]); c != "" {
					break
				}
			}
		}
		causes[p] = c
		return c
	}
	broken := make(map[string]bool)
	for _, p := range roots {
		if c := cause(p); c != "" && !broken[owner(p)] {
			broken[owner(p)] = true
			failures = append(failures, l.failure(owner(p), notLoaded, c))
		}
	}
	for _, p := range roots {
		if owner(p) == p.ID && !broken[p.ID] {
			healthy = append(healthy, p.ID)
		}
	}
	return failures, healthy
}

// listError is a package's error with the place where it arose.
func listError(e packages.Error) string {
	if e.Pos == "" || e.Pos == "-" {
		return e.Msg
	}
	return e.Pos + ": " + e.Msg
}

// buildFailures are the packages of which go vet says that they do not build or that the tool failed on them, and
// the packages that import one that does not build, of which it says nothing.
func (l Linter) buildFailures(out vetOutput, roots []*packages.Package, known []Failure) []Failure {
	done := make(map[string]bool)
	for _, u := range out.units {
		done[finding.ImportPath(u.Package)] = true
	}
	for _, f := range known {
		done[f.Package] = true
	}
	var failures []Failure
	unbuilt, broken := make(map[string]bool), make(map[string]bool)
	for _, b := range out.blocks {
		path := finding.ImportPath(b.pkg)
		if path == "" || done[path] {
			continue
		}
		done[path] = true
		f := l.failure(path, notBuilt, b.lines[0])
		if cause, ok := b.internalError(path); ok {
			f = Failure{Package: path, Reason: notAnalysed, Cause: cause}
		} else if filepath.Base(f.Position.File) == config.File {
			f.Reason = notAnalysed
		}
		unbuilt[path], broken[path] = f.Reason == notBuilt, f.Reason == notAnalysed
		failures = append(failures, f)
	}
	asked := make(map[string]*packages.Package)
	for _, p := range roots {
		if owner(p) != p.ID {
			continue
		}
		asked[p.ID] = p
		if culprit := imported(p, unbuilt); culprit != "" && !done[p.ID] {
			failures = append(failures, Failure{Package: p.ID, Reason: notAnalysed, Cause: "it imports " + culprit + ", which does not build"})
		}
	}
	// From x/tools v0.50 on a package has no types for its importers when the tool fails on it, and they seem not to
	// build.
	for i, f := range failures {
		if p := asked[f.Package]; p != nil && f.Reason == notBuilt {
			if culprit := imported(p, broken); culprit != "" {
				failures[i] = Failure{Package: p.ID, Reason: notAnalysed, Cause: "it imports " + culprit + ", which was not analysed"}
			}
		}
	}
	return failures
}

// internalError tells whether a block is about an error of the analyzers and not of the package, and which.
func (b block) internalError(path string) (cause string, ok bool) {
	if b.crash != "" {
		return "internal error: " + b.crash, true
	}
	first := b.lines[0]
	if strings.HasPrefix(first, "analyzer ") || strings.HasPrefix(first, "internal error: ") {
		return strings.Replace(first, " on package "+path+": ", ": ", 1), true
	}
	return "", false
}

// imported is the first package, by import path, that p depends on and that is in set.
func imported(p *packages.Package, set map[string]bool) string {
	found := ""
	packages.Visit([]*packages.Package{p}, nil, func(q *packages.Package) {
		if q != p && set[q.PkgPath] && (found == "" || q.PkgPath < found) {
			found = q.PkgPath
		}
	})
	return found
}

// owner is the import path of the package that p is, or whose tests p is for: a variant, an external test package
// or a test's main. Only of the package itself is it the id.
func owner(p *packages.Package) string {
	return strings.TrimSuffix(cmp.Or(p.ForTest, finding.ImportPath(p.ID)), ".test")
}

// text is what go vet said on standard error, on one line: of a long list, which names every module, its ends.
func (out vetOutput) text() string {
	var lines []string
	for _, b := range out.blocks {
		lines = append(lines, b.lines...)
	}
	if len(lines) > 8 {
		lines = slices.Concat(lines[:2], []string{"..."}, lines[len(lines)-3:])
	}
	return strings.Join(lines, " ")
}
