// Package directive holds the analyzer named idemlint: it reports faulty directives, holds the flags of the engine,
// and, when asked, hands out the package's summary for the stand-alone command.
package directive

import (
	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

// New returns the analyzer. It runs after the rules, so that it knows which directives were of use.
func New(rules []*analysis.Analyzer) *analysis.Analyzer {
	a := &analysis.Analyzer{
		Name:     rule.Directives,
		Doc:      "report faulty and useless idemlint directives",
		URL:      rule.URL(rule.Directives),
		Requires: append([]*analysis.Analyzer{flow.Analyzer}, rules...),
		Run:      run,
	}
	a.Flags = flow.Flags()
	a.Flags.BoolVar(&flow.Opts.Index, "index", false, "hand out the package's summary as a diagnostic (for the stand-alone command)")
	return a
}

func run(pass *analysis.Pass) (any, error) {
	res := pass.ResultOf[flow.Analyzer].(*flow.Result)
	if res.Skipped() || res.Silent() && !flow.Opts.Index {
		return nil, nil
	}
	for _, d := range res.Directives() {
		at := res.Pos(flow.Pos{File: d.File, Line: int32(d.Line), Col: int32(d.Col)})
		if !at.IsValid() {
			continue
		}
		msg := d.Fault()
		if msg == "" && !d.Used && !flow.Opts.Index && !mayMatter(d, res) {
			msg = "this directive suppresses nothing: take it away"
		}
		if msg != "" && !res.Silent() {
			pass.Report(analysis.Diagnostic{Pos: at, Category: rule.Directives, Message: "idemlint: " + msg})
		}
	}
	if flow.Opts.Index {
		payload, err := res.Payload()
		if err != nil {
			return nil, err
		}
		if len(pass.Files) > 0 && payload != "" {
			pass.Report(analysis.Diagnostic{Pos: pass.Files[0].Package, Category: "index", Message: payload})
		}
	}
	return nil, nil
}

// mayMatter reports whether a directive that suppresses nothing here may suppress what only the whole module shows: what
// a handler does by way of an interface; at a call, also where the id goes that is made there, and how the reader was
// made that is asked there; and for SQL, who cleans its table up.
func mayMatter(d *rule.Directive, res *flow.Result) bool {
	switch d.Rule {
	case rule.X1, rule.X2, rule.R4:
		return res.Unsettled()
	case rule.R1, rule.R3:
		return res.CallAt(d)
	}
	return true
}
