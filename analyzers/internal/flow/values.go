package flow

import (
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// ids are the functions that make, print and take ids.
func (w *walker) ids(ins *Instr, row *know.Row, full []*Value, recv *Value, args []*Value) []exit {
	c := ins.Call
	one := func(vs ...*Value) []exit { return []exit{{vs, w.st}} }
	made := func(bit Bits) Taint {
		return Taint{Bits: bit | FromFresh, Srcs: []*Src{{Bit: bit, Pos: ins.Pos, Enter: ins.Pos, Cross: ins.Pos, End: c.End, Pkg: w.fn.Pkg, Fn: w.fn.ID,
			What: baseName(c.Pkg) + "." + c.Name, depth: w.fr.depth, call: c}}}
	}
	switch row.Kind {
	case know.V4:
		return one(fit(c, &Value{K: VNotNil, T: made(FromV4)}, nilVal)...)
	case know.V7:
		return one(fit(c, &Value{K: VNotNil, T: Taint{Bits: FromFresh}}, nilVal)...)
	case know.FreshValue:
		return one(fit(c, &Value{K: VNotNil, T: Taint{Bits: FromFresh}}, nilVal)...)
	case know.ClockPart:
		out := w.library(ins, full)
		for i, e := range out {
			vals := slices.Clone(e.vals)
			for j, v := range vals {
				if v != nil && v.T.has(FromFresh) {
					part := *v
					part.T.Bits |= FromCoarse
					vals[j] = &part
				}
			}
			out[i].vals = vals
		}
		return out
	case know.NameID:
		var t Taint
		for _, a := range args {
			t = t.join(w.deep(a))
		}
		return one(fit(c, &Value{K: VNotNil, T: t.named(), sym: w.symOfCall(c, args)}, nilVal)...)
	case know.Digest:
		return one(fit(c, &Value{K: VNotNil, T: w.deep(recv).named()}, nilVal)...)
	case know.IDText:
		v := recv
		if row.Arg >= 0 {
			v = at(args, row.Arg)
		}
		if v == nil {
			v = top
		}
		out := *v
		if out.K == VTuple && len(out.Elems) > 0 {
			out = *out.Elems[0]
		}
		return one(fit(c, &out, nilVal)...)
	case know.EventIDSink:
		w.in.sink(Sink{Kind: SinkSetID, Name: c.Recv + dot(c.Recv) + c.Name, Pos: c.At}, at(args, row.Arg), w)
		if w.in.rows != nil && recv != nil {
			w.st.set(cell{w.objAt(recv).id, join(w.pathAt(recv), "{id}")}, w.asEventID(at(args, row.Arg)))
		}
		return w.quiet(ins)
	case know.HeaderRead:
		return one(taintVal(w.headerTaint(at(args, row.Arg), w.nameAt(ins, operand(c, row.Arg)))))
	case know.HeaderWrite:
		w.headerWritten(at(args, row.Arg), w.nameAt(ins, operand(c, row.Arg)))
		w.in.sink(Sink{Kind: SinkHeader, Name: at(args, row.Arg).S, Pos: c.At, Known: at(args, row.Arg).S}, at(args, row.Arg2), w)
		if w.in.rows != nil && recv != nil && w.know().EventID(at(args, row.Arg).S) {
			w.st.set(cell{w.objAt(recv).id, join(w.pathAt(recv), mapKey(at(args, row.Arg)))}, w.asEventID(at(args, row.Arg2)))
		}
		return w.quiet(ins)
	case know.HeadersOf:
		return one(taintVal(Taint{Bits: FromHeader}))
	case know.OffsetOf:
		w.in.sources = true
		src := &Src{Bit: FromOffset, Pos: c.At, Enter: c.At, Cross: c.At, Pkg: w.fn.Pkg, Fn: w.fn.ID, What: c.Recv + dot(c.Recv) + c.Name, depth: w.fr.depth}
		return one(fit(c, taintVal(Taint{Bits: FromOffset, Srcs: []*Src{src}}), nilVal)...)
	case know.PlaceOf:
		return one(fit(c, taintVal(Taint{Bits: FromPlace}), nilVal)...)
	case know.KeyOf:
		return one(fit(c, taintVal(Taint{Bits: FromKey | FromPayload}), nilVal)...)
	case know.NewMessage:
		w.in.sink(Sink{Kind: SinkMessageID, Name: "message.NewMessage", Pos: c.At}, at(args, row.Arg), w)
		o := w.in.object(w.fr, ins, 6, nil)
		o.Local = true
		w.st.clear(o, "")
		w.st.set(cell{o.id, "UUID"}, w.asEventID(at(args, row.Arg)))
		w.st.set(cell{o.id, "Payload"}, at(args, row.Arg2))
		return one(&Value{K: VRef, O: o})
	}
	return w.library(ins, full)
}

func baseName(pkg string) string {
	if i := strings.LastIndexByte(pkg, '/'); i >= 0 {
		pkg = pkg[i+1:]
	}
	return strings.TrimPrefix(strings.TrimSuffix(pkg, ".uuid"), "go-")
}

// values are the functions of the standard library and its like that carry values about.
func (w *walker) values(ins *Instr, row *know.Row, full []*Value, recv *Value, args []*Value) []exit {
	c := ins.Call
	one := func(vs ...*Value) []exit { return []exit{{vs, w.st}} }
	switch row.Kind {
	case know.ErrIs:
		eq, known := w.in.sameError(at(args, row.Arg), at(args, row.Arg2), w)
		if known {
			return one(boolVal(eq))
		}
		return one(taintVal(at(args, row.Arg).T))
	case know.ErrAs:
		return w.errAs(at(args, row.Arg), at(args, row.Arg2))
	case know.CodeName:
		if recv != nil && violationCode(recv) && recv.Site != nil {
			return one(&Value{K: VStr, S: violationName, Site: recv.Site})
		}
		return w.library(ins, full)
	case know.ErrStatus:
		return one(fit(c, &Value{K: VNotNil, Elems: []*Value{at(args, row.Arg)}}, top)...)
	case know.ErrCode:
		if row.Arg >= 0 {
			return one(statusCode(at(args, row.Arg)))
		}
		if len(recv.Elems) == 1 {
			return one(statusCode(recv.Elems[0]))
		}
		return one(taintVal(recv.T))
	case know.ErrNew:
		return one(&Value{K: VErr, S: siteKey(ins.Pos)})
	case know.ErrWrap:
		return one(w.wrap(ins, args)...)
	case know.IsDuplicate:
		return one(w.isUnique(at(args, row.Arg)))
	case know.Sprintf:
		return one(w.formatted(at(args, row.Arg), w.variadic(args, row.Arg2)))
	case know.Sprint:
		var t Taint
		for _, a := range args {
			t = t.join(w.deep(a))
		}
		return one(taintVal(t.parts()))
	case know.StringFn:
		return one(w.stringFn(c.Name, at(args, row.Arg), at(args, row.Arg2)))
	case know.Decode:
		src := recv
		if row.Arg >= 0 {
			src = at(args, row.Arg)
		}
		t := w.deep(src)
		if t.has(FromMessage) {
			t.Bits = t.Bits&^FromMessage | FromPayload
		}
		if into := w.target(at(args, row.Arg2)); into != nil {
			w.fillAll(into, t)
			if into.O != nil && t.has(FromPayload) {
				into.O.Decoded = true
			}
			if t.has(FromPayload) {
				w.st.money.forget()
			}
		}
		return w.quiet(ins)
	case know.DecodeRet:
		t := w.deep(at(args, row.Arg))
		return one(fit(c, &Value{K: VNotNil, T: t, from: at(args, row.Arg)}, nilVal)...)
	case know.Encode:
		return w.encode(ins, full, at(args, row.Arg))
	case know.PutBytes:
		dst := recv
		if row.Arg >= 0 {
			dst = at(args, row.Arg)
		}
		if dst != nil {
			w.putInto(dst, w.deep(at(args, row.Arg2)))
			if c.Pkg == "strings" || c.Pkg == "bytes" {
				w.writesText(ins, dst, pieceOf(c.Name, at(args, row.Arg2)))
			}
		}
		return w.quiet(ins)
	case know.CtxWith:
		o := w.in.object(w.fr, ins, 7, nil)
		var up *ctxNode
		if a := at(args, 0); a.O != nil {
			up = a.O.Ctx
			o.Tx = a.O.Tx
		}
		o.Ctx = &ctxNode{up, at(args, row.Arg), at(args, row.Arg2)}
		return one(&Value{K: VRef, O: o})
	case know.CtxValue:
		return one(w.ctxValue(recv, at(args, row.Arg)))
	case know.CtxErr:
		if w.fn.onlyReturned(ins.Dst) {
			return one(&Value{K: VErr})
		}
		return w.library(ins, full)
	case know.Wait:
		if n := at(args, row.Arg); row.Arg >= 0 && n.K == VInt && n.I == 1 {
			return w.library(ins, full)
		}
		w.event(&Event{Kind: EvWait, Pos: placeOf(ins)})
		return w.groupError(recv, w.quiet(ins), c)
	case know.RedisPipe:
		return w.pipeline(ins, row, full, args)
	case know.GoFunc, know.CallFunc:
		return w.runs(ins, row, args)
	case know.MemoryAsk:
		return w.remembered(ins, full, recv, at(args, row.Arg))
	case know.Silent:
		return w.silent(ins, full)
	case know.BuiltText:
		if v := w.writtenText(recv); v != nil {
			return one(v)
		}
	case know.ResetText:
		if c, ok := w.textCell(recv); ok {
			w.st.set(c, strVal("", Taint{}))
		}
	case know.TextOp:
		return w.textOp(ins, full, args)
	case know.JoinText:
		return one(w.joined(at(args, row.Arg), at(args, row.Arg2), w.deep(at(args, row.Arg)).join(w.deep(at(args, row.Arg2)))))
	case know.KeepIf, know.DropIf:
		return w.narrow(ins, row, full, args)
	case know.Elements:
		return w.elementsOf(ins, row, full, args)
	case know.Counted:
		if n := at(args, row.Arg); n.K == VInt && n.I == 0 {
			return one(noElements())
		}
	case know.Includes:
		return w.includes(ins, row, full, args)
	}
	return w.library(ins, full)
}

// target is what a pointer handed to a decoder points to.
func (w *walker) target(v *Value) *Value {
	if v.K == VRef && v.O != nil {
		// A pointer to a pointer: the decoder follows it.
		if x := w.st.get(cell{v.O.id, v.Path}); x != nil && x.K == VRef && x.O != nil && x.O != v.O && v.O.T != nil && v.O.T.Ptr {
			return x
		}
	}
	return v
}

func (w *walker) ctxValue(ctx, key *Value) *Value {
	if ctx == nil || ctx.O == nil {
		w.mayHoldTx(key)
		if w.in.kind != RootParam && txKey(key) {
			return nilVal
		}
		return &Value{K: VTop, Slot: ctxSlot}
	}
	for n := ctx.O.Ctx; n != nil; n = n.up {
		if sameKey(n.key, key) {
			return n.val
		}
	}
	if ctx.O.Tx != nil {
		o := w.in.newObject(nil)
		o.Tx = ctx.O.Tx
		return &Value{K: VRef, O: o}
	}
	w.mayHoldTx(key)
	if w.in.kind != RootParam && txKey(key) {
		return nilVal // see noTxYet
	}
	return &Value{K: VTop, Slot: ctxSlot}
}

// ctxSlot is the slot of what a context holds that was made out of sight.
const ctxSlot = "X|context"

// noTxYet reports whether a transaction is looked for in the context that a client hands out, or with which polling
// began: there is none in it until the handler begins one.
func (w *walker) noTxYet(v *Value, t *Type) bool {
	return v.Slot == ctxSlot && w.in.kind != RootParam && t != nil && txTypeName(t.Name)
}

func sameKey(a, b *Value) bool {
	if a.Dyn != "" || b.Dyn != "" {
		if a.Dyn != b.Dyn {
			return false
		}
	}
	if a.K == VStr && b.K == VStr {
		return a.S == b.S
	}
	if a.K == VInt && b.K == VInt {
		return a.I == b.I
	}
	if a.O != nil && b.O != nil && a.O.Name != "" {
		return a.O.Name == b.O.Name
	}
	return a.Dyn != ""
}

// sprintf formats with what is known of the arguments.
func (w *walker) sprintf(format *Value, args []*Value) *Value {
	t := w.deep(format)
	for _, a := range args {
		t = t.join(w.deep(a))
	}
	if format.K != VStr {
		return taintVal(t)
	}
	if len(args) > 1 || len(format.S) > 2 {
		t = t.parts()
	}
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = text(a)
	}
	return strVal(formatText(format.S, texts), t)
}

func (w *walker) stringFn(name string, s, sub *Value) *Value {
	if s.K == VStr && sub.K == VStr && !hasHole(s.S) && !hasHole(sub.S) {
		switch name {
		case "Contains":
			return boolVal(strings.Contains(s.S, sub.S))
		case "HasPrefix":
			return boolVal(strings.HasPrefix(s.S, sub.S))
		case "HasSuffix":
			return boolVal(strings.HasSuffix(s.S, sub.S))
		case "EqualFold":
			return boolVal(strings.EqualFold(s.S, sub.S))
		}
	}
	if sub.K == VStr && saysDuplicate(sub.S) {
		// The text of an error is asked whether it speaks of a duplicate.
		switch s.Path {
		case errorText + errUnique:
			w.in.handled[s.Site.Key] = true
			return vTrue
		case errorText + errFail, errorText + errNoRows:
			return vFalse
		}
	}
	return taintVal(s.T)
}

// errorText is the path of a text that is an error's, before what the error says.
const errorText = "error:"

// errText is the text of the error that a check or a statement gave: it may be asked what went wrong.
func errText(err *Value) *Value {
	return &Value{K: VTop, T: err.T, Site: err.Site, Path: errorText + err.S}
}

func saysDuplicate(s string) bool {
	f := strings.ToLower(s)
	for _, x := range [...]string{"duplicate", "unique", "23505", "1062", "already exists"} {
		if strings.Contains(f, x) {
			return true
		}
	}
	return false
}
