package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// rpcInvoker is the function that a gRPC interceptor is given: calling it sends the request.
const rpcInvoker = "\x00invoker"

// metaKey marks what a context carries as outgoing metadata.
const metaKey = "\x00metadata"

// rpc does what a function of the gRPC library does: metadata in contexts, connections with interceptors, calls.
func (w *walker) rpc(ins *Instr, row *know.Row, full []*Value, recv *Value, args []*Value) []exit {
	c := ins.Call
	one := func(vs ...*Value) []exit { return []exit{{vs, w.st}} }
	switch row.Kind {
	case know.MetaNew:
		o := w.in.object(w.fr, ins, 11, nil)
		w.st.clear(o, "")
		if m := at(args, row.Arg); m.O != nil && len(w.elements(m)) == 0 {
			w.copyCells(m, o, "")
		}
		w.setPairs(o, w.variadic(args, row.Arg))
		return one(&Value{K: VRef, O: o})
	case know.MetaSet:
		if recv != nil {
			v := at(args, row.Arg2)
			if e := w.variadic(args, row.Arg2); len(e) > 0 {
				v = e[0]
			}
			w.setHeader(w.objAt(recv), w.pathAt(recv), at(args, row.Arg), v)
		}
		return w.quiet(ins)
	case know.MetaOut:
		return one(w.withMeta(ins, at(args, 0), at(args, row.Arg)))
	case know.MetaAppend:
		o := w.in.object(w.fr, ins, 11, nil)
		w.st.clear(o, "")
		w.setPairs(o, w.variadic(args, row.Arg))
		return one(w.withMeta(ins, at(args, 0), &Value{K: VRef, O: o}))
	case know.MetaGet:
		o := w.in.object(w.fr, ins, 11, nil)
		w.st.clear(o, "")
		if ctx := at(args, 0); ctx.O != nil {
			for n := ctx.O.Ctx; n != nil; n = n.up {
				if n.key.Dyn == metaKey && w.st.get(cell{o.id, "{" + n.key.S + "}"}) == nil {
					w.st.set(cell{o.id, "{" + n.key.S + "}"}, n.val)
				}
			}
		}
		return one(&Value{K: VRef, O: o}, vTrue)
	case know.GRPCOption:
		o := w.in.object(w.fr, ins, 12, nil)
		w.st.set(cell{o.id, "{hooks}"}, &Value{K: VTuple, Elems: w.variadic(args, row.Arg)})
		return one(&Value{K: VRef, O: o})
	case know.GRPCDial:
		o := w.in.object(w.fr, ins, 9, nil)
		w.st.clear(o, "")
		w.st.set(cell{o.id, "{made}"}, vTrue)
		hooks := &Value{K: VTuple}
		for _, opt := range w.variadic(args, row.Arg) {
			if h := w.kept(opt, "{hooks}"); h != nil {
				hooks.Elems = append(hooks.Elems, h.Elems...)
			}
		}
		if len(hooks.Elems) > 0 {
			w.st.set(cell{o.id, "{hooks}"}, hooks)
		}
		return one(fit(c, &Value{K: VRef, O: o}, nilVal)...)
	case know.ConnectNew:
		o := w.in.object(w.fr, ins, 5, nil)
		w.st.clear(o, "")
		w.st.set(cell{o.id, "Msg"}, at(args, row.Arg))
		return one(&Value{K: VRef, O: o})
	case know.ConnectHeader:
		o, p := w.headersOf(recv)
		return one(&Value{K: VRef, O: o, Path: p})
	case know.ConnectCall:
		return w.connectCall(ins, at(args, row.Arg))
	case know.KeyOfEvent:
		return one(fit(c, &Value{K: VNotNil, T: Taint{Bits: FromEventID | FromPayload}, sym: w.symOfCall(c, args)}, nilVal)...)
	case know.GRPCInvoke:
		w.grpc(ins, at(args, row.Arg))
		if w.in.money == nil || w.in.money.watch != nil || !w.st.msg {
			return w.quiet(ins)
		}
		return w.invoked(ins, recv, at(args, 0), at(args, row.Arg), at(args, row.Arg2))
	}
	return w.library(ins, full)
}

// connectCall is a unary call of a generated Connect client: its method says what it does.
func (w *walker) connectCall(ins *Instr, req *Value) []exit {
	w.effect(ins, EffGRPC, "call by "+w.fn.Name, nil)
	if w.in.money == nil || w.in.money.watch != nil || !w.st.msg || !w.sayMoney() {
		return w.quiet(ins)
	}
	key := w.headerKey(req)
	if key == nil {
		key = w.keyIn(req, know.KeyField)
	}
	return w.pays(ins, remoteCall{desc: "the call by " + w.fn.Name, ns: "connect " + w.fn.Recv, op: w.fn.ID, key: key, unsure: key == nil && w.kept(req, "Msg") == nil})
}

// setPairs sets metadata given as names and values in turn.
func (w *walker) setPairs(o *Object, vals []*Value) {
	for i := 0; i+1 < len(vals); i += 2 {
		w.setHeader(o, "", vals[i], vals[i+1])
	}
}

// withMeta is a context that carries metadata.
func (w *walker) withMeta(ins *Instr, ctx, md *Value) *Value {
	o := w.in.object(w.fr, ins, 7, nil)
	o.Ctx, o.Tx = nil, nil
	if ctx.O != nil {
		o.Ctx, o.Tx = ctx.O.Ctx, ctx.O.Tx
	}
	if md.O == nil {
		return &Value{K: VRef, O: o}
	}
	for _, p := range w.st.paths(md.O, w.pathAt(md)) {
		if !strings.HasSuffix(p, "}") {
			continue
		}
		v := w.one(w.st.get(cell{md.O.id, p}))
		w.in.sink(Sink{Kind: SinkHeader, Name: fieldOf(p), Pos: ins.Pos, Known: fieldOf(p)}, v, w)
		o.Ctx = &ctxNode{o.Ctx, &Value{K: VStr, S: fieldOf(p), Dyn: metaKey}, v}
	}
	return &Value{K: VRef, O: o}
}

// metaKeyOf is the idempotency key that a context carries as metadata, nil for none.
func (w *walker) metaKeyOf(ctx *Value) *Value {
	if ctx == nil || ctx.O == nil {
		return nil
	}
	for n := ctx.O.Ctx; n != nil; n = n.up {
		if n.key.Dyn == metaKey && (know.KeyHeader(n.key.S) || n.key.S == "?" && w.deep(n.val).has(FromPayload|FromEventID)) {
			return n.val
		}
	}
	return nil
}

// invoked is a unary call on a connection, through the interceptors that the module gives it.
func (w *walker) invoked(ins *Instr, conn, ctx, method, in *Value) []exit {
	made := w.clients(conn)
	outside := ""
	if len(made) == 0 && conn != nil {
		outside = "its connection"
	}
	var hooks *Value
	for _, c := range made {
		if h := w.kept(c, "{hooks}"); h != nil && hooks == nil {
			hooks = h
		}
	}
	if hooks == nil || len(hooks.Elems) == 0 {
		return w.called(ins, ctx, method, in, outside)
	}
	out, _ := w.behalf(ins, func(s *walker) ([]exit, bool) {
		return s.intercepted(ins, hooks.Elems, ctx, method, in, top, conn), true
	})
	return out
}

// intercepted runs the first of a chain of interceptors, which calls the rest.
func (w *walker) intercepted(ins *Instr, chain []*Value, ctx, method, in, reply, conn *Value) []exit {
	if len(chain) == 0 {
		return w.called(ins, ctx, method, in, "")
	}
	inv := &Value{K: VFunc, S: rpcInvoker, Elems: append([]*Value{conn}, chain[1:]...)}
	call := *ins.Call
	call.Kind, call.Res = CallDynamic, []*Type{{Kind: KError}}
	as := *ins
	as.Call = &call
	if h := chain[0]; h.K == VFunc && know.Under(know.Normal(pkgOfFunc(h.S)), know.Runtime) {
		return w.quiet(ins)
	}
	out, ok := w.callValue(&as, chain[0], []*Value{ctx, method, in, reply, conn, inv, top}, nil)
	if !ok {
		return w.intercepted(ins, chain[1:], ctx, method, in, reply, conn)
	}
	return out
}

func pkgOfFunc(id string) string {
	slash := strings.LastIndexByte(id, '/')
	if i := strings.IndexByte(id[slash+1:], '.'); i >= 0 {
		return id[:slash+1+i]
	}
	return id
}

// moneyValue runs what only a search for money calls knows: an interceptor's invoker, and a function that is one of
// several in a slice, which are called in turn.
func (w *walker) moneyValue(ins *Instr, fun *Value, args []*Value) ([]exit, bool) {
	if w.in.money == nil {
		return nil, false
	}
	if fun.K == VFunc && fun.S == rpcInvoker {
		var rest []*Value
		if len(fun.Elems) > 1 {
			rest = fun.Elems[1:]
		}
		return w.intercepted(ins, rest, at(args, 0), at(args, 1), at(args, 2), at(args, 3), fun.Elems[0]), true
	}
	if fun.K != VTop || len(fun.Elems) == 0 {
		return nil, false
	}
	states := []*state{w.st}
	var vals []*Value
	for _, f := range fun.Elems {
		var next []*state
		for _, st := range states {
			sub := *w
			sub.st = st
			outs, ok := sub.callValue(ins, f, args, nil)
			if !ok {
				next = append(next, st)
				continue
			}
			for _, e := range outs {
				if n := len(e.vals); n > 0 {
					if isNil, known := e.vals[n-1].isNil(); known && !isNil && e.vals[n-1].K == VErr {
						continue // the loop ends here
					}
					vals = e.vals
				}
				if len(next) < 8 {
					next = append(next, e.st)
				}
			}
		}
		states = next
	}
	out := make([]exit, 0, len(states))
	for _, st := range states {
		out = append(out, exit{vals, st})
	}
	return out, true
}

// called is the moment at which a gRPC request leaves.
func (w *walker) called(ins *Instr, ctx, method, in *Value, outside string) []exit {
	name := shownURL(method)
	money := w.know().GRPCMoney(name)
	if name == "" || strings.Contains(name, "…") {
		money = w.sayMoney()
	}
	if !money {
		return w.quiet(ins)
	}
	key := w.metaKeyOf(ctx)
	if key == nil {
		key = w.keyIn(in, know.KeyField)
	}
	ns, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	return w.pays(ins, remoteCall{desc: "gRPC " + name, ns: "grpc " + ns, op: name, key: key, unsure: key == nil && w.opaque(in), outside: outside})
}

// opaque reports whether a value is a request that was made where it cannot be seen.
func (w *walker) opaque(v *Value) bool {
	if v.K == VRef && v.O != nil {
		if v.O.Local {
			return w.st.get(cell{v.O.id, "?"}) != nil
		}
		return true
	}
	return v.K == VTop || v.K == VNotNil
}

func (w *walker) grpc(ins *Instr, method *Value) {
	name := shown(method)
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		for _, p := range [...]string{"Get", "List", "Find", "Search", "Query", "Read", "Check", "Lookup", "Describe", "Validate", "Verify", "Count", "Exists", "Fetch", "Has", "Is", "Ping", "Watch", "Stream", "BatchGet"} {
			if strings.HasPrefix(name[i+1:], p) {
				return
			}
		}
	}
	w.effect(ins, EffGRPC, "gRPC "+name, nil)
}
