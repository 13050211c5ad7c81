package ackorder

import (
	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

const name = "ackorder"

// Analyzer is the check of the second half of R-KFK-IDEM-3.
var Analyzer = &analysis.Analyzer{
	Name:     name,
	Doc:      "report offsets that are committed before the work they stand for (R-KFK-IDEM-3)",
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
	res.Report(pass, res.Closed(Find))
	return nil, nil
}

// Find words the acknowledgements that come too early, one finding a place.
func Find(p *flow.Program, vs []*flow.Verdict) []rule.Finding {
	var out []rule.Finding
	seen := make(map[flow.Pos]bool)
	for _, o := range p.Orders(vs) {
		for _, a := range o.Acks {
			if seen[a.Pos] {
				continue
			}
			seen[a.Pos] = true
			out = append(out, word(a))
		}
	}
	return out
}

func word(a *flow.AckFault) rule.Finding {
	f := rule.Finding{Rule: rule.R3, Analyzer: name, Posn: a.Pos.String(), Home: a.Home.String()}
	effect := a.Effect.Desc
	if n := len(a.Way); n > 0 {
		effect += " (in " + a.Way[n-1].Name + ")"
	}
	head := rule.R3 + ": "
	switch {
	case a.Kind == flow.AckAuto:
		f.Message = head + a.Ack + " on a reader with a GroupID commits the message before " + effect +
			" is done: a crash in between loses it; use FetchMessage, and CommitMessages after the work"
	case a.Held && a.Ack == "":
		f.Message = head + effect + " is done later, for what " + a.Handler +
			" has taken up: the message is acknowledged before, and a crash in between loses it; do it before returning"
	case a.Held:
		f.Message = head + a.Ack + " comes when the message is only held in memory for " + effect +
			": a crash in between loses it; acknowledge after that"
	case a.Kind == flow.AckAsync && a.Ack == "":
		f.Message = head + effect + " runs in a goroutine that " + a.Handler +
			" does not wait for: the message is acknowledged when it returns; wait for it, and return its error"
	case a.Kind == flow.AckAsync:
		f.Message = head + a.Ack + " does not wait for the goroutine of " + effect + ": a crash in between loses it; wait for it before"
	case a.Kind == flow.AckFailed && a.Ack == "":
		f.Message = head + a.Eats + " returns no error when " + effect +
			" has failed, so the message is acknowledged and lost; return the error, or send the message to a retry or dead-letter topic"
	case a.Kind == flow.AckFailed:
		f.Message = head + a.Ack + " is reached when " + effect +
			" has failed, so the message is lost; do not acknowledge it, or send it to a retry or dead-letter topic"
	case a.Kind == flow.AckOpenTx:
		f.Message = head + a.Ack + " comes before the commit of the transaction of " + effect + ": when that fails, the message is lost; acknowledge after it"
	default:
		f.Message = head + a.Ack + " comes before " + effect + ": a crash in between loses the message; acknowledge after the work is committed"
	}
	if a.Effect.EffectPos() != a.Pos {
		f.Related = append(f.Related, rule.Related{Posn: a.Effect.EffectPos().String(), Message: "the effect: " + a.Effect.Desc})
	}
	for _, s := range a.Way {
		f.Related = append(f.Related, rule.Related{Posn: s.Pos.String(), Message: "on the way: the call of " + s.Name})
	}
	return f
}
