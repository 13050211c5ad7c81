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

func TestAModuleOfAWorkspaceGoesByItsOwnConfigurationFirst(t *testing.T) {
	t.Parallel()
	dir := module(t, workspace)
	vet := func(wd string) result {
		t.Helper()
		return run(t, filepath.Join(dir, wd), environ(), "go", "vet", "-vettool="+self(t), "example.com/own", "example.com/shared")
	}
	writeFile(t, filepath.Join(dir, ".idemlint.yml"), "strict: true\n")
	got := vet(".")
	wantContains(t, "standard error", got.stderr, "StrictOwn is bad", "StrictShared is bad")
	// A change of one module's file is seen from another's directory, too: it is in the go command's cache key.
	writeFile(t, filepath.Join(dir, "own", ".idemlint.yml"), "strict: false\n")
	for _, wd := range []string{".", "shared", "own"} {
		got := vet(wd)
		wantContains(t, "standard error", got.stderr, "StrictShared is bad")
		if strings.Contains(got.stderr, "StrictOwn") {
			t.Errorf("in %s, example.com/own is judged by the workspace's configuration:\n%s", wd, got.stderr)
		}
	}
}

func TestAConfigurationOfAnotherModuleThatIsNotReadIsNamed(t *testing.T) {
	t.Parallel()
	dir := module(t, workspace)
	writeFile(t, filepath.Join(dir, "own", ".idemlint.yml"), "strict: true\n")
	const want = "own/.idemlint.yml is not read from here; for its module: idemlint -C "
	for _, tt := range []struct {
		wd   string
		args []string
		want bool
	}{
		{".", []string{"./own/...", "./shared/..."}, true},
		{"shared", []string{"../own"}, true},
		{".", []string{"./shared/..."}, false},
		{".", []string{"-C", "own", "./..."}, false},
		{".", []string{"-config", "off", "./own/..."}, false},
	} {
		got := idemlint(t, filepath.Join(dir, tt.wd), tt.args...)
		if strings.Contains(got.stderr, want) != tt.want {
			t.Errorf("%v in %s: named is %v:\n%s", tt.args, tt.wd, !tt.want, got.stderr)
		}
	}
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
