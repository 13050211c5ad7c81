package cli_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"os/signal"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/inventory"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/cli"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/vettool"
)

// The test binary is the command under test when face is set: with its own executable as go vet's tool it runs the
// same way as the real one, but with analyzers that a test can make fail.
const (
	face         = "IDEMLINT_TEST_FACE"
	toolsVersion = "IDEMLINT_TEST_TOOLS"   // the version of x/tools to go by
	skipped      = "IDEMLINT_TEST_SKIPPED" // a file that gets the import paths of the units that were skipped
)

func TestMain(m *testing.M) {
	if os.Getenv(face) == "" {
		os.Exit(m.Run())
	}
	args := os.Args[1:]
	if vettool.Asked(args) {
		vettool.Main(fakeRules(), args, vettool.Options{ToolsVersion: os.Getenv(toolsVersion), Skipped: recordSkip})
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(cli.Command{Rules: fakeRules(), Tool: self, Dir: dir, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}.Run(ctx, args))
}

func recordSkip(importPath string) {
	file := os.Getenv(skipped)
	if file == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, importPath)
}

// The fake rules: a function named Bad… is a finding of X1, Worse… of X2, Strict… of X1 with -badcheck.strict. A
// function Half… is a finding of X1 that only the whole can see: when another package has a function Rest… of the
// same ending. A call that leads to kafka.Poll of the seed module is a finding of 1. Functions named Panic…,
// Fail… and Crash… make an analyzer do so. PanicSettle… breaks the join.
// Of a package with a function Silent… there is no summary.

type pollFact struct{}

func (*pollFact) AFact()         {}
func (*pollFact) String() string { return "polls" }

type seedFact struct{}

func (*seedFact) AFact()         {}
func (*seedFact) String() string { return "relevant" }

const seedPath = "example.com/kafka"

func fakeRules() rules.Set {
	engine := &analysis.Analyzer{
		Name:      "engine",
		Doc:       "engine: follow calls to Poll",
		FactTypes: []analysis.Fact{new(pollFact), new(seedFact)},
		Run:       runEngine,
	}
	bad := &analysis.Analyzer{
		Name:     "badcheck",
		Doc:      "badcheck: report functions named Bad\n\nMore about it.",
		Requires: []*analysis.Analyzer{engine},
	}
	seeds := packages{seedPath}
	strict := bad.Flags.Bool("strict", false, "report functions named Strict too")
	limit := bad.Flags.Int("limit", 100, "report at most `n` functions of a package")
	bad.Run = func(pass *analysis.Pass) (any, error) { return runBad(pass, *strict, *limit) }

	worse := &analysis.Analyzer{
		Name:     "worsecheck",
		Doc:      "worsecheck: report functions named Worse",
		Requires: []*analysis.Analyzer{engine},
		Run:      runWorse,
	}
	directives := &analysis.Analyzer{
		Name:     rules.Analyzer,
		Doc:      "idemlint: report faulty directives",
		Requires: []*analysis.Analyzer{engine},
	}
	index := directives.Flags.Bool(rules.Index, false, "report the package's summary")
	directives.Flags.Bool("tests", false, "tests too")
	directives.Flags.BoolVar(strict, "strict", false, "report functions named Strict too")
	directives.Flags.Var(&seeds, "seeds", "`packages` that matter")
	directives.Run = func(pass *analysis.Pass) (any, error) { return runIndex(pass, *index) }

	return rules.Set{
		Analyzers: []*analysis.Analyzer{bad, worse, directives},
		Rules: []rules.Rule{
			{ID: "R-KFK-IDEM-X1", Analyzer: "badcheck"},
			{ID: "R-KFK-IDEM-X2", Analyzer: "worsecheck"},
			{ID: "R-KFK-IDEM-1", Analyzer: "worsecheck"},
		},
		Settle: settleHalves,
		SQL:    func(m rules.Module) ([]finding.Finding, error) { return nil, nil },

		Handlers: fakeHandlers,

		URL: func(analyzer string) string { return "https://example.com/rules/" + analyzer },
		Explain: func(analyzer string) (string, bool, error) {
			return "The page of " + analyzer + ".\n", true, nil
		},
		Pages: fakePages,
		Seed:  func(path string) bool { return slices.Contains(seeds, path) },
	}
}

func fakePages() ([]rules.Page, error) {
	var pages []rules.Page
	for _, p := range []struct{ analyzer, rule, severity string }{
		{"badcheck", "R-KFK-IDEM-X1", "error"}, {"worsecheck", "R-KFK-IDEM-X2", "warning"}, {rules.Analyzer, rules.Analyzer, "note"},
	} {
		pages = append(pages, rules.Page{
			Analyzer: p.analyzer, Rule: p.rule, Severity: p.severity, Title: "what " + p.analyzer + " is about",
			URL: "https://example.com/rules/" + p.analyzer, Reports: "What it reports.", Text: "Its page.\n", Markdown: "# Its `page`\n",
		})
	}
	return pages, nil
}

// packages is a flag that takes import paths.
type packages []string

func (p *packages) String() string { return strings.Join(*p, ",") }

func (p *packages) IsList() bool { return true }

func (p *packages) Set(s string) error {
	if strings.Contains(s, " ") {
		return fmt.Errorf("%q is no import path", s)
	}
	*p = append(*p, strings.Split(s, ",")...)
	return nil
}

// functions are the declared functions of a package whose name begins with prefix.
func functions(pass *analysis.Pass, prefix string) []*ast.FuncDecl {
	var found []*ast.FuncDecl
	for _, file := range pass.Files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, prefix) {
				found = append(found, f)
			}
		}
	}
	return found
}

func runEngine(pass *analysis.Pass) (any, error) {
	if len(functions(pass, "PanicEngine")) > 0 {
		var none map[string]int
		none["x"] = 1
	}
	if len(functions(pass, "FailEngine")) > 0 {
		return nil, errors.New("the engine is out of order")
	}
	if len(functions(pass, "CrashEngine")) > 0 {
		done := make(chan bool)
		go func() { panic("in the background") }()
		<-done
	}
	relevant := pass.Pkg.Path() == seedPath
	for _, imported := range pass.Pkg.Imports() {
		relevant = relevant || pass.ImportPackageFact(imported, new(seedFact))
	}
	if relevant {
		pass.ExportPackageFact(new(seedFact))
	}
	for _, f := range functions(pass, "") {
		if pass.Pkg.Path() == seedPath && f.Name.Name == "Poll" || pollCall(pass, f) != nil {
			pass.ExportObjectFact(pass.TypesInfo.Defs[f.Name], new(pollFact))
		}
	}
	return nil, nil
}

// pollCall is the first call in f of a function of another package that polls.
func pollCall(pass *analysis.Pass, f *ast.FuncDecl) *ast.CallExpr {
	var found *ast.CallExpr
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || found != nil {
			return found == nil
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			fn, ok := pass.TypesInfo.Uses[sel.Sel].(*types.Func)
			if ok && fn.Pkg() != pass.Pkg && fn.Signature().Recv() == nil && pass.ImportObjectFact(fn, new(pollFact)) {
				found = call
			}
		}
		return found == nil
	})
	return found
}

func runBad(pass *analysis.Pass, strict bool, limit int) (any, error) {
	if len(functions(pass, "PanicAnalyzer")) > 0 {
		panic("out of range")
	}
	if len(functions(pass, "CrashAnalyzer")) > 0 {
		os.Exit(3)
	}
	if len(functions(pass, "FailAnalyzer")) > 0 {
		return nil, errors.New("cannot go on")
	}
	found := functions(pass, "Bad")
	if strict {
		found = append(found, functions(pass, "Strict")...)
	}
	for _, f := range found[:min(limit, len(found))] {
		pass.Report(analysis.Diagnostic{
			Pos: f.Name.Pos(), End: f.Name.End(),
			Category: "R-KFK-IDEM-X1",
			Message:  "R-KFK-IDEM-X1: " + f.Name.Name + " is bad",
			Related:  []analysis.RelatedInformation{{Pos: f.Body.Pos(), Message: "what it does"}},
			SuggestedFixes: []analysis.SuggestedFix{{
				Message:   "call it good",
				TextEdits: []analysis.TextEdit{{Pos: f.Name.Pos(), End: f.Name.End(), NewText: []byte("good")}},
			}},
		})
	}
	return nil, nil
}

func runWorse(pass *analysis.Pass) (any, error) {
	for _, f := range functions(pass, "Worse") {
		pass.Report(analysis.Diagnostic{Pos: f.Name.Pos(), Category: "R-KFK-IDEM-X2", Message: "R-KFK-IDEM-X2: " + f.Name.Name + " is worse"})
	}
	for _, f := range functions(pass, "") {
		if call := pollCall(pass, f); call != nil {
			pass.Report(analysis.Diagnostic{Pos: call.Pos(), Category: "R-KFK-IDEM-1", Message: "R-KFK-IDEM-1: " + f.Name.Name + " polls"})
		}
	}
	return nil, nil
}

type half struct{ Name, Posn string }

func runIndex(pass *analysis.Pass, on bool) (any, error) {
	if !on || len(functions(pass, "Silent")) > 0 {
		return nil, nil
	}
	halves := []half{}
	for _, f := range functions(pass, "") {
		halves = append(halves, half{f.Name.Name, pass.Fset.Position(f.Name.Pos()).String()})
	}
	payload, err := json.Marshal(halves)
	if err != nil {
		return nil, err
	}
	pass.Report(analysis.Diagnostic{Pos: pass.Files[0].Package, Category: rules.Index, Message: string(payload)})
	return nil, nil
}

// fakeHandlers are the functions named Handle….
func fakeHandlers(payloads []string) ([]inventory.Handler, error) {
	var found []inventory.Handler
	for _, payload := range payloads {
		var halves []half
		if err := json.Unmarshal([]byte(payload), &halves); err != nil {
			return nil, err
		}
		for _, h := range halves {
			if strings.HasPrefix(h.Name, "Handle") {
				found = append(found, inventory.Handler{Name: h.Name, Package: "example.com/shop", Position: h.Posn, Verdict: inventory.Guarded})
			}
		}
	}
	return found, nil
}

func settleHalves(payloads []string, _ rules.Module) ([]finding.Finding, error) {
	var all []half
	for _, payload := range payloads {
		var halves []half
		if err := json.Unmarshal([]byte(payload), &halves); err != nil {
			return nil, err
		}
		all = append(all, halves...)
	}
	slices.SortFunc(all, func(a, b half) int { return cmp.Compare(a.Name, b.Name) })
	var found []finding.Finding
	for _, h := range all {
		if strings.HasPrefix(h.Name, "PanicSettle") {
			panic("two halves too many")
		}
		end, ok := strings.CutPrefix(h.Name, "Half")
		for _, r := range all {
			if ok && r.Name == "Rest"+end {
				found = append(found, finding.Finding{
					Analyzer: "badcheck",
					Rule:     "R-KFK-IDEM-X1",
					Position: finding.ParsePosition(h.Posn),
					End:      finding.ParsePosition(h.Posn),
					Message:  "R-KFK-IDEM-X1: " + h.Name + " is whole",
					Related:  []finding.Related{{Position: finding.ParsePosition(r.Posn), Message: "its rest"}},
				})
			}
		}
	}
	return found, nil
}
