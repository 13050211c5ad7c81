package finding_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

func TestAPositionIsReadAsGoVetPrintsIt(t *testing.T) {
	for _, tt := range []struct {
		text string
		want finding.Position
	}{
		{"/m/a.go:3:14", finding.Position{File: "/m/a.go", Line: 3, Column: 14}},
		{"/m/a.sql:3", finding.Position{File: "/m/a.sql", Line: 3}},
		{`C:\m\a.go:3:14`, finding.Position{File: `C:\m\a.go`, Line: 3, Column: 14}},
		{`C:\m\a.go`, finding.Position{File: `C:\m\a.go`}},
		{"/m/x:y/a.go:3:14", finding.Position{File: "/m/x:y/a.go", Line: 3, Column: 14}},
		{"-", finding.Position{File: "-"}},
		{"", finding.Position{}},
	} {
		if got := finding.ParsePosition(tt.text); got != tt.want {
			t.Errorf("ParsePosition(%q) = %+v, want %+v", tt.text, got, tt.want)
		}
	}
}

func FuzzAPositionSurvivesItsText(f *testing.F) {
	for _, text := range []string{"/m/a.go:3:14", "a:1", ":::", "a:0:0", "a:-1:2", "a:99999999999999999999", "a:01:002"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := finding.ParsePosition(text)
		if p.Line < 0 || p.Column < 0 {
			t.Errorf("ParsePosition(%q) = %+v, a place before the file's begin", text, p)
		}
		if again := finding.ParsePosition(p.String()); p.Line > 0 && again != p {
			t.Errorf("%q is %+v, whose text %q is %+v", text, p, p, again)
		}
	})
}

const twoPackages = `
{"m/b": {"uuidv7": [{"category": "R1", "posn": "/m/b/b.go:2:1", "end": "/m/b/b.go:2:5", "message": "two",
	"suggested_fixes": [{"message": "v7", "edits": [{"filename": "/m/b/b.go", "start": 1, "end": 2, "new": "x"}]}],
	"related": [{"posn": "/m/b/c.go:1:1", "end": "/m/b/c.go:1:1", "message": "there"}]}]}}
{}
{"m/a": {"uuidv7": {"error": "no"}, "offsetkey": []}}`

func TestUnitsComeSortedByPackage(t *testing.T) {
	units, err := finding.ReadUnits(strings.NewReader(twoPackages))
	if err != nil {
		t.Fatal(err)
	}
	if len(units) != 2 || units[0].Package != "m/a" || units[1].Package != "m/b" {
		t.Errorf("got %+v", units)
	}
}

func TestWhatIsReadIsWrittenBack(t *testing.T) {
	first, err := finding.ReadUnits(strings.NewReader(twoPackages))
	if err != nil {
		t.Fatal(err)
	}
	if again := writeAndRead(t, first); !reflect.DeepEqual(again, first) {
		t.Errorf("got %+v, want %+v", again, first)
	}
}

func writeAndRead(t *testing.T, units []finding.Unit) []finding.Unit {
	t.Helper()
	var findings []finding.Finding
	var failures []finding.Failure
	for _, u := range units {
		findings = append(findings, u.Findings...)
		failures = append(failures, u.Failures...)
	}
	var text bytes.Buffer
	if err := finding.WriteJSON(&text, findings, failures); err != nil {
		t.Fatal(err)
	}
	again, err := finding.ReadUnits(&text)
	if err != nil {
		t.Fatalf("%v in %s", err, text.String())
	}
	return again
}

func TestWhatIsNoAnalysisJSONIsAnError(t *testing.T) {
	for _, text := range []string{"[]", `{"m": 1}`, `{"m": {"a": "x"}}`, `{"m": {"a": {"error": ""}}}`, `{"m"`, "# m\nboom"} {
		if units, err := finding.ReadUnits(strings.NewReader(text)); err == nil {
			t.Errorf("%s was read as %+v", text, units)
		}
	}
}

func FuzzReadUnits(f *testing.F) {
	f.Add(twoPackages)
	f.Add("{}")
	f.Add(`{"m": {"a": null}}`)
	f.Fuzz(func(t *testing.T, text string) {
		units, err := finding.ReadUnits(strings.NewReader(text))
		if err != nil {
			return
		}
		// Writing drops what is empty; from there on nothing may change.
		once := writeAndRead(t, units)
		if twice := writeAndRead(t, once); !reflect.DeepEqual(twice, once) {
			t.Errorf("%q: first %+v, then %+v", text, once, twice)
		}
	})
}

func TestFindingsAreSortedAndEachStandsOnce(t *testing.T) {
	at := func(file string, line, column int) finding.Position {
		return finding.Position{File: file, Line: line, Column: column}
	}
	first := finding.Finding{Package: "m/a", Rule: "X1", Position: at("a.go", 2, 9), Message: "one"}
	variant := first
	variant.Package = "m/a [m/a.test]"
	otherRule := first
	otherRule.Rule = "X2"
	got := finding.Normalize([]finding.Finding{
		{Rule: "X1", Position: at("b.go", 1, 1)},
		otherRule,
		variant,
		{Rule: "X1", Position: at("a.go", 10, 1)},
		first,
		{Rule: "X1", Position: at("a.go", 2, 10)},
	})
	want := []finding.Finding{
		first,
		otherRule,
		{Rule: "X1", Position: at("a.go", 2, 10)},
		{Rule: "X1", Position: at("a.go", 10, 1)},
		{Rule: "X1", Position: at("b.go", 1, 1)},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
