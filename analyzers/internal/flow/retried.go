package flow

// failed is a call in which the effect failed that fails in this world.
type failed struct {
	fr  *frame
	ins *Instr
	up  *failed
}

// mostTries is how often a call of a function value is followed in one loop: what a third attempt does, the second did.
const mostTries = 2

// triedOut reports whether the same function value was called here often enough.
func (w *walker) triedOut(ins *Instr, fun *Value) bool {
	if ins.Op != OpCall || ins.Call.Kind != CallDynamic || fun == nil || fun.K != VFunc || w.fr.exact || w.in.prog.fn(fun.S) == nil {
		return false
	}
	n := 0
	for v := w.st.tries; v != nil; v = v.up {
		if v.fr == w.fr && v.ins == ins && v.fn == fun.S {
			n++
		}
	}
	if n >= mostTries {
		return true
	}
	w.st.tries = &visit{w.fr, ins, fun.S, w.st.tries}
	return false
}

// retried leaves out what a second attempt of the same call cannot come to: the effect that failed in the first one fails
// again, since the message is the same. Without this, the second attempt might take the way of another message.
func (w *walker) retried(ins *Instr, exits []exit, before int, failing *failed) []exit {
	if w.in.world.Broken == "" {
		return exits
	}
	again := false
	for f := failing; f != nil; f = f.up {
		again = again || f.fr == w.fr && f.ins == ins
	}
	out := exits[:0]
	for _, e := range exits {
		if e.st.broke == before && again {
			continue
		}
		if e.st.broke > before && !again {
			e.st.failing = &failed{w.fr, ins, e.st.failing}
		}
		out = append(out, e)
	}
	return out
}
