package flow

import "slices"

// What a message says may be gathered in a field, to be written later by who empties it: on a timer, in a goroutine of
// its own, or when enough has come together.

// placeField is the place of what a field yields among those of a [feed].
const placeField = 200

// gathers records that something of the message in hand is appended to a field that somebody else empties and does
// something to the world for.
func (w *walker) gathers(ins *Instr) {
	if !w.in.traces || !w.st.msg || w.failing() {
		return
	}
	addr := w.val(ins.A)
	if addr.fa == nil || addr.O == nil || addr.O.Local || logName(addr.fa.S) || logName(shortName(addr.fa.S2)) {
		return
	}
	d := w.fn.def(ins.B)
	if d == nil || d.Op != OpCall || d.Call.Kind != CallBuiltin || d.Call.Fn != "append" || len(d.Call.Args) < 2 {
		return
	}
	slot := "F|" + addr.fa.S2 + "|" + addr.fa.S
	if more := w.val(d.Call.Args[1]); !more.Msg && !w.deep(more).has(FromMessage|FromPayload) {
		return
	}
	if h := w.in.prog.emptied(slot); h != nil {
		w.event(&Event{Kind: EvHand, Pos: ins.Pos, Hit: h.hit, Acks: h.acks, Desc: slot})
	}
}

// held reports whether a handover only keeps the message in memory.
func (e *Event) held() bool { return e.Kind == EvHand && e.Desc != "" }

// lookedAt records that what was gathered in a field is taken up on the way of the message itself.
func (w *walker) lookedAt(ins *Instr, addr *Value) {
	if !w.in.traces || addr.fa == nil || w.in.flat {
		return
	}
	slot := "F|" + addr.fa.S2 + "|" + addr.fa.S
	for e := w.st.trace; e != nil; e = e.Prev {
		if e.Kind == EvHand && e.Desc == slot {
			if w.fn.usedWhole(ins.Dst) {
				w.event(&Event{Kind: EvWait, Pos: ins.Pos})
			}
			return
		}
	}
}

// usedWhole reports whether more is done with a value than to append to it and to ask for its length.
func (f *Func) usedWhole(v int32) bool {
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			in := &f.Blocks[bi].Instrs[ii]
			if !slices.Contains(operands(in), v) {
				continue
			}
			if c := in.Call; c != nil && c.Kind == CallBuiltin && (c.Fn == "len" || c.Fn == "cap" || c.Fn == "append" && c.Args[0] == v) {
				continue
			}
			return true
		}
	}
	return false
}

// emptied finds out what becomes of what is gathered in a field, nil when nobody in sight empties it and does something
// to the world for what was there.
func (p *Program) emptied(slot string) *handover {
	if h, ok := p.hands[slot]; ok {
		return h
	}
	if p.hands == nil {
		p.hands = make(map[string]*handover)
	}
	p.hands[slot] = nil
	if p.empties == nil {
		p.findEmptied()
	}
	out := &handover{}
	for _, id := range p.empties[slot] {
		p.worked(feed{fn: id, slot: slot, n: placeField}, out)
	}
	if out.hit == nil {
		return nil
	}
	p.hands[slot] = out
	return out
}

// findEmptied finds for each field the functions that read it and leave nothing in it.
func (p *Program) findEmptied() {
	p.empties = make(map[string][]string)
	for _, id := range p.sortedIDs() {
		f := p.funcs[id]
		if f.Test {
			continue
		}
		f.prepare()
		read := make(map[string]bool)
		var left []string
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				switch in := &f.Blocks[bi].Instrs[ii]; in.Op {
				case OpLoad:
					if s := storeSlot(f, in.A); s != "" && s[0] == 'F' {
						read[s] = true
					}
				case OpStore:
					if s := storeSlot(f, in.A); s != "" && s[0] == 'F' && f.nothing(in.B) && !slices.Contains(left, s) {
						left = append(left, s)
					}
				}
			}
		}
		for _, s := range left {
			if read[s] {
				p.empties[s] = append(p.empties[s], id)
			}
		}
	}
}

// nothing reports whether a value is a slice without elements.
func (f *Func) nothing(v int32) bool {
	if v < 0 {
		i := int(^v)
		return i < len(f.Consts) && f.Consts[i].Kind == CNil
	}
	d := f.def(v)
	if d == nil {
		return false
	}
	switch d.Op {
	case OpMake:
		return d.S == "empty"
	case OpSlice:
		if d.S == "empty" {
			return true
		}
		a := f.def(d.A) // make([]T, 0, n) of a constant n is an array that is sliced
		return a != nil && a.Op == OpAlloc && a.S == "makeslice"
	}
	return false
}

// fed is what the field yields whose way is followed in this run, nil when this is another one or it was written since.
func (w *walker) fed(ins *Instr, addr *Value) *Value {
	r := w.in.feed
	if r == nil || r.n != placeField || addr.fa == nil || addr.O == nil || r.slot != "F|"+addr.fa.S2+"|"+addr.fa.S {
		return nil
	}
	c := cell{addr.O.id, addr.Path}
	if w.st.get(c) != nil {
		return nil
	}
	v := w.fresh(ins.T, Taint{Bits: FromMessage}, "")
	if !v.Msg {
		v = w.fresh(ins.T, Taint{Bits: FromPayload}, "")
	}
	v.size = sizeSome
	v.O = w.in.object(w.fr, ins, placeRecv, ins.T)
	v.O.Taint = v.T
	w.st.set(c, v)
	w.took()
	w.event(&Event{Kind: EvPoll, Pos: ins.Pos, Case: placeField})
	return v
}
