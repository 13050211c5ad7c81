package flow

import (
	"cmp"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// handOver records the methods that a conversion to another package's interface lets that package call.
func (f *funcLowerer) handOver(in *ssa.MakeInterface) {
	n, ok := types.Unalias(in.Type()).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.Obj().Pkg() == f.pkg {
		return
	}
	iface, ok := n.Underlying().(*types.Interface)
	if !ok {
		return
	}
	for i := range iface.NumMethods() {
		m := iface.Method(i)
		o, _, _ := types.LookupFieldOrMethod(in.X.Type(), true, m.Pkg(), m.Name())
		if fn, ok := o.(*types.Func); ok && fn.Pkg() != nil && !types.IsInterface(fn.Signature().Recv().Type()) {
			f.handed[Handed{Iface: typeName(n), Fn: funcID(fn)}] = true
		}
	}
}

func sortedHanded(m map[Handed]bool) []Handed {
	return slices.SortedFunc(maps.Keys(m), func(a, b Handed) int {
		return cmp.Or(cmp.Compare(a.Iface, b.Iface), cmp.Compare(a.Fn, b.Fn))
	})
}
