package flow

import (
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
			e.st.leaveGoroutine()
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
		if row := w.know().Lookup(know.Sym{Pkg: c.Pkg, Recv: c.Recv, Name: c.Name}); row != nil {
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
		if w.know().Library(c.Pkg) || w.in.prog.std(c.Fn, c.Pkg) {
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
		if row := w.know().Lookup(know.Sym{Pkg: c.Pkg, Recv: c.Recv, Name: c.Name}); row != nil && !w.wrapped(fun, c) {
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
	return w.enterFrame(&frame{fn: fn, in: ins, via: via, free: free}, args)
}

// enterFrame runs the function of a frame, which lies under the present one.
func (w *walker) enterFrame(fr *frame, args []*Value) []exit {
	fn, ins := fr.fn, fr.in
	fr.up, fr.depth = w.fr, w.fr.depth+1
	fr.hash = mix(w.fr.hash*1000003 + uint64(w.blk)*8191 + uint64(w.idx) + hashString(fn.ID))
	fr.goes = ins.Op == OpGo
	w.named(ins, fn)
	for i, a := range args {
		if i == 0 && fn.Method {
			continue
		}
		if i < len(fn.Params) && (a.Msg && (fn.Params[i].T == nil || fn.Params[i].T.Msg) || a.size == sizeNone && fn.Params[i].T != nil && fn.Params[i].T.Msg) {
			fr.takes = true // a batch, if an empty one
		} else if fr.dyn && w.wholeEvent(a) {
			fr.event = true
		}
	}
	// Through a value of another shape the types may not fit: then nothing is known of the rest.
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
	if w.know().DedupKey(name) {
		w.in.sink(Sink{Kind: SinkReturn, Name: name, Pos: ins.Pos}, w.ret[0], w)
	}
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
