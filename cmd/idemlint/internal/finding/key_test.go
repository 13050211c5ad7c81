package finding_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

func TestAFindingThatMovesKeepsItsFingerprint(t *testing.T) {
	first := finding.Finding{
		Package: "m/a", Rule: "X1", Function: "Consumer.onPaid", Message: "X1: onPaid writes; the effect at store/store.go:12:3",
		Position: finding.Position{File: "/m/a/a.go", Line: 3, Column: 7},
	}
	moved := first
	moved.Package = "m/a [m/a.test]"
	moved.Position = finding.Position{File: "/m/a/renamed.go", Line: 300, Column: 1}
	moved.Message = "X1: onPaid writes;  the effect at store/store.go:99:1"
	if first.Key() != moved.Key() {
		t.Errorf("the keys differ: %+v, %+v", first.Key(), moved.Key())
	}
}

func TestAFindingOfAnotherKindHasAnotherFingerprint(t *testing.T) {
	base := finding.Finding{Package: "m/a", Rule: "X1", Function: "f", Message: "one"}
	for name, change := range map[string]func(*finding.Finding){
		"rule":     func(f *finding.Finding) { f.Rule = "X2" },
		"package":  func(f *finding.Finding) { f.Package = "m/b" },
		"function": func(f *finding.Finding) { f.Function = "g" },
		"message":  func(f *finding.Finding) { f.Message = "two" },
	} {
		other := base
		change(&other)
		if other.Key().Fingerprint() == base.Key().Fingerprint() {
			t.Errorf("another %s, the same fingerprint", name)
		}
	}
}

func TestFingerprintsOfTwinsAreNumbered(t *testing.T) {
	f := finding.Finding{Package: "m/a", Rule: "X1", Message: "one"}
	g := f
	g.Function = "g"
	prints := finding.Fingerprints([]finding.Finding{f, g, f, f})
	if want := []string{prints[0], prints[1], prints[0] + ":2", prints[0] + ":3"}; !slices.Equal(prints, want) || prints[0] == prints[1] {
		t.Errorf("got %q", prints)
	}
}

func TestAPositionIsNamedByTheDeclarationAroundIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	const code = `package a

import "fmt"

// F is
// documented.
func F() {
	fmt.Println()
}

func (b *Box[T]) Open() {}

func (Box[T]) Shut() {}

type Box[T any] struct{}

var (
	first = func() {}
	last  = func() {
	}
)
`
	if err := os.WriteFile(file, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	var functions finding.Functions
	for line, want := range map[int]string{
		1: "", 3: "", 5: "F", 7: "F", 8: "F", 10: "", 11: "Box.Open", 13: "Box.Shut", 15: "", 18: "first", 20: "last", 99: "",
	} {
		if got := functions.Of(finding.Position{File: file, Line: line, Column: 1}); got != want {
			t.Errorf("line %d is in %q, want %q", line, got, want)
		}
	}
}

func TestAFileThatIsNoGoHasNoFunctions(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.go")
	if err := os.WriteFile(broken, []byte("package"), 0o644); err != nil {
		t.Fatal(err)
	}
	var functions finding.Functions
	for _, file := range []string{"schema.sql", broken, filepath.Join(dir, "gone.go")} {
		if got := functions.Of(finding.Position{File: file, Line: 1}); got != "" {
			t.Errorf("%s: got %q", file, got)
		}
	}
}
