package report_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/report"
)

func page(t *testing.T, r *report.Report) string {
	t.Helper()
	var out strings.Builder
	if err := report.HTML(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestThePageShowsAFindingWithAllThatBelongsToIt(t *testing.T) {
	root, file := write(t, "a.go", "package a\n\nfunc f() {\n\tx := bad(1)\n}\n")
	text := page(t, &report.Report{Base: root, Pages: pages(), Version: "v9", Findings: []finding.Finding{{
		Package: "m/a [m/a.test]", Analyzer: "one", Rule: "R-1", Function: "f", Message: "R-1: it is bad", URL: "https://example.com/one",
		Position: finding.Position{File: file, Line: 4, Column: 7}, End: finding.Position{File: file, Line: 4, Column: 13},
		Related: []finding.Related{{Position: finding.Position{File: file, Line: 1, Column: 1}, Message: "there"}},
		Fixes:   []finding.Fix{{Message: "make it good"}},
	}}})
	for _, want := range []string{
		"<title>idemlint: 1 error</title>", "<h2>m/a</h2>", ">R-1</span>", "a.go:4:7", "in f<", ">it is bad<", "\tx := <mark>bad(1)</mark>",
		"<i>2</i>", "a.go:1:1: there", "can make it good", `href="https://example.com/one"`, "work is done twice", "# one", "idemlint v9",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
}

func TestSourceAndMessagesAreNoMarkup(t *testing.T) {
	root, file := write(t, "a.go", "package a // <script>alert(1)</script>\n")
	text := page(t, &report.Report{Base: root, Pages: pages(), Problems: []report.Problem{{Message: "<img src=x>"}}, Findings: []finding.Finding{{
		Package: "<b>", Analyzer: "one", Rule: "R-1", Message: "<i onload=x>", URL: "javascript:alert(1)",
		Position: finding.Position{File: file, Line: 1, Column: 1},
	}}})
	for _, bad := range []string{"<script>alert", "<img", "<b>", "<i onload", "javascript:"} {
		if strings.Contains(text, bad) {
			t.Errorf("has %q:\n%s", bad, text)
		}
	}
}

func TestThePageNeedsNothingElse(t *testing.T) {
	root, file := write(t, "a.go", "package a\n")
	text := page(t, &report.Report{Base: root, Pages: pages(), Findings: []finding.Finding{{Analyzer: "one", Rule: "R-1", Message: "m",
		URL: "https://example.com/one", Position: finding.Position{File: file, Line: 1, Column: 1}}}})
	for _, loads := range regexp.MustCompile(`(?i)<(?:link|img|iframe|object|embed|base|audio|video|source)\b|\bsrc\s*=|@import|url\(|\bfetch\(|XMLHttpRequest`).FindAllString(text, -1) {
		t.Errorf("loads something: %s", loads)
	}
	if !strings.Contains(text, `content="default-src 'none';`) {
		t.Error("the page's policy lets it load what it likes")
	}
}

func TestThePageSaysWhenNothingWasFoundAndWhenNotAllWasAnalysed(t *testing.T) {
	text := page(t, &report.Report{Pages: pages(), Problems: []report.Problem{{Message: "package m/b does not build"}}})
	for _, want := range []string{"Nothing found.", "Not everything was analysed.", "package m/b does not build"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if strings.Contains(text, "<form") || strings.Contains(text, "<details") {
		t.Error("offers to filter nothing, or explains rules that found nothing")
	}
}
