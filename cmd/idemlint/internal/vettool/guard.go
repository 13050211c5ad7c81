package vettool

import (
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/crash"
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
				result, err = nil, crash.Error(r)
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
