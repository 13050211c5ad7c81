package flow

import (
	"cmp"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// chain is a statement that a builder or ORM collects before it runs.
type chain struct {
	kind   know.Kind
	table  string
	steps  []step
	tx     *Tx
	text   *Value   // of a prepared statement, or of one that was written out
	binds  []*Value // the arguments that came with the text
	insPos Pos      // where the INSERT was begun
	// replaces says that the INSERT is a REPLACE.
	replaces bool
	named    bool   // the table is said, whatever the model's is
	root     *Value // the handle it was begun on
}

type step struct {
	name string
	args []*Value
	pos  Pos
}

func (w *walker) chainOf(v *Value) *chain {
	if v != nil && v.O != nil && v.O.Chain != nil {
		return v.O.Chain
	}
	return &chain{tx: w.txOf(v), root: v}
}

func (w *walker) chained(ins *Instr, ch *chain) *Value {
	o := w.in.newObject(nil)
	o.Chain, o.Tx, o.Local = ch, ch.tx, true
	return &Value{K: VRef, O: o}
}

// gorm does what a call on a *gorm.DB does. Its outcome is the *gorm.DB it returns: Error and RowsAffected.
func (w *walker) gorm(ins *Instr, row *know.Row, recv *Value, args []*Value) []exit {
	ch := *w.chainOf(recv)
	ch.tx = w.txOf(recv)
	name := ins.Call.Name
	if row.Kind == know.GormChain {
		ch.steps = append(ch.steps[:len(ch.steps):len(ch.steps)], step{name, args, ins.Call.At})
		switch name {
		case "Model":
			ch.table = w.tableOf(at(args, 0))
		case "Table":
			ch.table = text(at(args, 0))
		}
		return []exit{{[]*Value{w.chained(ins, &ch)}, w.st}}
	}
	if row.Kind == know.GormExec {
		return w.gormExec(ins, &ch, recv, args, nil)
	}
	if raw := rawStep(&ch); name == "Row" || name == "Rows" {
		if raw == nil {
			return w.library(ins, append([]*Value{recv}, args...))
		}
		how := know.SQLQueryRow
		if name == "Rows" {
			how = know.SQLQuery
		}
		return w.runSQL(ins, how, recv, at(raw.args, 0), w.variadic(raw.args, 1), nil)
	} else if raw != nil && row.Kind == know.GormFind {
		return w.gormExec(ins, &ch, recv, append([]*Value{at(raw.args, 0)}, w.variadic(raw.args, 1)...), at(args, 0))
	}
	table := ch.table
	if table == "" {
		table = w.tableOf(at(args, 0))
	}
	if w.pointsToNothing(at(args, 0)) && (row.Kind == know.GormCreate || row.Kind == know.GormSave) {
		return w.gormOut(ins, &ch, errVal(errAny, Taint{}), 0, nil) // "empty slice found"
	}
	switch row.Kind {
	case know.GormSave, know.GormUpdate:
		w.in.wrote["upd:"+strings.ToLower(table)] = true
	case know.GormFind:
		w.in.wrote["read:"+strings.ToLower(table)] = true
	}
	switch row.Kind {
	case know.GormCreate, know.GormFirstOrCreate:
		return w.gormCreate(ins, &ch, row.Kind, table, at(args, 0))
	case know.GormFind, know.GormCount:
		return w.gormFind(ins, &ch, row.Kind, table, args)
	case know.GormSave:
		w.ormSaved(ins, &ch, table, at(args, 0))
		if w.rowWrittenBack(at(args, 0), table, nil) {
			w.effect(ins, EffDB, "UPDATE "+table, ch.tx)
		} else {
			w.naturally(ins, EffDB, "UPDATE "+table, table, ch.tx)
		}
		w.gormSaved(at(args, 0), table)
	case know.GormUpdate:
		return w.gormUpdate(ins, &ch, table, args)
	case know.GormDelete:
		w.ormDeleted(ins, &ch, table, args)
		w.naturally(ins, EffDB, "DELETE FROM "+table, table, ch.tx)
	}
	return w.gormOut(ins, &ch, nilVal, -1, nil)
}

// relative reports whether an update computes from the present value: gorm.Expr.
func (w *walker) relative(args []*Value) bool {
	for _, a := range args {
		if a.Dyn == "gorm.io/gorm/clause.Expr" || a.expr != "" {
			return true
		}
		if a.O != nil {
			found := false
			w.cells(a.O, "", func(v *Value) {
				if v.Dyn == "gorm.io/gorm/clause.Expr" {
					found = true
				}
			})
			if found {
				return true
			}
		}
	}
	return false
}

// rawStep is the text of a chain that has one.
func rawStep(ch *chain) *step {
	for i := range ch.steps {
		if s := &ch.steps[i]; s.name == "Raw" && at(s.args, 0).K == VStr {
			return s
		}
	}
	return nil
}

// gormExec runs a text. What a query gives goes to dest.
func (w *walker) gormExec(ins *Instr, ch *chain, recv *Value, args []*Value, dest *Value) []exit {
	out := w.runSQL(ins, know.SQLGet, recv, at(args, 0), w.variadic(args, 1), nil)
	if dest != nil {
		out = w.got(out, dest)
	}
	var res []exit
	for _, e := range out {
		sub := *w
		sub.st = e.st
		rows := int64(-1)
		errv := nilVal
		if len(e.vals) > 0 {
			errv = e.vals[0]
		}
		var s *site
		if errv.K == VErr {
			s = errv.Site
			if errv.S == errNoRows {
				if errv, rows = nilVal, 0; s != nil && s.Batch {
					rows = -1 // there may be some for others
				}
				if dest != nil && dest.K == VRef && dest.O != nil && dest.Path == "" && dest.O.T != nil && dest.O.T.Kind == KSlice {
					sub.st.clear(dest.O, "")
					sub.st.set(cell{dest.O.id, ""}, ofOthers(s))
				}
			}
		} else if s = sub.st.checked; s != nil && s.Pos == ins.Call.At {
			rows = 1
		}
		res = append(res, sub.gormOut(ins, ch, errv, rows, s)...)
	}
	return res
}

func (w *walker) gormOut(ins *Instr, ch *chain, errv *Value, rows int64, s *site) []exit {
	v := w.chained(ins, &chain{tx: ch.tx, root: ch.root})
	w.st.set(cell{v.O.id, "Error"}, errv)
	n := top
	if rows >= 0 {
		n = &Value{K: VInt, I: rows, Site: s}
	}
	w.st.set(cell{v.O.id, "RowsAffected"}, n)
	if w.in.ids && errv.K == VNil {
		st := w.st.fork()
		st.set(cell{v.O.id, "Error"}, errVal(errAny, Taint{}))
		return []exit{{[]*Value{v}, w.st}, {[]*Value{v}, st}}
	}
	return []exit{{[]*Value{v}, w.st}}
}

// tableOf guesses the table of a model: what its TableName method returns, else its type's name.
func (w *walker) tableOf(v *Value) string {
	typ := v.Dyn
	if typ == "" {
		typ = v.elem
	}
	if typ == "" && v.O != nil && v.O.T != nil {
		typ = cmp.Or(v.O.T.Name, v.O.T.Elem)
	}
	if typ == "" {
		return ""
	}
	return w.in.prog.tableOf(typ)
}

func (w *walker) gormCreate(ins *Instr, ch *chain, kind know.Kind, table string, model *Value) []exit {
	skips, update, adds := w.upsertOf(ch, table)
	skips = skips || kind == know.GormFirstOrCreate
	w.modelStored(ins, table, model)
	w.ormCreated(ins, ch, table, model, kind == know.GormFirstOrCreate, skips, update)
	dedup := w.dedupTable(table)
	idv, idName := w.modelID(model)
	if idv != nil && dedup {
		w.in.sink(Sink{Kind: SinkDedupSQL, Name: idName, Owner: table, Pos: ins.Call.At}, idv, w)
	}
	if w.buried(ins, table) {
		return w.gormOut(ins, ch, top, 1, nil)
	}
	desc := "INSERT INTO " + table
	if table == "" {
		desc = "INSERT by GORM's " + ins.Call.Name
	}
	made := idv != nil && w.deep(idv).has(FromV4|FromFresh) && !w.deep(idv).has(FromPayload|FromMessage|FromEventID)
	if (dedup || skips || idv != nil && sqltext.IsEventIDColumn(idName)) && !(made && idName != "") {
		s := &site{Pos: ins.Call.At, Desc: desc, Store: "sql", Table: table, Tx: ch.tx}
		switch w.check(s) {
		case outFail:
			return w.gormOut(ins, ch, &Value{K: VErr, S: errFail, Site: s}, 0, s)
		case outDup:
			if skips || update {
				return w.gormOut(ins, ch, nilVal, 0, s)
			}
			return w.gormOut(ins, ch, &Value{K: VErr, S: errUnique, Site: s}, 0, s)
		}
		w.in.wrote["new:sql:"+strings.ToLower(table)] = true
		if !dedup {
			w.naturally(ins, EffDB, desc, table, ch.tx)
		}
		return w.gormOut(ins, ch, nilVal, 1, s)
	}
	if update && adds {
		w.effect(ins, EffDB, desc, ch.tx)
		return w.gormOut(ins, ch, nilVal, 1, nil)
	}
	if update {
		w.naturally(ins, EffDB, desc, table, ch.tx)
		return w.gormOut(ins, ch, nilVal, 1, nil)
	}
	w.in.wrote["new:sql:"+strings.ToLower(table)] = true
	key2 := siteKey(ins.Call.At)
	s := &site{Pos: ins.Call.At, Desc: desc, Store: "sql", Table: table, Tx: ch.tx, Key: key2}
	if w.in.world.Dup && w.in.wrote["taken:"+key2] {
		w.in.sites[key2] = s
		w.st.checked = s
		return w.gormOut(ins, ch, &Value{K: VErr, S: errUnique, Site: s}, 0, s)
	}
	before := w.st.fork()
	w.effect(ins, EffDB, desc, ch.tx)
	out := w.gormOut(ins, ch, nilVal, 1, nil)
	if w.in.world.Dup {
		sub := *w
		sub.st = before
		out = append(out, sub.gormOut(ins, ch, &Value{K: VErr, S: errUnique, Site: s}, 0, s)...)
	}
	return out
}

// modelStored reports what flows into the ids of rows that an ORM inserts.
func (w *walker) modelStored(ins *Instr, table string, model *Value) {
	if !w.in.ids || model.O == nil {
		return
	}
	for _, f := range w.fieldNames(model) {
		if v := w.find(model.O, join(w.pathAt(model), f), nil, 0); v != nil && isIDName(f) {
			w.in.sink(Sink{Kind: SinkColumn, Name: snake(f), Owner: table, Pos: ins.Call.At}, v, w)
		}
	}
}

// modelID is the field of a model that names the event.
func (w *walker) modelID(model *Value) (*Value, string) {
	if model.O == nil {
		return nil, ""
	}
	var v *Value
	name := ""
	for _, f := range w.fieldNames(model) {
		if sqltext.IsEventIDColumn(f) {
			return w.find(model.O, join(w.pathAt(model), f), nil, 0), f
		}
	}
	return v, name
}

func (w *walker) fieldNames(model *Value) []string {
	var out []string
	prefix := w.pathAt(model)
	for _, p := range w.st.paths(model.O, prefix) {
		out = append(out, strings.TrimPrefix(strings.TrimPrefix(p, prefix), "."))
	}
	return out
}

func (w *walker) gormFind(ins *Instr, ch *chain, kind know.Kind, table string, args []*Value) []exit {
	dest := at(args, 0)
	keyed, byEvent := false, false
	var keys []*Value
	ask := func(cond string, vals []*Value) {
		keys = append(keys, vals...)
		for _, v := range vals {
			t := w.deep(v)
			if t.has(FromPayload|FromMessage|FromKey|FromHeader|FromOffset) || !t.has(FromFresh|FromV4) {
				keyed = true
				if t.has(FromEventID) {
					byEvent = true
				}
			}
		}
		for _, word := range strings.FieldsFunc(cond, func(r rune) bool { return !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') }) {
			if sqltext.IsEventIDColumn(word) {
				byEvent = true
			}
		}
	}
	for _, s := range ch.steps {
		if s.name == "Where" || s.name == "Raw" {
			ask(text(at(s.args, 0)), w.variadic(s.args, 1))
			if at(s.args, 0).K != VStr {
				ask("", s.args[:1])
			}
		}
	}
	if len(args) > 1 {
		a := w.variadic(args, 1)
		if len(a) > 0 {
			ask(text(a[0]), a[1:])
		}
	}
	fillDest := func(w *walker) {
		if dest.K == VRef {
			r := w.gormRead(ch, table, w.variadic(args, 1))
			w.fillAll(dest, Taint{Bits: FromRow}.join(w.column(table, "*")).join(r.taint("*")))
			w.foundFields(dest, r)
		}
	}
	notFound := func(w *walker, s *site) *Value {
		if kind == know.GormCount || ins.Call.Name == "Find" || ins.Call.Name == "Scan" || ins.Call.Name == "Pluck" {
			return nilVal
		}
		return &Value{K: VErr, S: errNoRows, Site: s}
	}
	isCheck := keyed && (w.dedupTable(table) || byEvent || w.in.wrote["sql:"+strings.ToLower(table)])
	if isCheck && w.dedupTable(table) {
		for _, v := range keys {
			w.in.sink(Sink{Kind: SinkDedupSQL, Owner: table, Pos: ins.Call.At}, v, w)
		}
	}
	if isCheck {
		s := &site{Pos: ins.Call.At, Desc: "SELECT FROM " + table, Store: "sql", Table: table, Tx: ch.tx, Look: true}
		switch w.check(s) {
		case outFail:
			return w.gormOut(ins, ch, &Value{K: VErr, S: errFail, Site: s}, 0, s)
		case outDup:
			fillDest(w)
			if kind == know.GormCount && dest.K == VRef && dest.O != nil {
				w.st.set(cell{dest.O.id, dest.Path}, &Value{K: VInt, I: 1})
			}
			return w.gormOut(ins, ch, nilVal, 1, s)
		}
		if kind == know.GormCount && dest.K == VRef && dest.O != nil {
			w.st.set(cell{dest.O.id, dest.Path}, &Value{K: VInt})
		}
		return w.gormOut(ins, ch, notFound(w, s), 0, s)
	}
	absent := *w
	absent.st = w.st.fork()
	fillDest(w)
	out := w.gormOut(ins, ch, nilVal, -1, nil)
	if e := notFound(w, nil); e.K == VErr {
		out = append(out, absent.gormOut(ins, ch, e, 0, nil)...)
	}
	return out
}
