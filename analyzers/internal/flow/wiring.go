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
	done bool
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

// decorated reports whether one of the functions was made of another one: only then is it worth knowing of which.
func (p *Program) decorated(bs []binding) bool {
	for _, b := range bs {
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

// wiredIn is what is known to be in a slot, and whether anything is. bs are the functions that meet there: those that
// no value is made of were put there out of sight, and are values of their own.
func (p *Program) wiredIn(slot, hint string, bs []binding) []*Value {
	if !p.decorated(bs) {
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
			if vs := p.wires.at[at]; len(vs) > 0 {
				out = append(out, vs...)
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
		p.wires.parts(v, made)
	}
	for _, b := range bs {
		if b.Func != "" && !made[b.Func] {
			out = append(out, b.value())
		}
	}
	return out
}

// parts are the functions that a value is made of.
func (s *wires) parts(v *Value, have map[string]bool) {
	if v.K != VFunc || have[v.S] {
		return
	}
	have[v.S] = true
	for _, e := range v.Elems {
		for _, x := range s.within(e) {
			s.parts(x, have)
		}
	}
}

// within are the functions that a closure has captured in one of its variables.
func (s *wires) within(e *Value) []*Value {
	switch {
	case e.K == VFunc:
		return []*Value{e}
	case e.K == VRef && e.O != nil && e.O.id >= wireFirst:
		var out []*Value
		for _, p := range s.mem.paths(e.O, "") {
			if x := s.mem.get(cell{e.O.id, p}); x.K == VFunc {
				out = append(out, x)
			}
		}
		return out
	}
	return nil
}

// edge is where a function was handed over, in the packages under analysis where it was in several.
func (p *Program) edge(v *Value) *Edge {
	if p.wires == nil {
		return nil
	}
	leaf := "f|" + v.S
	if v.Bound {
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
			if e.Src[0] == 'f' || e.Src[0] == 'm' {
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
		in.run(f, args, newState(), &frame{fn: f, hash: mix(hashString("wire") ^ hashString(f.ID))})
		if total += in.steps; total >= wireTotal {
			break
		}
	}
}

// composing are the functions that take or give functions and keep them, and those that call such.
func (p *Program) composing() map[string]bool {
	rel := make(map[string]bool)
	after := make(map[string][]string)
	for dst, es := range p.edges {
		for _, e := range es {
			after[e.Src] = append(after[e.Src], dst)
		}
	}
	var work []string
	for _, id := range p.sortedIDs() {
		if f := p.funcs[id]; !f.Test && p.composer(f, after) {
			rel[id] = true
			work = append(work, id)
		}
	}
	calls := make(map[string][]string)
	for _, id := range p.sortedIDs() {
		f := p.funcs[id]
		if f.Test || !p.wirable(f) {
			continue
		}
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				switch in := &f.Blocks[bi].Instrs[ii]; {
				case in.Call != nil && in.Call.Kind == CallStatic:
					calls[in.Call.Fn] = append(calls[in.Call.Fn], id)
				case in.Op == OpClosure:
					calls[in.S] = append(calls[in.S], id) // what a literal does, whoever calls it, is done for the function it stands in
				}
			}
		}
	}
	for len(work) > 0 {
		id := work[0]
		work = work[1:]
		for _, c := range calls[id] {
			if !rel[c] {
				rel[c] = true
				work = append(work, c)
			}
		}
	}
	return rel
}

// wirable reports whether a function may put something together: one that handles messages does not.
func (p *Program) wirable(f *Func) bool { return !msgParam(f) && !p.hasSource(f) }

func (p *Program) composer(f *Func, after map[string][]string) bool {
	for _, r := range f.Results {
		if r != nil && r.Kind == KFunc && len(f.Params) > 0 {
			return true
		}
	}
	for i, q := range f.Params {
		if q.T == nil || q.T.Kind != KFunc {
			continue
		}
		for _, dst := range after[slotN("P", f.ID, i)] {
			switch dst[0] {
			case 'F', 'G', 'L', 'V', 'R':
				return true
			case 'P':
				if j := strings.LastIndexByte(dst, '|'); p.funcs[dst[2:j]] != nil {
					return true
				}
			}
		}
	}
	return false
}

// wireable reports whether a call is looked into while the program is put together.
func (w *walker) wireable(fn *Func) bool {
	return (w.in.wires.rel[fn.ID] || len(fn.Blocks) <= wireSmall) && w.in.prog.wirable(fn)
}

// shut is a call that is not looked into.
func (w *walker) shut(ins *Instr) []exit {
	vals := make([]*Value, len(ins.Call.Res))
	for i, r := range ins.Call.Res {
		vals[i] = w.fresh(r, Taint{}, slotN("R", ins.Call.Fn, i))
	}
	return []exit{{vals, w.st}}
}

// leave records that a value is left in a slot.
func (w *walker) leave(slot string, v *Value) {
	if w.in.wires == nil || slot == "" {
		return
	}
	for _, a := range v.alts {
		w.leave(slot, a)
	}
	if v.K != VFunc || v.Iface != "" {
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
	if w.in.wires == nil || v.K != VFunc && len(v.alts) == 0 {
		return
	}
	if ins.Op == OpMapUpdate {
		w.leave(w.in.prog.containerAt(w.fn, ins.A), v)
		return
	}
	if s := storeSlot(w.fn, ins.A); s != "" {
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

// describe tells function values apart by what they are made of.
func (w *walker) describe(v *Value, depth int) string {
	if v.K != VFunc || depth > wireDepth {
		return "?"
	}
	out := v.S
	if v.Bound {
		return out
	}
	for i, e := range v.Elems {
		out += " " + itoa(i) + "("
		if e.K == VRef && e.O != nil && e.O.Local {
			for _, p := range w.st.paths(e.O, e.Path) {
				if x := w.st.get(cell{e.O.id, p}); x.K == VFunc {
					out += p + ":" + w.describe(x, depth+1)
				}
			}
		} else if e.K == VFunc {
			out += w.describe(e, depth+1)
		}
		out += ")"
	}
	return out
}

// keep copies a function value out of the run: of what it has captured, functions are kept, and of all else that it
// is not known.
func (w *walker) keep(v *Value, depth int) *Value {
	s := w.in.wires
	c := &Value{K: VFunc, S: v.S, Bound: v.Bound, Ref: v.Ref, wired: true}
	if e := w.in.prog.edge(v); e != nil {
		c.Ref = e.Pos
	}
	if v.Bound {
		c.Elems = []*Value{{K: VTop}}
		return c
	}
	for i, e := range v.Elems {
		unknown := &Value{K: VTop, Slot: slotN("V", v.S, i)}
		if depth >= wireDepth {
			c.Elems = append(c.Elems, unknown)
			continue
		}
		switch {
		case e.K == VFunc:
			c.Elems = append(c.Elems, w.keep(e, depth+1))
		case e.K == VRef && e.O != nil && e.O.Local:
			o := w.in.newObject(nil)
			o.Local, o.Name, o.Slot = true, e.O.Name, unknown.Slot
			n := 0
			for _, p := range w.st.paths(e.O, e.Path) {
				if x := w.st.get(cell{e.O.id, p}); x.K == VFunc {
					s.mem.set(cell{o.id, strings.TrimPrefix(strings.TrimPrefix(p, e.Path), ".")}, w.keep(x, depth+1))
					n++
				} else if p == e.Path {
					n = -1 << 20
				}
			}
			if n > 0 {
				c.Elems = append(c.Elems, &Value{K: VRef, O: o})
			} else {
				c.Elems = append(c.Elems, unknown)
			}
		default:
			c.Elems = append(c.Elems, unknown)
		}
	}
	return c
}

// recall makes known to the present path what a kept value has captured.
func (w *walker) recall(v *Value) {
	for _, e := range v.Elems {
		switch {
		case e.K == VFunc:
			w.recall(e)
		case e.K == VRef && e.O != nil && e.O.id >= wireFirst:
			mem := w.in.prog.wires.mem
			for _, p := range mem.paths(e.O, "") {
				c := cell{e.O.id, p}
				if w.st.get(c) == nil {
					x := mem.get(c)
					w.st.setQuiet(c, x)
					w.recall(x)
				}
			}
		}
	}
}
