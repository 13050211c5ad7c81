package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

const (
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sarifVersion = "2.1.0"
	homepage     = "https://github.com/idemlint/idemlint"

	// sourceRoot is what relative URIs are relative to, by the name that GitHub and others use for it.
	sourceRoot = "%SRCROOT%"

	// fingerprintName is ours, with a version, as SARIF asks for (3.27.17). GitHub reads primaryLocationLineHash only,
	// which its upload action makes from the source; with another hash under that name it would warn at each finding.
	fingerprintName = "idemlint/v1"
)

// SARIF writes findings in the Static Analysis Results Interchange Format, version 2.1.0. Section numbers in this file
// are those of that standard.
func SARIF(w io.Writer, r *Report) error {
	s := sarif{Report: r, source: make(sources), ids: sarifIDs(r.Pages)}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(sarifLog{Schema: sarifSchema, Version: sarifVersion, Runs: []sarifRun{s.run()}})
	if err != nil {
		return fmt.Errorf("writing SARIF: %w", err)
	}
	return nil
}

// sarif makes the parts of a log.
type sarif struct {
	*Report
	source sources
	ids    map[string]string // by analyzer
}

// sarifIDs are the ids of the analyzers' rules: the rule's, and where several analyzers share one, with the analyzer's
// name behind it, as SARIF tells the parts of a rule apart (3.27.5).
func sarifIDs(pages []rules.Page) map[string]string {
	shared := make(map[string]int)
	for _, p := range pages {
		shared[p.Rule]++
	}
	ids := make(map[string]string)
	for _, p := range pages {
		ids[p.Analyzer] = p.Rule
		if shared[p.Rule] > 1 {
			ids[p.Analyzer] += "/" + p.Analyzer
		}
	}
	return ids
}

func (s *sarif) run() sarifRun {
	run := sarifRun{
		Tool:        sarifTool{Driver: sarifDriver{Name: "idemlint", Version: s.Version, InformationURI: homepage, Rules: s.rules()}},
		Invocations: []sarifInvocation{{Successful: len(s.Problems) == 0}},
		ColumnKind:  "unicodeCodePoints",
		Bases:       map[string]sarifBase{sourceRoot: {Description: sarifMessage{Text: "The root of the repository."}}},
		Results:     []sarifResult{},
	}
	for _, p := range s.Problems {
		n := sarifNotification{Level: failure, Message: sarifMessage{Text: p.Message}}
		if p.Position.Line > 0 {
			n.Locations = []sarifLocation{s.location(p.Position, p.Position)}
		}
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, n)
	}
	prints := finding.Fingerprints(s.Findings)
	for i, f := range s.Findings {
		run.Results = append(run.Results, s.result(f, prints[i]))
	}
	return run
}

func (s *sarif) rules() []sarifRule {
	all := []sarifRule{}
	for _, p := range s.Pages {
		all = append(all, sarifRule{
			ID:         s.ids[p.Analyzer],
			Name:       p.Analyzer,
			Short:      sarifMessage{Text: p.Title},
			Full:       sarifMessage{Text: p.Reports},
			Help:       sarifMessage{Text: p.Text, Markdown: p.Markdown},
			HelpURI:    p.URL,
			Default:    sarifDefault{Level: p.Severity},
			Properties: sarifProperties{Tags: []string{"correctness", "kafka"}, Precision: "high"},
		})
	}
	return all
}

func (s *sarif) result(f finding.Finding, print string) sarifResult {
	page := s.page(f)
	res := sarifResult{
		RuleID:       page.Rule,
		Level:        page.Severity,
		Message:      sarifMessage{Text: strings.TrimPrefix(f.Message, f.Rule+": ")},
		Locations:    []sarifLocation{s.location(f.Position, f.End)},
		Fingerprints: map[string]string{fingerprintName: print},
	}
	for i, p := range s.Pages {
		if p.Analyzer == f.Analyzer {
			res.RuleID, res.RuleIndex = s.ids[p.Analyzer], &i
		}
	}
	if f.Function != "" {
		name := f.Function
		if path := finding.ImportPath(f.Package); path != "" {
			name = path + "." + name
		}
		res.Locations[0].Logical = []sarifLogical{{FullyQualifiedName: name, Kind: "function"}}
	}
	for i, rel := range f.Related {
		loc := s.location(rel.Position, rel.End)
		id := i + 1
		loc.ID, loc.Message = &id, &sarifMessage{Text: rel.Message}
		res.Related = append(res.Related, loc)
		// GitHub shows a related place only where the message links to it (3.11.6).
		res.Message.Text += fmt.Sprintf("\n[%s](%d)", linkEscapes.Replace(rel.Message), id)
	}
	for _, fix := range f.Fixes {
		if converted, ok := s.fix(fix); ok {
			res.Fixes = append(res.Fixes, converted)
		}
	}
	return res
}

var linkEscapes = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`)

// location is a place, up to its end where that is known.
func (s *sarif) location(p, end finding.Position) sarifLocation {
	loc := sarifLocation{Physical: sarifPhysical{Artifact: s.artifact(p.File)}}
	if p.Line > 0 {
		loc.Physical.Region = &sarifRegion{StartLine: p.Line, StartColumn: s.source.column(p)}
		if end.File == p.File && p.Compare(end) < 0 && loc.Physical.Region.StartColumn > 0 {
			if col := s.source.column(end); col > 0 {
				loc.Physical.Region.EndLine, loc.Physical.Region.EndColumn = end.Line, col
			}
		}
	}
	return loc
}

func (s *sarif) artifact(file string) sarifArtifact {
	if rel, ok := below(s.Root, file); ok {
		return sarifArtifact{URI: (&url.URL{Path: rel}).String(), Base: sourceRoot}
	}
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive's letter
	}
	return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: path}).String()}
}

// fix is a suggested change; ok is false when the files are no longer as they were.
func (s *sarif) fix(fix finding.Fix) (converted sarifFix, ok bool) {
	converted.Description = sarifMessage{Text: fix.Message}
	for _, e := range fix.Edits {
		from, to := s.source.at(e.Filename, e.Start), s.source.at(e.Filename, e.End)
		if from.Line == 0 || to.Line == 0 || s.source.column(from) == 0 || s.source.column(to) == 0 {
			return converted, false
		}
		change := sarifReplacement{
			Deleted:  sarifRegion{StartLine: from.Line, StartColumn: s.source.column(from), EndLine: to.Line, EndColumn: s.source.column(to)},
			Inserted: &sarifContent{Text: e.New},
		}
		last := len(converted.Changes) - 1
		if artifact := s.artifact(e.Filename); last < 0 || converted.Changes[last].Artifact != artifact {
			converted.Changes = append(converted.Changes, sarifChange{Artifact: artifact})
			last++
		}
		converted.Changes[last].Replacements = append(converted.Changes[last].Replacements, change)
	}
	return converted, len(converted.Changes) > 0
}
