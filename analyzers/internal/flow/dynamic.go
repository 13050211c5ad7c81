package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// Calls through interfaces and function values.

// invoke calls a method through an interface.
func (w *walker) invoke(ins *Instr, recv *Value, args []*Value) []exit {
	c := ins.Call
	if len(recv.alts) > 0 {
		var out []exit
		for _, a := range recv.alts {
			sub := *w
			sub.st = w.st.fork()
			out = append(out, sub.invoke(ins, a, args)...)
		}
		return out
	}
	if c.Guard {
		return w.namedGuard(ins, c.Iface+"."+c.Fn, know.EitherTrue, args)
	}
	if c.Fn == "Error" && len(args) == 0 && recv.K == VErr && (recv.Site != nil || recv.S == errFail) {
		return []exit{{[]*Value{errText(recv)}, w.st}}
	}
	if c.Fn == "SQLState" && len(args) == 0 && recv.K == VErr && recv.Site != nil {
		return []exit{{[]*Value{sqlState(recv)}, w.st}}
	}
	if recv.Dyn != "" {
		if m := w.in.prog.method(recv.Dyn, c.Fn); m != nil {
			var via *Edge
			if recv.wired {
				via = w.in.prog.edge(recv)
			}
			if out, ok := w.callMethod(ins, recv, m, args, via); ok {
				return out
			}
		}
		if row := w.rowOf(recv.Dyn, c.Fn); row != nil {
			return w.model(ins, row, append([]*Value{recv}, args...))
		}
	}
	if w.in.wires != nil {
		return w.shut(ins)
	}
	var out []exit
	bs := w.in.prog.bound(recv.Slot, c.Iface, w.in.slotHint(recv))
	if c.TypeParam != "" {
		bs = w.in.prog.bound(c.TypeParam, c.TypeParam, "")
	}
	if known := w.in.prog.wiredIn(recv.Slot, w.in.slotHint(recv), c.Fn, bs); len(known) > 0 {
		for _, v := range known {
			sub := *w
			sub.st = w.st.fork()
			sub.recall(v)
			if m := w.in.prog.method(v.Dyn, c.Fn); m != nil {
				if res, ok := sub.callMethod(ins, v, m, args, w.in.prog.edge(v)); ok {
					out = append(out, res...)
				}
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	for _, b := range bs {
		e := b
		if m := w.in.prog.method(e.Type, c.Fn); m != nil {
			st := w.st.fork()
			sub := *w
			sub.st = st
			if res, ok := sub.callMethod(ins, recv, m, args, e.Edge); ok {
				out = append(out, res...)
				continue
			}
		}
		if row := w.rowOf(e.Type, c.Fn); row != nil {
			sub := *w
			sub.st = w.st.fork()
			out = append(out, sub.model(ins, row, append([]*Value{recv}, args...))...)
		}
	}
	if len(out) > 0 {
		return out
	}
	if c.RPC {
		// The generated client is in another module: its method is the service's.
		_, service := splitType(c.Iface)
		w.grpc(ins, strVal("/"+strings.TrimSuffix(service, "Client")+"/"+c.Fn, Taint{}))
	}
	w.assumed(ins, c.Iface+"."+c.Fn)
	return w.unseen(ins, c.Iface+"."+c.Fn, c.Iface, c.Fn, append([]*Value{recv}, args...))
}

func (in *interp) slotHint(v *Value) string {
	if v.O != nil && v.O.Slot != "" {
		return v.O.Slot
	}
	return ""
}

// rowOf finds what is known of a method of a library's concrete type.
func (w *walker) rowOf(typ, method string) *know.Row {
	pkg, name := splitType(typ)
	return w.know().Lookup(know.Sym{Pkg: know.Normal(pkg), Recv: name, Name: method})
}

func (w *walker) callMethod(ins *Instr, recv *Value, m *Method, args []*Value, via *Edge) ([]exit, bool) {
	if m.Guard {
		return w.namedGuard(ins, m.Fn, know.EitherTrue, args), true
	}
	fn := w.in.prog.fn(m.Fn)
	if fn == nil || w.fr.calls(m.Fn) && !w.nested(recv, m.Fn) || w.fr.depth >= maxDepth {
		return nil, false
	}
	r := *recv
	r.Dyn = ""
	rv := &r
	if m.Path != "" {
		for _, f := range strings.Split(m.Path, ".") {
			rv = &Value{K: VRef, O: w.objAt(rv), Path: join(w.pathAt(rv), f)}
		}
	}
	return w.enterDyn(ins, fn, append([]*Value{rv}, args...), nil, via, recv.Ref), true
}

// enterDyn runs a function found through a value.
func (w *walker) enterDyn(ins *Instr, fn *Func, args, free []*Value, via *Edge, ref Pos) []exit {
	return w.enterFrame(&frame{fn: fn, in: ins, via: via, free: free, dyn: true, refPos: ref}, args)
}

// dynamic calls a function value.
func (w *walker) dynamic(ins *Instr, fun *Value, args []*Value) []exit {
	if len(fun.alts) > 0 {
		var out []exit
		for _, a := range fun.alts {
			sub := *w
			sub.st = w.st.fork()
			out = append(out, sub.dynamic(ins, a, args)...)
		}
		return out
	}
	if fun.size == sizeNone {
		return w.quiet(ins) // a sequence of nothing
	}
	if out, ok := w.moneyValue(ins, fun, args); ok {
		return out
	}
	if out, ok := w.callValue(ins, fun, args, nil); ok {
		return out
	}
	if w.in.wires != nil {
		return w.shut(ins)
	}
	if out := w.makers(ins, fun, args); len(out) > 0 {
		return out
	}
	var out []exit
	bs := w.in.prog.bound(fun.Slot, "", w.in.slotHint(fun))
	if known := w.in.prog.wiredIn(fun.Slot, w.in.slotHint(fun), "", bs); len(known) > 0 {
		for _, v := range known {
			sub := *w
			sub.st = w.st.fork()
			sub.recall(v)
			if res, ok := sub.callValue(ins, v, args, w.in.prog.edge(v)); ok {
				out = append(out, res...)
			}
		}
		return out
	}
	for _, b := range bs {
		if b.Func == "" {
			continue
		}
		sub := *w
		sub.st = w.st.fork()
		v := &Value{K: VFunc, S: b.Func, Bound: b.Method, Ref: b.Edge.Pos}
		if b.Method {
			v.Elems = []*Value{{K: VTop}}
		}
		if res, ok := sub.callValue(ins, v, args, b.Edge); ok {
			out = append(out, res...)
		}
	}
	if len(out) > 0 {
		return out
	}
	if fun.Msg || fun.T.has(FromMessage) && ins.Call.Args != nil {
		// An iterator over messages: its argument is the loop's body.
		if len(args) == 1 && args[0].K == VFunc {
			return w.iterate(ins, args[0])
		}
	}
	w.assumed(ins, "a function value")
	return w.unseen(ins, "", "", "", args)
}

// callValue calls a function value that is known.
func (w *walker) callValue(ins *Instr, fun *Value, args []*Value, via *Edge) ([]exit, bool) {
	if fun.K != VFunc {
		return nil, false
	}
	if fun.Iface != "" {
		iface, method, _ := strings.Cut(fun.Iface, "|")
		c := *ins.Call
		c.Kind, c.Iface, c.Fn = CallInvoke, iface, method
		c.Pkg, c.Recv, c.Name = "", "", ""
		ci := *ins
		ci.Call = &c
		return w.invoke(&ci, fun.Elems[0], args), true
	}
	if row := w.rowOfFunc(fun.S); row != nil {
		pkg, recv, name := w.in.prog.symOf(fun.S)
		c := *ins.Call
		c.Kind, c.Fn, c.Pkg, c.Recv, c.Name = CallStatic, fun.S, pkg, recv, name
		ci := *ins
		ci.Call = &c
		if fun.Ref.IsValid() && !(w.in.ids && fun.Bound) {
			return w.modelRef(&ci, row, args, fun.Ref), true
		}
		if fun.Bound {
			args = append([]*Value{fun.Elems[0]}, args...)
		}
		if fun.Ref.IsValid() {
			return w.modelRef(&ci, row, args, fun.Ref), true
		}
		return w.model(&ci, row, args), true
	}
	fn := w.in.prog.fn(fun.S)
	if fun.wired && via == nil {
		via = w.in.prog.edge(fun)
	}
	if fn == nil || w.fr.calls(fun.S) && !w.nested(fun, fun.S) && !w.shorter(fun.Elems) || w.fr.depth >= maxDepth {
		if fn == nil {
			return nil, false
		}
		return w.unseen(ins, fun.S, "", "", args), true
	}
	free := fun.Elems
	if fun.Bound {
		args = append([]*Value{fun.Elems[0]}, args...)
		free = nil
	} else if len(free) == 0 && fn.Free > 0 {
		for i := range fn.Free {
			free = append(free, &Value{K: VTop, Slot: slotN("V", fn.ID, i)})
		}
	}
	if fn.Guard {
		return w.namedGuard(ins, fn.ID, know.EitherTrue, args), true
	}
	w.leaveArgs(fn.ID, args)
	if w.in.wires != nil && !w.in.prog.wirable(fn) {
		return w.shut(ins), true
	}
	out := w.enterDyn(ins, fn, args, free, via, fun.Ref)
	w.handed(out, ins, fun)
	for i := range out {
		// A router wraps handlers that give fewer results.
		if n := len(ins.Call.Res); len(out[i].vals) == 1 && n == 2 {
			out[i].vals = []*Value{top, out[i].vals[0]}
		}
	}
	return out, true
}
