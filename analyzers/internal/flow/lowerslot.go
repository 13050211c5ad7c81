package flow

import (
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

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

// edgePos keeps a position only for leaves, and for package variables: there it is where a function or a concrete value
// is handed over.
func edgePos(src string, pos Pos) Pos {
	switch src[0] {
	case 'f', 'm', 't', 'k', 'q', 'G':
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
		if n := typeName(v.X.Type()); n != "" && !standardStream(v.X) {
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
		if makesReader(c, fn) {
			return []string{"k|" + f.out.ID + "|" + siteKey(f.callPos(c, f.pos(c.Pos())))}
		}
		if text, ok := preparedText(fn, com.Args); ok {
			return []string{"q|" + text}
		}
		if over := writerOver(fn, com.Args); over != nil {
			return f.slots(over)
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
