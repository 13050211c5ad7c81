package oracle_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// ownView says what sqltext sees, in the words of pgView.
func ownView(st *sqltext.Statement) view {
	v := view{kind: st.Kind.String()}
	switch st.Kind {
	case sqltext.Insert:
		v.ownInsert(st)
	case sqltext.Update, sqltext.Delete:
		v.add("table %s", tableName(st.Table))
		v.ownWith(st)
		v.ownSet(st.Set)
		v.ownFrom(st.From)
		v.ownWhere(st.Where)
		v.list("returning", returning(st))
	case sqltext.Select:
		v.ownSelect(st)
	case sqltext.Schedule, sqltext.PartitionCare:
		if len(st.Outputs) > 0 {
			v.kind = "Select"
			v.ownSelect(st)
		}
	case sqltext.Merge:
		v.add("table %s", tableName(st.Table))
		v.add("whens %d", len(st.When))
	case sqltext.CreateTable, sqltext.CreatePartition:
		v.ownTable(st)
	case sqltext.CreateIndex:
		x := st.Index
		v.add("table %s", tableName(st.Table))
		v.add("unique %v concurrently %v partial %v", x.Unique, x.Concurrently, x.Partial)
		v.list("index on", x.Columns)
	case sqltext.DropTable, sqltext.DropIndex:
		var names []string
		for _, n := range st.Drops {
			names = append(names, tableName(n))
		}
		v.list("drops", names)
	case sqltext.AlterTable, sqltext.DropPartition:
		if len(st.Outputs) > 0 {
			v.kind = "Select"
			v.ownSelect(st)
			break
		}
		v.ownAlter(st)
	}
	return v
}

func tableName(n sqltext.Name) string {
	if n.Schema != "" {
		return n.Schema + "." + n.Name
	}
	return n.Name
}

func returning(st *sqltext.Statement) []string {
	var out []string
	for _, r := range st.Returning {
		if r == "" {
			r = "?"
		}
		out = append(out, r)
	}
	return out
}

func (v *view) ownInsert(st *sqltext.Statement) {
	v.add("table %s", tableName(st.Table))
	v.ownWith(st)
	v.list("columns", st.Columns)
	for _, row := range st.Rows {
		var vals []string
		for _, e := range row {
			vals = append(vals, ownValue(e))
		}
		v.add("row %s", strings.Join(vals, ", "))
	}
	if st.Source != nil {
		v.add("source")
		v.ownSelect(st.Source)
	}
	c := st.Conflict
	if c.Action != sqltext.NoAction {
		v.add("conflict %v", c.Action)
		v.list("target", c.Columns)
		if c.Constraint != "" {
			v.add("constraint %s", c.Constraint)
		}
		if c.Constraint != "" || c.Columns != nil {
			v.add("target where %v", c.TargetWhere)
		}
		v.ownSet(c.Set)
		v.ownWhere(c.Where)
	}
	v.list("returning", returning(st))
}

func ownValue(e sqltext.Expr) string {
	switch e.Class {
	case sqltext.ParamExpr:
		if e.Param.Style == sqltext.Named {
			return "else" // sqlc.arg(x), a function to PostgreSQL
		}
		return fmt.Sprintf("param %d", e.Param.Ordinal)
	case sqltext.LiteralExpr:
		return "literal"
	case sqltext.DefaultExpr:
		return "default"
	}
	return "else"
}

func (v *view) ownSet(set []sqltext.Assignment) {
	for _, a := range set {
		var cols, params []string
		for _, c := range a.Value.Columns {
			cols = append(cols, strings.ToLower(c.Name))
		}
		for _, p := range a.Value.Params {
			params = append(params, fmt.Sprint(p.Ordinal))
		}
		slices.Sort(cols)
		slices.Sort(params)
		v.add("set %s = cols %v params %v sub %v", a.Column, cols, params, a.Value.Sub != nil)
	}
}

func (v *view) ownWith(st *sqltext.Statement) {
	for _, c := range st.With {
		inner := ownView(c.Stmt)
		v.add("with %s %s", c.Name, inner.kind)
		for _, l := range inner.lines {
			v.lines = append(v.lines, "  "+l)
		}
	}
}

func (v *view) ownFrom(refs []sqltext.TableRef) {
	for _, r := range refs {
		switch {
		case r.Func != "":
			v.add("from a function")
		case r.Table.IsZero():
			v.add("from a query")
		default:
			v.add("from %s", tableName(r.Table))
		}
	}
}

func (v *view) ownWhere(w sqltext.Where) {
	v.add("where %v", w.Present)
	for _, c := range w.Conds {
		if c.Op != sqltext.Equal || c.Column.Name == "" {
			continue
		}
		switch c.Value.Class {
		case sqltext.ParamExpr:
			v.add("%s = $%d", c.Column.Name, c.Value.Param.Ordinal)
		case sqltext.ColumnExpr, sqltext.ExcludedExpr:
			v.add("%s = %s", c.Column.Name, c.Value.Column.Name)
		}
	}
}

func (v *view) ownSelect(st *sqltext.Statement) {
	v.ownWith(st)
	if len(st.Arms) > 0 {
		v.add("compound")
		return
	}
	if len(st.Rows) == 0 {
		v.add("outputs %d", len(st.Outputs))
	}
	v.ownFrom(st.From)
	v.ownWhere(st.Where)
	v.add("limit %v locks %v", st.Limit, st.Locks)
}

func (v *view) ownTable(st *sqltext.Statement) {
	d := st.Def
	if st.Kind == sqltext.CreatePartition {
		v.add("table %s of %s", tableName(st.Table), tableName(d.PartitionOf))
	} else {
		v.add("table %s", tableName(st.Table))
	}
	if d.FromQuery {
		v.add("from a query")
		return
	}
	v.add("temporary %v if not exists %v", d.Temporary, d.IfNotExists)
	var cols, keys []string
	for _, c := range d.Columns {
		cols = append(cols, c.Name+mark(c.NotNull, " not null")+mark(c.HasDefault, " default"))
	}
	for _, k := range d.Keys {
		keys = append(keys, ownKey(k))
	}
	v.list("columns", cols)
	slices.Sort(keys)
	v.list("keys", keys)
	if d.PartitionBy != "" {
		v.add("partition by %s", d.PartitionBy)
	}
}

func ownKey(k sqltext.Key) string {
	if k.Primary {
		return "primary(" + strings.Join(k.Columns, ",") + ")"
	}
	return "unique(" + strings.Join(k.Columns, ",") + ")"
}

func (v *view) ownAlter(st *sqltext.Statement) {
	v.add("table %s", tableName(st.Table))
	for _, a := range st.Alter {
		switch a.Kind {
		case sqltext.DetachPartition:
			v.add("detach %s", tableName(a.Table))
		case sqltext.AttachPartition:
			v.add("attach %s", tableName(a.Table))
		case sqltext.AddKey:
			v.add("add %s", ownKey(a.Key))
		case sqltext.AddColumn:
			v.add("add column %s", a.Column.Name)
		case sqltext.DropConstraint:
			v.add("drop constraint %s", a.Name)
		case sqltext.DropColumn:
			v.add("drop column %s", a.Name)
		case sqltext.SetDefault:
			v.add("default of %s %v", a.Column.Name, a.Column.HasDefault)
		case sqltext.RenameTable:
			v.add("rename to %s", a.Table.Name)
		case sqltext.RenameColumn:
			v.add("rename %s to %s", a.Name, a.Column.Name)
		}
	}
}
