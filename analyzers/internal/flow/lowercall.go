package flow

import (
	"go/ast"
	"go/types"
	"slices"
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
	for _, a := range c.Args {
		out.Args = append(out.Args, f.val(a))
	}
	switch {
	case c.IsInvoke():
		out.Kind, out.Fn, out.Fun = CallInvoke, c.Method.Name(), f.val(c.Value)
		out.Iface = typeName(c.Value.Type())
		out.Guard = f.guard(c.Method)
		f.invoked(out, c)
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
	if !know.Library(out.Pkg) {
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
		if n, ok := types.Unalias(c.Value.Type()).(*types.Named); ok && n.Obj().Pkg() != nil && know.Lookup(know.Sym{Pkg: out.Pkg, Recv: n.Obj().Name(), Name: out.Name}) != nil {
			out.Recv = n.Obj().Name()
		}
		if know.Lookup(know.Sym{Pkg: out.Pkg, Recv: out.Recv, Name: out.Name}) != nil {
			return
		}
	}
	if sym, ok := shape(m); ok {
		out.Pkg, out.Recv, out.Name = sym.Pkg, sym.Recv, sym.Name
	}
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
		for _, recv := range [...]string{"Tx", "DB", "Conn", "Client", "Reader", "Writer", "SyncProducer", "Publisher", "Producer", "Collection", "*"} {
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
		if name := sig.Params().At(i).Name(); know.DedupKey(name) || know.Payment(out.Pkg) && know.KeyField(name) {
			out.KeyParams = append(out.KeyParams, KeyParam{Index: i + skip, Name: name})
		}
	}
}

// interesting reports whether a value of the type can decide which code runs: functions, interfaces, and containers
// of them.
func interesting(t types.Type) bool {
	if isReader(t) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Signature:
		return true
	case *types.Interface:
		return !isError(t) && typeName(t) != "context.Context"
	case *types.Slice:
		return elemInteresting(u.Elem())
	case *types.Array:
		return elemInteresting(u.Elem())
	case *types.Map:
		return elemInteresting(u.Elem())
	case *types.Chan:
		return elemInteresting(u.Elem())
	case *types.Pointer:
		return elemInteresting(u.Elem())
	}
	return false
}

func elemInteresting(t types.Type) bool {
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

// container reports whether a type is a named map or slice of functions or interfaces: what is put into one is found
// again by the methods of the type.
func container(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Map:
		return typeName(t) != "" && elemInteresting(u.Elem())
	case *types.Slice:
		return typeName(t) != "" && elemInteresting(u.Elem())
	}
	return false
}

// flowTo records that whatever v can be may be in the slot.
func (f *funcLowerer) flowTo(slot string, v ssa.Value, pos Pos) {
	if !interesting(v.Type()) {
		return
	}
	if _, fn := v.Type().Underlying().(*types.Signature); fn {
		f.wraps(slot, v, pos)
	}
	for _, s := range f.slots(v) {
		if s != slot {
			f.edges[Edge{Dst: slot, Src: s, Pos: edgePos(s, pos)}] = true
		}
	}
}

// handTo is flowTo for what is handed to a function value: a middleware gets the bare handler, too.
func (f *funcLowerer) handTo(slot string, v ssa.Value, pos Pos) {
	for _, s := range f.slots(v) {
		switch s[0] {
		case 'F', 'P', 'L', 'V', 'G':
			s = "U|" + s
		}
		f.edges[Edge{Dst: slot, Src: s, Pos: edgePos(s, pos)}] = true
	}
}

// wraps records the slots in which a value ends wrapped: h = mw(h) in a loop, or c.h = mw(c.h). What was there before
// is then reached through the wrapper.
func (f *funcLowerer) wraps(slot string, v ssa.Value, pos Pos) {
	put := func(c *ssa.Call) {
		for _, s := range f.resultSlots(c, 0) {
			f.edges[Edge{Dst: "W|" + slot, Src: s, Pos: edgePos(s, pos)}] = true
		}
	}
	switch v := v.(type) {
	case *ssa.Phi:
		for _, e := range v.Edges {
			if c, ok := e.(*ssa.Call); ok && slices.Contains(c.Call.Args, ssa.Value(v)) {
				put(c)
			}
		}
	case *ssa.Call:
		for _, a := range v.Call.Args {
			if ld, ok := a.(*ssa.UnOp); ok && slices.Contains(f.addrSlots(ld.X), slot) {
				put(v)
			}
		}
	}
}

// edgePos keeps a position only for leaves: there it is where a function or a concrete value is handed over.
func edgePos(src string, pos Pos) Pos {
	switch src[0] {
	case 'f', 'm', 't', 'k':
		return pos
	}
	return Pos{}
}

func (f *funcLowerer) flowStore(addr, v ssa.Value, pos Pos) {
	if !interesting(v.Type()) {
		return
	}
	for _, s := range f.addrSlots(addr) {
		f.flowTo(s, v, pos)
	}
}

func (f *funcLowerer) flowInto(container, v ssa.Value, pos Pos) {
	if !interesting(v.Type()) {
		return
	}
	for _, s := range f.slots(container) {
		f.flowTo(s, v, pos)
	}
}

// addrSlots names the slots that a store through the address writes.
func (f *funcLowerer) addrSlots(addr ssa.Value) []string {
	switch a := addr.(type) {
	case *ssa.FieldAddr:
		st := a.X.Type().Underlying().(*types.Pointer).Elem()
		name, owner, _ := f.field(st, a.Field)
		if owner == "" {
			owner = f.out.ID + "." + a.X.Name()
		}
		return []string{"F|" + owner + "|" + name}
	case *ssa.Global:
		if a.Pkg != nil {
			return []string{"G|" + a.Pkg.Pkg.Path() + "." + a.Name()}
		}
	case *ssa.IndexAddr:
		return f.slots(a.X)
	case *ssa.Alloc:
		return []string{f.local(a)}
	case *ssa.FreeVar:
		return f.slots(a)
	}
	return nil
}

func (f *funcLowerer) local(v ssa.Value) string {
	return "L|" + f.out.ID + "|" + strconv.Itoa(int(f.num[v]))
}

// slots names everything v can be: leaves and slots.
func (f *funcLowerer) slots(v ssa.Value) []string {
	if s, ok := f.slotOf[v]; ok {
		return s // also nil while it is being found out: a value that goes round a loop adds nothing
	}
	if f.slotOf == nil {
		f.slotOf = make(map[ssa.Value][]string)
	}
	f.slotOf[v] = nil
	out := slices.Clone(f.findSlots(v))
	slices.Sort(out)
	out = slices.Compact(out)
	out = slices.DeleteFunc(out, func(s string) bool { return len(s) > maxSlot })
	if len(out) > maxSlots {
		out = out[:maxSlots]
	}
	f.slotOf[v] = out
	return out
}

// The bounds of what a value can be: how many things, and how long the name of one is, which grows with calls of
// calls.
const (
	maxSlots = 64
	maxSlot  = 600
)

func (f *funcLowerer) findSlots(v ssa.Value) []string {
	next := f.slots
	switch v := v.(type) {
	case *ssa.Function:
		return []string{"f|" + f.funcRef(v)}
	case *ssa.MakeClosure:
		fn := v.Fn.(*ssa.Function)
		if strings.HasPrefix(fn.Synthetic, "bound method wrapper") && len(v.Bindings) == 1 {
			if obj, ok := fn.Object().(*types.Func); ok {
				if types.IsInterface(v.Bindings[0].Type()) {
					var out []string
					for _, s := range next(v.Bindings[0]) {
						out = append(out, "M|"+s+"|"+obj.Name())
					}
					return out
				}
				return []string{"m|" + funcID(obj)}
			}
		}
		return []string{"f|" + ssaID(fn)}
	case *ssa.MakeInterface:
		if interesting(v.X.Type()) {
			if s := next(v.X); len(s) > 0 {
				return append(slices.Clone(s), "t|"+typeName(v.X.Type()))
			}
		}
		if n := typeName(v.X.Type()); n != "" {
			return []string{"t|" + n}
		}
		return nil
	case *ssa.Parameter:
		for i, p := range f.fn.Params {
			if p == v {
				out := []string{"P|" + f.out.ID + "|" + strconv.Itoa(i)}
				if i == 0 && f.fn.Signature.Recv() != nil && container(v.Type()) {
					out = append(out, "F|"+typeName(v.Type())+"|[]")
				}
				return out
			}
		}
	case *ssa.FreeVar:
		for i, p := range f.fn.FreeVars {
			if p == v {
				return []string{"V|" + f.out.ID + "|" + strconv.Itoa(i)}
			}
		}
	case *ssa.UnOp:
		return f.addrSlots(v.X)
	case *ssa.Field:
		name, owner, _ := f.field(v.X.Type(), v.Field)
		return []string{"F|" + owner + "|" + name}
	case *ssa.FieldAddr, *ssa.Global:
		return f.addrSlots(v)
	case *ssa.Alloc, *ssa.MakeMap, *ssa.MakeSlice, *ssa.MakeChan:
		return []string{f.local(v)}
	case *ssa.Lookup:
		return slices.Clone(next(v.X))
	case *ssa.Index:
		return next(v.X)
	case *ssa.IndexAddr:
		return next(v.X)
	case *ssa.Slice:
		return next(v.X)
	case *ssa.ChangeType:
		return next(v.X)
	case *ssa.Convert:
		return next(v.X)
	case *ssa.ChangeInterface:
		return next(v.X)
	case *ssa.TypeAssert:
		return next(v.X)
	case *ssa.Range:
		return next(v.X)
	case *ssa.Next:
		return next(v.Iter)
	case *ssa.Extract:
		if c, ok := v.Tuple.(*ssa.Call); ok {
			return f.resultSlots(c, v.Index)
		}
		return next(v.Tuple)
	case *ssa.Phi:
		var out []string
		for _, e := range v.Edges {
			out = append(out, next(e)...)
		}
		return out
	case *ssa.Call:
		return f.resultSlots(v, 0)
	}
	return nil
}

func (f *funcLowerer) resultSlots(c *ssa.Call, i int) []string {
	com := c.Common()
	if b, ok := com.Value.(*ssa.Builtin); ok {
		if b.Name() == "append" {
			var out []string
			for _, a := range com.Args {
				out = append(out, f.slots(a)...)
			}
			return out
		}
		return nil
	}
	n := strconv.Itoa(i)
	if fn := com.StaticCallee(); fn != nil {
		if isReader(c.Type()) && fn.Name() == "NewReader" {
			return []string{"k|" + f.out.ID + "|" + siteKey(f.callPos(c, f.pos(c.Pos())))}
		}
		return []string{"R|" + f.funcRef(fn) + "|" + n}
	}
	if com.IsInvoke() {
		var out []string
		for _, s := range f.slots(com.Value) {
			out = append(out, "I|"+s+"|"+com.Method.Name()+"|"+n)
		}
		return out
	}
	var out []string
	for _, s := range f.slots(com.Value) {
		out = append(out, "C|"+s+"|"+n)
	}
	return out
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
