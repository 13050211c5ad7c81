package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

func (w *walker) copied(v *Value, ins *Instr) *Value {
	if ins.T != nil && v.K == VTop && !v.Msg && ins.T.Msg && v.T.has(FromMessage) {
		c := *v
		c.Msg, c.Batch = true, ins.T.Batch
		return &c
	}
	return v
}

func (w *walker) extract(ins *Instr) {
	t := w.val(ins.A)
	if t.K == VTuple {
		if int(ins.N) < len(t.Elems) {
			w.set(ins.Dst, t.Elems[ins.N])
		}
		return
	}
	w.set(ins.Dst, w.fresh(ins.T, t.T, ""))
}

// fresh is an unknown value of a type.
func (w *walker) fresh(t *Type, taint Taint, slot string) *Value {
	v := &Value{K: VTop, T: taint, Slot: slot}
	if t != nil && t.Msg && taint.has(FromMessage) {
		v.Msg, v.Batch = true, t.Batch
	}
	return v
}

// maxPath bounds the length of a place in an object: deeper ones are one.
const maxPath = 160

func join(path, f string) string {
	if len(path) > maxPath {
		return path
	}
	if path == "" {
		return f
	}
	if f == "" {
		return path
	}
	return path + "." + f
}

func (w *walker) fieldAddr(base *Value, ins *Instr) *Value {
	if base.K == VTuple && base.Dyn == "redis.Cmd" {
		return base // a command's own embedded part
	}
	out := &Value{K: VRef, fa: ins, T: base.T}
	if base.K == VRef {
		out.O, out.Path = base.O, join(base.Path, ins.S)
		return out
	}
	out.O, out.Path = w.in.objOf(base, nil), ins.S
	return out
}

// load reads memory.
func (w *walker) load(addr *Value, at int32, ins *Instr) *Value {
	if addr.K != VRef || addr.O == nil {
		return w.fresh(ins.T, addr.T, addr.Slot)
	}
	o := addr.O
	if v := w.headerValue(addr, ins); v != nil {
		return v
	}
	if v := w.find(o, addr.Path, ins.T, 0); v != nil {
		if again := w.readAgain(v, addr.fa); again != nil {
			return again
		}
		if ins.T != nil && ins.T.Kind == KStruct && (v.K == VRef || v.K == VTop) && w.changed(o, addr.Path) {
			// A struct that was copied in whole and then changed: the copy is what counts.
			return &Value{K: VRef, O: o, Path: addr.Path, T: v.T, Msg: v.Msg, Batch: v.Batch}
		}
		return v
	}
	if o.Slot != "" && strings.HasPrefix(o.Slot, "G|") && addr.Path == "" {
		if v := w.in.globalValue(o.Name); v != nil {
			return v
		}
		if pkg, _ := splitType(o.Name); ins.T != nil && ins.T.Kind == KError && !w.in.prog.inSight[pkg] {
			return errVal(o.Name, Taint{}) // io.EOF: what another package exports as an error is one
		}
	}
	if ins.T != nil && ins.T.Kind == KStruct && !o.Local {
		v := &Value{K: VRef, O: o, Path: addr.Path, T: w.fieldTaint(o, addr, ins)}
		if ins.T.Msg && v.T.has(FromMessage) {
			v.Msg, v.Batch = true, ins.T.Batch
		}
		return v
	}
	if ins.T != nil && ins.T.Kind == KStruct {
		if b, p := w.base(o, addr.Path); b != nil && !w.changed(o, addr.Path) {
			t := w.fieldTaint(b, addr, ins)
			return &Value{K: VRef, O: b, Path: p, T: t, Msg: ins.T.Msg && t.has(FromMessage), Batch: ins.T.Batch}
		}
		return &Value{K: VRef, O: o, Path: addr.Path, T: w.deep(&Value{K: VRef, O: o, Path: addr.Path}), Msg: ins.T.Msg && o.Taint.has(FromMessage)}
	}
	if v := w.anyOf(addr); v != nil {
		return v
	}
	v := w.rowID(addr, w.initial(o, addr, ins))
	w.symbol(v, o, addr)
	if o.Tx != nil && v.K == VTop {
		w.in.objOf(v, nil).Tx = o.Tx
	}
	if fa := addr.fa; fa != nil && v.K == VTop && v.T.has(FromPayload) {
		pkg, typ := splitType(fa.S2)
		v.raw = w.know().FieldRole(know.Normal(pkg), typ, fa.S) == know.RoleValue || enclosed(fa.S, ins.T)
	}
	q := *v
	q.quiet = true
	v = &q
	w.st.setQuiet(cell{o.id, addr.Path}, v)
	return v
}

// readAgain is an offset that was read before in the same function: each read goes its own way. It is nil for all else.
func (w *walker) readAgain(v *Value, fa *Instr) *Value {
	if fa == nil || !v.quiet || len(v.T.Srcs) != 1 || v.T.Srcs[0].Bit != FromOffset || v.T.Srcs[0].Fn != w.fn.ID {
		return nil
	}
	pkg, typ := splitType(fa.S2)
	if w.know().FieldRole(know.Normal(pkg), typ, fa.S) != know.RoleOffset {
		return nil
	}
	src, c := *v.T.Srcs[0], *v
	src.Pos, src.Enter, src.Cross = fa.Pos, fa.Pos, fa.Pos
	c.T.Srcs = []*Src{&src}
	return &c
}

// enclosed reports whether a field of what was decoded holds an event of its own, not decoded yet or of any shape: the
// data of an envelope {id, type, data}. Who is handed it is handed the event.
func enclosed(field string, t *Type) bool {
	if t == nil {
		return false
	}
	if t.Name == "encoding/json.RawMessage" {
		return true
	}
	switch t.Kind {
	case KSlice, KMap, KInterface:
		return know.EnvelopeField(field)
	case KString:
		return know.EnvelopeText(field)
	}
	return false
}

// changed reports whether anything was written below a place.
func (w *walker) changed(o *Object, path string) bool {
	for _, p := range w.st.paths(o, path) {
		if p != path && p != "?" && !w.st.get(cell{o.id, p}).quiet {
			return true
		}
	}
	return false
}

// find looks a place up in memory, through structs that were copied in whole.
func (w *walker) find(o *Object, path string, t *Type, depth int) *Value {
	if v := w.st.get(cell{o.id, path}); v != nil {
		return v
	}
	if depth > 6 {
		return nil
	}
	for p := path; p != ""; {
		i := strings.LastIndexByte(p, '.')
		if i < 0 {
			i = 0
		}
		p = p[:i]
		v := w.st.get(cell{o.id, p})
		if v == nil {
			if i == 0 {
				break
			}
			continue
		}
		rest := strings.TrimPrefix(path[len(p):], ".")
		switch v.K {
		case VRef:
			return w.find(v.O, join(v.Path, rest), t, depth+1)
		case VTop:
			return w.find(w.in.objOf(v, nil), rest, t, depth+1)
		}
		return nil
	}
	return nil
}

// initial is what a place holds that was never written in sight.
func (w *walker) initial(o *Object, addr *Value, ins *Instr) *Value {
	if mark := w.st.get(cell{o.id, "?"}); mark != nil {
		t := mark.T
		if fa := addr.fa; fa != nil && t.has(FromPayload) && fa.N&(FieldEventID|FieldDedupKey) != 0 {
			t.Bits |= FromEventID
		}
		return w.fresh(ins.T, t.ofField(addr.fa), w.slotOf(addr))
	}
	for range maxChase {
		base, p := w.base(o, addr.Path)
		if base == nil || base == o && p == addr.Path {
			break
		}
		nb := *addr
		nb.O, nb.Path = base, p
		o, addr = base, &nb
		if mark := w.st.get(cell{o.id, "?"}); mark != nil {
			t := mark.T
			if fa := addr.fa; fa != nil && t.has(FromPayload) && fa.N&(FieldEventID|FieldDedupKey) != 0 {
				t.Bits |= FromEventID
			}
			return w.fresh(ins.T, t.ofField(addr.fa), w.slotOf(addr))
		}
	}
	if o.Local && !o.Taint.has(FromMessage|FromPayload) {
		if o.T != nil && o.T.Kind == KSlice && strings.Contains(addr.Path, "[*]") && scalarKind(ins.T) {
			return top // an element of which it is not known which: another way through may have filled it
		}
		return zero(ins.T)
	}
	return w.fresh(ins.T, w.fieldTaint(o, addr, ins), w.slotOf(addr))
}

// maxChase bounds how many copies of structs are followed.
const maxChase = 8

// base follows a struct that was copied in whole to where its unread fields are.
func (w *walker) base(o *Object, path string) (*Object, string) {
	for p := path; p != ""; {
		i := max(strings.LastIndexByte(p, '.'), 0)
		p = p[:i]
		if v := w.st.get(cell{o.id, p}); v != nil {
			rest := strings.TrimPrefix(path[len(p):], ".")
			switch v.K {
			case VRef:
				return v.O, join(v.Path, rest)
			case VTop:
				return w.in.objOf(v, nil), rest
			}
			return nil, ""
		}
	}
	return nil, ""
}

func scalarKind(t *Type) bool {
	return t != nil && !t.Ptr && (t.Kind == KString || t.Kind == KInt || t.Kind == KBool)
}

func zero(t *Type) *Value {
	if t == nil {
		return top
	}
	if t.Ptr {
		return nilVal
	}
	switch t.Kind {
	case KError, KInterface, KFunc, KMap, KChan, KPointer, KSlice:
		return nilVal
	case KBool:
		return vFalse
	case KInt:
		return &Value{K: VInt}
	case KString:
		return strVal("", Taint{})
	}
	return top
}

func (w *walker) slotOf(addr *Value) string {
	if addr.fa != nil {
		return "F|" + addr.fa.S2 + "|" + addr.fa.S
	}
	if addr.O != nil {
		return addr.O.Slot
	}
	return addr.Slot
}

// fieldTaint says where the content of a field comes from.
func (w *walker) fieldTaint(o *Object, addr *Value, ins *Instr) Taint {
	t := o.Taint.ofField(addr.fa)
	fa := addr.fa
	if fa == nil {
		return t
	}
	if r := headerRole(fa.S2, fa.S); r != know.NoRole && t.has(FromHeader|FromMessage) {
		if r == know.RoleHeaderName {
			w.st.hdr = nil
		}
		return Taint{Bits: FromHeader}
	}
	if t.has(FromMessage) {
		pkg, typ := splitType(fa.S2)
		role := w.know().FieldRole(know.Normal(pkg), typ, fa.S)
		src := func(bit Bits, what string) Taint {
			w.in.sources = true
			return Taint{Bits: bit, Srcs: []*Src{{Bit: bit, Pos: fa.Pos, Enter: fa.Pos, Cross: fa.Pos, Pkg: w.fn.Pkg, Fn: w.fn.ID, What: what, depth: w.fr.depth}}}
		}
		switch role {
		case know.RoleOffset:
			return src(FromOffset, typ+"."+fa.S)
		case know.RoleValue:
			return Taint{Bits: FromPayload}
		case know.RoleKey:
			return Taint{Bits: FromKey | FromPayload}
		case know.RoleTopic, know.RolePartition:
			return Taint{Bits: FromPlace}
		case know.RoleHeaders:
			return Taint{Bits: FromHeader}
		case know.RoleUUID:
			return src(FromHeader, typ+"."+fa.S)
		case know.RoleTime:
			return Taint{}
		}
		if ins.T != nil && (ins.T.Msg || ins.T.Kind == KStruct) || fa.T != nil && fa.T.Msg {
			return Taint{Bits: FromMessage}
		}
		return Taint{Bits: FromPayload}
	}
	if t.has(FromPayload) && fa.N&(FieldEventID|FieldDedupKey) != 0 {
		t.Bits |= FromEventID
	}
	return t
}

func splitType(name string) (pkg, typ string) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

func (w *walker) store(addr *Value, at int32, v *Value, ins *Instr) {
	if fa := addr.fa; fa != nil && (fa.N != 0 || w.in.ids && (idField(fa.S) || w.in.prog.getsEventID(fa.S2, fa.S))) {
		flags := fa.N
		if flags == 0 {
			flags = FieldRowID
			if w.in.ids && w.in.prog.getsEventID(fa.S2, fa.S) {
				flags = FieldEventID
			}
		}
		w.in.sink(Sink{Kind: SinkField, Name: fa.S, Owner: fa.S2, Flags: flags, Pos: ins.Pos}, v, w)
		if flags&FieldEventID != 0 {
			v = w.asEventID(v)
		}
	}
	if addr.fa != nil {
		v = w.headerField(addr, v, ins)
	}
	if addr.K != VRef || addr.O == nil {
		return
	}
	if addr.O.Local && addr.Path == "" && w.know().DedupKey(addr.O.Name) {
		w.in.sink(Sink{Kind: SinkVar, Name: addr.O.Name, Pos: ins.Pos}, v, w)
	}
	if v.K == VRef && v.O == addr.O && below(addr.Path, v.Path) {
		return // a struct copied onto itself, or into itself
	}
	if v.quiet {
		c := *v
		c.quiet = false
		v = &c
	}
	if old := w.st.get(cell{addr.O.id, addr.Path}); old != nil && old.K == VErr && v.K == VNil && strings.HasSuffix(addr.Path, "[*]") {
		return // another element: the error of the first is still there
	}
	if w.st.get(cell{addr.O.id, addr.Path}) != v {
		w.st.clear(addr.O, addr.Path)
		w.st.set(cell{addr.O.id, addr.Path}, v)
	}
}

// maxDeep bounds how many values are looked at to tell where one comes from.
const maxDeep = 200

// deep is everything that a value and what it refers to come from.
func (w *walker) deep(v *Value) Taint {
	if v.O == nil && len(v.Elems) == 0 {
		return v.T
	}
	budget := maxDeep
	return w.deepen(v, 0, &budget)
}

func (w *walker) deepen(v *Value, depth int, budget *int) Taint {
	t := v.T
	if *budget--; depth > 4 || *budget < 0 {
		return t
	}
	for _, e := range v.Elems {
		t = t.join(w.deepen(e, depth+1, budget))
	}
	if v.O == nil {
		return t
	}
	t = t.join(v.O.Taint)
	path := ""
	if v.K == VRef {
		path = v.Path
	}
	for _, p := range w.st.paths(v.O, path) {
		if x := w.st.get(cell{v.O.id, p}); x != v {
			t = t.join(w.deepen(x, depth+1, budget))
		}
	}
	return t
}

// cells visits what is stored at and below a place, in order.
func (w *walker) cells(o *Object, path string, visit func(*Value)) {
	for _, p := range w.st.paths(o, path) {
		visit(w.st.get(cell{o.id, p}))
	}
}

func (w *walker) makeIface(ins *Instr) {
	v := w.val(ins.A)
	c := *v
	c.Dyn = ins.S
	c.box, c.elem = 0, ""
	if v.K == VStr && ins.S != "" {
		pkg, name := splitType(ins.S)
		if said, ok := know.AbsentText[know.Sym{Pkg: know.Normal(pkg), Name: name}]; ok && said == v.S {
			c = Value{K: VErr, S: errNoRows}
		}
	}
	if ins.S == "" && ins.T != nil {
		c.box, c.elem = ins.T.Kind+1, ins.T.Elem
	}
	if ins.T != nil && ins.T.Ptr && c.K == VTop {
		c.O = w.in.objOf(v, nil)
	}
	w.set(ins.Dst, &c)
}

func (w *walker) assert(ins *Instr) {
	v := w.val(ins.A)
	ok := top
	out := v
	if v.Dyn != "" && ins.T != nil && ins.T.Name != "" && ins.T.Kind != KInterface {
		ok = boolVal(v.Dyn == ins.T.Name)
	}
	if v.Dyn == "" && v.box > 1 && ins.T != nil && ins.T.Kind != KInterface {
		ok = boolVal(v.box == ins.T.Kind+1 && ins.T.Name == "")
	}
	if v.K == VTop && ins.T != nil && ins.T.Msg && v.T.has(FromMessage) {
		c := *v
		c.Msg, c.Batch = true, ins.T.Batch
		out = &c
		if !v.Msg && v.event {
			w.isMessage(ins)
			ok = vTrue
		}
	}
	if v.K == VNil {
		ok = vFalse
	}
	if v.O != nil && v.O.Tx != nil {
		ok = vTrue
	}
	if e, is, known := w.asserted(v, ins.T); known {
		out, ok = e, is
	}
	if ins.N == 1 {
		if w.noTxYet(v, ins.T) {
			out, ok = zero(ins.T), vFalse
		}
		w.set(ins.Dst, &Value{K: VTuple, Elems: []*Value{out, ok}})
		return
	}
	w.set(ins.Dst, out)
}

func (in *interp) globalValue(name string) *Value {
	if v := in.prog.globalValue(name); v != nil {
		return v
	}
	return nil
}
