package flow

import (
	"strconv"
)

// Elements of slices, arrays and maps.

func (w *walker) index(ins *Instr) {
	base, i := w.val(ins.A), w.val(ins.B)
	elem := "[*]"
	if i.K == VInt {
		elem = "[" + strconv.FormatInt(i.I, 10) + "]"
	}
	o := base.O
	path := base.Path
	if base.K != VRef {
		o, path = w.in.objOf(base, nil), ""
	}
	if base.K == VTop && i.K == VInt && base.Slot != "" {
		// A slice of functions that were collected elsewhere: the i-th of them.
		c := cell{o.id, join(path, elem)}
		if fs := w.in.prog.functions(base.Slot); int(i.I) < len(fs) && i.I >= 0 && w.st.get(c) == nil {
			w.st.setQuiet(c, fs[i.I].value())
		}
	}
	out := &Value{K: VRef, O: o, Path: join(path, elem), T: base.T}
	if base.Batch {
		out = &Value{K: VRef, O: o, Path: join(path, elem), T: base.T, Batch: true}
	}
	if ins.Op == OpIndexAddr {
		w.set(ins.Dst, out)
		return
	}
	w.set(ins.Dst, w.load(out, ins.Dst, ins))
}

func (w *walker) next1(ins *Instr) {
	base := w.val(ins.A)
	t := w.deep(base)
	elem := &Value{K: VTop, T: t, Slot: base.Slot}
	if base.O != nil && elem.Slot == "" {
		elem.Slot = base.O.Slot
	}
	if t.has(FromMessage) {
		elem.Msg, elem.Batch = true, base.K == VTop
	}
	if base.K == VRef && base.O != nil {
		if v := w.st.get(cell{base.O.id, join(base.Path, "[*]")}); v != nil {
			elem = v
		}
	}
	key := taintVal(t)
	if w.in.money != nil && base.O != nil && base.O.Local {
		key.from = base
	}
	more := w.round(base)
	if w.holdsNothing(base) {
		more = vFalse
	}
	w.set(ins.Dst, &Value{K: VTuple, Elems: []*Value{more, key, elem}})
}
