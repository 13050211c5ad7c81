package offsetkey

import (
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

const name = "offsetkey"

// Analyzer is the check of R-KFK-IDEM-X2.
var Analyzer = &analysis.Analyzer{
	Name:     name,
	Doc:      "report dedup keys made of a Kafka offset (R-KFK-IDEM-X2)",
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

// Find words the offsets that end in a key, one finding a read.
func Find(p *flow.Program, vs []*flow.Verdict) []rule.Finding {
	var out []rule.Finding
	seen := make(map[flow.Pos]bool)
	for _, v := range vs {
		for _, s := range v.Sinks {
			if s.Kind == flow.SinkSeen && !v.SeenSets {
				continue
			}
			what := sink(p, s)
			if what == "" {
				continue
			}
			for _, src := range s.Value.Srcs {
				if src.Bit != flow.FromOffset || seen[src.Cross] {
					continue
				}
				seen[src.Cross] = true
				out = append(out, rule.Finding{
					Rule: rule.X2, Analyzer: name, Posn: src.Cross.String(),
					Message: rule.X2 + ": the offset " + src.What + " ends in " + what +
						"; an offset is a position in the log, not the event's identity: use the event id of the payload",
					Related: []rule.Related{{Posn: s.Pos.String(), Message: "here it becomes " + what}},
				})
				break // of one key, the first read
			}
		}
	}
	return out
}

// sink names what takes the value for a key, "" when it is none for this rule.
func sink(p *flow.Program, s flow.Sink) string {
	switch s.Kind {
	case flow.SinkField:
		if s.Flags&(flow.FieldEventID|flow.FieldDedupKey) != 0 {
			return "the field " + s.Name
		}
	case flow.SinkVar:
		return "the variable " + s.Name
	case flow.SinkParam:
		return "the parameter " + s.Name
	case flow.SinkReturn:
		return "what " + s.Name + " returns"
	case flow.SinkMapKey:
		if p.KeyName(s) {
			return "the key " + s.Name
		}
	case flow.SinkDedupSQL:
		return "the key of " + s.Owner
	case flow.SinkSetNX:
		return "the Redis key of " + s.Name
	case flow.SinkSeen:
		return "the key of a set that decides what is skipped"
	case flow.SinkHeader:
		if strings.Contains(strings.ToLower(s.Name), "idempotency") {
			return "the header " + s.Name
		}
	case flow.SinkSetID, flow.SinkMessageID:
		return "the id set by " + s.Name
	case flow.SinkGuard:
		return "the key of the check " + s.Name
	}
	return ""
}
