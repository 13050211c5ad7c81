package moneykey

import (
	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

const name = "moneykey"

// Analyzer is the check of R-KFK-IDEM-4.
var Analyzer = &analysis.Analyzer{
	Name:     name,
	Doc:      "report money calls without an idempotency key derived from the event (R-KFK-IDEM-4)",
	URL:      rule.URL(name),
	Flags:    flow.Flags(),
	Requires: []*analysis.Analyzer{flow.Analyzer},
	Run:      run,
}

func run(pass *analysis.Pass) (any, error) {
	res := pass.ResultOf[flow.Analyzer].(*flow.Result)
	if ok, err := res.Ready(); !ok {
		return nil, err
	}
	res.Report(pass, Find(res.Prog, res.Money()))
	return nil, nil
}

// Find words the money calls whose key is not right, one finding a place.
func Find(_ *flow.Program, calls []*flow.MoneyCall) []rule.Finding {
	out := make([]rule.Finding, 0, len(calls))
	for _, c := range calls {
		f := rule.Finding{
			Rule: rule.R4, Analyzer: name, Posn: c.Pos.String(), Home: c.Home.String(),
			Message: rule.R4 + ": " + c.Desc + ", reached by " + c.Handler + ", " + fault(c),
		}
		if c.Call != c.Pos {
			f.Related = append(f.Related, rule.Related{Posn: c.Call.String(), Message: "the money call: " + c.Desc})
		}
		if c.MadeAt.IsValid() {
			f.Related = append(f.Related, rule.Related{Posn: c.MadeAt.String(), Message: "the key is made here"})
		}
		if c.Other.IsValid() {
			f.Related = append(f.Related, rule.Related{Posn: c.Other.String(), Message: "the call that has the same key"})
		}
		for _, s := range c.Way {
			if s.Pos != c.Pos && s.Pos != c.Call {
				f.Related = append(f.Related, rule.Related{Posn: s.Pos.String(), Message: "on the way: the call of " + s.Name})
			}
		}
		out = append(out, f)
	}
	return out
}

// fault says what is wrong with the key, and what to do.
func fault(c *flow.MoneyCall) string {
	switch c.Fault {
	case flow.KeyFresh:
		maker := "a key made anew"
		if c.Maker != "" {
			maker = "a key made by " + c.Maker
		}
		return "gets " + maker + " on every attempt, so the provider takes each repeat for another call; derive the key from the event's id"
	case flow.KeyAttempt:
		return "gets a key that holds the number of the attempt, so the provider takes each repeat for another call; derive the key from the event's id alone"
	case flow.KeyConstant:
		return "gets a constant key, so the provider takes every event for a repeat of the first; derive the key from the event's id"
	case flow.KeyShared:
		return "gets the same key as another call for the same event, so the provider takes it for a repeat of that one; add to the event's id what tells the two calls apart"
	case flow.KeyEmpty:
		return "gets an empty idempotency key" + onPath(c) + "; derive the key from the event's id"
	}
	out := "has no idempotency key" + onPath(c)
	if c.Outside != "" {
		out += " (" + c.Outside + " comes from outside the module and is taken to add none)"
	}
	return out + ", so a redelivery moves the money again; set one that is derived from the event's id"
}

func onPath(c *flow.MoneyCall) string {
	if c.Partly {
		return " on one of the paths to it"
	}
	return ""
}
