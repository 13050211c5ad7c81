package flow

// failed is a call in which the effect failed that fails in this world.
type failed struct {
	fr  *frame
	ins *Instr
	up  *failed
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
