package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// build does what a query builder's call does: it collects, and runs when it is told to.
func (w *walker) build(ins *Instr, row *know.Row, recv *Value, args []*Value) []exit {
	ch := *w.chainOf(recv)
	if t := w.txOf(recv); t != nil {
		ch.tx = t
	}
	name := ins.Call.Name
	switch row.Kind {
	case know.BuildInsert, know.BuildUpdate, know.BuildDelete, know.BuildSelect:
		ch.kind, ch.insPos = row.Kind, ins.Call.At
		ch.steps = nil
		if row.Kind == know.BuildSelect && len(args) > 0 {
			ch.steps = []step{{"Columns", args, ins.Call.At}}
		}
		if row.Arg >= 0 {
			ch.table = text(at(args, row.Arg))
		}
		return []exit{{[]*Value{w.chained(ins, &ch)}, w.st}}
	case know.BuildRaw:
		ch.kind, ch.text, ch.binds, ch.insPos = row.Kind, at(args, row.Arg), w.variadic(args, row.Arg2), ins.Call.At
		return []exit{{[]*Value{w.chained(ins, &ch)}, w.st}}
	case know.BuildStep:
		ch.steps = append(ch.steps[:len(ch.steps):len(ch.steps)], step{name, args, ins.Call.At})
		switch name {
		case "Model":
			ch.table = w.tableOf(at(args, 0))
		case "Into", "Table", "From":
			if s := at(args, 0); s.K == VStr {
				ch.table = s.S
			}
		}
		if name == "RunWith" || name == "Conn" {
			ch.tx, ch.root = w.txOf(at(args, 0)), at(args, 0)
		}
		return []exit{{[]*Value{w.chained(ins, &ch)}, w.st}}
	}
	if recv != nil && recv.K == VRow {
		return w.scan(ins, recv, w.variadic(args, 0))
	}
	for _, a := range args {
		if t := w.txOf(a); t != nil && ch.tx == nil {
			ch.tx = t
		}
	}
	if ch.tx == nil && ch.root != nil {
		w.handle = ch.root
	}
	if row.Kind == know.BuildText {
		return []exit{{w.builtText(ins, &ch), w.st}}
	}
	stmt, binds := ch.text, ch.binds
	if ch.kind != know.BuildRaw {
		var txt string
		txt, binds = w.render(&ch)
		stmt = strVal(txt, Taint{})
	}
	handle := &Value{K: VRef, O: w.in.newObject(nil)}
	handle.O.Tx, handle.O.Chain = ch.tx, &ch
	how := know.SQLExec
	switch {
	case strings.HasPrefix(name, "QueryRow"):
		how = know.SQLQueryRow
	case strings.HasPrefix(name, "Query"):
		how = know.SQLQuery
	case strings.HasPrefix(name, "Scan"), name == "Count", name == "Exists":
		how = know.SQLGet
	}
	out := w.runSQL(ins, how, handle, stmt, binds, nil)
	if how == know.SQLGet && strings.HasPrefix(name, "Scan") {
		w.putFound(out, &ch, args)
	}
	if how == know.SQLGet && len(ins.Call.Res) > 1 {
		for i := range out {
			out[i].vals = fit(ins.Call, top, out[i].vals[len(out[i].vals)-1])
		}
	}
	return out
}

// builtText is a collected statement as it is handed to somebody else who runs it: its text and its arguments.
func (w *walker) builtText(ins *Instr, ch *chain) []*Value {
	txt, binds := w.render(ch)
	q := strVal(txt, Taint{})
	q.O = w.in.newObject(nil)
	q.O.Chain = ch
	return w.textArgs(ins, q, binds)
}

// textArgs is a statement's text, its arguments, and no error.
func (w *walker) textArgs(ins *Instr, text *Value, binds []*Value) []*Value {
	list := &Value{K: VRef, O: w.in.newObject(nil)}
	list.O.Local = true
	for i, b := range binds {
		w.st.set(cell{list.O.id, "[" + itoa(i) + "]"}, b)
	}
	out := []*Value{text, list, nilVal}
	return out[:min(len(out), len(ins.Call.Res))]
}

// putFound puts what a query found into the model it was made for, or into what it was told to scan into.
func (w *walker) putFound(out []exit, ch *chain, args []*Value) {
	dests := w.variadic(args, 1)
	if len(args) == 1 {
		dests = w.variadic(args, 0)
		if len(dests) == 1 && (dests[0].O == nil || dests[0].O.Ctx != nil || dests[0].K != VRef) {
			dests = nil // nothing but a context
		}
	}
	if len(dests) == 0 {
		for _, s := range ch.steps {
			if s.name == "Model" {
				dests = s.args
			}
		}
	}
	t := Taint{Bits: FromRow}.join(w.column(ch.table, "*"))
	for i := range out {
		n := len(out[i].vals)
		if n == 0 || out[i].vals[n-1].K != VNil {
			continue
		}
		sub := *w
		sub.st = out[i].st
		for _, d := range dests {
			switch {
			case d.K != VRef || d.O == nil:
			case d.O.T != nil && d.O.T.Kind == KSlice && d.Path == "":
				sub.st.clear(d.O, "")
				sub.st.set(cell{d.O.id, ""}, &Value{K: VNotNil, T: t})
			default:
				sub.fillAll(d, t)
			}
		}
		out[i].st = sub.st
	}
}

// render writes a collected statement as SQL, so that one judge judges all.
func (w *walker) render(ch *chain) (string, []*Value) {
	hole := string(rune(sqltext.Hole))
	table := ch.table
	if table == "" {
		table = hole
	}
	var cols, tail, where, set []string
	var vals, binds, setBinds []*Value
	for _, s := range ch.steps {
		list := w.variadic(s.args, 0)
		switch s.name {
		case "Columns", "Column":
			for _, v := range list {
				cols = append(cols, text(v))
			}
		case "Values", "Value":
			vals = append(vals, list...)
		case "Suffix", "On", "SuffixExpr":
			pre := ""
			if s.name == "On" {
				pre = "ON "
			}
			tail = append(tail, pre+text(at(s.args, 0)))
		case "Returning":
			tail = append(tail, "RETURNING "+text(at(s.args, 0)))
		case "Ignore":
			tail = append(tail, "ON CONFLICT DO NOTHING")
		case "Options":
			if strings.EqualFold(text(at(list, 0)), "IGNORE") {
				tail = append(tail, "ON CONFLICT DO NOTHING")
			}
		case "Model":
			m := at(s.args, 0)
			if m.O != nil && ch.kind == know.BuildInsert {
				for _, f := range w.fieldNames(m) {
					cols = append(cols, snake(f))
					vals = append(vals, w.find(m.O, join(w.pathAt(m), f), nil, 0))
				}
			}
		case "Where", "WherePK":
			c, b := w.whereText(s)
			where = append(where, c)
			binds = append(binds, b...)
		case "Set", "SetMap", "SetColumn":
			x := at(s.args, 0)
			if x.K == VStr && len(s.args) > 1 && !strings.Contains(x.S, "=") {
				v := at(s.args, 1)
				if v.expr != "" {
					set = append(set, x.S+" = "+v.expr)
					setBinds = append(setBinds, v.Elems...)
				} else {
					set = append(set, x.S+" = ?")
					setBinds = append(setBinds, v)
				}
			} else if fields, whole := w.document(x); whole && len(fields) > 0 {
				for _, f := range fields {
					if f.val.expr != "" {
						set = append(set, f.name+" = "+f.val.expr)
						setBinds = append(setBinds, f.val.Elems...)
						continue
					}
					set = append(set, f.name+" = ?")
					setBinds = append(setBinds, f.val)
				}
			} else {
				set = append(set, text(x))
				if x.K == VStr {
					setBinds = append(setBinds, w.variadic(s.args, 1)...)
				}
			}
		}
	}
	var b strings.Builder
	switch ch.kind {
	case know.BuildInsert:
		b.WriteString("INSERT INTO " + table)
		if len(cols) > 0 {
			b.WriteString(" (" + strings.Join(cols, ", ") + ")")
		}
		b.WriteString(" VALUES (")
		for i := range vals {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString("?")
		}
		b.WriteString(") " + strings.Join(tail, " "))
		for i, v := range vals {
			if v == nil {
				vals[i] = top
			}
		}
		return b.String(), vals
	case know.BuildUpdate:
		b.WriteString("UPDATE " + table + " SET " + strings.Join(set, ", "))
	case know.BuildDelete:
		b.WriteString("DELETE FROM " + table)
	default:
		what := "1"
		if len(cols) > 0 {
			what = strings.Join(cols, ", ")
		}
		b.WriteString("SELECT " + what + " FROM " + table)
	}
	if len(where) > 0 {
		b.WriteString(" WHERE " + strings.Join(where, " AND "))
	}
	b.WriteString(" " + strings.Join(tail, " "))
	return b.String(), append(setBinds, binds...) // as their placeholders stand
}

// whereText is a builder's condition as SQL. squirrel's Eq is a map from columns to values.
func (w *walker) whereText(s step) (string, []*Value) {
	x := at(s.args, 0)
	if x.K == VStr {
		return x.S, w.variadic(s.args, 1)
	}
	if x.O != nil {
		var conds []string
		var binds []*Value
		for _, f := range w.fieldNames(x) {
			if strings.HasPrefix(f, "{") {
				op := " = ?"
				if strings.HasSuffix(x.Dyn, ".Lt") || strings.HasSuffix(x.Dyn, ".LtOrEq") {
					op = " < ?"
				} else if strings.HasSuffix(x.Dyn, ".NotEq") {
					op = " <> ?"
				}
				conds = append(conds, strings.Trim(f, "{}")+op)
				binds = append(binds, w.find(x.O, join(w.pathAt(x), f), nil, 0))
			}
		}
		if len(conds) > 0 {
			return strings.Join(conds, " AND "), binds
		}
	}
	return string(rune(sqltext.Hole)), nil
}

// snake writes a field's name as a column's.
func snake(s string) string { return strings.Join(know.Words(s), "_") }
