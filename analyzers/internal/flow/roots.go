package flow

import (
	"sort"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// A Root is a function with which the way of a message begins.
type Root struct {
	Fn   *Func
	Kind RootKind
	Edge *Edge  // where a registered function was handed over
	Pkg  string // the package that registers it
	// Client is the library that calls it.
	Client string

	feed *feed // the receive by which a worker comes by what a handler sends it
}

// RootKind says how a root comes by its message.
type RootKind uint8

// The kinds of roots.
const (
	RootSource     RootKind = iota + 1 // it polls, or receives from a channel
	RootRegistered                     // a client library calls it
	RootParam                          // somebody calls it with a message
)

// Roots finds the roots among the functions of the given packages, those that poll first.
func (p *Program) Roots(pkgs map[string]bool) []Root {
	var out []Root
	var ids []string
	for id, f := range p.funcs {
		if pkgs[f.Pkg] && !f.Test && !f.Gen {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	for _, id := range ids {
		if f := p.funcs[id]; p.hasSource(f) {
			out = append(out, Root{Fn: f, Kind: RootSource})
		}
	}
	out = append(out, p.registered(ids)...)
	var params []Root
	for _, id := range ids {
		f := p.funcs[id]
		if msgParam(f) && !producerName(f) {
			params = append(params, Root{Fn: f, Kind: RootParam})
		}
	}
	// Those nobody calls come first: running them covers the ones they call.
	sort.SliceStable(params, func(i, j int) bool {
		a, b := params[i].Fn, params[j].Fn
		if ca, cb := p.callers[a.ID], p.callers[b.ID]; ca != cb {
			return !ca
		}
		return !a.Literal && b.Literal
	})
	return append(out, params...)
}

func msgParam(f *Func) bool {
	for i, q := range f.Params {
		if i == 0 && f.Method {
			continue
		}
		if q.T != nil && q.T.Msg && q.T.Kind != KFunc && q.T.Kind != KChan {
			return true
		}
	}
	return false
}

// hasSource reports whether a function takes messages out of something that is no message itself.
func (p *Program) hasSource(f *Func) bool {
	msg := make(map[int32]bool)
	for i, q := range f.Params {
		if q.T != nil && q.T.Msg && q.T.Kind != KChan && q.T.Kind != KFunc && !(i == 0 && f.Method) {
			msg[int32(i)] = true
		}
	}
	found := false
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			in := &f.Blocks[bi].Instrs[ii]
			switch in.Op {
			case OpRecv:
				found = found || in.T != nil && in.T.Msg && !p.ownQueue(recvSlot(f.ID, in.Dst, 0))
			case OpSelect:
				for i := range len(in.S) {
					found = found || in.S[i] == selMessage && !p.ownQueue(recvSlot(f.ID, in.Dst, i))
				}
			case OpCall:
				got := false
				for _, r := range in.Call.Res {
					if r != nil && r.Msg && r.Kind != KChan && r.Kind != KFunc {
						got = true
					}
				}
				given := false
				for _, a := range in.Call.Args {
					given = given || a >= 0 && msg[a]
				}
				if got && !given && (yieldName(in.Call.Name) || yieldName(in.Call.Fn[strings.LastIndexByte(in.Call.Fn, '.')+1:])) {
					found = true
				}
				if row := p.scopeIn(f.Pkg).Lookup(know.Sym{Pkg: in.Call.Pkg, Recv: in.Call.Recv, Name: in.Call.Name}); row != nil && (row.Kind == know.AutoRead || row.Kind == know.Consumed) {
					found = true
				}
			}
			if in.T != nil && in.T.Msg && in.Dst >= 0 {
				msg[in.Dst] = true
			}
		}
	}
	return found
}

// producerName reports whether a function's name says that it takes messages in order to send them: several clients
// have one type for both directions.
func producerName(f *Func) bool {
	for _, name := range [...]string{f.Recv, f.Name[strings.LastIndexByte(f.Name, '.')+1:]} {
		for _, w := range know.Words(name) {
			switch w {
			case "producer", "publisher", "publish", "produce", "writer", "write", "emit", "emitter", "send", "sender", "enqueue", "outbox", "relay", "marshal", "marshaler", "encode":
				return true
			}
		}
	}
	return false
}

// yieldName reports whether a function's name says that it takes messages out of a log.
func yieldName(name string) bool {
	w := know.Words(name)
	if len(w) == 0 {
		return false
	}
	switch w[0] {
	case "poll", "fetch", "read", "receive", "recv", "consume", "next", "messages", "records", "record", "drain", "take", "pull", "pop", "subscribe", "wait", "get", "message":
		return true
	}
	return false
}

// registered finds the functions that a client library is told to call.
func (p *Program) registered(ids []string) []Root {
	var out []Root
	seen := make(map[string]bool)
	add := func(b binding, pkg, client string) {
		if f := p.fn(b.Func); f != nil && !seen[b.Func] && !f.Test && !f.Gen {
			seen[b.Func] = true
			out = append(out, Root{Fn: f, Kind: RootRegistered, Edge: b.Edge, Pkg: pkg, Client: client})
		}
	}
	for _, id := range ids {
		f := p.funcs[id]
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				c := f.Blocks[bi].Instrs[ii].Call
				if c == nil {
					continue
				}
				row := p.scopeIn(f.Pkg).Lookup(know.Sym{Pkg: c.Pkg, Recv: c.Recv, Name: c.Name})
				if row == nil || row.Kind != know.Register || c.Kind != CallStatic && c.Kind != CallInvoke {
					continue
				}
				if strings.Contains(c.Pkg, "cloudevents") && p.otherTransport() {
					continue
				}
				off := 0
				if c.Method {
					off = 1
				}
				for i := range c.Args {
					if row.Arg >= 0 && i != row.Arg+off {
						continue
					}
					for _, b := range p.handed(f, c.Args[i]) {
						if b.Func == "" {
							continue
						}
						if g := p.fn(b.Func); g == nil || strings.Contains(c.Pkg, "aws-lambda") && !msgParam(g) {
							continue
						}
						add(b, f.Pkg, c.Pkg)
					}
				}
			}
		}
	}
	for _, iface := range [...]string{"EventHandler", "CommandHandler"} {
		for _, b := range p.sources("N|github.com/ThreeDotsLabs/watermill/components/cqrs." + iface) {
			if m := p.method(b.Type, "Handle"); b.Type != "" && m != nil {
				add(binding{Func: m.Fn, Edge: b.Edge}, "", "github.com/ThreeDotsLabs/watermill")
			}
		}
	}
	for _, b := range p.configuredHandlers(ids) {
		add(b, "", "")
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Fn.ID < out[j].Fn.ID })
	return out
}

// configuredHandlers are the functions among ids that the configuration names as handlers, and the methods of what
// implements an interface that it names.
func (p *Program) configuredHandlers(ids []string) []binding {
	var out []binding
	for _, s := range p.everywhere() {
		for _, name := range s.Handlers() {
			for _, b := range p.namedHandlers(name, ids) {
				if f := p.fn(b.Func); f != nil && p.scopeIn(f.Pkg) == s {
					out = append(out, b)
				}
			}
		}
	}
	return out
}

// namedHandlers are the handlers that a name in a configuration stands for.
func (p *Program) namedHandlers(name string, ids []string) []binding {
	want, err := know.ParseFunc(name)
	if err != nil {
		return nil // the options were read before
	}
	var out []binding
	for _, id := range ids {
		if pkg, recv, fn := p.symOf(id); want == (know.Sym{Pkg: pkg, Recv: recv, Name: fn}) {
			out = append(out, binding{Func: id})
		}
	}
	iface, only := name, ""
	if want.Recv != "" {
		iface, only = strings.TrimSuffix(name, "."+want.Name), want.Name
	}
	for _, b := range p.bound("", iface, "") {
		for _, m := range p.handling(iface, only, b.Type) {
			out = append(out, binding{Func: m, Edge: b.Edge})
		}
	}
	return out
}

// handling are the methods by which a type implements an interface: those of the interface, if it is in sight, else
// those that are named as handlers.
func (p *Program) handling(iface, only, typ string) []string {
	var out []string
	for name, m := range p.methods[typ] {
		seen := p.methods[iface]
		if m.Fn == "" || only != "" && name != only || seen != nil && seen[name] == nil || seen == nil && only == "" && !know.HandlerName(name) {
			continue
		}
		out = append(out, m.Fn)
	}
	sort.Strings(out)
	return out
}

// otherTransport reports whether CloudEvents are seen to come by another way than Kafka.
func (p *Program) otherTransport() bool {
	for _, f := range p.funcs {
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				if c := f.Blocks[bi].Instrs[ii].Call; c != nil && strings.Contains(c.Pkg, "cloudevents") && strings.Contains(c.Name, "HTTP") {
					return true
				}
			}
		}
	}
	return false
}

// paramValue is an unknown argument of a function.
func (in *interp) paramValue(fn *Func, i int, t Taint) *Value {
	v := &Value{K: VTop, Slot: slotN("P", fn.ID, i), T: Taint{}}
	if i >= len(fn.Params) {
		return v
	}
	ty := fn.Params[i].T
	if ty == nil {
		return v
	}
	if ty.Msg && ty.Kind != KChan && ty.Kind != KFunc && !(i == 0 && fn.Method) {
		v.Msg, v.Batch, v.T = true, ty.Batch, Taint{Bits: FromMessage}
		v.O = in.newObject(ty)
		v.O.Taint = v.T
		return v
	}
	if t.Bits != 0 && !(i == 0 && fn.Method) && !contextLike(ty) {
		v.T = t
		if t.has(FromMessage) {
			v.T.Bits = v.T.Bits&^FromMessage | FromPayload
		}
		v.O = in.newObject(ty)
		v.O.Taint, v.O.Slot = v.T, v.Slot
	}
	return v
}

func contextLike(t *Type) bool {
	return t.Name == "context.Context" || strings.HasSuffix(t.Name, "goka.Context") || strings.HasSuffix(t.Name, "goka.ProcessorContext")
}

// execute runs a root.
func (in *interp) execute(r Root) {
	fn := r.Fn
	in.root, in.kind = fn, r.Kind
	if r.feed != nil {
		in.feed = r.feed
	}
	var t Taint
	if r.Kind == RootRegistered {
		t = Taint{Bits: FromPayload}
	}
	args := make([]*Value, len(fn.Params))
	for i := range args {
		args[i] = in.paramValue(fn, i, t)
	}
	fr := &frame{fn: fn, hash: hashString(fn.ID), takes: r.Kind != RootSource && msgParam(fn), event: r.Kind == RootRegistered, dyn: r.Kind == RootRegistered}
	for i := range fn.Free {
		fr.free = append(fr.free, &Value{K: VTop, Slot: slotN("V", fn.ID, i)})
	}
	st := newState()
	st.sinking = in.sinking
	st.msg = r.Kind != RootSource
	for i, q := range fn.Params {
		if r.Kind == RootParam && q.T != nil && q.T.Kind == KError && !(i == 0 && fn.Method) {
			st.failed = true // it is told what went wrong
		}
	}
	exits := in.wrapped(r, fn, args, st, fr)
	in.returned(r, fr, exits)
	if in.onEnd != nil {
		for _, e := range exits {
			in.onEnd(e.st, e.vals)
		}
	}
}

// wrapped runs a root within the middleware of its router.
func (in *interp) wrapped(r Root, fn *Func, args []*Value, st *state, fr *frame) []exit {
	mws := in.prog.middleware(r.Pkg)
	if r.Kind != RootRegistered || len(mws) == 0 || !msgParam(fn) {
		return in.run(fn, args, st, fr)
	}
	// A small function of our own: handler := mw(handler), for each, and then a call of the handler.
	router := &Func{ID: "router of " + fn.ID, Name: fn.Name, Pkg: fn.Pkg, Pos: fn.Pos}
	w := &walker{in: in, fr: &frame{fn: router, hash: fr.hash + 1, takes: true}, fn: router, st: st}
	call := &Instr{Op: OpCall, Dst: -1, Pos: fn.Pos, Call: &Call{Kind: CallDynamic, Res: []*Type{{Kind: KFunc}}}}
	h := &Value{K: VFunc, S: fn.ID, Elems: fr.free}
	if fn.Method && len(args) > 0 {
		h.Bound, h.Elems, args = true, []*Value{args[0]}, args[1:]
	}
	for i := len(mws) - 1; i >= 0; i-- {
		mw := &Value{K: VFunc, S: mws[i].Func, Bound: mws[i].Method}
		if mw.Bound {
			mw.Elems = []*Value{{K: VTop}}
		}
		outs, ok := w.callValue(call, mw, []*Value{h}, nil)
		if !ok || len(outs) == 0 || len(outs[0].vals) == 0 || outs[0].vals[0].K != VFunc {
			continue
		}
		h, w.st = outs[0].vals[0], outs[0].st
	}
	last := &Instr{Op: OpCall, Dst: -1, Pos: fn.Pos, Call: &Call{Kind: CallDynamic, Res: []*Type{{}, {Kind: KError}}}}
	outs, ok := w.callValue(last, h, args, nil)
	if !ok {
		return in.run(fn, args, st, fr)
	}
	return outs
}

// middleware are the functions that wrap every handler of the routers that a package sets up.
func (p *Program) middleware(pkg string) []binding {
	if p.mws == nil {
		p.findMiddleware()
	}
	return p.mws[pkg]
}

func (p *Program) findMiddleware() {
	p.mws = make(map[string][]binding)
	var ids []string
	for id, f := range p.funcs {
		if !f.Test {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	for _, id := range ids {
		f := p.funcs[id]
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				c := f.Blocks[bi].Instrs[ii].Call
				if c == nil || c.Kind != CallStatic {
					continue
				}
				row := p.scopeIn(f.Pkg).Lookup(know.Sym{Pkg: c.Pkg, Recv: c.Recv, Name: c.Name})
				if row == nil || row.Kind != know.Middleware {
					continue
				}
				for _, a := range c.Args {
					for _, b := range p.handed(f, a) {
						if b.Func != "" && p.fn(b.Func) != nil {
							p.mws[f.Pkg] = append(p.mws[f.Pkg], b)
						}
					}
				}
			}
		}
	}
}

// handed is what an argument of a call holds: the functions stored in the slice made for a variadic call, too.
func (p *Program) handed(f *Func, v int32) []binding {
	f.prepare()
	if v < 0 {
		if c := f.Consts[^v]; c.Kind == CFunc {
			return []binding{{Func: c.S}}
		}
		return nil
	}
	d := f.def(v)
	if d == nil {
		if slot := p.slotAt(f, v); slot != "" {
			return p.sources(slot)
		}
		return nil
	}
	switch d.Op {
	case OpSlice, OpCopy:
		return p.handed(f, d.A)
	case OpAlloc, OpMake:
		return p.sources(slotN("L", f.ID, int(v)))
	case OpClosure:
		return []binding{{Func: d.S}}
	case OpMethodVal:
		if d.N == 0 {
			return []binding{{Func: d.S, Method: true}}
		}
	case OpMakeIface:
		return p.handed(f, d.A)
	}
	if slot := p.slotAt(f, v); slot != "" {
		return p.sources(slot)
	}
	return nil
}
