package flow

// looked is what a read of the database has found on a path: until something is written, the same read finds it again.
// A handler that is tried again after a failed write does not find what it did not write.
type looked struct {
	pos   Pos
	found bool
	up    *looked
}

// looksUp gives the outcomes of a read of which it is not known whether there is a row.
func (w *walker) looksUp(yes, no []*Value) []exit {
	pos := w.here()
	for l := w.st.looked; l != nil; l = l.up {
		if !pos.IsValid() {
			break
		}
		if l.pos == pos && l.found {
			return []exit{{yes, w.st}}
		} else if l.pos == pos {
			return []exit{{no, w.st}}
		}
	}
	absent := w.st.fork()
	absent.looked = &looked{pos, false, absent.looked}
	w.st.looked = &looked{pos, true, w.st.looked}
	return []exit{{yes, w.st}, {no, absent}}
}

// here is the place of the instruction under way.
func (w *walker) here() Pos {
	if int(w.blk) >= len(w.fn.Blocks) {
		return Pos{}
	}
	if b := w.fn.Blocks[w.blk].Instrs; w.idx > 0 && w.idx <= len(b) {
		return b[w.idx-1].Pos
	}
	return Pos{}
}
