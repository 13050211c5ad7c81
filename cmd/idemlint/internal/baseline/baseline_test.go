package baseline_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/baseline"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

func found(pkg, function, message string, line int) finding.Finding {
	return finding.Finding{Package: pkg, Function: function, Rule: "X1", Message: "X1: " + message, Position: finding.Position{File: "/m/a.go", Line: line}}
}

func TestAFindingThatMovedIsKnown(t *testing.T) {
	base := baseline.Of([]finding.Finding{found("m/a", "f", "bad", 3)})
	fresh, stale := base.New([]finding.Finding{found("m/a", "f", "bad", 300)})
	if len(fresh)+len(stale) > 0 {
		t.Errorf("new: %+v, stale: %+v", fresh, stale)
	}
}

func TestMoreOfAKindThanAreKnownAreNew(t *testing.T) {
	base := baseline.Of([]finding.Finding{found("m/a", "f", "bad", 3), found("m/a", "f", "bad", 4)})
	third := found("m/a", "f", "bad", 9)
	fresh, stale := base.New([]finding.Finding{found("m/a", "f", "bad", 3), found("m/a", "f", "bad", 5), third})
	if !reflect.DeepEqual(fresh, []finding.Finding{third}) || len(stale) > 0 {
		t.Errorf("new: %+v, stale: %+v", fresh, stale)
	}
}

func TestWhatIsKnownAndGoneIsStale(t *testing.T) {
	base := baseline.Of([]finding.Finding{found("m/a", "f", "bad", 3), found("m/a", "f", "bad", 4), found("m/b", "g", "worse", 1)})
	fresh, stale := base.New([]finding.Finding{found("m/a", "f", "bad", 3)})
	want := []baseline.Entry{{"X1", "m/a", "f", "bad", 1}, {"X1", "m/b", "g", "worse", 1}}
	if !reflect.DeepEqual(stale, want) || len(fresh) > 0 {
		t.Errorf("new: %+v, stale: %+v", fresh, stale)
	}
}

func TestTheFileIsTheSameWhateverTheOrderAndOneMemberALine(t *testing.T) {
	findings := []finding.Finding{
		found("m/b", "", "at top <level>", 1), found("m/a", "f", "bad", 3), found("m/a", "f", "bad", 8), found("m/a", "e", "bad", 5),
	}
	const want = `{
  "version": 1,
  "findings": [
    {
      "rule": "X1",
      "package": "m/a",
      "function": "e",
      "message": "bad",
      "count": 1
    },
    {
      "rule": "X1",
      "package": "m/a",
      "function": "f",
      "message": "bad",
      "count": 2
    },
    {
      "rule": "X1",
      "package": "m/b",
      "message": "at top <level>",
      "count": 1
    }
  ]
}
`
	name := filepath.Join(t.TempDir(), "baseline.json")
	for range 2 {
		slices.Reverse(findings)
		if err := baseline.Of(findings).Write(name); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != want {
			t.Errorf("got\n%s", data)
		}
	}
	read, err := baseline.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	if fresh, stale := read.New(findings); len(fresh)+len(stale) > 0 {
		t.Errorf("what was written is not what is read: new %+v, stale %+v", fresh, stale)
	}
}

func TestAnEmptyBaselineIsWrittenAsAList(t *testing.T) {
	name := filepath.Join(t.TempDir(), "baseline.json")
	if err := baseline.Of(nil).Write(name); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(name); err != nil || !strings.Contains(string(data), `"findings": []`) {
		t.Errorf("%v: got %s", err, data)
	}
}

func TestEntriesOfPackagesThatWereNotAnalysedAreKept(t *testing.T) {
	old := baseline.Of([]finding.Finding{found("m/b", "g", "worse", 1), found("m/a", "f", "gone", 1)})
	base := baseline.Of([]finding.Finding{found("m/c", "f", "bad", 3)}).With(old, func(e baseline.Entry) bool { return e.Package == "m/b" })
	want := []baseline.Entry{{"X1", "m/b", "g", "worse", 1}, {"X1", "m/c", "f", "bad", 1}}
	if !reflect.DeepEqual(base.Entries, want) {
		t.Errorf("got %+v", base.Entries)
	}
}

func TestWhatIsNoBaselineIsAnErrorThatNamesIt(t *testing.T) {
	for _, text := range []string{
		"", "[]", "{}", `{"version": 2, "findings": []}`, `{"version": 1, "findings": [{}]}`,
		`{"version": 1, "findings": [{"rule": "X1", "message": "m", "count": 0}]}`,
		`{"version": 1, "findings": [], "more": 1}`, `{"version": 1, "findings": []} {}`,
	} {
		name := filepath.Join(t.TempDir(), "baseline.json")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if b, err := baseline.Read(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s was read as %+v (%v)", text, b, err)
		}
	}
}

func TestABaselineThatIsNotThereIsToldApart(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none.json")
	if _, err := baseline.Read(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if b, err := baseline.ReadIfThere(name); err != nil || len(b.Entries) > 0 {
		t.Errorf("got %+v, %v", b, err)
	}
}
