package oracle_test

import (
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// A view is what can be asked of both parsers about one statement, as lines of text that are comparable.
type view struct {
	kind  string
	lines []string
}

func (v *view) add(format string, args ...any) {
	v.lines = append(v.lines, strings.ToLower(fmt.Sprintf(format, args...)))
}

// list adds a line for a list, none for an empty one.
func (v *view) list(what string, items []string) {
	if len(items) > 0 {
		v.add("%s %s", what, strings.Join(items, ", "))
	}
}

// pgView says what PostgreSQL sees.
func pgView(n *pg.Node) view {
	v := view{}
	switch s := n.Node.(type) {
	case *pg.Node_InsertStmt:
		v.kind = "Insert"
		v.pgInsert(s.InsertStmt)
	case *pg.Node_UpdateStmt:
		v.kind = "Update"
		v.pgUpdate(s.UpdateStmt)
	case *pg.Node_DeleteStmt:
		v.kind = "Delete"
		v.add("table %s", rangeVar(s.DeleteStmt.Relation))
		v.pgWith(s.DeleteStmt.WithClause)
		v.pgFrom(s.DeleteStmt.UsingClause)
		v.pgWhere(s.DeleteStmt.WhereClause)
		v.list("returning", targets(s.DeleteStmt.ReturningList))
	case *pg.Node_SelectStmt:
		v.kind = "Select"
		v.pgSelect(s.SelectStmt)
	case *pg.Node_MergeStmt:
		v.kind = "Merge"
		v.add("table %s", rangeVar(s.MergeStmt.Relation))
		v.add("whens %d", len(s.MergeStmt.MergeWhenClauses))
	case *pg.Node_TruncateStmt:
		v.kind = "Truncate"
	case *pg.Node_TransactionStmt:
		v.kind = transaction(s.TransactionStmt.Kind)
	case *pg.Node_DoStmt, *pg.Node_CreateFunctionStmt:
		v.kind = "Routine"
	case *pg.Node_CallStmt:
		v.kind = "Call"
	default:
		v.pgDefinition(n)
	}
	return v
}

func transaction(k pg.TransactionStmtKind) string {
	switch k {
	case pg.TransactionStmtKind_TRANS_STMT_BEGIN, pg.TransactionStmtKind_TRANS_STMT_START:
		return "Begin"
	case pg.TransactionStmtKind_TRANS_STMT_COMMIT, pg.TransactionStmtKind_TRANS_STMT_COMMIT_PREPARED:
		return "Commit"
	case pg.TransactionStmtKind_TRANS_STMT_ROLLBACK, pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO, pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_PREPARED:
		return "Rollback"
	case pg.TransactionStmtKind_TRANS_STMT_SAVEPOINT:
		return "Savepoint"
	}
	return ""
}

func (v *view) pgInsert(s *pg.InsertStmt) {
	v.add("table %s", rangeVar(s.Relation))
	v.pgWith(s.WithClause)
	var cols []string
	for _, c := range s.Cols {
		cols = append(cols, c.GetResTarget().Name)
	}
	v.list("columns", cols)
	if sel := s.SelectStmt.GetSelectStmt(); sel != nil {
		if len(sel.ValuesLists) > 0 && sel.WithClause == nil && plain(sel) {
			for _, row := range sel.ValuesLists[:min(len(sel.ValuesLists), sqltext.MaxRows)] {
				var vals []string
				for _, e := range row.GetList().Items {
					vals = append(vals, pgValue(e))
				}
				v.add("row %s", strings.Join(vals, ", "))
			}
		} else {
			v.add("source")
			v.pgSelect(sel)
		}
	}
	if c := s.OnConflictClause; c != nil {
		switch c.Action {
		case pg.OnConflictAction_ONCONFLICT_NOTHING:
			v.add("conflict do nothing")
		case pg.OnConflictAction_ONCONFLICT_UPDATE:
			v.add("conflict do update")
		}
		var target []string
		if c.Infer != nil {
			for _, e := range c.Infer.IndexElems {
				target = append(target, e.GetIndexElem().Name)
			}
			v.list("target", target)
			if c.Infer.Conname != "" {
				v.add("constraint %s", c.Infer.Conname)
			}
			v.add("target where %v", c.Infer.WhereClause != nil)
		}
		v.pgSet(c.TargetList, s.Relation)
		v.pgWhere(c.WhereClause)
	}
	v.list("returning", targets(s.ReturningList))
}

func plain(s *pg.SelectStmt) bool {
	return s.Op == pg.SetOperation_SETOP_NONE && s.LimitCount == nil && s.LimitOffset == nil && len(s.SortClause) == 0
}

func (v *view) pgUpdate(s *pg.UpdateStmt) {
	v.add("table %s", rangeVar(s.Relation))
	v.pgWith(s.WithClause)
	v.pgSet(s.TargetList, s.Relation)
	v.pgFrom(s.FromClause)
	v.pgWhere(s.WhereClause)
	v.list("returning", targets(s.ReturningList))
}

// pgSet adds the assignments with the columns each value mentions. SET t.a is a field of a column t to PostgreSQL; where t
// is the table, or the database of the table, we read what MySQL reads, and PostgreSQL fails to find the column.
func (v *view) pgSet(list []*pg.Node, table *pg.RangeVar) {
	for _, t := range list {
		r := t.GetResTarget()
		if r.Indirection != nil && (r.Name == table.GetRelname() || r.Name == table.GetAlias().GetAliasname()) {
			r.Name = r.Indirection[len(r.Indirection)-1].GetString_().GetSval()
		}
		value := r.Val
		if m := value.GetMultiAssignRef(); m != nil {
			value = m.Source
			if row := value.GetRowExpr(); row != nil && int(m.Colno) <= len(row.Args) && int(m.Ncolumns) == len(row.Args) {
				value = row.Args[m.Colno-1]
			}
		}
		v.add("set %s = %s", r.Name, mentions(value))
	}
}

// mentions lists the columns and parameters of an expression, subselects apart.
func mentions(n *pg.Node) string {
	var cols, params []string
	sub := false
	var visit func(m proto.Message) bool
	visit = func(m proto.Message) bool {
		switch m := m.(type) {
		case *pg.ColumnRef:
			var parts []string
			star := false
			for _, f := range m.Fields {
				parts = append(parts, f.GetString_().GetSval())
				star = star || f.GetAStar() != nil
			}
			if !star {
				cols = append(cols, strings.ToLower(parts[len(parts)-1]))
			}
		case *pg.ParamRef:
			params = append(params, fmt.Sprint(m.Number))
		case *pg.SubLink:
			sub = true
			if m.Testexpr != nil {
				walk(m.Testexpr, visit)
			}
			return false
		}
		return true
	}
	walk(n, visit)
	slices.Sort(cols)
	slices.Sort(params)
	return fmt.Sprintf("cols %v params %v sub %v", cols, params, sub)
}

// walk visits every message of a tree, until visit says not to go deeper.
func walk(m proto.Message, visit func(proto.Message) bool) {
	if m == nil || !m.ProtoReflect().IsValid() || !visit(m) {
		return
	}
	m.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, val protoreflect.Value) bool {
		switch {
		case fd.IsList() && fd.Message() != nil:
			for i := range val.List().Len() {
				walk(val.List().Get(i).Message().Interface(), visit)
			}
		case fd.Message() != nil:
			walk(val.Message().Interface(), visit)
		}
		return true
	})
}

// pgValue says what kind of value stands in a row.
func pgValue(n *pg.Node) string {
	for n.GetTypeCast() != nil && !isBool(n) {
		n = n.GetTypeCast().Arg
	}
	switch {
	case n.GetParamRef() != nil:
		return fmt.Sprintf("param %d", n.GetParamRef().Number)
	case isBool(n):
		return "literal"
	case n.GetAConst() != nil:
		return "literal"
	case isNumber(n):
		return "literal" // +1
	case n.GetSetToDefault() != nil:
		return "default"
	}
	return "else"
}

// isNumber tells a number with any signs before it, casts apart.
func isNumber(n *pg.Node) bool {
	for n.GetTypeCast() != nil && !isBool(n) {
		n = n.GetTypeCast().Arg
	}
	if e := n.GetAExpr(); e != nil && e.Lexpr == nil && len(e.Name) == 1 {
		op := e.Name[0].GetString_().GetSval()
		return (op == "+" || op == "-") && isNumber(e.Rexpr)
	}
	c := n.GetAConst()
	return c.GetIval() != nil || c.GetFval() != nil
}

func isBool(n *pg.Node) bool {
	c := n.GetAConst()
	return c != nil && c.GetBoolval() != nil
}

func (v *view) pgWith(w *pg.WithClause) {
	if w == nil {
		return
	}
	for _, c := range w.Ctes {
		cte := c.GetCommonTableExpr()
		inner := pgView(cte.Ctequery)
		v.add("with %s %s", cte.Ctename, inner.kind)
		for _, l := range inner.lines {
			v.lines = append(v.lines, "  "+l)
		}
	}
}

// pgFrom adds the tables of FROM, the depth-first order being that of the text.
func (v *view) pgFrom(list []*pg.Node) {
	for _, n := range list {
		v.pgFromItem(n)
	}
}

func (v *view) pgFromItem(n *pg.Node) {
	switch {
	case n.GetRangeVar() != nil:
		v.add("from %s", rangeVar(n.GetRangeVar()))
	case n.GetJoinExpr() != nil:
		v.pgFromItem(n.GetJoinExpr().Larg)
		v.pgFromItem(n.GetJoinExpr().Rarg)
	case n.GetRangeSubselect() != nil:
		v.add("from a query")
	case n.GetRangeTableSample() != nil:
		v.pgFromItem(n.GetRangeTableSample().Relation)
	default:
		v.add("from a function")
	}
}

// equals tells = and ==. PostgreSQL takes == for an operator somebody has defined, and has none of its own; in SQLite it
// is =, which is how sqltext reads it.
func equals(e *pg.A_Expr) bool {
	op := e.Name[len(e.Name)-1].GetString_().Sval
	return len(e.Name) == 1 && (op == "=" || op == "==")
}

// unequal tells a <> b and a IS DISTINCT FROM b, nil for anything else: behind NOT, which sqltext follows, they are true
// where a = b is.
func unequal(n *pg.Node) *pg.A_Expr {
	e := n.GetAExpr()
	switch {
	case e == nil || len(e.Name) != 1:
		return nil
	case e.Kind == pg.A_Expr_Kind_AEXPR_OP && e.Name[0].GetString_().Sval == "<>", e.Kind == pg.A_Expr_Kind_AEXPR_DISTINCT:
		return e
	}
	return nil
}

// pgWhere adds the conditions joined by AND that compare a column with a value.
func (v *view) pgWhere(n *pg.Node) {
	v.add("where %v", n != nil)
	v.pgConds(n)
}

func (v *view) pgConds(n *pg.Node) {
	if n == nil {
		return
	}
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg.BoolExprType_AND_EXPR {
		for _, a := range b.Args {
			v.pgConds(a)
		}
		return
	}
	e := n.GetAExpr()
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg.BoolExprType_NOT_EXPR {
		if e = unequal(b.Args[0]); e == nil {
			return
		}
	} else if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP && e.Kind != pg.A_Expr_Kind_AEXPR_NOT_DISTINCT || !equals(e) {
		return
	}
	left, right := []*pg.Node{e.Lexpr}, []*pg.Node{e.Rexpr}
	if l, r := e.Lexpr.GetRowExpr(), e.Rexpr.GetRowExpr(); l != nil && r != nil && len(l.Args) == len(r.Args) {
		left, right = l.Args, r.Args
	}
	for i := range left {
		l, r := pgOperand(left[i]), pgOperand(right[i])
		if strings.HasPrefix(l, "$") {
			l, r = r, l
		}
		if l != "" && r != "" && !strings.HasPrefix(l, "$") {
			v.add("%s = %s", l, r)
		}
	}
}

// pgOperand names a column or parameter of a comparison, "" for anything else.
func pgOperand(n *pg.Node) string {
	for n.GetTypeCast() != nil && !isBool(n) {
		n = n.GetTypeCast().Arg
	}
	switch {
	case n.GetParamRef() != nil:
		return fmt.Sprintf("$%d", n.GetParamRef().Number)
	case n.GetColumnRef() != nil:
		fs := n.GetColumnRef().Fields
		return fs[len(fs)-1].GetString_().GetSval()
	}
	return ""
}

func (v *view) pgSelect(s *pg.SelectStmt) {
	v.pgWith(s.WithClause)
	if s.Op != pg.SetOperation_SETOP_NONE {
		v.add("compound")
		return // the shape of the arms is not compared
	}
	if len(s.ValuesLists) == 0 {
		v.add("outputs %d", len(s.TargetList))
	}
	v.pgFrom(s.FromClause)
	v.pgWhere(s.WhereClause)
	v.add("limit %v locks %v", s.LimitCount != nil, len(s.LockingClause) > 0)
}

func rangeVar(r *pg.RangeVar) string {
	if r.Schemaname != "" {
		return r.Schemaname + "." + r.Relname
	}
	return r.Relname
}

// targets names what RETURNING gives.
func targets(list []*pg.Node) []string {
	var out []string
	for _, n := range list {
		t := n.GetResTarget()
		name := t.Name
		val := t.Val
		for name == "" && val.GetTypeCast() != nil && !isBool(val) {
			val = val.GetTypeCast().Arg
		}
		if ref := val.GetColumnRef(); name == "" && ref != nil {
			last := ref.Fields[len(ref.Fields)-1]
			name = last.GetString_().GetSval()
			if last.GetAStar() != nil {
				name = "*"
			}
		}
		if name == "" {
			name = "?"
		}
		out = append(out, name)
	}
	return out
}
