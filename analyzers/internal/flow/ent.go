package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// What ent generates is code of the module, and far too much of it to be run: its builders are known by their shape.
// They are collected as those of other libraries, written as SQL, and judged like all SQL.

// entPackage reports whether a package is what ent has generated of a schema.
func (p *Program) entPackage(pkg string) bool {
	is, ok := p.ents[pkg]
	if !ok {
		f := p.funcs[pkg+".IsConstraintError"]
		is = f != nil && f.Gen && p.funcs[pkg+".IsNotFound"] != nil && p.funcs[pkg+".Client.Tx"] != nil
		if p.ents == nil {
			p.ents = make(map[string]bool)
		}
		p.ents[pkg] = is
	}
	return is
}

// ent does what a function does that ent has generated; ok is false for any other.
func (w *walker) ent(ins *Instr, fn *Func, args []*Value) (out []exit, ok bool) {
	if !fn.Gen || fn.Literal {
		return nil, false
	}
	_, name := splitType(fn.ID)
	one := func(v *Value) ([]exit, bool) { return []exit{{[]*Value{v}, w.st}}, true }
	if !w.in.prog.entPackage(fn.Pkg) {
		i := strings.LastIndexByte(fn.Pkg, '/')
		if i < 0 || fn.Recv != "" || !w.in.prog.entPackage(fn.Pkg[:i]) || len(ins.Call.Res) != 1 || ins.Call.Res[0] == nil ||
			!strings.HasPrefix(ins.Call.Res[0].Name, fn.Pkg[:i]+"/predicate.") {
			return nil, false
		}
		return one(w.entPredicate(name, args))
	}
	recv := at(args, 0)
	rest := args
	if fn.Recv != "" && len(args) > 0 {
		rest = args[1:]
	}
	switch {
	case fn.Recv == "" && (name == "Open" || name == "NewClient"):
		return []exit{{fit(ins.Call, w.opened(ins), nilVal), w.st}}, true
	case fn.Recv == "" && name == "IsConstraintError":
		return one(w.isUnique(at(args, 0)))
	case fn.Recv == "" && name == "IsNotFound":
		return one(isAbsent(at(args, 0)))
	case fn.Recv == "Client" && (name == "Tx" || name == "BeginTx"):
		return w.begin(ins, recv), true
	case fn.Recv == "Tx" && name == "Client", fn.Recv == "Client" && name == "Debug":
		return one(recv)
	case fn.Recv == "Tx" && (name == "Commit" || name == "Rollback"):
		row := &know.Row{Kind: know.Commit, Arg: -1, Arg2: -1}
		if name == "Rollback" {
			row.Kind = know.Rollback
		}
		return w.model(ins, row, args), true
	}
	if entity, ok := strings.CutSuffix(fn.Recv, "Client"); ok && entity != "" {
		return w.entBegin(ins, entity, name, recv, rest)
	}
	if recv.O != nil && recv.O.Chain != nil {
		return w.entStep(ins, name, recv, rest)
	}
	if n := len(ins.Call.Res); n == 1 && ins.Call.Res[0] != nil && ins.Call.Res[0].Name == fn.Pkg+"."+fn.Recv+"UpdateOne" {
		return w.entBegin(ins, fn.Recv, "UpdateOne", recv, []*Value{recv})
	}
	return nil, false
}

// isAbsent asks whether an error says that there is no row.
func isAbsent(err *Value) *Value {
	switch {
	case err.K == VNil:
		return vFalse
	case err.K == VErr && err.S == errNoRows:
		return vTrue
	case err.K == VErr && (err.S == errFail || err.S == errUnique):
		return vFalse
	}
	return taintVal(err.T)
}

// entPredicate is a condition: the field and the comparison are in the function's name.
func (w *walker) entPredicate(name string, args []*Value) *Value {
	if name == "And" {
		v := &Value{K: VNotNil}
		var conds []string
		for _, p := range w.variadic(args, 0) {
			if p.expr != "" {
				conds = append(conds, p.expr)
				v.Elems = append(v.Elems, p.Elems...)
			}
		}
		v.expr = strings.Join(conds, " AND ")
		return v
	}
	if name == "Or" || name == "Not" {
		return &Value{K: VNotNil}
	}
	op := " = ?"
	for _, x := range [...][2]string{{"NotNil", " IS NOT NULL"}, {"IsNil", " IS NULL"}, {"NEQ", " <> ?"}, {"EQ", " = ?"}, {"GTE", " >= ?"},
		{"LTE", " <= ?"}, {"GT", " > ?"}, {"LT", " < ?"}, {"NotIn", " NOT IN "}, {"In", " IN "}} {
		if field, ok := strings.CutSuffix(name, x[0]); ok && field != "" {
			name, op = field, x[1]
			break
		}
	}
	binds := args
	if strings.HasSuffix(op, " IN ") {
		binds = w.variadic(args, 0)
		op += "(" + strings.TrimSuffix(strings.Repeat("?, ", len(binds)), ", ") + ")"
	}
	if !strings.Contains(op, "?") {
		binds = nil
	}
	return &Value{K: VNotNil, expr: column(name) + op, Elems: binds}
}

// entBegin begins a statement on a table.
func (w *walker) entBegin(ins *Instr, entity, name string, recv *Value, args []*Value) ([]exit, bool) {
	ch := &chain{table: plural(snake(entity)), tx: w.txOf(recv), insPos: ins.Call.At, root: recv}
	id := func(v *Value) {
		ch.steps = append(ch.steps, step{"Where", []*Value{{K: VNotNil, expr: `"id" = ?`, Elems: []*Value{v}}}, ins.Call.At})
	}
	switch name {
	case "Create", "CreateBulk", "MapCreateBulk":
		ch.kind = know.BuildInsert
		if name == "CreateBulk" {
			if all := w.variadic(args, 0); len(all) == 1 && all[0].O != nil && all[0].O.Chain != nil {
				ch.steps = all[0].O.Chain.steps
			}
		}
	case "Update":
		ch.kind = know.BuildUpdate
	case "UpdateOne", "DeleteOne":
		ch.kind = know.BuildUpdate
		if name == "DeleteOne" {
			ch.kind = know.BuildDelete
		}
		id(w.entID(at(args, 0)))
	case "UpdateOneID", "DeleteOneID":
		ch.kind = know.BuildUpdate
		if name == "DeleteOneID" {
			ch.kind = know.BuildDelete
		}
		id(at(args, 0))
	case "Delete":
		ch.kind = know.BuildDelete
	case "Query":
		ch.kind = know.BuildSelect
	case "Get", "GetX":
		ch.kind = know.BuildSelect
		id(at(args, 1))
		return w.entRun(ins, "Only"+strings.TrimPrefix(name, "Get"), ch), true
	default:
		return nil, false
	}
	return []exit{{[]*Value{w.chained(ins, ch)}, w.st}}, true
}

// entID is the id of an entity: that of the row it was read from.
func (w *walker) entID(entity *Value) *Value {
	if entity.O != nil {
		if v := w.find(entity.O, join(w.pathAt(entity), "ID"), nil, 0); v != nil {
			return v
		}
	}
	return taintVal(w.deep(entity).ofField(&Instr{S: "ID"}))
}

func (w *walker) entStep(ins *Instr, name string, recv *Value, args []*Value) ([]exit, bool) {
	ch := *recv.O.Chain
	if len(ins.Call.Res) != 1 || ins.Call.Res[0] == nil || ins.Call.Res[0].Kind == KError {
		switch strings.TrimSuffix(name, "X") {
		case "Save", "Exec", "ID", "First", "Only", "FirstID", "OnlyID", "All", "IDs", "Count", "Exist":
			return w.entRun(ins, name, &ch), true
		}
	}
	switch strings.TrimSuffix(name, "X") {
	case "Save", "Exec", "First", "Only", "FirstID", "OnlyID", "All", "IDs", "Count", "Exist":
		return w.entRun(ins, name, &ch), true
	}
	for _, o := range w.variadic(args, 0) {
		if o.O != nil && o.O.Chain != nil && name == "OnConflict" {
			ch.steps = append(ch.steps[:len(ch.steps):len(ch.steps)], o.O.Chain.steps...)
		}
	}
	if strings.HasPrefix(name, "OnConflict") {
		name = "OnConflict"
	}
	ch.steps = append(ch.steps[:len(ch.steps):len(ch.steps)], step{name, args, ins.Call.At})
	return []exit{{[]*Value{w.chained(ins, &ch)}, w.st}}, true
}

// entText writes a statement as SQL.
func (w *walker) entText(ch *chain, what string) (string, []*Value) {
	g := &gormText{}
	var cols, vals []string
	conflict, action := false, ""
	var onto []string
	for _, s := range ch.steps {
		field := func(prefix string) string {
			f, _ := strings.CutPrefix(s.name, prefix)
			return strings.TrimPrefix(f, "Nillable")
		}
		v := at(s.args, 0)
		switch {
		case s.name == "OnConflict":
			conflict = true
		case s.name == "ConflictColumns":
			for _, c := range w.variadic(s.args, 0) {
				onto = append(onto, text(c))
			}
		case s.name == "DoNothing" || s.name == "Ignore" || s.name == "ResolveWithIgnore":
			action = "NOTHING"
		case s.name == "UpdateNewValues" || s.name == "ResolveWithNewValues" || s.name == "Update" || s.name == "ResolveWith":
			action = "NEW"
		case s.name == "Where":
			preds := w.variadic(s.args, 0)
			if v.expr != "" {
				preds = s.args[:1]
			}
			for _, p := range preds {
				if p.expr != "" {
					g.conds = append(g.conds, g.fill(p.expr, p.Elems))
				}
			}
		case conflict && strings.HasPrefix(s.name, "Add"):
			g.sets = append(g.sets, column(field("Add"))+" = "+column(ch.table)+"."+column(field("Add"))+" + "+g.bind(v))
		case conflict && (strings.HasPrefix(s.name, "Set") || strings.HasPrefix(s.name, "Update")):
			action = "NEW"
		case ch.kind == know.BuildInsert && strings.HasPrefix(s.name, "Set"):
			cols, vals = append(cols, column(field("Set"))), append(vals, g.bind(v))
		case strings.HasPrefix(s.name, "Set"):
			g.set(field("Set"), v)
		case strings.HasPrefix(s.name, "Add"), strings.HasPrefix(s.name, "Append"):
			f := field("Add")
			if strings.HasPrefix(s.name, "Append") {
				f = field("Append")
			}
			g.sets = append(g.sets, column(f)+" = "+column(f)+" + "+g.bind(v))
		case strings.HasPrefix(s.name, "Clear"):
			g.sets = append(g.sets, column(field("Clear"))+" = NULL")
		}
	}
	where := ""
	if len(g.conds) > 0 {
		where = " WHERE " + strings.Join(g.conds, " AND ")
	}
	switch ch.kind {
	case know.BuildInsert:
		t := "INSERT INTO " + ch.table + " (" + strings.Join(cols, ", ") + ") VALUES (" + strings.Join(vals, ", ") + ")"
		if len(cols) == 0 {
			t = "INSERT INTO " + ch.table + " VALUES (" + string(rune(sqltext.Hole)) + ")"
		}
		if conflict {
			t += " ON CONFLICT"
			if len(onto) > 0 {
				t += " (" + strings.Join(onto, ", ") + ")"
			}
			if action == "NOTHING" {
				return t + " DO NOTHING", g.binds
			}
			sets := g.sets
			if action == "NEW" || len(sets) == 0 {
				for _, c := range cols {
					sets = append(sets, c+" = EXCLUDED."+c)
				}
			}
			t += " DO UPDATE SET " + strings.Join(sets, ", ")
		}
		return t, g.binds
	case know.BuildUpdate:
		if len(g.sets) == 0 {
			g.sets = []string{"x = " + string(rune(sqltext.Hole))}
		}
		return "UPDATE " + ch.table + " SET " + strings.Join(g.sets, ", ") + where, g.binds
	case know.BuildDelete:
		return "DELETE FROM " + ch.table + where, g.binds
	}
	if what == "EXISTS" {
		return "SELECT EXISTS (SELECT 1 FROM " + ch.table + where + ")", g.binds
	}
	return "SELECT " + what + " FROM " + ch.table + where, g.binds
}

// entRun executes what a builder has collected.
func (w *walker) entRun(ins *Instr, name string, ch *chain) []exit {
	name, must := strings.CutSuffix(name, "X")
	what, how := "*", know.SQLGet
	switch name {
	case "Exist":
		what = "EXISTS"
	case "Count":
		what = "count(*)"
	case "FirstID", "OnlyID", "IDs":
		what = "id"
	}
	one := ch.kind == know.BuildUpdate && len(ch.steps) > 0 && ch.steps[0].name == "Where" && strings.HasPrefix(at(ch.steps[0].args, 0).expr, `"id" = `)
	if ch.kind == know.BuildUpdate || ch.kind == know.BuildDelete {
		how = know.SQLExec
	}
	txt, binds := w.entText(ch, what)
	handle := &Value{K: VRef, O: w.in.newObject(nil)}
	ch.insPos = ins.Call.At
	handle.O.Tx, handle.O.Chain = ch.tx, ch
	w.handle, w.hcall = ch.root, ins.Call
	exec := *ins
	call := *ins.Call
	call.Res = []*Type{{}, {Kind: KError}}
	if how == know.SQLGet {
		call.Res = []*Type{{Kind: KError}}
	}
	exec.Call = &call
	outs := w.runSQL(&exec, how, handle, strVal(txt, Taint{}), binds, nil)
	read := w.reading
	var res []exit
	for _, e := range outs {
		errv, val := e.vals[len(e.vals)-1], top
		switch {
		case how == know.SQLExec && one && errv.K == VNil && e.vals[0].K == VResult && e.vals[0].I == 0:
			errv = &Value{K: VErr, S: errNoRows, Site: e.vals[0].Site}
		case how == know.SQLExec && e.vals[0].K == VResult && e.vals[0].I >= 0 && !one:
			val = &Value{K: VInt, I: e.vals[0].I, Site: e.vals[0].Site}
		case name == "Exist" || name == "Count":
			if errv.K == VErr && errv.S == errNoRows {
				continue
			}
			if errv.Row != nil && errv.Row.value != nil {
				val = errv.Row.value
			}
		case ch.kind == know.BuildSelect && errv.K == VNil:
			val = &Value{K: VNotNil, T: Taint{Bits: FromRow}.join(read.taint("*"))}
			val.O = w.in.newObject(nil)
			val.O.Taint = val.T
		case ch.kind == know.BuildSelect && (name == "All" || name == "IDs") && errv.K == VErr && errv.S == errNoRows:
			val, errv = nilVal, nilVal
		case errv.K == VNil:
			val = &Value{K: VNotNil}
		}
		if errv.K == VNil {
			errv = nilVal
		}
		if must && errv.K == VErr {
			continue
		}
		if len(ins.Call.Res) == 0 {
			res = append(res, exit{nil, e.st})
			continue
		}
		if len(ins.Call.Res) == 1 && !must {
			res = append(res, exit{[]*Value{errv}, e.st})
			continue
		}
		res = append(res, exit{fit(ins.Call, val, errv), e.st})
	}
	if len(res) == 0 && !must {
		return w.quiet(ins)
	}
	return res
}
