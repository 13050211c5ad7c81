package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// A KeyFault is what is wrong with the idempotency key of a money call.
type KeyFault uint8

// The faults of a key, the gravest first.
const (
	KeyFine     KeyFault = iota
	KeyMissing           // nothing sets one
	KeyEmpty             // it is set to nothing
	KeyFresh             // made anew on every attempt
	KeyAttempt           // numbered by attempt
	KeyConstant          // the same for every event
	KeyShared            // the same for two different calls of one event
)

// judgeKey says what a key is made of. Of what cannot be seen it says that it is fine.
func (w *walker) judgeKey(v *Value) (KeyFault, *Src) {
	t := w.deep(v)
	switch {
	case v.K == VNil, v.K == VStr && v.S == "":
		return KeyEmpty, nil
	case t.has(FromOffset):
		return KeyFine, nil // X2's
	case t.has(FromV4|FromFresh) && !t.has(FromUnseen):
		for _, s := range t.Srcs {
			if s.Bit == FromV4 || s.Bit == FromFresh {
				return KeyFresh, s
			}
		}
		return KeyFresh, nil
	case t.has(FromAttempt):
		return KeyAttempt, nil
	case t.has(FromPayload | FromMessage | FromEventID | FromKey | FromHeader):
		return KeyFine, nil
	case v.K == VStr && !hasHole(v.S), v.K == VInt, t.has(FromPlace):
		return KeyConstant, nil
	}
	return KeyFine, nil
}

// keyIn looks for a key among the fields, elements and headers of what a value refers to, or was encoded from.
func (w *walker) keyIn(v *Value, named func(string) bool) *Value {
	return w.keyInDeep(v, named, 0, make(map[int]bool))
}

func (w *walker) keyInDeep(v *Value, named func(string) bool, depth int, seen map[int]bool) *Value {
	if v == nil || depth > 6 {
		return nil
	}
	if v.from != nil {
		if k := w.keyInDeep(v.from, named, depth+1, seen); k != nil {
			return k
		}
	}
	for _, e := range v.Elems {
		if k := w.keyInDeep(e, named, depth+1, seen); k != nil {
			return k
		}
	}
	if v.K == VStr && textNames(v.S) {
		return taintVal(Taint{Bits: FromUnseen})
	}
	if v.O == nil || seen[v.O.id] {
		return nil
	}
	seen[v.O.id] = true
	prefix := ""
	if v.K == VRef {
		prefix = v.Path
	}
	paths := w.st.paths(v.O, prefix)
	for _, p := range paths {
		if p != prefix && named(fieldOf(p)) {
			return w.one(w.st.get(cell{v.O.id, p}))
		}
	}
	for _, p := range paths {
		if strings.HasSuffix(p, "}") && internalCell(p) {
			continue
		}
		if k := w.keyInDeep(w.st.get(cell{v.O.id, p}), named, depth+1, seen); k != nil {
			return k
		}
	}
	return nil
}

// textNames reports whether a body that was written as text has a key among its fields.
func textNames(s string) bool {
	return strings.Contains(s, "idempotency_key") || strings.Contains(s, "idempotencyKey") || strings.Contains(s, "IdempotencyKey")
}

// fieldOf is the last name of a cell's path.
func fieldOf(path string) string {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		path = path[i+1:]
	}
	return strings.Trim(path, "{}")
}

// internalCell tells the cells that models keep from the elements of maps.
func internalCell(path string) bool {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "{method}", "{url}", "{ctx}", "{client}", "{hooks}", "{base}", "{transport}", "{queue}", "{round}":
		return true
	}
	return false
}

// one is the first element of a slice that was made in sight, as of a header's values, and what a pointer points to.
func (w *walker) one(v *Value) *Value {
	if v != nil && v.K == VRef && v.O != nil {
		if e := w.elements(v); len(e) > 0 {
			return e[0]
		}
		if x := w.st.get(cell{v.O.id, v.Path}); x != nil && x != v {
			return x
		}
	}
	return v
}

// headerKey is the value of a request's key header, nil when it has none.
func (w *walker) headerKey(req *Value) *Value {
	if req == nil || req.O == nil {
		return nil
	}
	var found *Value
	look := func(o *Object, prefix string) {
		for _, p := range w.st.paths(o, prefix) {
			if !strings.HasSuffix(p, "}") || internalCell(p) {
				continue
			}
			name := fieldOf(p)
			v := w.one(w.st.get(cell{o.id, p}))
			if know.KeyHeader(name) || name == "?" && w.deep(v).has(FromPayload|FromEventID|FromMessage) {
				if found == nil {
					found = v
				}
			}
		}
	}
	path := w.pathAt(req)
	for _, f := range [...]string{"Header", "Headers", "Request.Header"} {
		p := join(path, f)
		look(req.O, p)
		if h := w.find(req.O, p, nil, 0); h != nil {
			switch {
			case h.K == VRef:
				look(h.O, h.Path)
			case h.O != nil:
				look(h.O, "")
			}
		}
	}
	return found
}

// headersOf is where a request's headers are kept.
func (w *walker) headersOf(req *Value) (*Object, string) {
	o, p := w.objAt(req), join(w.pathAt(req), "Header")
	h := w.find(o, p, nil, 0)
	if h == nil {
		h = &Value{K: VTop, O: w.in.newObject(nil)}
		w.st.set(cell{o.id, p}, h)
	}
	if h.K == VRef && h.O != nil {
		return h.O, h.Path
	}
	return w.in.objOf(h, nil), ""
}

// setHeader sets a header, also one of a name that is not known, or every one of a map that is gone through.
func (w *walker) setHeader(o *Object, path string, name, v *Value) {
	switch {
	case name.K == VStr && !hasHole(name.S):
		w.st.set(cell{o.id, join(path, "{"+strings.ReplaceAll(name.S, ".", "-")+"}")}, v)
	case name.from != nil:
		w.copyCells(name.from, o, path)
	default:
		w.st.set(cell{o.id, join(path, "{?}")}, v)
	}
}

// copyCells copies the elements of a map that is known.
func (w *walker) copyCells(m *Value, o *Object, path string) {
	if m == nil || m.O == nil {
		return
	}
	prefix := w.pathAt(m)
	for _, p := range w.st.paths(m.O, prefix) {
		if strings.HasSuffix(p, "}") && !internalCell(p) {
			w.st.set(cell{o.id, join(path, strings.TrimPrefix(strings.TrimPrefix(p, prefix), "."))}, w.st.get(cell{m.O.id, p}))
		}
	}
}
