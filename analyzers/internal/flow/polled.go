package flow

// Some clients yield events of which a message is one kind: what is polled is a message once it is asserted to be one.

// something is what a client yields that may be a message, or a channel of such.
func (w *walker) something(ins *Instr, t *Type) *Value {
	v := &Value{K: VTop, T: Taint{Bits: FromMessage}, event: true, O: w.in.object(w.fr, ins, 4, t)}
	v.O.Taint = v.T
	if t != nil && t.Kind == KChan {
		return v
	}
	if !w.holds(ins) {
		w.st.msg = false // the last message is done with, and this may be none
	}
	if !w.fr.msgPos.IsValid() {
		w.fr.msgPos = ins.Pos
	}
	return v
}

// isMessage goes on with what was polled being a message; that it is none is a path of its own.
func (w *walker) isMessage(ins *Instr) {
	if ins.N == 1 {
		env := append([]*Value(nil), w.env...)
		env[ins.Dst] = &Value{K: VTuple, Elems: []*Value{zero(ins.T), vFalse}}
		w.forks = append(w.forks, item{blk: w.blk, idx: w.idx, env: env, st: w.st.fork()})
	}
	w.took()
	w.st.money.forget()
}
