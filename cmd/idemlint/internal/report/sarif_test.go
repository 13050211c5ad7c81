package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/report"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// pages are those of three analyzers, of which two share a rule.
func pages() []rules.Page {
	return []rules.Page{
		{Analyzer: "one", Rule: "R-1", Title: "work is done twice", Severity: "error", URL: "https://example.com/one", Reports: "Work.", Text: "# one\n", Markdown: "# `one`\n"},
		{Analyzer: "two", Rule: "R-2", Title: "an id is random", Severity: "warning", URL: "https://example.com/two", Reports: "Ids.", Text: "# two\n", Markdown: "# `two`\n"},
		{Analyzer: "three", Rule: "R-2", Title: "an id is lost", Severity: "note", URL: "https://example.com/three", Reports: "Lost.", Text: "# three\n", Markdown: "# `three`\n"},
	}
}

// write writes a file below a fresh directory, and returns both.
func write(t *testing.T, name, text string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

// log is what the tests look at in a SARIF log.
type log struct {
	Runs []struct {
		Tool struct {
			Driver struct {
				Rules []struct {
					ID   string
					Help struct{ Text, Markdown string }
				}
			}
		}
		Invocations []struct {
			ExecutionSuccessful        bool
			ToolExecutionNotifications []struct{ Message struct{ Text string } }
		}
		ColumnKind string
		Results    []struct {
			RuleID              string
			RuleIndex           int
			Level               string
			Message             struct{ Text string }
			Locations           []location
			RelatedLocations    []location
			PartialFingerprints map[string]string
			Fixes               []struct {
				ArtifactChanges []struct {
					Replacements []struct {
						DeletedRegion   region
						InsertedContent struct{ Text string }
					}
				}
			}
		}
	}
}

type location struct {
	ID               int
	PhysicalLocation struct {
		ArtifactLocation struct{ URI, URIBaseID string }
		Region           region
	}
}

type region struct{ StartLine, StartColumn, EndLine, EndColumn int }

// sarif renders a report, which must be valid by the official schema.
func sarif(t *testing.T, r *report.Report) log {
	t.Helper()
	var out bytes.Buffer
	if err := report.SARIF(&out, r); err != nil {
		t.Fatal(err)
	}
	validate(t, out.Bytes())
	var l log
	if err := json.Unmarshal(out.Bytes(), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

func validate(t *testing.T, data []byte) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(filepath.Join("testdata", "sarif", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("not valid by the schema: %v\n%s", err, data)
	}
}

func TestSARIFOfEverythingIsValid(t *testing.T) {
	root, file := write(t, "a b/#ä.go", "package a\n\nvar ü = uuid.New()\n")
	start := finding.Position{File: file, Line: 3, Column: 10}
	end := finding.Position{File: file, Line: 3, Column: 20}
	l := sarif(t, &report.Report{
		Root: root, Base: root, Pages: pages(), Version: "v1.2.3",
		Problems: []report.Problem{{Message: "no"}, {Position: start, Message: "nor here"}},
		Findings: []finding.Finding{
			{Package: "m/a", Analyzer: "one", Rule: "R-1", Function: "ü", Position: start, End: end, Message: "m",
				Related: []finding.Related{{Position: start, End: start, Message: "there"}, {Position: finding.Position{File: "/gone.sql", Line: 2}, Message: "[x]"}},
				Fixes:   []finding.Fix{{Message: "v7", Edits: []finding.Edit{{Filename: file, Start: 20, End: 30, New: "x"}}}}},
			{Package: "m/a", Analyzer: "unheard", Rule: "idemlint", Position: finding.Position{File: file}, Message: "m"},
		},
	})
	run := l.Runs[0]
	if run.ColumnKind != "unicodeCodePoints" || len(run.Results) != 2 || len(run.Tool.Driver.Rules) != 3 {
		t.Errorf("got %+v", run)
	}
	if inv := run.Invocations[0]; inv.ExecutionSuccessful || len(inv.ToolExecutionNotifications) != 2 {
		t.Errorf("the packages that were not analysed are not told: %+v", inv)
	}
}

func TestSARIFOfNothingIsValidAndSaysSo(t *testing.T) {
	l := sarif(t, &report.Report{Root: "/", Pages: pages()})
	if run := l.Runs[0]; run.Results == nil || len(run.Results) != 0 || !run.Invocations[0].ExecutionSuccessful {
		t.Errorf("got %+v", run)
	}
}

func TestSARIFColumnsCountCodePoints(t *testing.T) {
	const code = "\uFEFFpackage a // ü\r\n\nvar 日本 = f(\"𝄞\", x)\r\nend"
	root, file := write(t, "a.go", code)
	at := func(line, column int) finding.Position {
		return finding.Position{File: file, Line: line, Column: column}
	}
	for _, tt := range []struct {
		name       string
		start, end finding.Position
		want       region
	}{
		{"behind a byte order mark", at(1, 4), at(1, 11), region{1, 1, 1, 8}},
		{"behind two- to four-byte characters", at(3, 22), at(3, 23), region{3, 15, 3, 16}},
		{"over a four-byte character", at(3, 15), at(3, 22), region{3, 11, 3, 15}},
		{"at the end of a line", at(4, 4), at(4, 4), region{4, 4, 0, 0}},
		{"over lines", at(3, 5), at(4, 4), region{3, 5, 4, 4}},
		{"without a column", at(3, 0), at(3, 0), region{3, 0, 0, 0}},
		{"behind the line", at(4, 9), at(4, 9), region{4, 0, 0, 0}},
		{"in a file that is gone", finding.Position{File: "/gone.go", Line: 4, Column: 2}, finding.Position{}, region{4, 0, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := sarif(t, &report.Report{Root: root, Findings: []finding.Finding{{Rule: "R-1", Position: tt.start, End: tt.end, Message: "m"}}})
			if got := l.Runs[0].Results[0].Locations[0].PhysicalLocation.Region; got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestSARIFNamesFilesRelativeToTheRepository(t *testing.T) {
	for _, tt := range []struct{ root, file, uri, base string }{
		{"/r", "/r/a/b.go", "a/b.go", "%SRCROOT%"},
		{"/r", "/r/a b/#ä%.go", "a%20b/%23%C3%A4%25.go", "%SRCROOT%"},
		{"/r", "/r/a:b.go", "./a:b.go", "%SRCROOT%"},
		{"/r", "/rest/a.go", "file:///rest/a.go", ""},
		{"/r/s", "/r/a b.go", "file:///r/a%20b.go", ""},
	} {
		l := sarif(t, &report.Report{Root: tt.root, Findings: []finding.Finding{{Rule: "R-1", Position: finding.Position{File: tt.file, Line: 1}, Message: "m"}}})
		if got := l.Runs[0].Results[0].Locations[0].PhysicalLocation.ArtifactLocation; got.URI != tt.uri || got.URIBaseID != tt.base {
			t.Errorf("%s from %s: got %+v, want %s", tt.file, tt.root, got, tt.uri)
		}
	}
}

func TestSARIFTellsTheAnalyzersOfARuleApart(t *testing.T) {
	l := sarif(t, &report.Report{Root: "/", Pages: pages(), Findings: []finding.Finding{
		{Analyzer: "one", Rule: "R-1", Message: "m"}, {Analyzer: "three", Rule: "R-2", Message: "m"},
	}})
	run := l.Runs[0]
	for i, want := range []struct{ id, level string }{{"R-1", "error"}, {"R-2/three", "note"}} {
		r := run.Results[i]
		rule := run.Tool.Driver.Rules[r.RuleIndex]
		if r.RuleID != want.id || rule.ID != want.id || r.Level != want.level {
			t.Errorf("got %s of the rule %s at level %s, want %s", r.RuleID, rule.ID, r.Level, want)
		}
		if !strings.Contains(rule.Help.Markdown, "`") || rule.Help.Text == "" {
			t.Errorf("%s has the help %+v", rule.ID, rule.Help)
		}
	}
}

func TestSARIFLinksToTheRelatedPlaces(t *testing.T) {
	place := finding.Position{File: "/r/a.go", Line: 1}
	l := sarif(t, &report.Report{Root: "/r", Findings: []finding.Finding{{Rule: "R-1", Position: place, Message: "m",
		Related: []finding.Related{{Position: place, Message: `map[string]\n`}}}}})
	r := l.Runs[0].Results[0]
	if r.RelatedLocations[0].ID != 1 || !strings.Contains(r.Message.Text, `[map\[string\]\\n](1)`) {
		t.Errorf("got %+v", r)
	}
}

func TestSARIFFingerprintsSurviveMovedLines(t *testing.T) {
	first := finding.Finding{Package: "m/a", Analyzer: "one", Rule: "R-1", Function: "f", Message: "m", Position: finding.Position{File: "/r/a.go", Line: 1}}
	moved := first
	moved.Position = finding.Position{File: "/r/b.go", Line: 77, Column: 3}
	prints := func(f finding.Finding) map[string]string {
		return sarif(t, &report.Report{Root: "/r", Pages: pages(), Findings: []finding.Finding{f, f}}).Runs[0].Results[1].PartialFingerprints
	}
	a, b := prints(first)["idemlint/v1"], prints(moved)["idemlint/v1"]
	if a == "" || a != b {
		t.Errorf("got %q, then %q", a, b)
	}
	if one := sarif(t, &report.Report{Root: "/r", Findings: []finding.Finding{first}}).Runs[0].Results[0].PartialFingerprints["idemlint/v1"]; one == a {
		t.Errorf("two findings of a function have the fingerprint %q", a)
	}
}

func TestSARIFFixesSayWhatTakesWhosePlace(t *testing.T) {
	root, file := write(t, "a.go", "package a\n\nvar ü = old()\n")
	edit := func(start, end int, text string) finding.Fix {
		return finding.Fix{Message: "x", Edits: []finding.Edit{{Filename: file, Start: start, End: end, New: text}}}
	}
	l := sarif(t, &report.Report{Root: root, Findings: []finding.Finding{{Rule: "R-1", Message: "m",
		Fixes: []finding.Fix{edit(20, 25, "made()"), edit(11, 11, "// "), edit(3, 99, "outside")}}}})
	fixes := l.Runs[0].Results[0].Fixes
	if len(fixes) != 2 {
		t.Fatalf("got %d fixes, want those two that lie in the file", len(fixes))
	}
	for i, want := range []region{{3, 9, 3, 14}, {3, 1, 3, 1}} {
		if got := fixes[i].ArtifactChanges[0].Replacements[0].DeletedRegion; got != want {
			t.Errorf("fix %d: got %+v, want %+v", i, got, want)
		}
	}
	if got := fixes[0].ArtifactChanges[0].Replacements[0].InsertedContent.Text; got != "made()" {
		t.Errorf("got the text %q", got)
	}
}
