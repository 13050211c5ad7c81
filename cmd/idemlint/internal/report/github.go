package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

// annotationsPerStep is how many annotations of each type GitHub takes of one step of a job: 10 errors, 10 warnings and
// 10 notices (actions/toolkit, docs/problem-matchers.md, as of November 2026). A job shows 50 in all; one step cannot
// use these up.
const annotationsPerStep = 10

// annotations are the types by severity.
var annotations = map[string]string{failure: "error", warning: "warning", note: "notice"}

// GitHub writes findings as workflow commands, which GitHub Actions shows as annotations on the lines of a pull
// request. The worst come first. Those beyond GitHub's limits, which it would drop without a word, are listed as plain
// lines of the log, and their number is said at the end.
func GitHub(w io.Writer, r *Report) error {
	out := bufio.NewWriter(w)
	source := make(sources)
	used := make(map[string]int)
	var left []finding.Finding
	for _, f := range r.bySeverity() {
		kind := annotations[r.page(f).Severity]
		if used[kind]++; used[kind] > annotationsPerStep {
			left = append(left, f)
			continue
		}
		fmt.Fprintf(out, "::%s %s::%s\n", kind, r.properties(f, source), commandData(r.annotation(f)))
	}
	if len(left) > 0 {
		noun := "findings have"
		if len(left) == 1 {
			noun = "finding has"
		}
		fmt.Fprintf(out, "::group::%d more %s no annotation\n", len(left), noun)
		for _, f := range left {
			line := fmt.Sprintf("%s: %s", Place(r.Base, f.Position), f.Message)
			fmt.Fprintln(out, plainLine(line))
		}
		fmt.Fprintln(out, "::endgroup::")
		fmt.Fprintf(out, "%d more %s no annotation, since GitHub takes %d of each type of a step; they are listed above.\n",
			len(left), noun, annotationsPerStep)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the annotations: %w", err)
	}
	return nil
}

// properties say where an annotation stands, and its title.
func (r *Report) properties(f finding.Finding, source sources) string {
	file := f.Position.File
	if rel, ok := below(r.Root, file); ok {
		file = rel
	}
	props := []string{"file=" + commandProperty(file)}
	if f.Position.Line > 0 {
		props = append(props, fmt.Sprintf("line=%d", f.Position.Line))
	}
	if col := source.column(f.Position); col > 0 {
		// GitHub takes columns only where begin and end are on one line.
		if end := source.column(f.End); ends(f) && end > 0 {
			props = append(props, fmt.Sprintf("endLine=%d", f.End.Line))
			if f.End.Line == f.Position.Line {
				props = append(props, fmt.Sprintf("col=%d,endColumn=%d", col, end))
			}
		} else {
			props = append(props, fmt.Sprintf("col=%d", col))
		}
	}
	title := f.Rule
	if f.Analyzer != f.Rule {
		title += " (" + f.Analyzer + ")"
	}
	return strings.Join(append(props, "title="+commandProperty(title)), ",")
}

// annotation is the text of an annotation: the message, the related places, the rule's page.
func (r *Report) annotation(f finding.Finding) string {
	lines := []string{strings.TrimPrefix(f.Message, f.Rule+": ")}
	for _, rel := range f.Related {
		at := rel.Position
		if path, ok := below(r.Root, at.File); ok {
			at.File = path
		}
		lines = append(lines, at.String()+": "+rel.Message)
	}
	if f.URL != "" {
		lines = append(lines, f.URL)
	}
	return strings.Join(lines, "\n")
}

// The escapes of workflow commands, as the runner takes them back: of what follows the second "::", and of what stands
// between the commas before it.
var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func commandData(s string) string     { return dataEscapes.Replace(s) }
func commandProperty(s string) string { return propertyEscapes.Replace(s) }

// plainLine is a line of the log that the runner takes for no command: it looks for "::" where a line begins, and for
// "##[" anywhere.
func plainLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = strings.ReplaceAll(s, "##[", "## [")
	if strings.HasPrefix(s, "::") {
		s = "./" + s
	}
	return s
}
