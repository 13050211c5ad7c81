package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// gormText is a statement of GORM's that is being written as SQL, so that one judge judges all.
type gormText struct {
	sets, conds []string
	cols        []docField // what is set, by column
	binds       []*Value
}

func (g *gormText) bind(v *Value) string {
	g.binds = append(g.binds, v)
	return "$" + itoa(len(g.binds))
}

// fill puts arguments where a text has question marks.
func (g *gormText) fill(text string, args []*Value) string {
	var b strings.Builder
	for _, r := range text {
		if r == '?' && len(args) > 0 {
			b.WriteString(g.bind(args[0]))
			args = args[1:]
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (g *gormText) set(col string, v *Value) {
	switch {
	case v.expr != "":
		g.sets = append(g.sets, column(col)+" = "+g.fill(v.expr, v.Elems))
	case v.Dyn == "gorm.io/gorm/clause.Expr":
		g.sets = append(g.sets, column(col)+" = "+column(col)+" + 1")
	default:
		g.sets = append(g.sets, column(col)+" = "+g.bind(v))
	}
	g.cols = append(g.cols, docField{col, v})
}

// where adds the conditions of a chain, and of a call's own arguments.
func (w *walker) gormWhere(g *gormText, ch *chain, inline []*Value) {
	add := func(cond *Value, args []*Value) {
		if cond.K == VStr && strings.ContainsAny(cond.S, "=<>? ") {
			g.conds = append(g.conds, "("+g.fill(cond.S, args)+")")
			return
		}
		if fields, _ := w.document(cond); len(fields) > 0 {
			for _, f := range fields {
				g.conds = append(g.conds, column(f.name)+" = "+g.bind(f.val))
			}
			return
		}
		if cond.O == nil || !cond.O.Local {
			if cond.K != VRef {
				g.conds = append(g.conds, "id = "+g.bind(cond)) // a primary key
			}
			return
		}
		for _, f := range w.fieldNames(cond) {
			if v := w.find(cond.O, join(w.pathAt(cond), f), nil, 0); v != nil && !strings.ContainsAny(f, "[{?.") && f != "" {
				g.conds = append(g.conds, column(f)+" = "+g.bind(v))
			}
		}
	}
	for _, s := range ch.steps {
		if s.name == "Where" {
			add(at(s.args, 0), w.variadic(s.args, 1))
		}
	}
	if len(inline) > 0 {
		add(inline[0], inline[1:])
	}
}

// gormUpdate sets values. Where its conditions name the state it leaves, a repetition meets no row.
func (w *walker) gormUpdate(ins *Instr, ch *chain, table string, args []*Value) []exit {
	desc := "UPDATE " + table
	g := w.gormSets(ins.Call.Name, args)
	w.gormWhere(g, ch, nil)
	var c *sqlCall
	if len(g.sets) > 0 {
		text := "UPDATE t SET " + strings.Join(g.sets, ", ")
		if len(g.conds) > 0 {
			text += " WHERE " + strings.Join(g.conds, " AND ")
		}
		if stmts := w.in.prog.parse(text); len(stmts) == 1 && stmts[0].Kind == sqltext.Update {
			c = &sqlCall{w: w, ins: ins, st: &stmts[0], binds: g.binds}
		}
	}
	switch {
	case c != nil && c.st.StateGuardedIf(c.assumed()):
		s := &site{Pos: ins.Call.At, Desc: desc, Store: "state", Table: table, Tx: ch.tx}
		if w.check(s) == outDup {
			return w.gormOut(ins, ch, nilVal, 0, s)
		}
		w.naturally(ins, EffDB, desc, table, ch.tx)
		w.gormLeaves(ch, table, g, c)
		return w.gormOut(ins, ch, nilVal, 1, s)
	case w.relative(args), c != nil && !w.gormRepeats(ch, table, g, c):
		w.effect(ins, EffDB, desc, ch.tx)
	default:
		w.naturally(ins, EffDB, desc, table, ch.tx)
	}
	if c != nil {
		w.gormLeaves(ch, table, g, c)
	}
	return w.gormOut(ins, ch, nilVal, -1, nil)
}

// gormSets is what Update and Updates are told to set.
func (w *walker) gormSets(name string, args []*Value) *gormText {
	g := &gormText{}
	first := at(args, 0)
	if name == "Update" || name == "UpdateColumn" {
		if first.K == VStr && !hasHole(first.S) {
			g.set(first.S, at(args, 1))
		}
		return g
	}
	fields, _ := w.document(first)
	for _, f := range fields {
		g.set(f.name, f.val)
	}
	if len(fields) == 0 && first.O != nil && first.O.Local {
		for _, f := range w.fieldNames(first) {
			if v := w.find(first.O, join(w.pathAt(first), f), nil, 0); v != nil && f != "" && !strings.ContainsAny(f, "[{?.") {
				g.set(snake(f), v)
			}
		}
	}
	return g
}

// gormRow are the columns by which the row of a chain is found: its conditions, and those by which its model was read.
func (w *walker) gormRow(ch *chain, c *sqlCall) map[string]*Value {
	keys := c.equals(c.st.Where)
	for _, s := range ch.steps {
		if s.name != "Model" {
			continue
		}
		for _, r := range w.deep(at(s.args, 0)).Reads {
			if !r.made {
				for col, k := range r.row.keys {
					keys[col] = k
				}
			}
		}
		if m := at(s.args, 0); m.O != nil {
			if id := w.find(m.O, join(w.pathAt(m), "ID"), nil, 0); id != nil && keys["id"] == nil {
				keys["id"] = id
			}
		}
	}
	return keys
}

func (w *walker) gormRepeats(ch *chain, table string, g *gormText, c *sqlCall) bool {
	keys := w.gormRow(ch, c)
	for _, f := range g.cols {
		if w.writtenBack(f.val, table, f.name, keys) {
			return false
		}
	}
	return true
}

func (w *walker) gormLeaves(ch *chain, table string, g *gormText, c *sqlCall) {
	keys := w.gormRow(ch, c)
	for _, f := range g.cols {
		if f.val.expr == "" {
			w.remain(table, f.name, f.val, keys)
		}
	}
}

// gormRead is the row that First and its like read.
func (w *walker) gormRead(ch *chain, table string, inline []*Value) *rowRead {
	g := &gormText{}
	w.gormWhere(g, ch, inline)
	if table == "" {
		return nil
	}
	if len(g.conds) == 0 {
		return newRowRead(table, nil)
	}
	stmts := w.in.prog.parse("SELECT 1 FROM t WHERE " + strings.Join(g.conds, " AND "))
	if len(stmts) != 1 {
		return newRowRead(table, map[string]*Value{"?": top})
	}
	c := &sqlCall{w: w, st: &stmts[0], binds: g.binds}
	return newRowRead(table, c.equals(stmts[0].Where))
}

// gormSaved writes a model back that was read before: what was changed in it is in the row afterwards.
func (w *walker) gormSaved(model *Value, table string) {
	if model.O == nil {
		return
	}
	for _, r := range w.deep(model).Reads {
		if r.row.table != strings.ToLower(table) {
			continue
		}
		for _, f := range w.fieldNames(model) {
			v := w.st.get(cell{model.O.id, join(w.pathAt(model), f)})
			if v != nil && !v.quiet && f != "" && !strings.ContainsAny(f, "[{?.") {
				w.remain(table, f, v, r.row.keys)
			}
		}
		return
	}
}

// adds reports whether the assignments of an upsert compute from the row that is there.
func (w *walker) adds(table string, set *Value) bool {
	if table == "" {
		table = "t"
	}
	fields, _ := w.document(set)
	for _, f := range fields {
		g := &gormText{}
		g.set(f.name, f.val)
		stmts := w.in.prog.parse("UPDATE " + table + " SET " + g.sets[0])
		if len(stmts) != 1 || f.val.expr == "" && f.val.Dyn != "gorm.io/gorm/clause.Expr" {
			continue
		}
		c := &sqlCall{w: w, st: &stmts[0], binds: g.binds}
		if ok, _ := stmts[0].IdempotentIf(c.assumed()); !ok {
			return true
		}
	}
	return false
}

// upsertOf takes the clauses of a Create apart.
func (w *walker) upsertOf(ch *chain, table string) (skips, update, adds bool) {
	for _, s := range ch.steps {
		if s.name != "Clauses" {
			continue
		}
		for _, a := range w.variadic(s.args, 0) {
			if a.O == nil {
				update = update || a.Dyn == "gorm.io/gorm/clause.OnConflict"
				continue
			}
			field := func(name string) *Value { return w.find(a.O, join(w.pathAt(a), name), nil, 0) }
			switch a.Dyn {
			case "gorm.io/gorm/clause.Insert":
				if m := field("Modifier"); m != nil && m.K == VStr && strings.Contains(strings.ToUpper(m.S), "IGNORE") {
					skips = true
				}
			case "gorm.io/gorm/clause.OnConflict":
				if b := field("DoNothing"); b != nil && b.K == VBool && b.I != 0 {
					skips = true
					continue
				}
				update = true
				if set := field("DoUpdates"); set != nil {
					adds = adds || w.adds(table, set)
				}
			}
		}
	}
	return skips, update, adds
}

// assignments is clause.Assignments: it keeps the map it is given.
func (w *walker) assignments(ins *Instr, row *know.Row, args []*Value) []exit {
	return []exit{{[]*Value{at(args, row.Arg)}, w.st}}
}
