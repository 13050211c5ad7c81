// Package analyzers is the set of idemlint's passes: they find the Kafka consumers that break a rule of the
// R-KFK-IDEM catalogue. Each rule is a package with an Analyzer of its own; what a message, an effect, a check or a
// transaction is, the engine in internal/flow tells them.
package analyzers

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/ackorder"
	"github.com/idemlint/idemlint/analyzers/dedupcheck"
	"github.com/idemlint/idemlint/analyzers/dedupsql"
	"github.com/idemlint/idemlint/analyzers/deduptx"
	"github.com/idemlint/idemlint/analyzers/internal/directive"
	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
	"github.com/idemlint/idemlint/analyzers/moneykey"
	"github.com/idemlint/idemlint/analyzers/offsetkey"
	"github.com/idemlint/idemlint/analyzers/payloadid"
	"github.com/idemlint/idemlint/analyzers/uuidv7"
)

// A Finding is a violation of a rule that only the whole module shows.
type Finding = rule.Finding

// All returns the analyzers of the rules, and the one that looks after directives.
func All() []*analysis.Analyzer {
	rules := []*analysis.Analyzer{dedupcheck.Analyzer, offsetkey.Analyzer, moneykey.Analyzer, uuidv7.Analyzer, payloadid.Analyzer, dedupsql.Analyzer,
		deduptx.Analyzer, ackorder.Analyzer}
	return append(rules, directive.New(rules))
}

// URL returns the page of an analyzer.
func URL(analyzer string) string { return rule.URL(analyzer) }

// Explain returns what there is to say about the rules that a word stands for, as text for a terminal: a rule id
// (R-KFK-IDEM-X1), its tail (X1), or an analyzer's name. ok is false when the word stands for none.
func Explain(word string) (text string, ok bool, err error) {
	pages, err := rule.Explain(word)
	if err != nil {
		return "", false, err
	}
	texts := make([]string, 0, len(pages))
	for _, p := range pages {
		texts = append(texts, p.Text())
	}
	return strings.Join(texts, "\n"), len(texts) > 0, nil
}

// OwnOptions says that the options of this process are those that hold in the module at root: what the packages of that
// module do is judged by them, whoever calls it.
func OwnOptions(root string) { flow.Opts.Own = root }

// Seed reports whether a package of this import path makes its dependants worth looking at: a Kafka client, a
// database driver, the companion runtime.
func Seed(path string) bool { return flow.Seed(path) }

// Settle joins the packages' payloads and returns the findings that no package shows by itself. Payloads come from the
// analyzer named idemlint, run with its flag index; m is what the packages' modules hold beside them.
func Settle(payloads []string, m Module) ([]Finding, error) {
	w, err := flow.Join(payloads)
	if err != nil {
		return nil, err
	}
	sql, err := m.sql(w)
	if err != nil {
		return nil, err
	}
	vs := w.Prog.JudgeAll(w.Pkgs)
	if flow.Opts.Debug {
		flow.Note(os.Stderr, vs)
	}
	var all []Finding
	all = append(all, dedupcheck.Find(w.Prog, vs)...)
	all = append(all, offsetkey.Find(w.Prog, vs)...)
	all = append(all, moneykey.Find(w.Prog, w.Prog.Money(w.Pkgs))...)
	all = append(all, uuidv7.Find(w.Prog, w.Prog.Random(w.Pkgs))...)
	all = append(all, deduptx.Find(w.Prog, vs)...)
	all = append(all, ackorder.Find(w.Prog, vs)...)
	all = append(all, payloadid.Read(w.Prog, vs)...)
	all = append(all, payloadid.Written(w.Prog.BareIDs(w.Pkgs))...)
	all = append(all, dedupsql.Find(w.Prog.SQL(w.Pkgs, vs, sql), m.Read)...)
	return left(w, all, true), nil
}

// SQL returns the findings in .sql files of which nothing else is known: whether old rows are ever removed is not asked,
// since code may do so.
func SQL(m Module) ([]Finding, error) {
	w, err := flow.Join(nil)
	if err != nil {
		return nil, err
	}
	sql, err := m.sql(w)
	if err != nil {
		return nil, err
	}
	sql.Unread = func(string) bool { return true }
	return left(w, dedupsql.Find(w.Prog.SQL(w.Pkgs, nil, sql), m.Read), false), nil
}

// left are the findings that no directive covers, and those about directives: faulty ones, and where everything was looked
// at also useless ones.
func left(w *flow.Whole, all []Finding, useless bool) []Finding {
	out := all[:0]
	for _, f := range all {
		if w.Reportable(position(f.Posn)) && !flow.Suppress(w.Directives, f.Rule, f.Analyzer, position(f.Posn)) {
			out = append(out, f)
		}
	}
	for _, d := range w.Directives {
		msg := ""
		switch fault := d.Fault(); {
		case fault == "" && !d.Used && useless:
			msg = "this directive suppresses nothing: take it away"
		case fault != "" && strings.HasSuffix(d.File, ".sql"): // in Go files the package's own pass says so
			msg = fault
		}
		if msg != "" && w.Reportable(flow.Pos{File: d.File}) {
			out = append(out, Finding{Rule: rule.Directives, Analyzer: rule.Directives,
				Posn: d.File + ":" + strconv.Itoa(d.Line) + ":" + strconv.Itoa(d.Col), Message: "idemlint: " + msg})
		}
	}
	return out
}

func position(s string) flow.Pos {
	var p flow.Pos
	rest, col, _ := cut(s)
	file, line, _ := cut(rest)
	p.File, p.Line, p.Col = file, int32(line), int32(col)
	return p
}

func cut(s string) (string, int, bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil
}
