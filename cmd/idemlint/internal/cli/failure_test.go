package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// broken is a module with a package for every way in which one can fail to be analysed, beside one with a finding and
// one that has no summary.
const broken = `
-- go.mod --
module example.com/broken

go 1.26.0
-- fine/fine.go --
package fine

func BadHandler() {}
-- typo/typo.go --
package typo

func F() { undefinedName() }

func G() { anotherOne() }
-- overtypo/overtypo.go --
package overtypo

import "example.com/broken/typo"

func BadCaller() { typo.F() }
-- syntax/syntax.go --
package syntax

func F( {
-- missing/missing.go --
package missing

import "example.com/nowhere"

var _ = nowhere.X
-- overmissing/overmissing.go --
package overmissing

import _ "example.com/broken/missing"
-- testmissing/ok.go --
package testmissing
-- testmissing/ok_test.go --
package testmissing_test

import _ "example.com/nowhere/else"
-- panics/panics.go --
package panics

func PanicAnalyzer() {}

func WorseToo() {}
-- fails/fails.go --
package fails

func FailAnalyzer() {}
-- enginepanics/x.go --
package enginepanics

func PanicEngine() {}
-- enginefails/x.go --
package enginefails

func FailEngine() {}
-- crashes/x.go --
package crashes

func CrashEngine() {}
-- silent/x.go --
package silent

func Silent() {}
-- overcrash/x.go --
package overcrash

import _ "example.com/broken/crashes"

func BadOverCrash() {}
-- tagged/x.go --
//go:build sometag

package tagged
`

func TestAPackageThatCannotBeAnalysedIsNamedBesideTheFindingsOfTheOthers(t *testing.T) {
	t.Parallel()
	dir := module(t, broken)
	for _, tt := range []struct {
		name  string
		pkgs  []string
		lines []string // of standard error, all of them
	}{
		{"does not type-check", []string{"./typo"},
			[]string{"package example.com/broken/typo does not build: typo/typo.go:3:12: undefined: undefinedName"}},
		{"is imported by another", []string{"./typo", "./overtypo"}, []string{
			"package example.com/broken/overtypo was not analysed: it imports example.com/broken/typo, which does not build",
			"package example.com/broken/typo does not build: typo/typo.go:3:12: undefined: undefinedName",
		}},
		{"was not asked for but is imported", []string{"./overtypo"}, []string{
			"package example.com/broken/overtypo was not analysed: it imports example.com/broken/typo, which does not build",
			"package example.com/broken/typo does not build: typo/typo.go:3:12: undefined: undefinedName",
		}},
		{"does not parse", []string{"./syntax"},
			[]string{"package example.com/broken/syntax does not build: syntax/syntax.go:3:9: expected ')', found '{'"}},
		{"imports what is not there", []string{"./missing", "./overmissing"}, []string{
			"package example.com/broken/missing does not load: missing/missing.go:3:8: no required module provides package example.com/nowhere; to add it: go get example.com/nowhere",
			"package example.com/broken/overmissing does not load: missing/missing.go:3:8: no required module provides package example.com/nowhere; to add it: go get example.com/nowhere",
		}},
		{"has a test that imports what is not there", []string{"./testmissing"},
			[]string{"package example.com/broken/testmissing does not load: testmissing/ok_test.go:3:8: no required module provides package example.com/nowhere/else; to add it: go get example.com/nowhere/else"}},
		{"makes an analyzer panic", []string{"./panics"},
			[]string{"analyzer badcheck failed on package example.com/broken/panics: internal error: out of range (fake_test.go:LINE)"}},
		{"makes an analyzer fail", []string{"./fails"},
			[]string{"analyzer badcheck failed on package example.com/broken/fails: cannot go on"}},
		{"makes what all need panic", []string{"./enginepanics"},
			[]string{"package example.com/broken/enginepanics was not analysed: analyzer engine failed: internal error: assignment to entry in nil map (fake_test.go:LINE)"}},
		{"makes what all need fail", []string{"./enginefails"},
			[]string{"package example.com/broken/enginefails was not analysed: analyzer engine failed: the engine is out of order"}},
		{"crashes the tool", []string{"./crashes"},
			[]string{"package example.com/broken/crashes was not analysed: internal error: panic: in the background"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := idemlint(t, dir, append(tt.pkgs, "./fine", "./silent")...)
			wantStatus(t, got, 2)
			wantContains(t, "standard output", got.stdout, "fine/fine.go:3:6: R-KFK-IDEM-X1: BadHandler is bad\n")
			var lines []string
			for line := range strings.Lines(got.stderr) {
				lines = append(lines, withoutLine(strings.TrimPrefix(strings.TrimSpace(line), "idemlint: ")))
			}
			if !slices.Equal(lines, tt.lines) {
				t.Errorf("standard error:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(tt.lines, "\n"))
			}
		})
	}
}

// withoutLine replaces the line number of a place in the fake analyzers.
func withoutLine(s string) string {
	head, tail, ok := strings.Cut(s, "fake_test.go:")
	if !ok {
		return s
	}
	return head + "fake_test.go:LINE" + strings.TrimLeft(tail, "0123456789")
}

func TestAllThatIsBrokenAtOnceHidesNoFinding(t *testing.T) {
	t.Parallel()
	dir := module(t, broken)
	got := idemlint(t, dir, "./...")
	wantStatus(t, got, 2)
	wantContains(t, "standard output", got.stdout, "BadHandler is bad", "WorseToo is worse")
	for _, pkg := range []string{"typo", "overtypo", "syntax", "missing", "overmissing", "testmissing", "panics", "fails",
		"enginepanics", "enginefails", "crashes"} {
		wantContains(t, "standard error", got.stderr, "package example.com/broken/"+pkg)
	}
	if strings.Contains(got.stderr, "tagged") || strings.Contains(got.stderr, "silent") || strings.Contains(got.stderr, "[running]") {
		t.Errorf("standard error names what is no error, or shows a trace:\n%s", got.stderr)
	}
}

func TestAnImporterOfAPackageThatCrashesTheToolIsAnalysedOrNamed(t *testing.T) {
	t.Parallel()
	got := idemlint(t, module(t, broken), "./crashes", "./overcrash")
	wantStatus(t, got, 2)
	analysed := strings.Contains(got.stdout, "BadOverCrash is bad")
	named := strings.Contains(got.stderr,
		"package example.com/broken/overcrash was not analysed: it imports example.com/broken/crashes, which was not analysed\n")
	if analysed == named {
		t.Errorf("analysed: %v, named: %v; standard error:\n%s", analysed, named, got.stderr)
	}
}

func TestAPanicInTheJoinIsAnErrorOnOneLine(t *testing.T) {
	t.Parallel()
	got := idemlint(t, module(t, "-- go.mod --\nmodule example.com/m\n\ngo 1.26.0\n-- m.go --\npackage m\n\nfunc PanicSettle() {}\n"))
	wantStatus(t, got, 2)
	if want := "idemlint: internal error: two halves too many (fake_test.go:LINE)\n"; withoutLine(got.stderr) != want {
		t.Errorf("standard error:\n%s\nwant:\n%s", got.stderr, want)
	}
}

func TestAFailedAnalyzerIsAnErrorInTheJSON(t *testing.T) {
	t.Parallel()
	got := idemlint(t, module(t, broken), "-json", "./fails")
	wantStatus(t, got, 2)
	wantContains(t, "JSON", string(decode(t, got.stdout)["example.com/broken/fails"]["badcheck"]), `"error"`, "cannot go on")
}

func TestABuildTagChoosesWhatIsLoaded(t *testing.T) {
	t.Parallel()
	const archive = `
-- go.mod --
module example.com/tags

go 1.26.0
-- a/a.go --
package a
-- a/tagged.go --
//go:build integration

package a

func BadTagged() {}
`
	dir := module(t, archive)
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		want int
	}{
		{"without", nil, nil, 0},
		{"by flag", nil, []string{"-tags", "integration"}, 1},
		{"by GOFLAGS", []string{"GOFLAGS=-tags=integration"}, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantStatus(t, run(t, dir, environ(tt.env...), self(t), append(tt.args, "./...")...), tt.want)
		})
	}
}

func TestAnAnalyzerFlagReachesTheAnalyzer(t *testing.T) {
	t.Parallel()
	dir := module(t, "-- go.mod --\nmodule example.com/m\n\ngo 1.26.0\n-- m.go --\npackage m\n\nfunc StrictOne() {}\n")
	wantStatus(t, idemlint(t, dir, "./..."), 0)
	wantStatus(t, idemlint(t, dir, "-badcheck.strict", "./..."), 1)
	wantStatus(t, idemlint(t, dir, "-badcheck.strict", "-badcheck.limit", "0", "./..."), 0)
}

func TestAWorkspaceIsLintedAcrossItsModules(t *testing.T) {
	t.Parallel()
	const archive = `
-- go.work --
go 1.26.0

use (
	./a
	./b
)
-- a/go.mod --
module example.com/a

go 1.26.0
-- a/a.go --
package a

func HalfPay() {}
-- b/go.mod --
module example.com/b

go 1.26.0
-- b/b.go --
package b

func RestPay() {}
`
	dir := module(t, archive)
	got := idemlint(t, dir, "./a/...", "./b/...")
	wantStatus(t, got, 1)
	wantContains(t, "standard output", got.stdout, "a/a.go:3:6: R-KFK-IDEM-X1: HalfPay is whole\n", "b/b.go:3:6: its rest")
	root := idemlint(t, dir)
	wantStatus(t, root, 2)
	wantContains(t, "standard error", root.stderr, "name those: idemlint ./a/... ./b/...\n")
}

func TestAnInconsistentVendorDirectoryIsToldInShort(t *testing.T) {
	t.Parallel()
	var requirements strings.Builder
	for i := range 20 {
		fmt.Fprintf(&requirements, "\texample.com/dependency%d v1.0.0\n", i)
	}
	dir := module(t, "-- go.mod --\nmodule example.com/shop\n\ngo 1.26.0\n\nrequire (\n"+requirements.String()+")\n-- shop.go --\npackage shop\n"+
		"-- vendor/modules.txt --\n# example.com/other v1.0.0\n")
	got := idemlint(t, dir, "./...")
	wantStatus(t, got, 2)
	wantContains(t, "standard error", got.stderr, "inconsistent vendoring", "dependency0@v1.0.0", " ... ", "go mod vendor\n")
	if strings.Contains(got.stderr, "dependency9@") {
		t.Errorf("every dependency is named:\n%s", got.stderr)
	}
}

func TestGoVetReportsTheSameFindings(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	got := run(t, dir, environ(), "go", "vet", "-vettool="+self(t), "./...")
	wantStatus(t, got, 1)
	wantContains(t, "standard error", got.stderr,
		"consumer/consumer.go:5:6: R-KFK-IDEM-X1: BadHandler is bad\n",
		"consumer/consumer.go:9:6: R-KFK-IDEM-X2: WorseKey is worse\n")
}

func TestGoVetLooksAgainWhenTheConfigurationChanges(t *testing.T) {
	t.Parallel()
	// A unit that is skipped says so when the tool runs on it, and not when its result comes from the cache.
	dir := module(t, shop)
	record := filepath.Join(t.TempDir(), "ran")
	env := environ(toolsVersion+"=v0.49.0", skipped+"="+record)
	vet := func(wd string) bool {
		t.Helper()
		before, _ := os.ReadFile(record) // absent before the first run
		if got := run(t, wd, env, "go", "vet", "-vettool="+self(t), "./..."); got.status > 1 {
			t.Fatalf("go vet: %+v", got)
		}
		after, err := os.ReadFile(record)
		if err != nil {
			t.Fatalf("no unit was skipped, so this test sees nothing: %v", err)
		}
		return len(after) > len(before)
	}
	config := filepath.Join(dir, ".idemlint.yml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("# first of " + dir)
	if !vet(dir) {
		t.Fatal("a configuration never seen before: want a run")
	}
	if vet(dir) {
		t.Fatal("nothing changed: want the cached result")
	}
	if inside := filepath.Join(dir, "consumer"); vet(inside) {
		t.Error("from another directory of the module: want the cached result")
	}
	write("# second of " + dir)
	if !vet(dir) {
		t.Error("the configuration changed: want a run")
	}
	write("# third of " + dir)
	if inside := filepath.Join(dir, "consumer"); !vet(inside) {
		t.Error("the configuration of the module changed: want a run in a directory below")
	}
}
