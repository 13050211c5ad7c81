package uuidv7

import (
	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

const name = "uuidv7"

// Analyzer is the check of the first half of R-KFK-IDEM-1.
var Analyzer = &analysis.Analyzer{
	Name:     name,
	Doc:      "report event ids made by a random (v4) UUID (R-KFK-IDEM-1)",
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
	res.Report(pass, Find(res.Prog, res.Random()))
	return nil, nil
}

// Find words the random UUIDs that become the id of an event, one finding a call.
func Find(p *flow.Program, sinks []flow.Sink) []rule.Finding {
	var out []rule.Finding
	seen := make(map[flow.Pos]bool)
	for _, s := range sinks {
		what := sink(p, s)
		related := []rule.Related{{Posn: s.Pos.String(), Message: "here it becomes " + what}}
		if what == "" {
			sent, ok := p.Relayed(s)
			if !ok {
				continue
			}
			what = "the id of the row that is sent as the event's id"
			related = []rule.Related{{Posn: s.Pos.String(), Message: "here it becomes the id of the row"}, {Posn: sent.String(), Message: "here it is sent as the event's id"}}
		}
		for _, src := range s.Value.Srcs {
			if src.Bit != flow.FromV4 || src.Named || seen[src.Enter] || flow.Elsewhere(sinks, src) {
				continue
			}
			seen[src.Enter] = true
			f := rule.Finding{
				Rule: rule.R1, Analyzer: name, Posn: src.Enter.String(), End: src.End.String(),
				Message: rule.R1 + ": " + src.What + " makes a random (v4) UUID, and it becomes " + what +
					"; make event ids with UUID v7, which sort by time",
				Related: related,
			}
			if fix, ok := src.FixV7(); ok {
				f.Fixes = append(f.Fixes, fix)
			}
			out = append(out, f)
		}
	}
	return out
}

// sink names the event id that takes the value, "" when it is none.
func sink(p *flow.Program, s flow.Sink) string {
	switch s.Kind {
	case flow.SinkField:
		if s.Flags&flow.FieldEventID != 0 {
			return "the event id in the field " + s.Name
		}
	case flow.SinkVar:
		if p.EventIDName(s) {
			return "the event id " + s.Name
		}
	case flow.SinkParam:
		if p.EventIDName(s) {
			return "the event id in the parameter " + s.Name
		}
	case flow.SinkMapKey:
		if p.EventIDName(s) {
			return "the event id in the key " + s.Name
		}
	case flow.SinkHeader:
		if p.EventIDName(s) {
			return "the event id in the header " + s.Name
		}
	case flow.SinkReturn:
		if p.EventIDName(s) {
			return "the event id that " + s.Name + " returns"
		}
	case flow.SinkSetID, flow.SinkMessageID:
		return "the message's id by " + s.Name
	}
	return ""
}
