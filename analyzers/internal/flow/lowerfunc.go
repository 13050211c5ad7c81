package flow

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// funcLowerer lowers one function.
type funcLowerer struct {
	*lowerer
	fn     *ssa.Function
	out    *Func
	num    map[ssa.Value]int32
	consts map[Const]int32
	named  map[nameKey]bool
	slotOf map[ssa.Value][]string
}

type nameKey struct {
	v    int32
	name string
}

func (l *lowerer) lowerFunc(fn *ssa.Function) *Func {
	out := &Func{
		ID: ssaID(fn), Name: display(fn), Pkg: l.pkg.Path(), Pos: l.pos(fn.Pos()),
		Literal: fn.Parent() != nil, Free: len(fn.FreeVars), Test: l.test(fn.Pos()), Gen: l.gen(fn.Pos()),
	}
	if p := fn.Parent(); p != nil {
		out.Parent = ssaID(p)
		out.Pos = l.pos(literalPos(fn))
	}
	if obj, ok := fn.Object().(*types.Func); ok {
		out.Exported = obj.Exported()
		out.Recv = recvName(obj)
		out.Guard = l.guard(obj)
	}
	out.Method = fn.Signature.Recv() != nil
	f := &funcLowerer{lowerer: l, fn: fn, out: out, num: make(map[ssa.Value]int32), consts: make(map[Const]int32), named: make(map[nameKey]bool)}
	for _, p := range fn.Params {
		f.num[p] = out.Values
		out.Values++
		out.Params = append(out.Params, Param{Name: p.Name(), T: l.typ(p.Type())})
	}
	if len(fn.Params) > 0 && fn.Signature.Recv() != nil && container(fn.Params[0].Type()) {
		f.edges[Edge{Dst: "P|" + out.ID + "|0", Src: "F|" + typeName(fn.Params[0].Type()) + "|[]"}] = true
	}
	for _, v := range fn.FreeVars {
		f.num[v] = out.Values
		out.Values++
	}
	res := fn.Signature.Results()
	for i := range res.Len() {
		out.Results = append(out.Results, l.typ(res.At(i).Type()))
	}
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if v, ok := in.(ssa.Value); ok {
				f.num[v] = out.Values
				out.Values++
			}
		}
	}
	out.Blocks = make([]Block, len(fn.Blocks))
	for i, b := range fn.Blocks {
		for _, s := range b.Succs {
			out.Blocks[i].Succs = append(out.Blocks[i].Succs, int32(s.Index))
		}
		for _, p := range b.Preds {
			out.Blocks[i].Preds = append(out.Blocks[i].Preds, int32(p.Index))
		}
		for n, in := range b.Instrs {
			if n == len(b.Instrs)-1 {
				if token := filledNext(b); token != nil {
					f.emit(&out.Blocks[i], Instr{Op: OpWait, Dst: -1, Pos: l.pos(token.Pos())})
				}
			}
			f.instr(&out.Blocks[i], in)
		}
	}
	return out
}

// literalPos is the place of the word func, or of the range statement a loop body was made of.
func literalPos(fn *ssa.Function) token.Pos {
	switch s := fn.Syntax().(type) {
	case *ast.FuncLit:
		return s.Type.Func
	case *ast.RangeStmt:
		return s.For
	}
	return fn.Pos()
}

func (f *funcLowerer) val(v ssa.Value) int32 {
	if n, ok := f.num[v]; ok {
		return n
	}
	var c Const
	switch v := v.(type) {
	case *ssa.Const:
		c = f.constant(v)
	case *ssa.Function:
		c = Const{Kind: CFunc, S: f.funcRef(v)}
	case *ssa.Global:
		pkg := ""
		if v.Pkg != nil {
			pkg = v.Pkg.Pkg.Path()
		}
		var t *Type
		if ptr, ok := v.Type().Underlying().(*types.Pointer); ok {
			t = f.typ(ptr.Elem())
		}
		c = Const{Kind: CGlobal, S: pkg + "." + v.Name(), T: t}
	default:
		c = Const{Kind: COther}
	}
	if i, ok := f.consts[c]; ok {
		return ^i
	}
	i := int32(len(f.out.Consts))
	f.out.Consts = append(f.out.Consts, c)
	f.consts[c] = i
	return ^i
}

// funcRef is the id of a function used as a value: a method expression is its method.
func (f *funcLowerer) funcRef(fn *ssa.Function) string {
	if fn.Synthetic != "" && fn.Object() != nil {
		if obj, ok := fn.Object().(*types.Func); ok {
			return funcID(obj)
		}
	}
	return ssaID(fn)
}

func (f *funcLowerer) dst(v ssa.Value) int32 {
	if refs := v.Referrers(); refs != nil && len(*refs) == 0 {
		return -1
	}
	return f.num[v]
}

func (f *funcLowerer) emit(b *Block, in Instr) { b.Instrs = append(b.Instrs, in) }

func (f *funcLowerer) instr(b *Block, in ssa.Instruction) {
	pos := f.pos(in.Pos())
	switch in := in.(type) {
	case *ssa.Alloc:
		elem := in.Type().Underlying().(*types.Pointer).Elem()
		f.emit(b, Instr{Op: OpAlloc, Dst: f.num[in], S: in.Comment, T: f.typ(elem), Pos: pos})
	case *ssa.UnOp:
		f.unop(b, in, pos)
	case *ssa.Store:
		f.emit(b, Instr{Op: OpStore, Dst: -1, A: f.val(in.Addr), B: f.val(in.Val), Pos: pos})
		f.flowStore(in.Addr, in.Val, pos)
	case *ssa.FieldAddr:
		st := in.X.Type().Underlying().(*types.Pointer).Elem()
		name, owner, flags := f.field(st, in.Field)
		f.emit(b, Instr{Op: OpFieldAddr, Dst: f.num[in], A: f.val(in.X), S: name, S2: owner, N: flags, T: f.typ(in.Type()), Pos: pos})
	case *ssa.Field:
		name, owner, flags := f.field(in.X.Type(), in.Field)
		f.emit(b, Instr{Op: OpField, Dst: f.num[in], A: f.val(in.X), S: name, S2: owner, N: flags, T: f.typ(in.Type()), Pos: pos})
	case *ssa.IndexAddr:
		f.emit(b, Instr{Op: OpIndexAddr, Dst: f.num[in], A: f.val(in.X), B: f.val(in.Index), T: f.typ(in.Type()), Pos: pos})
	case *ssa.Index:
		f.emit(b, Instr{Op: OpIndex, Dst: f.num[in], A: f.val(in.X), B: f.val(in.Index), T: f.typ(in.Type()), Pos: pos})
	case *ssa.Lookup:
		n := int64(0)
		if in.CommaOk {
			n = 1
		}
		f.emit(b, Instr{Op: OpLookup, Dst: f.num[in], A: f.val(in.X), B: f.val(in.Index), N: n, S2: setName(in.X.Type()), T: f.typ(in.X.Type()), Pos: pos})
	case *ssa.MapUpdate:
		f.emit(b, Instr{Op: OpMapUpdate, Dst: -1, A: f.val(in.Map), B: f.val(in.Key), Args: []int32{f.val(in.Value)}, Pos: pos})
		f.flowInto(in.Map, in.Value, pos)
	case *ssa.Call:
		c := f.call(in.Common(), in.Parent())
		c.End, c.At, c.Fix = f.callEnd(in), f.calleePos(in), f.v7Call(in)
		f.emit(b, Instr{Op: OpCall, Dst: f.dst(in), Call: c, T: f.typ(in.Type()), Pos: f.callPos(in, pos)})
	case *ssa.Go:
		f.emit(b, Instr{Op: OpGo, Dst: -1, Call: f.call(in.Common(), in.Parent()), Pos: pos})
	case *ssa.Defer:
		f.emit(b, Instr{Op: OpDefer, Dst: -1, Call: f.call(in.Common(), in.Parent()), Pos: pos})
	case *ssa.Phi:
		args := make([]int32, len(in.Edges))
		for i, e := range in.Edges {
			args[i] = f.val(e)
		}
		f.emit(b, Instr{Op: OpPhi, Dst: f.num[in], Args: args, S: in.Comment, Pos: pos})
	case *ssa.BinOp:
		f.emit(b, Instr{Op: OpBin, Dst: f.num[in], A: f.val(in.X), B: f.val(in.Y), S: in.Op.String(), T: f.typ(in.X.Type()), Pos: pos})
	case *ssa.ChangeType, *ssa.Convert, *ssa.ChangeInterface, *ssa.MultiConvert, *ssa.SliceToArrayPointer:
		x := *in.Operands(nil)[0]
		f.emit(b, Instr{Op: OpCopy, Dst: f.num[in.(ssa.Value)], A: f.val(x), T: f.typ(in.(ssa.Value).Type()), Pos: pos})
	case *ssa.MakeInterface:
		f.declare(in.X.Type())
		if container(in.X.Type()) {
			f.flowTo("F|"+typeName(in.X.Type())+"|[]", in.X, pos)
		}
		f.bareStruct(in.X.Type())
		f.handOver(in)
		if n, c := typeName(in.Type()), typeName(in.X.Type()); n != "" && c != "" && !isError(in.Type()) {
			if i := strings.LastIndexByte(n, '.'); i > 0 && strings.Contains(n[:i], ".") {
				f.edges[Edge{Dst: "N|" + n, Src: "t|" + c, Pos: pos}] = true
			}
		}
		f.emit(b, Instr{Op: OpMakeIface, Dst: f.num[in], A: f.val(in.X), S: typeName(in.X.Type()), T: f.typ(in.X.Type()), Pos: pos})
	case *ssa.TypeAssert:
		n := int64(0)
		if in.CommaOk {
			n = 1
		}
		f.emit(b, Instr{Op: OpAssert, Dst: f.num[in], A: f.val(in.X), N: n, T: f.typ(in.AssertedType), Pos: pos})
	case *ssa.MakeClosure:
		f.closure(b, in, pos)
	case *ssa.MakeMap, *ssa.MakeSlice, *ssa.MakeChan:
		out := Instr{Op: OpMake, Dst: f.num[in.(ssa.Value)], T: f.typ(in.(ssa.Value).Type()), S: madeSize(in), Pos: pos}
		if m, ok := in.(*ssa.MakeSlice); ok {
			out.A = f.val(m.Len)
		}
		f.emit(b, out)
	case *ssa.Slice:
		f.emit(b, Instr{Op: OpSlice, Dst: f.num[in], A: f.val(in.X), T: f.typ(in.Type()), S: slicedSize(in), N: slicedFrom(in), Pos: pos})
	case *ssa.Send:
		f.emit(b, Instr{Op: OpSend, Dst: -1, A: f.val(in.Chan), B: f.val(in.X), T: f.typ(in.Chan.Type()), Pos: pos})
		f.flowInto(in.Chan, in.X, pos)
		f.sendEdge(in.Chan, in.X)
		f.workEdge(sendSlot(f.out.ID, pos), in.Chan)
	case *ssa.Select:
		f.selectInstr(b, in, pos)
	case *ssa.Range:
		f.emit(b, Instr{Op: OpRange, Dst: f.num[in], A: f.val(in.X), T: f.typ(in.X.Type()), Pos: pos})
	case *ssa.Next:
		f.emit(b, Instr{Op: OpNext, Dst: f.num[in], A: f.val(in.Iter), Pos: pos})
	case *ssa.Extract:
		f.emit(b, Instr{Op: OpExtract, Dst: f.num[in], A: f.val(in.Tuple), N: int64(in.Index), T: f.typ(in.Type()), Pos: pos})
	case *ssa.If:
		f.emit(b, Instr{Op: OpIf, Dst: -1, A: f.val(in.Cond), Pos: pos})
	case *ssa.Jump:
		f.emit(b, Instr{Op: OpJump, Dst: -1})
	case *ssa.Return:
		args := make([]int32, len(in.Results))
		for i, r := range in.Results {
			args[i] = f.val(r)
			f.flowTo("R|"+f.out.ID+"|"+strconv.Itoa(i), r, pos)
		}
		f.emit(b, Instr{Op: OpReturn, Dst: -1, Args: args, Pos: pos})
	case *ssa.Panic:
		f.emit(b, Instr{Op: OpPanic, Dst: -1, A: f.val(in.X), Pos: pos})
	case *ssa.RunDefers:
		f.emit(b, Instr{Op: OpRunDefers, Dst: -1})
	case *ssa.DebugRef:
		f.debugRef(b, in)
	}
}

func (f *funcLowerer) unop(b *Block, in *ssa.UnOp, pos Pos) {
	out := Instr{Dst: f.num[in], A: f.val(in.X), T: f.typ(in.Type()), Pos: pos}
	switch in.Op {
	case token.MUL:
		out.Op = OpLoad
	case token.NOT:
		out.Op = OpNot
	case token.ARROW:
		out.Op = OpRecv
		if in.CommaOk {
			out.N = 1
		}
		out.T = f.typ(in.X.Type())
		if ticks(in.X) {
			out.S = string(selTick)
		}
		f.recvEdge(in, 0, in.X)
	default:
		out.Op = OpNeg
	}
	f.emit(b, out)
}

func (f *funcLowerer) selectInstr(b *Block, in *ssa.Select, pos Pos) {
	out := Instr{Op: OpSelect, Dst: f.num[in], Pos: pos}
	if in.Blocking {
		out.N = 1
	}
	kinds := make([]byte, 0, len(in.States))
	for i, s := range in.States {
		send, kind := ^int32(1<<30), byte(selOther)
		if s.Send != nil {
			send, kind = f.val(s.Send), selSend
			f.flowInto(s.Chan, s.Send, f.pos(s.Pos))
			f.sendEdge(s.Chan, s.Send)
			f.workEdge(recvSlot(f.out.ID, f.num[in], i), s.Chan)
		} else if ticks(s.Chan) {
			kind = selTick
		} else if idle(s.Chan) {
			kind = selIdle
		}
		out.Args = append(out.Args, f.val(s.Chan), send)
		// The type of the first channel that yields messages stands for the select.
		if s.Send == nil {
			f.recvEdge(in, i, s.Chan)
		}
		if t := f.typ(s.Chan.Type()); s.Send == nil && t.Msg {
			kind = selMessage
			if out.T == nil {
				out.T, out.Pos = t, f.pos(s.Pos)
			}
		}
		kinds = append(kinds, kind)
	}
	out.S = string(kinds)
	f.emit(b, out)
}

func (f *funcLowerer) closure(b *Block, in *ssa.MakeClosure, pos Pos) {
	fn := in.Fn.(*ssa.Function)
	if strings.HasPrefix(fn.Synthetic, "bound method wrapper") && len(in.Bindings) == 1 {
		out := Instr{Op: OpMethodVal, Dst: f.num[in], A: f.val(in.Bindings[0]), Pos: pos}
		recv := in.Bindings[0].Type()
		obj, _ := fn.Object().(*types.Func)
		if obj != nil {
			if types.IsInterface(recv) {
				out.N, out.S, out.S2 = 1, obj.Name(), typeName(recv)
			} else {
				out.S = funcID(obj)
			}
			f.emit(b, out)
			return
		}
	}
	out := Instr{Op: OpClosure, Dst: f.num[in], S: ssaID(fn), Pos: pos}
	for i, v := range in.Bindings {
		out.Args = append(out.Args, f.val(v))
		f.flowTo("V|"+out.S+"|"+strconv.Itoa(i), v, pos)
	}
	f.emit(b, out)
}

func (f *funcLowerer) debugRef(b *Block, in *ssa.DebugRef) {
	id, ok := in.Expr.(*ast.Ident)
	if !ok || in.IsAddr || !f.know.DedupKey(id.Name) {
		return
	}
	if _, ok := in.Object().(*types.Var); !ok {
		return
	}
	n, ok := f.num[in.X]
	if !ok || f.named[nameKey{n, id.Name}] {
		return
	}
	if p, ok := in.X.(*ssa.Parameter); ok && p.Name() == id.Name {
		return
	}
	f.named[nameKey{n, id.Name}] = true
	f.emit(b, Instr{Op: OpName, Dst: -1, A: n, S: id.Name, Pos: f.pos(id.Pos())})
}

// setName marks the maps that are sets: their elements only say that a key was there.
func setName(t types.Type) string {
	m, ok := t.Underlying().(*types.Map)
	if !ok {
		return ""
	}
	switch e := m.Elem().Underlying().(type) {
	case *types.Basic:
		if e.Kind() == types.Bool {
			return "set"
		}
	case *types.Struct:
		if e.NumFields() == 0 || typeName(m.Elem()) == "time.Time" {
			return "set"
		}
	}
	return ""
}

// field describes a field of a struct: its name, the struct's name, and whether the name or tag says that it is an id.
func (f *funcLowerer) field(t types.Type, i int) (name, owner string, flags int64) {
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return "", "", 0
	}
	v := st.Field(i)
	name, owner = v.Name(), typeName(t)
	short := owner[strings.LastIndexByte(owner, '.')+1:]
	tag := reflect.StructTag(st.Tag(i))
	jsonName, _, _ := strings.Cut(tag.Get("json"), ",")
	switch {
	case f.know.EventID(name), jsonName != "" && f.know.EventID(jsonName):
		flags |= FieldEventID
	case f.know.DedupKey(name), jsonName != "" && f.know.DedupKey(jsonName):
		flags |= FieldDedupKey
	case isIDName(name) && know.EventType(short) && !entity(tag) && !f.hasEventID(st):
		if outboxName(short) {
			flags |= FieldOutboxID
		} else {
			flags |= FieldEventID
		}
	}
	if owner == "" && f.pkg != nil {
		owner = f.pkg.Path() + ".struct{" + fieldNames(st) + "}"
	}
	return name, owner, flags
}

// hasEventID reports whether a struct has a field that is named as the event's id: then its ID is that of the row.
func (f *funcLowerer) hasEventID(st *types.Struct) bool {
	for i := range st.NumFields() {
		switch strings.ToLower(st.Field(i).Name()) {
		case "eventid", "eventuuid", "messageid", "messageuuid":
			return true
		}
	}
	return false
}

// fieldNames tells struct types without a name apart.
func fieldNames(st *types.Struct) string {
	names := make([]string, st.NumFields())
	for i := range names {
		names[i] = st.Field(i).Name()
	}
	return strings.Join(names, ",")
}

// idField reports whether a field's name says that it is the id of anything.
func idField(s string) bool {
	words := know.Words(s)
	if len(words) == 0 {
		return false
	}
	switch words[len(words)-1] {
	case "id", "uuid", "guid":
		return true
	}
	return false
}

func isIDName(s string) bool {
	switch s {
	case "ID", "Id", "UUID", "Uuid", "id", "uuid", "Guid", "GUID":
		return true
	}
	return false
}

// entity reports whether a field's tag says that it is the key of a stored row.
func entity(tag reflect.StructTag) bool {
	g := strings.ToLower(tag.Get("gorm"))
	return strings.Contains(g, "primary") || tag.Get("bson") != "" || tag.Get("bun") != "" || tag.Get("db") != ""
}

func outboxName(s string) bool {
	for _, w := range know.Words(s) {
		if w == "outbox" {
			return true
		}
	}
	return false
}

func typeName(t types.Type) string {
	u := types.Unalias(t)
	if p, ok := u.(*types.Pointer); ok {
		u = types.Unalias(p.Elem())
	}
	if n, ok := u.(*types.Named); ok {
		if n.Obj().Pkg() == nil {
			return n.Obj().Name()
		}
		return n.Obj().Pkg().Path() + "." + n.Obj().Name()
	}
	return ""
}
