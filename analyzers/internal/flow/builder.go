package flow

import (
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
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
		ch.steps, ch.replaces = nil, name == "Replace"
		if row.Arg >= 0 {
			ch.table = text(at(args, row.Arg))
		} else if row.Kind == know.BuildSelect && len(args) > 0 {
			ch.steps = []step{{"Columns", args, ins.Call.At}}
		}
		return []exit{{[]*Value{w.chained(ins, &ch)}, w.st}}
	case know.BuildRaw:
		ch.kind, ch.text, ch.binds, ch.insPos = row.Kind, at(args, row.Arg), w.variadic(args, row.Arg2), ins.Call.At
		return []exit{{[]*Value{w.chained(ins, &ch)}, w.st}}
	case know.BuildStep:
		ch.steps = append(ch.steps[:len(ch.steps):len(ch.steps)], step{name, args, ins.Call.At})
		switch name {
		case "Model":
			if !ch.named {
				ch.table = w.tableOf(at(args, 0))
			}
		case "Into", "Table", "From", "TableExpr", "ModelTableExpr":
			s := at(args, 0)
			if list := w.variadic(args, 0); len(list) > 0 && s.K == VRef {
				s = list[0]
			}
			if s.K == VStr {
				ch.table, ch.named = tableName(s.S), true
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
	if strings.Contains(ins.Call.Pkg, "squirrel") && ch.fillsNothing() {
		if name == "MustSql" {
			return nil
		}
		return []exit{{failing(ins.Call, errVal(errAny, Taint{})), w.st}}
	}
	if row.Kind == know.BuildText {
		return w.builtText(ins, &ch, recv)
	}
	for _, a := range args {
		// bun takes no transaction out of a context.
		if t := w.txOf(a); t != nil && ch.tx == nil && ins.Call.Pkg != "github.com/uptrace/bun" {
			ch.tx = t
		}
	}
	if ch.tx == nil && ch.root != nil {
		w.handle = ch.root
	}
	stmt, binds := ch.text, ch.binds
	if ch.kind != know.BuildRaw {
		stmt, binds = w.asText(&ch)
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
			val, errv := counted(name, out[i].vals[len(out[i].vals)-1])
			out[i].vals = fit(ins.Call, val, errv)
		}
	}
	return out
}

// fillsNothing reports whether a chain is an INSERT to which no row was given.
func (ch *chain) fillsNothing() bool {
	return ch.kind == know.BuildInsert && !slices.ContainsFunc(ch.steps, func(s step) bool {
		return s.name == "Values" || s.name == "SetMap" || s.name == "Select"
	})
}

// failing are a call's results when it gives an error.
func failing(c *Call, errv *Value) []*Value {
	out := make([]*Value, len(c.Res))
	for i, r := range c.Res {
		if out[i] = top; r != nil && r.Kind == KError {
			out[i] = errv
		}
	}
	return out
}

// tableName is the table of an expression that may give it another name: "orders AS o".
func tableName(expr string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(expr), " ")
	return name
}

// builtText is the text of a builder's statement and its arguments, for a driver to execute.
func (w *walker) builtText(ins *Instr, ch *chain, recv *Value) []exit {
	out := make([]*Value, len(ins.Call.Res))
	for i := range out {
		out[i] = top
	}
	if n := len(out); n > 0 && ins.Call.Res[n-1].Kind == KError {
		out[n-1] = nilVal
	}
	var stmt *Value
	var binds []*Value
	switch {
	case recv != nil && recv.expr != "":
		stmt, binds = strVal(recv.expr, Taint{}), recv.Elems
	case ch.kind == know.None:
		return []exit{{out, w.st}}
	default:
		stmt, binds = w.asText(ch)
	}
	return []exit{{w.textArgs(ins, stmt, binds), w.st}}
}

// textArgs is a statement's text, its arguments, and no error.
func (w *walker) textArgs(ins *Instr, text *Value, binds []*Value) []*Value {
	list := &Value{K: VRef, O: w.in.object(w.fr, ins, 2, nil)}
	list.O.Local = true
	w.st.clear(list.O, "")
	for i, b := range binds {
		w.st.set(cell{list.O.id, "[" + itoa(i) + "]"}, b)
	}
	if len(binds) == 0 {
		list = nilVal
	}
	out := []*Value{text, list, nilVal}
	return out[:min(len(out), len(ins.Call.Res))]
}

// asText is a collected statement as a text and its arguments.
func (w *walker) asText(ch *chain) (*Value, []*Value) {
	txt, binds := w.render(ch)
	for i, v := range binds {
		if v == nil {
			binds[i] = top
		}
	}
	return &Value{K: VStr, S: txt, built: ch}, binds
}

// counted is what a query gives that asks how many rows there are, or whether there is one: none is no error.
func counted(name string, errv *Value) (val, err *Value) {
	switch none := errv.K == VErr && errv.S == errNoRows; {
	case errv.K != VNil && !none || name != "Exists" && name != "Count":
		return top, errv
	case name == "Exists":
		return &Value{K: VBool, I: b2i(!none), Site: errv.Site}, nilVal
	case none:
		return &Value{K: VInt, Site: errv.Site}, nilVal
	case errv.Site != nil:
		return &Value{K: VInt, I: 1, Site: errv.Site}, nilVal
	}
	return &Value{K: VTop, size: sizeSome}, nilVal
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

// snake writes a field's name as a column's.
func snake(s string) string { return strings.Join(know.Words(s), "_") }
