package flow

import (
	mathbits "math/bits"
	"sort"
)

func (p *Program) add(u *Unit) {
	for _, f := range u.Funcs {
		if p.funcs[f.ID] == nil {
			p.addFunc(f)
		}
	}
	for i := range u.Types {
		t := &u.Types[i]
		m := p.methods[t.Name]
		if m == nil {
			m = make(map[string]*Method)
			p.methods[t.Name] = m
		}
		for j := range t.Methods {
			if m[t.Methods[j].Name] == nil {
				m[t.Methods[j].Name] = &t.Methods[j]
			}
		}
	}
	for i := range u.Edges {
		e := &u.Edges[i]
		p.edges[e.Dst] = append(p.edges[e.Dst], e)
		if p.ownPkgs[u.Path] {
			p.own[e] = true
		}
		switch e.Src[0] {
		case 'f', 'm':
			p.callers[e.Src[2:]] = true
		}
	}
	for _, t := range u.Bare {
		if p.bare == nil {
			p.bare = make(map[string]bool)
		}
		p.bare[t] = true
	}
	for i := range u.Globals {
		g := &u.Globals[i]
		if p.globals[g.Name] == nil {
			p.globals[g.Name] = g
		}
	}
}

// bits is a set of values.
type bits []uint64

func (b bits) has(v int32) bool { return b[v>>6]&(1<<(v&63)) != 0 }

func (b bits) add(v int32) { b[v>>6] |= 1 << (v & 63) }

// prepare computes what running a function needs: live values and definitions.
func (f *Func) prepare() {
	if f.prepared {
		return
	}
	f.prepared = true
	n, words := len(f.Blocks), int(f.Values)/64+1
	make1 := func() []bits {
		all := make(bits, n*words)
		out := make([]bits, n)
		for i := range out {
			out[i] = all[i*words : (i+1)*words]
		}
		return out
	}
	live, def := make1(), make1()
	f.defs = make(map[int32]*Instr)
	for i := range f.Blocks {
		for j := range f.Blocks[i].Instrs {
			ins := &f.Blocks[i].Instrs[j]
			if ins.Op != OpPhi {
				for _, v := range operands(ins) {
					if v >= 0 && v < f.Values && !def[i].has(v) {
						live[i].add(v)
					}
				}
			}
			if ins.Dst >= 0 && writes(ins.Op) {
				def[i].add(ins.Dst)
				f.defs[ins.Dst] = ins
			}
		}
	}
	f.spread(live, def)
	for i := range f.Blocks {
		b := &f.Blocks[i]
		for w, x := range live[i] {
			for ; x != 0; x &= x - 1 {
				b.live = append(b.live, int32(w*64+mathbits.TrailingZeros64(x)))
			}
		}
		for j := range b.Instrs {
			if ph := &b.Instrs[j]; ph.Op == OpPhi {
				b.live = append(b.live, ph.Dst)
			}
		}
		sortInts(b.live)
	}
}

// spread carries what is live at a block's start back to where it comes from, until nothing changes.
func (f *Func) spread(live, def []bits) {
	work := make([]int32, 0, len(f.Blocks))
	queued := make([]bool, len(f.Blocks))
	for i := range f.Blocks {
		work, queued[i] = append(work, int32(i)), true
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work, queued[i] = work[:len(work)-1], false
		for pi, p := range f.Blocks[i].Preds {
			changed := false
			put := func(v int32) {
				if v >= 0 && v < f.Values && !def[p].has(v) && !live[p].has(v) {
					live[p].add(v)
					changed = true
				}
			}
			for w, x := range live[i] {
				if more := x &^ def[p][w] &^ live[p][w]; more != 0 {
					live[p][w] |= more
					changed = true
				}
			}
			for j := range f.Blocks[i].Instrs {
				ph := &f.Blocks[i].Instrs[j]
				if ph.Op == OpPhi && pi < len(ph.Args) {
					put(ph.Args[pi])
				} else if ph.Op != OpName {
					break
				}
			}
			if changed && !queued[p] {
				work, queued[p] = append(work, p), true
			}
		}
	}
}

func sortInts(s []int32) { sort.Slice(s, func(i, j int) bool { return s[i] < s[j] }) }

func writes(op Op) bool {
	switch op {
	case OpStore, OpMapUpdate, OpGo, OpDefer, OpSend, OpName, OpIf, OpJump, OpReturn, OpPanic, OpRunDefers, OpWait, OpNone:
		return false
	}
	return true
}

func operands(in *Instr) []int32 {
	var out []int32
	switch in.Op {
	case OpAlloc, OpMake, OpJump, OpRunDefers, OpWait, OpNone:
		return nil
	case OpCall, OpGo, OpDefer:
		out = append(out, in.Call.Args...)
		if in.Call.Kind == CallDynamic || in.Call.Kind == CallInvoke {
			out = append(out, in.Call.Fun)
		}
		return out
	case OpStore, OpIndexAddr, OpIndex, OpLookup, OpBin, OpSend:
		return []int32{in.A, in.B}
	case OpMapUpdate:
		return []int32{in.A, in.B, in.Args[0]}
	case OpPhi, OpClosure, OpSelect, OpReturn:
		return in.Args
	}
	return []int32{in.A}
}

func (f *Func) def(v int32) *Instr { return f.defs[v] }
