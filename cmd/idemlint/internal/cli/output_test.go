package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestTheFindingsAreShownInEveryFormat(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	for _, format := range []string{"text", "sarif", "github"} {
		got := idemlint(t, dir, "-format", format, "./...")
		wantStatus(t, got, 1)
		name := "shop." + format
		if format == "text" {
			name = "shop.txt"
		}
		golden(t, name, got.stdout)
	}
	html := idemlint(t, dir, "-format", "html", "./...")
	wantStatus(t, html, 1)
	wantContains(t, "the page", html.stdout, "<!DOCTYPE html>", "3 errors, 1 warning", "BadAfterUmlaut is bad", "what badcheck is about")
	if own := idemlint(t, dir, "-format", "json", "./..."); own.stdout != idemlint(t, dir, "-json", "./...").stdout || own.status != 1 {
		t.Errorf("exit status %d, or not what -json prints:\n%s", own.status, own.stdout)
	}
}

func TestSARIFOfARunIsValid(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "report", "testdata", "sarif", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{shop: {"./..."}, broken: {"./fine", "./typo", "./fails"}, clean: {"./..."}} {
		got := idemlint(t, module(t, name), append([]string{"-format", "sarif"}, args...)...)
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(got.stdout))
		if err != nil {
			t.Fatalf("%v in %s", err, got.stdout)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%v\n%s", err, got.stdout)
		}
	}
}

// clean is a module without a finding.
const clean = "-- go.mod --\nmodule example.com/clean\n\ngo 1.26.0\n-- a.go --\npackage a\n"

func TestWhatCouldNotBeAnalysedIsInTheReport(t *testing.T) {
	t.Parallel()
	dir := module(t, broken)
	for format, want := range map[string][]string{
		"sarif": {`"executionSuccessful": false`, "example.com/broken/typo does not build: undefined: undefinedName", "analyzer badcheck failed"},
		"html":  {"Not everything was analysed.", "example.com/broken/typo does not build: undefined: undefinedName", "analyzer badcheck failed"},
	} {
		got := idemlint(t, dir, "-format", format, "./fine", "./typo", "./fails")
		wantStatus(t, got, 2)
		wantContains(t, format, got.stdout, want...)
	}
}

func TestAFileTakesWhatWouldBePrinted(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	for _, args := range [][]string{{"-format", "github"}, {"-diff"}} {
		printed := idemlint(t, dir, append(args, "./service", "./wire")...)
		into := idemlint(t, dir, append(args, "-o", "report.out", "./service", "./wire")...)
		data, err := os.ReadFile(filepath.Join(dir, "report.out"))
		if err != nil {
			t.Fatal(err)
		}
		if into.stdout != "" || into.status != printed.status || string(data) != printed.stdout {
			t.Errorf("%v: %+v; the file has\n%s", args, into, data)
		}
	}
}

func TestAWrongCallLeavesTheFileAlone(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	name := filepath.Join(dir, "report.out")
	if err := os.WriteFile(name, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, idemlint(t, dir, "-o", "report.out", "./nowhere"), 2)
	if data, err := os.ReadFile(name); err != nil || string(data) != "before" {
		t.Errorf("%v: the file has %q", err, data)
	}
}

func TestColourIsThereWhenAskedForAndNotInAFile(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	if got := idemlint(t, dir, "-color", "always", "./consumer"); !strings.Contains(got.stdout, "\x1b[") {
		t.Errorf("no colour:\n%s", got.stdout)
	}
	for _, args := range [][]string{{}, {"-color", "never"}} {
		if got := idemlint(t, dir, append(args, "./consumer")...); strings.Contains(got.stdout, "\x1b") {
			t.Errorf("%v: colour where there is no terminal:\n%q", args, got.stdout)
		}
	}
}

func TestPathsInReportsForMachinesAreThoseOfTheRepository(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(dir, "consumer")
	wantContains(t, "SARIF", idemlint(t, inside, "-format", "sarif", ".").stdout, `"uri": "consumer/consumer.go"`)
	wantContains(t, "annotations", idemlint(t, inside, "-format", "github", ".").stdout, "::error file=consumer/consumer.go,")
	wantContains(t, "text", idemlint(t, inside, ".").stdout, "\nconsumer.go:7:15: ")
}

// changed are the files of a directory that are not as in the archive.
func changed(t *testing.T, dir, archive string) []string {
	t.Helper()
	before := module(t, archive)
	var names []string
	err := filepath.WalkDir(before, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(before, path)
		if err != nil {
			return err
		}
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		now, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if !bytes.Equal(old, now) {
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestADashIsStandardOutput(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	got := idemlint(t, dir, "-o", "-", "./consumer")
	wantStatus(t, got, 1)
	wantContains(t, "standard output", got.stdout, "BadHandler is bad")
	if _, err := os.Stat(filepath.Join(dir, "-")); err == nil {
		t.Error("a file of that name was written")
	}
}
