package flow

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

// Analyzer computes the summaries. Rules require it and ask its [Result].
var Analyzer = &analysis.Analyzer{
	Name:       "idemflow",
	Doc:        "compute what functions do to the world and under which processed-event check",
	Run:        run,
	FactTypes:  []analysis.Fact{new(Summary)},
	ResultType: reflect.TypeOf(new(Result)),
}

// A Result is what the engine knows of the package under analysis.
type Result struct {
	Unit    *Unit
	Prog    *Program // set once [Result.Ready] has said so
	pass    *analysis.Pass
	tables  *know.Tables
	deps    []packed
	load    func() error
	files   map[string]*token.File
	once    sync.Once
	judged  []*Verdict
	noted   sync.Once
	mu      sync.Mutex
	work    sync.Mutex // the program is run by one rule at a time
	dirs    []*rule.Directive
	skipped bool
	idle    bool // nothing in sight concerns a rule
	silent  bool // the configuration wants nothing reported here
}

func run(pass *analysis.Pass) (any, error) {
	tables, err := Opts.tables()
	if err != nil {
		return nil, err
	}
	res := &Result{pass: pass, tables: tables, skipped: true, silent: tables.Skipped(pass.Pkg.Path())}
	res.load = sync.OnceValue(res.join)
	norm := know.Normal(pass.Pkg.Path())
	dependency := pass.Module != nil && pass.Module.Version != ""
	std := pass.Module == nil || pass.Module.Path == "" || pass.Module.Path == "std"
	if std && stdPath(pass.Pkg.Path()) {
		return res, nil
	}
	if know.ByName(norm) || tables.Trusted(norm) {
		return res, nil
	}
	if know.Library(norm) {
		if tables.Seed(pass.Pkg.Path()) {
			pass.ExportPackageFact(&Summary{})
		}
		return res, nil
	}
	var deps facts
	relevant := tables.Seed(pass.Pkg.Path())
	for _, imp := range pass.Pkg.Imports() {
		var s Summary
		if pass.ImportPackageFact(imp, &s) {
			relevant = true
			if err := deps.add(s); err != nil {
				return nil, fmt.Errorf("summary of %s: %w", imp.Path(), err)
			}
		}
		relevant = relevant || tables.Seed(imp.Path())
	}
	if dependency && !relevant {
		return res, nil
	}
	res.skipped = false
	res.files = make(map[string]*token.File)
	for _, f := range pass.Files {
		if tf := pass.Fset.File(f.Pos()); tf != nil {
			res.files[tf.Name()] = tf
		}
	}
	res.directives()
	unit, err := tryBuild(pass, tables)
	if err != nil {
		res.skipped = true
		if Opts.Debug {
			os.Stderr.WriteString("idemlint: " + err.Error() + "\n")
		}
		return res, nil
	}
	unit.Ignores, unit.Own = res.dirs, Opts.own()
	res.Unit = unit
	res.deps = deps.units
	if Opts.Index {
		// The whole gets every package's summary from the package itself; dependants only have to know that there is one.
		pass.ExportPackageFact(&Summary{})
		return res, nil
	}
	own, err := pack(unit, tables)
	if err != nil {
		return nil, err
	}
	res.idle = !Opts.Names.Begins() && !slices.ContainsFunc(append(deps.units, own), func(u packed) bool { return u.kind&packedConcerns != 0 })
	pass.ExportPackageFact(export(own, deps.units))
	return res, nil
}

// Seed reports whether an import path is one that makes a package worth looking at, with the options as they are.
func Seed(path string) bool {
	t, err := Opts.tables()
	return err != nil || t.Seed(path)
}

func stdPath(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && (stdRoot(first) || first == "vendor" || first == "cmd")
}

// tryBuild is buildUnit for code that the SSA builder cannot take: the package is then left out.
func tryBuild(pass *analysis.Pass, tables *know.Tables) (u *Unit, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("gave up on package %s: internal error: %v", pass.Pkg.Path(), e)
		}
	}()
	return buildUnit(pass, tables), nil
}

// buildUnit lowers the package under analysis.
func buildUnit(pass *analysis.Pass, tables *know.Tables) *Unit {
	prog := ssa.NewProgram(pass.Fset, ssa.GlobalDebug)
	made := make(map[*types.Package]bool)
	var create func(ps []*types.Package)
	create = func(ps []*types.Package) {
		for _, p := range ps {
			if !made[p] {
				made[p] = true
				prog.CreatePackage(p, nil, nil, true)
				create(p.Imports())
			}
		}
	}
	create(pass.Pkg.Imports())
	pkg := prog.CreatePackage(pass.Pkg, pass.Files, pass.TypesInfo, false)
	pkg.Build()
	l := &lowerer{fset: pass.Fset, pkg: pass.Pkg, unit: &Unit{Path: pass.Pkg.Path()}, know: tables, decls: make(map[string]bool),
		edges: make(map[Edge]bool), tcach: make(map[types.Type]*Type), calls: make(map[token.Pos]*ast.CallExpr), handed: make(map[Handed]bool)}
	guards := guardObjects(pass)
	l.guard = func(o types.Object) bool { return guards[o] || l.configuredGuard(o) }
	test, gen := make(map[string]bool), make(map[string]bool)
	for _, f := range pass.Files {
		name := pass.Fset.Position(f.Package).Filename
		test[name] = strings.HasSuffix(name, "_test.go")
		gen[name] = ast.IsGenerated(f) && !madeByCgo(f)
		if test[name] && !Opts.Tests {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				l.calls[c.Lparen] = c
			}
			return true
		})
	}
	l.test = func(p token.Pos) bool { return test[pass.Fset.Position(p).Filename] && !Opts.Tests }
	l.gen = func(p token.Pos) bool { return gen[pass.Fset.Position(p).Filename] }
	var fns []*ssa.Function
	for _, fn := range allFuncs(pkg) {
		if fn.Pos().IsValid() && l.test(fn.Pos()) {
			continue
		}
		fns = append(fns, fn)
	}
	l.typeParams(pass.TypesInfo)
	l.instances(pass.TypesInfo)
	l.lowerPackage(pkg, fns)
	files := slices.DeleteFunc(slices.Clone(pass.Files), func(f *ast.File) bool { return l.test(f.Package) })
	l.unit.SQL = collectSQL(pass, files, l.pos, l.gen)
	l.unit.Globals = append(embedded(pass, files), l.unit.Globals...)
	return l.unit
}

// madeByCgo reports whether a file is what cgo makes of one that somebody wrote.
func madeByCgo(f *ast.File) bool {
	for _, g := range f.Comments {
		if g.Pos() > f.Package {
			break
		}
		for _, c := range g.List {
			if strings.Contains(c.Text, "generated by cmd/cgo") || strings.Contains(c.Text, "generated by cmd/go") {
				return true
			}
		}
	}
	return false
}

// configuredGuard reports whether the configuration names a function or an interface's method as the check.
func (l *lowerer) configuredGuard(o types.Object) bool {
	f, ok := o.(*types.Func)
	return ok && f.Pkg() != nil && l.know.Guard(f.Pkg().Path(), recvName(f), f.Name())
}

// guardObjects are the functions and interface methods whose declaration carries //idemlint:guard.
func guardObjects(pass *analysis.Pass) map[types.Object]bool {
	out := make(map[types.Object]bool)
	mark := func(id *ast.Ident, groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if g == nil {
				continue
			}
			for _, c := range g.List {
				if c.Text == "//idemlint:guard" || strings.HasPrefix(c.Text, "//idemlint:guard ") {
					if o := pass.TypesInfo.Defs[id]; o != nil {
						out[o] = true
					}
				}
			}
		}
	}
	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				mark(n.Name, n.Doc)
				return false
			case *ast.InterfaceType:
				for _, m := range n.Methods.List {
					for _, id := range m.Names {
						mark(id, m.Doc, m.Comment)
					}
				}
			}
			return true
		})
	}
	return out
}

// Verdicts runs every root of the package once.
func (r *Result) Verdicts() []*Verdict {
	if r.skipped {
		return nil
	}
	r.work.Lock()
	defer r.work.Unlock()
	r.once.Do(func() {
		r.judged = r.Prog.JudgeAll(r.Prog.ownPkgs)
		if !Opts.Index {
			r.judged = append(r.judged, r.Prog.JudgeBindings()...)
		}
	})
	return r.judged
}

// JudgeBindings runs the roots of dependencies again where this package binds what they call: an implementation to an
// interface, a function to a parameter or field. Only what such a binding leads to is kept.
func (p *Program) JudgeBindings() []*Verdict {
	deps := p.boundPackages()
	if len(deps) == 0 {
		return nil
	}
	var out []*Verdict
	for _, root := range p.Roots(deps) {
		if root.Kind == RootParam && p.Entered[root.Fn.ID] {
			continue
		}
		v := p.Judge(root)
		var kept []*Unguarded
		for _, u := range v.Unguarded {
			if u.Binding == nil {
				continue
			}
			if !p.ownPkgs[u.Pkg] {
				u.Home, u.Pos = u.Pos, u.Binding.Pos
			}
			kept = append(kept, u)
		}
		v.Unguarded = kept
		out = append(out, v)
	}
	return out
}

// boundPackages are the packages that hold a root and could reach what this package hands over.
func (p *Program) boundPackages() map[string]bool {
	hands := false
	for e := range p.own {
		if leaf := e.Src[0]; leaf != 't' && leaf != 'f' && leaf != 'm' {
			continue
		}
		if pkg := slotPkg(e.Dst); pkg != "" && !p.ownPkgs[pkg] && p.inSight[pkg] {
			hands = true
			break
		}
	}
	if !hands {
		return nil
	}
	out := make(map[string]bool)
	for _, f := range p.funcs {
		if !p.ownPkgs[f.Pkg] && !out[f.Pkg] && (p.hasSource(f) || msgParam(f)) {
			out[f.Pkg] = true
		}
	}
	return out
}

// slotPkg is the package of the function, type or variable that a slot belongs to.
func slotPkg(slot string) string {
	parts := strings.Split(slot, "|")
	if len(parts) < 2 {
		return ""
	}
	id := parts[1]
	slash := strings.LastIndexByte(id, '/')
	if i := strings.IndexByte(id[slash+1:], '.'); i >= 0 {
		return id[:slash+1+i]
	}
	return id
}

// Pos is a place of the package in its file set, or a made-up one in a file that the set does not have.
func (r *Result) Pos(p Pos) token.Pos {
	if !p.IsValid() {
		return token.NoPos
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if tf := r.files[p.File]; tf != nil {
		if int(p.Line) <= tf.LineCount() {
			at := tf.LineStart(int(p.Line)) + token.Pos(p.Col) - 1
			if int(at)-tf.Base() <= tf.Size() {
				return at
			}
		}
		return token.NoPos
	}
	return token.NoPos
}

// Own reports whether a place is in a file of the package.
func (r *Result) Own(p Pos) bool { return r.files[p.File] != nil }

// Silent reports whether the configuration wants nothing reported in the package.
func (r *Result) Silent() bool { return r.silent }

// Ready reports whether a rule has anything to do here, and if so joins the package with its dependencies. It has not
// where the package was not looked at, where nothing in sight concerns a rule, nor where the stand-alone command asks for
// summaries: the whole then runs the rules.
func (r *Result) Ready() (bool, error) {
	if r.skipped || r.idle || Opts.Index {
		return false, nil
	}
	err := r.load()
	return err == nil, err
}

// join makes the program of the package and of those that it depends on.
func (r *Result) join() error {
	units := []*Unit{r.Unit}
	for _, dep := range r.deps {
		us, err := DecodeUnits(dep.data)
		if err != nil {
			return fmt.Errorf("summary of %s: %w", dep.path, err)
		}
		units = append(units, us...)
	}
	r.Prog = NewProgram(units, map[string]bool{r.Unit.Path: true}, r.tables, Opts.Strict)
	return nil
}

// Skipped reports whether the package was not looked at.
func (r *Result) Skipped() bool { return r.skipped }

// directives collects the suppressing comments.
func (r *Result) directives() {
	for _, f := range r.pass.Files {
		for _, g := range f.Comments {
			for _, c := range g.List {
				d, ok := rule.ParseDirective(c.Text)
				if !ok {
					continue
				}
				q := r.pass.Fset.Position(c.Pos())
				d.File, d.Line, d.Col = q.Filename, q.Line, q.Column
				if strings.HasSuffix(q.Filename, "_test.go") && !Opts.Tests {
					continue
				}
				r.dirs = append(r.dirs, &d)
			}
		}
	}
	sort.Slice(r.dirs, func(i, j int) bool {
		a, b := r.dirs[i], r.dirs[j]
		return a.File < b.File || a.File == b.File && a.Line < b.Line
	})
}

// Directives are the suppressing comments of the package.
func (r *Result) Directives() []*rule.Directive { return r.dirs }

// Suppressed reports whether a finding is suppressed by a directive, and marks the directive as used.
func (r *Result) Suppressed(ruleID, analyzer string, p Pos) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Suppress(r.dirs, ruleID, analyzer, p)
}

// Suppress looks for a directive that covers a finding. One above a declaration's comment covers the declaration.
func Suppress(dirs []*rule.Directive, ruleID, analyzer string, p Pos) bool {
	hit := false
	for _, d := range dirs {
		if d.Covers(ruleID, analyzer, p.File, int(p.Line)) {
			d.Used, hit = true, true
		}
	}
	return hit
}
