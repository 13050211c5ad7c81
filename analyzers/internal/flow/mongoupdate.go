package flow

import (
	"fmt"
	"strings"
)

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
		if all := u.w.gathered(g.val); g.name == "$each" && len(all) == 1 {
			held(f.name, all[0])
		}
	}
	if again {
		u.sets = append(u.sets, column(f.name)+" = array_append("+column(f.name)+", "+u.bind(f.val)+")")
	}
}
