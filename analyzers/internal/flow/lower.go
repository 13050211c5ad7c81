package flow

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// lowerer turns the SSA of one package into a [Unit].
type lowerer struct {
	fset  *token.FileSet
	pkg   *types.Package
	unit  *Unit
	know  *know.Tables
	decls map[string]bool
	edges map[Edge]bool
	guard func(types.Object) bool // is the object's declaration marked //idemlint:guard
	test  func(token.Pos) bool
	gen   func(token.Pos) bool
	tcach map[types.Type]*Type
	calls map[token.Pos]*ast.CallExpr // by the position of the opening parenthesis
	bare  map[string]bool             // struct types looked at for an event's id

	handed  map[Handed]bool
	tparams map[*types.TypeParam]string // by slot
}

func (l *lowerer) pos(p token.Pos) Pos {
	if !p.IsValid() {
		return Pos{}
	}
	q := l.fset.Position(p)
	return Pos{File: q.Filename, Line: int32(q.Line), Col: int32(q.Column)}
}

// funcID names a function across packages.
func funcID(f *types.Func) string {
	f = f.Origin()
	pkg := ""
	if f.Pkg() != nil {
		pkg = f.Pkg().Path()
	}
	if r := recvName(f); r != "" {
		return pkg + "." + r + "." + f.Name()
	}
	return pkg + "." + f.Name()
}

func recvName(f *types.Func) string {
	sig, ok := f.Type().(*types.Signature)
	if !ok || sig.Recv() == nil {
		return ""
	}
	t := sig.Recv().Type()
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		return t.Obj().Name()
	case *types.Interface:
		return "interface"
	}
	return ""
}

// ssaID names an SSA function; literals get their parent's id and a number.
func ssaID(fn *ssa.Function) string {
	if fn.Origin() != nil {
		fn = fn.Origin()
	}
	if p := fn.Parent(); p != nil {
		base := ssaID(p)
		name := fn.Name()
		if i := strings.LastIndexByte(name, '$'); i >= 0 {
			return base + name[i:]
		}
		return base + "$" + name
	}
	if f, ok := fn.Object().(*types.Func); ok {
		return funcID(f)
	}
	pkg := ""
	if fn.Pkg != nil {
		pkg = fn.Pkg.Pkg.Path()
	}
	return pkg + "." + fn.Name()
}

// display is the name a reader of the code would use.
func display(fn *ssa.Function) string {
	if p := fn.Parent(); p != nil {
		return "func literal in " + display(rootOf(p))
	}
	if f, ok := fn.Object().(*types.Func); ok {
		if r := recvName(f); r != "" {
			return r + "." + f.Name()
		}
		return f.Name()
	}
	return fn.Name()
}

func rootOf(fn *ssa.Function) *ssa.Function {
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	return fn
}

func (l *lowerer) typ(t types.Type) *Type {
	if t == nil {
		return nil
	}
	if c, ok := l.tcach[t]; ok {
		return c
	}
	out := &Type{}
	l.tcach[t] = out // a recursive type refers to itself as other
	*out = *l.newType(t)
	return out
}

func (l *lowerer) newType(t types.Type) *Type {
	u := types.Unalias(t)
	out := &Type{}
	if p, ok := u.(*types.Pointer); ok {
		in := l.newType(p.Elem())
		out.Name, out.Elem, out.Msg, out.Batch, out.Ptr, out.Kind = in.Name, in.Elem, in.Msg, in.Batch, true, KPointer
		return out
	}
	if n, ok := u.(*types.Named); ok && n.Obj().Pkg() != nil {
		path, name := n.Obj().Pkg().Path(), n.Obj().Name()
		out.Name = path + "." + name
		if ok, batch := l.know.MessageOf(know.Normal(path), name); ok {
			out.Msg, out.Batch = true, batch
		} else if st, ok := n.Underlying().(*types.Struct); ok && !l.know.Library(know.Normal(path)) {
			out.Msg, out.Batch = l.carries(st, name)
		}
	}
	if _, ok := u.(*types.TypeParam); ok {
		return out // its zero value is not nil, though its constraint is an interface
	}
	switch b := u.Underlying().(type) {
	case *types.Basic:
		switch {
		case b.Info()&types.IsBoolean != 0:
			out.Kind = KBool
		case b.Info()&types.IsInteger != 0:
			out.Kind = KInt
		case b.Info()&types.IsString != 0:
			out.Kind = KString
		}
	case *types.Interface:
		out.Kind = KInterface
		if isError(u) {
			out.Kind = KError
		}
	case *types.Signature:
		out.Kind = KFunc
		if yields(b) != nil {
			if e := l.newType(yields(b)); e.Msg {
				out.Msg, out.Batch = true, true
			}
		}
	case *types.Struct:
		out.Kind = KStruct
	case *types.Slice:
		out.Kind = KSlice
		l.elem(out, b.Elem())
		if out.Name == "" {
			out.Elem = typeName(b.Elem())
		}
	case *types.Array:
		out.Kind = KSlice
		l.elem(out, b.Elem())
	case *types.Map:
		out.Kind = KMap
		l.elem(out, b.Elem())
	case *types.Chan:
		out.Kind = KChan
		l.elem(out, b.Elem())
	case *types.Tuple:
		out.Kind = KTuple
	}
	return out
}

func (l *lowerer) elem(out *Type, e types.Type) {
	if _, ok := types.Unalias(e).(*types.Signature); ok {
		return
	}
	if in := l.newType(e); in.Msg {
		out.Msg, out.Batch = true, true
	}
}

// carries reports whether a struct is a consumed message in the module's own clothes: one of its fields is a message,
// and its name does not say that it is something that consumes.
func (l *lowerer) carries(st *types.Struct, name string) (msg, batch bool) {
	for _, w := range know.Words(name) {
		switch w {
		case "consumer", "client", "service", "handler", "reader", "worker", "processor", "server", "manager", "pool", "adapter", "config",
			"session", "store", "buffer", "tracker", "listener", "subscriber", "subscription", "driver", "queue", "broker", "producer", "publisher", "writer":
			return false, false
		}
	}
	for i := range st.NumFields() {
		f := types.Unalias(st.Field(i).Type())
		slice := false
		if s, ok := f.(*types.Slice); ok {
			f, slice = types.Unalias(s.Elem()), true
		}
		if p, ok := f.(*types.Pointer); ok {
			f = types.Unalias(p.Elem())
		}
		n, ok := f.(*types.Named)
		if !ok || n.Obj().Pkg() == nil {
			continue
		}
		if ok, b := l.know.MessageOf(know.Normal(n.Obj().Pkg().Path()), n.Obj().Name()); ok {
			return true, b || slice
		}
	}
	return false, false
}

// yields returns what an iterator function yields, nil for any other function.
func yields(sig *types.Signature) types.Type {
	if sig.Params().Len() != 1 || sig.Results().Len() != 0 {
		return nil
	}
	y, ok := sig.Params().At(0).Type().Underlying().(*types.Signature)
	if !ok || y.Results().Len() != 1 || y.Params().Len() == 0 {
		return nil
	}
	if b, ok := y.Results().At(0).Type().Underlying().(*types.Basic); !ok || b.Kind() != types.Bool {
		return nil
	}
	return y.Params().At(y.Params().Len() - 1).Type()
}

var errorType = types.Universe.Lookup("error").Type()

func isError(t types.Type) bool { return types.Identical(t, errorType) }

// lowerPackage lowers all functions of an SSA package.
func (l *lowerer) lowerPackage(p *ssa.Package, all []*ssa.Function) {
	for _, fn := range all {
		if len(fn.Blocks) == 0 {
			continue
		}
		l.unit.Funcs = append(l.unit.Funcs, l.lowerFunc(fn))
	}
	names := make([]string, 0, len(p.Members))
	for name := range p.Members {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if t, ok := p.Members[name].(*ssa.Type); ok {
			l.declare(t.Type())
		}
	}
	l.globals(p)
	l.bareStructs()
	l.unit.Handed = sortedHanded(l.handed)
	sort.Slice(l.unit.Funcs, func(i, j int) bool { return l.unit.Funcs[i].ID < l.unit.Funcs[j].ID })
	sort.Slice(l.unit.Types, func(i, j int) bool { return l.unit.Types[i].Name < l.unit.Types[j].Name })
	for e := range l.edges {
		l.unit.Edges = append(l.unit.Edges, e)
	}
	sort.Slice(l.unit.Edges, func(i, j int) bool {
		a, b := l.unit.Edges[i], l.unit.Edges[j]
		if a.Dst != b.Dst {
			return a.Dst < b.Dst
		}
		if a.Src != b.Src {
			return a.Src < b.Src
		}
		return less(a.Pos, b.Pos)
	})
}

func less(a, b Pos) bool {
	if a.File != b.File {
		return a.File < b.File
	}
	if a.Line != b.Line {
		return a.Line < b.Line
	}
	return a.Col < b.Col
}

// declare records the methods of a named type.
func (l *lowerer) declare(t types.Type) {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return
	}
	n = n.Origin()
	name := n.Obj().Pkg().Path() + "." + n.Obj().Name()
	if l.decls[name] {
		return
	}
	l.decls[name] = true
	d := TypeDecl{Name: name}
	if t := taggedTable(n); t != "" {
		l.unit.Globals = append(l.unit.Globals, Global{Name: tableTag(name), C: Const{Kind: CString, S: t}})
	}
	var ms *types.MethodSet
	if iface, ok := n.Underlying().(*types.Interface); ok {
		d.Iface = true
		for i := range iface.NumMethods() {
			m := iface.Method(i)
			d.Methods = append(d.Methods, Method{Name: m.Name(), Guard: l.guard(m), Sig: signature(m)})
		}
		if len(d.Methods) == 0 {
			return
		}
		l.unit.Types = append(l.unit.Types, d)
		return
	}
	ms = types.NewMethodSet(types.NewPointer(n))
	for i := range ms.Len() {
		sel := ms.At(i)
		f, ok := sel.Obj().(*types.Func)
		if !ok {
			continue
		}
		m := Method{Name: f.Name(), Fn: funcID(f), Guard: l.guard(f), Sig: signature(f)}
		if idx := sel.Index(); len(idx) > 1 {
			m.Path = embedPath(n, idx[:len(idx)-1])
			if sig, ok := f.Type().(*types.Signature); ok && sig.Recv() != nil {
				if _, iface := sig.Recv().Type().Underlying().(*types.Interface); iface {
					m.Fn = ""
				}
			}
		}
		d.Methods = append(d.Methods, m)
	}
	if len(d.Methods) > 0 {
		l.unit.Types = append(l.unit.Types, d)
	}
}

// signature tells methods with the same parameters and results.
func signature(f *types.Func) string {
	sig, ok := f.Type().(*types.Signature)
	if !ok {
		return ""
	}
	var b strings.Builder
	for i := range sig.Params().Len() {
		b.WriteString(types.TypeString(sig.Params().At(i).Type(), nil) + ",")
	}
	b.WriteString(")")
	for i := range sig.Results().Len() {
		b.WriteString(types.TypeString(sig.Results().At(i).Type(), nil) + ",")
	}
	return strconv.FormatUint(hashString(b.String()), 36)
}

func embedPath(t types.Type, idx []int) string {
	var parts []string
	for _, i := range idx {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		st, ok := t.Underlying().(*types.Struct)
		if !ok || i >= st.NumFields() {
			return ""
		}
		parts = append(parts, st.Field(i).Name())
		t = st.Field(i).Type()
	}
	return strings.Join(parts, ".")
}

// globals records the package variables that are set exactly once, in the package's initialisation.
func (l *lowerer) globals(p *ssa.Package) {
	stores := make(map[*ssa.Global]int)
	value := make(map[*ssa.Global]ssa.Value)
	init := p.Func("init")
	for _, fn := range allFuncs(p) {
		for _, b := range fn.Blocks {
			for _, in := range b.Instrs {
				if st, ok := in.(*ssa.Store); ok {
					if g, ok := st.Addr.(*ssa.Global); ok {
						stores[g]++
						if fn == init {
							value[g] = st.Val
						} else {
							stores[g]++
						}
					}
				}
			}
		}
	}
	names := make([]string, 0, len(p.Members))
	for name := range p.Members {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		g, ok := p.Members[name].(*ssa.Global)
		if !ok || g.Object() == nil {
			continue
		}
		out := Global{Name: p.Pkg.Path() + "." + g.Name(), C: Const{Kind: COther}}
		if ptr, ok := g.Type().Underlying().(*types.Pointer); ok {
			out.Err = isError(ptr.Elem())
		}
		if v := value[g]; v != nil && stores[g] == 1 {
			switch v := v.(type) {
			case *ssa.Const:
				out.C = l.constant(v)
			case *ssa.Function:
				out.C = Const{Kind: CFunc, S: ssaID(v)}
			case *ssa.Call:
				if c := scriptText(v); c != nil {
					out.C = l.constant(c)
				}
			}
		}
		if out.Err || out.C.Kind == CString || out.C.Kind == CFunc || out.C.Kind == CInt {
			l.unit.Globals = append(l.unit.Globals, out)
		}
	}
}

// scriptText is the text of which a package variable's script is made.
func scriptText(call *ssa.Call) *ssa.Const {
	fn := call.Call.StaticCallee()
	if fn == nil || fn.Pkg == nil {
		return nil
	}
	row := know.Lookup(know.Sym{Pkg: know.Normal(fn.Pkg.Pkg.Path()), Name: fn.Name()})
	if row == nil || row.Kind != know.RedisNewLua || row.Arg >= len(call.Call.Args) {
		return nil
	}
	c, _ := call.Call.Args[row.Arg].(*ssa.Const)
	return c
}

func (l *lowerer) constant(c *ssa.Const) Const {
	out := Const{Kind: COther, T: l.typ(c.Type())}
	if c.Value == nil {
		switch c.Type().Underlying().(type) {
		case *types.Basic, *types.Struct, *types.Array:
			return out
		}
		out.Kind = CNil
		return out
	}
	switch c.Value.Kind() {
	case constant.Bool:
		out.Kind = CBool
		if constant.BoolVal(c.Value) {
			out.I = 1
		}
	case constant.String:
		out.Kind, out.S = CString, constant.StringVal(c.Value)
	case constant.Int:
		if i, ok := constant.Int64Val(c.Value); ok {
			out.Kind, out.I = CInt, i
		}
	}
	return out
}

// allFuncs returns every function of a package with a body: declared, literals, methods; none that the compiler made.
func allFuncs(p *ssa.Package) []*ssa.Function {
	var out []*ssa.Function
	seen := make(map[*ssa.Function]bool)
	var add func(fn *ssa.Function)
	add = func(fn *ssa.Function) {
		if fn == nil || seen[fn] {
			return
		}
		seen[fn] = true
		out = append(out, fn)
		for _, a := range fn.AnonFuncs {
			add(a)
		}
	}
	names := make([]string, 0, len(p.Members))
	for name := range p.Members {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		switch m := p.Members[name].(type) {
		case *ssa.Function:
			add(m)
		case *ssa.Type:
			n, ok := types.Unalias(m.Type()).(*types.Named)
			if !ok {
				continue
			}
			for i := range n.NumMethods() {
				add(p.Prog.FuncValue(n.Method(i)))
			}
		}
	}
	return out
}
