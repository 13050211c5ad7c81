package flow

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

// v7Fix is the change of a call that makes a random UUID. It keeps the type and the handling of errors.
func v7Fix(s *Src) (rule.Fix, bool) {
	if s.call.Fix == "" {
		return rule.Fix{}, false
	}
	return rule.Fix{
		Message: "make a version 7 UUID",
		Edits:   []rule.Edit{{Posn: s.Enter.String(), End: s.End.String(), New: s.call.Fix}},
	}, true
}

// v7Call rewrites the call of a maker of random UUIDs, "" when the library, in the version imported, makes no v7.
func (f *funcLowerer) v7Call(in *ssa.Call) string {
	e := f.callExpr(in)
	fn := in.Common().StaticCallee()
	if e == nil || fn == nil {
		return ""
	}
	obj, ok := fn.Object().(*types.Func)
	sel, isSel := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	if !ok || !isSel || obj.Pkg() == nil {
		return ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	has := func(name string) bool {
		_, ok := obj.Pkg().Scope().Lookup(name).(*types.Func)
		return ok
	}
	q := x.Name
	switch know.Normal(obj.Pkg().Path()) + "." + obj.Name() {
	case "github.com/google/uuid.New":
		if has("NewV7") && len(e.Args) == 0 {
			return q + ".Must(" + q + ".NewV7())"
		}
	case "github.com/google/uuid.NewString":
		if has("NewV7") && len(e.Args) == 0 {
			return q + ".Must(" + q + ".NewV7()).String()"
		}
	case "github.com/google/uuid.NewRandom":
		if has("NewV7") && len(e.Args) == 0 {
			return q + ".NewV7()"
		}
	case "github.com/gofrs/uuid.NewV4":
		if has("NewV7") && obj.Signature().Recv() == nil && len(e.Args) == 0 && obj.Signature().Results().Len() == 2 {
			return q + ".NewV7()"
		}
	}
	return ""
}
