package flow

import (
	"sort"
	"strings"
)

// What a client does to the requests it sends is decided where it is built: in a constructor, or in the caller that
// hands it over. The functions that put something into a slot are run for what they put there.

// builtVal is a value and the memory in which it was built.
type builtVal struct {
	v    *Value
	heap *heap
}

// maker is an instruction that puts its operand into a slot.
type maker struct {
	fn  *Func
	ins *Instr
	val int32
}

// watch is an instruction whose operand is wanted.
type watch struct {
	maker
	fr   *frame
	got  []builtVal
	stop bool // the path need not go on
}

const (
	buildSteps = 12_000
	buildDepth = 6
)

// watched takes note of a wanted operand. It returns false when the path ends here.
func (m *moneyRun) watched(w *walker, ins *Instr) bool {
	x := m.watch
	if x == nil || ins != x.ins || w.fr != x.fr {
		return true
	}
	w.st.heap.shared = true
	if len(x.got) < 8 {
		x.got = append(x.got, builtVal{w.val(x.val), w.st.heap})
	}
	return !x.stop
}

// makersOf finds the instructions that put something into a slot: a field, a package variable, a parameter, a free
// variable.
func (p *Program) makersOf(slot string) []maker {
	if len(slot) < 3 {
		return nil
	}
	var out []maker
	for _, id := range p.sortedIDs() {
		f := p.funcs[id]
		if f.Test {
			continue
		}
		f.prepare()
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				ins := &f.Blocks[bi].Instrs[ii]
				switch {
				case ins.Op == OpStore && (slot[0] == 'F' || slot[0] == 'G'):
					if storeSlot(f, ins.A) == slot {
						out = append(out, maker{f, ins, ins.B})
					}
				case ins.Call != nil && ins.Call.Kind == CallStatic && slot[0] == 'P':
					if i, ok := slotIndex(slot, 'P', ins.Call.Fn); ok && i < len(ins.Call.Args) {
						out = append(out, maker{f, ins, ins.Call.Args[i]})
					}
				case ins.Op == OpClosure && slot[0] == 'V':
					if i, ok := slotIndex(slot, 'V', ins.S); ok && i < len(ins.Args) {
						out = append(out, maker{f, ins, ins.Args[i]})
					}
				}
			}
		}
	}
	return out
}

func (p *Program) sortedIDs() []string {
	ids := make([]string, 0, len(p.funcs))
	for id := range p.funcs {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return ids
}

func storeSlot(f *Func, addr int32) string {
	if addr < 0 {
		if i := int(^addr); i < len(f.Consts) && f.Consts[i].Kind == CGlobal {
			return "G|" + f.Consts[i].S
		}
		return ""
	}
	if d := f.def(addr); d != nil && d.Op == OpFieldAddr {
		return "F|" + d.S2 + "|" + d.S
	}
	return ""
}

// slotIndex is the index in a slot of a function's parameter or free variable.
func slotIndex(slot string, kind byte, fn string) (int, bool) {
	rest, ok := strings.CutPrefix(slot, string(rune(kind))+"|"+fn+"|")
	if !ok {
		return 0, false
	}
	n := 0
	for _, c := range rest {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, rest != ""
}

// built is what may be in a slot, each with the memory it refers to made known to the present path. It is empty when
// nothing in sight puts anything there.
func (w *walker) built(slot string) []*Value {
	var out []*Value
	for _, b := range w.in.builtIn(slot, 0) {
		w.adopt(b)
		out = append(out, b.v)
	}
	return out
}

func (in *interp) builtIn(slot string, depth int) []builtVal {
	if slot == "" || depth > buildDepth || in.money == nil {
		return nil
	}
	if out, ok := in.money.built[slot]; ok {
		return out
	}
	in.money.built[slot] = nil
	var out []builtVal
	for _, m := range in.prog.makersOf(slot) {
		for _, b := range in.build(m) {
			if slot[0] == 'V' {
				b.v = captured(b)
			}
			if b.v.K == VTop && b.v.Slot != "" && b.v.Slot != slot && (b.v.O == nil || !b.v.O.Local) {
				if strings.HasPrefix(b.v.Slot, "G|net/http.") {
					out = append(out, b) // http.DefaultClient
					continue
				}
				out = append(out, in.builtIn(b.v.Slot, depth+1)...)
				continue
			}
			if b.v.K != VTop && b.v.K != VNil || b.v.O != nil && b.v.O.Local {
				out = append(out, b)
			}
		}
		if len(out) > 12 {
			break
		}
	}
	in.money.built[slot] = out
	return out
}

// captured is what a variable holds that a function literal captures: it does so by reference.
func captured(b builtVal) *Value {
	if b.v.K != VRef || b.v.O == nil || !b.v.O.Local {
		return b.v
	}
	from := state{heap: b.heap}
	if x := from.get(cell{b.v.O.id, b.v.Path}); x != nil {
		return x
	}
	return b.v
}

// build runs a function for what it puts into a slot.
func (in *interp) build(m maker) []builtVal {
	oldWatch, oldSender, oldLimit, oldGave, oldEntered := in.money.watch, in.money.sender, in.limit, in.gaveUp, in.entered
	in.entered = make(map[string]bool)
	fr := &frame{fn: m.fn, hash: mix(hashString("build") ^ hashString(m.fn.ID))}
	x := &watch{maker: m, fr: fr, stop: m.ins.Op != OpStore}
	in.money.watch, in.money.sender, in.limit = x, nil, in.steps+buildSteps
	for i := range m.fn.Free {
		fr.free = append(fr.free, &Value{K: VTop, Slot: slotN("V", m.fn.ID, i)})
	}
	args := make([]*Value, len(m.fn.Params))
	for i := range args {
		args[i] = in.paramValue(m.fn, i, Taint{})
	}
	exits := in.run(m.fn, args, newState(), fr)
	in.money.watch, in.money.sender, in.limit, in.gaveUp, in.entered = oldWatch, oldSender, oldLimit, oldGave, oldEntered
	// What is done to it later in the same function counts, too.
	for i, b := range x.got {
		for _, e := range exits {
			if b.v.O != nil && cellsOf(e.st.heap, b.v.O.id) > cellsOf(b.heap, b.v.O.id) {
				e.st.heap.shared = true
				x.got[i].heap = e.st.heap
				break
			}
		}
	}
	return x.got
}

func cellsOf(h *heap, id int) int {
	if m := h.objs[id]; m != nil {
		return len(m.m)
	}
	return 0
}

// adopt copies the memory that a value refers to into the present path's.
func (w *walker) adopt(b builtVal) {
	want := make(map[int]bool)
	var visit func(v *Value, depth int)
	visit = func(v *Value, depth int) {
		if v == nil || depth > 8 {
			return
		}
		for _, e := range v.Elems {
			visit(e, depth+1)
		}
		if v.O == nil || want[v.O.id] {
			return
		}
		want[v.O.id] = true
		from := state{heap: b.heap}
		for _, p := range from.paths(v.O, "") {
			c := cell{v.O.id, p}
			x := from.get(c)
			if w.st.get(c) == nil {
				w.st.set(c, x)
			}
			visit(x, depth+1)
		}
	}
	visit(b.v, 0)
}
