package main

import (
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
		URL:       analyzers.URL,
		Seed:      analyzers.Seed,
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

// settle takes the analyzers' findings over into the command's.
func settle(payloads []string) ([]finding.Finding, error) {
	settled, err := analyzers.Settle(payloads)
	if err != nil {
		return nil, err
	}
	findings := make([]finding.Finding, 0, len(settled))
	for _, s := range settled {
		f := finding.Finding{
			Analyzer: s.Analyzer,
			Rule:     s.Rule,
			Position: finding.ParsePosition(s.Posn),
			End:      finding.ParsePosition(s.End),
			Message:  s.Message,
			URL:      s.URL,
		}
		for _, r := range s.Related {
			at := finding.ParsePosition(r.Posn)
			f.Related = append(f.Related, finding.Related{Position: at, End: at, Message: r.Message})
		}
		findings = append(findings, f)
	}
	return findings, nil
}
