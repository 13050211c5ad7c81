package main

import (
	"fmt"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// ruleSet is the analyzers as the command sees them.
func ruleSet() rules.Set {
	set := rules.Set{
		Analyzers: analyzers.All(),
		Settle:    settle,
		SQL:       sql,
		Handlers:  analyzers.Inventory,
		URL:       analyzers.URL,
		Explain:   analyzers.Explain,
		Pages:     pages,
		Seed:      analyzers.Seed,
		Own:       analyzers.OwnOptions,
		Named:     analyzers.Named,
		Canonical: analyzers.Canonical,
		Mentioned: analyzers.Mentioned,
	}
	for _, r := range []rules.Rule{
		{ID: "R-KFK-IDEM-X1", Analyzer: "dedupcheck"},
		{ID: "R-KFK-IDEM-X2", Analyzer: "offsetkey"},
		{ID: "R-KFK-IDEM-4", Analyzer: "moneykey"},
		{ID: "R-KFK-IDEM-1", Analyzer: "uuidv7"},
		{ID: "R-KFK-IDEM-1", Analyzer: "payloadid"},
		{ID: "R-KFK-IDEM-2", Analyzer: "dedupsql"},
		{ID: "R-KFK-IDEM-3", Analyzer: "deduptx"},
		{ID: "R-KFK-IDEM-3", Analyzer: "ackorder"},
	} {
		if slices.ContainsFunc(set.Analyzers, func(a *analysis.Analyzer) bool { return a.Name == r.Analyzer }) {
			set.Rules = append(set.Rules, r)
		}
	}
	return set
}

// pages are the rules' pages as reports take them.
func pages() ([]rules.Page, error) {
	all, err := analyzers.Pages()
	if err != nil {
		return nil, err
	}
	out := make([]rules.Page, 0, len(all))
	for _, p := range all {
		out = append(out, rules.Page(p))
	}
	return out, nil
}

// settle takes the analyzers' findings over into the command's.
func settle(payloads []string, m rules.Module) ([]finding.Finding, error) {
	settled, err := analyzers.Settle(payloads, analyzers.Module(m))
	if err != nil {
		return nil, err
	}
	return convertAll(settled)
}

// sql takes the findings in .sql files over.
func sql(m rules.Module) ([]finding.Finding, error) {
	found, err := analyzers.SQL(analyzers.Module(m))
	if err != nil {
		return nil, err
	}
	return convertAll(found)
}

func convertAll(settled []analyzers.Finding) ([]finding.Finding, error) {
	var offsets finding.Offsets
	findings := make([]finding.Finding, 0, len(settled))
	for _, s := range settled {
		f, err := convert(s, &offsets)
		if err != nil {
			return nil, err
		}
		findings = append(findings, f)
	}
	return findings, nil
}

func convert(s analyzers.Finding, offsets *finding.Offsets) (finding.Finding, error) {
	f := finding.Finding{
		Analyzer: s.Analyzer,
		Rule:     s.Rule,
		Position: finding.ParsePosition(s.Posn),
		End:      finding.ParsePosition(s.End),
		Message:  s.Message,
	}
	for _, r := range s.Related {
		at := finding.ParsePosition(r.Posn)
		f.Related = append(f.Related, finding.Related{Position: at, End: at, Message: r.Message})
	}
	for _, fix := range s.Fixes {
		converted := finding.Fix{Message: fix.Message}
		for _, e := range fix.Edits {
			edit, err := convertEdit(finding.ParsePosition(e.Posn), finding.ParsePosition(e.End), e.New, offsets)
			if err != nil {
				return f, fmt.Errorf("fix %q: %w", fix.Message, err)
			}
			converted.Edits = append(converted.Edits, edit)
		}
		f.Fixes = append(f.Fixes, converted)
	}
	return f, nil
}

func convertEdit(start, end finding.Position, text string, offsets *finding.Offsets) (finding.Edit, error) {
	from, err := offsets.Of(start)
	if err != nil {
		return finding.Edit{}, err
	}
	to, err := offsets.Of(end)
	if err != nil {
		return finding.Edit{}, err
	}
	return finding.Edit{Filename: start.File, Start: from, End: to, New: text}, nil
}
