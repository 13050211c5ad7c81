package flow

import (
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// wholeEvent reports whether a value is what a message carries, as it came or decoded: no single field of it, and
// nothing new that was built of its fields.
func (w *walker) wholeEvent(v *Value) bool {
	switch {
	case v.K == VFunc:
		return false // whatever it has captured, it is what is done
	case v.raw, v.O != nil && v.O.Decoded:
		return true
	case v.K == VRef && v.O != nil && v.O.Taint.has(FromMessage) && v.Path != "" && !strings.Contains(v.Path, "."):
		return true // the event in a struct that carries it beside its message
	case v.O != nil && v.O.Local && v.K == VRef:
		return w.carriesValue(v)
	case v.O != nil && v.O.Local, v.K == VStr, v.K == VErr:
		return false
	}
	return v.fa == nil && v.K != VRef && !strings.HasPrefix(v.Slot, "F|") && w.deep(v).has(FromPayload|FromMessage)
}

// carriesValue reports whether a struct that was made in sight has a message's value in one of its fields, as it came:
// the message in another type.
func (w *walker) carriesValue(v *Value) bool {
	for _, p := range w.st.paths(v.O, v.Path) {
		if x := w.st.get(cell{v.O.id, p}); x.raw {
			return true
		}
	}
	return false
}

// iterate runs a loop body that a range-over-func statement hands to an iterator: not at all, or for one message.
func (w *walker) iterate(ins *Instr, body *Value) []exit {
	fn := w.in.prog.fn(body.S)
	if fn == nil {
		return []exit{{nil, w.st}}
	}
	out := []exit{{nil, w.st.fork()}}
	args := make([]*Value, len(fn.Params))
	for i := range args {
		args[i] = w.paramValue(fn, i, Taint{Bits: FromMessage})
	}
	sub := *w
	sub.st = w.st.fork()
	for _, e := range sub.enterDyn(ins, fn, args, body.Elems, nil, Pos{}) {
		out = append(out, exit{nil, e.st})
	}
	return out
}

// paramValue is an unknown argument.
func (w *walker) paramValue(fn *Func, i int, t Taint) *Value {
	return w.in.paramValue(fn, i, t)
}

// callback runs a function value that a callee was given, with unknown or given arguments.
func (w *walker) callback(ins *Instr, fun *Value, args []*Value) []exit {
	if fun.K == VFunc && fun.Iface == "" {
		if fn := w.in.prog.fn(fun.S); fn != nil {
			n := len(fn.Params)
			off := 0
			if fun.Bound {
				off = 1
			}
			full := make([]*Value, 0, n)
			for i := off; i < n; i++ {
				if i-off < len(args) && args[i-off] != nil {
					full = append(full, args[i-off])
				} else {
					full = append(full, w.paramValue(fn, i, Taint{}))
				}
			}
			if out, ok := w.callValue(ins, fun, full, nil); ok {
				return out
			}
		}
	}
	var out []exit
	if fun.K != VFunc {
		for _, b := range w.in.prog.bound(fun.Slot, "", w.in.slotHint(fun)) {
			if b.Func == "" {
				continue
			}
			v := &Value{K: VFunc, S: b.Func, Bound: b.Method, Ref: b.Edge.Pos}
			if b.Method {
				v.Elems = []*Value{{K: VTop}}
			}
			if fn := w.in.prog.fn(b.Func); fn != nil {
				sub := *w
				sub.st = w.st.fork()
				out = append(out, sub.callback(ins, v, args)...)
			}
		}
	}
	return out
}

func (w *walker) builtin(c *Call, args []*Value) []exit {
	ok := func(v *Value) []exit { return []exit{{[]*Value{v}, w.st}} }
	switch c.Fn {
	case "append":
		if len(args) == 0 {
			return ok(top)
		}
		var t Taint
		for _, a := range args {
			t = t.join(w.deep(a))
		}
		t = t.made()
		if v := w.appended(args); v != nil {
			return ok(v)
		}
		out := &Value{K: VNotNil, T: t, Slot: args[0].Slot, size: w.grown(args), Elems: gatheredErr(args, w)}
		out.mixed = slices.ContainsFunc(args, func(a *Value) bool { return a.mixed })
		if out.Elems == nil {
			out.Elems = w.gatheredModels(args)
		}
		out.Msg, out.Batch = args[0].Msg, args[0].Msg
		if len(args) > 1 && args[1].Msg {
			out.Msg, out.Batch = true, true
		}
		if t.has(FromMessage) && !out.Msg && len(args) > 1 {
			if e := w.elements(args[1]); len(e) > 0 && e[0].Msg {
				out.Msg, out.Batch = true, true
			}
		}
		return ok(out)
	case "len", "cap":
		if len(args) == 1 && c.Fn == "len" && args[0].size != sizeUnknown {
			return ok(args[0].size.value(args[0].T))
		}
		if len(args) == 1 && c.Fn == "len" && args[0].K == VRef && w.in.traces {
			if size := w.mapSize(args[0]); size != sizeUnknown {
				return ok(size.value(args[0].T))
			}
		}
		if len(args) == 1 && args[0].mixed {
			return ok(top)
		}
		if len(args) == 1 && c.Fn == "len" && args[0].K == VStr {
			switch s := args[0].S; {
			case !hasHole(s):
				return ok(&Value{K: VInt, I: int64(len(s)), T: args[0].T})
			case hasText(s):
				return ok(&Value{K: VTop, size: sizeSome, T: args[0].T})
			}
		}
		if len(args) == 1 && args[0].K == VNil {
			w.fr.exact = true
			return ok(&Value{K: VInt})
		}
		if len(args) == 1 && c.Fn == "len" && args[0].K == VTop && args[0].Slot != "" {
			if fs := w.in.prog.functions(args[0].Slot); len(fs) > 0 {
				w.fr.exact = true
				return ok(&Value{K: VInt, I: int64(len(fs))})
			}
		}
		if len(args) == 1 && c.Fn == "len" {
			if n := len(w.elements(args[0])); n > 0 && n == len(w.st.paths(args[0].O, args[0].Path)) {
				w.fr.exact = true
				return ok(&Value{K: VInt, I: int64(n)})
			}
		}
		return ok(taintVal(Taint{Bits: args[0].T.Bits & FromUnseen}))
	case "copy":
		if len(args) == 2 && args[0].O != nil {
			w.putInto(args[0], w.deep(args[1]))
		}
		return ok(top)
	case "panic":
		return nil
	case "delete", "clear":
		if len(args) > 0 && args[0].O != nil {
			w.takesOut(args[0], c.Fn == "clear")
		}
		return ok(top)
	case "recover":
		return ok(nilVal) // no run panics
	}
	var t Taint
	for _, a := range args {
		t = t.join(a.T)
	}
	return ok(taintVal(t))
}

// putInto adds origins to what a reference refers to.
func (w *walker) putInto(dst *Value, t Taint) {
	if dst.O == nil {
		if dst.K != VTop {
			return
		}
		w.in.objOf(dst, nil)
	}
	c := cell{dst.O.id, join(dst.Path, "[*]")}
	old := w.st.get(c)
	if old == nil {
		old = top
	}
	w.st.set(c, taintVal(old.T.join(t)))
}

// elements are the values of a slice that was made in sight, as for a variadic call.
func (w *walker) elements(v *Value) []*Value {
	if v.K != VRef || v.O == nil || !v.O.Local {
		return nil
	}
	var out []*Value
	for i := range 64 {
		e := w.st.get(cell{v.O.id, join(v.Path, "["+itoa(i)+"]")})
		if e == nil {
			break
		}
		out = append(out, e)
	}
	return out
}

// library is a call of a library's function about which the tables say nothing: no effect, a result made of its
// arguments.
func (w *walker) library(ins *Instr, args []*Value) []exit {
	c := ins.Call
	if ends(c) {
		return nil
	}
	var t Taint
	msg := false
	for _, a := range args {
		if a.Msg {
			msg = true
		}
		t = t.join(w.deep(a))
	}
	if combines(c.Name) {
		t = t.made()
	}
	if readsStore(c) {
		t = t.asked()
	}
	silent := strings.Contains(c.Pkg, "log") || strings.HasPrefix(c.Pkg, "net/http")
	if !silent {
		for _, a := range args {
			w.fill(a, t)
		}
	}
	st := w.st
	if !silent {
		for _, a := range args {
			if a.K == VFunc {
				sub := *w
				sub.st = st
				if out := sub.callback(ins, a, nil); len(out) > 0 {
					st = out[0].st
				}
			}
		}
	}
	vals := make([]*Value, len(c.Res))
	for i, r := range c.Res {
		rt := t
		if r != nil && r.Msg && !msg && yieldName(c.Name) {
			rt.Bits |= FromMessage
			w.event(&Event{Kind: EvPoll, Pos: ins.Pos})
		}
		vals[i] = w.fresh(r, rt, "")
		if r != nil && r.Kind == KError {
			vals[i] = taintVal(t)
		}
		if r != nil && r.Kind == KString && t.Bits == 0 {
			vals[i] = top
		}
	}
	w.derive(c, args, vals)
	return []exit{{vals, st}}
}

// fill gives a variable that was never written the origins of what a callee may have put there.
func (w *walker) fill(a *Value, t Taint) {
	if a.K != VRef || a.O == nil || !a.O.Local || a.Path != "" {
		return
	}
	empty := true
	w.cells(a.O, "", func(*Value) { empty = false })
	if empty && a.fa == nil {
		w.st.set(cell{a.O.id, "?"}, taintVal(t))
	}
	w.mayFill(a, t, 0)
}

// unseen is a call of a function whose body is not in sight: it may answer anything. Functions it is given are
// taken to be called once; a name that says transaction runs them in one.
func (w *walker) unseen(ins *Instr, id, typ, name string, args []*Value) []exit {
	c := ins.Call
	if pol := know.GuardName(shortName(typ), name); pol != know.NoGuard && w.guardShape(c, args) {
		return w.namedGuard(ins, id, pol, args)
	}
	if out, ok := w.namedMoney(ins, typ, name, args); ok {
		return out
	}
	if logName(shortName(typ)) && strings.HasPrefix(name, "Fatal") {
		return nil
	}
	w.unseenEvent(ins, typ, name, args)
	if publishes(typ, name) {
		w.relayed(placeOf(ins), args)
	}
	var t Taint
	for _, a := range args {
		t = t.join(w.deep(a))
	}
	for _, a := range args {
		w.fill(a, t)
	}
	for _, a := range args {
		if a.K != VFunc && !(a.K == VTop && strings.HasPrefix(a.Slot, "P|") && false) {
			continue
		}
		if txName(name) {
			return w.inTx(ins, a, nil, c)
		}
		out := w.callback(ins, a, nil)
		if len(out) == 0 {
			continue
		}
		return w.adapt(c, out, t)
	}
	if c.Kind != CallStatic {
		t = t.asked()
		t.Bits |= FromUnseen
	}
	if combines(name) {
		t = t.made()
	}
	vals := make([]*Value, len(c.Res))
	for i, r := range c.Res {
		rt := t
		if r != nil && r.Msg && !anyMsg(args) && yieldName(name) {
			rt.Bits |= FromMessage
			w.event(&Event{Kind: EvPoll, Pos: ins.Pos})
		}
		vals[i] = w.fresh(r, rt, slotN("R", c.Fn, i))
		if c.Kind != CallStatic {
			vals[i].Slot = ""
		}
	}
	w.derive(c, args, vals)
	return []exit{{vals, w.st}}
}

func anyMsg(args []*Value) bool {
	for _, a := range args {
		if a.Msg {
			return true
		}
	}
	return false
}

// adapt turns what a callback gave into what its caller gives: an error passes through, the rest is unknown.
func (w *walker) adapt(c *Call, out []exit, t Taint) []exit {
	res := make([]exit, 0, len(out))
	for _, e := range out {
		vals := make([]*Value, len(c.Res))
		var errv *Value
		if n := len(e.vals); n > 0 {
			errv = e.vals[n-1]
		}
		for i, r := range c.Res {
			switch {
			case r != nil && r.Kind == KError && errv != nil && (errv.K == VErr || errv.K == VNil || errv.K == VTop):
				vals[i] = errv
			case i < len(e.vals) && len(e.vals) == len(c.Res):
				vals[i] = e.vals[i]
			default:
				vals[i] = taintVal(t)
			}
		}
		res = append(res, exit{vals, e.st})
	}
	return res
}

func txName(name string) bool {
	for _, word := range know.Words(name) {
		switch word {
		case "tx", "transaction", "transact", "transactional", "transactionally", "atomic", "atomically", "uow", "txn":
			return true
		}
	}
	return false
}

func shortName(typ string) string {
	_, s := splitType(typ)
	return s
}
