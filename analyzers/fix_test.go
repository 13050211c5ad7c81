package analyzers_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fixesIn are the places of the findings that have a fix, with the texts that it puts in.
func fixesIn(all map[place]diagnostic) map[place]string {
	out := make(map[place]string)
	for p, d := range all {
		var news []string
		for _, fix := range d.Fixes {
			for _, e := range fix.Edits {
				news = append(news, e.New)
			}
		}
		if len(news) > 0 {
			out[p] = strings.Join(news, "|")
		}
	}
	return out
}

// packagesOf are patterns for the directories of the places.
func packagesOf(places map[place]string) []string {
	dirs := make(map[string]bool)
	for p := range places {
		dirs["./"+path.Dir(p.file)] = true
	}
	return slices.Sorted(maps.Keys(dirs))
}

func TestFixesAreTheSameInEveryWayOfRunning(t *testing.T) {
	alone, vet := fixesIn(all(t, false)), fixesIn(all(t, true))
	if len(alone) == 0 || len(vet) == 0 {
		t.Fatalf("%d fixes stand-alone, %d by go vet", len(alone), len(vet))
	}
	for p, text := range alone {
		if _, ok := all(t, true)[p]; ok && vet[p] != text {
			t.Errorf("%v: stand-alone has the fix %q, go vet has %q", p, text, vet[p])
		}
	}
	for p, text := range vet {
		if alone[p] == "" {
			t.Errorf("%v: go vet has the fix %q, stand-alone has none", p, text)
		}
	}
}

// TestAFixedFixtureCompilesAndTheFindingIsGone applies all fixes of all fixtures, in a copy of them.
func TestAFixedFixtureCompilesAndTheFindingIsGone(t *testing.T) {
	fixable := fixesIn(all(t, false))
	patterns := packagesOf(fixable)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixtures)); err != nil {
		t.Fatal(err)
	}
	want := messages(diagnostics(t, dir, false, patterns...))
	for p := range fixable {
		delete(want, p)
	}
	bin, err := idemlint()
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	run(bin, append([]string{"-fix", "-json"}, patterns...)...)
	run("go", append([]string{"build"}, patterns...)...)
	compare(t, want, messages(diagnostics(t, dir, false, patterns...)))
}

func messages(all map[place]diagnostic) map[place]string {
	out := make(map[place]string)
	for p, d := range all {
		out[p] = d.Message
	}
	return out
}

// TestTheClauseIsOfferedOnlyWhereZeroRowsDecide goes by the comments of the functions.
func TestTheClauseIsOfferedOnlyWhereZeroRowsDecide(t *testing.T) {
	const dir = "r2/rows_counted_without_clause"
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, filepath.Join(fixtures, dir, "tolls.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[place]diagnostic)
	for p, d := range all(t, false) {
		if path.Dir(p.file) == dir {
			found[p] = d
		}
	}
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from, to := fset.Position(fn.Pos()).Line, fset.Position(fn.End()).Line
		for p, diagnostic := range found {
			if p.line < from || p.line > to {
				continue
			}
			want := strings.Contains(fn.Doc.Text(), "It has a fix.")
			if got := len(diagnostic.Fixes) > 0; got != want {
				t.Errorf("%v in %s: has a fix: %t, want %t", p, fn.Name.Name, got, want)
			}
		}
	}
	if len(found) != 7 {
		t.Errorf("%d findings, want 7", len(found))
	}
}

// A diagnostic is what the tests look at in the analysis JSON.
type diagnostic struct {
	Category, Posn, Message string
	Fixes                   []struct {
		Edits []struct{ New string }
	} `json:"suggested_fixes"`
}

func decodeDiagnostics(t *testing.T, raw json.RawMessage) []diagnostic {
	t.Helper()
	var list []diagnostic
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatalf("no diagnostics: %s", raw)
	}
	return list
}
