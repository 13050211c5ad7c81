package report_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/report"
)

func github(t *testing.T, r *report.Report) string {
	t.Helper()
	var out strings.Builder
	if err := report.GitHub(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A command is a workflow command as the runner reads one.
type command struct {
	kind  string
	props map[string]string
	data  string
}

var commandLine = regexp.MustCompile(`^::([a-z]+)(?: ([^:]*))?::(.*)$`)

// commands reads the workflow commands of a log, and returns its other lines.
func commands(text string) (all []command, plain []string) {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		m := commandLine.FindStringSubmatch(line)
		if m == nil {
			plain = append(plain, line)
			continue
		}
		data := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%")
		property := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
		c := command{m[1], make(map[string]string), data.Replace(m[3])}
		for _, p := range strings.Split(m[2], ",") {
			key, value, _ := strings.Cut(p, "=")
			c.props[key] = property.Replace(value)
		}
		all = append(all, c)
	}
	return all, plain
}

func TestAnAnnotationHasItsPlaceTitleAndText(t *testing.T) {
	root, file := write(t, "a,b: 100%/x.go", "package a\n\nvar ü = f()\n")
	all, plain := commands(github(t, &report.Report{Root: root, Pages: pages(), Findings: []finding.Finding{{
		Analyzer: "two", Rule: "R-2", Message: "R-2: 50% of\r\nthis, or :: that", URL: "https://example.com/two",
		Position: finding.Position{File: file, Line: 3, Column: 10}, End: finding.Position{File: file, Line: 3, Column: 13},
		Related: []finding.Related{{Position: finding.Position{File: file, Line: 1, Column: 1}, Message: "there"}},
	}}}))
	if len(all) != 1 || len(plain) != 0 {
		t.Fatalf("got %+v and %q", all, plain)
	}
	got := all[0]
	for key, want := range map[string]string{"file": "a,b: 100%/x.go", "line": "3", "endLine": "3", "col": "9", "endColumn": "12", "title": "R-2 (two)"} {
		if got.props[key] != want {
			t.Errorf("%s is %q, want %q", key, got.props[key], want)
		}
	}
	want := "50% of\r\nthis, or :: that\na,b: 100%/x.go:1:1: there\nhttps://example.com/two"
	if got.kind != "warning" || got.data != want {
		t.Errorf("got %s %q, want warning %q", got.kind, got.data, want)
	}
}

// many are findings of the three severities, the lightest first.
func many(notes, warnings, errors int) []finding.Finding {
	var all []finding.Finding
	for _, g := range []struct {
		analyzer string
		n        int
	}{{"three", notes}, {"two", warnings}, {"one", errors}} {
		for i := range g.n {
			all = append(all, finding.Finding{Analyzer: g.analyzer, Rule: "R", Position: finding.Position{File: "/r/a.go", Line: i + 1},
				Message: fmt.Sprintf("%s %d", g.analyzer, i+1)})
		}
	}
	return all
}

func TestTheWorstComeFirstAndNoTypeHasMoreThanGitHubTakes(t *testing.T) {
	all, _ := commands(github(t, &report.Report{Root: "/r", Pages: pages(), Findings: many(3, 12, 14)}))
	var kinds strings.Builder
	for _, c := range all {
		if c.kind != "group" && c.kind != "endgroup" {
			kinds.WriteString(c.kind[:1])
		}
	}
	if want := strings.Repeat("e", 10) + strings.Repeat("w", 10) + "nnn"; kinds.String() != want {
		t.Errorf("got annotations of the types %s, want %s", kinds.String(), want)
	}
}

func TestWhatHasNoAnnotationIsListedAndCounted(t *testing.T) {
	text := github(t, &report.Report{Root: "/r", Base: "/r", Pages: pages(), Findings: many(0, 11, 12)})
	for _, want := range []string{"\na.go:11: one 11\n", "\na.go:12: one 12\n", "\na.go:11: two 11\n", "\n3 more findings have no annotation"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if text := github(t, &report.Report{Root: "/r", Pages: pages(), Findings: many(10, 10, 10)}); strings.Contains(text, "more") {
		t.Errorf("something is left out of what fits:\n%s", text)
	}
}

func TestAListedFindingIsNoCommand(t *testing.T) {
	findings := many(0, 0, 10)
	findings = append(findings, finding.Finding{Analyzer: "one", Position: finding.Position{File: "::error::x"}, Message: "##[add-path]\n::add-mask::x"})
	all, plain := commands(github(t, &report.Report{Root: "/r", Pages: pages(), Findings: findings}))
	if len(all) != 12 { // ten annotations, and the begin and end of the group
		t.Errorf("got the commands %+v", all)
	}
	if text := strings.Join(plain, "\n"); strings.Contains(text, "##[") {
		t.Errorf("got the lines:\n%s", text)
	}
}
