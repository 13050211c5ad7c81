package flow

import (
	"sort"
	"strings"
)

// What a function value is made of is decided where the program is put together: handlers are wrapped in middleware
// there, by lists of it, by options, under conditions. The slots know which functions meet in a place, though not which
// of them was wrapped in which. So the functions that put handlers together are run, once, and the values that they leave
// in fields, containers and parameters are kept: closures with what they have captured.

// wires are the function values that putting the program together leaves in slots.
type wires struct {
	at   map[string][]*Value // by slot
	have map[string]bool
	mem  *state // what the values have captured
	in   *interp
	rel  map[string]bool
	back map[string][]*Edge // edges by leaf
}

const (
	wireSteps = 60_000  // of one function that puts things together
	wireTotal = 600_000 // of all of them
	wireDepth = 6       // of functions within functions
	wireSlot  = 32      // values in a slot
	wireFirst = 1 << 30 // the first number of an object that a value has captured: no run gives such numbers
	wireSmall = 4       // a function of so few blocks is run wherever it is called
)

// decorated reports whether one of the functions, or types with the method, was made of another one: only then is it
// worth knowing of which.
func (p *Program) decorated(method string, bs []binding) bool {
	for _, b := range bs {
		if b.Type != "" && method != "" {
			if p.wraps(b.Type, method) {
				return true
			}
			continue
		}
		f := p.fn(b.Func)
		if f == nil {
			continue
		}
		for i := range f.Free {
			for _, inner := range p.sources(slotN("V", f.ID, i)) {
				if inner.Func != "" {
					return true
				}
			}
		}
	}
	return false
}

// wraps reports whether a type with a method is a function, or has a field that holds something with the same method.
func (p *Program) wraps(typ, method string) bool {
	m := p.method(typ, method)
	if m == nil {
		return false
	}
	if f := p.fn(m.Fn); f != nil && f.Method && len(f.Params) > 0 && f.Params[0].T != nil && f.Params[0].T.Kind == KFunc {
		return true
	}
	if p.fieldSlots == nil {
		p.fieldSlots = make(map[string][]string)
		for slot := range p.edges {
			if rest, ok := strings.CutPrefix(slot, "F|"); ok {
				t, _, _ := strings.Cut(rest, "|")
				p.fieldSlots[t] = append(p.fieldSlots[t], slot)
			}
		}
	}
	for _, slot := range p.fieldSlots[typ] {
		for _, inner := range p.sources(slot) {
			if inner.Type != "" && p.method(inner.Type, method) != nil {
				return true
			}
		}
	}
	return false
}

// wiredIn is what is known to be in a slot. bs are the functions, or types with the method, that meet there: those that
// no value is made of were put there out of sight, and are values of their own.
func (p *Program) wiredIn(slot, hint, method string, bs []binding) []*Value {
	if !p.decorated(method, bs) {
		return nil
	}
	p.wire()
	var out []*Value
	for _, s := range [...]string{slot, hint} {
		if s == "" || len(out) > 0 {
			continue
		}
		seen := map[string]bool{s: true}
		for work := []string{s}; len(work) > 0 && len(seen) < 400; {
			at := work[0]
			work = work[1:]
			found := false
			for _, v := range p.wires.at[at] {
				if method == "" && v.K == VFunc || method != "" && v.Dyn != "" && p.method(v.Dyn, method) != nil {
					out, found = append(out, v), true
				}
			}
			if found {
				continue
			}
			var from []string
			for _, e := range p.edges[at] {
				from = append(from, p.through(e.Src)...)
			}
			for _, n := range append(from, p.calls(at)...) {
				n = strings.TrimPrefix(n, "U|")
				if !seen[n] {
					seen[n] = true
					work = append(work, n)
				}
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	made := make(map[string]bool)
	for _, v := range out {
		p.wires.parts(v, made, 0)
	}
	for _, b := range bs {
		switch {
		case method == "" && b.Func != "" && !made[b.Func]:
			out = append(out, b.value())
		case method != "" && b.Type != "" && !made["t|"+b.Type]:
			v := &Value{K: VTop, Dyn: b.Type, wired: true}
			if b.Edge != nil {
				v.Ref = b.Edge.Pos
			}
			out = append(out, v)
		}
	}
	return out
}

// parts are the functions and types that a value is made of.
func (s *wires) parts(v *Value, have map[string]bool, depth int) {
	if depth > 2*wireDepth {
		return
	}
	if v.K == VFunc {
		have[v.S] = true
	}
	if v.Dyn != "" {
		have["t|"+v.Dyn] = true
	}
	for _, e := range append(v.Elems, v) {
		for _, x := range s.within(e) {
			if x != v {
				s.parts(x, have, depth+1)
			}
		}
	}
}

// within are the functions and implementations that a closure has captured in one of its variables, or that a struct
// has in its fields.
func (s *wires) within(e *Value) []*Value {
	switch {
	case e.K == VFunc:
		return []*Value{e}
	case e.K == VRef && e.O != nil && e.O.id >= wireFirst:
		var out []*Value
		for _, p := range s.mem.paths(e.O, "") {
			if x := s.mem.get(cell{e.O.id, p}); composed(x) {
				out = append(out, x)
			}
		}
		return out
	}
	return nil
}

// composed reports whether a value is a function, or of a known type behind an interface.
func composed(v *Value) bool { return v.K == VFunc && v.Iface == "" || v.Dyn != "" && v.K != VNil }

// edge is where a function or implementation was handed over, in the packages under analysis where it was in several.
func (p *Program) edge(v *Value) *Edge {
	if p.wires == nil {
		return nil
	}
	leaf := "f|" + v.S
	switch {
	case v.Dyn != "":
		leaf = "t|" + v.Dyn
	case v.Bound:
		leaf = "m|" + v.S
	}
	var out *Edge
	for _, e := range p.wires.back[leaf] {
		if out == nil || p.own[e] && !p.own[out] {
			out = e
		}
	}
	return out
}

// wire runs the functions that put handlers together.
func (p *Program) wire() {
	if p.wires != nil {
		return
	}
	s := &wires{at: make(map[string][]*Value), have: make(map[string]bool), mem: newState(), back: make(map[string][]*Edge)}
	p.wires = s
	dsts := make([]string, 0, len(p.edges))
	for d := range p.edges {
		dsts = append(dsts, d)
	}
	sort.Strings(dsts)
	for _, d := range dsts {
		for _, e := range p.edges[d] {
			if e.Src[0] == 'f' || e.Src[0] == 'm' || e.Src[0] == 't' && d[0] != 'N' {
				s.back[e.Src] = append(s.back[e.Src], e)
			}
		}
	}
	s.rel = p.composing()
	s.in = newInterp(p, World{})
	s.in.wires, s.in.nextID = s, wireFirst
	total := 0
	for _, id := range p.sortedIDs() {
		f := p.funcs[id]
		if !s.rel[id] || p.callers[id] || f.Literal || f.Gen {
			continue
		}
		in := s.in
		in.steps, in.gaveUp, in.limit = 0, false, min(wireSteps, wireTotal-total)
		args := make([]*Value, len(f.Params))
		for i := range args {
			args[i] = in.paramValue(f, i, Taint{})
		}
		fr := &frame{fn: f, hash: mix(hashString("wire") ^ hashString(f.ID))}
		for _, e := range in.run(f, args, newState(), fr) {
			w := &walker{in: in, fr: fr, fn: f, st: e.st}
			w.settle()
		}
		if total += in.steps; total >= wireTotal {
			break
		}
	}
}

// wireable reports whether a call is looked into while the program is put together.
func (w *walker) wireable(fn *Func) bool {
	return (w.in.wires.rel[fn.ID] || len(fn.Blocks) <= wireSmall) && w.in.prog.wirable(fn)
}

// shut is a call that is not looked into. It may use what was stored before.
func (w *walker) shut(ins *Instr) []exit {
	w.settle()
	vals := make([]*Value, len(ins.Call.Res))
	for i, r := range ins.Call.Res {
		vals[i] = w.fresh(r, Taint{}, slotN("R", ins.Call.Fn, i))
	}
	return []exit{{vals, w.st}}
}

// left is a value that was stored in a field. Of those stored in the same field one after another, the last one counts:
// an option may wrap what the constructor has put there.
type left struct {
	obj        int
	path, slot string
	v          *Value
	up         *left
}

// settle records what the fields hold by now.
func (w *walker) settle() {
	if w.in.wires == nil {
		return
	}
	seen := make(map[cell]bool)
	for l := w.st.left; l != nil; l = l.up {
		if c := (cell{l.obj, l.path}); !seen[c] {
			seen[c] = true
			w.leave(l.slot, l.v)
		}
	}
}

// leave records that a value is left in a slot.
func (w *walker) leave(slot string, v *Value) {
	if w.in.wires == nil || slot == "" {
		return
	}
	for _, a := range v.alts {
		w.leave(slot, a)
	}
	if !composed(v) {
		return
	}
	s := w.in.wires
	key := slot + "=" + w.describe(v, 0)
	if s.have[key] || len(s.at[slot]) >= wireSlot {
		return
	}
	s.have[key] = true
	s.at[slot] = append(s.at[slot], w.keep(v, 0))
}

// leaveArgs records what a call leaves in its callee's parameters.
func (w *walker) leaveArgs(fn string, args []*Value) {
	if w.in.wires == nil {
		return
	}
	for i, a := range args {
		w.leave(slotN("P", fn, i), a)
	}
}

// leaveAt records what a store or an update of a container leaves behind.
func (w *walker) leaveAt(ins *Instr, v *Value) {
	if w.in.wires == nil || !composed(v) && len(v.alts) == 0 {
		return
	}
	if ins.Op == OpMapUpdate {
		w.leave(w.in.prog.containerAt(w.fn, ins.A), v)
		return
	}
	if s := storeSlot(w.fn, ins.A); s != "" {
		if a := w.val(ins.A); a.K == VRef && a.O != nil && a.O.Local {
			w.st.left = &left{a.O.id, a.Path, s, v, w.st.left}
			return
		}
		w.leave(s, v)
	} else if d := w.fn.def(ins.A); d != nil && d.Op == OpIndexAddr {
		w.leave(w.in.prog.containerAt(w.fn, d.A), v)
	}
}

// containerAt is the slot of what a container holds.
func (p *Program) containerAt(f *Func, v int32) string {
	if s := p.slotAt(f, v); s != "" {
		return s
	}
	switch d := f.def(v); {
	case d == nil:
	case d.Op == OpAlloc || d.Op == OpMake:
		return slotN("L", f.ID, int(v))
	case d.Op == OpSlice || d.Op == OpCopy:
		return p.containerAt(f, d.A)
	case d.Op == OpFieldAddr:
		return "F|" + d.S2 + "|" + d.S
	}
	return ""
}

// describe tells values apart by what they are made of.
func (w *walker) describe(v *Value, depth int) string {
	if !composed(v) || depth > wireDepth {
		return "?"
	}
	out := v.Dyn + ":"
	if v.K == VFunc {
		out += v.S
	}
	if v.Bound {
		return out
	}
	inner := func(e *Value) {
		for _, p := range w.st.paths(e.O, e.Path) {
			if x := w.st.get(cell{e.O.id, p}); composed(x) {
				out += "(" + p + w.describe(x, depth+1) + ")"
			}
		}
	}
	if v.K == VRef && v.O != nil && v.O.Local {
		inner(v)
	}
	for i, e := range v.Elems {
		out += " " + itoa(i)
		if e.K == VRef && e.O != nil && e.O.Local {
			inner(e)
		} else if composed(e) {
			out += w.describe(e, depth+1)
		}
	}
	return out
}

// keep copies a value out of the run: of what it is made of, functions and implementations are kept, and of all else
// that it is not known.
func (w *walker) keep(v *Value, depth int) *Value {
	c := &Value{K: v.K, Dyn: v.Dyn, Ref: v.Ref, wired: true}
	if e := w.in.prog.edge(v); e != nil {
		c.Ref = e.Pos
	}
	if v.K != VFunc {
		c.K, c.Slot = VTop, v.Slot
		if v.K == VRef && v.O != nil && v.O.Local && depth < wireDepth {
			if o := w.keepIn(v, depth); o != nil {
				c.K, c.O = VRef, o
			}
		}
		return c
	}
	c.S, c.Bound = v.S, v.Bound
	if v.Bound {
		c.Elems = []*Value{{K: VTop}}
		return c
	}
	for i, e := range v.Elems {
		kept := &Value{K: VTop, Slot: slotN("V", v.S, i)}
		switch {
		case depth >= wireDepth:
		case composed(e):
			kept = w.keep(e, depth+1)
		case e.K == VRef && e.O != nil && e.O.Local:
			if o := w.keepIn(e, depth); o != nil {
				o.Slot = kept.Slot
				kept = &Value{K: VRef, O: o}
			}
		}
		c.Elems = append(c.Elems, kept)
	}
	return c
}

// keepIn copies the functions and implementations in a variable or struct, nil when there are none. What else is in it is
// found by the slots of its fields.
func (w *walker) keepIn(v *Value, depth int) *Object {
	var o *Object
	for _, p := range w.st.paths(v.O, v.Path) {
		x := w.st.get(cell{v.O.id, p})
		if !composed(x) {
			if p == v.Path {
				return nil // a variable of another sort
			}
			continue
		}
		if o == nil {
			o = w.in.newObject(nil)
			o.Name = v.O.Name
		}
		kept := w.keep(x, depth+1)
		w.in.wires.mem.set(cell{o.id, strings.TrimPrefix(strings.TrimPrefix(p, v.Path), ".")}, kept)
	}
	return o
}

// recall makes known to the present path what a kept value is made of.
func (w *walker) recall(v *Value) {
	w.recallIn(v)
	for _, e := range v.Elems {
		if e.wired {
			w.recall(e)
		} else {
			w.recallIn(e)
		}
	}
}

func (w *walker) recallIn(v *Value) {
	if v.K != VRef || v.O == nil || v.O.id < wireFirst {
		return
	}
	mem := w.in.prog.wires.mem
	for _, p := range mem.paths(v.O, "") {
		c := cell{v.O.id, p}
		if w.st.get(c) == nil {
			x := mem.get(c)
			w.st.setQuiet(c, x)
			w.recall(x)
		}
	}
}
