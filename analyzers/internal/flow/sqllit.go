package flow

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"sort"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// literals finds the SQL texts of a package in its syntax: SSA folds constants and forgets where they stood.
type literals struct {
	pass   *analysis.Pass
	pos    func(token.Pos) Pos
	decls  map[types.Object]ast.Expr // what a constant or variable of the package is declared with
	grown  map[types.Object]bool     // names whose text is only a piece: more is appended, before or after
	set    map[types.Object]bool     // variables that are assigned to
	copies [][2]types.Object         // variables and the names they are copies of
	fn     string                    // the declared function around, "" outside functions
	name   string                    // the constant or variable of the package that is being declared
	from   Pos                       // its extent
	to     Pos
	gen    bool
	out    []SQLText
}

// collectSQL returns the SQL of the files, in the order of their places. A text that is put together is put together
// here as far as its pieces are constants; what is not known of it is a [sqltext.Hole].
func collectSQL(pass *analysis.Pass, files []*ast.File, pos func(token.Pos) Pos, gen func(token.Pos) bool) []SQLText {
	l := &literals{pass: pass, pos: pos, decls: make(map[types.Object]ast.Expr), grown: make(map[types.Object]bool), set: make(map[types.Object]bool)}
	for _, f := range files {
		ast.Inspect(f, l.declare)
	}
	l.spread()
	for _, f := range files {
		l.gen = gen(f.Package)
		for _, d := range f.Decls {
			l.fn = ""
			if fd, ok := d.(*ast.FuncDecl); ok {
				if obj, ok := pass.TypesInfo.Defs[fd.Name].(*types.Func); ok {
					l.fn = funcID(obj)
				}
			}
			l.from, l.to = pos(d.Pos()), pos(d.End())
			ast.Inspect(d, l.visit)
		}
	}
	sort.SliceStable(l.out, func(i, j int) bool { return less(l.out[i].Pos, l.out[j].Pos) })
	return l.out
}

// declare notes declarations with one value a name, and variables that grow.
func (l *literals) declare(n ast.Node) bool {
	info := l.pass.TypesInfo
	switch n := n.(type) {
	case *ast.ValueSpec:
		if len(n.Names) == len(n.Values) {
			for i, id := range n.Names {
				if o := info.Defs[id]; o != nil {
					l.decls[o] = n.Values[i]
				}
			}
		}
	case *ast.AssignStmt:
		for i, lhs := range n.Lhs {
			id, ok := lhs.(*ast.Ident)
			if !ok || i >= len(n.Rhs) || info.ObjectOf(id) == nil {
				continue
			}
			o := info.ObjectOf(id)
			l.set[o] = true
			if n.Tok == token.ADD_ASSIGN || n.Tok == token.ASSIGN && mentions(info, n.Rhs[i], o) {
				l.grown[o] = true
			}
			if from, ok := ast.Unparen(n.Rhs[i]).(*ast.Ident); ok && info.ObjectOf(from) != nil {
				l.copies = append(l.copies, [2]types.Object{o, info.ObjectOf(from)})
			}
		}
	case *ast.BinaryExpr:
		if n.Op == token.ADD {
			l.piece(n.X)
			l.piece(n.Y)
		}
	case *ast.CallExpr:
		switch l.callee(n) {
		case "fmt.Sprintf", "fmt.Fprintf", "fmt.Sprint", "strings.Join", "WriteString":
			for _, a := range n.Args {
				l.piece(a)
			}
		}
	}
	return true
}

// piece notes that a name stands for a piece of a text: what it is declared with is not the whole.
func (l *literals) piece(e ast.Expr) {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		if o := l.pass.TypesInfo.ObjectOf(id); o != nil {
			l.grown[o] = true
		}
	}
}

// spread makes what a growing variable is a copy of a piece, too.
func (l *literals) spread() {
	for range 3 {
		for _, c := range l.copies {
			if l.grown[c[0]] {
				l.grown[c[1]] = true
			}
		}
	}
}

func mentions(info *types.Info, e ast.Expr, o types.Object) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && info.ObjectOf(id) == o {
			found = true
		}
		return !found
	})
	return found
}

// visit takes the outermost expressions that make a text.
func (l *literals) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.Field:
		return false
	case *ast.AssignStmt:
		if len(n.Lhs) == len(n.Rhs) {
			for i, e := range n.Rhs {
				id, _ := n.Lhs[i].(*ast.Ident)
				open := id != nil && l.grown[l.pass.TypesInfo.ObjectOf(id)] || n.Tok == token.ADD_ASSIGN
				l.take(e, open)
			}
			return false
		}
	case *ast.ValueSpec:
		for i, e := range n.Values {
			open := false
			if len(n.Names) == len(n.Values) {
				open = l.grown[l.pass.TypesInfo.Defs[n.Names[i]]]
				if l.fn == "" {
					l.name = l.pass.Pkg.Path() + "." + n.Names[i].Name
				}
			}
			l.take(e, open)
			l.name = ""
		}
		return false
	case ast.Expr:
		return !l.text(n, false)
	}
	return true
}

// take collects from an expression; open says that text is appended to it elsewhere.
func (l *literals) take(e ast.Expr, open bool) {
	if !l.text(e, open) {
		ast.Inspect(e, func(n ast.Node) bool {
			if n == e {
				return true
			}
			return l.visit(n)
		})
	}
}

// text collects an expression that is a text as a whole. It is false when its parts are still to be looked at.
func (l *literals) text(e ast.Expr, open bool) bool {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return l.text(x.X, open)
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			l.add(l.pieces(x), x.Pos(), open)
		}
		return true
	case *ast.BinaryExpr:
		if x.Op != token.ADD || !l.isString(x) {
			return false
		}
		l.add(l.pieces(x), l.start(x), open)
		// Calls among the pieces may hold texts of their own.
		for _, p := range operandsOf(x) {
			if c, ok := ast.Unparen(p).(*ast.CallExpr); ok {
				l.take(c, false)
			}
		}
		return true
	case *ast.CallExpr:
		return l.callText(x, open)
	}
	return false
}

// callText collects the text that a call formats, and those it is handed.
func (l *literals) callText(c *ast.CallExpr, open bool) bool {
	format := -1
	switch name := l.callee(c); name {
	case "fmt.Sprintf":
		format = 0
	case "strings.Join", "WriteString", "fmt.Fprintf", "strings.Replace", "strings.ReplaceAll", "Rebind":
		for _, a := range c.Args {
			l.take(a, name != "Rebind")
		}
		l.take(c.Fun, false)
		return true
	default:
		return false
	}
	if len(c.Args) == 0 || c.Ellipsis.IsValid() {
		return false
	}
	l.add(l.pieces(c), l.start(c.Args[format]), open)
	for _, a := range c.Args[1:] {
		l.take(a, false)
	}
	return true
}

// callee names the functions that make texts of texts.
func (l *literals) callee(c *ast.CallExpr) string {
	sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	f, ok := l.pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil {
		return ""
	}
	if f.Signature().Recv() != nil {
		return f.Name()
	}
	return f.Pkg().Path() + "." + f.Name()
}

func (l *literals) isString(e ast.Expr) bool {
	t := l.pass.TypesInfo.TypeOf(e)
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

func operandsOf(e ast.Expr) []ast.Expr {
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op == token.ADD {
		return append(operandsOf(b.X), operandsOf(b.Y)...)
	}
	return []ast.Expr{e}
}

// pieces is the text of an expression, with holes where it is not constant.
func (l *literals) pieces(e ast.Expr) string { return l.piecesDepth(e, 0) }

func (l *literals) piecesDepth(e ast.Expr, depth int) string {
	hole := string(rune(sqltext.Hole))
	if depth > 8 {
		return hole
	}
	e = ast.Unparen(e)
	if tv := l.pass.TypesInfo.Types[e]; tv.Value != nil {
		switch tv.Value.Kind() {
		case constant.String:
			return constant.StringVal(tv.Value)
		case constant.Int:
			return tv.Value.ExactString()
		}
		return hole
	}
	switch x := e.(type) {
	case *ast.BinaryExpr:
		if x.Op == token.ADD && l.isString(x) {
			return l.piecesDepth(x.X, depth+1) + l.piecesDepth(x.Y, depth+1)
		}
	case *ast.CallExpr:
		if l.callee(x) == "fmt.Sprintf" && len(x.Args) > 0 && !x.Ellipsis.IsValid() {
			var args []string
			for _, a := range x.Args[1:] {
				args = append(args, l.piecesDepth(a, depth+1))
			}
			return formatText(l.piecesDepth(x.Args[0], depth+1), args)
		}
	case *ast.Ident:
		// A variable of the package that is declared with a text and never set again.
		o, ok := l.pass.TypesInfo.Uses[x].(*types.Var)
		if d := l.decls[o]; ok && d != nil && o.Parent() == l.pass.Pkg.Scope() && !l.set[o] && l.isString(d) {
			return l.piecesDepth(d, depth+1)
		}
	}
	return hole
}

// start is where the text of an expression starts: its first literal, that of a constant in its declaration.
func (l *literals) start(e ast.Expr) token.Pos {
	first := ast.Unparen(operandsOf(e)[0])
	if c, ok := first.(*ast.CallExpr); ok && l.callee(c) == "fmt.Sprintf" && len(c.Args) > 0 {
		return l.start(c.Args[0])
	}
	if id, ok := first.(*ast.Ident); ok {
		if d := l.decls[l.pass.TypesInfo.Uses[id]]; d != nil {
			return l.start(d)
		}
	}
	return first.Pos()
}

// add keeps a text that holds statements somebody may ask about.
func (l *literals) add(s string, at token.Pos, open bool) {
	if !sqltext.MayBeSQL(s) {
		return
	}
	if open {
		s += string(rune(sqltext.Hole))
	}
	for _, st := range sqltext.Parse(s) {
		if asked(st) {
			l.out = append(l.out, SQLText{Text: s, Pos: l.pos(at), Fn: l.fn, Name: l.name, From: l.from, To: l.to, Gen: l.gen})
			return
		}
	}
}

// asked reports whether a statement is one that makes, fills or empties a table.
func asked(st sqltext.Statement) bool {
	switch st.Kind {
	case sqltext.Unknown, sqltext.Other, sqltext.Begin, sqltext.Commit, sqltext.Rollback, sqltext.Savepoint, sqltext.Update:
		return false
	case sqltext.Select:
		return st.Writes()
	}
	return true
}

// formatText is what fmt.Sprintf makes of a format and its arguments' texts.
func formatText(f string, args []string) string {
	var b strings.Builder
	n := 0
	arg := func() string {
		n++
		if n <= len(args) {
			return args[n-1]
		}
		return string(rune(sqltext.Hole))
	}
	for i := 0; i < len(f); i++ {
		if f[i] != '%' || i+1 >= len(f) {
			b.WriteByte(f[i])
			continue
		}
		j := i + 1
		for j < len(f) && strings.IndexByte("+-# 0123456789.[]*", f[j]) >= 0 {
			if f[j] == '[' {
				if k := strings.IndexByte(f[j:], ']'); k > 1 {
					n = atoi(f[j+1:j+k]) - 1
				}
			}
			j++
		}
		switch {
		case j >= len(f):
		case f[j] == '%':
			b.WriteByte('%')
		default:
			b.WriteString(arg())
		}
		i = j
	}
	return b.String()
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' || n > 1<<20 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}
