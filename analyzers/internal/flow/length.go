package flow

import "golang.org/x/tools/go/ssa"

// length is what is known of how many elements a slice has, or how far something was counted. A handler of batches acknowledges what it has gathered: that
// something was gathered when a message was added, and nothing in a batch just begun, tells ways through it apart that
// cannot be from those that can.
type length uint8

const (
	sizeUnknown length = iota
	sizeNone           // no elements
	sizeSome           // at least one
)

// value is a length as a number.
func (l length) value(t Taint) *Value {
	if l == sizeNone {
		return &Value{K: VInt, T: Taint{Bits: t.Bits & FromUnseen}}
	}
	return &Value{K: VTop, size: l, T: Taint{Bits: t.Bits & FromUnseen}}
}

func madeSize(in ssa.Instruction) string {
	m, ok := in.(*ssa.MakeSlice)
	switch {
	case !ok:
		return ""
	case isZero(m.Len):
		return "empty"
	}
	return "sized"
}

func slicedSize(in *ssa.Slice) string {
	switch {
	case isZero(in.High):
		return "empty"
	case in.Low == nil && in.High != nil:
		return "first"
	case in.Low != nil || in.High != nil:
		return "part"
	}
	return ""
}

// slicedFrom is where a slice expression begins that goes to the end: 1 of s[1:], 0 where that is not known.
func slicedFrom(in *ssa.Slice) int64 {
	if c, ok := in.Low.(*ssa.Const); ok && c.Value != nil && in.High == nil && in.Max == nil {
		return c.Int64()
	}
	return 0
}

func isZero(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Int64() == 0
}

// otherMessages is the number of no message in hand: of the first ones of a batch, cut off when one of it had failed.
const otherMessages = -1

// sliced is a value after a slice expression.
func (w *walker) sliced(v *Value, ins *Instr) *Value {
	switch {
	case ins.S == "empty":
		return &Value{K: VNotNil, size: sizeNone, Slot: v.Slot}
	case ins.S == "part" && ins.N > 0 && w.listOfParts(v) != nil:
		return w.tail(w.listOfParts(v), int(ins.N), v)
	case ins.S == "first" && v.Batch && w.st.failed:
		c := *v
		c.size, c.gen = sizeUnknown, otherMessages
		return &c
	case (ins.S == "part" || ins.S == "first") && v.size != sizeUnknown:
		c := *v
		c.size = sizeUnknown
		return &c
	}
	return v
}

// listOfParts are the functions and implementations in a list of them, where all of it is known.
func (w *walker) listOfParts(v *Value) []*Value {
	list := w.elements(v)
	if len(list) == 0 || len(list) != len(w.st.paths(v.O, v.Path)) {
		return nil
	}
	for _, e := range list {
		if !composed(e) {
			return nil
		}
	}
	return list
}

// tail is what follows the first n of a list.
func (w *walker) tail(list []*Value, n int, v *Value) *Value {
	if n >= len(list) {
		return &Value{K: VNotNil, size: sizeNone, Slot: v.Slot}
	}
	o := w.in.newObject(v.O.T)
	o.Local = true
	for i, e := range list[n:] {
		w.st.set(cell{o.id, "[" + itoa(i) + "]"}, e)
	}
	return &Value{K: VRef, O: o, Slot: v.Slot}
}

// shorter reports whether a function that calls itself while the program is put together is given the rest of a list, so
// that it comes to an end.
func (w *walker) shorter(args []*Value) bool {
	if w.in.wires == nil {
		return false
	}
	for _, a := range args {
		if a.K == VRef && a.O != nil && a.O.Local {
			if held := w.st.get(cell{a.O.id, a.Path}); held != nil {
				a = held // a variable that a closure has captured
			}
		}
		if a.size == sizeNone || w.listOfParts(a) != nil {
			return true
		}
	}
	return false
}

// grown is the length of what append gives: of append(a, b...) what the two have together.
func (w *walker) grown(args []*Value) length {
	if len(args) < 2 {
		return args[0].size
	}
	if args[0].size == sizeSome || args[1].size == sizeSome || len(w.elements(args[1])) > 0 {
		return sizeSome
	}
	if (args[0].K == VNil || args[0].size == sizeNone) && (args[1].K == VNil || args[1].size == sizeNone) {
		return sizeNone
	}
	return sizeUnknown
}

// gatheredErr is an error that is kept in what append gives, nil when there is none.
func gatheredErr(args []*Value, w *walker) []*Value {
	for _, a := range args {
		all := w.elements(a)
		if a.K == VNotNil {
			all = a.Elems
		}
		for _, e := range all {
			if e.K == VErr {
				return []*Value{e}
			}
		}
	}
	return nil
}

// sized compares with a length of which it is known that it is none, or at least one.
func (w *walker) sized(ins *Instr, x, y *Value) (r, known bool) {
	switch {
	case y.size == sizeSome && x.K == VInt && x.I < 1:
		return ins.S == "<" || ins.S == "<=" || ins.S == "!=", true
	case x.size == sizeSome && y.K == VInt && y.I < 1:
		return ins.S == ">" || ins.S == ">=" || ins.S == "!=", true
	case ins.S == "<" && (y.K == VInt && y.I == 0 || y.size == sizeSome):
		// The test of a loop over a slice: its index begins before the first element.
		d := w.fn.def(ins.A)
		if d == nil || d.Op != OpBin || d.S != "+" || d.A < 0 {
			break
		}
		phi := w.fn.def(d.A)
		if phi == nil || phi.Op != OpPhi || phi.S != "rangeindex" {
			break
		}
		if y.K == VInt {
			return false, true
		}
		if i := w.val(d.A); i.K == VInt && i.I == -1 {
			return true, true
		}
	}
	return false, false
}
