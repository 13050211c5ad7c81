package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

// A result is what a process left behind.
type result struct {
	stdout, stderr string
	status         int
}

// module writes a txtar archive into a fresh directory and returns its path.
func module(t *testing.T, archive string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// environ is the test's environment without what would change how the go command works, and with more.
func environ(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GOFLAGS=") || strings.HasPrefix(kv, "GOWORK=") || strings.HasPrefix(kv, "PWD=")
	})
	return append(append(env, "GOFLAGS=", face+"=1"), more...)
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func run(t *testing.T, dir string, env []string, name string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(env, "PWD="+dir)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("running %s: %v", name, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// idemlint runs the command in dir.
func idemlint(t *testing.T, dir string, args ...string) result {
	t.Helper()
	return run(t, dir, environ(), self(t), args...)
}

// tree is analysis JSON.
type tree map[string]map[string]json.RawMessage

func decode(t *testing.T, text string) tree {
	t.Helper()
	all := make(tree)
	for dec := json.NewDecoder(strings.NewReader(text)); dec.More(); {
		var one tree
		if err := dec.Decode(&one); err != nil {
			t.Fatalf("standard output is not analysis JSON: %v\n%s", err, text)
		}
		for id, results := range one {
			all[id] = results
		}
	}
	return all
}

func wantStatus(t *testing.T, got result, want int) {
	t.Helper()
	if got.status != want {
		t.Errorf("exit status %d, want %d\nstdout:\n%s\nstderr:\n%s", got.status, want, got.stdout, got.stderr)
	}
}

func wantContains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

// shop is a module with a finding of every kind.
const shop = `
-- go.mod --
module example.com/shop

go 1.26.0
-- consumer/consumer.go --
package consumer

type Consumer struct{}

func BadHandler() {}

/* ü */ func BadAfterUmlaut() { WorseKey() }

func WorseKey() {}
-- consumer/consumer_test.go --
package consumer

import "testing"

func TestHandler(t *testing.T) { BadHandler() }
-- consumer/external_test.go --
package consumer_test

import (
	"testing"

	"example.com/shop/consumer"
)

func TestExternal(t *testing.T) { consumer.BadHandler() }
-- service/service.go --
package service

	func HalfConfirm() {}
-- service/external_test.go --
package service_test
-- wire/wire.go --
package wire

import "example.com/shop/service"

func RestConfirm() { service.HalfConfirm() }
-- clean/clean.go --
package clean

func Good() {}
`

func TestFindingsAreShownWithSourceRelatedPlacesAndURL(t *testing.T) {
	t.Parallel()
	got := idemlint(t, module(t, shop), "./...")
	golden(t, "shop.txt", got.stdout)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (-update writes it); got:\n%s\nwant:\n%s", file, got, want)
	}
}

func TestTwentyRunsAreByteEqual(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	for _, format := range [][]string{nil, {"-json"}} {
		args := append(slices.Clone(format), "./...")
		first := idemlint(t, dir, args...)
		for range 19 {
			if next := idemlint(t, dir, args...); next != first {
				t.Fatalf("%v: two runs differ:\n%+v\n%+v", args, first, next)
			}
		}
	}
}

func TestJSONHasWhatGoVetPrints(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	ours := decode(t, idemlint(t, dir, "-json", "./consumer").stdout)
	theirs := decode(t, run(t, dir, environ(), "go", "vet", "-vettool="+self(t), "-json", "./consumer").stdout)
	for id, results := range theirs {
		if len(results) == 0 {
			delete(theirs, id)
		}
	}
	if len(theirs) == 0 {
		t.Fatal("go vet found nothing")
	}
	a, err := json.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("JSON differs from go vet's:\n%s\n%s", a, b)
	}
}

func TestASettledFindingStandsUnderItsPackage(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	var found []struct{ Category, Posn string }
	results := decode(t, idemlint(t, dir, "-json").stdout)
	if err := json.Unmarshal(results["example.com/shop/service"]["badcheck"], &found); err != nil {
		t.Fatalf("%v in %s", err, results)
	}
	if want := filepath.Join(dir, "service", "service.go") + ":3:7"; len(found) != 1 || found[0].Posn != want {
		t.Errorf("got %+v, want one finding at %s", found, want)
	}
}

func TestTheIndexIsNotShown(t *testing.T) {
	t.Parallel()
	if got := idemlint(t, module(t, shop), "-json"); strings.Contains(got.stdout, `"index"`) {
		t.Errorf("the packages' summaries are in the output:\n%s", got.stdout)
	}
}

func TestNothingFoundIsAnEmptyObject(t *testing.T) {
	t.Parallel()
	got := idemlint(t, module(t, shop), "-json", "./clean")
	if got.stdout != "{}\n" {
		t.Errorf("got %q", got.stdout)
	}
}

func TestTheExitStatusTellsWhatWasFound(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	for _, tt := range []struct {
		name string
		args []string
		want int
	}{
		{"clean", []string{"./clean"}, 0},
		{"findings", []string{"./consumer"}, 1},
		{"a finding of the whole", []string{"./service", "./wire"}, 1},
		{"half of it", []string{"./service"}, 0},
		{"clean, JSON", []string{"-json", "./clean"}, 0},
		{"findings, JSON", []string{"-json", "./consumer"}, 0},
		{"not asked for", []string{"-rules", "X2", "./service", "./wire"}, 0},
		{"wrong call", []string{"-nope"}, 2},
		{"wrong call, JSON", []string{"-json", "./nope"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantStatus(t, idemlint(t, dir, tt.args...), tt.want)
		})
	}
}

func TestPathsAreRelativeToWhereTheCommandStarted(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	got := idemlint(t, filepath.Dir(dir), "-C", filepath.Base(dir), "./clean", "./consumer")
	wantContains(t, "standard output", got.stdout, "\n"+filepath.Join(filepath.Base(dir), "consumer", "consumer.go")+":7:15: ")
}

func TestRulesAreChosenByIDShortIDAndAnalyzer(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	for _, tt := range []struct {
		list      string
		bad, last bool
	}{
		{"R-KFK-IDEM-X1", true, false},
		{"x2", false, true},
		{"badcheck", true, false},
		{"X1, worsecheck", true, true},
	} {
		t.Run(tt.list, func(t *testing.T) {
			got := idemlint(t, dir, "-rules", tt.list, "./consumer").stdout
			if strings.Contains(got, "is bad") != tt.bad || strings.Contains(got, "is worse") != tt.last {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}

func TestAWrongCallSaysTheRightOne(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	if err := os.MkdirAll(filepath.Join(dir, "cmd", "shop"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"unknown flag", []string{"-jsn"}, []string{"-jsn", "did you mean -json?"}},
		{"unknown analyzer flag", []string{"-badcheck.strct", "./..."}, []string{"did you mean -badcheck.strict?"}},
		{"flag like nothing", []string{"-frobnicate"}, []string{"unknown flag -frobnicate", "idemlint help"}},
		{"an analyzer as a flag", []string{"-badcheck"}, []string{"idemlint -rules badcheck"}},
		{"the index flag is the command's own", []string{"-idemlint.index"}, []string{"unknown flag"}},
		{"version as a flag", []string{"-version"}, []string{"idemlint version"}},
		{"wrong value", []string{"-badcheck.limit=many"}, []string{"badcheck.limit", `"many"`}},
		{"missing value", []string{"-rules"}, []string{"-rules"}},
		{"unknown rule", []string{"-rules", "X1,badchek"}, []string{`"badchek"`, `did you mean "badcheck"?`}},
		{"rule like nothing", []string{"-rules", "security"}, []string{`"security"`, "R-KFK-IDEM-X1"}},
		{"empty rules", []string{"-rules", ","}, []string{"no rule in the list"}},
		{"flags behind packages", []string{"./...", "-json"}, []string{"idemlint -json ./..."}},
		{"missing directory", []string{"./cnsumer"}, []string{"no directory ./cnsumer", "./..."}},
		{"missing directory tree", []string{"./cnsumer/..."}, []string{"no directory ./cnsumer"}},
		{"missing -C", []string{"-C", "nowhere"}, []string{"-C nowhere: no such directory"}},
		{"nothing below", []string{"./empty/..."}, []string{"no packages match ./empty/..."}},
		{"nearly a sub-command", []string{"versoin"}, []string{`did you mean "idemlint version"?`}},
		{"unknown word", []string{"lint"}, []string{`"lint"`, "idemlint ./..."}},
		{"unknown word before packages", []string{"lint", "./..."}, []string{`no command or package "lint"`}},
		{"a path without ./", []string{"cmd/shop"}, []string{`no package "cmd/shop"; for the directory of that name: idemlint ./cmd/shop`}},
		{"a tree without ./", []string{"consumer/..."}, []string{`no package matches "consumer/..."; for the directory of that name: idemlint ./consumer/...`}},
		{"an empty argument", []string{""}, []string{"an empty argument names no package"}},
		{"a directory of others", []string{"."}, []string{"no Go files in . itself; for everything below it: idemlint ./...\n"}},
		{"a directory without ./", []string{"consumer"}, []string{"idemlint ./consumer"}},
		{"a format as a flag", []string{"-sarif"}, []string{"idemlint -format sarif"}},
		{"unknown format", []string{"-format", "sarfi"}, []string{`"sarfi"`, "did you mean sarif?"}},
		{"format like nothing", []string{"-format", "checkstyle"}, []string{"there are text, json, sarif, github, html"}},
		{"colour like nothing", []string{"-color", "alway"}, []string{"did you mean always?"}},
		{"two formats", []string{"-json", "-format", "sarif"}, []string{"choose one"}},
		{"fix and diff", []string{"-fix", "-diff"}, []string{"choose one"}},
		{"a diff of a format", []string{"-diff", "-format", "html"}, []string{"leave out -format"}},
		{"an update of no baseline", []string{"-baseline-update"}, []string{"idemlint -baseline FILE -baseline-update"}},
		{"an update of some rules", []string{"-baseline", "b.json", "-baseline-update", "-rules", "X1"}, []string{"leave out -rules"}},
		{"an update with fixes", []string{"-baseline", "b.json", "-baseline-update", "-fix"}, []string{"leave out -fix"}},
		{"no such baseline", []string{"-baseline", "none.json", "./clean"}, []string{"none.json", "idemlint -baseline none.json -baseline-update ./clean"}},
		{"a directory to write to", []string{"-o", "clean"}, []string{"-o clean: that is a directory"}},
		{"no directory to write in", []string{"-o", "nowhere/report.html"}, []string{"no directory", "nowhere"}},
		{"version with arguments", []string{"version", "x"}, []string{"no arguments"}},
		{"help on nothing known", []string{"help", "badchck"}, []string{`did you mean "badcheck"?`}},
		{"explaining nothing known", []string{"explain", "badchck"}, []string{`did you mean "badcheck"?`}},
		{"unknown module", []string{"example.com/elsewhere"}, []string{"example.com/elsewhere"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "nothing below" {
				if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			got := idemlint(t, dir, tt.args...)
			wantStatus(t, got, 2)
			wantContains(t, "standard error", got.stderr, tt.want...)
			if got.stdout != "" {
				t.Errorf("standard output is not empty:\n%s", got.stdout)
			}
		})
	}
}

func TestACacheThatCannotBeUsedIsNamed(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	writeFile(t, filepath.Join(dir, "file"), "")
	got := run(t, dir, environ("GOCACHE="+filepath.Join(dir, "file", "cache")), self(t), "./...")
	wantStatus(t, got, 2)
	wantContains(t, "standard error", got.stderr, filepath.Join(dir, "file", "cache"))
	if strings.Contains(got.stderr, "no command or package") {
		t.Errorf("the failure is taken for a wrong word:\n%s", got.stderr)
	}
}

func TestWithoutAModuleTheWayOutIsSaid(t *testing.T) {
	t.Parallel()
	got := idemlint(t, module(t, "-- x.go --\npackage x\n"), "./...")
	wantStatus(t, got, 2)
	wantContains(t, "standard error", got.stderr, "no go.mod", "-C dir")
}

func TestWithoutAGoCommandTheWayOutIsSaid(t *testing.T) {
	t.Parallel()
	got := run(t, module(t, shop), environ("PATH="+t.TempDir()), self(t), "./...")
	wantStatus(t, got, 2)
	wantContains(t, "standard error", got.stderr, "no go command in PATH", "https://go.dev/dl")
}

func TestHelpListsRulesFlagsAndSubcommands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}} {
		got := idemlint(t, t.TempDir(), args...)
		wantStatus(t, got, 0)
		wantContains(t, "help", got.stdout, "R-KFK-IDEM-X1", "badcheck", "report functions named Bad", "-rules list", "version")
	}
}

func TestHelpOnARuleShowsItsPageAndFlags(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"badcheck", "X1", "r-kfk-idem-x1"} {
		got := idemlint(t, t.TempDir(), "help", word)
		wantStatus(t, got, 0)
		wantContains(t, "help", got.stdout, "More about it.", "https://example.com/rules/badcheck", "-badcheck.limit n")
	}
}

func TestExplainShowsThePagesOfARule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"badcheck"}, "The page of badcheck.\n"},
		{[]string{"X1"}, "The page of badcheck.\n"},
		{[]string{"r-kfk-idem-1"}, "The page of worsecheck.\n"},
		{[]string{"idemlint"}, "The page of idemlint.\n"},
		{[]string{"X1", "worsecheck"}, "The page of badcheck.\n\nThe page of worsecheck.\n"},
	} {
		got := idemlint(t, t.TempDir(), append([]string{"explain"}, tt.args...)...)
		wantStatus(t, got, 0)
		if got.stdout != tt.want {
			t.Errorf("explain %q printed %q, want %q", tt.args, got.stdout, tt.want)
		}
	}
}

func TestExplainWithoutARuleListsThem(t *testing.T) {
	t.Parallel()
	got := idemlint(t, t.TempDir(), "explain")
	wantStatus(t, got, 0)
	wantContains(t, "explain", got.stdout, "badcheck", "R-KFK-IDEM-X1", "report functions named Bad", "worsecheck", "idemlint explain RULE")
}
