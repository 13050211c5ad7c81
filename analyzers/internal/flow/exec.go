package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// call executes a call or go statement. It returns false when no path goes on.
func (w *walker) call(ins *Instr) bool {
	c := ins.Call
	var fun *Value
	if c.Kind == CallDynamic || c.Kind == CallInvoke {
		fun = w.val(c.Fun)
	}
	args := make([]*Value, len(c.Args))
	for i, a := range c.Args {
		args[i] = w.val(a)
	}
	w.handOver(c, args)
	for _, p := range c.KeyParams {
		if p.Index < len(args) {
			w.in.sink(Sink{Kind: SinkParam, Name: p.Name, Pos: ins.Pos}, args[p.Index], w)
		}
	}
	if ins.Op == OpGo {
		w.st.async++
	}
	if w.triedOut(ins, fun) {
		return false
	}
	before, broke, failing := w.st.msg, w.st.broke, w.st.failing
	exits := w.retried(ins, w.spent(ins, w.broken(ins, w.dispatch(ins, fun, args)), args), broke, failing)
	exits = w.mayFail(c, exits)
	if len(exits) == 0 {
		return false
	}
	if !before && exits[0].st.msg && !w.fr.msgPos.IsValid() && !w.fr.takes {
		for _, v := range exits[0].vals {
			if v != nil && !v.Msg && w.deep(v).has(FromPayload) {
				w.fr.msgPos = ins.Pos // the callee polls, and hands back what the message carries
			}
		}
	}
	for i, e := range exits {
		if ins.Op == OpGo {
			e.st.async--
		}
		v := tuple(c, e.vals)
		if i == 0 {
			continue
		}
		env := append([]*Value(nil), w.env...)
		if ins.Dst >= 0 {
			env[ins.Dst] = v
		}
		w.forks = append(w.forks, item{blk: w.blk, idx: w.idx, env: env, st: e.st})
	}
	w.st = exits[0].st
	w.set(ins.Dst, tuple(c, exits[0].vals))
	w.yielded(ins, exits[0].vals, args)
	return true
}

// took notes that a message was taken on this path.
func (w *walker) took() {
	w.in.active = true
	w.st.msg = true
}

// begins notes that a message is taken out of a client: what went wrong with the last one is over.
func (w *walker) begins() {
	w.took()
	w.st.failed, w.st.looked, w.st.broke, w.st.failing, w.st.tries = false, nil, 0, nil, nil
}

// yielded remembers where a function takes a message out of a poll.
func (w *walker) yielded(ins *Instr, vals, args []*Value) {
	w.takenOut(ins, vals, args)
	for _, v := range vals {
		if v != nil && v.Msg {
			w.begins()
			w.st.money.forget()
		}
	}
	if w.fr.msgPos.IsValid() {
		return
	}
	for i, v := range vals {
		if v == nil || !v.Msg || i >= len(ins.Call.Res) {
			continue
		}
		if r := ins.Call.Res[i]; r != nil && r.Batch && (r.Name != "" || r.Kind != KSlice) {
			continue // a container: what takes the message out of it yields it
		}
		for _, a := range args {
			if a.Msg && !a.Batch {
				return
			}
		}
		w.fr.msgPos = ins.Pos
		return
	}
}

func tuple(c *Call, vals []*Value) *Value {
	switch len(vals) {
	case 0:
		return top
	case 1:
		return vals[0]
	}
	return &Value{K: VTuple, Elems: vals}
}

// dispatch finds out what a call does and does it. Every element of the result is one way the call can come out.
func (w *walker) dispatch(ins *Instr, fun *Value, args []*Value) []exit {
	c := ins.Call
	switch c.Kind {
	case CallBuiltin:
		return w.builtin(c, args)
	case CallStatic:
		if know.Ends(c.Pkg, c.Name) {
			return nil
		}
		if fn := w.in.prog.fn(c.Fn); c.Guard || fn != nil && fn.Guard {
			return w.namedGuard(ins, c.Fn, know.EitherTrue, args)
		}
		if row := w.in.prog.know.Lookup(know.Sym{Pkg: c.Pkg, Recv: c.Recv, Name: c.Name}); row != nil {
			return w.model(ins, row, args)
		}
		if out, ok := w.sdk(ins, args); ok {
			return out
		}
		if know.Payment(c.Pkg) && know.Mutates(c.Name) {
			w.effect(ins, EffHTTP, "payment by "+baseName(c.Pkg)+"."+c.Name, nil)
			return w.quiet(ins)
		}
		if know.Sends(c.Pkg, c.Name) {
			w.effect(ins, EffMail, c.Recv+dot(c.Recv)+c.Name, nil)
			return w.quiet(ins)
		}
		if w.in.prog.know.Library(c.Pkg) || w.in.prog.std(c.Fn, c.Pkg) {
			return w.library(ins, args)
		}
		fn := w.in.prog.fn(c.Fn)
		if fn != nil {
			if out, ok := w.ent(ins, fn, args); ok {
				return out
			}
			w.leaveArgs(c.Fn, args)
			if w.in.wires != nil && !w.wireable(fn) {
				return w.shut(ins)
			}
		}
		if fn != nil && (!w.fr.calls(c.Fn) || w.shorter(args)) && w.fr.depth < maxDepth {
			return w.enter(ins, fn, args, nil, nil)
		}
		return w.unseen(ins, c.Fn, c.Recv, c.Name, args)
	case CallInvoke:
		if row := w.in.prog.know.Lookup(know.Sym{Pkg: c.Pkg, Recv: c.Recv, Name: c.Name}); row != nil && !w.wrapped(fun, c) {
			return w.model(ins, row, append([]*Value{fun}, args...))
		}
		if out, ok := w.sdk(ins, append([]*Value{fun}, args...)); ok {
			return out
		}
		if know.Sends(c.Pkg, c.Name) && !w.in.prog.inSight[c.Pkg] && !w.wrapped(fun, c) {
			w.effect(ins, EffMail, c.Recv+dot(c.Recv)+c.Name, nil)
			return w.quiet(ins)
		}
		return w.invoke(ins, fun, args)
	}
	return w.dynamic(ins, fun, args)
}

// wrapped reports whether an interface value is known to be the module's own type: then its body says what it does.
func (w *walker) wrapped(v *Value, c *Call) bool {
	if v.Dyn == "" {
		return false
	}
	m := w.in.prog.method(v.Dyn, c.Fn)
	return m != nil && m.Fn != "" && w.in.prog.fn(m.Fn) != nil
}

// enter runs a function that can be seen.
func (w *walker) enter(ins *Instr, fn *Func, args, free []*Value, via *Edge) []exit {
	fr := &frame{fn: fn, up: w.fr, in: ins, via: via, depth: w.fr.depth + 1, free: free}
	fr.hash = mix(w.fr.hash*1000003 + uint64(w.blk)*8191 + uint64(w.idx) + hashString(fn.ID))
	fr.goes = ins.Op == OpGo
	w.named(ins, fn)
	for i, a := range args {
		if i == 0 && fn.Method {
			continue
		}
		if i < len(fn.Params) && (a.Msg && (fn.Params[i].T == nil || fn.Params[i].T.Msg) || a.size == sizeNone && fn.Params[i].T != nil && fn.Params[i].T.Msg) {
			fr.takes = true // a batch, if an empty one
		}
	}
	if len(args) != len(fn.Params) {
		// A call through a value of another shape: the types did not fit, so nothing is known.
		for len(args) < len(fn.Params) {
			args = append(args, top)
		}
		args = args[:len(fn.Params)]
	}
	w.enters(fr)
	exits := w.in.run(fn, args, w.st, fr)
	w.swallows(fr, exits)
	for i := range exits {
		for j, v := range exits[i].vals {
			exits[i].vals[j] = w.lift(v, ins, fn)
		}
	}
	return exits
}

// lift moves the place at which origins made in a callee entered to the call.
func (w *walker) lift(v *Value, ins *Instr, fn *Func) *Value {
	if v == nil || len(v.T.Srcs) == 0 {
		return v
	}
	changed := false
	srcs := make([]*Src, len(v.T.Srcs))
	for i, s := range v.T.Srcs {
		srcs[i] = s
		if s.depth <= w.fr.depth {
			continue
		}
		n := *s
		n.depth = w.fr.depth
		n.Enter, n.End, n.Fn, n.call = ins.Pos, Pos{}, w.fn.ID, nil
		if s.Ref.IsValid() {
			n.Enter = s.Ref
		}
		if n.Pkg != w.fn.Pkg {
			n.Pkg, n.Cross = w.fn.Pkg, ins.Pos
		}
		srcs[i] = &n
		changed = true
	}
	if !changed {
		return v
	}
	c := *v
	c.T = Taint{Bits: v.T.Bits, Srcs: srcs, Reads: v.T.Reads}
	return &c
}

// returned checks what a function gives back under its own name.
func (w *walker) returned(ins *Instr) {
	if w.fn.Literal || len(w.ret) == 0 {
		return
	}
	_, name := splitType(w.fn.Name)
	if w.in.prog.know.DedupKey(name) {
		w.in.sink(Sink{Kind: SinkReturn, Name: name, Pos: ins.Pos}, w.ret[0], w)
	}
}

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
	return w.in.prog.know.Lookup(know.Sym{Pkg: know.Normal(pkg), Recv: name, Name: method})
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

func (w *walker) objAt(v *Value) *Object {
	if v.K == VRef {
		return v.O
	}
	return w.in.objOf(v, nil)
}

func (w *walker) pathAt(v *Value) string {
	if v.K == VRef {
		return v.Path
	}
	return ""
}

// enters notes that a call gets the message, or an event that a dispatcher made of it.
func (w *walker) enters(fr *frame) {
	if fr.takes {
		w.in.entered[fr.fn.ID] = true
		w.took()
	}
	if w.in.onEnter != nil && (fr.takes || fr.event) {
		w.in.onEnter(fr)
	}
}

// enterDyn runs a function found through a value.
func (w *walker) enterDyn(ins *Instr, fn *Func, args, free []*Value, via *Edge, ref Pos) []exit {
	fr := &frame{fn: fn, up: w.fr, in: ins, via: via, depth: w.fr.depth + 1, free: free, dyn: true, refPos: ref}
	fr.hash = mix(w.fr.hash*1000003 + uint64(w.blk)*8191 + uint64(w.idx) + hashString(fn.ID))
	fr.goes = ins.Op == OpGo
	w.named(ins, fn)
	for i, a := range args {
		if i == 0 && fn.Method {
			continue
		}
		if i < len(fn.Params) && (a.Msg && (fn.Params[i].T == nil || fn.Params[i].T.Msg) || a.size == sizeNone && fn.Params[i].T != nil && fn.Params[i].T.Msg) {
			fr.takes = true // a batch, if an empty one
		} else if w.wholeEvent(a) {
			fr.event = true
		}
	}
	for len(args) < len(fn.Params) {
		args = append(args, top)
	}
	args = args[:len(fn.Params)]
	w.enters(fr)
	exits := w.in.run(fn, args, w.st, fr)
	w.swallows(fr, exits)
	for i := range exits {
		for j, v := range exits[i].vals {
			exits[i].vals[j] = w.lift(v, ins, fn)
		}
	}
	return exits
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
	if row := w.in.prog.rowOfFunc(fun.S); row != nil {
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
