package flow

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

// Report turns a rule's findings into diagnostics of the package under analysis. Those that stand in other packages
// are theirs, and those that a directive covers are not reported.
func (r *Result) Report(pass *analysis.Pass, findings []rule.Finding) {
	if Opts.Index || r.silent {
		return // the whole reports, for it sees more; or nobody is to
	}
	seen := make(map[string]bool)
	for _, f := range findings {
		p := parsePos(f.Posn)
		if !r.Own(p) || !Reportable(p) || seen[f.Posn] || r.Suppressed(f.Rule, f.Analyzer, p) || r.ignoredAtHome(f) {
			continue
		}
		seen[f.Posn] = true
		d := analysis.Diagnostic{Pos: r.Pos(p), Category: f.Rule, Message: f.Message, URL: rule.URL(f.Analyzer)}
		if !d.Pos.IsValid() {
			continue
		}
		if f.End != "" {
			d.End = r.Pos(parsePos(f.End))
		}
		for i, rel := range f.Related {
			if at := r.Pos(parsePos(rel.Posn)); at.IsValid() {
				d.Related = append(d.Related, analysis.RelatedInformation{Pos: at, Message: rel.Message})
			} else if i == 0 {
				// The other end is in another package, for which this run has no file.
				d.Message += "; " + rel.Message + " at " + short(rel.Posn)
			}
		}
		for _, fix := range f.Fixes {
			sf := analysis.SuggestedFix{Message: fix.Message}
			ok := true
			for _, e := range fix.Edits {
				from, to := r.Pos(parsePos(e.Posn)), r.Pos(parsePos(e.End))
				if !from.IsValid() || !to.IsValid() {
					ok = false
					break
				}
				sf.TextEdits = append(sf.TextEdits, analysis.TextEdit{Pos: from, End: to, NewText: []byte(e.New)})
			}
			if ok {
				d.SuggestedFixes = append(d.SuggestedFixes, sf)
			}
		}
		pass.Report(d)
	}
	if Opts.Debug {
		r.noted.Do(func() { Note(os.Stderr, r.judged) })
	}
}

// ignoredAtHome reports whether a finding that stands at a binding is suppressed where the handler stands, in another
// package: where the stand-alone command shows it.
func (r *Result) ignoredAtHome(f rule.Finding) bool {
	p := parsePos(f.Home)
	for _, u := range r.Prog.units {
		for _, d := range u.Ignores {
			if d.Covers(f.Rule, f.Analyzer, p.File, int(p.Line)) {
				return true
			}
		}
	}
	return false
}

// Unsettled reports whether the package's handlers call what only another package shows, so that a finding about them
// may yet stand there.
func (r *Result) Unsettled() bool {
	for _, v := range r.judged {
		if len(v.Open) > 0 {
			return true
		}
	}
	return false
}

// CallAt reports whether anything is called where a directive stands.
func (r *Result) CallAt(d *rule.Directive) bool {
	for _, f := range r.Unit.Funcs {
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				in := &f.Blocks[bi].Instrs[ii]
				if l := int(in.Pos.Line); in.Call != nil && in.Pos.File == d.File && (l == d.Line || l == d.Line+1) {
					return true
				}
			}
		}
	}
	return false
}

// Reportable reports whether a finding may stand at a place: none stands in a test, unless tests are looked at.
func Reportable(p Pos) bool { return Opts.Tests || !strings.HasSuffix(p.File, "_test.go") }

// short is a position without the directories above the last two.
func short(posn string) string {
	parts := strings.Split(posn, "/")
	if len(parts) > 2 {
		parts = parts[len(parts)-2:]
	}
	return strings.Join(parts, "/")
}

func parsePos(s string) Pos {
	rest, col := cutNum(s)
	file, line := cutNum(rest)
	return Pos{File: file, Line: int32(line), Col: int32(col)}
}

func cutNum(s string) (string, int) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil {
		return s, 0
	}
	return s[:i], n
}
