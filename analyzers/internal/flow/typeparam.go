package flow

import (
	"go/types"
	"strconv"
)

// What a type parameter stands for: each instantiation puts its type arguments into slots "T|owner|i" of the generic
// type or function, and a method that is called on a value of a type parameter is looked for in them. All instances
// are taken together.

// typeParams names the slots of the type parameters that the package declares, those of receivers as their types'.
func (l *lowerer) typeParams(info *types.Info) {
	l.tparams = make(map[*types.TypeParam]string)
	put := func(owner string, list *types.TypeParamList) {
		for i := range list.Len() {
			l.tparams[list.At(i)] = "T|" + owner + "|" + strconv.Itoa(i)
		}
	}
	for _, o := range info.Defs {
		switch o := o.(type) {
		case *types.TypeName:
			if n, ok := o.Type().(*types.Named); ok {
				put(typeName(n), n.TypeParams())
			}
		case *types.Func:
			sig := o.Signature()
			put(funcID(o), sig.TypeParams())
			if sig.Recv() != nil {
				put(typeName(sig.Recv().Type()), sig.RecvTypeParams())
			}
		}
	}
}

// instances records the type arguments of what the package instantiates.
func (l *lowerer) instances(info *types.Info) {
	for id, inst := range info.Instances {
		owner := ""
		switch o := info.Uses[id].(type) {
		case *types.TypeName:
			owner = typeName(inst.Type)
		case *types.Func:
			owner = funcID(o)
		}
		if owner == "" || l.test(id.Pos()) {
			continue
		}
		for i := range inst.TypeArgs.Len() {
			dst := "T|" + owner + "|" + strconv.Itoa(i)
			src := ""
			switch a := types.Unalias(inst.TypeArgs.At(i)).(type) {
			case *types.TypeParam:
				src = l.tparams[a]
			default:
				if n := typeName(a); n != "" && !types.IsInterface(a) {
					src = "t|" + n
				}
			}
			if src != "" && src != dst {
				l.edges[Edge{Dst: dst, Src: src, Pos: l.pos(id.Pos())}] = true
			}
		}
	}
}

// typeParam is the slot of a type parameter, "" for other types.
func (l *lowerer) typeParam(t types.Type) string {
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		return l.tparams[p]
	}
	return ""
}
