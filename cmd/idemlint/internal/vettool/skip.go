package vettool

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/semver"
)

const (
	toolsModule = "golang.org/x/tools"

	// typesInFacts is the first x/tools whose unitchecker takes the types of dependencies from their fact files
	// and so fails on an empty one.
	typesInFacts = "v0.50.0"
)

// takesEmptyFacts tells whether that version of x/tools lets a unit leave an empty fact file behind. One that
// cannot be read is taken for a new one.
func takesEmptyFacts(version string) bool {
	return semver.IsValid(version) && semver.Compare(version, typesInFacts) < 0
}

// toolsVersion is the version of x/tools in this binary, or empty.
func toolsVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == toolsModule && m.Replace != nil {
			return m.Replace.Version
		} else if m.Path == toolsModule {
			return m.Version
		}
	}
	return ""
}

// skip ends a unit that cannot matter: it leaves an empty fact file, without parsing or type-checking anything,
// and done is true. Three out of four units of a cold go vet are such, and they cost more than all the others.
func skip(u *unitConfig, seed func(string) bool) (done bool, err error) {
	if !irrelevant(u, seed) {
		return false, nil
	}
	if err := os.WriteFile(u.VetxOutput, nil, 0o666); err != nil {
		return false, fmt.Errorf("writing the facts of %s: %w", u.ImportPath, err)
	}
	return true, nil
}

// irrelevant tells whether a unit can neither hold a finding nor a fact that one depends on: it is wanted for its
// facts only, it belongs to the standard library or to a versioned module, it is no seed, and no package that it
// imports has facts. Packages of the main module and of the workspace always run: in layered code the handler's
// package imports no client.
func irrelevant(cfg *unitConfig, seed func(string) bool) bool {
	if !cfg.VetxOnly || cfg.VetxOutput == "" || seed(cfg.ImportPath) {
		return false
	}
	if cfg.ModuleVersion == "" && !standard(cfg) {
		return false
	}
	for _, facts := range cfg.PackageVetx {
		if info, err := os.Stat(facts); err != nil || info.Size() > 0 {
			return false
		}
	}
	return true
}

// standard tells whether a unit belongs to the standard library: it has no module, and its directory is in the
// GOROOT that the go command gives to its tools. A package in GOPATH has no module either.
func standard(cfg *unitConfig) bool {
	root := os.Getenv("GOROOT")
	if cfg.ModulePath != "" || root == "" {
		return false
	}
	rel, err := filepath.Rel(filepath.Join(root, "src"), cfg.Dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
