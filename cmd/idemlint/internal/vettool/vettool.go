// Package vettool is the command's face towards go vet: the protocol of -V=full, -flags and *.cfg, answered by
// x/tools' unitchecker, with the three things that unitchecker does not do: an early exit for packages that
// cannot matter, a version that changes with the configuration, and errors instead of traces. It knows no rule
// and prints no report.
package vettool

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/crash"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// Asked tells whether args are a call of go vet's: it asks for the version, for the flags, or hands over a unit.
// It looks before any flag is parsed, since the stand-alone command has flags of the same names.
func Asked(args []string) bool {
	for _, arg := range args {
		if arg == "-V=full" || arg == "-flags" {
			return true
		}
	}
	_, ok := unit(args)
	return ok
}

// unit returns the *.cfg argument, which go vet puts last.
func unit(args []string) (string, bool) {
	if len(args) == 0 {
		return "", false
	}
	last := args[len(args)-1]
	return last, strings.HasSuffix(last, ".cfg") && !strings.HasPrefix(last, "-")
}

// spareHeap is how much a unit may allocate before the garbage collector runs for the first time, in bytes. Most units
// are done before. It is memory that is asked for and never touched, so it takes no room; the collector, which runs
// when the heap has doubled, counts it.
const spareHeap = 32 << 20

// Options are the choices of a caller; the zero value is what the command uses.
type Options struct {
	// ToolsVersion is the version of golang.org/x/tools in this binary, which decides whether the early exit is
	// possible. Empty is what the binary says of itself; a test's binary says nothing.
	ToolsVersion string

	// Skipped, if not nil, is told the import path of each unit that the early exit took.
	Skipped func(importPath string)
}

// Main answers go vet's call in args, which must be the process's own arguments, and ends the process.
func Main(set rules.Set, args []string, opts Options) {
	for _, arg := range args {
		if arg == "-V=full" {
			exit(printVersion(os.Stdout))
		}
	}
	from := configFlags(set)
	if file, ok := unit(args); ok {
		if err := prepare(set, args, opts, from, file); err != nil {
			exit(err)
		}
	}
	guard(set.Analyzers)
	spare := make([]byte, spareHeap)
	defer runtime.KeepAlive(spare)
	defer func() {
		if r := recover(); r != nil {
			exit(crash.Error(r))
		}
	}()
	unitchecker.Main(set.Analyzers...)
}

// prepare looks at the unit before unitchecker does. It ends the process where nothing is to be done.
func prepare(set rules.Set, args []string, opts Options, from *source, file string) error {
	u, err := readUnit(file)
	if err != nil {
		return err
	}
	if err := configure(set, args, from, u); err != nil {
		return err
	}
	if takesEmptyFacts(cmp.Or(opts.ToolsVersion, toolsVersion())) {
		done, err := skip(u, set.Seed)
		if err != nil {
			return err
		}
		if done {
			if opts.Skipped != nil {
				opts.Skipped(u.ImportPath)
			}
			os.Exit(0)
		}
	}
	switch {
	case !u.VetxOnly:
		return nil
	case asksIndex(args):
		return analyseWhole(file)
	}
	factsOnly(set.Analyzers)
	return nil
}

// exit ends the process as unitchecker does: an error goes to standard error behind the tool's name.
func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	complain(os.Stderr, err)
	os.Exit(1)
}

func complain(w io.Writer, err error) { fmt.Fprintf(w, "%s: %v\n", rules.Analyzer, err) }
