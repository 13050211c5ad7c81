package vettool

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// guard wraps the analyzers and all that they require, so that a panic or an error in one names the analyzer and
// the package. unitchecker reports the error of an analyzer that was asked for, and the others go on. Of one that
// is only required it says no more than that a prerequisite failed, and go vet would cache that; so such a one
// ends the unit with its own error.
func guard(asked []*analysis.Analyzer) {
	root := make(map[*analysis.Analyzer]bool)
	for _, a := range asked {
		root[a] = true
	}
	seen := make(map[*analysis.Analyzer]bool)
	var wrap func(a *analysis.Analyzer)
	wrap = func(a *analysis.Analyzer) {
		if seen[a] {
			return
		}
		seen[a] = true
		a.Run = guarded(a.Name, a.Run)
		if !root[a] {
			a.Run = fatal(a.Run)
		}
		for _, required := range a.Requires {
			wrap(required)
		}
	}
	for _, a := range asked {
		wrap(a)
	}
}

type runFunc = func(*analysis.Pass) (any, error)

func guarded(name string, run runFunc) runFunc {
	return func(pass *analysis.Pass) (result any, err error) {
		defer func() {
			if r := recover(); r != nil {
				result, err = nil, fmt.Errorf("internal error: %v (%s)", r, panicSite())
			}
			if err != nil {
				err = fmt.Errorf("analyzer %s failed on package %s: %w", name, pass.Pkg.Path(), err)
			}
		}()
		return run(pass)
	}
}

func fatal(run runFunc) runFunc {
	return func(pass *analysis.Pass) (any, error) {
		result, err := run(pass)
		if err != nil {
			exit(err)
		}
		return result, nil
	}
}

// panicSite names the file and line that panicked. It is for a deferred function that has just recovered, whose
// stack still holds the frames of the panic.
func panicSite() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicked := false
	for {
		frame, more := frames.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		if panicked && !inRuntime {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
		panicked = panicked || inRuntime && strings.Contains(frame.Function, "panic")
		if !more {
			return "unknown place"
		}
	}
}
