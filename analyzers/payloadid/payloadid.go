package payloadid

import (
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

const name = "payloadid"

// Analyzer is the check of the second half of R-KFK-IDEM-1.
var Analyzer = &analysis.Analyzer{
	Name:     name,
	Doc:      "report event ids that travel only in a Kafka header (R-KFK-IDEM-1)",
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
	found := Read(res.Prog, res.Verdicts())
	res.Report(pass, append(found, Written(res.BareIDs())...))
	return nil, nil
}

// Read words the dedup keys that consumers take from a header, one finding a place where the header is named.
func Read(_ *flow.Program, vs []*flow.Verdict) []rule.Finding {
	var out []rule.Finding
	seen := make(map[flow.Pos]bool)
	for _, v := range vs {
		for _, s := range v.Sinks {
			if s.Kind == flow.SinkSeen && !v.SeenSets {
				continue
			}
			what := sink(s)
			if what == "" {
				continue
			}
			for _, src := range s.Value.Srcs {
				if src.Bit != flow.FromHeader {
					continue
				}
				if seen[src.Pos] {
					break
				}
				seen[src.Pos] = true
				out = append(out, rule.Finding{
					Rule: rule.R1, Analyzer: name, Posn: src.Pos.String(),
					Message: rule.R1 + ": " + what + " is taken from " + header(src.What) +
						"; a replay, a mirror or a connector may drop headers: take the event id from the payload",
					Related: []rule.Related{{Posn: s.Pos.String(), Message: "here it becomes " + what}},
				})
				break // of one key, the first header
			}
		}
	}
	return out
}

// Written words the event-id headers of messages whose payload has no event id.
func Written(ids []flow.BareID) []rule.Finding {
	out := make([]rule.Finding, 0, len(ids))
	for _, b := range ids {
		typ := b.Payload[strings.LastIndexByte(b.Payload, '.')+1:]
		out = append(out, rule.Finding{
			Rule: rule.R1, Analyzer: name, Posn: b.Pos.String(),
			Message: rule.R1 + ": the event id travels only in " + header(b.Header) + ", the payload " + typ +
				" has none; a replay, a mirror or a connector may drop headers: put the event id into the payload",
		})
	}
	return out
}

func header(name string) string {
	switch {
	case name == "":
		return "a header"
	case strings.HasSuffix(name, ".UUID"):
		return name + ", which travels in a header"
	}
	return "the header " + strconv.Quote(name)
}

// sink names what takes the value for a dedup key, "" when it is none.
func sink(s flow.Sink) string {
	switch s.Kind {
	case flow.SinkDedupSQL:
		return "the key of " + s.Owner
	case flow.SinkSetNX:
		return "the Redis key of " + s.Name
	case flow.SinkSeen:
		return "the key of a set that decides what is skipped"
	case flow.SinkGuard:
		return "the key of the check " + s.Name
	}
	return ""
}
