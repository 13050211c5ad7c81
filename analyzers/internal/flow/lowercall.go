package flow

import (
	"go/ast"
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// call lowers the common part of a call, go or defer.
func (f *funcLowerer) call(c *ssa.CallCommon, parent *ssa.Function) *Call {
	out := &Call{}
	sig := c.Signature()
	for i := range sig.Results().Len() {
		out.Res = append(out.Res, f.typ(sig.Results().At(i).Type()))
	}
	for i, a := range c.Args {
		out.Args = append(out.Args, f.val(a))
		if handsFunc(a) {
			out.Funcs = append(out.Funcs, FuncArg{i, f.argPos(c, i)})
		}
	}
	switch {
	case c.IsInvoke():
		out.Kind, out.Fn, out.Fun = CallInvoke, c.Method.Name(), f.val(c.Value)
		out.Iface = typeName(c.Value.Type())
		out.Guard = f.guard(c.Method)
		out.RPC = unaryRPC(sig)
		f.invoked(out, c)
		out.TypeParam = f.typeParam(c.Value.Type())
		if out.Iface != "" {
			for i, a := range c.Args {
				if interesting(a.Type()) {
					f.flowTo("Q|"+out.Iface+"|"+out.Fn+"|"+strconv.Itoa(i), a, f.argPos(c, i))
				}
			}
		}
		f.keyParams(out, sig, 0)
		return out
	}
	switch v := c.Value.(type) {
	case *ssa.Builtin:
		out.Kind, out.Fn = CallBuiltin, v.Name()
		return out
	case *ssa.Function:
		f.static(out, v, c)
		return out
	case *ssa.MakeClosure:
		fn := v.Fn.(*ssa.Function)
		if fn.Synthetic == "" {
			out.Kind, out.Fun = CallDynamic, f.val(v)
			f.argEdges("P|"+ssaID(fn)+"|", c)
			return out
		}
	}
	out.Kind, out.Fun = CallDynamic, f.val(c.Value)
	for _, slot := range f.slots(c.Value) {
		// An argument handed to whatever the slot holds: resolved when the slot is.
		for i, a := range c.Args {
			if interesting(a.Type()) {
				f.handTo("A|"+slot+"|"+strconv.Itoa(i), a, f.pos(c.Pos()))
			}
		}
	}
	return out
}

// handsFunc reports whether a value is a function that is named where it stands: not one that was handed over before.
func handsFunc(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Function, *ssa.MakeClosure:
		return true
	case *ssa.UnOp:
		_, fn := v.Type().Underlying().(*types.Signature)
		_, global := v.X.(*ssa.Global)
		return fn && global
	case *ssa.ChangeType:
		return handsFunc(v.X)
	}
	return false
}

// unaryRPC reports whether a signature is that of a generated gRPC client's method: a context, a request, options of the
// call; a response and an error.
func unaryRPC(sig *types.Signature) bool {
	n := sig.Params().Len()
	if !sig.Variadic() || n != 3 || sig.Results().Len() != 2 {
		return false
	}
	opts, ok := sig.Params().At(n - 1).Type().(*types.Slice)
	return ok && typeName(opts.Elem()) == "google.golang.org/grpc.CallOption"
}

func (f *funcLowerer) static(out *Call, fn *ssa.Function, c *ssa.CallCommon) {
	out.Kind, out.Fn = CallStatic, f.funcRef(fn)
	obj, _ := fn.Object().(*types.Func)
	if fn.Origin() != nil {
		obj, _ = fn.Origin().Object().(*types.Func)
	}
	if obj == nil {
		f.argEdges("P|"+out.Fn+"|", c)
		return
	}
	out.Method = fn.Signature.Recv() != nil
	if obj.Pkg() != nil {
		out.Pkg, out.Recv, out.Name = know.Normal(obj.Pkg().Path()), recvName(obj), obj.Name()
	}
	out.Guard = f.guard(obj)
	skip := 0
	if out.Method {
		skip = 1
	}
	if !f.know.Library(out.Pkg) {
		f.keyParams(out, obj.Type().(*types.Signature), skip)
	}
	f.argEdges("P|"+out.Fn+"|", c)
}

// invoked finds out what a method called through an interface is known as: by the interface when it is a library's,
// else by its shape when it is a method of a database handle under another name.
func (f *funcLowerer) invoked(out *Call, c *ssa.CallCommon) {
	m := c.Method
	if m.Pkg() != nil {
		out.Pkg, out.Recv, out.Name = know.Normal(m.Pkg().Path()), recvName(m), m.Name()
		if n, ok := types.Unalias(c.Value.Type()).(*types.Named); ok && n.Obj().Pkg() != nil && f.know.Lookup(know.Sym{Pkg: out.Pkg, Recv: n.Obj().Name(), Name: out.Name}) != nil {
			out.Recv = n.Obj().Name()
		}
		if f.know.Lookup(know.Sym{Pkg: out.Pkg, Recv: out.Recv, Name: out.Name}) != nil {
			return
		}
	}
	if sym, ok := shape(m); ok {
		out.Pkg, out.Recv, out.Name = sym.Pkg, sym.Recv, sym.Name
	}
}

// handles are the types whose method an interface's may be cut to. Those of kafka-go that take a context are its reader's
// and writer's; its connection has methods of the same names without one.
func handles(sig *types.Signature) []string {
	all := []string{"Tx", "DB", "Conn", "Client", "Reader", "Writer", "SyncProducer", "Publisher", "Producer", "Consumer", "Collection", "*"}
	if p := sig.Params(); p.Len() > 0 && typeName(p.At(0).Type()) == "context.Context" {
		all = append([]string{"Reader", "Writer"}, all...)
	}
	return all
}

// shape recognises an interface method that is cut to a known library's handle: same name, and a result or parameter
// of the library's own type.
func shape(m *types.Func) (know.Sym, bool) {
	sig := m.Type().(*types.Signature)
	try := func(t types.Type) (know.Sym, bool) {
		n := typeName(t)
		i := strings.LastIndexByte(n, '.')
		if i < 0 {
			return know.Sym{}, false
		}
		pkg := know.Normal(n[:i])
		switch {
		case pkg == "github.com/jackc/pgx/pgconn":
			pkg = "github.com/jackc/pgx"
		case strings.HasPrefix(pkg, "github.com/redis/go-redis"):
			pkg = "github.com/redis/go-redis"
		}
		for _, recv := range handles(sig) {
			if know.Lookup(know.Sym{Pkg: pkg, Recv: recv, Name: m.Name()}) != nil {
				return know.Sym{Pkg: pkg, Recv: recv, Name: m.Name()}, true
			}
		}
		return know.Sym{}, false
	}
	for i := range sig.Results().Len() {
		if s, ok := try(sig.Results().At(i).Type()); ok {
			return s, true
		}
	}
	for i := range sig.Params().Len() {
		t := sig.Params().At(i).Type()
		if s, ok := types.Unalias(t).(*types.Slice); ok {
			t = s.Elem()
		}
		if s, ok := try(t); ok {
			return s, true
		}
	}
	// An HTTP client behind an interface.
	if m.Name() == "Do" && sig.Params().Len() == 1 && typeName(sig.Params().At(0).Type()) == "net/http.Request" {
		return know.Sym{Pkg: "net/http", Recv: "Client", Name: "Do"}, true
	}
	return know.Sym{}, false
}

func (f *funcLowerer) keyParams(out *Call, sig *types.Signature, skip int) {
	for i := range sig.Params().Len() {
		if name := sig.Params().At(i).Name(); f.know.DedupKey(name) || know.Payment(out.Pkg) && know.KeyField(name) {
			out.KeyParams = append(out.KeyParams, KeyParam{Index: i + skip, Name: name})
		}
	}
}

// interesting reports whether a value of the type can decide which code runs: functions, interfaces, and containers
// of them; also channels of what may be work.
func interesting(t types.Type) bool {
	if isReader(t) || isWriter(t) || isStatement(t) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Signature:
		return true
	case *types.Interface:
		return !isError(t) && typeName(t) != "context.Context"
	case *types.Slice:
		return elemInteresting(u.Elem()) || workChan(u.Elem())
	case *types.Array:
		return elemInteresting(u.Elem()) || workChan(u.Elem())
	case *types.Map:
		return elemInteresting(u.Elem()) || workChan(u.Elem())
	case *types.Chan:
		return elemInteresting(u.Elem()) || workChan(t)
	case *types.Pointer:
		return elemInteresting(u.Elem()) || workChan(u.Elem())
	}
	return false
}

// messageChan reports whether a type is a channel of a client's messages.
func messageChan(t types.Type) bool {
	ch, ok := t.Underlying().(*types.Chan)
	if !ok {
		return false
	}
	e := types.Unalias(ch.Elem())
	if p, ok := e.(*types.Pointer); ok {
		e = types.Unalias(p.Elem())
	}
	n, ok := e.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return false
	}
	msg, _ := know.MessageOf(know.Normal(n.Obj().Pkg().Path()), n.Obj().Name())
	return msg
}

func elemInteresting(t types.Type) bool {
	if isReader(t) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Signature:
		return true
	case *types.Interface:
		return u.NumMethods() > 0 && !isError(t)
	case *types.Slice:
		return elemInteresting(u.Elem())
	case *types.Array:
		return elemInteresting(u.Elem())
	}
	return false
}

func (f *funcLowerer) argEdges(prefix string, c *ssa.CallCommon) {
	for i, a := range c.Args {
		if interesting(a.Type()) {
			f.flowTo(prefix+strconv.Itoa(i), a, f.argPos(c, i))
		}
	}
}

// argPos is where the i-th argument of a call is written, the receiver counted.
func (f *funcLowerer) argPos(c *ssa.CallCommon, i int) Pos {
	e := f.calls[c.Pos()]
	if e == nil {
		return f.pos(c.Pos())
	}
	if !c.IsInvoke() && c.Signature().Recv() != nil {
		i--
	}
	if i >= 0 && i < len(e.Args) {
		return f.pos(e.Args[i].Pos())
	}
	return f.pos(e.Pos())
}

// callPos is where a call expression starts, as a reader points at it.
func (f *funcLowerer) callPos(in *ssa.Call, def Pos) Pos {
	if e := f.callExpr(in); e != nil {
		return f.pos(e.Pos())
	}
	return def
}

func (f *funcLowerer) callEnd(in *ssa.Call) Pos {
	if e := f.callExpr(in); e != nil {
		return f.pos(e.End())
	}
	return Pos{}
}

// calleePos is where the callee's name stands: in a chain of calls, the method.
func (f *funcLowerer) calleePos(in *ssa.Call) Pos {
	e := f.callExpr(in)
	if e == nil {
		return f.pos(in.Pos())
	}
	if sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr); ok {
		return f.pos(sel.Sel.Pos())
	}
	return f.pos(e.Pos())
}

func (f *funcLowerer) callExpr(in *ssa.Call) *ast.CallExpr {
	return f.calls[in.Pos()]
}
