package dedupsql

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

const clause = " ON CONFLICT DO NOTHING"

// addClause is the change that gives an INSERT its ON CONFLICT DO NOTHING. With the clause a repeat is no error but zero
// rows, so it is right only where these already decide: in the very function, and in a way that can be seen. It is
// offered for a literal of PostgreSQL's that is the argument of the call which executes it.
func addClause(f flow.SQLFinding, read func(name string) ([]byte, error)) (rule.Fix, bool) {
	if f.Fault != flow.NoClause || read == nil || !strings.HasSuffix(f.Pos.File, ".go") {
		return rule.Fix{}, false
	}
	src, err := read(f.Pos.File)
	if err != nil {
		return rule.Fix{}, false
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, f.Pos.File, src, parser.SkipObjectResolution)
	if err != nil {
		return rule.Fix{}, false
	}
	path := pathTo(fset, file, int(f.Pos.Line), int(f.Pos.Col))
	if len(path) < 3 {
		return rule.Fix{}, false
	}
	lit := path[0].(*ast.BasicLit)
	offset, ok := afterInsert(lit)
	if !ok || !zeroRowsDecide(path) {
		return rule.Fix{}, false
	}
	at := fset.PositionFor(lit.Pos()+token.Pos(1+offset), false)
	posn := f.Pos.File + ":" + strconv.Itoa(at.Line) + ":" + strconv.Itoa(at.Column)
	return rule.Fix{Message: "add ON CONFLICT DO NOTHING", Edits: []rule.Edit{{Posn: posn, End: posn, New: clause}}}, true
}

// pathTo is the string literal at a place, and the nodes around it from the inside out; nil when there is none.
func pathTo(fset *token.FileSet, file *ast.File, line, column int) []ast.Node {
	var stack, path []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if p := fset.PositionFor(lit.Pos(), false); p.Line == line && p.Column == column {
				for i := len(stack) - 1; i >= 0; i-- {
					path = append(path, stack[i])
				}
			}
		}
		return true
	})
	return path
}

// afterInsert is where the clause goes in a literal, in bytes behind its quote: at the end of its only statement, which
// is a plain INSERT with placeholders of PostgreSQL's.
func afterInsert(lit *ast.BasicLit) (int, bool) {
	text, err := strconv.Unquote(lit.Value)
	if err != nil || text != lit.Value[1:len(lit.Value)-1] {
		return 0, false // Offsets in the text are not those in the source.
	}
	all := sqltext.Parse(text)
	if len(all) != 1 {
		return 0, false
	}
	st := all[0]
	if st.Kind != sqltext.Insert || st.Open || st.Cut || len(st.With) > 0 || len(st.Returning) > 0 || st.Source != nil {
		return 0, false
	}
	uses := st.Uses()
	for _, u := range uses {
		if u.Param.Style != sqltext.Dollar || text[u.Param.Offset] != '$' {
			return 0, false
		}
	}
	return st.Offset + len(st.Text), len(uses) > 0
}

// zeroRowsDecide tells whether the function that executes a literal asks for the number of rows, and leaves the work
// alone when it is zero. path is as [pathTo] returns it.
func zeroRowsDecide(path []ast.Node) bool {
	call, ok := path[1].(*ast.CallExpr)
	if !ok {
		return false
	}
	assign, ok := path[2].(*ast.AssignStmt)
	if !ok || len(assign.Rhs) != 1 || len(assign.Lhs) != 2 {
		return false
	}
	executor := root(call.Fun)
	result, ok := assign.Lhs[0].(*ast.Ident)
	block, isBlock := path[3].(*ast.BlockStmt)
	if !ok || result.Name == "_" || executor == "" || !isBlock {
		return false
	}
	rows := rowCount{result: result.Name}
	after := false
	for i, s := range block.List {
		if s == ast.Stmt(assign) {
			after = true
			continue
		}
		if !after {
			continue
		}
		if again, ok := s.(*ast.AssignStmt); ok && rows.assigned(again) {
			continue
		}
		if ret, ok := s.(*ast.ReturnStmt); ok {
			return len(ret.Results) > 1 && rows.compared(ret.Results[0]) != sameEitherWay
		}
		if branch, ok := s.(*ast.IfStmt); ok && rows.stopsIn(branch) {
			return mentions(block.List[i+1:], executor)
		}
		if !errorCheck(s) {
			return false // Something happens before the number is asked for.
		}
	}
	return false
}

// A rowCount knows by which names the number of rows goes.
type rowCount struct {
	result string // of the call that executes
	number string // a variable that holds RowsAffected
}

// assigned notes `n, err := result.RowsAffected()`.
func (r *rowCount) assigned(s *ast.AssignStmt) bool {
	if len(s.Rhs) != 1 || !r.asks(s.Rhs[0]) {
		return false
	}
	n, ok := s.Lhs[0].(*ast.Ident)
	if ok && n.Name != "_" {
		r.number = n.Name
	}
	return ok
}

// asks tells whether an expression is result.RowsAffected().
func (r *rowCount) asks(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "RowsAffected" && isNamed(sel.X, r.result)
}

// What a comparison of the number of rows comes to.
type meaning int

const (
	sameEitherWay meaning = iota // it is no such comparison
	noRows                       // true for zero rows
	someRows                     // false for zero rows
)

func (r *rowCount) compared(e ast.Expr) meaning {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	if !ok || !r.asks(b.X) && !(r.number != "" && isNamed(b.X, r.number)) {
		return sameEitherWay
	}
	lit, ok := b.Y.(*ast.BasicLit)
	if !ok {
		return sameEitherWay
	}
	switch b.Op.String() + lit.Value {
	case "==0", "<1", "<=0", "!=1":
		return noRows
	case "!=0", ">0", ">=1", "==1":
		return someRows
	}
	return sameEitherWay
}

// stopsIn tells whether a statement leaves the function when there are zero rows.
func (r *rowCount) stopsIn(s *ast.IfStmt) bool {
	if s.Init != nil {
		if init, ok := s.Init.(*ast.AssignStmt); !ok || !r.assigned(init) {
			return false
		}
	}
	return s.Else == nil && leaves(s.Body) && r.stopsAt(s.Cond)
}

// stopsAt tells whether a condition is true for zero rows, whatever else it asks.
func (r *rowCount) stopsAt(e ast.Expr) bool {
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op == token.LOR {
		return r.stopsAt(b.X) || r.stopsAt(b.Y)
	}
	return r.compared(e) == noRows
}

// leaves tells whether a block ends by leaving the function or going on with the next round of its loop.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch s := b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok == token.CONTINUE
	}
	return false
}

// errorCheck tells whether a statement is `if err != nil { ... return }`.
func errorCheck(s ast.Stmt) bool {
	branch, ok := s.(*ast.IfStmt)
	if !ok || branch.Init != nil || branch.Else != nil || !leaves(branch.Body) {
		return false
	}
	b, ok := branch.Cond.(*ast.BinaryExpr)
	return ok && b.Op == token.NEQ && isNamed(b.Y, "nil")
}

// mentions tells whether a name is used for more than to end a transaction: then the work that the INSERT guards is in
// these very statements, and not with a caller that zero rows would have to be told.
func mentions(stmts []ast.Stmt, name string) bool {
	found := false
	for _, s := range stmts {
		ast.Inspect(s, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Commit" || sel.Sel.Name == "Rollback") {
				return false
			}
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				found = true
			}
			return !found
		})
	}
	return found
}

// root is the name of the innermost part of a selector that executes: s.db of s.db.Exec has it from db, tx from
// tx.Exec; "" for what is no chain of names.
func root(e ast.Expr) string {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch x := sel.X.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

func isNamed(e ast.Expr, name string) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	return ok && id.Name == name
}
