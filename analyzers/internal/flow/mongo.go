package flow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
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
	m := &mongoCall{w: w, ins: ins, name: "MongoDB " + c.Name, coll: recv.Slot}
	if m.coll == "" && recv.O != nil {
		m.coll = recv.O.Slot
	}
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

// mongoUpdate is what is known of an update: it is written as SQL, so that one judge judges all.
type mongoUpdate struct {
	known    bool // all of the update document is seen
	same     bool // a repetition leaves the document as it is
	guarded  bool // a repetition meets no document
	onInsert bool // it sets values only where it inserts
	others   bool // it also sets others
	own      bool // the filter's key is made on this very delivery
	upsert   bool
	after    bool // FindOneAndUpdate returns the document as it is afterwards
	fresh    bool // a value is another one each time

	w     *walker
	coll  string
	keys  map[string]*Value // what the filter asks to be equal
	conds []string
	sets  []string
	binds []*Value
	not   map[string]*Value // what a field is asked not to be
}

// options looks at an option of the call.
func (u *mongoUpdate) options(w *walker, o *Value) {
	if o.O == nil {
		return
	}
	if o.O.Chain != nil {
		for _, s := range o.O.Chain.steps {
			switch a := at(s.args, 0); s.name {
			case "SetUpsert":
				u.upsert = u.upsert || a.K != VBool || a.I != 0
			case "SetReturnDocument":
				u.after = a.K != VInt || a.I != 0
			}
		}
		return
	}
	if x := w.find(o.O, join(w.pathAt(o), "Upsert"), nil, 0); x != nil && x.K != VNil {
		u.upsert = true
	}
	if x := w.find(o.O, join(w.pathAt(o), "ReturnDocument"), nil, 0); x != nil && x.K != VNil {
		u.after = true
	}
}

func (w *walker) mongoUpdate(coll string, filter, doc *Value, byID, one bool) *mongoUpdate {
	u := &mongoUpdate{w: w, coll: "mongo:" + coll, keys: w.documentKeys(filter), not: make(map[string]*Value)}
	if byID {
		u.keys = map[string]*Value{"id": filter}
	}
	whole, constant := false, true
	if byID {
		u.cond("_id", "=", filter)
		constant = false
	} else {
		var fields []docField
		fields, whole = w.document(filter)
		for _, f := range fields {
			constant = u.filter(f) && constant
		}
	}
	t := w.deep(filter)
	u.own = t.has(FromFresh|FromV4) && !fromEvent(t)
	ops, known := w.document(doc)
	if !known || len(ops) == 0 {
		u.same = !w.mongoRelative(doc)
		return u
	}
	u.known = true
	for _, op := range ops {
		u.op(op)
	}
	if len(u.sets) == 0 {
		u.same = true
		return u
	}
	text := "UPDATE documents SET " + strings.Join(u.sets, ", ")
	if len(u.conds) > 0 {
		text += " WHERE " + strings.Join(u.conds, " AND ")
	}
	if one && whole && constant {
		text += " LIMIT 1" // any document in that state: a repetition takes the next one
	}
	stmts := w.in.prog.parse(text)
	if len(stmts) != 1 {
		return u
	}
	c := &sqlCall{w: w, st: &stmts[0], binds: u.binds}
	as := c.assumed()
	u.same, _ = stmts[0].IdempotentIf(as)
	u.guarded = len(u.conds) > 0 && stmts[0].StateGuardedIf(as)
	return u
}

func (u *mongoUpdate) bind(v *Value) string {
	u.binds = append(u.binds, v)
	t := u.w.deep(v)
	u.fresh = u.fresh || t.has(FromFresh|FromV4)
	return "$" + itoa(len(u.binds))
}

func (u *mongoUpdate) cond(name, op string, v *Value) {
	if v.K == VNil {
		switch op {
		case "=":
			u.conds = append(u.conds, column(name)+" IS NULL")
		case "<>":
			u.conds = append(u.conds, column(name)+" IS NOT NULL")
		}
		return
	}
	u.conds = append(u.conds, column(name)+" "+op+" "+u.bind(v))
}

// column writes a field's name as a column's.
func column(field string) string {
	return `"` + strings.NewReplacer(".", "_", `"`, "", "$", "").Replace(snake(field)) + `"`
}

// filter adds a condition, and reports whether it is one that does not depend on the event.
func (u *mongoUpdate) filter(f docField) bool {
	if f.name == "$and" {
		constant := true
		for _, e := range u.w.gathered(f.val) {
			fields, whole := u.w.document(e)
			constant = constant && whole
			for _, g := range fields {
				constant = u.filter(g) && constant
			}
		}
		return constant
	}
	if strings.HasPrefix(f.name, "$") {
		return false
	}
	ops, _ := u.w.document(f.val)
	if len(ops) == 0 || !strings.HasPrefix(ops[0].name, "$") {
		u.cond(f.name, "=", f.val)
		return fixed(f.val)
	}
	constant := true
	for _, op := range ops {
		constant = constant && fixed(op.val)
		switch op.name {
		case "$eq":
			u.cond(f.name, "=", op.val)
		case "$ne":
			u.cond(f.name, "<>", op.val)
			u.not[f.name] = op.val
		case "$lt":
			u.cond(f.name, "<", op.val)
		case "$gt":
			u.cond(f.name, ">", op.val)
		case "$exists":
			if op.val.K == VBool && op.val.I == 0 {
				u.conds = append(u.conds, column(f.name)+" IS NULL")
			}
		case "$in", "$nin":
			var list []string
			for _, e := range u.w.gathered(op.val) {
				list = append(list, u.bind(e))
				constant = constant && fixed(e)
			}
			if len(list) > 0 {
				u.conds = append(u.conds, column(f.name)+map[string]string{"$in": " IN (", "$nin": " NOT IN ("}[op.name]+strings.Join(list, ", ")+")")
			}
			if op.name == "$nin" && len(list) == 1 {
				u.not[f.name] = u.w.gathered(op.val)[0]
			}
		}
	}
	return constant
}

// fixed reports whether a value is a constant.
func fixed(v *Value) bool {
	return v.K == VNil || v.K == VBool || v.K == VInt || v.K == VStr && !hasHole(v.S)
}

// op adds what an operator of an update does.
func (u *mongoUpdate) op(op docField) {
	fields, known := u.w.document(op.val)
	switch op.name {
	case "$setOnInsert":
		u.onInsert, u.upsert = true, true
		return
	case "$set", "$unset", "$inc", "$mul", "$min", "$max", "$push", "$addToSet", "$pull", "$pullAll", "$currentDate":
	default:
		u.others = true
		u.sets = append(u.sets, `"x" = "x" + 1`)
		return
	}
	u.others = true
	if !known {
		u.known = false
		if op.name == "$inc" || op.name == "$mul" || op.name == "$push" {
			u.sets = append(u.sets, `"x" = "x" + 1`)
		}
		return
	}
	for _, f := range fields {
		col := column(f.name)
		as := func(format string) { u.sets = append(u.sets, col+" = "+fmt.Sprintf(format, col, u.bind(f.val))) }
		switch op.name {
		case "$set":
			if f.val.K == VNil {
				u.sets = append(u.sets, col+" = NULL")
				continue
			}
			if u.w.writtenBack(f.val, u.coll, f.name, u.keys) {
				as("%s + %s")
				continue
			}
			u.w.remain(u.coll, f.name, f.val, u.keys)
			u.sets = append(u.sets, col+" = "+u.bind(f.val))
		case "$unset":
			u.sets = append(u.sets, col+" = NULL")
		case "$inc", "$mul":
			as("%s + %s")
		case "$min":
			as("LEAST(%s, %s)")
		case "$max":
			as("GREATEST(%s, %s)")
		case "$currentDate":
			u.sets = append(u.sets, col+" = now()")
			u.fresh = true
		case "$push", "$addToSet":
			u.push(f, op.name == "$push")
		default:
			as("COALESCE(%s, %s)")
		}
	}
}

// push adds to an array. Where the filter asks that the array does not hold what is added, a repetition meets nothing.
func (u *mongoUpdate) push(f docField, again bool) {
	held := func(name string, v *Value) {
		if x := u.not[name]; x != nil && sameBind(x, v) {
			u.sets = append(u.sets, column(name)+" = "+u.bind(v))
			again = false
		}
	}
	held(f.name, f.val)
	inner, _ := u.w.document(f.val)
	for _, g := range inner {
		held(f.name+"."+g.name, g.val)
	}
	if again {
		u.sets = append(u.sets, column(f.name)+" = array_append("+column(f.name)+", "+u.bind(f.val)+")")
	}
}

// docField is a field of a document.
type docField struct {
	name string
	val  *Value
}

// documentKeys are the fields that a filter asks to be equal to a value.
func (w *walker) documentKeys(filter *Value) map[string]*Value {
	keys := make(map[string]*Value)
	fields, _ := w.document(filter)
	for _, f := range fields {
		if ops, _ := w.document(f.val); len(ops) == 0 {
			keys[plainName(strings.TrimPrefix(f.name, "_"))] = f.val
		}
	}
	return keys
}

// document takes a document apart: a bson.M or map, or a bson.D. whole is false where it may have further fields.
func (w *walker) document(v *Value) (fields []docField, whole bool) {
	if v.K != VRef || v.O == nil || !v.O.Local {
		return nil, false
	}
	for i := range 32 {
		at := join(v.Path, "["+itoa(i)+"]")
		key := w.find(v.O, join(at, "Key"), nil, 0)
		if key == nil {
			break
		}
		val := w.find(v.O, join(at, "Value"), nil, 0)
		if key.K != VStr || hasHole(key.S) || val == nil {
			return fields, false
		}
		fields = append(fields, docField{key.S, val})
	}
	if len(fields) > 0 {
		return fields, true
	}
	whole = true
	for _, p := range w.st.paths(v.O, v.Path) {
		rest := strings.TrimPrefix(strings.TrimPrefix(p, v.Path), ".")
		if !strings.HasPrefix(rest, "{") || !strings.HasSuffix(rest, "}") {
			whole = false
			continue
		}
		name := strings.ReplaceAll(rest[1:len(rest)-1], "\u00b7", ".")
		fields = append(fields, docField{name, w.st.get(cell{v.O.id, p})})
	}
	return fields, whole
}

// mayBeUnique reports whether a field or column so named could tell one event's row from another's.
func mayBeUnique(name string) bool {
	words := know.Words(name)
	if len(words) == 0 {
		return true
	}
	switch words[len(words)-1] {
	case "id", "ids", "key", "hash", "uuid", "guid", "ref", "reference", "number", "no", "code", "name", "slug", "email", "token", "offset", "seq", "sequence", "version", "sku", "phone", "url":
		return true
	}
	return sqltext.IsEventIDColumn(name)
}

// mongoRelative reports whether an update document of which not all is seen computes from the present value.
func (w *walker) mongoRelative(doc *Value) bool {
	found := false
	var visit func(v *Value, depth int)
	visit = func(v *Value, depth int) {
		if depth > 5 || found {
			return
		}
		if v.K == VStr {
			switch v.S {
			case "$inc", "$push", "$mul", "$pop", "$bit":
				found = true
			}
		}
		if v.O != nil {
			for _, p := range w.st.paths(v.O, "") {
				if strings.Contains(p, "{$inc}") || strings.Contains(p, "{$push}") || strings.Contains(p, "{$mul}") {
					found = true
				}
			}
			w.cells(v.O, "", func(x *Value) {
				if x != v {
					visit(x, depth+1)
				}
			})
		}
	}
	visit(doc, 0)
	return found
}
