package report

import (
	"bufio"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

//go:embed html.tmpl
var htmlPage string

// around is how many lines of source are shown above and below the one that a finding stands on.
const around = 2

// HTML writes one page that needs nothing else: no script, style, font or picture comes from elsewhere, and the page's
// own policy forbids it. It can be read on a phone, in the light and in the dark, and without scripts.
func HTML(w io.Writer, r *Report) error {
	page, err := template.New("report").Parse(htmlPage)
	if err != nil {
		return fmt.Errorf("reading the template of the HTML report: %w", err)
	}
	out := bufio.NewWriter(w)
	if err := page.Execute(out, r.view()); err != nil {
		return fmt.Errorf("writing the HTML report: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the HTML report: %w", err)
	}
	return nil
}

// The parts of the page, as the template takes them.
type (
	htmlView struct {
		Version  string
		Summary  string
		Problems []htmlPlace
		Rules    []htmlRule // those with findings
		Packages []htmlPackage
	}

	htmlRule struct {
		ID, Analyzer, Title, Severity, URL, Text string
		Count                                    int
	}

	htmlPackage struct {
		Path     string
		Findings []htmlFinding
	}

	htmlFinding struct {
		Number   int
		Rule     htmlRule
		Place    string
		Function string
		Message  string
		Source   []htmlLine
		Related  []htmlPlace
		Fixes    []string
	}

	htmlPlace struct{ Place, Message string }

	// An htmlLine is a line of source; Mark is the part of it that a finding is about.
	htmlLine struct {
		Number              int
		Before, Mark, After string
		Here                bool
	}
)

func (r *Report) view() htmlView {
	source := make(sources)
	v := htmlView{Version: r.Version, Summary: r.summary()}
	for _, p := range r.Problems {
		at := ""
		if p.Position.Line > 0 {
			at = Place(r.Base, p.Position)
		}
		v.Problems = append(v.Problems, htmlPlace{at, p.Message})
	}
	rule := make(map[string]*htmlRule)
	for _, p := range r.Pages {
		rule[p.Analyzer] = &htmlRule{ID: p.Rule, Analyzer: p.Analyzer, Title: p.Title, Severity: p.Severity, URL: p.URL, Text: p.Text}
	}
	at := make(map[string]int)
	for i, f := range r.Findings {
		if rule[f.Analyzer] == nil {
			p := r.page(f)
			rule[f.Analyzer] = &htmlRule{ID: p.Rule, Analyzer: p.Analyzer, Title: p.Title, Severity: p.Severity, URL: p.URL}
		}
		rule[f.Analyzer].Count++
		path := finding.ImportPath(f.Package)
		n, ok := at[path]
		if !ok {
			n = len(v.Packages)
			at[path] = n
			v.Packages = append(v.Packages, htmlPackage{Path: path})
		}
		v.Packages[n].Findings = append(v.Packages[n].Findings, r.htmlFinding(i+1, f, *rule[f.Analyzer], source))
	}
	for _, p := range r.Pages {
		if rule[p.Analyzer].Count > 0 {
			v.Rules = append(v.Rules, *rule[p.Analyzer])
		}
	}
	return v
}

// summary is the number of findings by severity.
func (r *Report) summary() string {
	if len(r.Findings) == 0 {
		return "Nothing found."
	}
	n := make(map[string]int)
	for _, f := range r.Findings {
		n[r.page(f).Severity]++
	}
	var parts []string
	for _, s := range severities {
		switch {
		case n[s] == 1:
			parts = append(parts, "1 "+s)
		case n[s] > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n[s], s))
		}
	}
	return strings.Join(parts, ", ")
}

func (r *Report) htmlFinding(number int, f finding.Finding, rule htmlRule, source sources) htmlFinding {
	h := htmlFinding{
		Number:   number,
		Rule:     rule,
		Place:    Place(r.Base, f.Position),
		Function: f.Function,
		Message:  strings.TrimPrefix(f.Message, f.Rule+": "),
		Source:   source.excerpt(f),
	}
	for _, rel := range f.Related {
		h.Related = append(h.Related, htmlPlace{Place(r.Base, rel.Position), rel.Message})
	}
	for _, fix := range f.Fixes {
		h.Fixes = append(h.Fixes, fix.Message)
	}
	return h
}

// excerpt is the line that a finding stands on, with those around it.
func (s sources) excerpt(f finding.Finding) []htmlLine {
	if _, ok := s.line(f.Position); !ok {
		return nil
	}
	var lines []htmlLine
	for n := max(1, f.Position.Line-around); n <= f.Position.Line+around; n++ {
		line, ok := s.line(finding.Position{File: f.Position.File, Line: n})
		if !ok {
			break
		}
		h := htmlLine{Number: n, Before: line, Here: n == f.Position.Line}
		if start := f.Position.Column - 1; h.Here && start >= 0 && start < len(line) {
			end := start
			if ends(f) {
				end = len(line)
				if f.End.Line == n {
					end = min(f.End.Column-1, len(line))
				}
			}
			h.Before, h.Mark, h.After = line[:start], line[start:end], line[end:]
		}
		lines = append(lines, h)
	}
	return lines
}
