package sqltext_test

import (
	"fmt"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// describe says in lines what has been seen in a statement. Holes are shown as ␀.
func describe(st *sqltext.Statement) string {
	d := &description{}
	d.statement(st, "")
	return strings.ReplaceAll(d.String(), "\x00", "␀")
}

type description struct{ strings.Builder }

func (d *description) line(indent, format string, args ...any) {
	fmt.Fprintf(d, indent+format+"\n", args...)
}

func (d *description) statement(st *sqltext.Statement, in string) {
	name := st.Table.Name
	if st.Table.Schema != "" {
		name = st.Table.Schema + " . " + name
	}
	head := strings.TrimSpace(fmt.Sprintf("%v %s", st.Kind, name))
	for _, f := range []struct {
		on   bool
		text string
	}{
		{st.Alias != "", "as " + st.Alias}, {st.Open, "open"}, {st.Limit, "limit"}, {st.Locks, "locks"},
		{st.Routine != "", "routine " + st.Routine}, {st.Query != "", "query " + st.Query},
	} {
		if f.on {
			head += ", " + f.text
		}
	}
	d.line(in, "%s", head)
	in += "  "
	for _, c := range st.With {
		d.line(in, "with %s", c.Name)
		d.statement(c.Stmt, in+"  ")
	}
	d.rows(st, in)
	d.conflict(st, in)
	for _, s := range st.Set {
		d.line(in, "set %s", assignment(s))
	}
	d.sources(st, in)
	d.where(in, "where", st.Where)
	if st.Returning != nil {
		d.line(in, "returning %s", strings.Join(st.Returning, ", "))
	}
	d.definition(st, in)
	for i := range st.Body {
		d.line(in, "body")
		d.statement(&st.Body[i], in+"  ")
	}
	for _, u := range st.Uses() {
		d.line(in, "%s", use(u))
	}
}

func (d *description) rows(st *sqltext.Statement, in string) {
	if st.Columns != nil {
		d.line(in, "columns %s", strings.Join(st.Columns, ", "))
	}
	for _, row := range st.Rows {
		var vals []string
		for _, e := range row {
			vals = append(vals, expr(e))
		}
		d.line(in, "row %s", strings.Join(vals, ", "))
	}
	if st.Source != nil {
		d.line(in, "source")
		d.statement(st.Source, in+"  ")
	}
}

func (d *description) conflict(st *sqltext.Statement, in string) {
	c := st.Conflict
	if c.Action == sqltext.NoAction {
		return
	}
	target := strings.Join(c.Columns, ", ")
	if c.Constraint != "" {
		target = "constraint " + c.Constraint
	}
	d.line(in, "conflict (%s) %v", target, c.Action)
	for _, s := range c.Set {
		d.line(in, "  set %s", assignment(s))
	}
	d.where(in+"  ", "where", c.Where)
}

func (d *description) sources(st *sqltext.Statement, in string) {
	for _, o := range st.Outputs {
		d.line(in, "output %s = %s", o.Name, expr(o.Value))
	}
	if st.Exists != nil {
		d.line(in, "exists (not: %v)", st.NotExists)
		d.statement(st.Exists, in+"  ")
	}
	for _, f := range st.From {
		what := f.Table.Name
		if f.Func != "" {
			what = f.Func + "()"
		}
		d.line(in, "from %s %s outer=%v", what, f.Alias, f.Outer)
		if f.Sub != nil {
			d.statement(f.Sub, in+"  ")
		}
	}
	for _, a := range st.Arms {
		d.line(in, "arm")
		d.statement(a, in+"  ")
	}
	for _, w := range st.When {
		d.line(in, "when matched=%v guarded=%v then %v %s", w.Matched, w.Guarded, w.Action, strings.Join(w.Columns, ", "))
		for _, s := range w.Set {
			d.line(in, "  set %s", assignment(s))
		}
	}
}

func (d *description) where(in, label string, w sqltext.Where) {
	if !w.Present {
		return
	}
	d.line(in, "%s (open: %v, by time: %v)", label, w.Open, w.ByTime)
	d.conds(in+"  ", w.Conds)
}

var opNames = map[sqltext.Op]string{
	sqltext.OtherOp: "other", sqltext.Equal: "=", sqltext.NotEqual: "<>", sqltext.Less: "<", sqltext.LessEqual: "<=",
	sqltext.Greater: ">", sqltext.GreaterEqual: ">=", sqltext.In: "in", sqltext.NotIn: "not in",
	sqltext.Between: "between", sqltext.IsNull: "is null", sqltext.NotNull: "is not null", sqltext.IsTrue: "is true",
	sqltext.IsFalse: "is false", sqltext.Exists: "exists", sqltext.NotExists: "not exists", sqltext.Either: "either",
}

func (d *description) conds(in string, conds []sqltext.Cond) {
	for _, c := range conds {
		var list []string
		for _, e := range c.List {
			list = append(list, expr(e))
		}
		d.line(in, "%s %s %s%s", column(c.Column), opNames[c.Op], expr(c.Value), strings.Join(list, ", "))
		for _, arm := range c.Any {
			d.line(in, "  or")
			d.conds(in+"    ", arm)
		}
		if c.Sub != nil {
			d.statement(c.Sub, in+"  ")
		}
	}
}

func (d *description) definition(st *sqltext.Statement, in string) {
	if def := st.Def; def != nil {
		d.table(def, in)
	}
	if x := st.Index; x != nil {
		d.line(in, "index unique=%v concurrently=%v %s", x.Unique, x.Concurrently, key(x.Key))
	}
	kinds := [...]string{"other", "add key", "add column", "drop constraint", "drop primary key", "drop column", "set default", "change column", "rename table", "rename column", "attach", "detach"}
	for _, a := range st.Alter {
		d.line(in, "%s %s %s | %s | %s using index: %v", kinds[a.Kind], a.Name, a.Table.Name, columnDef(a.Column), key(a.Key), a.UsingIndex)
	}
	for _, n := range st.Drops {
		d.line(in, "drops %s", n.String())
	}
}

func (d *description) table(def *sqltext.TableDef, in string) {
	for _, c := range def.Columns {
		d.line(in, "column %s", columnDef(c))
	}
	for _, k := range def.Keys {
		d.line(in, "%s", key(k))
	}
	if def.PartitionBy != "" {
		d.line(in, "partition by %s (%s)", def.PartitionBy, strings.Join(def.PartitionColumns, ", "))
	}
	if !def.PartitionOf.IsZero() {
		d.line(in, "partition of %v", def.PartitionOf)
	}
	if !def.Like.IsZero() {
		d.line(in, "like %v keys=%v", def.Like, def.LikeKeys)
	}
	d.line(in, "if not exists=%v temporary=%v from query=%v", def.IfNotExists, def.Temporary, def.FromQuery)
}

func columnDef(c sqltext.ColumnDef) string {
	s := c.Name + " " + c.Type
	if c.NotNull {
		s += " not null"
	}
	if c.HasDefault {
		s += " default " + expr(c.Default)
	}
	if c.AutoNumber {
		s += " auto"
	}
	if c.Generated {
		s += " generated"
	}
	return s
}

func key(k sqltext.Key) string {
	s := "key"
	if k.Primary {
		s = "primary key"
	}
	if k.Partial {
		s = "partial " + s
	}
	return fmt.Sprintf("%s %s(%s)", s, k.Name, strings.Join(k.Columns, ", "))
}

func assignment(a sqltext.Assignment) string {
	s := a.Column + " = " + expr(a.Value)
	if a.Self {
		s += " self"
	}
	return s
}

func column(c sqltext.ColumnRef) string {
	if c.Qualifier != "" {
		return c.Qualifier + "." + c.Name
	}
	return c.Name
}

func expr(e sqltext.Expr) string {
	switch e.Class {
	case sqltext.ParamExpr:
		return "param " + param(e.Param)
	case sqltext.LiteralExpr:
		return fmt.Sprintf("literal %d %q", e.Literal.Kind, e.Literal.Value)
	case sqltext.ColumnExpr, sqltext.ExcludedExpr:
		return e.Class.String() + " " + column(e.Column)
	case sqltext.OtherExpr:
		if e.Text == "" {
			return ""
		}
	}
	s := e.Class.String()
	if e.Func != "" {
		s += " " + e.Func + "()"
	}
	if e.Random() {
		s += " random"
	}
	if e.Now() {
		s += " now"
	}
	return s
}

func param(p sqltext.Param) string {
	style := [...]string{"", "$", "?", ":", "%", "piece"}[p.Style]
	if p.Name != "" {
		return style + p.Name
	}
	return fmt.Sprintf("%s%d", style, p.Ordinal)
}

func use(u sqltext.Use) string {
	role := [...]string{"is used otherwise", "is inserted into", "is set to", "is compared with"}[u.Role]
	s := fmt.Sprintf("%s %s", param(u.Param), role)
	if u.Role != sqltext.InOther {
		s += fmt.Sprintf(" %s.%s", u.Table.Name, u.Column)
	}
	if u.Role == sqltext.InWhere {
		s += " " + opNames[u.Op]
	}
	if u.Direct {
		s += " directly"
	}
	return s
}
