package flow

import "slices"

// A visit is a place at which a call of a function has taken a message on this path.
type visit struct {
	fr  *frame
	ins *Instr
	fn  string // the function that was called there
	up  *visit
}

// again reports whether the same call of a function takes a message at the same place once more, while nothing of the
// last one is kept. Whatever follows has followed already, so the path ends: without this, every way of handling one
// message would be followed by every way of handling the next, as often as the bound on states allows.
func (w *walker) again(ins *Instr) bool {
	for v := w.st.visits; v != nil; v = v.up {
		if v.fr == w.fr && v.ins == ins {
			return !w.holds(ins)
		}
	}
	w.st.visits = &visit{w.fr, ins, "", w.st.visits}
	return false
}

// spent leaves of the ways out of a call those that again take a message with nothing kept of the last.
func (w *walker) spent(ins *Instr, exits []exit, args []*Value) []exit {
	for _, a := range args {
		if a.Msg && !a.Batch {
			return exits // what a message is made of is none of its own
		}
	}
	sub := *w
	out := exits[:0]
	for _, e := range exits {
		sub.st = e.st
		if slices.ContainsFunc(e.vals, func(v *Value) bool { return v != nil && v.Msg }) && sub.again(ins) {
			continue
		}
		out = append(out, e)
	}
	return out
}

// holds reports whether something of a message is held for later when the next one is taken at an instruction: a batch
// that is being gathered, or the last message, to be committed with the next.
func (w *walker) holds(ins *Instr) bool {
	b := &w.fn.Blocks[w.blk]
	later := make(map[int32]bool) // set from here on in this block
	at := len(b.Instrs)
	for i := range b.Instrs {
		in := &b.Instrs[i]
		if in == ins {
			at = i
		}
		if i >= at && in.Dst >= 0 {
			later[in.Dst] = true
		}
	}
	held := func(n int32) bool {
		v := w.env[n]
		return n >= 0 && !later[n] && v != nil && w.deep(v).has(FromMessage|FromPayload)
	}
	for _, s := range b.Succs {
		for _, n := range w.fn.Blocks[s].live {
			if held(n) {
				return true
			}
		}
	}
	for i := at; i < len(b.Instrs); i++ {
		if c := b.Instrs[i].Call; c != nil {
			for _, a := range c.Args {
				if a >= 0 && held(a) {
					return true
				}
			}
		}
	}
	return false
}
