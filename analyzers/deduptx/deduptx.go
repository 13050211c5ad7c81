package deduptx

import (
	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

const name = "deduptx"

// Analyzer is the check of the first half of R-KFK-IDEM-3.
var Analyzer = &analysis.Analyzer{
	Name:     name,
	Doc:      "report processed-event marks that are not in the transaction of the business write (R-KFK-IDEM-3)",
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

// Find words the marks and business writes that are not in one transaction, one finding a statement outside.
func Find(p *flow.Program, vs []*flow.Verdict) []rule.Finding {
	var out []rule.Finding
	seen := make(map[flow.Pos]bool)
	for _, o := range p.Orders(vs) {
		for _, x := range o.Outside {
			if seen[x.Pos] {
				continue
			}
			seen[x.Pos] = true
			out = append(out, word(x))
		}
	}
	return out
}

func word(x *flow.Outside) rule.Finding {
	f := rule.Finding{Rule: rule.R3, Analyzer: name, Posn: x.Pos.String(), Home: x.Home.String()}
	mark := rule.Related{Posn: x.MarkPos.String(), Message: "the mark: " + x.Mark}
	if x.Kind == flow.MarkDropped {
		f.Message = rule.R3 + ": when the mark " + x.Mark + " fails, " + x.Handler +
			" goes on as if the event was a duplicate, and the event is lost; return the error"
		return f
	}
	write := rule.Related{Posn: x.Write.EffectPos().String(), Message: "the business write: " + x.Write.Desc}
	head := rule.R3 + ": "
	switch x.Kind {
	case flow.MarkOutside:
		f.Message = head + "the mark " + x.Mark + " is committed by itself: when " + x.Write.Desc +
			" fails after it, the event counts as processed; do both in one transaction"
		f.Related = []rule.Related{write}
	case flow.MarkElsewhere:
		f.Message = head + "the mark " + x.Mark + " cannot be in the transaction of " + x.Write.Desc +
			": a crash between them loses the event or does it twice; keep the mark in the database of the write, in its transaction"
		f.Related = []rule.Related{write}
	case flow.WriteOtherTx:
		f.Message = head + x.Write.Desc + " is in another transaction than the mark " + x.Mark +
			": one can be committed without the other; do both in one transaction"
		f.Related = []rule.Related{mark}
	case flow.MarkCommitted:
		f.Message = head + x.Write.Desc + " comes after the commit of the mark " + x.Mark +
			": when it fails, the event counts as processed; do it before the commit, in the same transaction"
		f.Related = []rule.Related{mark}
	default:
		f.Message = head + x.Write.Desc + " is outside the transaction of the mark " + x.Mark +
			": it stays when the transaction is rolled back, and the next delivery repeats it; do it in the transaction"
		f.Related = []rule.Related{mark}
	}
	return f
}
