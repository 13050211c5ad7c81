package flow

import (
	"strconv"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// A value's sym says what it is made of: values with the same sym on one path are the same value. A value that is made
// of something that cannot be named has none.

// symOf is a value's sym, "" for none.
func symOf(v *Value) string {
	switch {
	case v == nil:
		return ""
	case v.sym != "":
		return v.sym
	case v.K == VStr && !hasHole(v.S):
		return strconv.Quote(v.S)
	case v.K == VInt:
		return itoa(int(v.I))
	case v.K == VRef && v.O != nil:
		return place(v.O, v.Path)
	}
	return ""
}

func place(o *Object, path string) string { return "o" + itoa(o.id) + "." + path }

// varies reports whether what a sym names differs from one round of a loop to the next.
func varies(sym string) bool { return strings.Contains(sym, "[*]") }

// symbol names what is read from a place that was never written in sight.
func (w *walker) symbol(v *Value, o *Object, addr *Value) {
	if w.in.money == nil || v.K != VTop || v.sym != "" {
		return
	}
	base, p := w.base(o, addr.Path)
	for range 8 {
		if base == nil || base == o && p == addr.Path {
			break
		}
		o, addr = base, &Value{Path: p}
		base, p = w.base(o, p)
	}
	v.sym = place(o, addr.Path)
}

// concat joins two texts.
func (w *walker) concat(x, y *Value, t Taint) *Value {
	v := joinTexts(text(x), text(y), t.parts())
	if w.in.money == nil {
		return v
	}
	v.base = baseOf(x)
	v.sym = symsOf("+", []*Value{x, y})
	return v
}

// joinTexts is the text of two, or what is of unknown text when it is longer than maxJoined.
func joinTexts(x, y string, t Taint) *Value {
	if len(x)+len(y) > maxJoined {
		return taintVal(t)
	}
	return strVal(x+y, t)
}

// baseOf is the slot of what a text begins with.
func baseOf(v *Value) string {
	if v.base != "" {
		return v.base
	}
	if v.K == VTop {
		return v.Slot
	}
	return ""
}

// formatted is what fmt.Sprintf gives.
func (w *walker) formatted(format *Value, args []*Value) *Value {
	v := w.sprintf(format, args)
	if w.in.money == nil {
		return v
	}
	if format.K == VStr && strings.HasPrefix(format.S, "%") && len(args) > 0 {
		v.base = baseOf(args[0])
	}
	v.sym = symsOf("Sprintf", append([]*Value{format}, args...))
	return v
}

func symsOf(fn string, args []*Value) string {
	var b strings.Builder
	b.WriteString(fn + "(")
	for _, a := range args {
		s := symOf(a)
		if s == "" {
			return ""
		}
		b.WriteString(s + ",")
	}
	if b.Len() > 600 {
		return ""
	}
	return b.String() + ")"
}

// symOfCall names what a function that only computes gives.
func (w *walker) symOfCall(c *Call, args []*Value) string {
	if w.in.money == nil || len(args) == 0 {
		return ""
	}
	return symsOf(c.Pkg+"."+c.Recv+"."+c.Name, args)
}

// pure are the roots of packages whose functions give the same for the same arguments.
var pure = [...]string{"strings", "strconv", "encoding/hex", "encoding/base64", "encoding/base32", "crypto/sha256", "crypto/sha1", "crypto/md5", "crypto/sha512", "path", "net/url"}

// derive gives the results of a call that cannot be seen what is known of them all the same: a context that goes in
// comes out with what it carries, a pure function's result is named, a getter's too.
func (w *walker) derive(c *Call, args, vals []*Value) {
	for i, r := range c.Res {
		if r == nil || r.Name != "context.Context" {
			continue
		}
		for _, a := range args {
			if a.O != nil && (a.O.Ctx != nil || a.O.Tx != nil) {
				vals[i] = a
				break
			}
		}
	}
	if w.in.money == nil || len(vals) == 0 || vals[0] == nil || vals[0].K != VTop || vals[0].sym != "" {
		return
	}
	switch {
	case strings.HasPrefix(c.Name, "Marshal") && len(args) > 0 && c.Kind == CallStatic:
		vals[0].from = args[0]
		if len(vals) == 2 && c.Pkg == "encoding/json" {
			vals[1] = nilVal
		}
		return
	case strings.HasPrefix(c.Name, "Get") && len(args) == 1 && c.Method:
		vals[0].sym = symsOf(c.Name, args)
		return
	}
	if !w.in.prog.std(c.Fn, c.Pkg) {
		return
	}
	for _, p := range pure {
		if c.Pkg == p {
			vals[0].sym = w.symOfCall(c, args)
			return
		}
	}
}

// counts marks the sum that counts a loop's rounds: one that goes back into its own operand.
func (w *walker) counts(ins *Instr, t Taint) Taint {
	if w.in.money == nil || ins.S != "+" || ins.T == nil || ins.T.Kind != KInt {
		return t
	}
	def := w.fn.def(ins.A)
	if def == nil {
		return t
	}
	name := ""
	switch def.Op {
	case OpPhi:
		for _, a := range def.Args {
			if a == ins.Dst {
				t.Bits |= FromCounter
			}
		}
		if t.Bits&FromCounter == 0 {
			return t
		}
		if w.countsItems(ins, def) {
			t.Bits &^= FromCounter
			return t
		}
		name = def.S
	case OpLoad:
		if a := w.val(def.A); a.O != nil && a.O.Local && a.Path == "" {
			name = a.O.Name
		}
	}
	if know.AttemptName(name) {
		t.Bits |= FromAttempt
	}
	return t
}

// countsItems reports whether a loop's counter goes through things that a redelivery brings again: the elements of a
// slice, or as many as the event says.
func (w *walker) countsItems(sum, phi *Instr) bool {
	if phi.S == "rangeindex" {
		return true
	}
	for bi := range w.fn.Blocks {
		for ii := range w.fn.Blocks[bi].Instrs {
			c := &w.fn.Blocks[bi].Instrs[ii]
			if c.Op != OpBin || c.A != sum.Dst && c.A != phi.Dst {
				continue
			}
			switch c.S {
			case "<", "<=", ">", ">=", "!=":
			default:
				continue
			}
			if d := w.fn.def(c.B); c.B >= 0 && d != nil && d.Call != nil && d.Call.Kind == CallBuiltin && d.Call.Fn == "len" {
				return true
			}
			if w.deep(w.val(c.B)).has(FromPayload | FromMessage) {
				return true
			}
		}
	}
	return false
}

// emptied remembers that on this path a value is taken to be empty.
func (w *walker) emptied(v, c *Value) {
	if w.in.money == nil || c.K != VStr || c.S != "" {
		return
	}
	if s := symOf(v); s != "" && s[0] != '"' {
		w.st.money.void(s)
	}
}

// appended is a slice that keeps its elements: of functions and of options, which run later.
func (w *walker) appended(args []*Value) *Value {
	if len(args) < 2 {
		return nil
	}
	if known := args[0].K == VNil || args[0].size == sizeNone || len(w.elements(args[0])) > 0; !known && w.in.money == nil && w.in.wires == nil {
		return nil
	}
	all := append(append([]*Value(nil), w.elements(args[0])...), w.elements(args[1])...)
	keep := false
	for _, e := range all {
		keep = keep || e.K == VFunc || e.O != nil && w.st.get(cell{e.O.id, "{hooks}"}) != nil
	}
	if !keep || len(all) > 16 {
		return nil
	}
	o := w.in.newObject(nil)
	o.Local = true
	for i, e := range all {
		w.st.set(cell{o.id, "[" + itoa(i) + "]"}, e)
	}
	return &Value{K: VRef, O: o}
}

// anyOf is an element of a slice of functions at an index that is not known: one of them all, nil for other slices.
func (w *walker) anyOf(addr *Value) *Value {
	if w.in.money == nil || !addr.O.Local || !strings.HasSuffix(addr.Path, "[*]") {
		return nil
	}
	all := w.elements(&Value{K: VRef, O: addr.O, Path: strings.TrimSuffix(strings.TrimSuffix(addr.Path, "[*]"), ".")})
	for _, e := range all {
		if e.K != VFunc {
			return nil
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &Value{K: VTop, Elems: all}
}

// mapEmpty is the place in a map that says that nothing is in it.
const mapEmpty = "{empty}"

// takesOut takes elements out of a map: all of them, or those that a loop over it comes by.
func (w *walker) takesOut(m *Value, all bool) {
	path := w.pathAt(m)
	if !all && w.st.get(cell{m.O.id, join(path, "{round}")}) == nil {
		w.st.set(cell{m.O.id, mapLess}, vTrue)
		return
	}
	for _, p := range w.st.paths(m.O, path) {
		if p != path && strings.HasSuffix(p, "}") && !strings.HasSuffix(p, "{round}") {
			w.st.clear(m.O, p)
		}
	}
	w.st.set(cell{m.O.id, join(path, mapEmpty)}, vTrue)
}

// rewind begins a loop over a map.
func (w *walker) rewind(m *Value) {
	if m.O != nil {
		w.st.clear(m.O, join(w.pathAt(m), "{round}"))
	}
}

// round tells whether a loop over a map goes round once more: at least once when the map is known to hold something.
func (w *walker) round(m *Value) *Value {
	if m.O == nil {
		return top
	}
	if w.st.get(cell{m.O.id, join(w.pathAt(m), mapEmpty)}) != nil {
		return vFalse
	}
	for _, p := range w.st.paths(m.O, w.pathAt(m)) {
		if !strings.HasSuffix(p, "}") || strings.HasSuffix(p, "{round}") {
			continue
		}
		c := cell{m.O.id, join(w.pathAt(m), "{round}")}
		if w.st.get(c) != nil {
			return top
		}
		w.st.set(c, &Value{K: VInt, I: 1})
		return vTrue
	}
	return top
}
