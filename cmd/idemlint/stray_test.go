package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// warned are the lines of standard error that say of a setting that it names nothing, without the command's name.
func warned(stderr string) []string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, " names nothing: ") {
			lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "idemlint: "))
		}
	}
	return lines
}

// depot is a module in which names can be looked for. Its path has a major version.
func depot(t *testing.T, configuration string) string {
	t.Helper()
	dir := library(t, map[string]string{
		"go.mod":              "module example.com/depot/v2\n\ngo 1.26.0\n",
		"dedup/dedup.go":      "package dedup\n\ntype Asker interface{ Ask(id string) bool }\n\ntype Store struct{ n int }\n\nfunc (s *Store) FirstTime(id string) bool { return s.n > 0 }\n\ntype Box[T any] struct{ of T }\n\nfunc (b Box[T]) Has(id string) bool { return true }\n\ntype Wide interface{ Asker }\n\ntype Other = Store\n",
		"dedup/win.go":        "//go:build windows\n\npackage dedup\n\nfunc OnWindows(id string) bool { return true }\n",
		"dedup/dedup_test.go": "package dedup\n\nfunc InTest(id string) bool { return true }\n",
		"bus/bus.go":          "package bus\n\nimport _ \"example.com/depot/v2/dedup\"\n\ntype Parcel struct{ ID, Nonce string }\n\ntype Receiver interface{ Receive(p Parcel) error }\n\nfunc Remunerate() {}\n\nconst insert = \"INSERT INTO depot.payment_refs (id) VALUES ($1)\"\n\ntype LoanRef struct{ ID string }\n",
		"bus/schema.sql":      "CREATE TABLE IF NOT EXISTS arrivals (id uuid);\n--",
		"inner/replay/re.go":  "package replay\n",
	})
	if err := os.WriteFile(filepath.Join(dir, ".idemlint.yml"), []byte(configuration), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestANameInTheConfigurationThatNamesNothingIsToldWithItsLineAndTheNearest(t *testing.T) {
	t.Parallel()
	dir := depot(t, `guards:
  - example.com/depot/v2/dedup.Store.FirstTme
  - example.com/depot/v2/dedup.FirstTime
  - example.com/depot/v2/dedop.Store.FirstTime
  - github.com/elsewhere/dedup.Seen
handlers:
  - example.com/depot/v2/bus.Reciever
messages:
  - example.com/depot/v2/bus.Parcle
clients:
  - example.com/depot/v2/bus.Remunerat=effect
dedup-tables: [payment_ref, arival]
money-words: [zorkmid]
event-ids: [nonse]
trust:
  - example.com/depot/v2/iner
skip:
  - example.com/depot/v2/inner/repaly/...
`)
	got := run(t, dir, tool, "-guards", "example.com/depot/v2/dedup.Asker.Aks", "./...")
	if got.status != 0 || got.stdout != "" {
		t.Errorf("exit status %d, want 0; standard output:\n%s", got.status, got.stdout)
	}
	want := []string{
		"-guards: example.com/depot/v2/dedup.Asker.Aks names nothing: package example.com/depot/v2/dedup has no method Asker.Aks; did you mean example.com/depot/v2/dedup.Asker.Ask?",
		".idemlint.yml:2: guards: example.com/depot/v2/dedup.Store.FirstTme names nothing: package example.com/depot/v2/dedup has no method Store.FirstTme; did you mean example.com/depot/v2/dedup.Store.FirstTime?",
		".idemlint.yml:3: guards: example.com/depot/v2/dedup.FirstTime names nothing: package example.com/depot/v2/dedup has no function FirstTime; did you mean example.com/depot/v2/dedup.Store.FirstTime?",
		".idemlint.yml:4: guards: example.com/depot/v2/dedop.Store.FirstTime names nothing: there is no package example.com/depot/v2/dedop; did you mean example.com/depot/v2/dedup.Store.FirstTime?",
		".idemlint.yml:7: handlers: example.com/depot/v2/bus.Reciever names nothing: package example.com/depot/v2/bus has no function or type Reciever; did you mean example.com/depot/v2/bus.Receiver?",
		".idemlint.yml:9: messages: example.com/depot/v2/bus.Parcle names nothing: package example.com/depot/v2/bus has no type Parcle; did you mean example.com/depot/v2/bus.Parcel?",
		".idemlint.yml:11: clients: example.com/depot/v2/bus.Remunerat=effect names nothing: package example.com/depot/v2/bus has no function Remunerat; did you mean example.com/depot/v2/bus.Remunerate?",
		".idemlint.yml:12: dedup-tables: payment_ref names nothing: nothing in sight mentions a table payment_ref; did you mean payment_refs?",
		".idemlint.yml:12: dedup-tables: arival names nothing: nothing in sight mentions a table arival; did you mean arrivals?",
		".idemlint.yml:13: money-words: zorkmid names nothing: nothing in sight is called zorkmid",
		".idemlint.yml:14: event-ids: nonse names nothing: nothing in sight is called nonse",
		".idemlint.yml:16: trust: example.com/depot/v2/iner names nothing: there is no package example.com/depot/v2/iner, and none below it; did you mean example.com/depot/v2/inner?",
		".idemlint.yml:18: skip: example.com/depot/v2/inner/repaly/... names nothing: there is no package example.com/depot/v2/inner/repaly, and none below it; did you mean example.com/depot/v2/inner/replay?",
	}
	if said := warned(got.stderr); !slices.Equal(said, want) {
		t.Errorf("told:\n%s\nwant:\n%s\nin:\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"), got.stderr)
	}
	if handlers := run(t, dir, tool, "handlers", "./..."); len(warned(handlers.stderr)) != len(want)-1 {
		t.Errorf("handlers tells of %q", warned(handlers.stderr))
	}
}

func TestANameThatNamesSomethingOrIsForAnotherProgramIsNotCalledWrong(t *testing.T) {
	t.Parallel()
	dir := depot(t, `guards:
  - example.com/depot/v2/dedup.Store.FirstTime
  - example.com/depot/dedup.Store.FirstTime
  - example.com/depot/v2/dedup.(*Store).FirstTime
  - example.com/depot/v2/dedup.Box.Has
  - example.com/depot/v2/dedup.Asker.Ask
  - example.com/depot/v2/dedup.Wide.Ask
  - example.com/depot/v2/dedup.Other.FirstTime
  - example.com/depot/v2/dedup.OnWindows
  - example.com/depot/v2/dedup.InTest
  - github.com/elsewhere/dedup.Seen
handlers:
  - example.com/depot/v2/bus.Receiver
  - example.com/depot/v2/bus.Receiver.Receive
messages: [example.com/depot/bus.Parcel]
clients: [net/http.Client.Do=effect]
dedup-tables: [payment_refs, ARRIVALS, loan_refs]
money-words: [remunerate]
event-ids: [nonce]
trust: [example.com/depot/v2, net, github.com/elsewhere]
skip: [example.com/depot/v2/inner/..., example.com/depot/v2/inner/replay]
`)
	for _, pattern := range []string{"./...", "./inner/replay", "example.com/depot/v2/bus"} {
		if got := run(t, dir, tool, pattern); got.status != 0 || len(warned(got.stderr)) > 0 {
			t.Errorf("%s: exit status %d and\n%s", pattern, got.status, got.stderr)
		}
	}
}

func TestNoNameInTheConfigurationOfTheFixturesIsCalledWrong(t *testing.T) {
	t.Parallel()
	if got := run(t, filepath.Join("..", "..", "testdata", "options"), tool, "./..."); len(warned(got.stderr)) > 0 {
		t.Errorf("told:\n%s", got.stderr)
	}
}

func TestANameInAModulesOwnConfigurationIsToldFromTheRootOfTheWorkspace(t *testing.T) {
	t.Parallel()
	dir := library(t, map[string]string{
		"go.work":  "go 1.26.0\n\nuse (\n\t./a\n\t./b\n)\n",
		"a/go.mod": "module example.com/a\n\ngo 1.26.0\n", "a/a.go": "package a\n\nfunc Seen(id string) bool { return true }\n",
		"b/go.mod": "module example.com/b\n\ngo 1.26.0\n", "b/b.go": "package b\n",
	})
	for name, text := range map[string]string{".idemlint.yml": "guards: [example.com/a.Saen]\n", "b/.idemlint.yml": "guards: [example.com/a.Sene]\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const fault = " names nothing: package example.com/a has no function "
	got := warned(run(t, dir, tool, "./a/...", "./b/...").stderr)
	want := []string{"b/.idemlint.yml:1: guards: example.com/a.Sene" + fault + "Sene; did you mean example.com/a.Seen?",
		".idemlint.yml:1: guards: example.com/a.Saen" + fault + "Saen; did you mean example.com/a.Seen?"}
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if got := warned(run(t, dir, tool, "./a/...").stderr); !slices.Equal(got, want[1:]) {
		t.Errorf("of example.com/a alone told %q, want %q", got, want[1:])
	}
}
