package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

// layered is a main module whose finding depends on a fact that comes from a third-party seed through a third-party
// package; beside them there is a third-party package that cannot matter.
const layered = `
-- go.mod --
module example.com/main

go 1.26.0

require (
	example.com/kafka v1.0.0
	example.com/mid v1.0.0
	example.com/plain v1.0.0
)

replace (
	example.com/kafka => ./third/kafka
	example.com/mid => ./third/mid
	example.com/plain => ./third/plain
)
-- main.go --
package main

import (
	"fmt"

	"example.com/main/own"
	"example.com/mid"
	"example.com/plain"
)

func main() {
	fmt.Println(plain.Name)
	mid.Next()
	own.Idle()
}
-- own/own.go --
package own

func Idle() {}
-- third/kafka/go.mod --
module example.com/kafka

go 1.26.0
-- third/kafka/kafka.go --
package kafka

func Poll() {}
-- third/mid/go.mod --
module example.com/mid

go 1.26.0

require example.com/kafka v1.0.0
-- third/mid/mid.go --
package mid

import "example.com/kafka"

func Next() { kafka.Poll() }
-- third/plain/go.mod --
module example.com/plain

go 1.26.0
-- third/plain/plain.go --
package plain

const Name = "plain"
`

// vetLayered runs go vet on the first package of a fresh layered module as if with that version of x/tools, and returns what it found
// and which units were skipped. The configuration differs from all others, so that nothing comes from the cache.
func vetLayered(t *testing.T, tools string, flags ...string) (found tree, units []string) {
	t.Helper()
	dir := module(t, layered)
	if err := os.WriteFile(filepath.Join(dir, ".idemlint.yml"), []byte("# "+dir+tools+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(t.TempDir(), "skipped")
	got := run(t, dir, environ(toolsVersion+"="+tools, skipped+"="+record), "go", append(append([]string{"vet", "-vettool=" + self(t), "-json"}, flags...), ".")...)
	wantStatus(t, got, 0)
	data, err := os.ReadFile(record)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	units = strings.Fields(string(data))
	slices.Sort(units)
	return decode(t, strings.ReplaceAll(got.stdout, dir, "DIR")), units
}

// toolsInUse is the version of x/tools that this test is built with.
func toolsInUse(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "golang.org/x/tools").Output()
	if err != nil {
		t.Fatalf("asking for the version of x/tools: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func TestUnitsThatCannotMatterAreSkipped(t *testing.T) {
	t.Parallel()
	tools := toolsInUse(t)
	_, units := vetLayered(t, tools)
	if semver.Compare(tools, "v0.50.0") >= 0 {
		if len(units) > 0 {
			t.Errorf("x/tools %s fails on empty facts, yet these were skipped: %v", tools, units)
		}
		return
	}
	for _, want := range []string{"fmt", "runtime", "example.com/plain"} {
		if !slices.Contains(units, want) {
			t.Errorf("%s was not skipped", want)
		}
	}
	for _, unit := range units {
		if strings.HasPrefix(unit, "example.com/") && unit != "example.com/plain" {
			t.Errorf("%s was skipped", unit)
		}
	}
	if len(units) < 40 {
		t.Errorf("only %d units were skipped, but fmt alone imports as many", len(units))
	}
}

func TestTheEarlyExitChangesNoFinding(t *testing.T) {
	t.Parallel()
	with, _ := vetLayered(t, toolsInUse(t))
	without, none := vetLayered(t, "v0.50.0")
	if len(none) > 0 {
		t.Fatalf("%d units were skipped where none may be", len(none))
	}
	a, b := string(with["example.com/main"]["worsecheck"]), string(without["example.com/main"]["worsecheck"])
	if a != b {
		t.Errorf("with the early exit:\n%s\nwithout:\n%s", a, b)
	}
	wantContains(t, "what was found", a, "main polls")
}

func TestAPackageThatAFlagSaysMattersIsNotSkipped(t *testing.T) {
	t.Parallel()
	tools := toolsInUse(t)
	if _, units := vetLayered(t, tools); slices.Contains(units, "example.com/plain") != (semver.Compare(tools, "v0.50.0") < 0) {
		t.Fatalf("without the flag these are skipped: %v", units)
	}
	if _, units := vetLayered(t, tools, "-idemlint.seeds=example.com/plain"); slices.Contains(units, "example.com/plain") {
		t.Errorf("with it these are skipped: %v", units)
	}
}

func TestRulesRunOnlyWhereTheirFindingsAreWanted(t *testing.T) {
	t.Parallel()
	dir := module(t, `
-- go.mod --
module example.com/main

go 1.26.0
-- main.go --
package main

import "example.com/main/own"

func main() { own.Idle() }
-- own/own.go --
package own

func Idle() {}

func CrashAnalyzer() {}
`)
	vet := func(pattern string) result {
		return run(t, dir, environ(toolsVersion+"="+toolsInUse(t)), "go", "vet", "-vettool="+self(t), pattern)
	}
	if got := vet("./own"); got.status == 0 {
		t.Errorf("no rule ran over a package that was named: %+v", got)
	}
	wantStatus(t, vet("."), 0)
}
