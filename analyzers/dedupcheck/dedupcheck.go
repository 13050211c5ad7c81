package dedupcheck

import (
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

const name = "dedupcheck"

// Analyzer is the check of R-KFK-IDEM-X1.
var Analyzer = &analysis.Analyzer{
	Name:     name,
	Doc:      "report Kafka handlers that reach an effect with no processed-event check before it (R-KFK-IDEM-X1)",
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

// Find words what running the handlers has shown.
func Find(_ *flow.Program, vs []*flow.Verdict) []rule.Finding {
	var out []rule.Finding
	for _, v := range vs {
		for _, u := range v.Unguarded {
			out = append(out, word(u))
		}
	}
	return out
}

func word(u *flow.Unguarded) rule.Finding {
	f := rule.Finding{Rule: rule.X1, Analyzer: name, Posn: u.Pos.String(), Home: u.Home.String()}
	desc, at := u.CheckDesc()
	var b strings.Builder
	b.WriteString(rule.X1 + ": " + u.Handler + " does its work again when a message is delivered again: ")
	effect := u.Effect.Desc
	if n := len(u.Way); n > 0 {
		effect += " (in " + u.Way[n-1].Name + ")"
	}
	switch u.Reason {
	case flow.LateCheck:
		b.WriteString(effect + " comes before the check " + desc + "; check first, or do both in one transaction that a repeat rolls back")
	case flow.Ignored:
		b.WriteString(effect + " is reached whatever the check " + desc + " answers; stop when the event was there")
	case flow.FailsOpen:
		b.WriteString(effect + " is reached when the check " + desc + " fails, since its error is dropped; return the error")
	case flow.Forgets:
		b.WriteString(effect + " is guarded by memory only, which does not survive a restart and is not shared with other instances; keep the ids in the database")
	default:
		b.WriteString(effect + " is reached with no processed-event check; " + remedy(u.Effect))
	}
	f.Message = b.String()
	f.Related = append(f.Related, rule.Related{Posn: u.Effect.EffectPos().String(), Message: "the effect: " + u.Effect.Desc})
	if at.IsValid() {
		f.Related = append(f.Related, rule.Related{Posn: at.String(), Message: "the check: " + desc})
	}
	for _, s := range u.From {
		f.Related = append(f.Related, rule.Related{Posn: s.Pos.String(), Message: s.Name + " hands the message on"})
	}
	for _, s := range u.Way {
		f.Related = append(f.Related, rule.Related{Posn: s.Pos.String(), Message: "on the way: the call of " + s.Name})
	}
	return f
}

// remedy says what to do where nothing is checked. No transaction of the database holds a call to somebody else.
func remedy(h *flow.Hit) string {
	if h.Kind == flow.EffDB {
		return "insert the event's id first, in the same transaction, and stop when it was there"
	}
	return "insert the event's id into a table first, and stop when it was there"
}
