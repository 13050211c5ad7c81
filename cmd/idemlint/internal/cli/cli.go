// Package cli is the stand-alone command: its flags, its sub-commands, what it prints where, and its exit status.
// The work is done in lint, the rendering in report.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/crash"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/lint"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// Exit statuses.
const (
	ExitClean    = 0 // nothing found; with -json, the run succeeded
	ExitFindings = 1
	ExitError    = 2 // a wrong call, or something could not be analysed
)

// A Command is one call of the stand-alone command.
type Command struct {
	Rules  rules.Set
	Tool   string    // absolute path of the binary that go vet is to run
	Dir    string    // the current directory, absolute
	Stdin  io.Reader // where a question is answered; nil is no answer
	Stdout io.Writer
	Stderr io.Writer

	// Getenv is the environment. Nil is an empty one.
	Getenv func(key string) string
}

// Run does what args ask for and returns the exit status. A panic is an error like others.
func (c Command) Run(ctx context.Context, args []string) (status int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(c.Stderr, "%s: %v\n", rules.Analyzer, crash.Error(r))
			status = ExitError
		}
	}()
	status, err := c.dispatch(ctx, args)
	if err != nil {
		fmt.Fprintf(c.Stderr, "%s: %v\n", rules.Analyzer, err)
		return ExitError
	}
	return status
}

func (c Command) dispatch(ctx context.Context, args []string) (int, error) {
	if len(args) > 0 {
		for _, sub := range subcommands() {
			if args[0] == sub.name {
				status, err := sub.run(c, ctx, args[1:])
				if err != nil {
					status = ExitError
				}
				return status, err
			}
		}
	}
	call, err := c.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return ExitClean, c.help(nil)
	}
	if err != nil {
		return ExitError, err
	}
	return c.lint(ctx, call)
}

// lint runs the analyzers and prints what they found.
func (c Command) lint(ctx context.Context, call *call) (int, error) {
	keep := func(finding.Finding) bool { return true }
	if len(call.rules) > 0 {
		var err error
		if keep, err = c.Rules.Select(call.rules); err != nil {
			return ExitError, err
		}
	}
	dir := c.Dir
	if call.dir != "" {
		dir = absolute(c.Dir, call.dir)
	}
	if err := checkDirs(dir, call); err != nil {
		return ExitError, err
	}
	if err := c.configure(call, dir); err != nil {
		return ExitError, err
	}
	meter := c.newMeter()
	defer meter.stop()
	linter := c.linter(call, dir, meter)
	result, err := linter.Run(ctx, call.patterns)
	if err != nil {
		return ExitError, wrongTree(err, dir, call.patterns)
	}
	if err := wrongPattern(result, dir, call.patterns); err != nil {
		return ExitError, err
	}
	c.sayStrays(ctx, call, linter, result, meter)
	r := &run{Command: c, call: call, linter: linter, keep: keep, meter: meter}
	return r.conclude(ctx, result)
}

func (c Command) linter(call *call, dir string, m *meter) lint.Linter {
	return lint.Linter{
		Rules:         c.Rules,
		Tool:          c.Tool,
		Dir:           dir,
		BuildFlags:    call.buildFlags,
		AnalyzerFlags: call.analyzerFlags,
		Progress:      m,
		Analysed:      m.count,
	}
}

// checkDirs finds directories that are not there before the go command does, whose words for it are its own.
func checkDirs(dir string, call *call) error {
	if !isDir(dir) {
		return fmt.Errorf("-C %s: no such directory", call.dir)
	}
	for _, pattern := range call.patterns {
		if pattern == "" {
			return fmt.Errorf("an empty argument names no package; name some, or ./... for everything below the current directory")
		}
		if !filepath.IsAbs(pattern) && !strings.HasPrefix(pattern, "./") && !strings.HasPrefix(pattern, "../") {
			continue
		}
		named, _, _ := strings.Cut(pattern, "...")
		if strings.HasSuffix(named, ".go") || named != pattern && !strings.HasSuffix(named, "/") {
			continue // A file, or a wild card within a name.
		}
		path := named
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if !isDir(path) {
			return fmt.Errorf("no directory %s; name a directory (./consumer), an import path, "+
				"or ./... for everything below the current directory", named)
		}
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// wrongPattern is the error for a pattern that cannot be meant as it was typed: a word that was taken for a package and
// is none, as a misspelt sub-command is, a directory that holds only others, the root of a workspace. It says the right
// call.
func wrongPattern(result *lint.Result, dir string, patterns []string) error {
	for _, f := range result.Failures {
		i := slices.Index(patterns, f.Package)
		if i > 0 && len(result.Findings) > 0 {
			continue // What was found for the others is worth more.
		}
		if i >= 0 && (!strings.ContainsAny(f.Package, `./\`) || isBareDir(dir, f.Package)) {
			return wrongWord(f.Package, dir)
		}
		if len(result.Findings) > 0 || len(result.Failures) > 1 {
			continue
		}
		if strings.HasPrefix(f.Cause, "no Go files in ") && len(patterns) == 1 && isDir(absolute(dir, patterns[0])) {
			named := strings.TrimSuffix(filepath.ToSlash(patterns[0]), "/")
			return fmt.Errorf("no Go files in %s itself; for everything below it: %s %s/...", named, rules.Analyzer, named)
		}
		if strings.Contains(f.Cause, "does not contain modules listed in go.work") {
			if modules := modulesBelow(dir); len(modules) > 0 {
				return fmt.Errorf("%s is in no module of go.work; name those: %s %s", f.Package, rules.Analyzer, strings.Join(modules, " "))
			}
		}
	}
	return nil
}

// wrongTree is the error for a pattern that matches nothing, since it lacks the ./ of a directory; else it is err.
func wrongTree(err error, dir string, patterns []string) error {
	if !errors.Is(err, lint.ErrNoPackages) || len(patterns) != 1 {
		return err
	}
	named, tree := strings.CutSuffix(patterns[0], "/...")
	if !tree || !isBareDir(dir, named) {
		return err
	}
	return fmt.Errorf("no package matches %q; for the directory of that name: %s ./%[1]s", patterns[0], rules.Analyzer)
}

// isBareDir reports whether a pattern is the path of a directory without the ./ that makes it one for the go command.
func isBareDir(dir, pattern string) bool {
	return !filepath.IsAbs(pattern) && !build.IsLocalImport(pattern) && isDir(filepath.Join(dir, pattern))
}

// wrongWord is the error for a word that is no package.
func wrongWord(word, dir string) error {
	if isDir(filepath.Join(dir, word)) {
		return fmt.Errorf("no package %q; for the directory of that name: %s ./%s", word, rules.Analyzer, word)
	}
	var names []string
	for _, sub := range subcommands() {
		names = append(names, sub.name)
	}
	if near, ok := rules.Nearest(word, names); ok {
		return fmt.Errorf("no command or package %q; did you mean %q?", word, rules.Analyzer+" "+near)
	}
	return fmt.Errorf("no command or package %q; to lint everything below the current directory: %s ./... (%s help says more)",
		word, rules.Analyzer, rules.Analyzer)
}

// modulesBelow are patterns for the modules of the workspace that are below a directory.
func modulesBelow(dir string) []string {
	var patterns []string
	for _, module := range config.Modules(dir, os.Getenv("GOWORK")) {
		if rel, err := filepath.Rel(dir, module); err == nil && filepath.IsLocal(rel) {
			patterns = append(patterns, "./"+filepath.ToSlash(rel)+"/...")
		}
	}
	return patterns
}
