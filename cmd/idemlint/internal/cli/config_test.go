package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const strictShop = `
-- go.mod --
module example.com/shop

go 1.26.0
-- shop.go --
package shop

func StrictHandler() {}
-- below/below.go --
package below
`

const isStrict = "shop.go:3:6: R-KFK-IDEM-X1: StrictHandler is bad"

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTheConfigurationIsFoundFromTheModuleRoot(t *testing.T) {
	t.Parallel()
	dir := module(t, strictShop)
	wantStatus(t, idemlint(t, dir, "./..."), 0)
	writeFile(t, filepath.Join(dir, ".idemlint.yml"), "strict: true\n")
	below := filepath.Join(dir, "below")
	for _, run := range []struct {
		name string
		got  result
	}{
		{"in the root", idemlint(t, dir, "./...")},
		{"below", idemlint(t, below, "example.com/shop")},
		{"with -C", idemlint(t, t.TempDir(), "-C", dir, ".")},
	} {
		t.Run(run.name, func(t *testing.T) {
			wantStatus(t, run.got, 1)
			wantContains(t, "standard output", run.got.stdout, isStrict)
		})
	}
}

func TestGoVetReadsTheConfigurationOfThePackagesModule(t *testing.T) {
	t.Parallel()
	dir := module(t, strictShop)
	vet := func(args ...string) result {
		t.Helper()
		return run(t, dir, environ(), "go", append([]string{"vet", "-vettool=" + self(t)}, args...)...)
	}
	wantStatus(t, vet("./..."), 0)
	writeFile(t, filepath.Join(dir, ".idemlint.yml"), "strict: true\n")
	got := vet("./...")
	wantStatus(t, got, 1)
	wantContains(t, "standard error", got.stderr, isStrict)
	wantStatus(t, vet("-idemlint.strict=false", "./..."), 0)
	wantStatus(t, vet("-idemlint.config=off", "./..."), 0)
}

func TestGoVetRefusesAFileWhoseChangesItWouldNotSee(t *testing.T) {
	t.Parallel()
	got := run(t, module(t, strictShop), environ(), "go", "vet", "-vettool="+self(t), "-idemlint.config=other.yml", "./...")
	wantStatus(t, got, 1)
	wantContains(t, "standard error", got.stderr, "-idemlint.config=other.yml: go vet would not notice when that file changes", "put it at the root of the module")
}

func TestAFlagOutdoesTheConfiguration(t *testing.T) {
	t.Parallel()
	dir := module(t, strictShop)
	writeFile(t, filepath.Join(dir, ".idemlint.yml"), "strict: true\n")
	for _, flag := range []string{"-strict=false", "-badcheck.strict=false", "-config=off"} {
		t.Run(flag, func(t *testing.T) { wantStatus(t, idemlint(t, dir, flag, "./..."), 0) })
	}
}

func TestAnotherConfigurationIsReadWhenItIsNamed(t *testing.T) {
	t.Parallel()
	dir := module(t, strictShop)
	writeFile(t, filepath.Join(dir, ".idemlint.yml"), "strict: false\n")
	writeFile(t, filepath.Join(dir, "strict.yml"), "strict: true\n")
	wantStatus(t, idemlint(t, dir, "./..."), 0)
	wantStatus(t, idemlint(t, dir, "-config", "strict.yml", "./..."), 1)
	wantStatus(t, idemlint(t, dir, "./..."), 0)
}

func TestAFaultyConfigurationIsAWrongCallThatNamesFileLineAndWayOut(t *testing.T) {
	t.Parallel()
	dir := module(t, strictShop)
	writeFile(t, filepath.Join(dir, ".idemlint.yml"), "# ours\nstrickt: true\n")
	got := idemlint(t, dir, "./...")
	wantStatus(t, got, 2)
	wantContains(t, "standard error", got.stderr, "idemlint: .idemlint.yml:2: unknown key \"strickt\"; did you mean \"strict\"?\n")
	vet := run(t, dir, environ(), "go", "vet", "-vettool="+self(t), "./...")
	wantStatus(t, vet, 1)
	wantContains(t, "standard error", vet.stderr, ".idemlint.yml:2: unknown key")
}

func TestAConfigurationOfAnotherNameIsAWrongCall(t *testing.T) {
	t.Parallel()
	dir := module(t, strictShop)
	writeFile(t, filepath.Join(dir, ".idemlint.yaml"), "strict: true\n")
	const want = ".idemlint.yaml is not read; name it .idemlint.yml\n"
	got := idemlint(t, dir, "./...")
	wantStatus(t, got, 2)
	wantContains(t, "standard error", got.stderr, "idemlint: "+want)
	vet := run(t, dir, environ(), "go", "vet", "-vettool="+self(t), "./...")
	wantStatus(t, vet, 1)
	wantContains(t, "standard error", vet.stderr, want)
	wantStatus(t, idemlint(t, dir, "-config", ".idemlint.yaml", "./..."), 1)
	writeFile(t, filepath.Join(dir, ".idemlint.yml"), "strict: true\n")
	wantStatus(t, idemlint(t, dir, "./..."), 1)
}

func TestAConfigurationThatIsNotThereIsAWrongCall(t *testing.T) {
	t.Parallel()
	got := idemlint(t, module(t, strictShop), "-config", "none.yml", "./...")
	wantStatus(t, got, 2)
	wantContains(t, "standard error", got.stderr, "-config none.yml: no such file; idemlint init writes one\n")
}

const workspace = `
-- go.work --
go 1.26.0

use (
	./own
	./shared
)
-- own/go.mod --
module example.com/own

go 1.26.0
-- own/own.go --
package own

func StrictOwn() {}
-- shared/go.mod --
module example.com/shared

go 1.26.0
-- shared/shared.go --
package shared

func StrictShared() {}
`

// inWorkspace are the ways of looking at both modules of the workspace, each with what it says. go vet says it on standard
// error.
func inWorkspace(t *testing.T, dir string) map[string]string {
	t.Helper()
	said := make(map[string]string)
	for _, wd := range []string{".", "own", "shared"} {
		at := filepath.Join(dir, wd)
		vet := run(t, at, environ(), "go", "vet", "-vettool="+self(t), "example.com/own", "example.com/shared")
		said["go vet in "+wd] = vet.stderr
		said["alone in "+wd] = idemlint(t, at, "example.com/own", "example.com/shared").stdout
	}
	return said
}

func TestAModuleOfAWorkspaceGoesByItsOwnConfigurationFirst(t *testing.T) {
	t.Parallel()
	dir := module(t, workspace)
	check := func(own, shared bool) {
		t.Helper()
		for way, said := range inWorkspace(t, dir) {
			if got := strings.Contains(said, "StrictOwn is bad"); got != own {
				t.Errorf("%s: example.com/own is judged strictly is %v:\n%s", way, got, said)
			}
			if got := strings.Contains(said, "StrictShared is bad"); got != shared {
				t.Errorf("%s: example.com/shared is judged strictly is %v:\n%s", way, got, said)
			}
		}
	}
	writeFile(t, filepath.Join(dir, ".idemlint.yml"), "strict: true\n")
	check(true, true)
	// A change of one module's file is seen from another's directory, too: it is in the go command's cache key.
	writeFile(t, filepath.Join(dir, "own", ".idemlint.yml"), "strict: false\n")
	check(false, true)
	writeFile(t, filepath.Join(dir, "own", ".idemlint.yml"), "strict: true\n")
	writeFile(t, filepath.Join(dir, ".idemlint.yml"), "strict: false\n")
	check(true, false)
	writeFile(t, filepath.Join(dir, "shared", ".idemlint.yml"), "strict: true\n")
	writeFile(t, filepath.Join(dir, "own", ".idemlint.yml"), "# nothing\n")
	check(false, true)
}

func TestAConfigurationThatIsNamedGoesForAllModulesOfAWorkspace(t *testing.T) {
	t.Parallel()
	dir := module(t, workspace)
	writeFile(t, filepath.Join(dir, "own", ".idemlint.yml"), "strict: false\n")
	writeFile(t, filepath.Join(dir, "all.yml"), "strict: true\n")
	got := idemlint(t, dir, "-config", "all.yml", "./own", "./shared")
	wantContains(t, "standard output", got.stdout, "StrictOwn is bad", "StrictShared is bad")
}

func TestAFlagOutdoesTheConfigurationsOfAllModulesOfAWorkspace(t *testing.T) {
	t.Parallel()
	dir := module(t, workspace)
	writeFile(t, filepath.Join(dir, ".idemlint.yml"), "strict: true\n")
	writeFile(t, filepath.Join(dir, "own", ".idemlint.yml"), "strict: true\n")
	wantStatus(t, idemlint(t, dir, "./own", "./shared"), 1)
	wantStatus(t, idemlint(t, dir, "-strict=false", "./own", "./shared"), 0)
	wantStatus(t, idemlint(t, dir, "-config=off", "./own", "./shared"), 0)
}

func TestAFaultyConfigurationOfAnotherModuleIsAWrongCallWhereThatModuleIsLookedAt(t *testing.T) {
	t.Parallel()
	dir := module(t, workspace)
	writeFile(t, filepath.Join(dir, "own", ".idemlint.yml"), "strickt: true\n")
	got := idemlint(t, dir, "./own/...", "./shared/...")
	wantStatus(t, got, 2)
	wantContains(t, "standard error", got.stderr, "idemlint: own/.idemlint.yml:1: unknown key \"strickt\"; did you mean \"strict\"?\n")
	wantStatus(t, idemlint(t, dir, "./shared/..."), 0)
	byPath := idemlint(t, dir, "example.com/own")
	wantStatus(t, byPath, 2)
	wantContains(t, "standard error", byPath.stderr, "idemlint: package example.com/own was not analysed: own/.idemlint.yml:1: unknown key")
}

func TestADependencysOwnConfigurationIsNothingToItsUsers(t *testing.T) {
	t.Parallel()
	dir := module(t, layered)
	writeFile(t, filepath.Join(dir, "third", "mid", ".idemlint.yml"), "of: another version\n")
	got := run(t, dir, environ(), "go", "vet", "-vettool="+self(t), ".")
	wantContains(t, "standard error", got.stderr, "main polls")
	if strings.Contains(got.stderr, "another version") || strings.Contains(got.stderr, ".idemlint.yml") {
		t.Errorf("the dependency's file was read:\n%s", got.stderr)
	}
}
