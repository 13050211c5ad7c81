package flow

// What a consumer keeps in a map while it goes through a batch, errors by partition or the offsets to commit, decides
// afterwards whether and how far it acknowledges. Of a map that is made in sight it is known whether something was put
// into it on this path, and with which message in hand.

const (
	// mapLess and mapLast are beside what a map holds: that something may have been taken out, and the number of the
	// message in hand when something was put in last.
	mapLess, mapLast = "?less", "?last"
)

// mapSize tells whether a map made in sight holds anything.
func (w *walker) mapSize(m *Value) length {
	switch {
	case m.K == VNil:
		return sizeNone
	case m.K != VRef || m.O == nil || !m.O.Local || m.O.T == nil || m.O.T.Kind != KMap || m.Path != "":
		return sizeUnknown
	case w.holdsNothing(m), w.st.get(cell{m.O.id, mapEmpty}) != nil:
		return sizeNone
	case w.st.get(cell{m.O.id, mapLess}) != nil:
		return sizeUnknown
	case w.st.get(cell{m.O.id, mapLast}) != nil:
		return sizeSome
	}
	return sizeUnknown
}

// noteEntry keeps with a map that something was put into it, and with which message in hand.
func (w *walker) noteEntry(m *Value) {
	if w.in.traces && m.O.Local && m.O.T != nil && m.O.T.Kind == KMap && m.Path == "" {
		w.st.set(cell{m.O.id, mapLast}, &Value{K: VInt, I: int64(w.st.gen)})
	}
}

// ofOffsets reports whether an acknowledgement that is given the offsets to commit is none of the message in hand: there
// are none, or nothing was put among them since it was taken.
func (w *walker) ofOffsets(v *Value) (other bool) {
	if w.mapSize(v) == sizeNone || v.size == sizeNone {
		return true
	}
	last, known := w.lastEntry(v, 0)
	return known && last < w.st.gen
}

// lastEntry is the number of the message with which something was put last into a map, or a map in it.
func (w *walker) lastEntry(m *Value, depth int) (last int, known bool) {
	if depth > 2 || w.mapSize(m) != sizeSome {
		return 0, false
	}
	last = int(w.st.get(cell{m.O.id, mapLast}).I)
	for _, p := range w.st.paths(m.O, "") {
		v := w.st.get(cell{m.O.id, p})
		if v == nil || v.K != VRef {
			continue
		}
		if n, ok := w.lastEntry(v, depth+1); ok {
			last = max(last, n)
		}
	}
	return last, true
}
