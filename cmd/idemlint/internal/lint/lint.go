// Package lint is the stand-alone command's work: map and reduce. The map is go vet with this very binary as its
// tool, a process a package, cached by the go command; the reduce joins the packages' summaries and settles what
// a package alone had to leave open. It renders nothing and parses no command line.
package lint

import (
	"context"
	"fmt"
	"go/build"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/inventory"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// A Linter runs the analyzers over packages.
type Linter struct {
	Rules rules.Set

	// Tool is the absolute path of the binary that answers go vet with Rules.
	Tool string

	// Dir is where the go command runs, an absolute path.
	Dir string

	// BuildFlags are flags of the go command that decide what is loaded, such as -tags=integration.
	BuildFlags []string

	// AnalyzerFlags are handed to Tool, such as -dedupcheck.strict.
	AnalyzerFlags []string

	// Progress gets what the go command says while it works: downloads, warnings, notes of the analyzers.
	// Nil is nowhere.
	Progress io.Writer

	// Analysed, if not nil, is told each time that a package is done, from another goroutine.
	Analysed func()
}

// A Failure is a package that could not be analysed, and why.
type Failure struct {
	Package  string           // import path
	Reason   string           // what happened, such as "does not build"
	Position finding.Position // where, if known
	Cause    string           // the first error, on one line
}

// A Result is what a run found.
type Result struct {
	// Findings are sorted by file, line, column and rule; each stands there once.
	Findings []finding.Finding

	// Broken are the analyzers that gave up on a package.
	Broken []finding.Failure

	// Failures are the packages that were not analysed, sorted by package.
	Failures []Failure

	// Packages are the import paths of those that were named and analysed, by all analyzers or some.
	Packages map[string]bool

	summaries []string          // of all packages that were analysed
	asked     []string          // import paths that the patterns name, sorted
	homes     map[string]string // directory to package id, of the packages that were named
}

// Run analyses the packages that the patterns name. Packages that do not load or build are in the result's
// Failures, beside the findings of the others. An error means that nothing could be analysed at all: there is no
// go command, no module, no package that matches. When ctx ends, so does the go command.
func (l Linter) Run(ctx context.Context, patterns []string) (*Result, error) {
	result, err := l.analyse(ctx, patterns)
	if err != nil {
		return nil, err
	}
	return l.reduce(result, l.trees(patterns))
}

// Handlers analyses the packages that the patterns name, as [Linter.Run] does, and lists the handlers in them. The
// result has no findings.
func (l Linter) Handlers(ctx context.Context, patterns []string) (*Result, []inventory.Handler, error) {
	result, err := l.analyse(ctx, patterns)
	if err != nil {
		return nil, nil, err
	}
	handlers, err := l.HandlersOf(result)
	result.Findings = nil
	return result, handlers, err
}

// HandlersOf lists the handlers in the packages of a result.
func (l Linter) HandlersOf(result *Result) ([]inventory.Handler, error) {
	handlers, err := l.Rules.Handlers(result.summaries)
	if err != nil {
		return nil, fmt.Errorf("joining the summaries of %d packages: %w", len(result.summaries), err)
	}
	return slices.DeleteFunc(handlers, func(h inventory.Handler) bool {
		_, own := result.homes[filepath.Dir(finding.ParsePosition(h.Position).File)]
		return !own
	}), nil
}

// analyse runs the analyzers over the packages.
func (l Linter) analyse(ctx context.Context, patterns []string) (*Result, error) {
	asked := make(chan map[string]bool, 1)
	go func() { asked <- l.asked(ctx, patterns) }()
	out, err := l.vet(ctx, patterns)
	named := <-asked
	if err != nil {
		return nil, err
	}
	var failures []Failure
	if out.failed {
		if out, failures, err = l.diagnose(ctx, patterns, out); err != nil {
			return nil, err
		}
	}
	result := l.collect(out.units, named)
	result.Failures, result.asked = failures, slices.Sorted(maps.Keys(named))
	return result, nil
}

// collect sorts what the packages said into findings and summaries. Findings are those of the packages that were named;
// dependencies say what those do with them.
func (l Linter) collect(units []finding.Unit, named map[string]bool) *Result {
	result := &Result{Packages: make(map[string]bool), homes: make(map[string]string)}
	for _, unit := range units {
		own := named == nil || named[finding.ImportPath(unit.Package)] || named[strings.TrimSuffix(finding.ImportPath(unit.Package), "_test")]
		if own {
			result.Packages[finding.ImportPath(unit.Package)] = true
			result.Broken = append(result.Broken, unit.Failures...)
		}
		for _, f := range unit.Findings {
			if f.Analyzer == rules.Analyzer && f.Rule == rules.Index {
				result.summaries = append(result.summaries, f.Message)
				if !own {
					continue
				}
				dir := filepath.Dir(f.Position.File)
				if home, ok := result.homes[dir]; !ok || len(unit.Package) < len(home) {
					result.homes[dir] = unit.Package
				}
				continue
			}
			if own {
				f.URL = l.Rules.URL(f.Analyzer)
				result.Findings = append(result.Findings, f)
			}
		}
	}
	return result
}

// reduce joins the summaries and adds what only the whole shows.
func (l Linter) reduce(result *Result, trees []string) (*Result, error) {
	payloads, homes := result.summaries, result.homes
	m, err := module(slices.Sorted(maps.Keys(homes)))
	if err != nil {
		return nil, err
	}
	settled, err := l.Rules.Settle(payloads, m)
	if err != nil {
		return nil, fmt.Errorf("joining the summaries of %d packages: %w", len(payloads), err)
	}
	for _, f := range settled {
		if !concerns(f, homes, trees) {
			continue
		}
		f.Package = home(homes, f.Position.File)
		f.URL = l.Rules.URL(f.Analyzer)
		if f.End.Line == 0 {
			f.End = f.Position
		}
		result.Findings = append(result.Findings, f)
	}
	result.Findings = finding.Normalize(result.Findings)
	var functions finding.Functions
	for i := range result.Findings {
		result.Findings[i].Function = functions.Of(result.Findings[i].Position)
	}
	return result, nil
}

// concerns tells whether a finding is about a package that was named: it stands there, or in a dependency with its other
// end there, as the commit of a shared consumer for the handler of this service.
func concerns(f finding.Finding, homes map[string]string, trees []string) bool {
	own := func(p finding.Position) bool {
		_, ok := homes[filepath.Dir(p.File)]
		return ok
	}
	if own(f.Position) {
		return true
	}
	if filepath.Ext(f.Position.File) != ".go" {
		return within(f.Position.File, trees)
	}
	return slices.ContainsFunc(f.Related, func(r finding.Related) bool { return own(r.Position) })
}

// trees are the directories that the patterns name, with all that is in them; nil stands for everything, since a
// pattern names import paths and no directories.
func (l Linter) trees(patterns []string) []string {
	var trees []string
	for _, p := range patterns {
		dir := strings.TrimSuffix(strings.TrimSuffix(p, "..."), "/")
		if !build.IsLocalImport(p) && !filepath.IsAbs(p) {
			return nil
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(l.Dir, dir)
		}
		trees = append(trees, dir)
	}
	return trees
}

// within reports whether a file is in one of the directories, or beneath it.
func within(file string, trees []string) bool {
	return trees == nil || slices.ContainsFunc(trees, func(dir string) bool {
		rel, err := filepath.Rel(dir, file)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	})
}

// home is the package that a file belongs to: the one in its directory, else in the nearest directory above (a
// migrations folder holds no package), else the first of all.
func home(homes map[string]string, file string) string {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if id, ok := homes[dir]; ok {
			return id
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if len(homes) == 0 {
		return ""
	}
	return slices.Min(slices.Collect(maps.Values(homes)))
}

// failure makes a Failure of the first error, whose leading position, if it has one, may be relative to Dir.
func (l Linter) failure(pkg, reason, text string) Failure {
	f := Failure{Package: pkg, Reason: reason, Cause: strings.Join(strings.Fields(text), " ")}
	place, cause, ok := strings.Cut(f.Cause, ": ")
	if p := finding.ParsePosition(place); ok && p.Line > 0 {
		if !filepath.IsAbs(p.File) {
			p.File = filepath.Join(l.Dir, p.File)
		}
		f.Position, f.Cause = p, cause
	}
	return f
}
