package flow

// keeps remembers what is written to the database: a key that was made anew and is stored before it is used is the
// same on the next delivery, if that reads it before it makes one.
func (w *walker) keeps(ins *Instr, table string, tx *Tx) {
	if w.in.money == nil || ins.Call == nil || !w.st.msg {
		return
	}
	if c := w.st.checked; c == nil || !c.Look || table != "" && c.Table != table {
		return // nothing asks whether there is one
	}
	for _, a := range ins.Call.Args {
		v := w.val(a)
		srcs := w.deep(v).Srcs
		for _, e := range w.elements(v) {
			srcs = append(srcs[:len(srcs):len(srcs)], w.deep(e).Srcs...)
		}
		for _, s := range srcs {
			if s.Bit != FromV4 || len(w.st.money.kept) >= 16 {
				continue
			}
			k := &w.st.money.kept
			*k = append((*k)[:len(*k):len(*k)], keptKey{s.Pos, tx})
		}
	}
}

// stored reports whether a value made anew was committed to a table of the database that was looked into before.
func (w *walker) stored(t Taint) bool {
	for _, s := range t.Srcs {
		for _, k := range w.st.money.kept {
			if s.Bit != FromV4 || k.at != s.Pos {
				continue
			}
			open := false
			for _, p := range w.st.pend {
				open = open || p.tx == k.tx && k.tx != nil
			}
			if !open {
				return true
			}
		}
	}
	return false
}
