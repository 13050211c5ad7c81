package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// sdk does what a function of a payment provider's SDK does, when money calls are looked for.
func (w *walker) sdk(ins *Instr, args []*Value) ([]exit, bool) {
	c := ins.Call
	if w.in.money == nil || !know.Payment(c.Pkg) {
		return nil, false
	}
	recv, rest := plain(c, args)
	switch {
	case know.KeyMaker(c.Name):
		src := &Src{Bit: FromFresh, Pos: ins.Pos, Enter: ins.Pos, Cross: ins.Pos, Pkg: w.fn.Pkg, Fn: w.fn.ID, What: baseName(c.Pkg) + "." + c.Name, depth: w.fr.depth}
		return []exit{{fit(c, &Value{K: VNotNil, T: Taint{Bits: FromFresh, Srcs: []*Src{src}}}, nilVal), w.st}}, true
	case know.KeySetter(c.Name):
		return w.setsKey(ins, recv, rest), true
	case len(args) == 1 && len(c.Res) == 1 && recv == nil && pointerTo(c.Name):
		return []exit{{[]*Value{args[0]}, w.st}}, true
	case w.builderStep(c, recv):
		return w.step(ins, recv, rest), true
	}
	if !w.sdkMoves(c, recv, rest) {
		return nil, false
	}
	w.effect(ins, EffHTTP, "payment by "+baseName(c.Pkg)+"."+c.Name, nil)
	if w.in.money.watch != nil || !w.st.msg {
		return w.quiet(ins), true
	}
	key, unsure := w.argKey(ins, recv, rest)
	name := baseName(c.Pkg) + "." + c.Recv + dot(c.Recv) + c.Name
	return w.pays(ins, remoteCall{desc: name, ns: know.Provider(c.Pkg), op: c.Pkg + "." + c.Recv + "." + c.Name, key: key, unsure: unsure}), true
}

func pointerTo(name string) bool {
	switch name {
	case "String", "Int64", "Bool", "Float64", "Ptr", "PtrString", "ToPtr", "Int", "Pointer":
		return true
	}
	return false
}

// sdkMoves reports whether a call of an SDK moves money: it can fail, and it or the operation it is given says so.
func (w *walker) sdkMoves(c *Call, recv *Value, args []*Value) bool {
	n := len(c.Res)
	if n == 0 || c.Res[n-1] == nil || c.Res[n-1].Kind != KError && !strings.HasSuffix(c.Res[n-1].Name, "Error") {
		return false
	}
	if know.MovesMoney(c.Pkg, c.Recv, c.Name) {
		return true
	}
	if c.Name == "Do" || c.Name == "Execute" || c.Name == "Request" {
		for _, a := range args {
			if pkg, typ := splitType(a.Dyn); know.Payment(know.Normal(pkg)) && know.MovesMoney(know.Normal(pkg), "", typ) {
				return true
			}
		}
		// ApiCreatePayoutRequest.Execute
		return know.MovesMoney(c.Pkg, "", strings.TrimSuffix(strings.TrimPrefix(c.Recv, "Api"), "Request"))
	}
	return false
}

// setsKey is a setter of the key, or an option that carries it.
func (w *walker) setsKey(ins *Instr, recv *Value, args []*Value) []exit {
	v := at(args, len(args)-1)
	if e := w.elements(v); len(e) > 0 {
		v = e[0]
	}
	if recv == nil || recv.O == nil && recv.K != VTop {
		o := w.in.object(w.fr, ins, 13, nil)
		w.st.set(cell{o.id, "IdempotencyKey"}, v)
		return []exit{{fit(ins.Call, &Value{K: VRef, O: o}, nilVal), w.st}}
	}
	w.st.set(cell{w.objAt(recv).id, join(w.pathAt(recv), "IdempotencyKey")}, v)
	return []exit{{fit(ins.Call, recv, nilVal), w.st}}
}

// builderStep reports whether a method of an SDK gives a request to go on with.
func (w *walker) builderStep(c *Call, recv *Value) bool {
	if len(c.Res) == 0 || c.Res[0] == nil {
		return false
	}
	if c.Res[len(c.Res)-1] != nil && c.Res[len(c.Res)-1].Kind == KError {
		return false
	}
	return strings.HasSuffix(c.Res[0].Name, "Request") || strings.HasSuffix(c.Res[0].Name, "Input") || recv != nil && c.Recv != "" && strings.HasSuffix(c.Res[0].Name, "."+c.Recv)
}

// step keeps what a builder was given.
func (w *walker) step(ins *Instr, recv *Value, args []*Value) []exit {
	if recv == nil || !strings.HasSuffix(ins.Call.Res[0].Name, "."+ins.Call.Recv) {
		o := w.in.object(w.fr, ins, 13, nil)
		w.st.clear(o, "")
		o.Local = true
		recv = &Value{K: VRef, O: o}
	}
	for i, a := range args {
		w.st.set(cell{w.objAt(recv).id, join(w.pathAt(recv), "<"+ins.Call.Name+itoa(i)+">")}, a)
	}
	return []exit{{fit(ins.Call, recv, nilVal), w.st}}
}

// argKey looks for the key among a call's arguments: a parameter of that name, a field or header of what they refer
// to, a context's metadata. unsure is set when an argument that could hold it was made where it cannot be seen.
func (w *walker) argKey(ins *Instr, recv *Value, args []*Value) (key *Value, unsure bool) {
	off := len(ins.Call.Args) - len(args)
	for _, p := range ins.Call.KeyParams {
		if i := p.Index - off; i >= 0 && i < len(args) {
			return w.one(args[i]), false
		}
	}
	for i, a := range args {
		if k := w.metaKeyOf(a); k != nil {
			return k, false
		}
		if k := w.keyIn(a, know.KeyField); k != nil {
			return k, false
		}
		if off+i < len(ins.Call.Args) {
			unsure = unsure || w.mayHoldKey(a, ins.Call.Args[off+i])
		}
	}
	if recv != nil && recv.O != nil {
		if k := w.keyIn(recv, know.KeyHeader); k != nil {
			return k, false
		}
	}
	return nil, unsure
}

// mayHoldKey reports whether an argument is a struct that was made where it cannot be seen, or the event itself.
func (w *walker) mayHoldKey(v *Value, operand int32) bool {
	if operand < 0 {
		return false // nil, or a literal without fields
	}
	t := w.typeOf(operand, 0)
	if t == nil || t.Name == "context.Context" || t.Kind == KError {
		return false
	}
	switch t.Kind {
	case KStruct, KMap, KInterface:
	case KPointer, KOther, KSlice:
		if t.Name == "" || !t.Ptr {
			return false
		}
	default:
		return false
	}
	if scalarType(t.Name) {
		return false
	}
	return w.opaque(v)
}

// scalarType tells the struct and array types that are plain values.
func scalarType(name string) bool {
	for _, s := range [...]string{"time.Time", "uuid.UUID", "Decimal", "big.Int", "big.Rat", "Money", "Amount", "Currency"} {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// typeOf is the type of an operand, where the text of the function tells it.
func (w *walker) typeOf(n int32, depth int) *Type {
	if n < 0 {
		if i := int(^n); i < len(w.fn.Consts) {
			return w.fn.Consts[i].T
		}
		return nil
	}
	if int(n) < len(w.fn.Params) {
		return w.fn.Params[n].T
	}
	d := w.fn.def(n)
	if d == nil || depth > 4 {
		return nil
	}
	switch d.Op {
	case OpMakeIface:
		return d.T
	case OpAlloc:
		if d.T == nil {
			return nil
		}
		p := *d.T
		p.Ptr = true
		return &p
	case OpPhi:
		if len(d.Args) > 0 {
			return w.typeOf(d.Args[0], depth+1)
		}
	}
	return d.T
}

// namedMoney is a call of something that cannot be seen and that is a money call by its names.
func (w *walker) namedMoney(ins *Instr, typ, name string, args []*Value) ([]exit, bool) {
	if w.in.money == nil || w.in.money.watch != nil || !w.st.msg || !w.know().RemoteMoney(shortName(typ), name) {
		return nil, false
	}
	c := ins.Call
	if c.Kind == CallStatic && w.in.prog.fn(c.Fn) != nil {
		return nil, false // too deep, or within itself
	}
	recv, rest := plain(c, args)
	key, unsure := w.argKey(ins, nil, rest)
	ns := typ
	if recv != nil {
		ns += " " + slotName(recv)
	}
	out := w.pays(ins, remoteCall{desc: shortName(typ) + "." + name, ns: ns, op: typ + "." + name, key: key, unsure: unsure})
	var t Taint
	for _, a := range args {
		t = t.join(w.deep(a))
	}
	t.Bits |= FromUnseen
	for i := range out {
		for j, v := range out[i].vals {
			if v == top {
				out[i].vals[j] = taintVal(t)
			}
		}
	}
	return out, true
}
