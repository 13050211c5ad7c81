package flow

import (
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// A consumer of batches lets the mark of the whole batch say which events are new, and leaves out the others before it
// writes anything. In the world of a duplicate nothing is left: what is then done for each, or with all at once, is not
// done.

// holdsNothing reports whether a slice, map or sequence surely has no elements.
func (w *walker) holdsNothing(v *Value) bool {
	switch {
	case v.K == VNil, v.size == sizeNone:
		return true
	case v.K != VRef || v.O == nil || !v.O.Local || v.O.T == nil:
		return false
	case v.O.T.Kind == KMap:
		return v.Path == "" && len(w.st.paths(v.O, "")) == 0
	}
	return false
}

// pointsToNothing is holdsNothing for a pointer to a slice, or the slice itself.
func (w *walker) pointsToNothing(v *Value) bool {
	if v.K == VRef && v.O != nil && v.O.Local && v.O.T != nil && v.O.T.Kind == KSlice {
		if x := w.st.get(cell{v.O.id, v.Path}); x != nil {
			return w.holdsNothing(x)
		}
	}
	return v.box == KSlice+1 && w.holdsNothing(v)
}

// noElements is a collection or sequence of nothing.
func noElements() *Value { return &Value{K: VNotNil, size: sizeNone} }

// narrow is a call that leaves of a collection those elements for which a function is true, or the others.
func (w *walker) narrow(ins *Instr, row *know.Row, full, args []*Value) []exit {
	c := ins.Call
	list, pred := at(args, row.Arg), at(args, row.Arg2)
	if w.holdsNothing(list) {
		return []exit{{fit(c, noElements(), nilVal), w.st}}
	}
	out := w.callback(ins, pred, w.elementArgs(c, list))
	if len(out) == 0 {
		return w.library(ins, full)
	}
	var res []exit
	for _, e := range out {
		sub := *w
		sub.st = e.st
		n := len(e.vals)
		if n == 0 || e.vals[n-1] == nil {
			return w.library(ins, full)
		}
		left := *list
		switch t, known := e.vals[n-1].truth(); {
		case known && t != (row.Kind == know.KeepIf):
			left = *noElements()
			if len(c.Res) == 0 && list.K == VRef && list.O.Local {
				sub.st.clear(list.O, list.Path)
			}
		case n > 1:
			left = Value{K: VNotNil, T: w.deep(e.vals[0])} // FilterMap gives something else
		case !known:
			left.size = sizeUnknown
		}
		if len(c.Res) == 0 {
			res = append(res, exit{nil, sub.st})
		} else {
			res = append(res, exit{[]*Value{&left}, sub.st})
		}
	}
	return res
}

// elementArgs are the arguments with which a function is called for an element of a collection.
func (w *walker) elementArgs(c *Call, list *Value) []*Value {
	t := w.deep(list)
	elem := &Value{K: VTop, T: t, Slot: list.Slot, Msg: t.has(FromMessage) && list.Msg}
	if list.K == VRef && list.O != nil {
		if v := w.st.get(cell{list.O.id, join(list.Path, "[*]")}); v != nil {
			elem = v
		}
	}
	if strings.HasSuffix(c.Pkg, "maps") || strings.HasSuffix(c.Name, "By") && list.O != nil && list.O.T != nil && list.O.T.Kind == KMap {
		return []*Value{taintVal(t), elem}
	}
	return []*Value{elem, top}
}

// elementsOf is a call that gives a collection or sequence made of the elements of another: nothing of nothing.
func (w *walker) elementsOf(ins *Instr, row *know.Row, full, args []*Value) []exit {
	if w.holdsNothing(at(args, row.Arg)) {
		return []exit{{fit(ins.Call, noElements(), nilVal), w.st}}
	}
	return w.library(ins, full)
}

// includes is a call that tells whether a collection has an element: one of nothing has none.
func (w *walker) includes(ins *Instr, row *know.Row, full, args []*Value) []exit {
	if w.holdsNothing(at(args, row.Arg)) {
		return []exit{{[]*Value{vFalse}, w.st}}
	}
	if w.deep(at(args, row.Arg)).has(FromMark) && fromEvent(w.deep(at(args, 1))) {
		return []exit{{[]*Value{vTrue}, w.st}}
	}
	return w.library(ins, full)
}

// mayFill notes that what a callee cannot be seen to do may have filled the maps that an argument refers to.
func (w *walker) mayFill(a *Value, t Taint, depth int) {
	if a == nil || a.K != VRef || a.O == nil || !a.O.Local || depth > 3 {
		return
	}
	if a.O.T != nil && a.O.T.Kind == KMap && a.Path == "" && len(w.st.paths(a.O, "")) == 0 {
		w.st.set(cell{a.O.id, "?"}, taintVal(t))
		return
	}
	for _, p := range w.st.paths(a.O, a.Path) {
		w.mayFill(w.st.get(cell{a.O.id, p}), t, depth+1)
	}
}

// ofNothing reports whether a statement writes a row for each element of an array that has none: it inserts what unnest
// makes of it, or changes the rows whose key is any of it.
func (c *sqlCall) ofNothing() bool {
	for _, u := range c.st.Uses() {
		v := c.bind(u.Param)
		if v == nil || u.Param.Style == sqltext.Piece || !c.w.holdsNothing(v) {
			continue
		}
		before := strings.ToLower(c.before(u.Param.Offset))
		switch {
		case strings.HasSuffix(before, "unnest("), strings.HasSuffix(before, "=any("), strings.HasSuffix(before, "in("):
			return true
		}
	}
	return false
}

// before is the text before a byte of it, without spaces.
func (c *sqlCall) before(offset int) string {
	end := min(max(offset, 0), len(c.text))
	start := max(0, end-40)
	return strings.Join(strings.Fields(c.text[start:end]), "")
}

// manyKeys reports whether an INSERT takes the keys of many events out of an array or document.
func (c *sqlCall) manyKeys(part *sqltext.Statement) bool {
	src := part.Source
	if src == nil {
		return false
	}
	rows := slices.ContainsFunc(src.From, func(r sqltext.TableRef) bool {
		return r.Func == "unnest" || strings.HasSuffix(r.Func, "recordset") || strings.Contains(r.Func, "array_elements")
	})
	cols := c.keyColumns(part)
	id := func(col string) bool { return sqltext.IsEventIDColumnIn(part.Table, col) }
	if slices.ContainsFunc(cols, id) {
		cols = slices.DeleteFunc(slices.Clone(cols), func(col string) bool { return !id(col) })
	}
	for i, out := range src.Outputs {
		switch {
		case out.Name == "*":
			return rows
		case i < len(part.Columns) && contains(cols, part.Columns[i]):
			if out.Value.Func == "unnest" || rows && len(out.Value.Params) == 0 {
				return true
			}
		}
	}
	return false
}

// ofOthers are the rows that a mark returns in the world where the message at hand was there before: none, or those of
// others that were marked with it.
func ofOthers(s *site) *Value {
	if s == nil || !s.Batch {
		return nilVal
	}
	v := noElements()
	v.mixed = true
	return v
}

// markOf is the origin of what a check found.
func markOf(s *site) Bits {
	if s == nil || !s.Look {
		return 0
	}
	return FromMark
}

// markedKeys is the place in a map that says that the marks which a look has found are among its keys.
const markedKeys = "[marks]"

// noteMark remembers that what a look has found is put into a map under its own name.
func (w *walker) noteMark(m *Value, k *Value) {
	if m.O != nil && w.deep(k).has(FromMark) {
		w.st.set(cell{m.O.id, join(w.pathAt(m), markedKeys)}, vTrue)
	}
}

// isMarked reports whether the message's event surely is among the keys of a map: a look has found its mark.
func (w *walker) isMarked(m *Value, key Taint) bool {
	return m.O != nil && fromEvent(key) && w.st.get(cell{m.O.id, join(w.pathAt(m), markedKeys)}) != nil
}

// sameAsMark reports whether one of two values is the event's and the other the mark that a look has found of it.
func sameAsMark(x, y *Value) bool {
	return x.T.has(FromMark) && fromEvent(y.T) && !y.T.has(FromMark) || y.T.has(FromMark) && fromEvent(x.T) && !x.T.has(FromMark)
}
