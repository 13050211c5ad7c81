package dedupsql

import (
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

const name = "dedupsql"

// Analyzer is the check of R-KFK-IDEM-2.
var Analyzer = &analysis.Analyzer{
	Name:     name,
	Doc:      "report SQL on the dedup table that cannot tell a repeat (R-KFK-IDEM-2)",
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
	res.Report(pass, Find(res.SQL(), pass.ReadFile))
	return nil, nil
}

// Find words the faults of the SQL in sight, one finding a statement. read returns the content of the files that they
// stand in, which fixes are made by; without it there are none.
func Find(view *flow.SQLView, read func(name string) ([]byte, error)) []rule.Finding {
	var out []rule.Finding
	for _, f := range view.Faults() {
		found := rule.Finding{
			Rule: rule.R2, Analyzer: name, Posn: f.Pos.String(),
			Message: rule.R2 + ": " + message(f),
			Related: related(f),
		}
		if fix, ok := addClause(f, read); ok {
			found.Fixes = append(found.Fixes, fix)
		}
		out = append(out, found)
	}
	return out
}

func message(f flow.SQLFinding) string {
	s := ""
	switch f.Fault {
	case flow.NoClause:
		s = "the INSERT into " + f.Table + " has no ON CONFLICT DO NOTHING, so that a repeat is an error and not zero rows"
		if f.Other.IsValid() {
			s += ", and the SELECT before it keeps no other consumer out"
		}
		return s + ": add the clause, and let the number of rows decide"
	case flow.AbortedTx:
		return "the INSERT into " + f.Table + " has no ON CONFLICT DO NOTHING, and its unique violation is handled in the transaction " +
			"that it has aborted: add the clause, or give the INSERT a savepoint of its own"
	case flow.Overwrites:
		return "the INSERT into " + f.Table + " changes the row that is there, so that every event looks new: use ON CONFLICT DO NOTHING"
	case flow.LooksFirst:
		return "what the INSERT into " + f.Table + " answers is not asked, and two consumers that look first at the same time both find nothing: " +
			"let its number of rows decide whether the work is done"
	case flow.NoUniqueKey:
		s = "the table " + f.Table + " has no primary or unique key on " + f.Column + ", so that an event goes in twice: add one"
	case flow.KeyDiffers:
		s = "the key of " + f.Table + " includes " + f.Column + ", which differs on every try, so that it never conflicts: "
		s += "take it out of the key, or fill it from the event"
	case flow.RandomEventID:
		s = f.Column + " of " + f.Table + " has a random default, which never conflicts: take the default away, the id comes with the event"
	case flow.OnlyGrows:
		s = "nothing in the module removes old rows of " + f.Table
		if f.Name != "" {
			s += " (nothing calls " + f.Name + ")"
		}
		return s + ", so that it only grows: delete by time, drop partitions, or have the database do so"
	}
	if f.Grows {
		s += "; nor does anything remove its old rows"
	}
	return s
}

func related(f flow.SQLFinding) []rule.Related {
	if !f.Other.IsValid() {
		return nil
	}
	what := "nothing but tests calls this"
	if f.Fault != flow.OnlyGrows {
		what = "here the " + strings.ToLower(f.Name[:min(6, len(f.Name))]) + " looks first"
	}
	return []rule.Related{{Posn: f.Other.String(), Message: what}}
}
