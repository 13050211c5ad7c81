package flow

import (
	"cmp"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// mongoCall is one call of a collection's method.
type mongoCall struct {
	w    *walker
	ins  *Instr
	coll string
	name string
	tx   *Tx
}

// mongo does what a collection's method does.
func (w *walker) mongo(ins *Instr, row *know.Row, recv *Value, args []*Value) []exit {
	c := ins.Call
	if row.Kind == know.MongoModel {
		ch := &chain{kind: know.MongoModel, table: c.Name}
		return []exit{{[]*Value{w.chained(ins, ch)}, w.st}}
	}
	if name := at(args, row.Arg); row.Kind == know.MongoCollection {
		if name.K != VStr || hasHole(name.S) {
			return w.quiet(ins)
		}
		return []exit{{[]*Value{w.chained(ins, &chain{kind: know.MongoCollection, table: name.S})}, w.st}}
	}
	m := &mongoCall{w: w, ins: ins, name: "MongoDB " + c.Name, coll: collection(recv)}
	if a := at(args, 0); a.O != nil {
		m.tx = a.O.Tx
	}
	switch row.Kind {
	case know.MongoInsert:
		return m.insert(at(args, row.Arg))
	case know.MongoBulk:
		return m.bulk(w.gathered(at(args, row.Arg)))
	case know.MongoUpdate:
		filter := at(args, row.Arg)
		u := w.mongoUpdate(m.coll, filter, at(args, row.Arg2), c.Name == "UpdateByID", strings.Contains(c.Name, "One"))
		for _, o := range w.variadic(args, row.Arg2+1) {
			u.options(w, o)
		}
		return m.update(u, fromEvent(w.deep(filter)))
	case know.MongoReplace:
		if w.rowWrittenBack(at(args, row.Arg2), "mongo:"+m.coll, w.documentKeys(at(args, row.Arg))) {
			w.effect(ins, EffMongo, m.name, m.tx)
			return m.done(-1, -1, -1, nil)
		}
		w.naturally(ins, EffMongo, m.name, "", m.tx)
		return m.done(-1, -1, -1, nil)
	case know.MongoDelete:
		return m.remove(at(args, row.Arg))
	case know.MongoFind:
		rs, s := rowUnknown, (*site)(nil)
		if s = m.look(at(args, row.Arg)); s != nil {
			switch rs = rowAbsent; w.check(s) {
			case outDup:
				rs = rowFound
			case outFail:
				rs = rowFail
			}
		}
		out := m.row(rs, s)
		out[0].vals[0].Row.read = newRowRead("mongo:"+m.coll, w.documentKeys(at(args, row.Arg)))
		return out
	case know.MongoCount:
		if s := m.look(at(args, row.Arg)); s != nil {
			o := w.check(s)
			errv := nilVal
			if o == outFail {
				errv = &Value{K: VErr, S: errFail, Site: s}
			}
			return []exit{{fit(c, &Value{K: VInt, I: b2i(o == outDup), Site: s}, errv), w.st}}
		}
	}
	return w.quiet(ins)
}

// collection is the name of a collection, or, where nobody is seen opening it, the slot it is kept in.
func collection(recv *Value) string {
	if recv.O != nil && recv.O.Chain != nil && recv.O.Chain.kind == know.MongoCollection {
		return recv.O.Chain.table
	}
	return slotName(recv)
}

func (m *mongoCall) site(look bool) *site {
	return &site{Pos: m.ins.Call.At, Desc: m.name, Store: "mongo", Tx: m.tx, Look: look}
}

// look is the check that a query is, nil when it does not ask for what the first delivery left behind.
func (m *mongoCall) look(filter *Value) *site {
	m.w.in.wrote["read:mongo:"+m.coll] = true
	t := m.w.deep(filter)
	if t.has(FromEventID) || fromEvent(t) && m.w.in.wrote["mongo:"+m.coll] {
		return m.site(true)
	}
	return nil
}

func (m *mongoCall) row(rs rowState, s *site) []exit {
	return []exit{{[]*Value{{K: VRow, Row: &rowVal{state: rs, site: s}, Site: s, O: m.w.in.newObject(nil)}}, m.w.st}}
}

// insert adds a document. Where it is seen that the document's id comes with the event, a repeat finds it taken.
func (m *mongoCall) insert(doc *Value) []exit {
	w, c := m.w, m.ins.Call
	if w.buried(m.ins, cmp.Or(lastPart(m.coll), m.coll)) {
		return w.quiet(m.ins)
	}
	w.in.wrote["new:mongo:"+m.coll] = true
	key := siteKey(c.At)
	s := m.site(false)
	s.Key = key
	taken := func(w *walker) []exit {
		return []exit{{fit(c, nilVal, &Value{K: VErr, S: errUnique, Site: s}), w.st}}
	}
	own := m.neverTaken(doc)
	if w.in.world.Dup && w.in.wrote["taken:"+key] && !own {
		w.in.sites[key] = s
		w.st.checked = s
		return taken(w)
	}
	before := w.st.fork()
	w.effect(m.ins, EffMongo, m.name, m.tx)
	out := []exit{{fit(c, &Value{K: VNotNil}, nilVal), w.st}}
	if w.in.world.Dup && !own {
		sub := *w
		sub.st = before
		out = append(out, taken(&sub)...)
	}
	return out
}

// neverTaken reports whether a document has an id that is made on this very delivery, and nothing else that could be
// unique.
func (m *mongoCall) neverTaken(doc *Value) bool {
	fields, whole := m.w.document(doc)
	if !whole {
		return false
	}
	made := false
	for _, f := range fields {
		t := m.w.deep(f.val)
		switch {
		case f.name == "_id":
			made = t.has(FromV4|FromFresh) && !fromEvent(t)
		case mayBeUnique(f.name):
			return false
		}
	}
	return made
}

// bulk is a list of models. Of a list that is not known nothing is said.
func (m *mongoCall) bulk(models []*Value) []exit {
	w := m.w
	inserts, relative := false, false
	for _, x := range models {
		kind, filter, update := w.bulkModel(x)
		switch {
		case strings.HasPrefix(kind, "Insert"):
			inserts = true
		case strings.HasPrefix(kind, "Update"):
			relative = relative || !w.mongoUpdate(m.coll, filter, update, false, strings.Contains(kind, "One")).same
		}
	}
	switch {
	case inserts:
		return m.insert(top)
	case relative:
		w.effect(m.ins, EffMongo, m.name, m.tx)
	default:
		w.naturally(m.ins, EffMongo, m.name, "", m.tx)
	}
	return []exit{{fit(m.ins.Call, &Value{K: VNotNil}, nilVal), w.st}}
}

// bulkModel takes a model of a bulk write apart: one that was put together step by step, or a literal.
func (w *walker) bulkModel(v *Value) (kind string, filter, update *Value) {
	filter, update = top, top
	if v.O != nil && v.O.Chain != nil && v.O.Chain.kind == know.MongoModel {
		for _, s := range v.O.Chain.steps {
			switch s.name {
			case "SetFilter":
				filter = at(s.args, 0)
			case "SetUpdate":
				update = at(s.args, 0)
			}
		}
		return strings.TrimPrefix(v.O.Chain.table, "New"), filter, update
	}
	if v.O == nil {
		return "", filter, update
	}
	if x := w.find(v.O, join(w.pathAt(v), "Filter"), nil, 0); x != nil {
		filter = x
	}
	if x := w.find(v.O, join(w.pathAt(v), "Update"), nil, 0); x != nil {
		update = x
	}
	_, kind = splitType(v.Dyn)
	return kind, filter, update
}

// isModel reports whether a value is a model of a bulk write.
func isModel(v *Value) bool {
	return v.O != nil && (v.O.Chain != nil && v.O.Chain.kind == know.MongoModel || strings.Contains(v.Dyn, "go.mongodb.org") && strings.HasSuffix(v.Dyn, "Model"))
}

// gatheredModels are the models that append gives, one for each place at which a model is made.
func (w *walker) gatheredModels(args []*Value) []*Value {
	var out []*Value
	for _, a := range args {
		for _, e := range w.gathered(a) {
			if isModel(e) && len(out) < 8 && !slices.ContainsFunc(out, func(x *Value) bool { return sameModel(x, e) }) {
				out = append(out, e)
			}
		}
	}
	return out
}

func sameModel(x, y *Value) bool {
	if x.O == y.O {
		return true
	}
	a, b := x.O.Chain, y.O.Chain
	return a != nil && b != nil && len(a.steps) > 0 && len(a.steps) == len(b.steps) && a.steps[0].pos == b.steps[0].pos
}

// gathered are the elements of a slice: of one made in place, and of one that grew.
func (w *walker) gathered(v *Value) []*Value {
	if v.K == VNotNil {
		return v.Elems
	}
	out := w.elements(v)
	if v.K == VRef && v.O != nil && v.O.Local {
		if e := w.st.get(cell{v.O.id, join(v.Path, "[*]")}); e != nil {
			out = append(out, e)
		}
	}
	return out
}

// update is one that was judged.
func (m *mongoCall) update(u *mongoUpdate, byEvent bool) []exit {
	w := m.w
	w.in.wrote["upd:mongo:"+m.coll] = true
	one := strings.HasPrefix(m.ins.Call.Name, "FindOne")
	switch {
	case u.onInsert && byEvent && !u.own && !(one && u.after):
		return m.upsert(u, one)
	case u.guarded:
		s := m.site(false)
		s.Store = "state"
		switch o := w.check(s); {
		case o == outFail:
			return m.failed(s)
		case o == outDup && u.upsert:
			// The row is there, and the condition does not let it be found.
			return []exit{{m.taken(s, one), w.st}}
		case o == outDup && one:
			return m.row(rowAbsent, s)
		case o == outDup:
			return m.done(0, 0, 0, s)
		}
		w.naturally(m.ins, EffMongo, m.name, "", m.tx)
		if one {
			return m.row(rowFound, s)
		}
		return m.done(1, 1, -1, s)
	case !u.same, u.own && u.upsert:
		w.effect(m.ins, EffMongo, m.name, m.tx)
	default:
		w.naturally(m.ins, EffMongo, m.name, "", m.tx)
	}
	switch {
	case one:
		return m.row(rowUnknown, nil)
	case u.same && u.known && !u.fresh && w.in.world.Dup && w.in.world.Only == "":
		return m.done(-1, 0, -1, nil) // the document has these values already
	}
	return m.done(-1, -1, -1, nil)
}

// upsert is an update that tells by what it inserted whether the document was there.
func (m *mongoCall) upsert(u *mongoUpdate, one bool) []exit {
	w := m.w
	w.in.wrote["new:mongo:"+m.coll] = true
	if !u.same {
		w.effect(m.ins, EffMongo, m.name, m.tx)
	}
	s := m.site(false)
	o := w.check(s)
	if o == outFail {
		return m.failed(s)
	}
	if u.same {
		w.naturally(m.ins, EffMongo, m.name, "", m.tx)
	}
	switch {
	case one && o == outDup:
		return m.row(rowFound, s)
	case one:
		return m.row(rowAbsent, s)
	case o == outDup && u.others:
		return m.done(1, -1, 0, s)
	case o == outDup:
		return m.done(1, 0, 0, s)
	}
	return m.done(0, 0, 1, s)
}

func (m *mongoCall) remove(filter *Value) []exit {
	w := m.w
	w.naturally(m.ins, EffMongo, m.name, "", m.tx)
	if strings.HasPrefix(m.ins.Call.Name, "FindOne") {
		return m.row(rowUnknown, nil)
	}
	return []exit{{fit(m.ins.Call, &Value{K: VNotNil}, nilVal), w.st}}
}

// done is the outcome of an update: how many documents were matched, modified and inserted, -1 where that is not known.
func (m *mongoCall) done(matched, modified, upserted int64, s *site) []exit {
	o := m.w.in.newObject(nil)
	set := func(name string, n int64) {
		if n >= 0 {
			m.w.st.set(cell{o.id, name}, &Value{K: VInt, I: n, Site: s})
		}
	}
	set("MatchedCount", matched)
	set("ModifiedCount", modified)
	set("UpsertedCount", upserted)
	switch upserted {
	case 0:
		m.w.st.set(cell{o.id, "UpsertedID"}, &Value{K: VNil, Site: s})
	case 1:
		m.w.st.set(cell{o.id, "UpsertedID"}, &Value{K: VNotNil, Site: s})
	}
	return []exit{{fit(m.ins.Call, &Value{K: VNotNil, O: o}, nilVal), m.w.st}}
}

func (m *mongoCall) failed(s *site) []exit {
	if strings.HasPrefix(m.ins.Call.Name, "FindOne") {
		return m.row(rowFail, s)
	}
	return []exit{{fit(m.ins.Call, nilVal, &Value{K: VErr, S: errFail, Site: s}), m.w.st}}
}

func (m *mongoCall) taken(s *site, one bool) []*Value {
	if one {
		return m.row(rowTaken, s)[0].vals
	}
	return fit(m.ins.Call, nilVal, &Value{K: VErr, S: errUnique, Site: s})
}
